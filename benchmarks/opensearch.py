r"""OpenSearch with an export of termwise, beside termwise: loading, and queries per second.

    pip install -e '.[opensearch]'
    python benchmarks/opensearch.py --data FOLDER --work SCRATCH       # about 20 minutes; needs Java 21 and mvn

The weights of the reference workload (616,387 passages, 29 million postings) are indexed with the model ``vectors``,
exported to the target ``opensearch``, and loaded into the three nodes of ``scripts/opensearch``, which run on this
machine: 3 shards with one replica each, merged to one segment. All queries are compared at k = 1,000: the same
documents in the same order. Then termwise and OpenSearch answer 200 of them in turns, from one thread and from two. A
search of termwise starts with the text of the query; one of OpenSearch with its encoded form. Results are
printed and appended as one JSON object to ``benchmarks/results/opensearch.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from timing import RESULTS, about, append, say  # noqa: E402
from workload import load  # noqa: E402

import termwise  # noqa: E402
from termwise.export.check import program  # noqa: E402
from termwise.export.linear_form import LinearForm  # noqa: E402
from termwise.export.source import ExportSource  # noqa: E402

SCRIPT = HERE.parent / "scripts" / "opensearch"
SHARDS = 3

EXPORT = """
import json, sys, time
from pathlib import Path
from termwise.export import export_index
begin = time.perf_counter()
export_index(sys.argv[1], "opensearch", sys.argv[2], settings={"shards": sys.argv[3]}, overwrite=True)
seconds, cpu = time.perf_counter() - begin, time.process_time()
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps({"seconds": seconds, "processor seconds": cpu, "memory, MB": int(status["VmHWM"].split()[0]) / 1024}))
"""
"""Program that exports, and prints its time and its memory, without those of this process."""


def per_second(call: Callable[[Any], object], queries: Sequence[Any], threads: int) -> float:
    """Return the queries per second of one pass."""
    begin = time.perf_counter()
    if threads == 1:
        for query in queries:
            call(query)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(call, queries))
    return len(queries) / (time.perf_counter() - begin)


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, and append to the results."""
    command = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("--data", type=Path, required=True, help="folder of the reference workload")
    command.add_argument(
        "--work", type=Path, required=True, help="folder for the index, the export and the cluster"
    )
    command.add_argument("--documents", type=int, help="only the first passages")
    command.add_argument("--timed", type=int, default=200, help="number of queries that are timed")
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--heap", default="512m", help="heap of each node")
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    workload = load(arguments.data)
    if arguments.documents:
        workload = workload.head(arguments.documents)
    report: dict[str, Any] = {"about": about(("numpy", "opensearch-py")), "documents": workload.documents}
    report |= {"postings": int(workload.matrix[0][-1]), "shards": SHARDS, "heap": arguments.heap}

    index = work / f"index-{workload.documents}"
    if not index.exists():
        workload.write_weights(work / "weights.jsonl")
        termwise.build_index(work / "weights.jsonl", index, model="vectors")
        (work / "weights.jsonl").unlink()
    searcher = termwise.open(index)
    say(f"{len(searcher.index):,} documents indexed")

    export = work / f"export-{workload.documents}"
    done = subprocess.run(
        [sys.executable, "-c", EXPORT, str(index), str(export), str(SHARDS)],
        check=True,
        capture_output=True,
        text=True,
    )
    report["export"] = json.loads(done.stdout) | {
        "bytes": sum(file.stat().st_size for file in (export / "data").iterdir())
    }
    say(f"export: {report['export']}")

    started = time.perf_counter()
    cluster = ["--data", str(work / "cluster"), "--heap", arguments.heap]
    lines = subprocess.run(
        [SCRIPT, "start", *cluster], check=True, capture_output=True, text=True
    ).stdout.split()
    report["start, seconds"] = time.perf_counter() - started
    try:
        location = ",".join(line.removeprefix("http://") for line in lines)
        engine: Any = program(export / "engine.py").Engine(export, f"{location}/bench")
        before = engine.current()
        if before is not None:
            engine.request("DELETE", f"/{before}")
        begin = time.perf_counter()
        engine.load(say)
        report["load, seconds"] = time.perf_counter() - begin
        begin = time.perf_counter()
        engine.request("POST", "/bench/_forcemerge?max_num_segments=1")
        engine.request("POST", "/bench/_refresh")
        report["merge, seconds"] = time.perf_counter() - begin
        stats = engine.request("GET", "/bench/_stats/store")["_all"]["primaries"]
        report["bytes of the primary shards"] = stats["store"]["size_in_bytes"]
        report["bytes of termwise"] = sum(file.length for file in searcher.index.manifest.files())
        report["version"] = engine.request("GET", "/")["version"]["number"]

        texts = [" ".join(map(str, terms)) for terms in workload.queries]
        form = LinearForm(ExportSource(searcher))
        bodies = [form.query(text) for text in texts]
        same = sum(
            [doc_id for doc_id, _ in engine.search(body, 1000)] == list(searcher.rank(text, k=1000).doc_ids)
            for text, body in zip(texts, bodies, strict=True)
        )
        report["queries"], report["identical at k = 1,000"] = len(texts), same
        say(f"identical at k = 1,000: {same} of {len(texts)} queries")

        texts, bodies = texts[: arguments.timed], bodies[: arguments.timed]
        report["timed queries"], report["queries per second"] = len(texts), {}
        for k in (10, 1000):
            for threads in (1, 2):
                rates: dict[str, list[float]] = {"termwise": [], "OpenSearch": []}
                for number in range(arguments.rounds + 1):
                    ours = per_second(lambda text, k=k: searcher.rank(text, k=k), texts, threads)
                    theirs = per_second(lambda body, k=k: engine.search(body, k), bodies, threads)
                    if number:  # the first round warms up
                        rates["termwise"].append(ours)
                        rates["OpenSearch"].append(theirs)
                ratio = float(np.median(np.divide(rates["termwise"], rates["OpenSearch"])))
                row = {name: float(np.median(values)) for name, values in rates.items()} | {"ratio": ratio}
                report["queries per second"][f"k = {k}, {threads} thread{'s' * (threads > 1)}"] = row
                say(f"k = {k}, threads {threads}: {row}")
        engine.close()
    finally:
        subprocess.run([SCRIPT, "stop", *cluster], check=True)
    append(report, "opensearch", arguments.out)


if __name__ == "__main__":
    main()
