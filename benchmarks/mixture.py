r"""Cost of a mixture of BM25 and vectors, from the text of a query to ten documents, on one thread.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/mixture.py --work SCRATCH                # about 5 minutes, 6 GB of memory, 1 GB of disk

Documents have words with a Zipf distribution, and random directions of 384 dimensions, as in `dense_scan`. A query has
two to eight words. The contestants:

===========================  =====================================================================================
mixture                      `Searcher.rank`: both parts to a depth of 1,000, z-scores, feedback, ten results
without feedback             the same with scores of the first ranking
second encoder               the mixture with a third part of vectors, which scores the candidates of the others
bm25, lookup                 `Searcher.rank` of each part alone, ten results
parts, k = 1000              `first_stage` of both parts, which the mixture needs in any case
numpy, faiss, usearch        exact search of the vectors alone, see `dense_scan`
===========================  =====================================================================================

Results are printed and appended as one JSON object to ``benchmarks/results/mixture.jsonl``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import termwise

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

import dense_scan  # noqa: E402  sets the number of threads before numpy is imported
import numpy as np  # noqa: E402
from timing import each, held, say, timed  # noqa: E402

from termwise import BuildOptions, Document, Searcher, build_index  # noqa: E402
from termwise.engine.query_vector import query_vector  # noqa: E402
from termwise.engine.retrieval import first_stage  # noqa: E402
from termwise.fusion import mix_indexes  # noqa: E402
from termwise.index import IndexWriter  # noqa: E402
from termwise.index.encoder_description import encoder_description  # noqa: E402
from termwise.search import Feedback  # noqa: E402
from termwise.text import Vocabulary, make_analyzer  # noqa: E402
from termwise.vectors import DocumentVectors, TermVectors  # noqa: E402

LENGTHS = (40, 160)
"""Smallest and largest number of words of a document."""

COMMON = 1.0
"""Exponent of the frequencies of words in documents."""

LIMITS = {100_000: 4.0}
"""Wanted milliseconds of a query, by number of documents."""

ASKED = 0.6
"""Exponent of the frequencies of words in queries, whose words are rarer."""


def main(given: Sequence[str] | None = None) -> None:
    def measured(documents: int, arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
        part = measure(built(arguments.work / f"mixture-{documents}", documents, arguments.seed), arguments)
        limit = LIMITS.get(documents, float("inf"))
        return part, {"mixture": held(part["mixture"]["ms"], limit)}

    dense_scan.benchmark("mixture", __doc__, measured, given, queries=50)


def built(folder: Path, documents: int, seed: int) -> Searcher:
    """Write a mixture of random documents, unless there is one, and open it."""
    if not (folder / "mixture.json").exists():
        random = np.random.default_rng(seed)
        names = ("bm25", "lookup", "second")
        parts = [folder.with_name(f"{folder.name}-{name}") for name in names]
        build_index(
            texts(random, documents),
            parts[0],
            model="bm25",
            analyzer="whitespace",
            overwrite=True,
            options=BuildOptions(reorder=False),
        )
        for part in parts[1:]:
            write_vectors(random, part, documents)
        mix_indexes(parts, [0.2, 0.4, 0.4], folder, names=names, only_scoring=["second"])
        say(f"wrote {documents:,} documents")
    return termwise.open(folder)


def texts(random: np.random.Generator, documents: int) -> Iterator[Document]:
    """Yield documents of random words."""
    chances = frequencies(COMMON)
    for number in range(documents):
        words = random.choice(dense_scan.TERMS, int(random.integers(*LENGTHS)), p=chances)
        yield Document(f"d{number}", " ".join(f"t{word}" for word in words))


def frequencies(exponent: float) -> np.ndarray:
    """Return the probabilities of the words."""
    chances = np.arange(1, dense_scan.TERMS + 1) ** -exponent
    return np.asarray(chances / chances.sum())


def write_vectors(random: np.random.Generator, folder: Path, documents: int) -> None:
    """Write an index of random vectors over the same words."""
    vocabulary = Vocabulary([f"t{term}" for term in range(dense_scan.TERMS)])
    lengths = np.exp(random.normal(0.0, dense_scan.SPREAD, dense_scan.TERMS))
    table = TermVectors.of(dense_scan.directions(random, dense_scan.TERMS) * lengths[:, None], vocabulary.id)
    encoder = encoder_description(
        model="lookup",
        parameters={},
        analyzer=make_analyzer("whitespace").spec,
        weighting="log-counts",
        exact=False,
    )
    with IndexWriter(folder, overwrite=True) as writer:
        for first in range(0, documents, dense_scan.CHUNK):
            count = min(dense_scan.CHUNK, documents - first)
            writer.add_documents([f"d{first + place}" for place in range(count)])
            vectors = dense_scan.directions(random, count)
            writer.add_vectors(DocumentVectors.of(np.arange(count + 1), vectors))
        writer.commit(vocabulary, encoder=encoder, term_vectors=table)


def measure(mixture: Searcher, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time all contestants over one mixture."""
    random = np.random.default_rng(arguments.seed + 1)
    chances = frequencies(ASKED)
    queries = [
        " ".join(f"t{word}" for word in random.choice(dense_scan.TERMS, random.integers(2, 9), p=chances))
        for _ in range(arguments.queries)
    ]
    bm25, lookup, second = (Searcher.of_index(part.index) for part in mixture.parts)
    best = {"bm25": bm25, "lookup": lookup}
    plain = Searcher.mix(best, [0.3, 0.7])
    moved = Searcher.mix(best, [0.3, 0.7], feedback=Feedback())
    large = Searcher.mix(
        {**best, "second": second}, [0.2, 0.4, 0.4], feedback=Feedback(), only_scoring=["second"]
    )
    index = lookup.index
    rows = [query_vector(index, lookup.encode(query)) for query in queries]
    vectors = [(row.vector * row.unit).astype(np.float32) for row in rows]
    peers = dense_scan.others(index, index.document_vectors(np.arange(len(index))).matrix())
    contestants = {
        "mixture": each(queries, lambda query: moved.rank(query)),
        "without feedback": each(queries, lambda query: plain.rank(query)),
        "second encoder": each(queries, lambda query: large.rank(query)),
        "bm25": each(queries, lambda query: bm25.rank(query)),
        "lookup": each(queries, lambda query: lookup.rank(query)),
        "parts, k = 1000": each(queries, lambda query: deep((bm25, lookup), query)),
        **{peer: each(vectors, partial(search, k=10)) for peer, search in peers.items()},
    }
    return timed(f"{mixture.documents:,} documents, k = 10, ms", contestants, arguments.rounds, "mixture")


def deep(searchers: Sequence[Searcher], query: str) -> None:
    """Search each index to the depth of a mixture."""
    for searcher in searchers:
        first_stage(searcher.index, query_vector(searcher.index, searcher.encode(query)), 1000)


if __name__ == "__main__":
    main()
