"""Token counts of documents, and renumbering of their terms: sorts, which numpy does well without a kernel."""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array


def count_rows(indptr: Array, token_numbers: Array) -> tuple[Array, Array, Array]:
    """Turn rows of token numbers into rows of counts; agrees with `reference.count_rows`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries in `token_numbers`; starts at 0, never decreases, ends at its length.
    token_numbers : ndarray of shape (m,), int32
        Tokens of each row in the order of the text, 0 or larger.

    Returns
    -------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries in the two arrays that follow. Empty rows are kept.
    terms : ndarray of shape (nnz,), int32
        Distinct tokens of each row, strictly increasing.
    counts : ndarray of shape (nnz,), float32
        Number of occurrences in the row, exact up to 16,777,216.
    """
    keys = row_keys(indptr, token_numbers)
    keys.sort()
    first = run_starts(keys)
    keys = keys[first]
    counts = np.diff(first, append=len(token_numbers)).astype(np.float32)
    return row_boundaries(indptr, keys), low_half(keys), counts


def renumber_rows(indptr: Array, terms: Array, values: Array, numbers: Array) -> tuple[Array, Array]:
    """Renumber the terms of rows and sort each row by the new numbers.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries.
    terms : ndarray of shape (nnz,), uint32 or int32
        Old numbers, distinct within a row.
    values : ndarray of shape (nnz,), float32
        Values of the terms.
    numbers : ndarray, int32
        New number of each old one, distinct.

    Returns
    -------
    terms : ndarray of shape (nnz,), int32
        New numbers, strictly increasing in a row.
    values : ndarray of shape (nnz,), float32
        Values in the order of `terms`.
    """
    keys = row_keys(indptr, numbers[terms])
    order = np.argsort(keys)
    return low_half(keys[order]), values[order]


def row_keys(indptr: Array, numbers: Array) -> Array:
    """Return keys that sort numbers by row, then by value; the number is in the low 32 bits."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return (rows << 32) | numbers


def low_half(keys: Array) -> Array:
    """Return the numbers of keys, int32."""
    return keys.astype(np.uint32).view(np.int32)


def row_boundaries(indptr: Array, keys: Array) -> Array:
    """Return the boundaries of the rows in sorted keys; `indptr` has the same rows."""
    return np.searchsorted(keys, np.arange(len(indptr)) << 32)


def run_starts(keys: Array) -> Array:
    """Return the position of the first of equal keys, which are neighbours."""
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)
