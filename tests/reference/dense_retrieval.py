"""Scores of documents by their vectors, in plain loops and unlimited integers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf


def score(
    starts: Sequence[int], rows: Sequence[Sequence[int]], scales: Sequence[float], query: Sequence[int]
) -> list[float]:
    """Return the score of the best window of each document, -inf without windows.

    Examples
    --------
    >>> score([0, 2, 2], [[1, 2], [3, -1]], [0.5, 0.25], [10, -1])
    [7.75, -inf]
    """
    scores = []
    for first, last in pairwise(starts):
        sums = [sum(q * x for q, x in zip(query, rows[w], strict=True)) for w in range(first, last)]
        scores.append(max((float(s) * scales[first + w] for w, s in enumerate(sums)), default=-inf))
    return scores


def top_k(scores: Sequence[float], k: int) -> list[int]:
    """Return the positions of the `k` largest scores above -inf, best first; ties by position."""
    found = [position for position, value in enumerate(scores) if value > -inf]
    return sorted(found, key=lambda position: (-scores[position], position))[:k]
