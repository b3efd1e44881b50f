r"""Speed of termwise beside that of another commit: nothing should be slower after a change.

    git worktree add ../before COMMIT
    python benchmarks/commits.py --before ../before --workload FOLDER --work SCRATCH       # about half an hour

Each commit runs in a process of its own, from its own checkout, with its own adapters (`termwise_engine`,
`living_peers`, `mixture`, `service`). The processes take turns, round after round, on one processor. The older commit
builds the indexes that both search. Measured are:

===========================  =====================================================================================
impacts                      `first_stage` on the postings of the workload, 10 and 1,000 documents
texts                        BM25 from the text of a query to ten documents
explain                      explanations of the best document of each query
mixture                      BM25 and vectors, from the text of a query to ten documents
add, delete                  one document, its commit, and a search in the newest generation
start                        a new process: ``import termwise``, and ``termwise search`` for one query
service                      requests of eight connections that send without a pause; needs wrk
===========================  =====================================================================================

Results are printed and appended as one JSON object to ``benchmarks/results/commits.jsonl``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FOLDERS = ("src", "benchmarks", "experiments")

DOCUMENTS = 200_000
"""Documents of the indexes of texts."""

VECTORS = 100_000
"""Documents of the mixture."""

CHANGES = 20
"""Documents that are added and deleted in each round."""

SERVED = 5
"""Seconds of one measurement of the service."""


# --- one commit, in its own process -----------------------------------------------------------------------------


class Worker:
    """Measurements of the commit whose folders stand first on the path of modules."""

    def __init__(self, name: str, workload: Path, work: Path) -> None:
        from workload import load_texts

        self.name, self.workload, self.work = name, workload, work
        self.passages, self.queries = load_texts(workload)

    def build(self) -> list[float]:
        """Build the indexes that are searched, unless they exist."""
        import mixture
        from termwise_engine import Termwise, TermwiseBM25
        from workload import load

        import termwise

        done = self.work / "built"
        if done.exists():
            return []
        Termwise().build(load(self.workload).matrix, self.work)
        TermwiseBM25().build(self.passages[:DOCUMENTS], self.work)
        mixture.built(self.work / "mixture", VECTORS, 0)
        served = (
            termwise.Document(str(number), text) for number, text in enumerate(self.passages[:DOCUMENTS])
        )
        termwise.build_index(served, self.work / "termwise.tw", analyzer="english", store_text=True)
        done.touch()
        return []

    def prepare(self) -> list[float]:
        """Open the indexes, and build the one that changes."""
        import living_peers
        import mixture
        import numpy as np
        from termwise_engine import Termwise, TermwiseBM25
        from timing import each
        from workload import load

        impacts, texts = Termwise(), TermwiseBM25()
        impacts.open(self.work)
        texts.open(self.work)
        mixed = mixture.built(self.work / "mixture", VECTORS, 0)
        changing = living_peers.Termwise(self.work / f"changing-{self.name}")
        changing.build(self.passages[:DOCUMENTS])
        searcher = texts._searcher
        vectors = [impacts.prepare(query, 10) for query in load(self.workload).queries]
        best = [(query, searcher.rank(query, k=1).doc_ids[0]) for query in self.queries[:200]]
        random = np.random.default_rng(1)
        chances = mixture.frequencies(mixture.ASKED)
        words = [
            " ".join(f"t{word}" for word in random.choice(len(chances), random.integers(2, 9), p=chances))
            for _ in range(100)
        ]
        added = [f"n{number}" for number in range(1_000, 1_000 + CHANGES)]

        def add(doc_id: str) -> None:
            changing.add([(doc_id, self.passages[int(doc_id[1:])])])
            changing.find("weather")

        def delete(doc_id: str) -> None:
            changing.delete(doc_id)
            changing.find("weather")

        self.timers: dict[str, Callable[[], Any]] = {
            "impacts, k = 10": each(vectors, lambda vector: impacts.find(vector, 10)),
            "impacts, k = 1000": each(vectors, lambda vector: impacts.find(vector, 1000)),
            "texts, k = 10": each(self.queries, lambda query: texts.find(query, 10)),
            "explain": each(best, lambda pair: searcher.explain(*pair)),
            "mixture, k = 10": each(words, lambda query: mixed.rank(query, k=10)),
            "add": each(added, add),
            "delete": each(added, delete),
        }
        return []

    def measure(self, what: str) -> list[float]:
        """Return the seconds of each query of one pass."""
        return [float(seconds) for seconds in self.timers[what]()]

    def service(self) -> dict[str, Any]:
        """Serve, send requests, and return requests per second and latencies in milliseconds."""
        from service import WARM_UP, Server

        bodies = self.work / "bodies.jsonl"
        bodies.write_text("".join(json.dumps({"query": query, "k": 10}) + "\n" for query in self.queries))
        with Server("termwise", self.work) as server:
            begun = server.seconds
            server.load(self.work, WARM_UP)
            return server.load(self.work, SERVED) | {"ready": begun, "memory": server.memory()["all"]}


def work_for(driver: Any, worker: Worker) -> None:
    """Answer each line with a task by a line with its result."""
    for line in sys.stdin:
        task, *given = json.loads(line)
        print(json.dumps(getattr(worker, task)(*given)), file=driver, flush=True)


# --- both commits in turns ---------------------------------------------------------------------------------------


class Commit:
    """Checkout of a commit, and its process."""

    def __init__(self, name: str, checkout: Path, workload: Path, work: Path) -> None:
        self.name, self.checkout = name, checkout
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(str(checkout / folder) for folder in FOLDERS)
        }
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "commits.py"), "--worker", name, str(workload), str(work)],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Commit:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()

    def ask(self, task: str, *given: str) -> Any:
        """Run a task in the process, and return its result."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([task, *given]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of {self.checkout} ended at {task}")
        return json.loads(line)

    def revision(self) -> str:
        """Return the commit of the checkout."""
        found = subprocess.run(
            ["git", "-C", str(self.checkout), "describe", "--always", "--dirty", "--abbrev=40"],
            capture_output=True,
            text=True,
            check=True,
        )
        return found.stdout.strip()

    def start(self, *line: str) -> float:
        """Return the seconds of a new process of Python."""
        begin = time.perf_counter()
        subprocess.run([sys.executable, *line], env=self.environment, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - begin


def main(given: Sequence[str] | None = None) -> None:
    sys.path[:0] = [str(HERE), str(ROOT / "experiments")]
    import numpy as np
    from record import parser
    from timing import RESULTS, about, append, pinned, say, show

    command = parser(__doc__, "work")
    command.add_argument("--before", type=Path, required=True, help="checkout of the commit to compare with")
    command.add_argument("--workload", type=Path, required=True, help="folder of the reference workload")
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--without-service", action="store_true", help="leave the service out")
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    places = (arguments.workload.resolve(), work)
    everywhere = os.sched_getaffinity(0)
    report: dict[str, Any] = {"about": about(("numpy", "numba")), "rounds": arguments.rounds}
    with (
        Commit("before", arguments.before.resolve(), *places) as before,
        Commit("after", ROOT, *places) as after,
    ):
        commits = (before, after)
        report["commits"] = {commit.name: commit.revision() for commit in commits}
        before.ask("build")
        for commit in commits:
            commit.ask("prepare")
            os.sched_setaffinity(commit.process.pid, {max(everywhere)})
        for what in (
            "impacts, k = 10",
            "impacts, k = 1000",
            "texts, k = 10",
            "explain",
            "mixture, k = 10",
            "add",
            "delete",
        ):
            taken: dict[str, list[list[float]]] = {commit.name: [] for commit in commits}
            for number in range(arguments.rounds + 1):
                for commit in commits[:: 1 if number % 2 else -1]:
                    seconds = commit.ask("measure", what)
                    if number:
                        taken[commit.name].append(seconds)
            report[what] = show(what, {name: np.array(rounds) for name, rounds in taken.items()}, "after")
        report["service"] = [] if arguments.without_service else served(commits, arguments.rounds)
        pinned()
        for title, line in {
            "start: import termwise": ("-c", "import termwise"),
            "start: termwise search": ("-m", "termwise", "search", str(work / "text"), "weather in spring"),
        }.items():
            starts: dict[str, list[list[float]]] = {commit.name: [] for commit in commits}
            for number in range(2 * arguments.rounds + 1):
                for commit in commits[:: 1 if number % 2 else -1]:
                    seconds = commit.start(*line)
                    if number:
                        starts[commit.name].append([seconds])
            report[title] = show(title, {name: np.array(rounds) for name, rounds in starts.items()}, "after")
    say(f"commits: {report['commits']}")
    append(report, "commits", arguments.out)


def served(commits: Sequence[Commit], rounds: int) -> list[dict[str, Any]]:
    """Measure the service of each commit in turns, and print the ratios."""
    from timing import say

    found = [{commit.name: commit.ask("service") for commit in commits} for _ in range(rounds)]
    for figure in ("rate", "p50", "p99", "ready", "memory"):
        values = [[one[name][figure] for one in found] for name in ("before", "after")]
        ratio = median(now / then for then, now in zip(*values, strict=True))
        before, after = map(median, values)
        say(f"service, {figure:8} before {before:.4g}   after {after:.4g}   after / before {ratio:.3f}")
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # the adapters print
        work_for(answers, Worker(sys.argv[2], *map(Path, sys.argv[3:])))
    else:
        main()
