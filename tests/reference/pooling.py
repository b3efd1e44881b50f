"""Pooling and pruning of weights, one row at a time."""

from __future__ import annotations

from collections.abc import Sequence


def max_rows(
    indptr: Sequence[int], terms: Sequence[int], weights: Sequence[float]
) -> tuple[list[int], list[int], list[float]]:
    """Keep the largest weight of each term of a row, if it is above 0.

    Examples
    --------
    >>> max_rows([0, 4, 4], [7, 2, 7, 3], [1.0, 0.5, 2.0, -1.0])
    ([0, 2, 2], [2, 7], [0.5, 2.0])
    """
    boundaries, pooled_terms, pooled = [0], [], []
    for row in range(len(indptr) - 1):
        largest: dict[int, float] = {}
        for position in range(indptr[row], indptr[row + 1]):
            term, weight = int(terms[position]), float(weights[position])
            largest[term] = max(weight, largest.get(term, weight))
        for term in sorted(largest):
            if largest[term] > 0:
                pooled_terms.append(term)
                pooled.append(largest[term])
        boundaries.append(len(pooled_terms))
    return boundaries, pooled_terms, pooled


def keep_largest(
    indptr: Sequence[int], terms: Sequence[int], weights: Sequence[float], keys: Sequence[float], keep: int
) -> tuple[list[int], list[int], list[float]]:
    """Keep the `keep` weights of each row with the largest keys; among equal keys, smaller term numbers come first.

    Examples
    --------
    >>> keep_largest([0, 4], [1, 2, 5, 9], [0.5, 2.0, 0.5, 0.5], [1.0, 2.0, 1.0, 3.0], 3)
    ([0, 3], [1, 2, 9], [0.5, 2.0, 0.5])
    """
    boundaries, kept_terms, kept = [0], [], []
    for row in range(len(indptr) - 1):
        places = sorted(
            range(indptr[row], indptr[row + 1]), key=lambda place: (-float(keys[place]), int(terms[place]))
        )
        for place in sorted(places[:keep]):
            kept_terms.append(int(terms[place]))
            kept.append(float(weights[place]))
        boundaries.append(len(kept_terms))
    return boundaries, kept_terms, kept
