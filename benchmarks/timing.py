"""Shared timing of the benchmarks: rounds, ratios, memory, verdicts and the file of results.

Contestants take turns in one process, round after round. The speed of shared machines changes within minutes, so that
only ratios within a round are compared. Before the first round, each contestant runs once without the clock.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from record import git, processor, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

Seconds = npt.NDArray[np.float64]
Timer = Callable[[], Seconds]
"""One pass over all queries, which returns the seconds of each."""


def say(text: str) -> None:
    print(text, flush=True)


def about(packages: Sequence[str] = ()) -> dict[str, Any]:
    """Return date, commit, machine and versions of packages of a run."""
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "HEAD"),
        "uncommitted changes": bool(git("status", "--porcelain", "--", "src")),
        "processor": processor(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "load at the start": os.getloadavg(),
    }
    return facts | ({"packages": {name: version(name) for name in packages}} if packages else {})


def pinned() -> int:
    """Bind the process to the last processor that it may use, and return its number."""
    chosen = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {chosen})
    return chosen


def append(report: dict[str, Any], name: str, folder: Path = RESULTS) -> None:
    """Append a report with the load of the machine to the JSONL file of its benchmark."""
    report["load at the end"] = os.getloadavg()
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / f"{name}.jsonl"
    with results.open("a") as file:
        file.write(json.dumps(report) + "\n")
    say(f"appended to {results}")


# --- query by query ---------------------------------------------------------------------------------------------


def each(
    items: Sequence[Any], call: Callable[[Any], object], clock: Callable[[], float] = time.perf_counter
) -> Timer:
    """Return a function that makes a call for each item and returns the seconds of each."""

    def run() -> Seconds:
        seconds = np.empty(len(items))
        for place, item in enumerate(items):
            begin = clock()
            call(item)
            seconds[place] = clock() - begin
        return seconds

    return run


def timed(title: str, contestants: Mapping[str, Timer], rounds: int, ours: str) -> dict[str, Any]:
    """Time contestants in turn, and print the times of each."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[Seconds]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            seconds[name].append(run())
    return show(title, {name: np.stack(times) for name, times in seconds.items()}, ours)


def summary(seconds: Seconds) -> dict[str, float]:
    """Summarise rounds x queries: mean, median and 99th percentile in milliseconds, over the median round."""
    means = seconds.mean(axis=1) * 1e3
    middle = seconds[int(np.argsort(means)[len(means) // 2])] * 1e3
    return {
        "mean": float(np.median(means)),
        "p50": float(np.percentile(middle, 50)),
        "p99": float(np.percentile(middle, 99)),
    }


def ratios(ours: Seconds, other: Seconds) -> dict[str, float]:
    """Return ratios ours / theirs within the rounds: of the means, and of the medians over the queries."""
    means = ours.mean(axis=1) / other.mean(axis=1)
    medians = np.median(ours, axis=1) / np.median(other, axis=1)
    return {
        "mean": float(np.median(means)),
        "mean, least": float(means.min()),
        "mean, most": float(means.max()),
        "p50": float(np.median(medians)),
    }


def show(title: str, seconds: Mapping[str, Seconds], ours: str) -> dict[str, Any]:
    """Print and return the table of the contestants."""
    table: dict[str, Any] = {}
    wide = max(44, *(len(name) + 2 for name in seconds))
    say(f"\n{title}\n{'':{wide}}{'mean':>9}{'p50':>9}{'p99':>9}   ours / theirs (mean, p50)")
    for name, taken in seconds.items():
        row: dict[str, Any] = {"ms": summary(taken)}
        tail = ""
        if name != ours:
            row["ours / theirs"] = ratios(seconds[ours], taken)
            tail = f"   {row['ours / theirs']['mean']:.3g}  {row['ours / theirs']['p50']:.3g}"
        table[name] = row
        say(f"{name:{wide}}{row['ms']['mean']:9.3f}{row['ms']['p50']:9.3f}{row['ms']['p99']:9.3f}{tail}")
    return table


def held(ours: Mapping[str, float], limit: float) -> dict[str, Any]:
    """Compare the median in milliseconds with its limit."""
    return {**ours, "wanted": limit, "reached": ours["p50"] <= limit}


def show_verdicts(verdicts: Mapping[str, Mapping[str, Any]]) -> None:
    """Print medians beside their limits."""
    say(f"\n{'milliseconds':52}{'wanted':>8}{'p50':>9}{'p99':>9}")
    for title, row in verdicts.items():
        reached = "reached" if row["reached"] else "NOT REACHED"
        say(f"{title:52}{row['wanted']:8.2f}{row['p50']:9.3f}{row['p99']:9.3f}   {reached}")


# --- passes as a whole ------------------------------------------------------------------------------------------


def passes(
    contestants: Mapping[str, Callable[[], object]], rounds: int, *, pause: float = 0.0
) -> dict[str, Seconds]:
    """Time contestants in turn, one pass per round, and return the seconds of each pass.

    Before each pass there are `pause` seconds, in which idle threads of the contestant before can stop.
    """
    for contestant in contestants.values():
        contestant()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name, contestant in contestants.items():
            time.sleep(pause)
            begin = time.perf_counter()
            contestant()
            seconds[name].append(time.perf_counter() - begin)
        say(f"round {number + 1} of {rounds}")
    return {name: np.array(times) for name, times in seconds.items()}


def speedup(one: Seconds, other: Seconds) -> dict[str, float]:
    """Return the ratio of speeds within the rounds: median, least and most."""
    found = other / one
    return {"median": float(np.median(found)), "least": float(found.min()), "most": float(found.max())}


def show_rates(title: str, seconds: Mapping[str, Seconds], count: float) -> dict[str, dict[str, float]]:
    """Print and return rates a second of the median, the slowest and the fastest round."""
    say(f"\n{title:40}{'median':>9}{'least':>9}{'most':>9}")
    table = {}
    for name, times in seconds.items():
        row = {
            "median": count / float(np.median(times)),
            "least": count / float(times.max()),
            "most": count / float(times.min()),
        }
        table[name] = row
        say(f"{name:40}{row['median']:9.3g}{row['least']:9.3g}{row['most']:9.3g}")
    return table


# --- candidates -------------------------------------------------------------------------------------------------


def with_random(
    best: npt.NDArray[np.int64], documents: int, count: int, random: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return the best documents of a query, filled up with random ones to `count`."""
    others = random.permutation(documents)[: count + len(best)]
    filled: npt.NDArray[np.int64] = np.concatenate([best, np.setdiff1d(others, best)])[:count]
    return filled


def gather_places(
    indptr: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each entry of chosen rows of a sparse matrix the number of its row among them, and its place."""
    firsts = indptr[chosen]
    lengths = indptr[chosen + 1] - firsts
    ends = np.cumsum(lengths)
    places = np.repeat(firsts - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
    return np.repeat(np.arange(len(chosen)), lengths), places


# --- memory -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """Seconds of a call, and its peak memory above that of the process before, in bytes."""

    seconds: float
    bytes: int


def separate_process(call: Callable[[], object], *, before: Callable[[], object]) -> Cost:
    """Make a call in a new process and return its cost, without that of `before`, which compiles the kernels."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(call, before, sender))
    process.start()
    sender.close()
    try:
        cost: Cost = receiver.recv()
    except EOFError:
        raise RuntimeError("the call failed in its process") from None
    finally:
        process.join()
    return cost


def _measure(call: Callable[[], object], before: Callable[[], object], sender: Any) -> None:
    before()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    held_before = _memory("VmRSS")
    begin = time.perf_counter()
    call()
    seconds = time.perf_counter() - begin
    # The system counts pages approximately: the peak can be a few pages below the memory before.
    sender.send(Cost(seconds, max(0, _memory("VmHWM") - held_before)))


def _memory(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"/proc/self/status does not report {name}")
    return int(found.group(1)) * 1024
