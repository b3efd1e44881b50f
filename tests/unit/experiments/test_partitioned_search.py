"""Queueing model of a search over partitions, and the experiment on a few passages."""

from __future__ import annotations

import json
import lzma

import numpy as np
import pytest


def test_response_times_of_a_queue_by_hand():
    from simulation import simulate

    class Even:
        """Generator of arrivals at 1, 2 and 3 ms."""

        def exponential(self, scale, size):
            assert scale == 1.0
            return np.ones(size)

    times = np.array([[2.0, 0.5], [2.0, 0.5], [0.5, 4.0]])
    # One core for each shard: the first is busy from 1 to 3, 5 and 5.5, the second from 3 to 7.
    one = simulate(times, rate=1000, replicas=1, constant=1.0, generator=Even())
    assert one.mean == pytest.approx((2 + 3 + 4) / 3 + 1)
    assert one.utilisation == pytest.approx(times.sum() / (7 * 2))
    # A second replica takes the second query of the first shard at once.
    two = simulate(times, rate=1000, replicas=2, constant=1.0, generator=Even())
    assert two.mean == pytest.approx((2 + 2 + 4) / 3 + 1)


def test_a_single_queue_has_the_waiting_time_of_the_theory():
    """Constant service time s at utilisation u: the mean wait is u s / (2 (1 - u)), by Pollaczek and Khinchine."""
    from simulation import simulate

    times = np.full((200_000, 1), 2.0)
    load = simulate(times, rate=350, replicas=1, constant=0.0, generator=np.random.default_rng(7))
    assert load.utilisation == pytest.approx(0.7, abs=0.01)
    assert load.mean == pytest.approx(2 + 0.7 * 2 / (2 * 0.3), rel=0.05)


def test_times_of_processes_and_of_other_sizes():
    from simulation import by_size, in_parallel, in_turn, largest_rate, scaled, service_times

    times = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 1.0]])
    assert in_turn(times).tolist() == [7, 5]
    assert in_parallel(times, 2).tolist() == [5, 4]  # shards 0 and 2, and shard 1
    assert largest_rate(times, replicas=2) == 1000 * 2 / 2.5
    line = by_size(np.array([1.0, 2.0]), np.array([3.0, 5.0]))
    assert line == pytest.approx((1, 2))
    assert scaled(times, 1.0, 4.0, line) == pytest.approx(times * 3)
    drawn = service_times(times, 3, 50, np.random.default_rng(1))
    assert {tuple(row) for row in drawn.tolist()} == {tuple(row) for row in times.tolist()}
    assert service_times(times, 9, 4, np.random.default_rng(1)).shape == (4, 9)


@pytest.mark.slow
def test_the_experiment_on_a_few_passages(tmp_path, monkeypatch):
    import partitioned_search

    bench = tmp_path / "bench"
    bench.mkdir()
    words = ("merge", "sort", "list", "cat", "dog", "read", "file", "heap")
    texts = [f"{words[n % 8]} {words[n // 8 % 8]} {words[n // 3 % 8]}" for n in range(64)]
    with lzma.open(bench / "passages.txt.xz", "wt") as file:
        file.write("\n".join(texts) + "\n")
    lines = [json.dumps({"text": text}) + "\n" for text in texts[:5]]
    (bench / "queries_text.jsonl").write_text("".join(lines))
    monkeypatch.setattr(partitioned_search, "SIMULATED", 200)
    for step in ("measure", "check", "report"):
        command = ["", step, "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]
        monkeypatch.setattr("sys.argv", [*command, "--bench", str(bench), "--rounds", "1"])
        partitioned_search.main()
    result = json.loads((tmp_path / "out" / "partitioned_search.json").read_text())
    assert [case["shards"] for case in result["simulation"]] == [100, 100, 40, 40, 20, 20, 10, 10]
    assert "nan" not in (tmp_path / "out" / "partitioned_search.md").read_text()
