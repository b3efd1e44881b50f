"""Rows in a folder of blocks and of Parquet files, found by the digests of their texts."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Generic, cast

import numpy as np
import numpy.typing as npt

from termwise.encode.block_file import Rows, block_files, read_block, text_digests
from termwise.encode.document_encoder import RowEncoder
from termwise.encode.row_selection import concatenate_rows, find_keys, select_rows
from termwise.encode.row_table import is_row_file, read_row_file, row_files
from termwise.errors import MissingFileError

RECENT = 4
"""Blocks in memory; neighbours in a collection are usually neighbours in a block."""


class StoredRows(Generic[Rows]):
    """Rows of the undamaged files that a folder holds now.

    Blocks of other encoders are ignored; a Parquet file with rows of another encoder raises `ForeignFolderError`. All
    files are read once, to check them. Memory holds 24 bytes for each text, and `RECENT` blocks.
    """

    def __init__(self, folder: Path, encoder: RowEncoder[Rows]) -> None:
        self._encoder = encoder
        self._paths: list[Path] = []
        parts = [text_digests([])]
        for path in [*sorted(block_files(folder)), *row_files(folder)]:
            block = _read(path, encoder)
            if block is not None:
                self._paths.append(path)
                parts.append(block[0].copy())  # not a view of the whole file
        self._starts = np.cumsum([len(part) for part in parts])
        digests = np.concatenate(parts)
        self._order = np.argsort(digests, kind="stable")
        self._sorted = digests[self._order]
        self._recent = lru_cache(RECENT)(self._read)

    def find(self, digests: npt.NDArray[np.bytes_]) -> npt.NDArray[np.int64]:
        """Return the position of the row of each text, -1 for a text without a row, from its digest."""
        positions = find_keys(self._sorted, digests)
        is_known = positions >= 0
        positions[is_known] = self._order[positions[is_known]]
        return positions

    def rows(self, positions: npt.NDArray[np.int64]) -> Rows:
        """Return the rows at one or more positions."""
        files = np.searchsorted(self._starts, positions, side="right") - 1
        parts = [
            select_rows(self._recent(file), positions[files == file] - self._starts[file])
            for file in np.unique(files).tolist()
        ]
        order = np.argsort(np.argsort(files, kind="stable"))
        return cast(Rows, select_rows(concatenate_rows(parts), order))

    def _read(self, file: int) -> Rows:
        block = _read(self._paths[file], self._encoder)
        if block is None:
            raise MissingFileError(
                "a block of encoded documents was removed or changed while it was used",
                facts=[("file", self._paths[file])],
                fixes=["run the command again"],
            )
        return block[1]


def _read(path: Path, encoder: RowEncoder[Rows]) -> tuple[npt.NDArray[np.bytes_], Rows] | None:
    return read_row_file(path, encoder) if is_row_file(path.name) else read_block(path, encoder)
