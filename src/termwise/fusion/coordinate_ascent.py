"""Coordinate ascent over the weights of several runs, with restarts.

The method is that of RankLib, used by Boytsov & Kolter (ECIR 2021): change the weight of one run after another, keep
the proportions of the other weights, accept improvements, and stop if none of all runs has given one since the last.
Differences to RankLib:

- The best weight of a run is found exactly, not by doubling steps. Changing one weight is a line search from the other
  runs, alpha = 0, to the run alone, alpha = 1; measures without an exact search use 21 points. The line is searched
  with a positive and with a negative weight of the run.
- The first start has equal weights; the others have random weights and a random order of the runs.
- Every line contains a run alone, so the result is never below the best single run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import final

import numpy as np

from termwise.fast_dataclass import dataclass
from termwise.fusion.line_search import best_of_grid, best_on_line, weights_at
from termwise.fusion.objective import Objective, RankedObjective
from termwise.fusion.step_function import EQUAL, Choice
from termwise.progress import Progress, no_progress
from termwise.validation import MOST_STARTS, check_count

ROUNDS = 50
"""Largest number of rounds over all runs."""

_POINTS = tuple(number / 20 for number in range(21))


@final
@dataclass(frozen=True)
class Starts:
    """Number of starting points of a coordinate ascent, and the random seed for drawing them.

    Parameters
    ----------
    number : int, optional
        Number of starts, with the one of equal weights: 1 to 1,000. More take longer and may find better weights.
    seed : int, optional
        Seed of the random starts.

    Raises
    ------
    ParameterError
        If a number is out of range.
    """

    number: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("number", self.number, most=MOST_STARTS)
        check_count("seed", self.seed, least=0)


DEFAULT_STARTS = Starts()


def ascent(
    objective: Objective, starts: Starts = DEFAULT_STARTS, *, progress: Progress = no_progress
) -> tuple[tuple[float, ...], float]:
    """Find weights by coordinate ascent, whose absolute values sum to 1, and the mean of the measure with them.

    This is the result of the best start, the first if several are equal.
    """
    generator = np.random.default_rng(starts.seed)
    runs = objective.runs
    results = []
    for start in range(starts.number):
        weights, order = np.full(runs, 1 / runs), np.arange(runs)
        if start > 0:
            weights, order = generator.dirichlet(np.ones(runs)), generator.permutation(runs)
        report = partial(_report, progress, start, starts.number)
        results.append(_climb(objective, tuple(weights.tolist()), order.tolist(), report))
    progress("ascent", starts.number, starts.number)
    best = max(value for _, value in results)
    return next(result for result in results if result[1] >= best - EQUAL)


def _report(progress: Progress, start: int, restarts: int, stage: str) -> None:
    progress(f"ascent: {stage}", start, restarts)


def _climb(
    objective: Objective, start: tuple[float, ...], order: Sequence[int], report: Callable[[str], None]
) -> tuple[tuple[float, ...], float]:
    weights, value = start, objective.value(start)
    unchanged = (
        0  # runs since the last improvement; if these are all, another round would repeat their searches
    )
    for number in range(ROUNDS):
        for run in order:
            if unchanged == len(order):
                return weights, value
            unchanged += 1
            report(f"round {number + 1}, {objective.measure} {value:.4f}")
            rest = _normalised(
                [0.0 if position == run else weight for position, weight in enumerate(weights)]
            )
            if rest is None:
                continue  # all other weights are 0
            for sign in (1.0, -1.0):
                alone = [sign if position == run else 0.0 for position in range(len(weights))]
                choice = _best(objective, alone, rest)
                if choice.value > value + EQUAL:
                    value = choice.value
                    weights = weights_at(choice.alpha, alone, rest)
                    unchanged = 0
    return weights, value


def _best(objective: Objective, at_one: Sequence[float], at_zero: Sequence[float]) -> Choice:
    if isinstance(objective, RankedObjective):
        return best_on_line(objective, at_one, at_zero)
    return best_of_grid(objective, at_one, at_zero, _POINTS)


def _normalised(weights: Sequence[float]) -> tuple[float, ...] | None:
    """Divide weights by the sum of their absolute values; None if that is 0."""
    total = math.fsum(map(abs, weights))
    return None if total == 0 else tuple(weight / total for weight in weights)
