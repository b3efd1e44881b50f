r"""Cost of changes of an index and of filters: adding, deleting, bulk adding, many segments, filtered searches.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/living.py --workload FOLDER --work SCRATCH          # about 10 minutes, 2 GB of disk

Documents are random sequences of words of the passages of the workload (see `workload`), with their frequencies and
with the lengths of the passages. Queries are those of the workload. The contestants have the same documents:

===========================  =====================================================================================
termwise                     BM25; `open_writer`, `Searcher.refresh`
tantivy                      `en_stem`; one writer, `commit` and `reload`
Lucene                       `EnglishAnalyzer`; `commit` and `openIfChanged`
SQLite FTS5                  `porter unicode61`, WAL and synchronous=FULL; one transaction
sqlite-sparse                term weights that are computed outside; one transaction
===========================  =====================================================================================

``add`` is one document, its commit, the newest generation opened, and a search that finds it; ``delete`` is the same
for one document that is gone. All write to the disk before a commit returns. ``bulk`` adds documents in one commit,
beside a new build of the same documents. ``segments`` searches an index of ten segments with a tenth of its documents
deleted, beside the same index after a merge. ``filters`` searches the documents with a random number below a bound,
beside the search without a filter; FTS5 is left out there, and sqlite-sparse has no filters. Contestants that are not
installed are left out. Results are printed and appended as one JSON object to ``benchmarks/results/living.jsonl``.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

import numpy as np  # noqa: E402
from anserini import fetch_jar  # noqa: E402
from living_peers import (  # noqa: E402
    Contestant,
    Lucene,
    Sqlite,
    SqliteSparse,
    Tantivy,
    Termwise,
    first_documents,
)
from record import parser  # noqa: E402
from timing import RESULTS, about, append, each, held, pinned, say, show, show_verdicts, timed  # noqa: E402
from workload import load_texts  # noqa: E402

import termwise  # noqa: E402
from termwise import build_index  # noqa: E402
from termwise.errors import TermwiseError  # noqa: E402
from termwise.index import updater  # noqa: E402

LIMITS = {"add": 50.0, "delete": 20.0}
"""Medians in milliseconds that are wanted for an index of 600,000 documents."""

BOUNDS = {"no filter": None, "50 %": 500, "10 %": 100, "1 %": 10, ".1 %": 1}
"""Bound of the number of a document, which is below 1,000, by the share of documents that a filter allows."""

SHARES = (40, 12, 11, 10, 9, 8, 4, 3, 2, 1)
"""Per cent of the documents in each of ten segments."""


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__, "work")
    command.add_argument("--workload", type=Path, required=True, help="folder of the reference workload")
    command.add_argument("--documents", type=int, default=600_000)
    command.add_argument(
        "--changes", type=int, default=50, help="documents that are added and deleted one by one"
    )
    command.add_argument("--bulk", type=int, default=20_000, help="documents that are added in one commit")
    command.add_argument("--queries", type=int, default=200)
    command.add_argument("--jar", type=Path, help="jar of Anserini (default: fetched from PyPI)")
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    passages, queries = load_texts(arguments.workload)
    make = Texts(passages, arguments.seed)
    texts = make.texts(arguments.documents)
    arguments.work.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[], Contestant]] = {
        "termwise": lambda: Termwise(arguments.work / "termwise.tw"),
        "tantivy": lambda: Tantivy(arguments.work / "tantivy"),
        "Lucene": lambda: Lucene(arguments.work / "lucene", arguments.jar or fetch_jar(arguments.work)),
        "SQLite FTS5": lambda: Sqlite(arguments.work / "fts5.db"),
        "sqlite-sparse": lambda: SqliteSparse(
            arguments.work / "sparse.db", [*make.words, *map(word_of, range(arguments.changes))]
        ),
    }
    report: dict[str, Any] = {
        "about": about(("numpy", "numba", "tantivy", "sqlite-sparse"))
        | {"processor": pinned(), "sqlite": sqlite3.sqlite_version},
        "documents": arguments.documents,
        "left out": {},
    }
    contestants: dict[str, Contestant] = {}
    for name, open_contestant in makers.items():
        try:
            contestants[name] = open_contestant()
        except (ImportError, TermwiseError) as error:
            report["left out"][name] = str(error)
            say(f"{name} is left out: {error}")
    for name, contestant in contestants.items():
        begin = time.perf_counter()
        contestant.build(texts)
        say(f"{name}: built in {time.perf_counter() - begin:.1f} s")
    report["changes"] = changes(contestants, make, arguments)
    report["bulk"] = bulk(contestants, make.texts(arguments.bulk), arguments)
    report["filters"] = filters(contestants, queries[: arguments.queries], arguments.rounds)
    for contestant in contestants.values():
        contestant.close()
    report["segments"] = segments(texts, queries[: arguments.queries], arguments)
    verdicts = {
        f"{name} one document": held(report["changes"][name]["termwise"]["ms"], limit)
        for name, limit in LIMITS.items()
    }
    report["verdicts"] = verdicts
    report["filters, ratio to no filter"] = {
        share: table["termwise"]["ms"]["mean"] / report["filters"]["no filter"]["termwise"]["ms"]["mean"]
        for share, table in report["filters"].items()
    }
    say(f"\nfilters, ratio to no filter: {report['filters, ratio to no filter']}")
    show_verdicts(verdicts)
    append(report, "living", arguments.out)


class Texts:
    """Random texts with the word frequencies and the lengths of passages."""

    def __init__(self, passages: Sequence[str], seed: int) -> None:
        words = [passage.split() for passage in passages]
        self._lengths = np.array([len(each) for each in words])
        self.words = np.array(sorted({word for each in words for word in each}))
        flat = np.concatenate([np.searchsorted(self.words, each) for each in words if each])
        self._ends = np.cumsum(np.bincount(flat, minlength=len(self.words)))
        self._random = np.random.default_rng(seed)

    def texts(self, count: int) -> list[str]:
        """Return new texts."""
        texts = []
        for _ in range(count):
            length = int(self._random.choice(self._lengths))
            places = np.searchsorted(
                self._ends, self._random.integers(self._ends[-1], size=length), side="right"
            )
            texts.append(" ".join(self.words[places]))
        return texts


def word_of(number: int) -> str:
    """Return the word that only one of the documents of `changes` has."""
    return f"zq{number}xj"


def changes(
    contestants: dict[str, Contestant], make: Texts, arguments: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Add documents one by one, each with a word of its own, then delete them; contestants take turns."""
    texts = make.texts(arguments.changes)
    seconds: dict[str, dict[str, list[float]]] = {
        action: {name: [] for name in contestants} for action in ("add", "delete")
    }
    for number, text in enumerate(texts):
        doc_id, word = f"new{number}", word_of(number)
        actions: dict[str, Callable[[Contestant], bool]] = {
            "add": lambda one: (one.add([(doc_id, f"{text} {word}")]), one.find(word) == [doc_id])[1],  # noqa: B023
            "delete": lambda one: (one.delete(doc_id), one.find(word) == [])[1],  # noqa: B023
        }
        for action, act in actions.items():
            for name, contestant in contestants.items():
                begin = time.perf_counter()
                right = act(contestant)
                seconds[action][name].append(time.perf_counter() - begin)
                if not right:
                    raise RuntimeError(f"{name}: {action} {doc_id} is not seen by the next search")
    tables = {
        action: show(
            f"{action} one document, ms", {name: np.array([t]) for name, t in times.items()}, "termwise"
        )
        for action, times in seconds.items()
    }
    for action, table in tables.items():
        for name, row in table.items():
            row["first ms"] = seconds[action][name][0] * 1e3
        say("the first: " + ", ".join(f"{name} {row['first ms']:.1f}" for name, row in table.items()))
    return tables


def bulk(
    contestants: dict[str, Contestant], texts: list[str], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Add documents in one commit; return documents a second, also of a new build of the same documents."""
    rates = {}
    documents = [(f"bulk{number}", text) for number, text in enumerate(texts)]
    for name, contestant in contestants.items():
        begin = time.perf_counter()
        contestant.add(documents)
        rates[name] = len(texts) / (time.perf_counter() - begin)
    begin = time.perf_counter()
    build_index(
        Termwise.documents(documents), arguments.work / "fresh.tw", analyzer="english", overwrite=True
    )
    rates["termwise, new build"] = len(texts) / (time.perf_counter() - begin)
    say(f"\nadd {len(texts):,} documents in one commit, documents a second")
    for name, rate in rates.items():
        say(f"{name:44}{rate:9.0f}   {rates['termwise'] / rate:.2f}")
    return rates


def filters(contestants: dict[str, Contestant], queries: list[str], rounds: int) -> dict[str, Any]:
    """Search with filters that allow different shares of the documents."""
    for contestant in contestants.values():
        for _ in range(contestant.warm_passes if contestant.can_search(None) else 0):
            for query in queries:
                contestant.search(query, None)
    return {
        share: timed(
            f"search, {share}, k = 10, ms",
            {
                name: each(queries, partial(contestant.search, bound=bound))
                for name, contestant in contestants.items()
                if contestant.can_search(bound)
            },
            rounds,
            "termwise",
        )
        for share, bound in BOUNDS.items()
    }


def segments(texts: list[str], queries: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Search ten segments with a tenth of the documents deleted, and the same index after a merge."""
    path = arguments.work / "segments.tw"
    ends = np.cumsum(SHARES) * len(texts) // 100
    documents = Termwise.documents(first_documents(texts))
    build_index(documents[: ends[0]], path, analyzer="english", overwrite=True)
    with mock.patch.object(updater, "FACTOR", 1000), termwise.open_writer(path) as writer:
        for first, last in pairwise(ends):
            writer.add(documents[first:last])
            writer.commit()
        writer.delete(f"d{number}" for number in range(0, len(texts), 10))
        manifest = writer.commit()
    many = termwise.open(path)
    with termwise.open_writer(path) as writer:
        writer.merge()
    one = termwise.open(path)
    if many.rank(queries[0]).doc_ids != one.rank(queries[0]).doc_ids:
        raise RuntimeError("the merge changed a ranking")
    fresh = build_index(
        [each for number, each in enumerate(documents) if number % 10],
        path,
        analyzer="english",
        overwrite=True,
    )
    contestants = {
        f"{len(manifest.segments)} segments, 10 % deleted": each(queries, many.rank),
        "merged": each(queries, one.rank),
        "new build": each(queries, fresh.rank),
    }
    return timed("search, k = 10, ms", contestants, arguments.rounds, next(iter(contestants)))


if __name__ == "__main__":
    main()
