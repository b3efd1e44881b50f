r"""Cost of a query: encoding, re-ranking of 1,000 candidates, and first stage over 100,000 documents.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/query_side.py --work SCRATCH [--index tilde=FOLDER] [--index tildev2=FOLDER]

Each part is compared with a plain form of the same work, on one thread:

=================  ===============================================================================================
query encoding     termwise: text to a row of term weights. Plain: ``tokenizers`` alone, text to piece numbers
re-ranking         termwise: scores of 1,000 given documents. Plain: numpy, a dense query vector and one product per
                   document; and numpy without a loop, which gathers all postings at once
first stage        termwise: the best k. Plain: ``bm25s`` over the same impacts, and numpy, which adds the posting
                   lists and partitions
=================  ===============================================================================================

Documents have weights of trained networks: those of the shipped ``tilde`` and ``tildev2`` over the documentation of
Python's standard library, whose weights are part of the package, or the rows of an index named with ``--index``. If
there are fewer than ``--documents``, further ones are mixed from pairs of rows that share a term; every weight is one
that a network gave to its term.

There are two sets of queries: ``short``, the shipped questions and first sentences of documents, and ``long``, the
first 150 tokens of documents, as in query by example. The medians of both are compared with limits. Then the first
stage alone is timed for queries of 5 to 200 distinct terms from the beginnings of documents; the limit of the longest
is 5 ms.

The process is bound to one processor. Engines take turns, round after round. Shown are mean, median and 99th percentile
over the queries of the median round. Results are printed and appended as one JSON object to
``benchmarks/results/query_side.jsonl``.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import termwise

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from record import named_folders, parser, script  # noqa: E402
from timing import (  # noqa: E402
    RESULTS,
    Timer,
    about,
    append,
    each,
    gather_places,
    held,
    pinned,
    say,
    show_verdicts,
    timed,
    with_random,
)

from termwise.collection import PythonQuestions, open_collection  # noqa: E402
from termwise.encode.shipped_rows import open_shipped_encoder, shipped_rows  # noqa: E402
from termwise.engine.query_vector import query_vector  # noqa: E402
from termwise.engine.retrieval import first_stage, score_documents  # noqa: E402
from termwise.index import Index, IndexWriter  # noqa: E402
from termwise.index.encoder_description import encoder_description  # noqa: E402
from termwise.indexing import BuildOptions, build_index  # noqa: E402
from termwise.models import NetworkModel, make_model  # noqa: E402
from termwise.search import Searcher  # noqa: E402
from termwise.text import Analyzer  # noqa: E402
from termwise.weights import TermWeights  # noqa: E402

KINDS = ("tilde", "tildev2")
DATA = "python:stdlib"

DEPTHS = (10, 1000)
CANDIDATES = 1000
CHUNK = 4096
TRIES = 40
"""Maximum number of other rows in a mixed document."""

KEPT = 0.6
"""Share of the first row in the terms of a mixed document."""

LIMITS = {"query encoding": 0.1, "re-ranking": 0.5, "first stage, k = 10": 2.0, "first stage, k = 1000": 2.0}
"""Limits of the medians in milliseconds, over 100,000 documents."""

LONG = 150
"""Tokens of a long query."""

LENGTHS = (5, 10, 25, 50, 100, 200)
"""Numbers of distinct terms of the queries in the timing by length."""

LONGEST_LIMIT = 5.0
"""Limit of the median for the longest of these in milliseconds, over 100,000 documents, k = 10."""

Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__, "work")
    command.add_argument("--index", action="append", default=[], metavar="KIND=FOLDER", help="source of rows")
    command.add_argument("--documents", type=int, default=100_000)
    command.add_argument("--queries", type=int, default=500, help="number of short queries")
    command.add_argument("--long-queries", type=int, default=200)
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    named = named_folders(arguments.index)
    searchers = {kind: made(kind, named.get(kind), arguments) for kind in KINDS}
    report: dict[str, Any] = {
        "about": about() | {"pinned to": pinned()},
        "rounds": arguments.rounds,
        "wanted, ms": LIMITS,
        "kinds": {},
    }
    for kind, searcher in searchers.items():
        origin = named.get(kind, f"{DATA}, as it ships")
        postings = sum(len(segment.terms) for segment in searcher.index.segments)
        say(f"\n{kind}: {len(searcher.index):,} documents, weights of {origin}")
        report["kinds"][kind] = {
            "rows": origin,
            "documents": len(searcher.index),
            "postings a document": postings / len(searcher.index),
        }
        for name, texts in queries(searcher.analyzer, arguments).items():
            report["kinds"][kind][name] = measure(
                f"{kind}, {name} queries", searcher, texts, arguments.rounds
            )
        texts = whole_documents(searcher, arguments)
        report["kinds"][kind]["by length"] = by_length(kind, searcher, texts, arguments.rounds)
    conclude(report)
    append(report, "query_side", arguments.out)


def queries(analyzer: Analyzer, arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Return short and long queries from the documentation, whatever the index contains."""
    texts = [document.text for document in open_collection(DATA).documents()]
    random = np.random.default_rng(arguments.seed)
    texts = [texts[place] for place in random.permutation(len(texts)).tolist()]
    short = [query.text for query in PythonQuestions.load().queries]
    long = []
    for text in texts:
        if len(short) >= arguments.queries and len(long) >= arguments.long_queries:
            break
        spans = analyzer.analyze(text).spans
        if len(spans) >= LONG and len(long) < arguments.long_queries:
            long.append(text[: int(spans[LONG - 1][1])])
        sentence = re.split(r"(?<=[.!?])\s", text.partition("\n")[2].strip(), maxsplit=1)[0]
        if 4 <= len(sentence.split()) <= 12 and len(short) < arguments.queries:
            short.append(sentence)
    return {"short": short[: arguments.queries], "long": long}


def whole_documents(searcher: Searcher, arguments: argparse.Namespace) -> list[str]:
    """Return documents with as many terms as the longest queries, in random order."""
    texts = [document.text for document in open_collection(DATA).documents()]
    random = np.random.default_rng(arguments.seed)
    found = (texts[place] for place in random.permutation(len(texts)).tolist())
    long_enough = (text for text in found if beginning(searcher, text, LENGTHS[-1]) is not None)
    return list(islice(long_enough, arguments.long_queries))


def verdicts(parts: dict[str, Any]) -> dict[str, Any]:
    """Compare the medians of termwise with their limits."""
    return {name: held(parts[name]["termwise"]["ms"], limit) for name, limit in LIMITS.items()}


def conclude(report: dict[str, Any]) -> None:
    """Print all verdicts."""
    show_verdicts(
        {
            f"{kind}, {name}: {part}": row
            for kind, entry in report["kinds"].items()
            for name in ("short", "long", "by length")
            for part, row in entry[name]["verdicts"].items()
        }
    )


def measure(title: str, searcher: Searcher, texts: Sequence[str], rounds: int) -> dict[str, Any]:
    """Time all three parts over one index."""
    index = searcher.index
    impacts = Impacts.of(index)
    postings = impacts.postings(index.manifest.terms)
    rows = [searcher.encode(text) for text in texts]
    vectors = [query_vector(index, row) for row in rows]
    lengths = [
        int((postings.indptr[vector.terms + 1] - postings.indptr[vector.terms]).sum()) for vector in vectors
    ]
    ours = "termwise"
    report: dict[str, Any] = {
        "queries": len(texts),
        "terms a query": float(np.mean([len(vector.terms) for vector in vectors])),
        "postings a query": float(np.mean(lengths)),
    }
    pieces = tokenizer(searcher.analyzer)
    report["query encoding"] = timed(
        f"{title}: query encoding, ms",
        {
            ours: each(texts, searcher.encode),
            "tokenizers alone": each(texts, lambda text: pieces.encode(text, add_special_tokens=False).ids),
        },
        rounds,
        ours,
    )
    random = np.random.default_rng(0)
    candidates = []
    for vector in vectors:
        best, _ = first_stage(index, vector, CANDIDATES)
        candidates.append(with_random(best, len(index), CANDIDATES, random))
    identifiers = [index.doc_ids(chosen) for chosen in candidates]
    asked = list(zip(rows, vectors, candidates, identifiers, texts, strict=True))
    report["re-ranking"] = timed(
        f"{title}: re-ranking {CANDIDATES:,}, ms",
        {
            ours: each(asked, lambda query: score_documents(index, query_vector(index, query[0]), query[2])),
            "termwise, from text and identifiers to a ranking": each(
                asked, lambda query: searcher.rank(query[4], candidates=query[3], k=CANDIDATES)
            ),
            "numpy, document by document": each(asked, lambda query: impacts.one_by_one(query[1], query[2])),
            "numpy, one gather": each(asked, lambda query: impacts.gathered(query[1], query[2])),
        },
        rounds,
        ours,
    )
    report["re-ranking, same scores"] = float(
        np.mean(
            [
                np.allclose(scored(index, vector, chosen), impacts.gathered(vector, chosen))
                for _, vector, chosen, _, _ in asked
            ]
        )
    )
    peer = bm25s_engine(postings)
    for k in DEPTHS:
        report[f"first stage, k = {k}"] = first_stages(title, index, rows, postings, peer, k, rounds)
        report[f"first stage, k = {k}, same scores"] = agreement(index, vectors, postings, k)
    report["verdicts"] = verdicts(report)
    return report


def first_stages(
    title: str, index: Index, rows: Sequence[TermWeights], postings: Postings, peer: Any, k: int, rounds: int
) -> dict[str, Any]:
    """Time the first stage of the engines."""
    vectors = [query_vector(index, row) for row in rows]
    contestants: dict[str, Timer] = {
        "termwise": each(rows, lambda row: first_stage(index, query_vector(index, row), k)),
        "numpy": each(vectors, lambda vector: postings.search(vector, k)),
    }
    if peer is not None:
        repeated = [np.repeat(vector.terms, vector.weights).tolist() for vector in vectors]
        contestants["bm25s"] = each(repeated, partial(bm25s_search, peer, min(k, len(index))))
    return timed(f"{title}: first stage, k = {k}, ms", contestants, rounds, "termwise")


def by_length(kind: str, searcher: Searcher, texts: Sequence[str], rounds: int) -> dict[str, Any]:
    """Time the first stage for queries of increasing length, cut from the same texts."""
    index = searcher.index
    postings = Impacts.of(index).postings(index.manifest.terms)
    peer = bm25s_engine(postings)
    report: dict[str, Any] = {"queries": len(texts), "k": DEPTHS[0], "terms": {}}
    for terms in LENGTHS:
        rows = [searcher.encode(beginning(searcher, text, terms) or text) for text in texts]
        title = f"{kind}, queries of {terms} terms"
        report["terms"][terms] = first_stages(title, index, rows, postings, peer, DEPTHS[0], rounds)
    longest = report["terms"][LENGTHS[-1]]["termwise"]["ms"]
    report["verdicts"] = {f"first stage, {LENGTHS[-1]} terms": held(longest, LONGEST_LIMIT)}
    return report


def beginning(searcher: Searcher, text: str, terms: int) -> str | None:
    """Return the beginning of a text with a number of distinct terms of the index; None if it has fewer."""
    analysis = searcher.analyzer.analyze(text)
    seen: set[str] = set()
    for token, (_, end) in zip(analysis.tokens, analysis.spans.tolist(), strict=True):
        if searcher.index.vocabulary.number(token) is not None:
            seen.add(token)
        if len(seen) == terms:
            return text[:end]
    return None


def scored(index: Index, vector: Any, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the scores of termwise as sums of impacts."""
    scores, _ = score_documents(index, vector, chosen)
    sums: npt.NDArray[np.float64] = (scores - vector.constant) / vector.unit
    return sums


def agreement(
    index: Index, vectors: Sequence[Any], postings: Postings, k: int, *, queries: int = 50
) -> float:
    """Return the share of queries with the same scores in termwise and numpy."""
    same = []
    for vector in vectors[:queries]:
        _, scores = first_stage(index, vector, k)
        _, theirs = postings.search(vector, k)
        same.append(np.allclose((scores - vector.constant) / vector.unit, theirs[: len(scores)]))
    return float(np.mean(same))


# --- the plain forms --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Postings:
    """Impacts by term as compressed sparse columns: column pointers, documents, impacts."""

    indptr: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int32]
    impacts: npt.NDArray[np.float32]
    count: int

    def search(self, query: Any, k: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float32]]:
        """Add the posting lists of the query, and select the best documents."""
        scores = np.zeros(self.count, dtype=np.float32)
        for term, weight in zip(query.terms.tolist(), query.weights.tolist(), strict=True):
            first, last = self.indptr[term], self.indptr[term + 1]
            scores[self.documents[first:last]] += weight * self.impacts[first:last]
        k = min(k, self.count)
        best = np.argpartition(-scores, k - 1)[:k]
        best = best[np.argsort(-scores[best], kind="stable")]
        return best, scores[best]


@dataclass(frozen=True)
class Impacts:
    """Impacts by document as compressed sparse rows, with plain scoring of documents."""

    indptr: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    impacts: npt.NDArray[np.float32]
    width: int

    @classmethod
    def of(cls, index: Index) -> Impacts:
        """Copy the forward view of an index."""
        (segment,) = index.segments
        return cls(
            segment.starts.astype(np.int64),
            segment.terms.astype(np.int32),
            segment.impacts.astype(np.float32),
            index.manifest.terms,
        )

    def postings(self, terms: int) -> Postings:
        """Return the impacts by term."""
        order = np.argsort(self.terms, kind="stable")
        documents = np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))
        counts = np.bincount(self.terms, minlength=terms)
        return Postings(
            np.concatenate([[0], np.cumsum(counts)]),
            documents[order],
            self.impacts[order],
            len(self.indptr) - 1,
        )

    def _dense(self, query: Any) -> npt.NDArray[np.float32]:
        dense = np.zeros(self.width, dtype=np.float32)
        dense[query.terms] = query.weights
        return dense

    def one_by_one(self, query: Any, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Score each document by the product of its row and the dense query."""
        dense = self._dense(query)
        scores = np.empty(len(chosen))
        for place, document in enumerate(chosen.tolist()):
            first, last = self.indptr[document], self.indptr[document + 1]
            scores[place] = dense[self.terms[first:last]] @ self.impacts[first:last]
        return scores

    def gathered(self, query: Any, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Score all documents at once: gather their postings, multiply, and add by document."""
        dense = self._dense(query)
        rows, places = gather_places(self.indptr, chosen)
        weights = dense[self.terms[places]] * self.impacts[places]
        return np.bincount(rows, weights=weights, minlength=len(chosen))


def bm25s_engine(postings: Postings) -> Any | None:
    """Return an engine of bm25s with the impacts as its scores; None if bm25s is not installed."""
    try:
        import bm25s
    except ImportError:
        return None
    engine = bm25s.BM25(backend="numba")
    engine.scores = {
        "data": postings.impacts,
        "indices": postings.documents,
        "indptr": postings.indptr,
        "num_docs": postings.count,
    }
    terms = range(len(postings.indptr) - 1)
    engine.vocab_dict = {str(term): term for term in terms}
    engine.unique_token_ids_set = set(terms)
    engine.nonoccurrence_array = None
    return engine


def bm25s_search(engine: Any, k: int, terms: list[int]) -> Any:
    """Return the best `k` of bm25s, which refuses a query without terms."""
    return engine.retrieve([terms], k=k, show_progress=False, n_threads=1) if terms else None


def tokenizer(analyzer: Analyzer) -> Any:
    """Return a tokenizer of the package ``tokenizers`` with the same vocabulary."""
    import tokenizers

    vocabulary = {token: number for number, token in enumerate(analyzer.vocabulary or ())}
    return tokenizers.BertWordPieceTokenizer(vocab=vocabulary, lowercase=True)


# --- documents --------------------------------------------------------------------------------------------------


def made(kind: str, source: str | None, arguments: argparse.Namespace) -> Searcher:
    """Build or open the index of a kind with ``--documents`` documents."""
    origin = "stdlib" if source is None else Path(source).resolve().name
    path = arguments.work / f"{kind}-{origin}-{arguments.documents}-{arguments.seed}"
    if (path / "manifest.json").is_file():
        return termwise.open(path)
    random = np.random.default_rng(arguments.seed)
    opened = shipped(kind, arguments.work) if source is None else termwise.open(source)
    analyzer = opened.analyzer
    scale = opened.index.manifest.quantiser.scale
    rows = [
        (terms, impacts.astype(np.float32) * np.float32(scale))
        for terms, impacts in map(opened.index.row, range(len(opened.index)))
    ]
    vocabulary = analyzer.vocabulary
    if vocabulary is None:
        raise SystemExit("the index has no closed vocabulary: its model is not a network")
    say(f"{kind}: indexing {arguments.documents:,} documents from {len(rows):,} of {origin}")
    begin = time.perf_counter()
    with IndexWriter(path) as writer:
        many = grown(rows, arguments.documents, random)
        for first in range(0, arguments.documents, CHUNK):
            last = min(first + CHUNK, arguments.documents)
            part = [next(many) for _ in range(first, last)]
            indptr = np.concatenate([[0], np.cumsum([len(terms) for terms, _ in part])])
            terms, weights = (np.concatenate(column) for column in zip(*part, strict=True))
            writer.add(
                [str(place) for place in range(first, last)],
                TermWeights(indptr, terms, weights, vocabulary.id),
            )
        writer.commit(
            vocabulary,
            encoder=encoder_description(
                model=kind, parameters={}, analyzer=analyzer.spec, weighting="counts", exact=False
            ),
            attachments=analyzer.spec.files,
        )
    say(f"{kind}: indexed in {time.perf_counter() - begin:.0f} s")
    return termwise.open(path)


def shipped(kind: str, work: Path) -> Searcher:
    """Index the documentation of the standard library with the shipped weights, without a network."""
    rows = shipped_rows(kind)
    model = make_model(kind, {})
    if rows is None or not isinstance(model, NetworkModel):
        raise SystemExit(f"the package has no weights of {kind}; name an index: --index {kind}=FOLDER")
    documents = list(open_collection(DATA).documents())
    encoder = open_shipped_encoder(model, [document.text for document in documents], rows)
    return build_index(
        documents,
        work / f"{kind}-shipped",
        model=model,
        overwrite=True,
        options=BuildOptions(encoder=encoder),
    )


def grown(rows: Sequence[Row], documents: int, random: np.random.Generator) -> Iterator[Row]:
    """Yield documents: first the rows, then mixtures of rows that share a term, of the length of their first row."""
    rows = [row for row in rows if len(row[0])]
    lists: dict[int, list[int]] = {}
    for place, (terms, _) in enumerate(rows):
        for term in terms.tolist():
            lists.setdefault(term, []).append(place)
    order = random.permutation(len(rows))
    for number in range(documents):
        terms, weights = rows[order[number % len(rows)]]
        if number < len(rows):
            yield terms, weights
            continue
        wanted = len(terms)
        kept = random.random(wanted) < KEPT
        kept[random.integers(wanted)] = True
        terms, weights = terms[kept], weights[kept]
        row = dict(zip(terms.tolist(), weights.tolist(), strict=True))
        for _ in range(TRIES):
            if len(row) >= wanted:
                break
            shared = lists[int(terms[random.integers(len(terms))])]
            others, theirs = rows[shared[random.integers(len(shared))]]
            mixed = random.permutation(len(others))[: wanted - len(row)]
            for term, weight in zip(others[mixed].tolist(), theirs[mixed].tolist(), strict=True):
                row.setdefault(term, weight)
        found = sorted(row)
        yield np.array(found, dtype=np.int32), np.array([row[term] for term in found], dtype=np.float32)


if __name__ == "__main__":
    script(main)
