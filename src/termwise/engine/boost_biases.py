"""Boosts as document biases of the segments of an index, for retrieval with block-max pruning."""

from __future__ import annotations

import math
from typing import final

import numpy as np
import numpy.typing as npt

from termwise.index import Index
from termwise.kernels.addresses import address_of

LEVELS = 65_535
"""Largest bias."""


@final
class BoostBiases:
    """Boosts of all documents of an index as biases of its segments.

    Parameters
    ----------
    index : Index
    sums : ndarray of shape (documents,), float64
        Sum of the boosts of each document.

    Attributes
    ----------
    least : float
        Smallest boost, which every document has at least.
    exponent : int
        A step is ``2**exponent`` times the unit of the impacts.
    steps : ndarray of shape (documents,), int64
        Boost of each document above the smallest one, in steps, rounded up.
    """

    def __init__(self, index: Index, sums: npt.NDArray[np.float64]) -> None:
        self.least = float(sums.min()) if len(sums) else 0.0
        spread = float(sums.max(initial=self.least)) - self.least
        unit = index.manifest.quantiser.scale
        steps = spread / (LEVELS - 1) / unit
        self.exponent = math.ceil(math.log2(steps)) if steps > 0 else 0
        self.steps = np.zeros(len(index), dtype=np.int64)
        self._kept: tuple[npt.NDArray[np.void] | None, npt.NDArray[np.void]] = (None, np.empty(0, np.void))
        self._arrays: list[tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]] = []
        for first, segment in zip(index.segments.firsts, index.segments, strict=True):
            assert segment.inverted is not None, "the index has postings"
            places = slice(int(first), int(first) + len(segment))
            step = math.ldexp(unit, self.exponent + segment.shift)
            biases = np.minimum(np.ceil((sums[places] - self.least) / step), LEVELS).astype(np.uint16)
            self.steps[places] = biases.astype(np.int64) << segment.shift
            by_row = np.zeros(segment.documents, dtype=np.uint16)
            by_row[segment.rows_of(np.arange(len(segment)))] = biases
            blocks = ((segment.documents - 1) >> segment.block_bits) + 1
            ordered = np.zeros(blocks << segment.block_bits, dtype=np.uint16)
            ordered[segment.internal_numbers] = by_row
            self._arrays.append((ordered, ordered.reshape(blocks, 1 << segment.block_bits).max(axis=1)))

    def views(self, views: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
        """Return views of the segments with these biases; they are valid as long as this object."""
        given, kept = self._kept
        if given is views:
            return kept
        kept = views.copy()
        for place, (biases, of_blocks) in enumerate(self._arrays):
            kept[place]["biases"], kept[place]["bias_at"] = len(biases), address_of(biases)
            kept[place]["block_biases"], kept[place]["block_bias_at"] = len(of_blocks), address_of(of_blocks)
        self._kept = views, kept
        return kept
