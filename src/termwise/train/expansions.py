"""Expanding the passages that a network is trained on, as passages are expanded when documents are indexed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from termwise.encode.tildev2 import Expander
from termwise.train.inputs import Pieces
from termwise.train.pairs import Source

_PART = 2048

Place = tuple[int, int]
"""Number of a source, and the position of a passage in it."""


class Expansions:
    """The terms that expand some passages of some sources.

    Parameters
    ----------
    places : sequence of (int, int)
        Which passages.
    indptr : ndarray of shape (n + 1,), int64
        Boundaries of their terms.
    terms : ndarray of shape (nnz,), int32
        Term numbers; the likeliest of each passage first.
    """

    def __init__(
        self, places: Sequence[Place], indptr: npt.NDArray[np.int64], terms: npt.NDArray[np.int32]
    ) -> None:
        self.places, self.indptr, self.terms = list(places), indptr, terms
        self._row = {place: number for number, place in enumerate(self.places)}

    def __getitem__(self, place: Place) -> npt.NDArray[np.int64]:
        """Return the terms of one passage."""
        row = self._row[place]
        return self.terms[self.indptr[row] : self.indptr[row + 1]].astype(np.int64)

    @classmethod
    def make(
        cls,
        expander: Expander,
        sources: Sequence[Source],
        places: Collection[Place],
        pieces: Pieces,
        *,
        length: int,
        progress: Callable[[str, int, int | None], None] = lambda *_: None,
    ) -> Expansions:
        """Expand passages.

        Parameters
        ----------
        expander : Expander
            A TILDE encoder with the vocabulary of `pieces`.
        sources : sequence of Source
        places : collection of (int, int)
        pieces : Pieces
        length : int
            Pieces of a passage that the network in training reads, two special ones included; the expander reads
            the same.
        progress : callable, optional
            Called with a stage, what is done, and the total.
        """
        wanted = sorted(places)
        lengths, found = [], []
        for start in range(0, len(wanted), _PART):
            part = wanted[start : start + _PART]
            windows = [pieces(sources[owner].passages[passage])[: length - 2] for owner, passage in part]
            for terms in expander.expansions([window.astype(np.int32) for window in windows]):
                lengths.append(len(terms))
                found.append(terms)
            progress("expand passages", start + len(part), len(wanted))
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(wanted, indptr, np.concatenate([np.empty(0, dtype=np.int32), *found]))
