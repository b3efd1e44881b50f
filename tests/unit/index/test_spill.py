"""Temporary files of rows and arrays."""

from __future__ import annotations

import errno
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.errors import StorageError
from termwise.index.spill import ArraySpill, RowSpill

ROWS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=6), max_size=12)


def fill(spill: RowSpill, rows: list[list[int]], batch: int) -> None:
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        indptr = np.cumsum([0] + [len(row) for row in part])
        terms = np.array([term for row in part for term in row], dtype=np.int32)
        spill.add(indptr, terms, terms.astype(np.float32) / 2)


@given(ROWS, st.integers(1, 4), st.integers(0, 9), st.data())
@settings(max_examples=100)
def test_rows_come_back_in_pieces(
    rows: list[list[int]], batch: int, postings: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    with tempfile.TemporaryDirectory() as folder:
        spill = RowSpill(Path(folder), "rows")
        fill(spill, rows, batch)
        assert spill.rows == len(rows)
        assert spill.postings == sum(map(len, rows))
        assert spill.lengths().tolist() == [len(row) for row in rows]
        found = []
        for indptr, terms, weights in spill.read(first, last, postings=postings):
            assert indptr[0] == 0
            assert indptr[-1] == len(terms) == len(weights)
            assert len(terms) <= postings or len(indptr) == 2  # a longer row comes alone
            assert weights.tolist() == (terms.astype(np.float32) / 2).tolist()
            found += [terms[a:b].tolist() for a, b in pairwise(indptr)]
        assert found == rows[first:last]
        spill.close()
        assert list(Path(folder).iterdir()) == []


def test_reading_and_adding_can_alternate(tmp_path: Path) -> None:
    spill = RowSpill(tmp_path, "rows")
    fill(spill, [[1, 2]], 1)
    assert [part[1].tolist() for part in spill.read(0, 1, postings=10)] == [[1, 2]]
    fill(spill, [[], [3]], 2)
    assert [part[1].tolist() for part in spill.read(0, 3, postings=10)] == [[1, 2, 3]]
    spill.close()


def test_arrays_come_back_in_pieces(tmp_path: Path) -> None:
    spill = ArraySpill(tmp_path / "numbers", np.dtype("<u2"))
    for values in ([1, 2], [], [65_535]):
        spill.add(np.array(values, dtype=np.uint16))
    assert np.concatenate(list(spill.pieces())).tolist() == [1, 2, 65_535]
    spill.close()
    assert not (tmp_path / "numbers").exists()


def test_a_full_disk_is_reported_once_and_closing_is_quiet(tmp_path: Path) -> None:
    class FullDisk:
        def seek(self, *place: int) -> None:
            pass

        def write(self, data: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    spill = RowSpill(tmp_path, "rows")
    spill._terms._file.close()
    spill._terms._file = FullDisk()  # type: ignore[assignment]
    with pytest.raises(StorageError) as caught:
        fill(spill, [[1]], 1)
    assert dict(caught.value.facts) == {
        "path": tmp_path / "rows.terms",
        "reason": "No space left on device",
    }
    spill.close()
    assert list(tmp_path.iterdir()) == []
