r"""Time and memory of the first answer: whole processes, an empty cache of compiled code, and a service.

    pip install -e '.[serve]' -r benchmarks/requirements.txt
    python benchmarks/first_answer.py --workload FOLDER --work SCRATCH     # about 10 minutes, the indexes included

**Programs.** Each program answers one query of the workload, another one in each round, and ends. The programs take
turns; times are medians over the rounds, and ratios are those to a Python that imports numpy and ends, in the same
round. Memory is the largest resident memory of the process. The files are in the cache of the system, and every package
has its bytecode: the first round writes what is missing, also where the environment forbids it.

=====================  ===========================================================================================
python + numpy         ``import numpy``, the unit
search                 ``termwise search INDEX QUERY``
search, JSON           the same with ``--json``
search, mixture        ``termwise search MIXTURE QUERY``; with ``--mixture``, a folder built before
help                   ``termwise --help``
library                ``termwise.open(INDEX).rank(QUERY)``
bm25s                  a mapped index of bm25s, with its tokenizer and a stemmer
tantivy                an index of tantivy with its tokenizer ``en_stem``
sqlite-sparse          an index of sqlite-sparse, with the weights of BM25 without length
=====================  ===========================================================================================

**Empty cache.** ``termwise index --model bm25`` and ``termwise search`` of 3,000 and 20,000 documents,
``termwise warm``, and ``termwise serve`` until ``/ready``, as after an installation: no code is compiled.

**Service.** Seconds until ``/ready`` with compiled code, memory of the process without mapped files, and, for each kind
of request, the time of the first one and the median of seven later ones.

Results are printed and appended to ``benchmarks/results/first_answer.jsonl``. Packages that are missing are left out.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from record import parser  # noqa: E402
from timing import RESULTS, about, append, say  # noqa: E402
from workload import load_texts  # noqa: E402

UNIT = "python + numpy"
TERMWISE = [sys.executable, "-m", "termwise"]
PORT = 8978

INDEX = "/v1/indexes/changed"
SEARCHES: dict[str, dict[str, Any]] = {
    "search": {},
    "filter, few": {"filter": "rare"},
    "filter, many": {"filter": "n > 5000"},
    "facets": {"facets": ["kind"], "total": True},
    "sort": {"sort": "-price"},
    "collapse": {"collapse": "kind"},
    "phrase": {"must": ["capital city"]},
    "fuzzy": {"query": "captal citi", "fuzzy": True},
    "prefix": {"query": "capit", "prefix": True},
    "explain": {"explain": True},
    "highlight": {"highlight": True, "text": True},
    "candidates": {"candidates": ["1", "2", "3"]},
    "unknown word": {"query": "captial"},
    "unknown field": {"quary": "capital"},
}
REQUESTS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    **{
        name: ("POST", f"{INDEX}/search", {"query": "capital city", **given})
        for name, given in SEARCHES.items()
    },
    "like": ("POST", f"{INDEX}/search", {"like": "17"}),
    "list": ("POST", f"{INDEX}/search", {"filter": "n < 100", "sort": "n"}),
    "suggest": ("GET", f"{INDEX}/suggest?text=capi", None),
    "document": ("GET", f"{INDEX}/documents/17", None),
    "OpenSearch": ("POST", "/changed/_search", {"query": {"match": {"text": "capital city"}}}),
    "page": ("GET", "/", None),
    "metrics": ("GET", "/metrics", None),
    "put": ("PUT", f"{INDEX}/documents/new", {"text": "a new capital", "n": 3}),
    "patch": ("PATCH", f"{INDEX}/documents/17", {"price": 3.5}),
    "delete": ("DELETE", f"{INDEX}/documents/new", None),
}

LAUNCHER = """
import json, os, sys, time
for line in sys.stdin:
    words = json.loads(line)
    begin = time.perf_counter()
    process = os.posix_spawn(words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", 1, 0)])
    _, status, usage = os.wait4(process, 0)
    print(json.dumps([time.perf_counter() - begin, usage.ru_maxrss, status]), flush=True)
"""

LIBRARY = """
import sys, termwise
print(termwise.open(sys.argv[1]).rank(sys.argv[2], k=10).doc_ids)
"""

BM25S = """
import sys, bm25s, Stemmer
index = bm25s.BM25.load(sys.argv[1], mmap=True)
tokens = bm25s.tokenize([sys.argv[2]], stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
print(index.retrieve(tokens, k=10, show_progress=False).documents)
"""

TANTIVY = """
import re, sys, tantivy
index = tantivy.Index.open(sys.argv[1])
searcher = index.searcher()
found = searcher.search(index.parse_query(" ".join(re.findall(r"\\w+", sys.argv[2])), ["text"]), 10).hits
print([searcher.doc(address)["doc_id"][0] for _, address in found])
"""

SQLITE = """
import json, re, sys
from collections import Counter
from sqlite_sparse import SparseIndex
words = Counter(re.findall(r"\\w+", sys.argv[2].lower()))
print([hit["ext_id"] for hit in SparseIndex(sys.argv[1]).search_terms(words, k=10)])
"""


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__, "work")
    command.add_argument("--workload", type=Path, required=True, help="folder of the reference workload")
    command.add_argument("--documents", type=int, default=616_387)
    command.add_argument("--rounds", type=int, default=15)
    command.add_argument("--mixture", type=Path, help="folder of a mixture, such as one of --model best")
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    passages, queries = load_texts(arguments.workload)
    work = arguments.work
    if not (work / "done").exists():
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        build(work, passages[: arguments.documents])
        (work / "done").touch()
    index = str(work / "termwise.tw")
    programs: dict[str, list[str]] = {
        UNIT: [sys.executable, "-c", "import numpy"],
        "search": [*TERMWISE, "search", index],
        "search, JSON": [*TERMWISE, "search", "--json", index],
        "help": [*TERMWISE, "--help"],
        "library": [sys.executable, "-c", LIBRARY, index],
    }
    if arguments.mixture is not None:
        programs["search, mixture"] = [*TERMWISE, "search", str(arguments.mixture)]
    for name, code in (("bm25s", BM25S), ("tantivy", TANTIVY), ("sqlite-sparse", SQLITE)):
        if (work / name).exists():
            programs[name] = [sys.executable, "-c", code, str(work / name)]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    launcher = Launcher()
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for number in range(-1, arguments.rounds):  # the first round fills the caches
        for name, words in programs.items():
            needs_query = name not in (UNIT, "help")
            found = launcher.run([*words, queries[7 * (number + 1) % len(queries)]] if needs_query else words)
            if number >= 0:
                taken[name].append(found)
    units = [seconds for seconds, _ in taken[UNIT]]
    report: dict[str, Any] = {
        "about": about(("numpy", "numba", "click", "rich")),
        "documents": min(arguments.documents, len(passages)),
    }
    say(f"\n{'':18}{'ms':>8}{'x numpy':>9}{'MB':>7}")
    for name, each in taken.items():
        ratio = median(seconds / unit for (seconds, _), unit in zip(each, units, strict=True))
        row = {
            "ms": 1e3 * median(seconds for seconds, _ in each),
            f"x {UNIT}": ratio,
            "MB": median(memory for _, memory in each),
        }
        report[name] = row
        say(f"{name:18}{row['ms']:8.0f}{ratio:9.2f}{row['MB']:7.0f}")
    report["empty cache"] = empty_cache(work, passages)
    report["service"] = service(work, passages, arguments.rounds)
    append(report, "first_answer", arguments.out)


def empty_cache(work: Path, texts: Sequence[str]) -> dict[str, float]:
    """Return the seconds of the first commands after an installation, each with a cache of its own."""
    taken: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in (3_000, 20_000):
            collection = Path(folder) / f"{number}.jsonl"
            collection.write_text(
                "".join(
                    json.dumps({"_id": str(i), "text": text}) + "\n" for i, text in enumerate(texts[:number])
                )
            )
            commands = [["index", str(collection), "--model", "bm25", "--out"], ["search"]]
            for state in ("compiled", "empty"):
                index = str(Path(folder) / f"{number}-{state}.tw")
                variables = empty_places(folder) if state == "empty" else dict(os.environ)
                begin = time.perf_counter()
                for words, last in zip(commands, ([], ["the capital of Spain"]), strict=True):
                    subprocess.run(
                        [*TERMWISE, *words, index, *last], check=True, capture_output=True, env=variables
                    )
                taken[f"index and search {number:,} documents, {state}"] = time.perf_counter() - begin
        begin = time.perf_counter()
        subprocess.run([*TERMWISE, "warm"], check=True, capture_output=True, env=empty_places(folder))
        taken["warm"] = time.perf_counter() - begin
        with served(work / "termwise.tw", empty_places(folder)) as (_, _, seconds):
            taken["serve"] = seconds
    for name, seconds in taken.items():
        say(f"{name:50}{seconds:8.2f} s")
    return taken


def empty_places(folder: str) -> dict[str, str]:
    """Return environment variables for a process that has an empty cache of compiled code."""
    place = tempfile.mkdtemp(dir=folder)
    return {
        **os.environ,
        "TERMWISE_CACHE": f"{place}/given",
        "XDG_CACHE_HOME": f"{place}/user",
        "TMPDIR": place,
    }


@contextmanager
def served(index: Path, variables: dict[str, str]) -> Iterator[tuple[http.client.HTTPConnection, int, float]]:
    """Start a service; yield a connection, the number of the process, and the seconds until ``/ready``."""
    words = [*TERMWISE, "serve", str(index), "--port", str(PORT), "--without-log"]
    begin = time.perf_counter()
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL, env=variables)
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        try:
            connection.request("GET", "/ready")
            if (answer := connection.getresponse()).read() and answer.status == 200:
                break
        except OSError:
            time.sleep(0.005)
    try:
        yield connection, process.pid, time.perf_counter() - begin
    finally:
        connection.close()
        process.terminate()
        process.wait()


def service(work: Path, texts: Sequence[str], rounds: int, documents: int = 100_000) -> dict[str, Any]:
    """Return the start, the memory, and the time of first and later requests of each kind."""
    import termwise

    index = work / "shop.tw"
    if not index.exists():
        attributes = (
            {"kind": f"k{i % 37}", "n": i, "rare": i % 1000 == 0, "price": i % 500 / 4}
            for i in range(documents)
        )
        rows = zip(texts[:documents], attributes, strict=False)
        termwise.build_index(
            (termwise.Document(str(i), text, given) for i, (text, given) in enumerate(rows)),
            index,
            analyzer="english",
            store_text=True,
        )
    changed = work / "changed.tw"
    first: dict[str, list[float]] = {name: [] for name in REQUESTS}
    later: dict[str, list[float]] = {name: [] for name in REQUESTS}
    ready, memory = [], []
    for _ in range(max(3, rounds // 3)):
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(index, changed)
        with served(changed, dict(os.environ)) as (connection, process, seconds):
            ready.append(seconds)
            for name, given in REQUESTS.items():
                first[name].append(sent(connection, *given))
            for name, given in REQUESTS.items():
                later[name] += [sent(connection, *given) for _ in range(7)]
            status = Path(f"/proc/{process}/status").read_text()
            memory.append(int(re.findall(r"RssAnon:\s+(\d+)", status)[0]) * 1024 / 1e6)
    report: dict[str, Any] = {"ready, s": median(ready), "memory without files, MB": median(memory)}
    say(f"service: {report}")
    for name in REQUESTS:
        row = {"first, ms": 1e3 * median(first[name]), "later, ms": 1e3 * median(later[name])}
        report[name] = row
        say(
            f"{name:20}{row['first, ms']:8.1f}{row['later, ms']:8.1f}{row['first, ms'] / row['later, ms']:7.1f} x"
        )
    return report


def sent(
    connection: http.client.HTTPConnection, method: str, path: str, body: dict[str, Any] | None
) -> float:
    """Send a request; return the seconds until its answer."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    begin = time.perf_counter()
    connection.request(method, path, body and json.dumps(body), {"content-type": kind} if body else {})
    answer = connection.getresponse()
    answer.read()
    if answer.status >= 500:
        raise RuntimeError(f"{method} {path}: {answer.status}")
    return time.perf_counter() - begin


class Launcher:
    """Runs programs from a small process: the system counts the memory of the one that starts a program to it."""

    def __init__(self) -> None:
        words = [sys.executable, "-I", "-S", "-c", LAUNCHER]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, words: Sequence[str]) -> tuple[float, float]:
        """Run a program; return its seconds, and its largest resident memory in MB."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(words), file=self._process.stdin, flush=True)
        seconds, kilobytes, status = json.loads(self._process.stdout.readline())
        if status:
            raise RuntimeError(f"{words[:4]} failed")
        return seconds, kilobytes * 1024 / 1e6


def build(work: Path, texts: Sequence[str]) -> None:
    """Build the indexes of all programs."""
    import termwise

    documents = (termwise.Document(str(number), text) for number, text in enumerate(texts))
    termwise.build_index(documents, work / "termwise.tw", analyzer="english", store_text=True)
    if importlib.util.find_spec("tantivy"):
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("doc_id", stored=True, tokenizer_name="raw")
        schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
        (work / "tantivy").mkdir()
        writer = (index := tantivy.Index(schema.build(), path=str(work / "tantivy"))).writer(num_threads=1)
        for number, text in enumerate(texts):
            writer.add_document(tantivy.Document(doc_id=str(number), text=text))
        writer.commit()
        writer.wait_merging_threads()
        del index
    if importlib.util.find_spec("bm25s"):
        import bm25s
        import Stemmer

        retriever = bm25s.BM25()
        stemmer = Stemmer.Stemmer("english")
        tokens = bm25s.tokenize(list(texts), stopwords="en", stemmer=stemmer, show_progress=False)
        retriever.index(tokens, show_progress=False)
        retriever.save(str(work / "bm25s"))
    if importlib.util.find_spec("sqlite_sparse"):
        build_sqlite(work / "sqlite-sparse", texts)


def build_sqlite(path: Path, texts: Sequence[str], batch: int = 1000) -> None:
    """Build an index of sqlite-sparse, whose weights are ``tf * 2.2 / (tf + 1.2)``."""
    import re
    from collections import Counter

    from sqlite_sparse import SparseIndex

    words = [Counter(re.findall(r"\w+", text.lower())) for text in texts]
    vocabulary = sorted(set().union(*words))
    numbers = {word: number for number, word in enumerate(vocabulary)}
    index = SparseIndex.create_external(str(path), vocabulary)
    for first in range(0, len(words), batch):
        index.store.add_encoded(
            [
                (str(first + place), "", None, {numbers[word]: 2.2 * tf / (tf + 1.2) for word, tf in counts.items()})
                for place, counts in enumerate(words[first : first + batch])
            ]
        )  # fmt: skip


if __name__ == "__main__":
    main()
