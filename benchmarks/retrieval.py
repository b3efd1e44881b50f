"""Speed of exact top-k retrieval in comparison with other engines.

    pip install -e . -r benchmarks/requirements.txt
    python benchmarks/retrieval.py --data FOLDER --work SCRATCH

In each round, every engine makes one pass over all queries; the speed of shared machines drifts, so that only ratios
within a round are compared. Every engine searches with one thread, one query per call; `peers` describes what the
clock covers. Results are printed and appended as one JSON object to ``benchmarks/results/retrieval.jsonl``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from anserini import fetch_jar  # noqa: E402
from indexes import view_bytes  # noqa: E402
from peers import BM25S, BruteForce, Hits, Lucene, Peer, Pisa, Seismic, Tantivy, recall  # noqa: E402
from record import parser, script  # noqa: E402
from termwise_engine import Termwise, TermwiseBM25  # noqa: E402
from timing import about, append, say, separate_process, show, summary  # noqa: E402
from workload import Workload, load, load_texts  # noqa: E402

DEPTHS = (10, 1000)
SIZES = (50_000, 150_000)
LENGTHS = (2, 5, 10, 20, 50, 100, 200)


def main() -> None:
    command = parser(__doc__, "work")
    command.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data" / "bench")
    command.add_argument("--jar", type=Path, help="jar of Anserini (default: fetched from PyPI)")
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument(
        "--skip", nargs="*", default=[], help="parts: build, peers, lucene, scaling, length, text"
    )
    arguments = command.parse_args()
    if not arguments.data.is_dir():
        command.error(f"no workload at {arguments.data}; name its folder with --data")
    arguments.work.mkdir(parents=True, exist_ok=True)

    workload = load(arguments.data)
    report: dict[str, Any] = {"about": about(), "rounds": arguments.rounds}
    if "build" not in arguments.skip:
        report["build"] = build_report(workload, arguments.work)
    else:
        built(Termwise(), workload.matrix, arguments.work / "ours")
    engine = Termwise()
    engine.open(arguments.work / "ours")
    report["views"] = view_bytes(engine.index)
    say(f"views: {report['views']}")
    if "peers" not in arguments.skip:
        report["retrieval"] = compare_peers(workload, engine, arguments)
    report["queries with the scores of brute force"] = check_exactness(workload, engine)
    report["rerank"] = rerank_report(workload, engine)
    if "scaling" not in arguments.skip:
        report["collection size"] = scaling_report(workload, arguments)
    if "length" not in arguments.skip:
        report["query length"] = length_report(workload, engine)
    if "text" not in arguments.skip:
        report["text"] = text_report(arguments)
    append(report, "retrieval")


def interleaved(
    engines: dict[str, Peer], queries: dict[str, Sequence[Any]], k: int, rounds: int
) -> tuple[dict[str, npt.NDArray[np.float64]], dict[str, list[Hits]]]:
    """Time engines in turn, one pass over all queries per round."""
    seconds: dict[str, list[npt.NDArray[np.float64]]] = {name: [] for name in engines}
    hits: dict[str, list[Hits]] = {}
    for name, engine in engines.items():
        engine.warm(queries[name], k)
    for _ in range(rounds):
        for name, engine in engines.items():
            hits[name], taken = engine.search(queries[name], k)
            seconds[name].append(taken)
    return {name: np.stack(parts) for name, parts in seconds.items()}, hits


def built(engine: Peer, data: Any, folder: Path) -> float | None:
    """Build an index if there is none yet, and return the seconds of the build."""
    if (folder / "done").exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    engine.build(data, folder)
    seconds = time.perf_counter() - begin
    (folder / "done").write_text(f"{seconds}\n")
    say(f"built {engine.name} {engine.version} in {seconds:.1f} s")
    return seconds


def build_report(workload: Workload, work: Path) -> dict[str, Any]:
    """Build the index of termwise in a new process with compiled kernels: seconds and peak memory above the input."""
    folder = work / "ours"
    folder.mkdir(parents=True, exist_ok=True)
    cost = separate_process(
        lambda: Termwise().build(workload.matrix, folder),
        before=lambda: Termwise().build(workload.head(100).matrix, folder),
    )
    (folder / "done").write_text(f"{cost.seconds}\n")
    report = {"seconds": cost.seconds, "peak memory above the input, bytes": cost.bytes, "threads": 2}
    say(f"build: {cost.seconds:.1f} s, {cost.bytes / 1e6:.0f} MB above the input, ordering included")
    return report


def compare_peers(workload: Workload, engine: Termwise, arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare with PISA in both document orders, Lucene and Seismic."""
    inverted = engine.index.segments[0].inverted
    assert inverted is not None
    order = inverted.order.astype(np.int64)
    work = arguments.work
    report: dict[str, Any] = {"build seconds": {}, "bytes": {}}
    engines: dict[str, Peer] = {"termwise": engine}
    folders = {"termwise": work / "ours"}

    def enter(name: str, peer: Peer, data: Any, folder: Path) -> None:
        built(peer, data, folder)
        peer.open(folder)
        engines[name] = peer
        folders[name] = folder
        report["build seconds"][name] = float((folder / "done").read_text())

    ordered = workload.permuted(order).matrix
    for label, data, part in (("input order", workload.matrix, "input"), ("our order", ordered, "ordered")):
        for algorithm in ("maxscore", "block_max_maxscore", "block_max_wand"):
            enter(f"PISA {algorithm}, {label}", Pisa(algorithm), data, work / f"pisa-{part}")
    if "lucene" not in arguments.skip:
        jar = arguments.jar or fetch_jar(work / "jar")
        enter("Lucene", Lucene(jar), workload.matrix, work / "lucene")
    enter("Seismic (approximate)", Seismic(), workload.matrix, work / "seismic")
    del ordered
    queries = dict.fromkeys(engines, workload.queries)
    report["bytes"] = {name: peer.bytes_on_disk(folders[name]) for name, peer in engines.items()}
    report["versions"] = {name: peer.version for name, peer in engines.items()}
    for k in DEPTHS:
        seconds, hits = interleaved(engines, queries, k, arguments.rounds)
        report[f"k = {k}"] = show(f"k = {k}, ms a query, one thread", seconds, "termwise")
        for name, found in hits.items():
            if engines[name].exact and name != "termwise":
                same = same_scores(hits["termwise"], found)
                report[f"k = {k}"][name]["queries with our scores"] = same
                say(f"  {name}: scores agree on {same:.4f} of the queries")
            elif not engines[name].exact:
                report[f"k = {k}"][name]["recall"] = recall(found, hits["termwise"])
                say(f"  {name}: recall {report[f'k = {k}'][name]['recall']:.3f}")
    return report


def check_exactness(workload: Workload, engine: Termwise, *, queries: int = 50) -> float:
    """Return the share of queries whose 1,000 best scores equal those of exhaustive scoring with numpy."""
    brute = BruteForce()
    folder = Path(tempfile.mkdtemp())
    brute.build(workload.matrix, folder)
    brute.open(folder)
    chosen = workload.queries[:queries]
    share = same_scores(engine.search(chosen, 1000)[0], brute.search(chosen, 1000)[0])
    shutil.rmtree(folder)
    say(f"scores of exhaustive scoring on {share:.4f} of {queries} queries")
    return share


def same_scores(ours: Sequence[Hits], theirs: Sequence[Hits]) -> float:
    """Return the share of queries whose ranked scores are equal."""
    return float(np.mean([np.array_equal(a[1], b[1]) for a, b in zip(ours, theirs, strict=True)]))


def rerank_report(workload: Workload, engine: Termwise) -> dict[str, Any]:
    """Time scoring of 1,000 candidates: the best of each query, and random ones."""
    generator = np.random.default_rng(0)
    best = [hits[0] for hits in engine.search(workload.queries, 1000)[0]]
    random = [generator.integers(0, workload.documents, 1000) for _ in workload.queries]
    report = {}
    say("\nre-ranking 1,000 candidates, ms")
    for name, candidates in (("best", best), ("random", random)):
        engine.rerank(workload.queries, candidates)
        seconds = np.stack([engine.rerank(workload.queries, candidates) for _ in range(3)])
        report[name] = summary(seconds)
        say(f"  {name}: {report[name]}")
    return report


def scaling_report(workload: Workload, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time the first stage for collections of several sizes."""
    report: dict[str, Any] = {}
    engines: dict[str, Peer] = {}
    for size in (*SIZES, workload.documents):
        engine = Termwise()
        folder = arguments.work / ("ours" if size == workload.documents else f"ours-{size}")
        built(engine, workload.head(size).matrix, folder)
        engine.open(folder)
        engines[f"{size:,}"] = engine
    for k in DEPTHS:
        seconds, _ = interleaved(engines, dict.fromkeys(engines, workload.queries), k, arguments.rounds)
        report[f"k = {k}"] = {name: summary(taken) for name, taken in seconds.items()}
        say(f"\ncollection size, k = {k}, ms")
        for name, row in report[f"k = {k}"].items():
            say(f"  {name:>8} documents: {row}")
    return report


def length_report(workload: Workload, engine: Termwise) -> dict[str, Any]:
    """Time the first stage for queries of several lengths."""
    report: dict[str, Any] = {}
    for length in LENGTHS:
        queries = workload.long_queries(length, count=200, seed=length)
        report[str(length)] = {}
        for k in DEPTHS:
            engine.warm(queries, k)
            seconds = np.stack([engine.search(queries, k)[1] for _ in range(3)])
            report[str(length)][f"k = {k}"] = summary(seconds)
        say(f"{length:4} terms: " + ", ".join(f"{k} {row}" for k, row in report[str(length)].items()))
    return report


def text_report(arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare BM25 on text, from the text of a query to documents."""
    passages, queries = load_texts(arguments.data)
    engines: dict[str, Peer] = {"termwise BM25": TermwiseBM25(), "bm25s": BM25S(), "tantivy": Tantivy()}
    report: dict[str, Any] = {"documents": len(passages), "build seconds": {}, "bytes": {}}
    for name, engine in engines.items():
        folder = arguments.work / f"text-{name.split()[0]}"
        built(engine, passages, folder)
        engine.open(folder)
        report["build seconds"][name] = float((folder / "done").read_text())
        report["bytes"][name] = engine.bytes_on_disk(folder)
    report["versions"] = {name: peer.version for name, peer in engines.items()}
    for k in DEPTHS:
        seconds, _ = interleaved(engines, dict.fromkeys(engines, queries), k, arguments.rounds)
        title = f"BM25 on {len(passages):,} passages of text, k = {k}, ms a query"
        report[f"k = {k}"] = show(title, seconds, "termwise BM25")
    return report


if __name__ == "__main__":
    script(main)
