"""Log-likelihoods from logits, one at a time, in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence


def log_sigmoid(logits: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return ``ln(1 / (1 + exp(-z)))`` of each logit, without overflow.

    Examples
    --------
    >>> log_sigmoid([[-1000.0, 1000.0]])
    [[-1000.0, 0.0]]
    """
    return [[min(float(z), 0.0) - math.log1p(math.exp(-abs(float(z)))) for z in row] for row in logits]


def pruning_keys(terms: Sequence[int], weights: Sequence[float], floors: Sequence[float]) -> list[float]:
    """Return ``sqrt(P) * weight`` of each, where ``ln P = weight + floor``.

    Examples
    --------
    >>> pruning_keys([1], [2.0], [0.0, -2.0])
    [2.0]
    """
    return [
        math.exp(0.5 * (float(weight) + float(floors[term]))) * float(weight)
        for term, weight in zip(terms, weights, strict=True)
    ]


def excess_rows(
    logits: Sequence[Sequence[float]], terms: Sequence[int], floors: Sequence[float]
) -> tuple[list[int], list[int], list[float]]:
    """Return ``ln sigmoid(z) - floor`` of the `terms` of each row if it is above 0.

    Examples
    --------
    >>> excess_rows([[1000.0, -3.0, 1000.0]], [1, 2], [-1.0, -0.5])
    ([0, 1], [2], [0.5])
    """
    boundaries, out_terms, weights = [0], [], []
    for row in log_sigmoid(logits):
        for term, floor in zip(terms, floors, strict=True):
            weight = row[term] - float(floor)
            if weight > 0:
                out_terms.append(int(term))
                weights.append(weight)
        boundaries.append(len(out_terms))
    return boundaries, out_terms, weights
