"""Temporary files of a build: rows of term weights, and arrays of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.index.container import discard, storage_errors


class RowSpill:
    """Append-only files of sparse rows: 8 bytes per posting on disk, 4 bytes per row in memory.

    Parameters
    ----------
    folder : Path
        Folder of the two files.
    name : str
        Prefix of their names.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._paths = (folder / f"{name}.terms", folder / f"{name}.weights")
        with storage_errors(folder), ExitStack() as undo:
            self._terms = undo.enter_context(self._paths[0].open("w+b"))
            self._weights = self._paths[1].open("w+b")
            undo.pop_all()
        self._lengths: list[npt.NDArray[np.int32]] = []
        self.rows = 0
        self.postings = 0

    def add(
        self,
        indptr: npt.NDArray[np.integer],
        terms: npt.NDArray[np.integer],
        weights: npt.NDArray[np.floating],
    ) -> None:
        """Append rows in CSR form."""
        with storage_errors(self._paths[0]):
            self._terms.write(np.ascontiguousarray(terms, dtype="<u4").data)
            self._weights.write(np.ascontiguousarray(weights, dtype="<f4").data)
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
        with storage_errors(self._paths[0]):
            self._terms.flush()
            self._weights.flush()
        lengths = self.lengths()
        ends = np.cumsum(lengths[first_row:last_row], dtype=np.int64)
        before = int(lengths[:first_row].sum(dtype=np.int64))
        row = 0
        while row < len(ends):
            done = int(ends[row - 1]) if row else 0
            stop = max(row + 1, int(np.searchsorted(ends, done + postings, side="right")))
            stop = min(stop, row + max(1, postings))
            count = int(ends[stop - 1]) - done
            indptr = np.concatenate([[0], ends[row:stop] - done])
            offset = 4 * (before + done)
            terms = _read(self._paths[0], "<u4", offset, count)
            weights = _read(self._paths[1], "<f4", offset, count)
            yield indptr, terms, weights
            row = stop

    def close(self) -> None:
        """Close and remove the temporary files."""
        discard(self._terms, self._paths[0])
        discard(self._weights, self._paths[1])


class ArraySpill:
    """Append-only file of numbers of one type."""

    def __init__(self, path: Path, dtype: np.dtype[np.generic]) -> None:
        self._path = path
        self._dtype = dtype
        with storage_errors(path):
            self._file = path.open("w+b")

    def add(self, values: npt.NDArray[np.generic]) -> None:
        """Append numbers."""
        with storage_errors(self._path):
            self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)

    def pieces(self) -> Iterator[npt.NDArray[np.generic]]:
        """Yield all numbers, at most 4 MiB at a time."""
        self._file.seek(0)
        while data := self._file.read(1 << 22):
            yield np.frombuffer(data, dtype=self._dtype)

    def close(self) -> None:
        """Close and remove the temporary file."""
        discard(self._file, self._path)


def _read(path: Path, dtype: str, offset: int, count: int) -> npt.NDArray[Any]:
    with storage_errors(path), path.open("rb") as file:
        return np.fromfile(file, dtype=dtype, count=count, offset=offset)
