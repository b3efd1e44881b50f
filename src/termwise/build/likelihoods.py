"""The exact form of TILDE: floors that are known once every row is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.encode import DocumentEncoder
from termwise.errors import WeightError
from termwise.index import IndexWriter
from termwise.index.spill import RowSpill
from termwise.index.writer import Progress
from termwise.weights import TermWeights

CHUNK = 1 << 20
"""Postings that floors are subtracted from at a time."""

BELOW = 2.0**-10
"""How far below the smallest log-likelihood of a term its floor lies in the exact form, in nats."""


class Likelihoods:
    """Rows of ln P(t|d), kept until the smallest of each term is known.

    A term is either in every row that is not empty or in none, so that a missing one is never mistaken for a likely
    one. The floor of a term lies just below the smallest, so that every document with a piece is a result of every
    query; one without has an empty row, and the floor of every term.
    """

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        self._spill = RowSpill(folder, "likelihoods")
        self._vocabulary = encoder.vocabulary.id
        self._terms: npt.NDArray[np.int32] | None = None
        self._smallest = np.zeros(len(encoder.vocabulary), dtype=np.float64)

    @property
    def floors(self) -> npt.NDArray[np.float64]:
        """What an absent term contributes: shape (V,), 0 for terms of no row."""
        floors = self._smallest.copy()
        if self._terms is not None:
            floors[self._terms] -= BELOW
        return floors

    def add(self, rows: TermWeights) -> None:
        """Keep some rows."""
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
        self._spill.add(rows.indptr, rows.terms, rows.weights)

    def write(self, writer: IndexWriter, progress: Progress) -> None:
        """Hand the rows on, with the floor of each term subtracted."""
        floors = self.floors
        done = 0
        for indptr, terms, weights in self._spill.read(0, self._spill.rows, postings=CHUNK):
            above = weights.astype(np.float64) - floors[terms]
            writer.add_weights(TermWeights(indptr, terms, above, self._vocabulary))
            done += len(indptr) - 1
            progress("subtract floors", done, self._spill.rows)

    def close(self) -> None:
        """Remove what was kept."""
        self._spill.close()
