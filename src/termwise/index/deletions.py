"""Deleted documents of a segment: the file that marks them, and the numbering of the other documents."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.index.container import Container, ContainerWriter, IndexFile

KIND = "deletions"
SECTION = "deletions.rows"


class LiveRows:
    """Rows of a segment that are not deleted.

    Attributes
    ----------
    deleted : ndarray of shape (documents,), bool
        Whether each row is deleted.
    rows : ndarray of shape (live documents,), int64
        Rows that are not deleted, ascending.
    """

    def __init__(self, deleted: npt.NDArray[np.bool_]) -> None:
        self.deleted = deleted
        self.rows: npt.NDArray[np.int64] = np.flatnonzero(~deleted)

    @classmethod
    def read(cls, container: Container, documents: int, deletions: int) -> LiveRows:
        """Read the file of a segment; raise `CorruptIndexError` unless it marks `deletions` rows."""
        packed = container.array(SECTION, "u1", -(-documents // 8))
        deleted = np.unpackbits(packed, bitorder="little").astype(np.bool_)
        if int(deleted.sum()) != deletions or deleted[documents:].any():
            seen = f"{int(deleted.sum())}"
            raise container.damaged(SECTION, f"{deletions} deleted rows", seen)
        return cls(deleted[:documents])

    def places(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of rows among those that are not deleted; the rows must not be deleted."""
        return self.place_of_row[rows].astype(np.int64)

    @cached_property
    def place_of_row(self) -> npt.NDArray[np.int32]:
        """Position of each row among those that are not deleted, shape (documents,)."""
        return np.cumsum(~self.deleted, dtype=np.int32) - np.int32(1)


def packed_rows(
    marked: npt.NDArray[np.bool_], order: npt.NDArray[np.unsignedinteger], block_bits: int
) -> npt.NDArray[np.uint64]:
    """Return marked rows as bits by internal number, for the kernel of retrieval."""
    size = 1 << block_bits
    bits = np.zeros(-(-len(order) // size) * size, dtype=np.bool_)
    bits[: len(order)] = marked[np.minimum(order, len(order) - 1)]
    return np.packbits(bits, bitorder="little").view(np.uint64)


def write_deletions(path: Path, deleted: npt.NDArray[np.bool_]) -> IndexFile:
    """Write the file of a segment."""
    with ContainerWriter(path, KIND, 1) as writer:
        writer.write(SECTION, "u1", [np.packbits(deleted, bitorder="little")])
        return writer.finish()
