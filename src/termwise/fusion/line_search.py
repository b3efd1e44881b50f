"""The best weights on a straight line between two sets of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from termwise.errors import ParameterError
from termwise.fusion.objective import KINDS, Objective, RankedObjective
from termwise.fusion.step_function import EQUAL, Choice
from termwise.progress import Progress, no_progress

TENTHS = tuple(number / 10 for number in range(11))
"""Where a grid looks for alpha: 0, 0.1, ..., 1."""


def weights_at(alpha: float, one: Sequence[float], other: Sequence[float]) -> tuple[float, ...]:
    """Return ``alpha * one + (1 - alpha) * other``; for two single runs exactly alpha and 1 - alpha."""
    return tuple(alpha * a + (1 - alpha) * b for a, b in zip(one, other, strict=True))


def best_of_grid(
    objective: Objective,
    one: Sequence[float],
    other: Sequence[float],
    points: Sequence[float] = TENTHS,
    *,
    progress: Progress = no_progress,
) -> Choice:
    """Return the best of a few points on the line.

    Of equally good points the middle one of the longest stretch of neighbours is taken, of two middles the
    first, and of equally long stretches the first.
    """
    values = []
    for number, alpha in enumerate(points):
        progress("grid", number, len(points))
        values.append(objective.value(weights_at(alpha, one, other)))
    progress("grid", len(points), len(points))
    best = max(values)
    stretches: list[list[int]] = []
    for place, value in enumerate(values):
        if value >= best - EQUAL:
            if stretches and stretches[-1][-1] == place - 1:
                stretches[-1].append(place)
            else:
                stretches.append([place])
    longest = max(stretches, key=len)
    chosen = longest[(len(longest) - 1) // 2]
    alpha = points[chosen]
    return Choice(alpha, values[chosen], alpha, alpha, sum(map(len, stretches)) - 1)


def best_on_line(
    objective: RankedObjective,
    one: Sequence[float],
    other: Sequence[float],
    *,
    progress: Progress = no_progress,
) -> Choice:
    """Return the best place on the line, exactly.

    All intervals between the places where documents swap are looked at, and beside them the points 0, 0.1,
    ..., 1, the places where a tie is most likely: there the order is that of the first run, which can be
    better than what lies on either side. A point is taken only where it is better than every interval.
    """
    inside = objective.curve(one, other, progress=progress).best()
    measured = replace(inside, value=objective.value(weights_at(inside.alpha, one, other)))
    point = best_of_grid(objective, one, other, progress=progress)
    return point if point.value > measured.value + EQUAL else measured


def sweep(objective: Objective, *, progress: Progress = no_progress) -> Choice:
    """Return the best alpha of two runs, exactly.

    Raises
    ------
    ParameterError
        If there are not two runs, or the measure does not depend on the ranks of relevant documents alone.
    """
    _two(objective, "sweep")
    if not isinstance(objective, RankedObjective):
        raise inexact(
            objective.measure, ["method='grid', or --learn grid", "method='ascent', or --learn ascent"]
        )
    return best_on_line(objective, (1.0, 0.0), (0.0, 1.0), progress=progress)


def inexact(measure: str, fixes: Sequence[str]) -> ParameterError:
    """Build the error for a measure that does not depend on the ranks of relevant documents alone."""
    return ParameterError(
        f"an exact sweep is not made for the measure {measure}",
        facts=[("measures", ", ".join(KINDS)), ("parameters", "a cutoff and rel")],
        fixes=fixes,
    )


def grid(
    objective: Objective, points: Sequence[float] = TENTHS, *, progress: Progress = no_progress
) -> Choice:
    """Return the best alpha of two runs among a few.

    Raises
    ------
    ParameterError
        If there are not two runs.
    """
    _two(objective, "grid")
    return best_of_grid(objective, (1.0, 0.0), (0.0, 1.0), points, progress=progress)


def _two(objective: Objective, method: str) -> None:
    if objective.runs != 2:
        raise ParameterError(
            f"{method} chooses the share of one of two runs",
            facts=[("runs", objective.runs)],
            fixes=["method='ascent', or --learn ascent"],
        )
