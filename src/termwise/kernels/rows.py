"""Renumbering of the terms of sparse rows."""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array, compiled


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
