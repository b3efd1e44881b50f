"""Term counts of the postings of a segment, from which weights can be computed again without texts.

Most counts are 1. A posting has two bits: its count minus 1, or 3 for a count from 4 on, which is in a list of bytes. A
byte of 255 stands for a larger count, which is in a list of four-byte numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from termwise.index.container import Container, ContainerWriter

CODES, BYTES, LARGE, LENGTHS = "counts.codes", "counts.bytes", "counts.large", "counts.lengths"

SECTIONS = 4
"""Number of sections that `write_counts` writes."""

MOST_LENGTH = (1 << 16) - 1
"""Largest stored length; a longer document has this one."""

_ESCAPE, _LARGE = 3, 255
_SHIFTS = np.array([0, 2, 4, 6], dtype=np.uint8)
_HAS_ESCAPE = (((np.arange(256, dtype=np.uint8)[:, np.newaxis] >> _SHIFTS) & 3) == _ESCAPE).any(axis=1)

Counts = npt.NDArray[np.uint32]


def write_counts(
    writer: ContainerWriter, pieces: Callable[[], Iterator[Counts]], indptr: npt.NDArray[np.int64]
) -> None:
    """Write the counts of all postings, which `pieces` yields in their order, and the lengths of the rows."""
    larger = [np.empty(0, dtype=np.uint32)]
    ends = np.zeros(len(indptr), dtype=np.int64)

    def codes() -> Iterator[npt.NDArray[np.uint8]]:
        rest = np.empty(0, dtype=np.uint32)
        first = tokens = 0
        for piece in pieces():
            sums = np.cumsum(piece, dtype=np.int64)
            rows = slice(*np.searchsorted(indptr, [first + 1, first + len(piece) + 1]))
            ends[rows] = tokens + sums[indptr[rows] - first - 1]
            first, tokens = first + len(piece), tokens + int(piece.sum(dtype=np.int64))
            larger.append(piece[piece > _ESCAPE])
            piece = np.concatenate([rest, piece])
            whole = len(piece) & ~3
            rest = piece[whole:]
            yield _packed(piece[:whole])
        yield _packed(np.concatenate([rest, np.ones(-len(rest) % 4, dtype=np.uint32)]))

    writer.write(CODES, "u1", codes())
    escaped = np.concatenate(larger)
    writer.write(BYTES, "u1", [np.minimum(escaped, _LARGE)])
    writer.write(LARGE, "<u4", [escaped[escaped >= _LARGE]])
    writer.write(LENGTHS, "<u2", [np.minimum(np.diff(ends), MOST_LENGTH)])


def _packed(counts: Counts) -> npt.NDArray[np.uint8]:
    codes = (np.minimum(counts, _ESCAPE + 1) - 1).astype(np.uint8).reshape(-1, 4)
    packed: npt.NDArray[np.uint8] = (codes << _SHIFTS).sum(axis=1, dtype=np.uint8)
    return packed


class TermCounts:
    """Term counts of a segment, mapped from its file.

    Attributes
    ----------
    lengths : ndarray of shape (documents,), uint16
        Number of tokens of each row, at most `MOST_LENGTH`.
    """

    def __init__(self, container: Container, documents: int, postings: int) -> None:
        self._codes = container.array(CODES, "u1", -(-postings // 4))
        self._bytes = container.array(BYTES, "u1")
        self._large = container.array(LARGE, "<u4")
        self.lengths: npt.NDArray[np.uint16] = container.array(LENGTHS, "<u2", documents)
        self._damaged = container.damaged

    @cached_property
    def _escaped(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Places and counts of the postings with a count from 4 on; checked at first use."""
        found = np.flatnonzero(_HAS_ESCAPE[self._codes])
        codes = (self._codes[found, np.newaxis] >> _SHIFTS) & 3
        rows, places = np.nonzero(codes == _ESCAPE)
        counts = self._bytes.astype(np.int64)
        large = np.flatnonzero(counts == _LARGE)
        if len(counts) != len(rows):
            raise self._damaged(BYTES, f"{BYTES} of length {len(rows)}", len(counts))
        if len(large) != len(self._large):
            raise self._damaged(LARGE, f"{LARGE} of length {len(large)}", len(self._large))
        counts[large] = self._large
        for name, values, least in ((BYTES, self._bytes, _ESCAPE + 1), (LARGE, self._large, _LARGE)):
            if values.min(initial=least) < least:
                wrong = int(np.argmax(values < least))
                raise self._damaged(name, f"counts from {least} on", int(values[wrong]), wrong)
        return found[rows] * 4 + places, counts

    def of(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the counts of postings by their places in the forward view; raises `CorruptIndexError`."""
        codes: npt.NDArray[np.uint8] = (self._codes[places >> 2] >> _SHIFTS[places & 3]) & 3
        counts = codes.astype(np.int64) + 1
        larger = np.flatnonzero(counts > _ESCAPE)
        escaped, values = self._escaped
        counts[larger] = values[np.searchsorted(escaped, places[larger])]
        return counts

    def problem(self, starts: npt.NDArray[np.int64]) -> str | None:
        """Describe the first problem of the counts of rows with these boundaries; None without one."""
        ends = np.concatenate([[0], np.cumsum(self.of(np.arange(int(starts[-1]))))])
        if (np.minimum(np.diff(ends[starts]), MOST_LENGTH) != self.lengths).any():
            return "the counts of a row do not add up to its length"
        if len(self._codes) and int(self._codes[-1]) >> (2 * ((int(starts[-1]) - 1) % 4 + 1)):
            return "a spare bit of the counts is set"
        return None
