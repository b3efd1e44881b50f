"""Pooling and pruning of the weights that a network computes for parts of documents."""

from __future__ import annotations

import numpy as np

from termwise.kernels.counting import low_half, row_boundaries, row_keys, run_starts
from termwise.kernels.jit import Array, compiled_for
from termwise.kernels.sorting import nth_largest


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
    keys = row_keys(indptr, terms)
    order = np.argsort(keys)
    keys = keys[order]
    first = run_starts(keys)
    largest = np.maximum.reduceat(weights[order], first) if len(first) else weights
    keys, largest = keys[first[largest > 0]], largest[largest > 0]
    return row_boundaries(indptr, keys), low_half(keys), largest


@compiled_for("int64[:], int32[:], float32[:], float32[:], int64")
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
            for position in range(first, last):
                kept_terms[place] = terms[position]
                kept[place] = weights[position]
                place += 1
            continue
        least = nth_largest(keys[first:last], keep)
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
