"""Scores of single pairs of a query and a text."""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array, compiled, compiled_for

_MOST_PARTS = 64
"""Upper bound for the parts of a sum, given the range of the exponents of float64."""


@compiled_for("int64[:], int32[:], float64[:], int64[:], int32[:], float32[:], int64[:], int64[:]")
def pair_scores(
    query_indptr: Array,
    query_terms: Array,
    query_weights: Array,
    indptr: Array,
    terms: Array,
    weights: Array,
    queries: Array,
    texts: Array,
) -> Array:
    """Add up the products of the terms that a query and a text share; agrees with `reference.pair_scores`.

    Parameters
    ----------
    query_indptr, query_terms, query_weights : ndarray of int64, int32 and float64
        Rows of queries, terms strictly increasing in a row.
    indptr, terms, weights : ndarray of int64, int32 and float32
        Rows of texts, with the same order of terms.
    queries, texts : ndarray of shape (n,), int64
        Rows of each pair.

    Returns
    -------
    ndarray of shape (n,), float64
        Rounded once, so the score does not depend on the numbering of the terms.
    """
    scores = np.zeros(len(queries), dtype=np.float64)
    parts = np.zeros(_MOST_PARTS, dtype=np.float64)
    for pair in range(len(queries)):
        left = query_indptr[queries[pair]]
        left_end = query_indptr[queries[pair] + 1]
        right = indptr[texts[pair]]
        right_end = indptr[texts[pair] + 1]
        count = 0
        while left < left_end and right < right_end:
            if query_terms[left] < terms[right]:
                left += 1
            elif query_terms[left] > terms[right]:
                right += 1
            else:
                count = _add(parts, count, query_weights[left] * np.float64(weights[right]))
                left += 1
                right += 1
        scores[pair] = _rounded(parts, count)
    return scores


@compiled
def _add(parts: Array, count: int, value: float) -> int:
    """Add a number to an exact sum of non-overlapping parts in ascending order; return the new number of parts.

    Algorithm: Shewchuk, Discrete & Computational Geometry 18, 1997.
    """
    kept = 0
    for place in range(count):
        part = parts[place]
        if abs(value) < abs(part):
            value, part = part, value
        total = value + part
        rest = part - (total - value)
        if rest != 0.0:
            parts[kept] = rest
            kept += 1
        value = total
    parts[kept] = value
    return kept + 1


@compiled
def _rounded(parts: Array, count: int) -> float:
    """Return the sum of the parts, rounded once, half to even."""
    if count == 0:
        return 0.0
    place = count - 1
    total: float = parts[place]
    rest = 0.0
    while place > 0 and rest == 0.0:
        place -= 1
        before = total
        total = before + parts[place]
        rest = parts[place] - (total - before)
    if rest != 0.0 and place > 0 and (rest > 0.0) == (parts[place - 1] > 0.0):  # the rest exceeds a half
        doubled = total + 2.0 * rest
        if doubled - total == 2.0 * rest:
            total = doubled
    return total
