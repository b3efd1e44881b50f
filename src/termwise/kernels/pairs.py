"""Scores of single pairs of a query and a text."""

from __future__ import annotations

import numpy as np

from termwise.kernels.compiling import Array, compiled


@compiled
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
        Rows of texts, likewise.
    queries, texts : ndarray of shape (n,), int64
        The two rows of each pair.

    Returns
    -------
    ndarray of shape (n,), float64
        Rounded once, so that a sum does not depend on how terms are numbered.
    """
    scores = np.zeros(len(queries), dtype=np.float64)
    for pair in range(len(queries)):
        left = query_indptr[queries[pair]]
        left_end = query_indptr[queries[pair] + 1]
        right = indptr[texts[pair]]
        right_end = indptr[texts[pair] + 1]
        total = 0.0
        lost = 0.0  # what rounding took from the total (Neumaier, ZAMM 1974)
        while left < left_end and right < right_end:
            if query_terms[left] < terms[right]:
                left += 1
            elif query_terms[left] > terms[right]:
                right += 1
            else:
                value = query_weights[left] * np.float64(weights[right])
                added = total + value
                if abs(total) >= abs(value):
                    lost += (total - added) + value
                else:
                    lost += (value - added) + total
                total = added
                left += 1
                right += 1
        scores[pair] = total + lost
    return scores
