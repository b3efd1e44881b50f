r"""Cost of changes of an index and of filters: adding, deleting, bulk adding, many segments, filtered searches.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/living.py --workload FOLDER --work SCRATCH          # about 15 minutes, 2 GB of disk

Documents are random sequences of words of the passages of the workload (see `workload`), with their frequencies and
with the lengths of the passages. Queries are those of the workload. The contestants have the same documents:

===========================  =====================================================================================
termwise                     BM25; `open_writer`, `Searcher.refresh`
tantivy                      `en_stem`; one writer, `commit` and `reload`
SQLite FTS5                  `porter unicode61`, WAL and synchronous=FULL; one transaction
===========================  =====================================================================================

``add`` is one document, its commit, the newest generation opened, and a search that finds it; ``delete`` is the same
for one document that is gone. All three write to the disk before a commit returns. ``bulk`` adds documents in one
commit, beside a new build of the same documents. ``segments`` searches an index of ten segments with a tenth of its
documents deleted, beside the same index after a merge. ``filters`` searches the documents with a random number below a
bound, beside the search without a filter and beside tantivy. Results are printed and appended as one JSON object to
``benchmarks/results/living.jsonl``.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

import numpy as np  # noqa: E402
from record import parser  # noqa: E402
from timing import RESULTS, about, append, each, held, pinned, say, show, show_verdicts, timed  # noqa: E402
from workload import load_texts  # noqa: E402

import termwise  # noqa: E402
from termwise import Document, Searcher, build_index  # noqa: E402
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
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    report: dict[str, Any] = {
        "about": about(("numpy", "numba", "tantivy"))
        | {"processor": pinned(), "sqlite": sqlite3.sqlite_version},
        "documents": arguments.documents,
    }
    passages, queries = load_texts(arguments.workload)
    make = Texts(passages, arguments.seed)
    texts = make.texts(arguments.documents)
    arguments.work.mkdir(parents=True, exist_ok=True)
    contestants: dict[str, Contestant] = {
        "termwise": Termwise(arguments.work / "termwise.tw"),
        "tantivy": Tantivy(arguments.work / "tantivy"),
        "SQLite FTS5": Sqlite(arguments.work / "fts5.db"),
    }
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
        self._words = np.array(sorted({word for each in words for word in each}))
        flat = np.concatenate([np.searchsorted(self._words, each) for each in words if each])
        self._ends = np.cumsum(np.bincount(flat, minlength=len(self._words)))
        self._random = np.random.default_rng(seed)

    def texts(self, count: int) -> list[str]:
        """Return new texts."""
        texts = []
        for _ in range(count):
            length = int(self._random.choice(self._lengths))
            places = np.searchsorted(
                self._ends, self._random.integers(self._ends[-1], size=length), side="right"
            )
            texts.append(" ".join(self._words[places]))
        return texts


class Contestant(ABC):
    """Search engine with an index on disk that can be changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_dir():
            shutil.rmtree(path)
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)

    @abstractmethod
    def build(self, texts: Sequence[str]) -> None:
        """Index texts as the documents ``d0``, ``d1``, …, and open the index for changes and searches."""

    @abstractmethod
    def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """Add documents, and open the newest generation."""

    @abstractmethod
    def delete(self, doc_id: str) -> None:
        """Delete a document, and open the newest generation."""

    @abstractmethod
    def find(self, word: str) -> list[str]:
        """Return the ten best documents for a word."""

    @abstractmethod
    def search(self, query: str, bound: int | None) -> list[str]:
        """Return the ten best documents for a query, of those with a number below a bound."""

    @abstractmethod
    def close(self) -> None:
        """Release the index."""


class Termwise(Contestant):
    """BM25 of termwise."""

    def build(self, texts: Sequence[str]) -> None:
        """Build and open."""
        documents = [
            Document(f"d{number}", text, {"number": number_of(number)}) for number, text in enumerate(texts)
        ]
        self._searcher = build_index(documents, self.path)
        self._writer = termwise.open_writer(self.path)

    def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """Add documents in one commit, and open the newest generation."""
        self._writer.add(Document(*each) for each in documents)
        self._writer.commit()
        self._searcher = self._searcher.refresh()

    def delete(self, doc_id: str) -> None:
        """Delete, commit, refresh."""
        self._writer.delete([doc_id])
        self._writer.commit()
        self._searcher = self._searcher.refresh()

    def find(self, word: str) -> list[str]:
        """Rank."""
        return list(self._searcher.rank(word, k=10).doc_ids)

    def search(self, query: str, bound: int | None) -> list[str]:
        """Rank with a filter."""
        condition = None if bound is None else f"number < {bound}"
        return list(self._searcher.rank(query, k=10, filter=condition).doc_ids)

    def close(self) -> None:
        """Close the writer."""
        self._writer.close()


class Tantivy(Contestant):
    """BM25 of tantivy."""

    def build(self, texts: Sequence[str]) -> None:
        """Build and open."""
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("id", tokenizer_name="raw", stored=True, index_option="basic")
        schema.add_text_field("body", tokenizer_name="en_stem", index_option="freq")
        schema.add_unsigned_field("number", indexed=True, fast=True)
        self.path.mkdir()
        self._index = tantivy.Index(schema.build(), path=str(self.path))
        self._writer = self._index.writer(heap_size=1_000_000_000, num_threads=1)
        self.add([(f"d{number}", text) for number, text in enumerate(texts)])

    def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """Add documents in one commit, and reload the index."""
        import tantivy

        for doc_id, text in documents:
            number = number_of(int(doc_id.strip("abdeklnuw")))
            document = tantivy.Document(id=doc_id, body=text)
            document.add_unsigned("number", number)
            self._writer.add_document(document)
        self._writer.commit()
        self._index.reload()

    def delete(self, doc_id: str) -> None:
        """Delete, commit, reload."""
        self._writer.delete_documents_by_term("id", doc_id)
        self._writer.commit()
        self._index.reload()

    def find(self, word: str) -> list[str]:
        """Search, and read the identifiers."""
        searcher = self._index.searcher()
        found = searcher.search(self._index.parse_query(word, ["body"]), 10, count=False)
        return [searcher.doc(address)["id"][0] for _, address in found.hits]

    def search(self, query: str, bound: int | None) -> list[str]:
        """Search with a range as a required part."""
        words = " ".join("".join(mark if mark.isalnum() else " " for mark in query.lower()).split())
        text = words if bound is None else f"+({words}) +number:[0 TO {bound - 1}]"
        searcher = self._index.searcher()
        found = searcher.search(self._index.parse_query(text, ["body"]), 10, count=False)
        return [searcher.doc(address)["id"][0] for _, address in found.hits]

    def close(self) -> None:
        """Stop the threads of the writer."""
        self._writer.wait_merging_threads()


class Sqlite(Contestant):
    """BM25 of SQLite's FTS5."""

    def build(self, texts: Sequence[str]) -> None:
        """Build and open."""
        self._database = sqlite3.connect(self.path)
        self._database.execute("pragma journal_mode=wal")
        self._database.execute("pragma synchronous=full")
        self._database.execute("create table documents (id text primary key, number integer, bucket integer)")
        self._database.execute("create virtual table texts using fts5(body, tokenize='porter unicode61')")
        self._next = 1
        self.add([(f"d{number}", text) for number, text in enumerate(texts)])

    def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """Insert in one transaction."""
        with self._database:
            first, self._next = self._next, self._next + len(documents)
            self._database.executemany(
                "insert into texts(rowid, body) values (?, ?)",
                ((first + place, text) for place, (_, text) in enumerate(documents)),
            )
            self._database.executemany(
                "insert into documents values (?, ?, ?)",
                (
                    (doc_id, first + place, number_of(int(doc_id.strip("abdeklnuw"))))
                    for place, (doc_id, _) in enumerate(documents)
                ),
            )

    def delete(self, doc_id: str) -> None:
        """Delete in one transaction."""
        with self._database:
            (number,) = self._database.execute(
                "select number from documents where id = ?", (doc_id,)
            ).fetchone()
            self._database.execute("delete from texts where rowid = ?", (number,))
            self._database.execute("delete from documents where id = ?", (doc_id,))

    def find(self, word: str) -> list[str]:
        """Search, and read the identifiers."""
        rows = self._database.execute(
            "select id from texts join documents on number = texts.rowid where texts match ? order by rank limit 10",
            (f'"{word}"',),
        )
        return [doc_id for (doc_id,) in rows]

    def search(self, query: str, bound: int | None) -> list[str]:
        """Refuse: FTS5 scores all documents with a word of the query, which takes seconds."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def changes(
    contestants: dict[str, Contestant], make: Texts, arguments: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Add documents one by one, each with a word of its own, then delete them; contestants take turns."""
    texts = make.texts(arguments.changes)
    seconds: dict[str, dict[str, list[float]]] = {
        action: {name: [] for name in contestants} for action in ("add", "delete")
    }
    for number, text in enumerate(texts):
        doc_id, word = f"new{number}", f"zq{number}xj"
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
    return {
        action: show(
            f"{action} one document, ms", {name: np.array([t]) for name, t in times.items()}, "termwise"
        )
        for action, times in seconds.items()
    }


def bulk(
    contestants: dict[str, Contestant], texts: list[str], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Add documents in one commit; return documents a second, also of a new build of the same documents."""
    rates = {}
    for name, contestant in contestants.items():
        documents = [(f"bulk{number}", text) for number, text in enumerate(texts)]
        begin = time.perf_counter()
        contestant.add(documents)
        rates[name] = len(texts) / (time.perf_counter() - begin)
    documents = [Document(f"bulk{number}", text) for number, text in enumerate(texts)]
    begin = time.perf_counter()
    build_index(documents, arguments.work / "fresh.tw", overwrite=True)
    rates["termwise, new build"] = len(texts) / (time.perf_counter() - begin)
    say(f"\nadd {len(texts):,} documents in one commit, documents a second")
    for name, rate in rates.items():
        say(f"{name:44}{rate:9.0f}   {rates['termwise'] / rate:.2f}")
    return rates


def number_of(number: int) -> int:
    """Return the attribute of a document, from 0 to 999, in no order of the documents."""
    return (number * 2_654_435_761 >> 7) % 1000


def filters(contestants: dict[str, Contestant], queries: list[str], rounds: int) -> dict[str, Any]:
    """Search with filters that allow different shares of the documents."""
    return {
        share: timed(
            f"search, {share}, k = 10, ms",
            {
                name: each(queries, partial(contestants[name].search, bound=bound))
                for name in ("termwise", "tantivy")
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
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    build_index(documents[: ends[0]], path, overwrite=True)
    with mock.patch.object(updater, "FACTOR", 1000), termwise.open_writer(path) as writer:
        for first, last in pairwise(ends):
            writer.add(documents[first:last])
            writer.commit()
        writer.delete(f"d{number}" for number in range(0, len(texts), 10))
        manifest = writer.commit()
    many = Searcher.open(path)
    with termwise.open_writer(path) as writer:
        writer.merge()
    one = Searcher.open(path)
    if many.rank(queries[0]).doc_ids != one.rank(queries[0]).doc_ids:
        raise RuntimeError("the merge changed a ranking")
    fresh = build_index([each for number, each in enumerate(documents) if number % 10], path, overwrite=True)
    contestants = {
        f"{len(manifest.segments)} segments, 10 % deleted": each(queries, many.rank),
        "merged": each(queries, one.rank),
        "new build": each(queries, fresh.rank),
    }
    return timed("search, k = 10, ms", contestants, arguments.rounds, next(iter(contestants)))


if __name__ == "__main__":
    main()
