"""Postings of a sparse part by term, collected from the rows of the source for a range of terms at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from termwise.export.source import BATCH, ExportPart
from termwise.progress import Progress, no_progress

AT_ONCE = 1 << 22
"""Postings that are collected at once, of 16 bytes each."""

YIELDED = 1 << 20
"""Postings of one result, unless one term has more."""

STAGE = "collect postings"


class Postings(NamedTuple):
    """Postings of consecutive terms.

    Attributes
    ----------
    terms : ndarray of shape (n,), int32
        Term of each posting, ascending; its rank, if the terms were given one.
    positions : ndarray of shape (n,), int32
        Row of each posting, ascending for each term.
    impacts : ndarray of shape (n,), int32 (float32 in a float index)
    """

    terms: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int32]
    impacts: npt.NDArray[Any]


def postings_by_term(
    part: ExportPart,
    *,
    ranks: npt.NDArray[np.int32] | None = None,
    at_once: int = AT_ONCE,
    progress: Progress = no_progress,
) -> Iterator[Postings]:
    """Yield the postings of a sparse part by term, in blocks of consecutive terms.

    The rows are read once for each block, so memory is bounded by `at_once` and the largest posting list. `ranks` has
    the place of each term in another order than that of the numbers.
    """
    index = part.index
    frequencies = index.document_frequencies
    if ranks is not None:
        frequencies = frequencies[np.argsort(ranks)]
    ends = np.cumsum(frequencies)
    rows = len(index)
    first = 0
    blocks = max(1, -(-int(ends[-1]) // at_once)) if len(ends) else 0
    number = 0
    while first < len(frequencies):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + at_once, side="right")))
        size = int(ends[last - 1]) - before
        terms, positions = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        impacts = np.empty(size, dtype=np.int32 if part.is_exact_integer else np.float32)
        filled = 0
        for begin in range(0, rows, BATCH * 8):
            ordinals = np.arange(begin, min(begin + BATCH * 8, rows), dtype=np.int64)
            found = index.impacts(ordinals)
            numbers = found.terms if ranks is None else ranks[found.terms]
            owners = np.repeat(ordinals, np.diff(found.indptr))
            kept = (
                slice(None)
                if size == int(ends[-1])
                else np.flatnonzero((numbers >= first) & (numbers < last))
            )
            chosen = numbers[kept]
            stop = filled + len(chosen)
            terms[filled:stop], positions[filled:stop] = chosen, owners[kept]
            impacts[filled:stop] = found.impacts[kept]
            filled = stop
            progress(STAGE, number * rows + begin, blocks * rows)
        order = np.argsort(terms, kind="stable")
        terms, positions, impacts = terms[order], positions[order], impacts[order]
        begin = 0
        while begin < size:
            end = size
            if size - begin > YIELDED:  # up to the last border of two terms before
                end = int(np.searchsorted(terms, terms[begin + YIELDED]))
                end = end if end > begin else int(np.searchsorted(terms, terms[begin], side="right"))
            yield Postings(terms[begin:end], positions[begin:end], impacts[begin:end])
            begin = end
        first, number = last, number + 1
    progress(STAGE, blocks * rows, blocks * rows)
