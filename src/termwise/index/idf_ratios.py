"""Ratios of the current idf of terms to the one in the stored weights of an index that was changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from termwise.index.manifest_records import IdfRecord
from termwise.index.segments import Segments
from termwise.kernels.weighting import lucene_idf


@dataclass(frozen=True, eq=False)
class IdfRatios:
    """Factors of query terms that replace the idf in stored weights by the current one; see `IdfRecord`.

    Attributes
    ----------
    record : IdfRecord
    built : ndarray of shape (built terms,), uint32
        Document frequency of each term at the build.
    segments : Segments
    terms : int
        Number of terms, without a background term.
    """

    record: IdfRecord
    built: npt.NDArray[np.uint32]
    segments: Segments
    terms: int

    @cached_property
    def _known(self) -> npt.NDArray[np.float64]:
        """Factors that were computed, NaN for others; 1 for a background term."""
        factors = np.full(self.terms + 1, np.nan)
        factors[-1] = 1.0
        return factors

    def of(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Return the factors of terms by their numbers, shape (n,); that of a background term is 1."""
        factors = self._known[terms]
        missing = np.isnan(factors)
        if missing.any():
            wanted = np.unique(terms[missing])
            self._known[wanted] = self._computed(wanted)
            factors = self._known[terms]
        return factors

    def _computed(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        stored = np.ones(len(terms), dtype=np.int64)
        built = terms < len(self.built)
        stored[built] = np.maximum(self.built[terms[built]], 1)
        documents = max(1, self.segments.documents)
        current = np.clip(self.segments.frequencies_of(terms), 1, documents)
        ratios: npt.NDArray[np.float64] = lucene_idf(current, documents) / lucene_idf(
            stored, self.record.documents
        )
        return ratios**self.record.power
