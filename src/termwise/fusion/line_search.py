"""Search for the best weights on the line between two weight vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.fusion.objective import RANKED_MEASURES, Objective, RankedObjective
from termwise.fusion.step_function import EQUAL, Choice
from termwise.progress import Progress, no_progress

TENTHS = tuple(number / 10 for number in range(11))
"""Default grid of alpha: 0, 0.1, ..., 1."""


def weights_at(alpha: float, at_one: Sequence[float], at_zero: Sequence[float]) -> tuple[float, ...]:
    """Return ``alpha * at_one + (1 - alpha) * at_zero``; for two single runs exactly alpha and 1 - alpha."""
    return tuple(alpha * a + (1 - alpha) * b for a, b in zip(at_one, at_zero, strict=True))


def best_of_grid(
    objective: Objective,
    at_one: Sequence[float],
    at_zero: Sequence[float],
    points: Sequence[float] = TENTHS,
    *,
    progress: Progress = no_progress,
) -> Choice:
    """Return the best point of a grid on the line.

    Among equally good points, this is the middle of the longest sequence of neighbours; the first of two middles and of
    equally long sequences.
    """
    values = []
    for number, alpha in enumerate(points):
        progress("grid", number, len(points))
        values.append(objective.value(weights_at(alpha, at_one, at_zero)))
    progress("grid", len(points), len(points))
    best = max(values)
    best_ranges: list[list[int]] = []
    for position, value in enumerate(values):
        if value >= best - EQUAL:
            if best_ranges and best_ranges[-1][-1] == position - 1:
                best_ranges[-1].append(position)
            else:
                best_ranges.append([position])
    longest = max(best_ranges, key=len)
    chosen = longest[(len(longest) - 1) // 2]
    alpha = points[chosen]
    return Choice(alpha, values[chosen], alpha, alpha, sum(map(len, best_ranges)) - 1)


def best_on_line(
    objective: RankedObjective,
    at_one: Sequence[float],
    at_zero: Sequence[float],
    *,
    progress: Progress = no_progress,
) -> Choice:
    """Return the exact best point on the line.

    All intervals between the points at which documents change their order are evaluated, and also the points 0, 0.1,
    ..., 1, where ties are most likely: tied documents have the order of the first run, which can be better than the
    order on either side. A point is chosen only if it is better than every interval.
    """
    interval = objective.curve(at_one, at_zero, progress=progress).best()
    evaluated = replace(interval, value=objective.value(weights_at(interval.alpha, at_one, at_zero)))
    point = best_of_grid(objective, at_one, at_zero, progress=progress)
    return point if point.value > evaluated.value + EQUAL else evaluated


def best_share(
    objective: Objective, method: Literal["sweep", "grid"], *, progress: Progress = no_progress
) -> Choice:
    """Return the best alpha for two runs: exactly with ``sweep``, of `TENTHS` with ``grid``."""
    if objective.runs != 2:
        raise ParameterError(
            f"{method} needs two runs", facts=[("runs", objective.runs)], fixes=[Fix.use(method="ascent")]
        )
    if method == "grid":
        return best_of_grid(objective, (1.0, 0.0), (0.0, 1.0), progress=progress)
    if not isinstance(objective, RankedObjective):
        raise no_exact_sweep(objective.measure, [Fix.use(method="grid"), Fix.use(method="ascent")])
    return best_on_line(objective, (1.0, 0.0), (0.0, 1.0), progress=progress)


def no_exact_sweep(measure: str, fixes: Sequence[str | Fix]) -> ParameterError:
    """Return the error for a measure that depends on more than the ranks of relevant documents."""
    return ParameterError(
        f"the measure {measure} has no exact sweep",
        facts=[("measures", ", ".join(RANKED_MEASURES)), ("parameters", "a cutoff and rel")],
        fixes=fixes,
    )
