"""Coordinate ascent: one weight after the other is set to its best value, from several starts.

The plan is that of RankLib, which the paper on neural Model 1 used (Boytsov & Kolter, ECIR 2021): take one
run after the other, change its weight while the others keep their proportions, accept what is better, and
stop when a round through all runs gains nothing. What is done otherwise here:

- The value of a weight is not found by doubling steps. Changing one weight is a straight line from the
  others, alpha = 0, to the run alone, alpha = 1, and the best place on it is found exactly, or, for measures
  without an exact search, among 21 points. The line is followed with the weight above 0 and with it below 0,
  so that small weights change sign as easily as large ones.
- Each start begins elsewhere. The first has equal weights; the others draw theirs, and the order of the runs,
  at random.
- As every line ends at one run alone, the result is never below the best single run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from termwise.fusion.line_search import best_of_grid, best_on_line, weights_at
from termwise.fusion.objective import Objective, RankedObjective
from termwise.fusion.step_function import EQUAL, Choice
from termwise.progress import Progress, no_progress
from termwise.validation import check_count

ROUNDS = 50
"""Rounds through all runs, at most."""

_POINTS = tuple(number / 20 for number in range(21))


@dataclass(frozen=True)
class Ascent:
    """Where the ascent arrived.

    Attributes
    ----------
    weights : tuple of float
        One for each run; their absolute values add up to 1.
    value : float
        The mean of the measure there.
    starts : tuple of float
        What each start came to.
    """

    weights: tuple[float, ...]
    value: float
    starts: tuple[float, ...]


def ascent(
    objective: Objective, *, seed: int = 0, restarts: int = 5, progress: Progress = no_progress
) -> Ascent:
    """Find weights by coordinate ascent; see the top of this module.

    Parameters
    ----------
    objective : Objective
        What is to become large.
    seed : int, optional
        Of the random starts. Equal seeds give equal weights.
    restarts : int, optional
        Starts, the one with equal weights included; at least 1.
    progress : callable, optional
        Called with a stage name, in which the round and its value stand, starts that are done, and their number.

    Returns
    -------
    Ascent
        The best of all starts; of equally good ones the first.

    Raises
    ------
    ParameterError
        If `restarts` or `seed` is out of range.
    """
    check_count("restarts", restarts)
    check_count("seed", seed, least=0)
    generator = np.random.default_rng(seed)
    runs = objective.runs
    found = []
    for start in range(restarts):
        weights, order = np.full(runs, 1 / runs), np.arange(runs)
        if start > 0:
            weights, order = generator.dirichlet(np.ones(runs)), generator.permutation(runs)
        tell = _told(progress, start, restarts)
        found.append(_climb(objective, tuple(weights.tolist()), order.tolist(), tell))
    progress("ascent", restarts, restarts)
    best = max(value for _, value in found)
    weights_found, value = next(one for one in found if one[1] >= best - EQUAL)
    return Ascent(weights_found, value, tuple(value for _, value in found))


def _told(progress: Progress, start: int, restarts: int) -> Callable[[str], None]:
    return lambda what: progress(f"ascent: {what}", start, restarts)


def _climb(
    objective: Objective, start: tuple[float, ...], order: Sequence[int], tell: Callable[[str], None]
) -> tuple[tuple[float, ...], float]:
    weights, value = start, objective.value(start)
    for number in range(ROUNDS):
        before = value
        for run in order:
            tell(f"round {number + 1}, {objective.measure} {value:.4f}")
            rest = _normalised([0.0 if place == run else weight for place, weight in enumerate(weights)])
            if rest is None:
                continue  # the others all have the weight 0: nothing to weigh this run against
            for sign in (1.0, -1.0):
                alone = [sign if place == run else 0.0 for place in range(len(weights))]
                choice = _best(objective, alone, rest)
                if choice.value > value + EQUAL:
                    value = choice.value
                    weights = weights_at(choice.alpha, alone, rest)
        if value <= before + EQUAL:
            break
    return weights, value


def _best(objective: Objective, one: Sequence[float], other: Sequence[float]) -> Choice:
    if isinstance(objective, RankedObjective):
        return best_on_line(objective, one, other)
    return best_of_grid(objective, one, other, _POINTS)


def _normalised(weights: Sequence[float]) -> tuple[float, ...] | None:
    """Divide weights by the sum of their absolute values; None where that is 0."""
    total = math.fsum(map(abs, weights))
    return None if total == 0 else tuple(weight / total for weight in weights)
