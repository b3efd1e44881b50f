"""Timing of the benchmarks: turns, ratios, memory and the file of results."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest


def test_contestants_take_turns():
    import timing

    seen = []
    contestants = {name: lambda name=name: seen.append(name) for name in ("one", "other")}
    seconds = timing.passes(contestants, 2)
    assert {name: times.shape for name, times in seconds.items()} == {"one": (2,), "other": (2,)}
    assert seen == ["one", "other"] * 3  # once to warm up


def test_contestants_take_turns_query_by_query(capsys):
    import timing

    seen = []
    contestants = {
        name: timing.each([1, 2], lambda item, name=name: seen.append((name, item)))
        for name in ("one", "other")
    }
    table = timing.timed("a title", contestants, 2, "one")
    assert seen == [("one", 1), ("one", 2), ("other", 1), ("other", 2)] * 3
    assert set(table) == {"one", "other"}
    assert "ours / theirs" not in table["one"]
    assert table["other"]["ours / theirs"]["mean"] > 0
    assert "a title" in capsys.readouterr().out


def test_ratios_are_those_of_rounds():
    import timing

    # The machine becomes twice as slow in the second round, for both.
    ours, other = np.array([[1.0, 3.0], [2.0, 6.0]]), np.array([[4.0, 4.0], [8.0, 8.0]])
    assert timing.ratios(ours, other) == {"mean": 0.5, "mean, least": 0.5, "mean, most": 0.5, "p50": 0.5}
    found = timing.speedup(np.array([1.0, 2.0, 1.0]), np.array([2.0, 4.0, 3.0]))
    assert found == {"median": 2.0, "least": 2.0, "most": 3.0}
    rates = timing.show_rates("things a second", {"ours": np.array([1.0, 2.0, 4.0])}, 8)
    assert rates == {"ours": {"median": 4.0, "least": 2.0, "most": 8.0}}


def test_the_median_is_compared_with_a_limit(capsys):
    import timing

    verdicts = {
        "quick": timing.held({"p50": 2.0, "p99": 9.0}, 2.0),
        "slow": timing.held({"p50": 2.1, "p99": 2.2}, 2.0),
    }
    assert [row["reached"] for row in verdicts.values()] == [True, False]
    timing.show_verdicts(verdicts)
    assert capsys.readouterr().out.count("NOT REACHED") == 1


def test_memory_is_the_peak_above_that_before():
    import timing

    held = []

    def before() -> None:
        np.ones(100 << 17).sum()  # 100 MiB, given back; so large that no memory from before is used again
        held.append(np.ones(40 << 17))  # 40 MiB that stay

    cost = timing.separate_process(lambda: np.ones(60 << 17).sum(), before=before)
    assert 59 << 20 < cost.bytes < 64 << 20
    assert 0 < cost.seconds < 60
    assert not held  # it was another process


def test_a_call_that_fails_has_no_cost(capfd):
    import timing

    def fail() -> None:
        raise ValueError("no such thing")

    with pytest.raises(RuntimeError, match="the call failed"):
        timing.separate_process(fail, before=lambda: None)
    assert "no such thing" in capfd.readouterr().err


def test_results_are_appended_with_the_load(tmp_path):
    import timing

    for number in (1, 2):
        timing.append({"number": number}, "toy", tmp_path / "out")
    lines = [json.loads(line) for line in (tmp_path / "out" / "toy.jsonl").read_text().splitlines()]
    assert [line["number"] for line in lines] == [1, 2]
    assert all(len(line["load at the end"]) == 3 for line in lines)


def test_the_process_stays_on_one_processor(benchmarks):
    folders = [str(benchmarks), str(benchmarks.parent / "experiments")]
    code = (
        f"import os, sys; sys.path[:0] = {folders!r}\nimport timing\n"
        "chosen = timing.pinned()\nassert os.sched_getaffinity(0) == {chosen}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
