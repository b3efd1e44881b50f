"""Drawings: round ticks, bars where the differences are, one order, no number that is not finite."""

import re

import numpy as np
import pytest

from termwise.display.html import css_number
from termwise.evaluate.charts import (
    BIN_HEIGHT,
    BINS,
    MAX_BARS,
    SHARES_WIDTH,
    Axis,
    histogram_bars,
    shares,
    side,
    sorted_differences,
)

HEIGHTS = Axis(-1.0, 1.0, 110.0, 10.0)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (-0.1, 0.4, ["−0.1", "0", "+0.1", "+0.2", "+0.3", "+0.4"]),
        (-0.012, 0.009, ["−0.010", "−0.005", "0", "+0.005"]),
        (-1.0, 1.0, ["−1.0", "−0.5", "0", "+0.5", "+1.0"]),
        (-30.0, 5.0, ["−30", "−20", "−10", "0"]),
        (1e-9, 3e-9, None),
    ],
)
def test_ticks_are_round_and_on_the_axis(low, high, labels):
    ticks = Axis(low, high, 0.0, 100.0).ticks
    assert 2 <= len(ticks) <= 6
    assert labels is None or [tick.label for tick in ticks] == labels
    assert all(-0.01 <= float(tick.at) <= 100.01 for tick in ticks)


def test_bars_are_sorted_and_lie_between_zero_and_their_value():
    plot = sorted_differences(np.array([-0.5, 0.0, 1.0, 0.25]), HEIGHTS, ["q0", "q1", "q2", "q3"])
    assert [bar.title for bar in plot.bars] == ["q2: +1.0000", "q3: +0.2500", "q0: −0.5000"]
    assert [bar.side for bar in plot.bars] == ["better", "better", "worse"]
    assert [(bar.y, bar.height) for bar in plot.bars] == [("10", "50"), ("47.5", "12.5"), ("60", "25")]
    first, second, last = (float(bar.x) for bar in plot.bars)
    assert second - first == pytest.approx(470 / 4, abs=0.01)
    assert last - second == pytest.approx(2 * 470 / 4, abs=0.01)  # the tie between them keeps its room


def test_equal_differences_stay_in_the_order_of_the_queries():
    plot = sorted_differences(np.array([0.5, 0.5, 0.5]), HEIGHTS, "012")
    assert [bar.title[0] for bar in plot.bars] == ["0", "1", "2"]


def test_many_bars_are_one_path_a_side():
    differences = np.linspace(-1, 1, MAX_BARS + 1)
    assert (
        len(sorted_differences(differences[:-1], HEIGHTS, [""] * (MAX_BARS + 1)).bars) == MAX_BARS - 1
    )  # one is 0
    plot = sorted_differences(differences, HEIGHTS, [""] * (MAX_BARS + 1))
    assert plot.bars == ()
    assert [kind for kind, _ in plot.areas] == ["better", "worse"]
    better = plot.areas[0][1]
    assert better.startswith("M46 60V10H")  # from the ground up to the largest gain
    assert better.endswith("V60Z")
    assert better.count("H") == MAX_BARS // 2
    only = sorted_differences(np.abs(differences) + 0.1, Axis(-2, 2, 110, 10), [])
    assert [kind for kind, _ in only.areas] == ["better"]


def test_shares_fill_the_bar_in_proportion():
    parts = shares(3, 0, 1)
    assert [(part.side, part.x, part.width) for part in parts] == [
        ("better", "0", "90"),
        ("worse", "90", "30"),
    ]
    assert sum(float(part.width) for part in shares(1, 2, 4)) == pytest.approx(SHARES_WIDTH, abs=0.05)


def test_bars_of_a_histogram_show_their_counts():
    counts = np.array([2, *[0] * (BINS // 2 - 1), 1, *[0] * (BINS // 2 - 2), 1])
    bars = histogram_bars(counts, high=1.0, tallest=2)
    assert [bar.title for bar in bars] == [
        "2 queries from 0 to 0.05",
        "1 query from 0.5 to 0.55",
        "1 query from 0.95 to 1",
    ]
    assert [float(bar.height) for bar in bars] == [BIN_HEIGHT, BIN_HEIGHT / 2, BIN_HEIGHT / 2]
    assert {float(bar.y) + float(bar.height) for bar in bars} == {44.0}


def test_lengths_are_short_numbers():
    for value in (0.0, 1e-9, 1 / 3, 100.0, 1234.5678):
        assert re.fullmatch(r"\d+(\.\d{1,2})?", css_number(value))


def test_sides():
    assert [side(value) for value in (0.1, 0.0, -0.1)] == ["better", "", "worse"]
