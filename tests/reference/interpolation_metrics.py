"""Measures of an interpolation of two scores, as functions of its weight, in plain loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise


def value_of_ranks(
    ranks: Sequence[int], gains: Sequence[float], kind: int, cutoff: int, norm: float
) -> float:
    """Return the value of a measure from the ranks of the relevant documents of a query.

    Values of `kind`: 0 nDCG, 1 AP, 2 RR, 3 P, 4 R, 5 Success.
    """
    relevant = sorted((rank, gain) for rank, gain in zip(ranks, gains, strict=True) if rank <= cutoff)
    if norm <= 0 or not relevant:
        return 0.0
    if kind == 0:
        return sum(gain / math.log2(rank + 1) for rank, gain in relevant) / norm
    if kind == 1:
        return sum(number / rank for number, (rank, _) in enumerate(relevant, 1)) / norm
    if kind == 2:
        return 1 / relevant[0][0] / norm
    if kind == 5:
        return 1 / norm
    return len(relevant) / norm


def query_values(
    indptr: Sequence[int],
    scores: Sequence[float],
    places: Sequence[int],
    gains: Sequence[float],
    norms: Sequence[float],
    kind: int,
    cutoff: int,
) -> list[float]:
    """Return the value of a measure for each query from the scores of its documents."""
    values = []
    for query, norm in enumerate(norms):
        documents = range(indptr[query], indptr[query + 1])
        order = sorted(documents, key=lambda i: (-scores[i], places[i]))
        relevant = [(rank, gains[i]) for rank, i in enumerate(order, 1) if gains[i] > 0]
        values.append(
            value_of_ranks([rank for rank, _ in relevant], [gain for _, gain in relevant], kind, cutoff, norm)
        )
    return values


def undominated(first: Sequence[float], second: Sequence[float], most: int) -> list[int]:
    """Return the documents that are among the first `most` at some alpha between 0 and 1.

    The score of document i is ``alpha * first[i] + (1 - alpha) * second[i]``. A document is left out if `most` others
    are above it at every alpha: both their scores are at least its own and one is larger, or both are equal and they
    come earlier.
    """
    kept = []
    for i in range(len(first)):
        above = 0
        for j in range(len(first)):
            at_least = first[j] >= first[i] and second[j] >= second[i]
            equal = first[j] == first[i] and second[j] == second[i]
            above += (at_least and not equal) or (equal and j < i)
        if above < most:
            kept.append(i)
    return kept


def query_steps(
    first: Sequence[float],
    second: Sequence[float],
    gains: Sequence[float],
    kind: int,
    cutoff: int,
    norm: float,
) -> tuple[list[float], list[float]]:
    """Return a measure of one query as a step function of alpha, for alpha strictly between 0 and 1.

    The score of document i is ``alpha * first[i] + (1 - alpha) * second[i]``. Two documents swap where their scores are
    equal; the ranking is constant between two such points. The arithmetic is exact. Documents with two equal scores
    keep their order.

    Returns
    -------
    alphas : list of float
        Starts of the steps; the first is 0.
    values : list of float
        Value from each start to the next. Neighbours differ by more than 1e-12. At a start itself documents tie, and
        the value may differ.
    """
    x, y = [Fraction(score) for score in first], [Fraction(score) for score in second]
    swaps = {Fraction(0), Fraction(1)}
    for i in range(len(x)):
        for j in range(i):
            one, other = x[i] - x[j], y[i] - y[j]
            if one * other < 0:
                swaps.add(other / (other - one))
    ordered = sorted(swaps)
    alphas: list[float] = []
    values: list[float] = []
    for low, high in pairwise(ordered):
        alpha = (low + high) / 2
        mixed = [alpha * a + (1 - alpha) * b for a, b in zip(x, y, strict=True)]
        order = sorted(range(len(x)), key=lambda i: (-mixed[i], i))
        relevant = [(rank, gains[i]) for rank, i in enumerate(order, 1) if gains[i] > 0]
        value = value_of_ranks(
            [rank for rank, _ in relevant], [gain for _, gain in relevant], kind, cutoff, norm
        )
        if not values or abs(value - values[-1]) > 1e-12:
            alphas.append(float(low))
            values.append(value)
    return alphas, values
