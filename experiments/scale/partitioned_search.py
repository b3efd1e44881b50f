r"""Search over partitions: times of real shards, a simulation of many, and a check of the simulation.

Question
    How many queries a second, and which response times, has a collection of 100 million passages in shards?
Data
    The first passages of the reference workload of the benchmarks (``../shared/data/bench``) and its text queries.
Ways
    The passages are divided at random into 1, 2 and 4 shards, and each shard is indexed with ``--model instant``:
    BM25 and one vector for each passage, with feedback; a search in ``best`` does the same work. ``measure`` records
    the processor time of each query on each shard, the smallest of some rounds; wall times would include other programs
    on the machine. ``check`` sends the queries to four shards at once, with one process for each two of them, and
    compares the times with those that the model predicts. ``report`` simulates shards and replicas.
Run
    ``partitioned_search.py measure --work WORK``, ``… check --work WORK``, ``… report --work WORK``.
Result
    ``results/partitioned_search.md``, ``.json`` and ``.svg``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import record
from charts import line_chart
from simulation import (
    Floats,
    by_size,
    in_parallel,
    in_turn,
    largest_rate,
    scaled,
    service_times,
    simulate,
)
from workload import load_texts

import termwise
from termwise.encode import EncoderFolder
from termwise.records import Document

NAME = "partitioned_search"
PACKAGES = ("termwise", "numpy", "numba")
BENCH = record.COLLECTIONS.parent / "bench"
DIVISIONS = (1, 2, 4)
SEED = 20_261_129
K = 10
TOTAL = 100_000_000
SHARD_SIZES = (1_000_000, 2_500_000, 5_000_000, 10_000_000)
SHARES = (0.3, 0.5, 0.7, 0.9)
CHECKED = 4
PIECES_OF = 10_000
SIMULATED = 5_000


def shard_folder(work: Path, shards: int, number: int) -> Path:
    """Return the folder of the index of a shard."""
    return work / f"shard-{number + 1}-of-{shards}.tw"


def build(passages: list[str], work: Path, threads: int) -> None:
    """Index the passages in each number of shards; finished indexes are kept."""
    order = np.random.default_rng(SEED).permutation(len(passages))
    for shards in DIVISIONS:
        for number, positions in enumerate(np.array_split(order, shards)):
            folder = shard_folder(work, shards, number)
            if (folder / "mixture.json").exists():
                continue
            documents = [Document(str(position), passages[position]) for position in positions.tolist()]
            options = termwise.BuildOptions(threads=threads)
            termwise.build_index(documents, folder, model="instant", overwrite=True, options=options)
            record.say(f"{folder.name}: {len(documents):,} passages")


def times_of(folder: Path, queries: list[str], rounds: int) -> Floats:
    """Return the smallest processor time of each query over some rounds, in milliseconds."""
    searcher = termwise.open(folder)
    found = np.empty((rounds + 1, len(queries)))
    for number in range(rounds + 1):
        for place, query in enumerate(queries):
            begin = time.process_time_ns()
            searcher.rank(query, k=K)
            found[number, place] = (time.process_time_ns() - begin) / 1e6
    return found[1:].min(axis=0)  # without the first round, which loads and compiles


def measure(arguments: argparse.Namespace) -> None:
    """Record the times of all queries on all shards."""
    passages, queries = load_texts(arguments.bench)
    passages, queries = passages[: arguments.passages], queries[: arguments.queries]
    build(passages, arguments.work, arguments.threads)
    begin = os.getloadavg()
    shards = {
        str(shards): np.stack(
            [
                times_of(shard_folder(arguments.work, shards, number), queries, arguments.rounds)
                for number in range(shards)
            ],
            axis=1,
        ).tolist()
        for shards in DIVISIONS
    }
    write(
        arguments.work / "times.json",
        {"passages": len(passages), "loads": [begin, os.getloadavg()], "milliseconds": shards},
    )


def check(arguments: argparse.Namespace) -> None:
    """Time queries on four shards: in turn in one process, and at once in two processes."""
    _, queries = load_texts(arguments.bench)
    queries = queries[: arguments.queries]
    folders = [shard_folder(arguments.work, CHECKED, number) for number in range(CHECKED)]
    begin = os.getloadavg()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        alone = pool.apply(_answer_all, (folders, queries, arguments.rounds))
    halves = [folders[0::2], folders[1::2]]
    connections = [multiprocessing.Pipe() for _ in halves]
    context = multiprocessing.get_context("spawn")
    servers = [
        context.Process(target=_serve, args=(half, connection[1]), daemon=True)
        for half, connection in zip(halves, connections, strict=True)
    ]
    for server in servers:
        server.start()
    ends = [connection[0] for connection in connections]
    wall = np.empty((arguments.rounds + 1, len(queries)))
    work = np.empty((arguments.rounds + 1, len(queries)))
    for number in range(arguments.rounds + 1):
        for place, query in enumerate(queries):
            start = time.perf_counter_ns()
            for end in ends:
                end.send(query)
            work[number, place] = max(end.recv() for end in ends)
            wall[number, place] = (time.perf_counter_ns() - start) / 1e6
    for end, server in zip(ends, servers, strict=True):
        end.send(None)
        server.join()
    write(
        arguments.work / "check.json",
        {
            "loads": [begin, os.getloadavg()],
            "in turn": alone,
            "at once, wall": wall[1:].min(axis=0).tolist(),
            "at once, processor": work[1:].min(axis=0).tolist(),
        },
    )


def _answer_all(folders: list[Path], queries: list[str], rounds: int) -> list[float]:
    """Return the smallest wall time of each query on all shards in turn."""
    searchers = [termwise.open(folder) for folder in folders]
    found = np.empty((rounds + 1, len(queries)))
    for number in range(rounds + 1):
        for place, query in enumerate(queries):
            begin = time.perf_counter_ns()
            for searcher in searchers:
                searcher.rank(query, k=K)
            found[number, place] = (time.perf_counter_ns() - begin) / 1e6
    smallest: list[float] = found[1:].min(axis=0).tolist()
    return smallest


def _serve(folders: list[Path], connection: Any) -> None:
    """Answer the queries of a connection on some shards, with the processor time of each."""
    searchers = [termwise.open(folder) for folder in folders]
    while (query := connection.recv()) is not None:
        begin = time.process_time_ns()
        for searcher in searchers:
            searcher.rank(query, k=K)
        connection.send((time.process_time_ns() - begin) / 1e6)


def report(arguments: argparse.Namespace) -> None:
    """Simulate 100 million passages, compare the model with the check, and write the result."""
    about_run = record.provenance(PACKAGES)
    measured = json.loads((arguments.work / "times.json").read_text())
    checked = json.loads((arguments.work / "check.json").read_text())
    times = {int(shards): np.array(rows) for shards, rows in measured["milliseconds"].items()}
    passages = measured["passages"]
    sizes = {shards: passages / shards for shards in times}
    line = by_size(
        np.array(list(sizes.values())), np.array([rows.mean() for rows in times.values()], dtype=np.float64)
    )
    result = {
        "experiment": NAME,
        "config": {"passages": passages, "k": K, "seed": SEED, "network ms": arguments.network},
        "shards": {
            str(shards): {"documents": sizes[shards], **spread(rows)} for shards, rows in times.items()
        },
        "line": {"constant ms": line[0], "ms for a million passages": line[1] * 1e6},
        "predicted from one shard": predicted(times, sizes, line),
        "check": errors(times[CHECKED], checked),
        "passage": passage_facts(arguments.bench, shard_folder(arguments.work, 1, 0), passages),
        "loads": {"measure": measured["loads"], "check": checked["loads"]},
        "simulation": simulated(times[1], sizes[1], line, arguments.network),
        "data": {
            name: record.file_hash(arguments.bench / name)
            for name in ("passages.txt.xz", "queries_text.jsonl")
        },
        "provenance": about_run | {"seconds": record.seconds()},
    }
    record.save(result, page(result), arguments.out, NAME)
    lines = {
        f"{size / 1e6:g} million, {case['shards']} shards": [
            (100 * load["share"], load["p99"]) for load in case["loads"] if case["replicas"] == 1
        ]
        for size, case in ((case["documents"], case) for case in result["simulation"])
        if case["replicas"] == 1
    }
    chart = line_chart(
        lines,
        title="100 million passages in shards, one replica",
        x="load, in percent of the largest rate",
        y="p99 of the response time, ms",
    )
    record.write_whole(arguments.out / f"{NAME}.svg", chart)


def passage_facts(bench: Path, index: Path, passages: int) -> dict[str, float]:
    """Return words and word pieces of a passage, and its bytes in the undivided index without the query table."""
    texts = load_texts(bench)[0][:passages]
    analyzer = EncoderFolder.open("lookup").analyzer
    sizes = {path: path.stat().st_size for path in index.rglob("*") if path.is_file()}
    table = termwise.open(index).parts[1].index.term_vectors
    assert table is not None
    return {
        "words": float(np.mean([len(text.split()) for text in texts])),
        "pieces": float(np.mean([len(analyzer.numbers(text)) for text in texts[:PIECES_OF]])),
        "bytes": (sum(sizes.values()) - table.rows.nbytes - table.shifts.nbytes) / passages,
    }


def spread(values: Floats) -> dict[str, float]:
    """Return mean, median and 99th percentile of times."""
    middle, high = np.percentile(values, (50, 99)).tolist()
    return {"mean": float(values.mean()), "p50": middle, "p99": high}


def predicted(
    times: dict[int, Floats], sizes: dict[int, float], line: tuple[float, float]
) -> dict[str, dict[str, float]]:
    """Compare times of small shards with those that the largest shard and the line predict."""
    found = {}
    for shards, rows in times.items():
        guess = scaled(times[1], sizes[1], sizes[shards], line)
        largest = rows.max(axis=1)
        guessed = np.repeat(guess, shards, axis=1).max(axis=1)
        found[str(shards)] = {
            "mean, measured": float(rows.mean()),
            "mean, predicted": float(guess.mean()),
            "p99 of the slowest shard, measured": float(np.percentile(largest, 99)),
            "p99 of the slowest shard, predicted": float(np.percentile(guessed, 99)),
        }
    return found


def errors(times: Floats, checked: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Compare response times of the model with those of real processes."""
    found = {}
    for name, model, seen in (
        ("in turn, wall time", in_turn(times), checked["in turn"]),
        ("two processes at once, processor time", in_parallel(times, 2), checked["at once, processor"]),
        ("two processes at once, wall time", in_parallel(times, 2), checked["at once, wall"]),
    ):
        real = np.array(seen)
        found[name] = {
            f"{measure}, {side}": value
            for side, values in (("predicted", model), ("measured", real))
            for measure, value in spread(values).items()
        }
        found[name]["error of the mean"] = float(model.mean() / real.mean() - 1)
        found[name]["error of p99"] = float(np.percentile(model, 99) / np.percentile(real, 99) - 1)
    return found


def simulated(whole: Floats, size: float, line: tuple[float, float], network: float) -> list[dict[str, Any]]:
    """Simulate shards of each size and replicas, at shares of the largest rate."""
    cases = []
    for documents in SHARD_SIZES:
        shards = TOTAL // documents
        of_shard = scaled(whole, size, documents, line)
        for replicas in (1, 2):
            largest = largest_rate(of_shard, replicas)
            loads = []
            for share in SHARES:
                generator = np.random.default_rng(SEED)
                drawn = service_times(of_shard, shards, SIMULATED, generator)
                load = simulate(
                    drawn, rate=share * largest, replicas=replicas, constant=network, generator=generator
                )
                loads.append({"share": share, **load.__dict__})
            cases.append(
                {
                    "documents": documents,
                    "shards": shards,
                    "replicas": replicas,
                    "cores": shards * replicas,
                    "largest rate": largest,
                    "loads": loads,
                }
            )
    return cases


def page(result: dict[str, Any]) -> str:
    """Return the page of the result."""
    shards = record.table(
        ["shards", "passages each", "mean, ms", "p50", "p99", "mean, predicted", "error"],
        [
            [
                shards,
                f"{row['documents']:,.0f}",
                *(f"{row[name]:.2f}" for name in ("mean", "p50", "p99")),
                f"{guess['mean, predicted']:.2f}",
                record.percent(guess["mean, predicted"] / guess["mean, measured"] - 1),
            ]
            for (shards, row), guess in zip(
                result["shards"].items(), result["predicted from one shard"].values(), strict=True
            )
        ],
    )
    checked = record.table(
        ["four shards", "mean, ms: model", "measured", "error", "p99, ms: model", "measured", "error"],
        [
            [
                name,
                f"{row['mean, predicted']:.2f}",
                f"{row['mean, measured']:.2f}",
                record.percent(row["error of the mean"]),
                f"{row['p99, predicted']:.2f}",
                f"{row['p99, measured']:.2f}",
                record.percent(row["error of p99"]),
            ]
            for name, row in result["check"].items()
        ],
    )
    head = ["passages of a shard", "shards", "replicas", "cores", "largest rate, queries a second"]
    shares = [load["share"] for load in result["simulation"][0]["loads"]]
    head += [f"p50 / p99 at {share:.0%}" for share in shares]
    rows = [
        [
            f"{case['documents']:,}",
            *(f"{case[name]:,}" for name in ("shards", "replicas", "cores")),
            f"{case['largest rate']:.1f}",
            *(f"{load['p50']:.0f} / {load['p99']:.0f}" for load in case["loads"]),
        ]
        for case in result["simulation"]
    ]
    config, line, facts = result["config"], result["line"], result["passage"]
    before, after = (load[0] for load in result["loads"]["check"])
    return f"""# Search over partitions, measured and simulated

{config["passages"]:,} passages of the reference workload, `--model instant` (a search in `best` does the same work),
k = {K}. Times are processor times of one thread for a query: {line["constant ms"]:.2f} ms, and
{line["ms for a million passages"]:.1f} ms for each million passages of a shard (least squares over the mean times of
the sizes).

## Shards of this machine

{shards}

A passage has {facts["words"]:.1f} words, {facts["pieces"]:.1f} word pieces, and {facts["bytes"]:.0f} bytes in the index
(without the query table, which is there once).

*Predicted*: times of the undivided index, multiplied by the ratio of the line.

## The model beside real processes

{checked}

The model adds the times of the shards of a process, and takes the largest sum. The machine has two processors, with a
mean load over a minute of {before:.1f} before and {after:.1f} after the check; wall times include waiting for other
programs, although the smallest of some rounds is taken. With a load above 2, wall times say nothing about the model.

## 100 million passages

Simulated with {SIMULATED:,} queries at each load, times extrapolated by the line from shards of
{config["passages"]:,} passages, and {config["network ms"]:g} ms for network and merging, which is an assumption. Each
replica of a shard has one core. Response times are in milliseconds.

{record.table(head, rows, left=0)}

![p99 by load]({NAME}.svg)

What the simulation leaves out: memory bandwidth, which cores of one machine share; failures; caches of results.

{record.about(result, intervals=False)}
"""


def write(path: Path, value: object) -> None:
    """Write a JSON file into the work folder."""
    path.write_text(json.dumps(value))
    record.say(f"wrote {path}")


def main() -> None:
    """Run one of the three steps."""
    options = record.parser(__doc__, "work", "out", "threads")
    options.add_argument("step", choices=("measure", "check", "report"))
    options.add_argument("--bench", type=Path, default=BENCH)
    options.add_argument("--passages", type=int, default=200_000)
    options.add_argument("--queries", type=int, default=200)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--network", type=float, default=1.0, help="milliseconds of network and merging")
    arguments = options.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    {"measure": measure, "check": check, "report": report}[arguments.step](arguments)


if __name__ == "__main__":
    record.script(main)
