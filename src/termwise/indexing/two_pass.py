"""Rows of a network that depend on the whole collection, and so are written in a second pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from termwise.encode import DocumentEncoder
from termwise.errors import WeightError
from termwise.index import IndexWriter
from termwise.index.spill import RowSpill
from termwise.models.idf_power import idf_factors
from termwise.progress import Progress
from termwise.weights import TermWeights

CHUNK = 1 << 20
"""Postings processed at a time."""

BELOW = 2.0**-10
"""How far below the smallest log-likelihood of a term its floor lies in the exact form, in nats."""


class HeldRows(ABC):
    """Rows that are kept on disk until all of them are known.

    Parameters
    ----------
    folder : Path
        Where they are kept.
    encoder : DocumentEncoder
        The encoder that computes them.
    """

    stage: ClassVar[str]
    """Name of the second pass, for progress."""

    operation: ClassVar[np.ufunc]
    """Combines each weight with the number of its term."""

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        self._spill = RowSpill(folder, "held")
        self._vocabulary = encoder.vocabulary.id

    def add(self, rows: TermWeights) -> None:
        """Keep some rows."""
        self._see(rows)
        self._spill.add(rows.indptr, rows.terms, rows.weights)

    def write(self, writer: IndexWriter, progress: Progress) -> None:
        """Write all rows, changed, to the index."""
        change = self._change()
        done = 0
        for indptr, terms, weights in self._spill.read(0, self._spill.rows, postings=CHUNK):
            changed = self.operation(weights.astype(np.float64), change[terms])
            writer.add_weights(TermWeights(indptr, terms, changed, self._vocabulary))
            done += len(indptr) - 1
            progress(self.stage, done, self._spill.rows)

    def close(self) -> None:
        """Remove the rows from disk."""
        self._spill.close()

    @property
    @abstractmethod
    def floors(self) -> npt.NDArray[np.float64] | None:
        """What an absent term contributes: shape (V,), or None where that is 0 for all."""

    @abstractmethod
    def _see(self, rows: TermWeights) -> None:
        """Update the statistics with some rows."""

    @abstractmethod
    def _change(self) -> npt.NDArray[np.float64]:
        """Return the number that the weights of each term are combined with, shape (V,)."""


class Likelihoods(HeldRows):
    """Rows of ln P(t|d), for the exact form of TILDE, kept until the smallest value of each term is known.

    Every row that is not empty must hold the same terms, so that a missing value is never taken for a likely one. The
    floor of a term lies just below its smallest value, so that every document with a piece is a result of every query;
    a document without has an empty row, and the floor for every term.
    """

    stage = "subtract floors"
    operation = np.subtract

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        super().__init__(folder, encoder)
        self._terms: npt.NDArray[np.int32] | None = None
        self._smallest = np.zeros(len(encoder.vocabulary), dtype=np.float64)

    @property
    def floors(self) -> npt.NDArray[np.float64]:
        """What an absent term contributes: shape (V,), 0 for terms of no row."""
        floors = self._smallest.copy()
        if self._terms is not None:
            floors[self._terms] -= BELOW
        return floors

    def _see(self, rows: TermWeights) -> None:
        for terms, weights in rows:
            if len(terms) == 0:
                continue
            if self._terms is None:
                self._terms = terms
                self._smallest[terms] = weights
            if not np.array_equal(terms, self._terms):
                raise WeightError(
                    "rows of the exact form hold the same terms, all of them",
                    facts=[("terms", len(terms)), ("in the first row", len(self._terms))],
                )
            self._smallest[terms] = np.minimum(self._smallest[terms], weights)

    def _change(self) -> npt.NDArray[np.float64]:
        return self.floors


class IdfWeights(HeldRows):
    """Rows whose weights are multiplied by a power of the idf, see `termwise.models.idf_power`."""

    stage = "multiply by the idf"
    operation = np.multiply

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        super().__init__(folder, encoder)
        self._power = encoder.idf_power
        self._frequencies = np.zeros(len(encoder.vocabulary), dtype=np.int64)

    @property
    def floors(self) -> None:
        """None."""

    def _see(self, rows: TermWeights) -> None:
        self._frequencies += np.bincount(rows.terms[rows.weights > 0], minlength=len(self._frequencies))

    def _change(self) -> npt.NDArray[np.float64]:
        return idf_factors(self._frequencies, self._spill.rows, self._power)


def held_rows(folder: Path, encoder: DocumentEncoder) -> HeldRows | None:
    """Return what keeps the rows of an encoder in a folder, or None if each can be written as it comes."""
    if encoder.gives_log_likelihoods:
        return Likelihoods(folder, encoder)
    return IdfWeights(folder, encoder) if encoder.idf_power else None
