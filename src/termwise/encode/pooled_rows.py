"""Rows that are pooled as windows arrive, in any order: a term keeps its largest weight."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from termwise.kernels.pooling import keep_largest, max_rows
from termwise.weights import TermWeights

Keys = Callable[[npt.NDArray[np.int32], npt.NDArray[np.float32]], npt.NDArray[np.float32]]

ENTRIES = 1 << 22
"""Entries that are buffered before they are merged: about 50 MB."""


def row_places(
    indptr: npt.NDArray[np.integer], order: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the positions of the entries of rows in another order.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), integers
        Row boundaries.
    order : ndarray of shape (m,), integers
        Rows to take, in this order.

    Returns
    -------
    indptr : ndarray of shape (m + 1,), int64
        Row boundaries in the new order.
    places : ndarray, int64
        Old position of each entry.

    Examples
    --------
    >>> [part.tolist() for part in row_places(np.array([0, 2, 2, 3]), np.array([2, 0]))]
    [[0, 1, 3], [2, 0, 1]]
    """
    starts = np.asarray(indptr, dtype=np.int64)[:-1][order]
    lengths = np.diff(indptr).astype(np.int64)[order]
    moved = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.arange(moved[-1], dtype=np.int64) + np.repeat(starts - moved[:-1], lengths)
    return moved, places


class RowPool:
    """Max-pools sparse rows of documents, window by window, in memory for one row per document and the buffer.

    A document may come many times, each time with some of its terms. Its final row holds the largest weight of each
    term; with `keep`, only the `keep` of these with the largest keys (ties: smaller term numbers). An entry that is not
    among those of its window cannot be among those of its document, so it is dropped at once.

    Parameters
    ----------
    documents : int
        Number of rows.
    keep : int, optional
        Largest number of weights in a row; by default all.
    keys : callable, optional
        Called with terms and weights, returns what `keep` ranks by, which must increase with the weight of a
        term. By default the weights themselves.
    entries : int, optional
        Entries that are buffered before they are merged.

    Examples
    --------
    >>> pool = RowPool(2)
    >>> pool.add(np.array([1]), np.array([0, 2]), np.array([7, 3]), np.array([0.5, 2.0], dtype=np.float32))
    >>> pool.add(np.array([1]), np.array([0, 1]), np.array([7]), np.array([1.5], dtype=np.float32))
    >>> rows = pool.rows("toy")
    >>> rows.row(0)[0].tolist(), rows.row(1)[0].tolist(), rows.row(1)[1].tolist()
    ([], [3, 7], [2.0, 1.5])
    """

    def __init__(
        self, documents: int, *, keep: int | None = None, keys: Keys | None = None, entries: int = ENTRIES
    ) -> None:
        self._documents = documents
        self._keep = keep
        self._keys = keys
        self._entries = entries
        self._parts: list[_Rows] = []
        self._waiting = 0

    def add(
        self,
        documents: npt.NDArray[np.integer],
        indptr: npt.NDArray[np.integer],
        terms: npt.NDArray[np.integer],
        weights: npt.NDArray[np.float32],
    ) -> None:
        """Add rows.

        Parameters
        ----------
        documents : ndarray of shape (n,), integers
            Document that each row belongs to; may repeat.
        indptr : ndarray of shape (n + 1,), integers
            Row boundaries.
        terms : ndarray of shape (nnz,), integers
            In any order, also repeated.
        weights : ndarray of shape (nnz,), float32
            Finite; dropped unless above 0.
        """
        part = self._reduced(
            np.asarray(documents, dtype=np.int64),
            np.asarray(indptr, dtype=np.int64),
            np.asarray(terms, dtype=np.int32),
            weights,
        )
        self._parts.append(part)
        self._waiting += len(part[2])
        if self._waiting > self._entries:
            self._merge()
            self._waiting = 0

    def rows(self, vocabulary: str) -> TermWeights:
        """Return the rows of all documents, empty for those that never came.

        Parameters
        ----------
        vocabulary : str
            The `Vocabulary.id` that numbers the terms.
        """
        self._merge()
        _, indptr, terms, weights = self._parts[0]
        return TermWeights(indptr, terms, weights, vocabulary)

    def _merge(self) -> None:
        """Merge all parts into one with a row for each document."""
        documents = np.concatenate([part[0] for part in self._parts] or [np.empty(0, dtype=np.int64)])
        lengths = np.concatenate([np.diff(part[1]) for part in self._parts] or [np.empty(0, dtype=np.int64)])
        terms = np.concatenate([part[2] for part in self._parts] or [np.empty(0, dtype=np.int32)])
        weights = np.concatenate([part[3] for part in self._parts] or [np.empty(0, dtype=np.float32)])
        order = np.argsort(documents, kind="stable")
        _, places = row_places(np.concatenate([[0], np.cumsum(lengths)]), order)
        counts = np.zeros(self._documents + 1, dtype=np.int64)
        np.add.at(counts, documents + 1, lengths)
        everyone = np.arange(self._documents, dtype=np.int64)
        self._parts = [self._reduced(everyone, np.cumsum(counts), terms[places], weights[places])]

    def _reduced(
        self,
        documents: npt.NDArray[np.int64],
        indptr: npt.NDArray[np.int64],
        terms: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float32],
    ) -> _Rows:
        indptr, terms, weights = max_rows(indptr, terms, weights)
        if self._keep is not None:
            keys = weights if self._keys is None else self._keys(terms, weights)
            indptr, terms, weights = keep_largest(indptr, terms, weights, keys, self._keep)
        return documents, indptr, terms, weights


_Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]
