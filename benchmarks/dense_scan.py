r"""Cost of exact retrieval by vectors: 100,000 and a million documents of 384 dimensions, on one thread.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/dense_scan.py --work SCRATCH            # about 10 minutes, 6 GB of memory, 500 MB of disk

Documents are random directions, one window each, in 8 bits. The query table has random rows whose lengths differ by a
log-normal factor, as those of a trained table do. Short queries add up a few rows; long ones, as in query by example,
add up so many that their numbers can need more than 16 bits. The cost does not depend on the directions. The
contestants:

===========================  =====================================================================================
termwise                     `first_stage`: term weights to the `k` best documents
termwise, all scores         the exact scores of all documents
numpy float32                a matrix product and `argpartition`
faiss IndexFlatIP            float32
faiss 8 bits                 `IndexScalarQuantizer`, QT_8bit, inner product; approximate scores
usearch float32, usearch i8  `usearch.index.search` with ``exact=True``
===========================  =====================================================================================

Queries of the other programs are vectors; those of termwise are terms, so its time includes the sum of the rows. faiss
and usearch are left out where they are not installed. The process is bound to one processor. Contestants take turns,
round after round; shown are mean, median and 99th percentile over the queries of the median round. Results are printed
and appended as one JSON object to ``benchmarks/results/dense_scan.jsonl``.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is imported

import argparse  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from functools import partial  # noqa: E402
from importlib.util import find_spec  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from record import parser  # noqa: E402
from timing import RESULTS, about, append, each, held, pinned, say, show_verdicts, timed  # noqa: E402

from termwise.engine.dense_retrieval import Digits, _score_all  # noqa: E402
from termwise.engine.query_vector import QueryVector, query_vector  # noqa: E402
from termwise.engine.retrieval import first_stage  # noqa: E402
from termwise.index import Index, IndexWriter  # noqa: E402
from termwise.text import Vocabulary  # noqa: E402
from termwise.vectors import DocumentVectors, TermVectors  # noqa: E402
from termwise.weights import TermWeights  # noqa: E402

DIMENSIONS = 384
TERMS = 30_522
DEPTHS = (10, 1000)
LENGTHS = {"short queries": (2, 8), "long queries": (200, 300)}
"""Smallest and largest numbers of terms of a query."""

LIMITS = {100_000: 2.0, 1_000_000: 25.0}
"""Limits of the medians in milliseconds, by the number of documents."""

SPREAD = 0.7
"""Standard deviation of the logarithm of the lengths of the rows of the query table."""

CHUNK = 50_000

Matrix = npt.NDArray[np.float32]
Search = Callable[[npt.NDArray[np.float32], int], npt.NDArray[np.int64]]


def main(given: Sequence[str] | None = None) -> None:
    def measured(documents: int, arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
        index = Index.open(built(arguments.work / f"dense-{documents}", documents, arguments.seed))
        part = measure(index, arguments)
        return part, part["verdicts"]

    benchmark("dense_scan", __doc__, measured, given, queries=10)


def benchmark(
    name: str,
    description: str | None,
    measured: Callable[[int, argparse.Namespace], tuple[dict[str, Any], dict[str, Any]]],
    given: Sequence[str] | None,
    *,
    queries: int,
) -> None:
    """Measure indexes of several sizes, and append figures and verdicts to the results of a name."""
    command = parser(description, "work")
    command.add_argument("--documents", type=int, nargs="+", default=[100_000, 1_000_000])
    command.add_argument("--queries", type=int, default=queries)
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    report: dict[str, Any] = {
        "about": about(("numpy", "numba", "faiss-cpu", "usearch")) | {"pinned to": pinned()},
        "rounds": arguments.rounds,
        "queries": arguments.queries,
        "documents": {},
    }
    verdicts = {}
    for documents in arguments.documents:
        report["documents"][documents], held_or_not = measured(documents, arguments)
        verdicts |= {f"{documents:,} documents, {limit}": row for limit, row in held_or_not.items()}
    report["verdicts"] = verdicts
    show_verdicts(verdicts)
    append(report, name, arguments.out)


def built(folder: Path, documents: int, seed: int) -> Path:
    """Write an index of random documents, unless there is one."""
    if (folder / "manifest.json").exists():
        return folder
    random = np.random.default_rng(seed)
    vocabulary = Vocabulary([f"t{term}" for term in range(TERMS)])
    lengths = np.exp(random.normal(0.0, SPREAD, TERMS))
    table = TermVectors.of(directions(random, TERMS) * lengths[:, None], vocabulary.id)
    begin = time.perf_counter()
    with IndexWriter(folder, overwrite=True) as writer:
        for first in range(0, documents, CHUNK):
            count = min(CHUNK, documents - first)
            writer.add_documents([f"d{first + place}" for place in range(count)])
            writer.add_vectors(DocumentVectors.of(np.arange(count + 1), directions(random, count)))
        writer.commit(vocabulary, encoder={}, term_vectors=table)
    say(f"wrote {documents:,} documents in {time.perf_counter() - begin:.1f} s")
    return folder


def directions(random: np.random.Generator, count: int) -> Matrix:
    """Return random vectors of length 1."""
    matrix = random.standard_normal((count, DIMENSIONS), dtype=np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def measure(index: Index, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time all contestants over one index."""
    matrix = index.document_vectors(np.arange(len(index))).matrix()
    peers = others(index, matrix)
    bytes_of = {segment.vectors.path: segment.vectors.section_bytes for segment in index.segments}
    report: dict[str, Any] = {
        "bytes per document": sum(sum(sizes.values()) for sizes in bytes_of.values()) / len(index)
    }
    random = np.random.default_rng(arguments.seed + 1)
    for kind, (least, most) in LENGTHS.items():
        rows = [
            query_row(index, int(random.integers(least, most + 1)), random) for _ in range(arguments.queries)
        ]
        places = [len(Digits.of(query_vector(index, row).vector).rows) for row in rows]
        report[kind] = {"rows of digits": {count: places.count(count) for count in sorted(set(places))}}
        for k in DEPTHS:
            title = f"{len(index):,} documents, {kind}, k = {k}"
            report[kind][f"k = {k}"] = compare(title, index, rows, peers, k, arguments.rounds)
    limit = LIMITS.get(len(index), float("inf"))
    report["verdicts"] = {
        f"{kind}, k = {k}": held(report[kind][f"k = {k}"]["termwise"]["ms"], limit)
        for kind in LENGTHS
        for k in DEPTHS
    }
    return report


def query_row(index: Index, length: int, random: np.random.Generator) -> TermWeights:
    """Return a query of distinct terms; those of a long one occur up to five times."""
    terms = random.choice(index.manifest.terms, length, replace=False)
    counts = random.integers(1, 6 if length >= LENGTHS["long queries"][0] else 2, length)
    row = dict(zip(terms.tolist(), counts.astype(float).tolist(), strict=True))
    return TermWeights.from_rows([row], index.vocabulary.id)


def all_scores(index: Index, query: QueryVector) -> None:
    """Compute the exact scores of all documents."""
    for segment in index.segments:
        _score_all(segment.vectors, Digits.of(query.vector))


def compare(
    title: str, index: Index, rows: Sequence[TermWeights], peers: dict[str, Search], k: int, rounds: int
) -> dict[str, Any]:
    """Time all contestants for one depth, and count the documents that they have in common with termwise."""
    queries = [query_vector(index, row) for row in rows]
    vectors = [(query.vector * query.unit).astype(np.float32) for query in queries]
    contestants = {
        "termwise": each(rows, lambda row: first_stage(index, query_vector(index, row), k)),
        "termwise, all scores": each(queries, lambda query: all_scores(index, query)),
        **{peer: each(vectors, partial(search, k=k)) for peer, search in peers.items()},
    }
    report = timed(f"{title}, ms", contestants, rounds, "termwise")
    ours = [set(first_stage(index, query, k)[0].tolist()) for query in queries]
    for peer, search in peers.items():
        theirs = [set(search(vector, k).tolist()) for vector in vectors]
        same = float(np.mean([len(a & b) / len(a) for a, b in zip(ours, theirs, strict=True)]))
        report[peer]["documents in common"] = same
        say(f"  {peer}: {same:.4f} of the documents in common")
    return report


def others(index: Index, matrix: Matrix) -> dict[str, Search]:
    """Return the search of each other program over the same vectors."""

    def with_numpy(query: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
        scores = matrix @ query
        best = np.argpartition(scores, -k)[-k:]
        ordered: npt.NDArray[np.int64] = best[np.argsort(-scores[best], kind="stable")]
        return ordered

    found: dict[str, Search] = {"numpy float32": with_numpy}
    if find_spec("faiss") is not None:
        import faiss

        faiss.omp_set_num_threads(1)
        coarse = faiss.IndexScalarQuantizer(
            DIMENSIONS, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
        )
        coarse.train(matrix[:CHUNK])
        flat = faiss.IndexFlatIP(DIMENSIONS)
        for name, peer in (("faiss IndexFlatIP", flat), ("faiss 8 bits", coarse)):
            peer.add(matrix)
            found[name] = partial(_with_faiss, peer)
    if find_spec("usearch") is not None:
        found["usearch float32"] = partial(_with_usearch, matrix)
        (segment,) = index.segments
        found["usearch i8"] = partial(_with_usearch, np.ascontiguousarray(segment.vectors.rows))
    return found


def _with_faiss(peer: Any, query: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = peer.search(query[None], k)[1][0]
    return found


def _with_usearch(matrix: npt.NDArray[Any], query: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
    from usearch.index import MetricKind, search

    metric = MetricKind.IP
    if matrix.dtype == np.int8:  # the documents have different scales, so that their cosine is compared
        query, metric = np.rint(query * (127 / np.abs(query).max())).astype(np.int8), MetricKind.Cos
    keys = search(matrix, query, k, metric, exact=True, threads=1).keys
    return np.asarray(keys).astype(np.int64)


if __name__ == "__main__":
    main()
