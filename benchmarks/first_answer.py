r"""Time and memory of the first answer: whole processes, from their start to their end.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/first_answer.py --workload FOLDER --work SCRATCH     # about 10 minutes, the indexes included

Each program answers one query of the workload, another one in each round, and ends. The programs take turns; times are
medians over the rounds, and ratios are those to a Python that imports numpy and ends, in the same round. Memory is the
largest resident memory of the process. The files are in the cache of the system, and every package has its bytecode:
the first round writes what is missing, also where the environment forbids it.

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

Results are printed and appended to ``benchmarks/results/first_answer.jsonl``. Packages that are missing are left out.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from record import parser  # noqa: E402
from timing import RESULTS, about, append, say  # noqa: E402
from workload import load_texts  # noqa: E402

UNIT = "python + numpy"

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
    termwise = [sys.executable, "-m", "termwise"]
    index = str(work / "termwise.tw")
    programs: dict[str, list[str]] = {
        UNIT: [sys.executable, "-c", "import numpy"],
        "search": [*termwise, "search", index],
        "search, JSON": [*termwise, "search", "--json", index],
        "help": [*termwise, "--help"],
        "library": [sys.executable, "-c", LIBRARY, index],
    }
    if arguments.mixture is not None:
        programs["search, mixture"] = [*termwise, "search", str(arguments.mixture)]
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
        "documents": arguments.documents,
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
    append(report, "first_answer", arguments.out)


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
    termwise.build_index(documents, work / "termwise.tw", store_text=True)
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
