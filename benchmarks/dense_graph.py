r"""Approximate retrieval by vectors with a graph: part of the best documents found, and cost, on one thread.

    pip install -e '.[approximate]' -r benchmarks/requirements.txt
    python benchmarks/dense_graph.py --work SCRATCH --collections FOLDER                   # about 5 minutes
    python benchmarks/dense_graph.py --work SCRATCH --collections FOLDER --documents 1000000 --peers

Vectors are those of the shipped encoder `lookup` for the windows of all documents of the collections, each window as a
document. Beyond them, a vector is a real one plus noise of `NOISE` of its length, with the covariance of the real
vectors. Queries are those of the dev splits. The contestants:

===========================  =====================================================================================
exact                        `first_stage`, which reads all vectors
approximate N                `ApproximateRetrieval`: N windows from the graph, scored exactly
faiss HNSW N                 with ``--peers``: `IndexHNSWSQ`, QT_8bit, inner product
hnswlib N                    with ``--peers``: float32, inner product
===========================  =====================================================================================

All graphs have 16 neighbours and consider 128 in a build, on one thread; N is the breadth of the search and the number
of its results. Recall is the part of the `k` best documents among the N results. The times of faiss and hnswlib do not
include the exact scores of the results. Times are processor times, which depend less on other work on the machine.
Shown are mean, median and 99th percentile over the queries of the median round. Results are printed and appended as one
JSON object to ``benchmarks/results/dense_graph.jsonl``.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is imported

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterator, Sequence  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from indexes import index_encoded, progress_lines  # noqa: E402
from judged_collection import documents_folder  # noqa: E402
from record import parser  # noqa: E402
from timing import RESULTS, about, append, each, pinned, say, timed  # noqa: E402

from termwise.collection import open_collection, read_qrels, read_queries  # noqa: E402
from termwise.engine.graph_retrieval import ApproximateRetrieval, open_graphs  # noqa: E402
from termwise.engine.query_vector import QueryVector, query_vector  # noqa: E402
from termwise.engine.retrieval import first_stage  # noqa: E402
from termwise.index import Index, IndexWriter  # noqa: E402
from termwise.index.vector_graph import CONNECTIVITY, EF_CONSTRUCTION  # noqa: E402
from termwise.indexing import build_graph  # noqa: E402
from termwise.models import Lookup  # noqa: E402
from termwise.search import Searcher  # noqa: E402
from termwise.vectors import DocumentVectors  # noqa: E402

BREADTHS = (100, 300, 1000, 2000, 4000)
DEPTHS = (10, 1000)

NOISE = 0.6
"""Length of the random vector that is added to a real vector, which has length 1."""

CHUNK = 50_000

Matrix = npt.NDArray[np.float32]
Found = npt.NDArray[np.int64]
Search = Callable[[int, int], Found]
"""Takes the number of a query and the breadth of the search, and returns the positions of the results."""


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__, "work", "collections")
    command.add_argument("--documents", type=int, help="number of vectors; by default the real ones only")
    command.add_argument("--queries", type=int, default=200)
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--peers", action="store_true")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    report: dict[str, Any] = {
        "about": about(("numpy", "numba", "usearch", "faiss-cpu", "hnswlib")),
        "rounds": arguments.rounds,
    }
    searchers = [
        encoded(folder, arguments.work)
        for folder in sorted(arguments.collections.iterdir())
        if folder.is_dir()
    ]
    index, report["build"] = built(searchers, arguments)
    report["about"]["pinned to"] = pinned()
    queries = dev_queries(index, searchers[0], arguments)
    report["queries"], report["documents"] = len(queries), len(index)
    report["contestants"] = measure(index, queries, arguments)
    append(report, "dense_graph", arguments.out)


def encoded(source: Path, work: Path) -> Searcher:
    """Return an index of the vectors of a collection."""
    return index_encoded(
        open_collection(source), documents_folder(work, source) / "lookup", model=Lookup(), reuse=True
    ).searcher


def built(searchers: Sequence[Searcher], arguments: argparse.Namespace) -> tuple[Index, dict[str, float]]:
    """Write an index of the real vectors and those made from them, and its graph, unless they exist."""
    parts = [searcher.index.document_vectors(np.arange(len(searcher.index))) for searcher in searchers]
    real = np.concatenate([part.matrix() for part in parts])
    documents = arguments.documents or len(real)
    folder = arguments.work / f"graph-{documents}"
    costs = folder.with_suffix(".json")
    if not (folder / "manifest.json").exists():
        table = searchers[0].index
        assert table.term_vectors is not None, "the collections are indexed with vectors"
        with IndexWriter(folder, overwrite=True) as writer:
            first = 0
            for vectors in matrices(real, documents, arguments.seed):
                writer.add_documents([f"d{first + place}" for place in range(len(vectors))])
                writer.add_vectors(DocumentVectors.of(np.arange(len(vectors) + 1), vectors))
                first += len(vectors)
            vocabulary, encoder = table.vocabulary.load(), table.manifest.encoder.json
            writer.commit(vocabulary, encoder=encoder, term_vectors=table.term_vectors)
    if not costs.exists():
        begin = time.process_time()
        (path,) = build_graph(folder, progress=progress_lines("graph"))
        costs.write_text(json.dumps(build_cost(begin, path.stat().st_size)))
    found: dict[str, float] = json.loads(costs.read_text())
    say(f"graph of {documents:,} windows: {found}")
    return Index.open(folder), found


def build_cost(begin: float, size: int) -> dict[str, float]:
    """Return the processor time of a build since `begin`, the bytes of its graph, and the load of the machine."""
    return {"processor seconds": time.process_time() - begin, "bytes": size, "load": os.getloadavg()[0]}


def matrices(real: Matrix, count: int, seed: int) -> Iterator[Matrix]:
    """Yield the real vectors, then vectors made from them."""
    random = np.random.default_rng(seed)
    values, axes = np.linalg.eigh(np.cov(real.T))
    root = (axes * np.sqrt(np.maximum(values, 0))).astype(np.float32)
    root /= np.sqrt(np.maximum(values, 0).sum())  # so that the noise has length 1 in the mean square
    for first in range(0, min(count, len(real)), CHUNK):
        yield real[first : min(count, first + CHUNK)]
    for first in range(len(real), count, CHUNK):
        size = min(CHUNK, count - first)
        noise = random.standard_normal((size, real.shape[1]), dtype=np.float32) @ root.T
        made = real[random.integers(0, len(real), size)] + NOISE * noise
        yield made / np.linalg.norm(made, axis=1, keepdims=True)


def dev_queries(index: Index, searcher: Searcher, arguments: argparse.Namespace) -> list[QueryVector]:
    """Return a sample of the queries of all dev splits."""
    texts = []
    for judgments in sorted(arguments.collections.glob("*/qrels/dev.tsv")):
        judged = {qrel.query_id for qrel in read_qrels(judgments)}
        queries = read_queries(judgments.parent.parent / "queries.jsonl")
        texts += [query.text for query in queries if query.query_id in judged]
    random = np.random.default_rng(arguments.seed)
    chosen = random.permutation(len(texts))[: arguments.queries]
    return [query_vector(index, searcher.encode(texts[place])) for place in sorted(chosen.tolist())]


def measure(index: Index, queries: Sequence[QueryVector], arguments: argparse.Namespace) -> dict[str, Any]:
    """Time exact search and the graphs, and compute the recall of the graphs."""
    searches: dict[str, Search] = {"approximate": with_graph(index, queries)}
    costs: dict[str, Any] = {}
    if arguments.peers:
        matrix = index.document_vectors(np.arange(len(index))).matrix()
        directions = [(query.vector / np.linalg.norm(query.vector)).astype(np.float32) for query in queries]
        for name, make in (("faiss HNSW", with_faiss), ("hnswlib", with_hnswlib)):
            begin = time.process_time()
            searches[name], size = make(matrix, directions, arguments.work)
            costs[name] = build_cost(begin, size)
            say(f"{name}: {costs[name]}")
    numbers = range(len(queries))
    best = [first_stage(index, query, max(DEPTHS))[0] for query in queries]
    timer = partial(each, clock=time.process_time)
    contestants = {f"exact, k = {k}": timer(queries, partial(first_stage, index, k=k)) for k in DEPTHS}
    for name, search in searches.items():
        for breadth in BREADTHS:
            contestants[f"{name} {breadth}"] = timer(numbers, partial(search, breadth=breadth))
    report = timed(
        f"{len(index):,} documents, ms", contestants, arguments.rounds, f"exact, k = {max(DEPTHS)}"
    )
    for name, search in searches.items():
        for breadth in BREADTHS:
            row = report[f"{name} {breadth}"] | costs.get(name, {})
            found = [set(search(number, breadth).tolist()) for number in numbers]
            for k in DEPTHS:
                if k <= breadth:
                    parts = [len(found[number] & set(best[number][:k].tolist())) / k for number in numbers]
                    row[f"recall@{k}"] = float(np.mean(parts))
            report[f"{name} {breadth}"] = row
            say(f"{name} {breadth}: " + ", ".join(f"{key} {row[key]:.4f}" for key in row if "recall" in key))
    return report


def with_graph(index: Index, queries: Sequence[QueryVector]) -> Search:
    """Open the graph, and return the search of termwise for the N best of N windows."""
    begin = time.process_time()
    graphs = open_graphs(index)
    say(f"opened the graph in {1e3 * (time.process_time() - begin):.0f} ms")

    def search(number: int, breadth: int) -> Found:
        search = ApproximateRetrieval(graphs, breadth).search
        return first_stage(index, queries[number], breadth, search=search)[0]

    return search


def with_faiss(matrix: Matrix, queries: Sequence[Matrix], work: Path) -> tuple[Search, int]:
    """Build a graph of faiss; return its search and the bytes of its file."""
    import faiss

    faiss.omp_set_num_threads(1)
    graph = faiss.IndexHNSWSQ(
        matrix.shape[1], faiss.ScalarQuantizer.QT_8bit, CONNECTIVITY, faiss.METRIC_INNER_PRODUCT
    )
    graph.hnsw.efConstruction = EF_CONSTRUCTION
    graph.train(matrix[:CHUNK])
    graph.add(matrix)

    def search(number: int, breadth: int) -> Found:
        settings = faiss.SearchParametersHNSW(efSearch=breadth)
        found: Found = graph.search(queries[number][None], breadth, params=settings)[1][0]
        return found

    path = work / "faiss.graph"
    faiss.write_index(graph, str(path))
    return search, path.stat().st_size


def with_hnswlib(matrix: Matrix, queries: Sequence[Matrix], work: Path) -> tuple[Search, int]:
    """Build a graph of hnswlib; return its search and the bytes of its file."""
    import hnswlib

    graph = hnswlib.Index("ip", matrix.shape[1])
    graph.init_index(len(matrix), M=CONNECTIVITY, ef_construction=EF_CONSTRUCTION)
    graph.add_items(matrix, num_threads=1)

    def search(number: int, breadth: int) -> Found:
        graph.set_ef(breadth)
        found: Found = graph.knn_query(queries[number][None], breadth, num_threads=1)[0][0].astype(np.int64)
        return found

    path = work / "hnswlib.graph"
    graph.save_index(str(path))
    return search, path.stat().st_size


if __name__ == "__main__":
    main()
