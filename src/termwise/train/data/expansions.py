"""Expanding the passages that a network is trained on, as passages are expanded when documents are indexed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection.pairs import PairSource
from termwise.encode.tildev2 import Expander
from termwise.progress import Progress, no_progress
from termwise.train.data.cached_arrays import keep, kept, kept_or_made, unlike
from termwise.train.data.inputs import Pieces
from termwise.train.messages import Say

EXPANSIONS = "expansions.npz"
"""The file of a run that keeps them."""

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
        sources: Sequence[PairSource],
        places: Collection[Place],
        pieces: Pieces,
        *,
        length: int,
        progress: Progress = no_progress,
    ) -> Expansions:
        """Expand passages.

        Parameters
        ----------
        expander : Expander
            A TILDE encoder with the vocabulary of `pieces`.
        sources : sequence of PairSource
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

    def keep(self, file: Path) -> None:
        """Write the expansions to a file."""
        places = np.array(self.places, dtype=np.int64).reshape(-1, 2)
        keep(file, {"places": places, "indptr": self.indptr, "terms": self.terms})

    @classmethod
    def kept(cls, file: Path, places: Collection[Place], *, terms: int) -> Expansions:
        """Read what `keep` wrote.

        Parameters
        ----------
        file : Path
        places : collection of (int, int)
            The passages whose expansions are needed.
        terms : int
            Size of the vocabulary.

        Raises
        ------
        CorruptModelError
            If the file is damaged, or does not expand these passages by terms of the vocabulary.
        """
        arrays = kept(file, {"places": (np.int64, 2), "indptr": (np.int64, 1), "terms": (np.int32, 1)})
        found, indptr, numbers = arrays["places"], arrays["indptr"], arrays["terms"]
        if found.shape[1] != 2 or len(indptr) != len(found) + 1:
            raise unlike(file, "its arrays do not go with each other")
        if indptr[0] != 0 or indptr[-1] != len(numbers) or (np.diff(indptr) < 0).any():
            raise unlike(file, "the boundaries of its rows are not in order")
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < terms:
            raise unlike(file, "it names a term that the vocabulary does not have")
        made = cls([(int(a), int(b)) for a, b in found], indptr, numbers)
        if not made._row.keys() >= set(places):
            raise unlike(file, "it does not expand all passages of this run")
        return made


def expansions_of(
    expander: Expander,
    sources: Sequence[PairSource],
    places: Collection[Place],
    pieces: Pieces,
    folder: Path,
    *,
    length: int,
    progress: Progress,
    say: Say,
) -> Expansions:
    """Expand passages of a run, or read the expansions that it keeps in its folder; see `Expansions.make`."""
    file = folder / EXPANSIONS

    def make() -> Expansions:
        say(f"expanding {len(places):,} passages")
        made = Expansions.make(expander, sources, places, pieces, length=length, progress=progress)
        made.keep(file)
        return made

    terms = len(pieces.analyzer.vocabulary)
    return kept_or_made(file, lambda: Expansions.kept(file, places, terms=terms), make, say)
