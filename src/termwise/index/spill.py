"""Temporary files of a build: rows of term weights, and arrays of numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.index.container import close_quietly, storage_errors

IN_MEMORY = 1 << 20
"""Bytes of numbers that are kept in memory; more of them go to a temporary file."""


def ranges_within(lengths: npt.NDArray[np.integer[Any]], limit: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield the consecutive ranges of at most `most` items whose lengths add up to at most `limit`.

    A longer item comes alone.
    """
    ends = np.cumsum(lengths, dtype=np.int64)
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + limit, side="right")))
        last = min(last, first + most)
        yield first, last
        first = last


class ArraySpill:
    """Append-only sequence of numbers of one type, in memory or in an unnamed temporary file.

    The file is in the folder of `path`, which errors name.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self._path = path
        self._dtype = np.dtype(dtype)
        from tempfile import SpooledTemporaryFile

        self._file = SpooledTemporaryFile(IN_MEMORY, "w+b", dir=str(path.parent))  # noqa: SIM115

    def add(self, values: npt.NDArray[np.generic]) -> None:
        """Append numbers."""
        with storage_errors(self._path):
            self._file.seek(0, os.SEEK_END)
            self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)

    def read(self, first: int, count: int) -> npt.NDArray[Any]:
        """Return `count` numbers from position `first` on."""
        values = np.empty(count, dtype=self._dtype)
        with storage_errors(self._path):
            self._file.seek(first * self._dtype.itemsize)
            self._file.readinto(values.view(np.uint8).data)
        return values

    def pieces(self, first: int = 0, count: int | None = None) -> Iterator[npt.NDArray[np.generic]]:
        """Yield `count` numbers from position `first` on, or all, at most 4 MiB at a time."""
        size = self._dtype.itemsize
        left = self._file.seek(0, os.SEEK_END) - first * size if count is None else count * size
        self._file.seek(first * size)
        while data := self._file.read(min(left, 1 << 22)):
            yield np.frombuffer(data, dtype=self._dtype)
            left -= len(data)

    def close(self) -> None:
        """Close and remove the temporary file."""
        close_quietly(self._file)


class RowSpill:
    """Append-only sparse rows: 8 bytes per posting on disk, 12 with counts, and 4 bytes per row in memory.

    Errors name the temporary files after `name`. `counted` tells whether all rows were added with counts.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._terms = ArraySpill(folder / f"{name}.terms", "<u4")
        self._weights = ArraySpill(folder / f"{name}.weights", "<f4")
        self._counts = ArraySpill(folder / f"{name}.counts", "<u4")
        self.counted = True
        self._lengths: list[npt.NDArray[np.int32]] = []
        self.rows = 0
        self.postings = 0

    def add(
        self,
        indptr: npt.NDArray[np.integer],
        terms: npt.NDArray[np.integer],
        weights: npt.NDArray[np.floating],
        counts: npt.NDArray[np.integer] | None = None,
    ) -> None:
        """Append rows in CSR form, and a count for each posting if they have counts."""
        self._terms.add(terms)
        self._weights.add(weights)
        self.counted = self.counted and counts is not None
        if self.counted and counts is not None:
            self._counts.add(counts)
        self._lengths.append(np.diff(indptr).astype(np.int32))
        self.rows += len(indptr) - 1
        self.postings += len(terms)

    def lengths(self) -> npt.NDArray[np.int32]:
        """Return the number of postings of each row."""
        if len(self._lengths) > 1:
            self._lengths = [np.concatenate(self._lengths)]
        return self._lengths[0] if self._lengths else np.empty(0, dtype=np.int32)

    def read(
        self, first_row: int, last_row: int, *, postings: int
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.float32]]]:
        """Yield ``indptr, terms, weights`` of consecutive rows, about `postings` postings at a time."""
        before = int(self.lengths()[:first_row].sum(dtype=np.int64))
        lengths = self.lengths()[first_row:last_row]
        for row, stop in ranges_within(lengths, postings, max(1, postings)):
            indptr = np.concatenate([[0], np.cumsum(lengths[row:stop], dtype=np.int64)])
            count = int(indptr[-1])
            yield indptr, self._terms.read(before, count), self._weights.read(before, count)
            before += count

    def read_counts(
        self, first_row: int, last_row: int, *, postings: int
    ) -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]]:
        """Yield terms and counts of the postings of consecutive rows, about `postings` at a time."""
        before, end = (int(self.lengths()[:row].sum(dtype=np.int64)) for row in (first_row, last_row))
        for start in range(before, end, postings):
            length = min(postings, end - start)
            yield self._terms.read(start, length), self._counts.read(start, length)

    def close(self) -> None:
        """Close and remove the temporary files."""
        self._terms.close()
        self._weights.close()
        self._counts.close()
