"""Vectors of the documents of a segment: temporary file of a build, and mapped file of an index."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import WeightError
from termwise.index.container import Container, ContainerWriter, IndexFile
from termwise.index.spill import ArraySpill
from termwise.vectors import LEVELS, SCALES, DocumentVectors, wrong_scales

KIND = "vectors"

SUMS = "vectors.sums"
"""Section with the sum of the directions of all windows; files of earlier versions lack it."""

UNIT = 1 << 24
"""Length of a direction. Its numbers are rounded to whole numbers, so the order of a sum does not matter."""

BLOCK = 1 << 12
"""Windows whose directions are computed together."""


def directions(rows: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
    """Return the directions of windows: their vectors with the length `UNIT`, rounded to whole numbers.

    Parameters
    ----------
    rows : ndarray of shape (windows, dimensions), int8
        Vectors in any unit, see `DocumentVectors`.

    Returns
    -------
    ndarray of the same shape, float64
        A row of zeros stays one.

    Examples
    --------
    >>> (directions(np.array([[3, -4], [0, 0]], dtype=np.int8)) / UNIT).round(6).tolist()
    [[0.6, -0.8], [0.0, 0.0]]
    """
    wide = rows.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))  # of whole numbers, so exact before the root
    wide *= UNIT
    wide /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return np.rint(wide, out=wide)


def sum_of_directions(rows: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
    """Return the sum of the directions of windows, shape (dimensions,): whole numbers below 2^53."""
    total = np.zeros(rows.shape[1])
    for first in range(0, len(rows), BLOCK):
        total += directions(rows[first : first + BLOCK]).sum(axis=0)
    return total


class VectorSpill:
    """Temporary files for the vectors of a build; 8 bytes per document are in memory."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        self.dimensions = dimensions
        with ExitStack() as resources:
            self._rows = resources.enter_context(closing(ArraySpill(folder / "vectors.rows", "i1")))
            self._scales = resources.enter_context(closing(ArraySpill(folder / "vectors.scales", "<f4")))
            self._resources = resources.pop_all()
        self._windows: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        self.documents = 0

    def add(self, vectors: DocumentVectors) -> None:
        """Append the vectors of the next documents; raise `WeightError` for another number of dimensions."""
        if vectors.dimensions != self.dimensions:
            raise WeightError(
                "all vectors of an index have the same number of dimensions",
                facts=[("before", self.dimensions), ("now", vectors.dimensions)],
            )
        self._rows.add(vectors.rows)
        self._scales.add(vectors.scales)
        self._windows.append(np.diff(vectors.indptr))
        self.documents += len(vectors)

    def windows(self) -> npt.NDArray[np.int64]:
        """Return the number of windows of each document."""
        if len(self._windows) > 1:
            self._windows = [np.concatenate(self._windows)]
        return self._windows[0]

    def _bounds(self, first: int, last: int) -> tuple[int, npt.NDArray[np.int64]]:
        """Return the number of windows before some documents, and the boundaries of theirs."""
        windows = self.windows()
        return int(windows[:first].sum()), np.concatenate([[0], np.cumsum(windows[first:last])])

    def read(self, first: int, last: int) -> DocumentVectors:
        """Return the vectors of the documents ``first:last``."""
        before, starts = self._bounds(first, last)
        count = int(starts[-1])
        rows = self._rows.read(before * self.dimensions, count * self.dimensions)
        return DocumentVectors(starts, rows.reshape(count, self.dimensions), self._scales.read(before, count))

    def write(self, path: Path, first: int, last: int) -> IndexFile:
        """Write the container with the vectors of the documents ``first:last``."""
        before, starts = self._bounds(first, last)
        count = int(starts[-1])
        with ContainerWriter(path, KIND, 4) as writer:
            writer.write("vectors.starts", "<u4", [starts])
            writer.write(
                "vectors.rows", "i1", self._rows.pieces(before * self.dimensions, count * self.dimensions)
            )
            writer.write("vectors.scales", "<f4", self._scales.pieces(before, count))
            rows = writer.written("vectors.rows").reshape(count, self.dimensions)
            writer.write(SUMS, "<f8", [sum_of_directions(rows)])
            return writer.finish()

    def close(self) -> None:
        """Close and remove the temporary files."""
        self._resources.close()


class SegmentVectors:
    """Vectors of a segment, mapped from its file.

    Attributes
    ----------
    path : Path
        The file.
    rows : ndarray of shape (windows, dimensions), int8
        Vector of each window, in units of its scale.
    section_bytes : mapping of str to int
        Length in bytes of each section of the file.
    """

    def __init__(self, container: Container, documents: int, dimensions: int) -> None:
        self.path = container.path
        self._starts: npt.NDArray[np.uint32] = container.array("vectors.starts", "<u4", documents + 1)
        self._scales: npt.NDArray[np.float32] = container.array("vectors.scales", "<f4")
        rows: npt.NDArray[Any] = container.array("vectors.rows", "i1", len(self._scales) * dimensions)
        self.rows: npt.NDArray[np.int8] = rows.reshape(len(self._scales), dimensions)
        self.section_bytes = container.section_bytes()
        self._damaged = container.damaged
        self._sums = container.array(SUMS, "<f8", dimensions) if SUMS in container else None

    @cached_property
    def sums(self) -> npt.NDArray[np.float64]:
        """Sum of the directions of all windows, shape (dimensions,), see `directions`; checked at first use."""
        if self._sums is None:
            return sum_of_directions(self.rows)
        most = float(UNIT) * len(self.rows)
        wrong = np.flatnonzero(~(np.abs(self._sums) <= most) | (self._sums != np.rint(self._sums)))
        if len(wrong):
            expected, seen = f"a whole number of at most {most:g}", f"{self._sums[wrong[0]]:g}"
            raise self._damaged(SUMS, expected, seen, int(wrong[0]))
        return self._sums

    @cached_property
    def starts(self) -> npt.NDArray[np.uint32]:
        """Start of the windows of each row, shape (documents + 1,), checked at first use."""
        starts, last = self._starts, len(self.rows)
        wrong = np.flatnonzero(starts[1:] < starts[:-1])
        row = 0 if starts[0] else int(wrong[0]) + 1 if len(wrong) else len(starts) - 1
        if starts[0] or len(wrong) or starts[-1] != last:
            raise self._damaged("vectors.starts", f"windows in order, from 0 to {last}", starts[row], row)
        return starts

    @cached_property
    def scales(self) -> npt.NDArray[np.float32]:
        """Unit of each row, checked at first use."""
        wrong = np.flatnonzero(wrong_scales(self._scales))
        if len(wrong):
            seen = f"{self._scales[wrong[0]]:g}"
            raise self._damaged("vectors.scales", f"a scale {SCALES}", seen, int(wrong[0]))
        return self._scales

    @cached_property
    def largest_scale(self) -> float:
        """Largest scale, 0 without windows."""
        return float(self.scales.max(initial=0))

    def window_bounds(
        self, rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the first window of each row, and its number of windows; raises `CorruptIndexError`."""
        starts, stops = self.starts[rows].astype(np.int64), self.starts[rows + 1].astype(np.int64)
        return starts, stops - starts

    def problem(self) -> str | None:
        """Describe the first problem of the vectors; None if there is none. Reads all of them."""
        starts = self._starts
        if starts[0] != 0 or starts[-1] != len(self.rows) or (starts[1:] < starts[:-1]).any():
            return "the windows of the documents are out of order"
        if wrong_scales(self._scales).any():
            return f"the scale of a vector is not {SCALES}"
        if self.rows.size and int(self.rows.min()) < -LEVELS:
            return f"a number of a vector is below -{LEVELS}"
        if self._sums is not None and (self._sums != sum_of_directions(self.rows)).any():
            return "the sum of the directions of the vectors is another one"
        return None
