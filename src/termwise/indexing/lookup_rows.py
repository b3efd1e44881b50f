"""Term weights compiled from vectors: the form ``terms`` of `termwise.models.Lookup`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.encode.document_encoder import EncodedRows, RowEncoder
from termwise.errors import WeightError
from termwise.index import IndexWriter
from termwise.index.document_vectors import VectorSpill
from termwise.index.spill import ranges_within
from termwise.kernels.pooling import keep_largest
from termwise.vectors import LEVELS, DocumentVectors, TermVectors
from termwise.weights import TermWeights

WINDOWS = 256
"""Windows whose products with all terms are in memory: 31 MB for 30,522 terms."""

EXACT_IN_FLOAT32 = (1 << 24) // LEVELS**2
"""Largest number of dimensions for which a dot product of two rows is exact in float32, in any order of its sum."""


class RowSink(ABC):
    """Takes the rows of all documents in order, and writes them into the index.

    Attributes
    ----------
    floors : ndarray of shape (V,), float64, or None
        Contribution of an absent term, known after `write`; None if it is 0 for all terms.
    term_vectors : TermVectors or None
        Query table of the index, if any.
    frequencies : ndarray of shape (V,), int64, or None
        Document frequency of each term, if the rows are multiplied by an idf.
    documents : int
        Number of documents of the idf.
    """

    floors: npt.NDArray[np.float64] | None = None
    term_vectors: TermVectors | None = None
    frequencies: npt.NDArray[np.int64] | None = None
    documents: int = 0

    @abstractmethod
    def add(self, rows: EncodedRows, texts: Sequence[str]) -> None:
        """Take the rows and texts of the next documents."""

    def write(self, writer: IndexWriter) -> None:  # noqa: B027
        """Write the rows that are not written yet, after all were added."""

    def close(self) -> None:  # noqa: B027
        """Remove temporary files."""


class TermCompiler:
    """Compiles vectors of documents to term weights: those above the mean of each term in a collection.

        w(t, d) = max over the windows i of d of  v[t] . e[i]  -  mean of this maximum over all documents with a window

    Of the weights above 0, a document keeps the `keep` ones with the largest ``w(t, d) * (1 + df(t)) ** (1 / 4)``,
    where df(t) is the number of documents whose text has the term. A query has a frequent term more often than a rare
    one, so the expected part of a weight in a score grows with the frequency. The power was chosen on dev splits.

    Memory holds the query table in float32 and the products of `WINDOWS` windows. Dot products are sums of integers, so
    threads and libraries of linear algebra do not change a weight.
    """

    def __init__(self, table: TermVectors, *, keep: int) -> None:
        self._vocabulary = table.vocabulary
        self._keep = keep
        self._terms = np.flatnonzero(table.known).astype(np.int32)
        kind = np.float32 if table.dimensions <= EXACT_IN_FLOAT32 else np.float64
        self._columns = np.ascontiguousarray(table.rows[self._terms].T, dtype=kind)
        self._units = np.ldexp(table.scale, table.shifts[self._terms].astype(np.int64))
        self._sums = np.zeros(len(self._terms), dtype=np.float64)
        self._with_term = np.zeros(len(table), dtype=np.int64)
        self._filled = 0

    def count(self, vectors: DocumentVectors, counts: TermWeights) -> None:
        """Add documents of the collection to the means, and the terms of their texts to the frequencies."""
        self._with_term += np.bincount(counts.terms, minlength=len(self._with_term))
        for documents, largest in self._largest(vectors):
            self._sums += largest.sum(axis=0, dtype=np.float64)
            self._filled += len(documents)

    def compile(self, vectors: DocumentVectors) -> TermWeights:
        """Return the rows of documents, with the means and frequencies of all documents that were counted."""
        means = (self._sums / max(self._filled, 1)).astype(np.float32)
        # Square roots are rounded alike on all machines, powers are not.
        factors = np.sqrt(np.sqrt(1.0 + self._with_term[self._terms])).astype(np.float32)
        parts = [
            (documents, self._kept(largest - means, factors)) for documents, largest in self._largest(vectors)
        ]
        lengths = np.zeros(len(vectors), dtype=np.int64)
        for documents, rows in parts:
            lengths[documents] = np.diff(rows.indptr)
        empty = TermWeights([0], [], [], self._vocabulary)
        joined = TermWeights.concatenate([empty, *(rows for _, rows in parts)])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return TermWeights(indptr, joined.terms, joined.weights, self._vocabulary)

    def _kept(self, excess: npt.NDArray[np.float32], factors: npt.NDArray[np.float32]) -> TermWeights:
        """Return the weights above 0 of each row whose products with the factors are the `keep` largest."""
        rows, columns = np.nonzero(excess > 0)
        indptr = np.searchsorted(rows, np.arange(len(excess) + 1))
        weights = (excess[rows, columns] * self._units[columns]).astype(np.float32)
        keys = weights * factors[columns]
        kept = keep_largest(indptr, self._terms[columns], weights, keys, self._keep)
        return TermWeights(*kept, self._vocabulary)

    def _largest(
        self, vectors: DocumentVectors
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]:
        """Yield documents with a window, in order, and their largest product for each term, in units of the term."""
        windows = np.diff(vectors.indptr)
        filled = np.flatnonzero(windows)
        for first, last in ranges_within(windows[filled], WINDOWS, len(filled)):
            start, stop = int(vectors.indptr[filled[first]]), int(vectors.indptr[filled[last - 1] + 1])
            if last == first + 1:
                largest = self._products(vectors, start, min(start + WINDOWS, stop)).max(
                    axis=0, keepdims=True
                )
                for more in range(start + WINDOWS, stop, WINDOWS):
                    block = self._products(vectors, more, min(more + WINDOWS, stop))
                    np.maximum(largest, block.max(axis=0, keepdims=True), out=largest)
            else:
                starts = vectors.indptr[filled[first:last]] - start
                largest = np.maximum.reduceat(self._products(vectors, start, stop), starts, axis=0)
            yield filled[first:last], largest

    def _products(self, vectors: DocumentVectors, first: int, last: int) -> npt.NDArray[np.float32]:
        exact = vectors.rows[first:last].astype(self._columns.dtype) @ self._columns
        products: npt.NDArray[np.float32] = exact.astype(np.float32) * vectors.scales[first:last, None]
        return products


class CompiledTerms(RowSink):
    """Rows of a `TermCompiler`, which are written when all vectors are known; until then, these stay on disk.

    `counter` counts the terms of the texts.
    """

    def __init__(
        self, folder: Path, table: TermVectors, counter: RowEncoder[TermWeights], *, keep: int
    ) -> None:
        self._spill = VectorSpill(folder, table.dimensions)
        self._counter = counter
        self._compiler = TermCompiler(table, keep=keep)

    def add(self, rows: EncodedRows, texts: Sequence[str]) -> None:
        """Store vectors on disk, add to the means, and count the terms of the texts."""
        if not isinstance(rows, DocumentVectors):
            raise WeightError(
                "term weights are compiled from vectors", facts=[("given", type(rows).__name__)]
            )
        self._spill.add(rows)
        self._compiler.count(rows, self._counter.encode_documents(texts))

    def write(self, writer: IndexWriter) -> None:
        """Write the rows of all documents to the index."""
        for first in range(0, self._spill.documents, WINDOWS):
            last = min(first + WINDOWS, self._spill.documents)
            writer.add_weights(self._compiler.compile(self._spill.read(first, last)))
            writer.progress("compile term weights", last, self._spill.documents)

    def close(self) -> None:
        """Remove the temporary files."""
        self._spill.close()
