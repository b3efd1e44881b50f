"""The clock that all benchmarks share, and what they do with its numbers.

Contestants take turns in one process, round after round: shared machines change their speed within minutes, and only
ratios within a round survive that. Before the first round each goes once without a clock.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

Seconds = npt.NDArray[np.float64]
Timer = Callable[[], Seconds]
"""One pass over all queries; returns the seconds of each."""


def say(text: str) -> None:
    print(text, flush=True)


def about() -> dict[str, Any]:
    """Say when, where and on what code the run was made."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "HEAD"),
        "uncommitted changes": bool(git("status", "--porcelain", "--", "../src")),
        "processor": model,
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "load at the start": os.getloadavg(),
    }


def version(name: str) -> str:
    """Return the version of an installed package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def pinned() -> int:
    """Keep the process on one processor, the last of those it may use, and return its number."""
    chosen = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {chosen})
    return chosen


def append(report: dict[str, Any], name: str, folder: Path = RESULTS) -> None:
    """Add the load of the machine to a report, and the report to the file of its benchmark, one a line."""
    report["load at the end"] = os.getloadavg()
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / f"{name}.jsonl"
    with results.open("a") as file:
        file.write(json.dumps(report) + "\n")
    say(f"appended to {results}")


# --- query by query ---------------------------------------------------------------------------------------------


def each(items: Sequence[Any], call: Callable[[Any], object]) -> Timer:
    """Return what runs a call for each item and gives the seconds of each."""

    def run() -> Seconds:
        seconds = np.empty(len(items))
        for place, item in enumerate(items):
            begin = time.perf_counter()
            call(item)
            seconds[place] = time.perf_counter() - begin
        return seconds

    return run


def timed(title: str, contestants: Mapping[str, Timer], rounds: int, ours: str) -> dict[str, Any]:
    """Let contestants take turns and show the times of each."""
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
    """Return ours over theirs, round by round: of the means, and of the medians of the queries."""
    means = ours.mean(axis=1) / other.mean(axis=1)
    medians = np.median(ours, axis=1) / np.median(other, axis=1)
    return {
        "mean": float(np.median(means)),
        "mean, least": float(means.min()),
        "mean, most": float(means.max()),
        "p50": float(np.median(medians)),
    }


def show(title: str, seconds: Mapping[str, Seconds], ours: str) -> dict[str, Any]:
    """Print and return one table of contestants."""
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
    """Hold milliseconds against what was to be reached by the median."""
    return {**ours, "wanted": limit, "reached": ours["p50"] <= limit}


def show_verdicts(verdicts: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what was held against its limit."""
    say(f"\n{'milliseconds':52}{'wanted':>8}{'p50':>9}{'p99':>9}")
    for title, row in verdicts.items():
        reached = "reached" if row["reached"] else "NOT REACHED"
        say(f"{title:52}{row['wanted']:8.2f}{row['p50']:9.3f}{row['p99']:9.3f}   {reached}")


# --- passes as a whole ------------------------------------------------------------------------------------------


def passes(
    contestants: Mapping[str, Callable[[], object]], rounds: int, *, pause: float = 0.0
) -> dict[str, Seconds]:
    """Let every contestant make one pass in turn, round after round; return the seconds of each pass.

    Before each there are `pause` seconds, in which threads that wait for more work can give up.
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
    """Return how many times as fast one is as the other, round by round."""
    found = other / one
    return {"median": float(np.median(found)), "least": float(found.min()), "most": float(found.max())}


def show_rates(title: str, seconds: Mapping[str, Seconds], count: float) -> dict[str, dict[str, float]]:
    """Print and return how many of `count` things a second: of the median round, the slowest and the fastest."""
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


# --- memory -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What a call took: seconds, and bytes of memory at the most, above what there was before."""

    seconds: float
    bytes: int


def apart(call: Callable[[], object], *, before: Callable[[], object]) -> Cost:
    """Make a call in a process of its own, after another call that compiles the kernels, which is not what it costs."""
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
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    held_before = _memory("VmRSS")
    begin = time.perf_counter()
    call()
    seconds = time.perf_counter() - begin
    # The system counts pages roughly: a peak that was no higher may read a few pages lower.
    sender.send(Cost(seconds, max(0, _memory("VmHWM") - held_before)))


def _memory(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"the system does not say {name}")
    return int(found.group(1)) * 1024
