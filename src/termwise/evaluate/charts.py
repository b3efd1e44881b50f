"""Charts of evaluation pages, as SVG attributes for a template.

Positions are in units of the ``viewBox``, x to the right and y down, with at most two decimals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from termwise.display.html import css_number
from termwise.evaluate.formats import format_value, with_minus_sign
from termwise.fast_dataclass import dataclass

Side = Literal["better", "worse", "tie", "neutral", ""]
"""Meaning of a shape, which sets its colour."""

MAX_BARS = 400
"""Largest number of queries for which every bar of a plot is a separate element with a tooltip."""

PLOT_LEFT, PLOT_WIDTH = 46.0, 470.0
"""Left edge and width of the bars of a plot, in a drawing of width 520."""

SHARES_WIDTH = 120.0
"""Width of the bar of wins, ties and losses."""

BINS, BIN_WIDTH, BIN_HEIGHT = 20, 15.0, 42.0
"""Number of bins of a histogram, their distance, and the height of the tallest bar, with the base line at y = 44."""


@dataclass(frozen=True)
class Tick:
    """A round number on an axis and its position."""

    at: str
    label: str


@dataclass(frozen=True)
class Axis:
    """A linear scale from values to positions, with round ticks.

    Attributes
    ----------
    low, high : float
        Smallest and largest value, low below high.
    start, end : float
        Positions of `low` and `high`; for a vertical axis `start` is the larger.
    """

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Return the position of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def at(self, value: float) -> str:
        """Return the position of a value as an attribute."""
        return css_number(self.place(value))

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """About five multiples of a step that is 1, 2 or 5 times a power of ten."""
        step = _round_step((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return tuple(
            Tick(self.at(n * step), "0" if n == 0 else with_minus_sign(f"{n * step:+.{decimals}f}"))
            for n in range(first, last + 1)
        )


@dataclass(frozen=True)
class Bar:
    """A rectangle; `title` is its tooltip."""

    x: str
    y: str
    width: str
    height: str
    side: Side
    title: str


@dataclass(frozen=True)
class Plot:
    """Sorted differences: bars or, for many queries, one path per side."""

    bars: tuple[Bar, ...]
    areas: tuple[tuple[Side, str], ...]
    axis: Axis


def side(direction: float) -> Side:
    """Return the side of a difference: better above 0, worse below 0, empty at 0."""
    return "better" if direction > 0 else "worse" if direction < 0 else ""


def sorted_differences(differences: npt.NDArray[np.float64], axis: Axis, names: Sequence[str]) -> Plot:
    """Draw one bar per query, from the largest gain to the largest loss, on a vertical axis that contains 0.

    A difference of 0 has no bar; `names` are those of the queries in the tooltips.
    """
    order = np.argsort(-differences, kind="stable")
    step = PLOT_WIDTH / len(order)
    if len(order) > MAX_BARS:
        values = differences[order]
        sides: dict[Side, npt.NDArray[np.bool_]] = {"better": values > 0, "worse": values < 0}
        paths = ((s, _path(values, np.flatnonzero(mask), step, axis)) for s, mask in sides.items())
        return Plot((), tuple((s, path) for s, path in paths if path), axis)
    zero = axis.place(0.0)
    gap = min(1.0, 0.2 * step)
    bars = []
    for position, query in enumerate(order.tolist()):
        value = float(differences[query])
        if value == 0:
            continue
        end = axis.place(value)
        bars.append(
            Bar(
                x=css_number(PLOT_LEFT + position * step + gap / 2),
                y=css_number(min(zero, end)),
                width=css_number(step - gap),
                height=css_number(abs(end - zero)),
                side=side(value),
                title=f"{names[query]}: {with_minus_sign(format_value(value, 'difference'))}",
            )
        )
    return Plot(tuple(bars), (), axis)


def _path(values: npt.NDArray[np.float64], positions: npt.NDArray[np.intp], step: float, axis: Axis) -> str:
    """Draw the outline of neighbouring bars as one path; empty without bars."""
    if len(positions) == 0:
        return ""
    path = [f"M{css_number(PLOT_LEFT + int(positions[0]) * step)} {axis.at(0.0)}"]
    path += [
        f"V{axis.at(float(values[position]))}H{css_number(PLOT_LEFT + (position + 1) * step)}"
        for position in positions.tolist()
    ]
    return "".join([*path, f"V{axis.at(0.0)}Z"])


def shares(wins: int, ties: int, losses: int) -> tuple[Bar, ...]:
    """Draw the numbers of wins, ties and losses as the parts of one bar."""
    parts: tuple[tuple[int, Side], ...] = ((wins, "better"), (ties, "tie"), (losses, "worse"))
    bars, start = [], 0.0
    for number, part_side in parts:
        width = SHARES_WIDTH * number / (wins + ties + losses)
        if number:
            bars.append(Bar(css_number(start), "0", css_number(width), "8", part_side, ""))
        start += width
    return tuple(bars)


def histogram_bars(counts: npt.NDArray[np.intp], *, high: float, tallest: int) -> tuple[Bar, ...]:
    """Draw the numbers of values in equal bins from 0 to `high`; `tallest` is the count that has the full height."""
    bars = []
    for position, number in enumerate(counts.tolist()):
        height = BIN_HEIGHT * number / tallest
        between = f"from {high * position / BINS:.3g} to {high * (position + 1) / BINS:.3g}"
        if number:
            bars.append(
                Bar(
                    x=css_number(position * BIN_WIDTH + 1),
                    y=css_number(44.0 - height),
                    width=css_number(BIN_WIDTH - 2),
                    height=css_number(height),
                    side="neutral",
                    title=f"{number} {'query' if number == 1 else 'queries'} {between}",
                )
            )
    return tuple(bars)


def _round_step(rough: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is not below `rough`."""
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= rough), 10 * power)
