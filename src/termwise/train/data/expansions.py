"""Expansion terms of training passages, as for documents of an index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection.training_pairs import PairSource
from termwise.encode.tildev2 import Expander
from termwise.progress import Progress, no_progress
from termwise.train.data.cached_arrays import corrupt_cache, load_arrays, load_or_compute, save_arrays
from termwise.train.inputs import Pieces
from termwise.train.run_folder import RunFolder

EXPANSIONS = "expansions.npz"
"""Cache file of a run."""

_BATCH = 2048

Place = tuple[int, int]
"""Number of a source, and the position of a passage in it."""


class Expansions:
    """Expansion terms of n passages; the most likely term of each passage is first.

    `indptr`, int64 of shape (n + 1,), has the boundaries of the passages in `terms`, int32.
    """

    def __init__(
        self, places: Sequence[Place], indptr: npt.NDArray[np.int64], terms: npt.NDArray[np.int32]
    ) -> None:
        self.places, self.indptr, self.terms = list(places), indptr, terms
        self._row = {place: number for number, place in enumerate(self.places)}

    def __getitem__(self, place: Place) -> npt.NDArray[np.int64]:
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
        """Compute the expansion terms of the first `length` pieces of passages, the two special ones included.

        The expander is a TILDE encoder with the vocabulary of `pieces`.
        """
        ordered = sorted(places)
        lengths, rows = [], []
        for start in range(0, len(ordered), _BATCH):
            part = ordered[start : start + _BATCH]
            windows = [pieces(sources[owner].passages[passage])[: length - 2] for owner, passage in part]
            for terms in expander.expansions([window.astype(np.int32) for window in windows]):
                lengths.append(len(terms))
                rows.append(terms)
            progress("expand passages", start + len(part), len(ordered))
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(ordered, indptr, np.concatenate([np.empty(0, dtype=np.int32), *rows]))

    def save(self, file: Path) -> None:
        """Write the expansions to a file."""
        places = np.array(self.places, dtype=np.int64).reshape(-1, 2)
        save_arrays(file, {"places": places, "indptr": self.indptr, "terms": self.terms})

    @classmethod
    def load(cls, file: Path, places: Collection[Place], *, terms: int) -> Expansions:
        """Read a file that `save` wrote; it must contain the passages `places`, and terms below `terms`."""
        arrays = load_arrays(file, {"places": (np.int64, 2), "indptr": (np.int64, 1), "terms": (np.int32, 1)})
        rows, indptr, numbers = arrays["places"], arrays["indptr"], arrays["terms"]
        if rows.shape[1] != 2 or len(indptr) != len(rows) + 1:
            raise corrupt_cache(file, "the lengths of its arrays do not match")
        if indptr[0] != 0 or indptr[-1] != len(numbers) or (np.diff(indptr) < 0).any():
            raise corrupt_cache(file, "its row boundaries are not in order")
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < terms:
            raise corrupt_cache(file, "it has a term outside the vocabulary")
        expansions = cls([(int(owner), int(passage)) for owner, passage in rows], indptr, numbers)
        if not expansions._row.keys() >= set(places):
            raise corrupt_cache(file, "it lacks passages of this run")
        return expansions


def load_or_make_expansions(
    expander: Expander,
    sources: Sequence[PairSource],
    places: Collection[Place],
    pieces: Pieces,
    run: RunFolder,
    *,
    length: int,
) -> Expansions:
    """Load the expansions of a run from its folder, or compute and save them; see `Expansions.make`."""
    file, how = run.path / EXPANSIONS, run.execution

    def compute() -> Expansions:
        how.say(f"expanding {len(places):,} passages")
        expansions = Expansions.make(expander, sources, places, pieces, length=length, progress=how.progress)
        expansions.save(file)
        return expansions

    terms = len(pieces.analyzer.vocabulary)
    return load_or_compute(file, lambda: Expansions.load(file, places, terms=terms), compute, how.say)
