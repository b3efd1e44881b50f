r"""Speed of the HTTP service: requests per second, latency at half of the load, overload, start, memory, and a soak.

    pip install -e '.[serve]' -r benchmarks/requirements.txt            # and wrk, a package of Debian
    python benchmarks/service.py --workload FOLDER --work SCRATCH           # about 10 minutes

The load comes from wrk, with the queries of the workload in turn, over the loopback address. Server and client share
the machine, so that only ratios within a round are compared. ``rate`` is that of eight connections that send without a
pause; ``half`` sends at half of the rate of termwise. ``overload`` has more connections than places in the queue: each
answer must be a result or a refusal (503) within the deadline, and a client beside it compares results with those of
the library. ``soak`` mixes searches with changes, and reports the growth of the memory. Results are printed and
appended as one JSON object to ``benchmarks/results/service.jsonl``.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

import service_peers  # noqa: E402
from record import parser  # noqa: E402
from timing import RESULTS, about, append, say  # noqa: E402
from workload import load_texts  # noqa: E402

import termwise  # noqa: E402

SCRIPT = """
local bodies = {}
for line in io.lines("%(bodies)s") do bodies[#bodies + 1] = line end
local number, statuses = 0, {}
local threads = {}
function setup(thread) table.insert(threads, thread) end
counts = ""
function delay() return %(pause)d end
function request()
  number = number + 1
  return wrk.format("POST", nil, {["Content-Type"] = "application/json"}, bodies[number %% #bodies + 1])
end
function response(status)
  statuses[status] = (statuses[status] or 0) + 1
  local all = {}
  for key, value in pairs(statuses) do all[#all + 1] = '"' .. key .. '": ' .. value end
  counts = table.concat(all, ", ")
end
function done(summary, latency)
  local figures = {
    rate = summary.requests / summary.duration * 1e6,
    p50 = latency:percentile(50) / 1e3,
    p99 = latency:percentile(99) / 1e3,
    max = latency.max / 1e3,
    timeouts = summary.errors.timeout
  }
  io.write("JSON {")
  for key, value in pairs(figures) do io.write('"', key, '": ', value, ", ") end
  io.write('"statuses": {', threads[1]:get("counts"), "}}\\n")
end
"""
PORT = 8977
CONNECTIONS = 8
WARM_UP = 4
"""Seconds of load before a measurement; a service loads further kernels two seconds after its start."""


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__, "work")
    command.add_argument("--workload", type=Path, required=True, help="folder of the reference workload")
    command.add_argument("--documents", type=int, default=200_000)
    command.add_argument("--large", type=int, default=600_000, help="documents of the index that is started")
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--seconds", type=int, default=5, help="time of one measurement")
    command.add_argument("--overload", type=int, default=120, help="seconds of overload")
    command.add_argument(
        "--soak", type=int, default=200_000, help="requests of the soak, with changes for 2.5 %%"
    )
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    work = arguments.work
    passages, queries = load_texts(arguments.workload)
    if not (work / "texts.json").exists():
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        service_peers.build(work, passages[: arguments.documents])
    bodies = work / "bodies.jsonl"
    bodies.write_text("".join(json.dumps({"query": query, "k": 10}) + "\n" for query in queries))
    (work / service_peers.ANSWER).write_bytes(_middle_answer(work, queries))
    report: dict[str, Any] = {
        "about": about(("starlette", "uvicorn", "numba", "tantivy", "bm25s")),
        "documents": arguments.documents,
        "rate": rates(arguments),
        "overload": overload(arguments, queries),
        "start": start(arguments, passages),
        "soak": soak(arguments, queries, passages),
    }
    append(report, "service", arguments.out)


class Server:
    """A service in a process of its own."""

    def __init__(self, kind: str, work: Path, folder: Path | None = None, *more: str) -> None:
        if kind == "termwise":
            name = (folder or work / "termwise.tw").name.removesuffix(".tw")
            self.path = f"/v1/indexes/{name}/search"
            line = [
                "-m",
                "termwise",
                "serve",
                str(folder or work / "termwise.tw"),
                "--without-log",
                "--port",
                str(PORT),
                *more,
            ]
        else:
            self.path = "/search"
            line = [str(HERE / "service_peers.py"), kind, str(work), str(PORT)]
        self.process = subprocess.Popen([sys.executable, *line], stderr=subprocess.DEVNULL)
        self.begin = time.perf_counter()
        while not self.answers():
            time.sleep(0.005)
        self.seconds = time.perf_counter() - self.begin

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def answers(self) -> bool:
        """Return whether a search is answered."""
        assert self.process.poll() is None
        try:
            return self.post({"query": "the first search", "k": 10})[0] == 200
        except OSError:
            return False

    def post(self, body: dict[str, Any]) -> tuple[int, bytes]:
        """Search once."""
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        connection.request("POST", self.path, json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def load(
        self, work: Path, seconds: int, *, connections: int = CONNECTIONS, pause: int = 0
    ) -> dict[str, Any]:
        """Send requests with wrk, and return its figures; times are in milliseconds."""
        script = work / "load.lua"
        script.write_text(SCRIPT % {"bodies": work / "bodies.jsonl", "pause": pause})
        url = f"http://127.0.0.1:{PORT}{self.path}"
        line = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(script), url]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        found = re.search(r"^JSON (.*)$", done.stdout, re.MULTILINE)
        assert found, done.stdout
        return json.loads(found[1])

    def memory(self) -> dict[str, float]:
        """Return the resident memory in megabytes: all, and without the mapped files."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return {
            name: int(re.search(rf"{key}:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]
            for name, key in (("all", "VmRSS"), ("without files", "RssAnon"))
        }


def _middle_answer(work: Path, queries: Sequence[str]) -> bytes:
    """Return the answer of median size."""
    with Server("termwise", work) as server:
        answers = sorted((server.post({"query": query, "k": 10})[1] for query in queries[:200]), key=len)
    return answers[len(answers) // 2]


def rates(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure requests per second in turns, and the latency of termwise at half of its rate."""
    work, seconds = arguments.work, arguments.seconds
    kinds = ("termwise", "constant", "in-service", "tantivy", "bm25s")
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    halves = []
    for _ in range(arguments.rounds):
        for kind in kinds:
            with Server(kind, work) as server:
                server.load(work, WARM_UP)
                found[kind].append(server.load(work, seconds))
                if kind == "termwise":
                    pause = round(2e3 * CONNECTIONS / found[kind][-1]["rate"] - found[kind][-1]["p50"] / 2)
                    halves.append(server.load(work, seconds, pause=max(1, pause)))
    report: dict[str, Any] = {"answer bytes": len((work / service_peers.ANSWER).read_bytes()), "half": halves}
    for kind in kinds:
        each = [
            ours["rate"] / theirs["rate"] for ours, theirs in zip(found["termwise"], found[kind], strict=True)
        ]
        report[kind] = {
            "per second": statistics.median(one["rate"] for one in found[kind]),
            "p50 ms": statistics.median(one["p50"] for one in found[kind]),
            "p99 ms": statistics.median(one["p99"] for one in found[kind]),
            "statuses": found[kind][-1]["statuses"],
            "ours / theirs": {"median": statistics.median(each), "least": min(each), "most": max(each)},
        }
        say(f"{kind:<12}{report[kind]['per second']:8.0f}/s   ours / theirs {statistics.median(each):.2f}")
    middle = sorted(halves, key=lambda one: one["p99"])[len(halves) // 2]
    report["half, p99 ms"] = middle["p99"]
    say(f"at {middle['rate']:.0f}/s: p50 {middle['p50']:.2f} ms, p99 {middle['p99']:.2f} ms")
    return report


def overload(arguments: argparse.Namespace, queries: Sequence[str]) -> dict[str, Any]:
    """Send more than the service can answer, and check its answers."""
    work = arguments.work
    searcher = termwise.open(work / "termwise.tw")
    with Server("termwise", work, None, "--queue", "16", "--timeout", "1") as server:
        server.load(work, 2)
        before = server.memory()
        wrong: list[str] = []
        statuses: dict[int, int] = {}
        stop = threading.Event()

        def compare() -> None:
            number = 0
            while not stop.is_set():
                query = queries[number % len(queries)]
                number += 1
                status, data = server.post({"query": query, "k": 10})
                statuses[status] = statuses.get(status, 0) + 1
                if status == 200:
                    expected = list(searcher.rank(query, k=10).doc_ids)
                    if [hit["doc_id"] for hit in json.loads(data)["hits"]] != expected:
                        wrong.append(query)
                elif status != 503:
                    wrong.append(f"{status}: {query}")
                time.sleep(0.05)

        comparer = threading.Thread(target=compare)
        comparer.start()
        found = server.load(work, arguments.overload, connections=64)
        stop.set()
        comparer.join()
        report = {
            "load": found,
            "compared": statuses,
            "wrong": wrong,
            "memory before, MB": before,
            "memory after, MB": server.memory(),
        }
    say(f"overload: {found}, compared {statuses}, wrong {len(wrong)}")
    return report


def start(arguments: argparse.Namespace, passages: Sequence[str]) -> dict[str, Any]:
    """Measure the time from the start of the process to the first answer, and the memory afterwards."""
    folder = arguments.work / "large.tw"
    if not folder.exists():
        documents = (
            termwise.Document(str(number), text) for number, text in enumerate(passages[: arguments.large])
        )
        termwise.build_index(documents, folder, analyzer="english", store_text=True)
    seconds = []
    for _ in range(arguments.rounds):
        with Server("termwise", arguments.work, folder) as server:
            seconds.append(server.seconds)
            server.load(arguments.work, 2)
            memory = server.memory()
    report = {"documents": arguments.large, "seconds": statistics.median(seconds), "memory, MB": memory}
    say(f"start: {report}")
    return report


def soak(arguments: argparse.Namespace, queries: Sequence[str], passages: Sequence[str]) -> dict[str, Any]:
    """Mix searches with changes, and report errors and the growth of the memory."""
    folder = arguments.work / "soak.tw"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(arguments.work / "termwise.tw", folder)
    errors: list[str] = []
    changes = arguments.soak // 40
    memories: list[tuple[int, float]] = []
    with Server("termwise", arguments.work, folder) as server:

        def search(first: int) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
            for number in range(first, arguments.soak, 4):
                body = json.dumps({"query": queries[number % len(queries)], "k": 10})
                connection.request("POST", server.path, body, {"content-type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    errors.append(f"search: {answer.status}")
                if number % 2_000 == 0:
                    memories.append((number, server.memory()["without files"]))

        def change() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
            for number in range(changes):
                address = f"/v1/indexes/soak/documents/{number * 7 % arguments.documents}"
                body = json.dumps({"text": passages[-1 - number % 1_000]})
                connection.request("PUT", address, body, {"content-type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                if answer.status not in (200, 201):
                    errors.append(f"change: {answer.status}")

        begin = time.perf_counter()
        threads = [threading.Thread(target=search, args=(first,)) for first in range(4)]
        threads.append(threading.Thread(target=change))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begin
    later = sorted(memories)[len(memories) // 2 :]
    slope = 0.0
    if len(later) > 1:
        slope = statistics.linear_regression(*zip(*later, strict=True)).slope * 100_000
    report = {
        "searches": arguments.soak,
        "changes": changes,
        "seconds": seconds,
        "errors": errors[:20],
        "memory, MB": sorted(memories)[:: max(1, len(memories) // 10)],
        "growth in the second half, MB for 100,000 searches": slope,
    }
    say(f"soak: {len(errors)} errors, {slope:.1f} MB for 100,000 searches, {seconds:.0f} s")
    return report


if __name__ == "__main__":
    main()
