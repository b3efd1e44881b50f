"""Rows of documents: selected by position, joined, and found by the keys of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from termwise.encode.document_encoder import EncodedRows
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights


def take_rows(
    indptr: npt.NDArray[np.integer], order: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Select rows of a sparse matrix, in this order: boundaries of the result, and the position of each of its entries.

    Examples
    --------
    >>> [part.tolist() for part in take_rows(np.array([0, 2, 2, 3]), np.array([2, 0]))]
    [[0, 1, 3], [2, 0, 1]]
    """
    starts = np.asarray(indptr, dtype=np.int64)[:-1][order]
    lengths = np.diff(indptr).astype(np.int64)[order]
    boundaries = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    entries = np.arange(boundaries[-1], dtype=np.int64) + np.repeat(starts - boundaries[:-1], lengths)
    return boundaries, entries


def select_rows(rows: EncodedRows, order: npt.NDArray[np.integer]) -> EncodedRows:
    """Return the rows of documents in the order of these positions.

    Examples
    --------
    >>> rows = TermWeights.from_rows([{0: 1.0}, {}, {1: 2.0}], "toy")
    >>> select_rows(rows, np.array([2, 0])) == TermWeights.from_rows([{1: 2.0}, {0: 1.0}], "toy")
    True
    """
    indptr, entries = take_rows(rows.indptr, order)
    if isinstance(rows, DocumentVectors):
        return DocumentVectors(indptr, rows.rows[entries], rows.scales[entries])
    return TermWeights(indptr, rows.terms[entries], rows.weights[entries], rows.vocabulary)


def concatenate_rows(parts: Sequence[EncodedRows]) -> EncodedRows:
    """Concatenate the rows of one or more parts, all of one encoder."""
    return type(parts[0]).concatenate(cast(Any, parts))


def interleave_rows(first: EncodedRows, second: EncodedRows, is_first: npt.NDArray[np.bool_]) -> EncodedRows:
    """Merge two sequences of rows of one encoder.

    A row of the result is the next row of `first` where `is_first`, of shape (n,), is true, otherwise that of `second`.

    Examples
    --------
    >>> first, second = (TermWeights.from_rows(rows, "toy") for rows in ([{0: 1.0}], [{1: 2.0}, {}]))
    >>> rows = interleave_rows(first, second, np.array([False, True, False]))
    >>> rows == TermWeights.from_rows([{1: 2.0}, {0: 1.0}, {}], "toy")
    True
    """
    order = np.where(is_first, np.cumsum(is_first) - 1, len(first) + np.cumsum(~is_first) - 1)
    return select_rows(concatenate_rows([first, second]), order)


def find_keys(keys: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the first position of each wanted key in an increasing array of keys, -1 for a missing one.

    Examples
    --------
    >>> find_keys(np.array([3, 5, 5, 8]), np.array([5, 9, 2])).tolist()
    [1, -1, -1]
    """
    if len(keys) == 0:
        return np.full(len(wanted), -1, dtype=np.int64)
    nearest = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[nearest] == wanted, nearest, -1).astype(np.int64)
