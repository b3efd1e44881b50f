"""Max-pooling of the rows of windows into rows of documents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from termwise.encode.row_selection import take_rows
from termwise.kernels.pooling import keep_largest, max_rows
from termwise.weights import TermWeights

PruningKeys = Callable[[npt.NDArray[np.int32], npt.NDArray[np.float32]], npt.NDArray[np.float32]]

ENTRIES = 1 << 22
"""Entries in the buffer before they are merged: about 50 MB."""

_Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]


class RowPool:
    """Max-pooling of sparse rows of windows, added in any order, into one row for each document.

    The row of a document holds the largest weight of each term over its windows; with `keep`, only the `keep` terms
    with the largest keys (ties: smaller term number). The keys are the weights, or `keys` of terms and weights; the key
    of a term must increase with its weight. An entry that is not among the `keep` of its window cannot be among the
    `keep` of its document, so it is dropped at once. Memory holds only the result and a buffer of `entries`.

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
        """Add n rows of windows, given by their documents, boundaries of shape (n + 1,), terms and finite weights.

        The terms of a row are in any order, with repetitions; only weights above 0 are used.
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
        """Return the rows of all documents over a vocabulary, empty for documents without an added row."""
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
