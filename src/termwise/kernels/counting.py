"""Token counts of documents, and renumbering of their terms."""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array, compiled


@compiled
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
    ordered = token_numbers.copy()
    boundaries = np.zeros(len(indptr), dtype=np.int64)
    counts = np.empty(len(ordered), dtype=np.float32)
    # Terms overwrite the sorted tokens: a row has no more terms than tokens.
    size = np.int64(0)
    for row in range(len(indptr) - 1):
        start = indptr[row]
        stop = indptr[row + 1]
        ordered[start:stop].sort()
        position = start
        while position < stop:
            token = ordered[position]
            first = position
            while position < stop and ordered[position] == token:
                position += 1
            ordered[size] = token
            counts[size] = np.float32(position - first)
            size += 1
        boundaries[row + 1] = size
    return boundaries, ordered[:size].copy(), counts[:size].copy()


@compiled
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
    new_terms = np.empty(len(terms), dtype=np.int32)
    new_values = np.empty(len(values), dtype=values.dtype)
    for row in range(len(indptr) - 1):
        first = indptr[row]
        last = indptr[row + 1]
        renumbered = np.empty(last - first, dtype=np.int32)
        for i in range(last - first):
            renumbered[i] = numbers[terms[first + i]]
        order = np.argsort(renumbered)
        for i in range(last - first):
            new_terms[first + i] = renumbered[order[i]]
            new_values[first + i] = values[first + order[i]]
    return new_terms, new_values
