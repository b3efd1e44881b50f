"""Max-pooling of the rows of windows into rows of documents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from termwise.encode.document_encoder import EncodedRows
from termwise.kernels.pooling import keep_largest, max_rows
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

PruningKeys = Callable[[npt.NDArray[np.int32], npt.NDArray[np.float32]], npt.NDArray[np.float32]]

ENTRIES = 1 << 22
"""Entries in the buffer before they are merged: about 50 MB."""

_Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]


def take_rows(
    indptr: npt.NDArray[np.integer], order: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Select rows of a sparse matrix.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), integers
        Row boundaries.
    order : ndarray of shape (m,), integers
        Selected rows, in the order of the result.

    Returns
    -------
    indptr : ndarray of shape (m + 1,), int64
        Row boundaries of the result.
    entries : ndarray, int64
        Position of each entry of the result in the matrix.

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


class RowPool:
    """Max-pooling of sparse rows of windows, added in any order, into one row for each document.

    The row of a document holds the largest weight of each term over its windows; with `keep`, only the `keep` terms
    with the largest keys (ties: smaller term number). An entry that is not among the `keep` of its window cannot be
    among the `keep` of its document, so it is dropped at once. Memory holds only the result and the buffer.

    Parameters
    ----------
    documents : int
        Number of documents.
    keep : int, optional
        Largest number of weights in a row; by default all.
    keys : callable, optional
        Computes the keys from terms and weights; the key of a term must increase with its weight. By default the keys
        are the weights.
    entries : int, optional
        Number of entries in the buffer before they are merged.

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
        self,
        documents: int,
        *,
        keep: int | None = None,
        keys: PruningKeys | None = None,
        entries: int = ENTRIES,
    ) -> None:
        self._documents = documents
        self._keep = keep
        self._keys = keys
        self._entries = entries
        empty = np.empty(0, dtype=np.int64)
        self._parts: list[_Rows] = [
            (empty, np.zeros(1, dtype=np.int64), empty.astype(np.int32), empty.astype(np.float32))
        ]
        self._buffered = 0

    def add(
        self,
        documents: npt.NDArray[np.integer],
        indptr: npt.NDArray[np.integer],
        terms: npt.NDArray[np.integer],
        weights: npt.NDArray[np.float32],
    ) -> None:
        """Add rows of windows.

        Parameters
        ----------
        documents : ndarray of shape (n,), integers
            Document of each row; repeatable.
        indptr : ndarray of shape (n + 1,), integers
            Row boundaries.
        terms : ndarray of shape (nnz,), integers
            In any order, with repetitions.
        weights : ndarray of shape (nnz,), float32
            Finite; only weights above 0 are used.
        """
        part = self._reduced(
            np.asarray(documents, dtype=np.int64),
            np.asarray(indptr, dtype=np.int64),
            np.asarray(terms, dtype=np.int32),
            weights,
        )
        self._parts.append(part)
        self._buffered += len(part[2])
        if self._buffered > self._entries:
            self._merge()
            self._buffered = 0

    def rows(self, vocabulary: str) -> TermWeights:
        """Return the rows of all documents, empty for documents without an added row.

        Parameters
        ----------
        vocabulary : str
            `Vocabulary.id` of the terms.
        """
        self._merge()
        _, indptr, terms, weights = self._parts[0]
        return TermWeights(indptr, terms, weights, vocabulary)

    def _merge(self) -> None:
        """Merge all parts into one part with a row for each document."""
        documents = np.concatenate([part[0] for part in self._parts])
        lengths = np.concatenate([np.diff(part[1]) for part in self._parts])
        terms = np.concatenate([part[2] for part in self._parts])
        weights = np.concatenate([part[3] for part in self._parts])
        order = np.argsort(documents, kind="stable")
        _, entries = take_rows(np.concatenate([[0], np.cumsum(lengths)]), order)
        counts = np.zeros(self._documents + 1, dtype=np.int64)
        np.add.at(counts, documents + 1, lengths)
        all_documents = np.arange(self._documents, dtype=np.int64)
        self._parts = [self._reduced(all_documents, np.cumsum(counts), terms[entries], weights[entries])]

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
