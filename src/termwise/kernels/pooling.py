"""Pooling and pruning of the weights that a network computes for parts of documents."""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array, compiled


@compiled
def max_rows(indptr: Array, terms: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Keep the largest weight of each term of a row; agrees with `reference.max_rows`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries; starts at 0, never decreases, ends at the length of the others.
    terms : ndarray of shape (m,), int32
        Terms of each row in any order, also repeated; 0 or larger.
    weights : ndarray of shape (m,), float32
        Finite.

    Returns
    -------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries in the two arrays that follow. Empty rows are kept.
    terms : ndarray of shape (nnz,), int32
        Strictly increasing in a row.
    weights : ndarray of shape (nnz,), float32
        Above 0; other terms are left out.
    """
    boundaries = np.zeros(len(indptr), dtype=np.int64)
    pooled_terms = np.empty(len(terms), dtype=np.int32)
    pooled = np.empty(len(weights), dtype=np.float32)
    size = np.int64(0)
    for row in range(len(indptr) - 1):
        start = indptr[row]
        order = np.arange(indptr[row + 1] - start)
        for i in range(1, len(order)):
            if terms[start + i] < terms[start + i - 1]:
                order = np.argsort(terms[start : indptr[row + 1]])
                break
        i = 0
        while i < len(order):
            term = terms[start + order[i]]
            largest = weights[start + order[i]]
            while i < len(order) and terms[start + order[i]] == term:
                largest = max(largest, weights[start + order[i]])
                i += 1
            if largest > 0:
                pooled_terms[size] = term
                pooled[size] = largest
                size += 1
        boundaries[row + 1] = size
    return boundaries, pooled_terms[:size].copy(), pooled[:size].copy()


@compiled
def keep_largest(
    indptr: Array, terms: Array, weights: Array, keys: Array, keep: int
) -> tuple[Array, Array, Array]:
    """Keep the weights of each row with the largest keys; agrees with `reference.keep_largest`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries.
    terms : ndarray of shape (nnz,), int32
        Strictly increasing in a row.
    weights : ndarray of shape (nnz,), float32
    keys : ndarray of shape (nnz,), float32
        Finite sort keys, such as the weights themselves.
    keep : int
        Number of weights per row, 1 or more; among equal keys, smaller term numbers come first.

    Returns
    -------
    indptr, terms, weights
        The rows with at most `keep` terms, still strictly increasing.
    """
    boundaries = np.zeros(len(indptr), dtype=np.int64)
    for row in range(len(indptr) - 1):
        boundaries[row + 1] = boundaries[row] + min(indptr[row + 1] - indptr[row], keep)
    kept_terms = np.empty(boundaries[-1], dtype=np.int32)
    kept = np.empty(boundaries[-1], dtype=np.float32)
    for row in range(len(indptr) - 1):
        first = indptr[row]
        last = indptr[row + 1]
        place = boundaries[row]
        if last - first <= keep:
            kept_terms[place : place + last - first] = terms[first:last]
            kept[place : place + last - first] = weights[first:last]
            continue
        least = np.partition(keys[first:last], last - first - keep)[last - first - keep]
        ties = np.int64(keep)
        for position in range(first, last):
            if keys[position] > least:
                ties -= 1
        for position in range(first, last):
            if keys[position] < least or (keys[position] == least and ties == 0):
                continue
            if keys[position] == least:
                ties -= 1
            kept_terms[place] = terms[position]
            kept[place] = weights[position]
            place += 1
    return boundaries, kept_terms, kept
