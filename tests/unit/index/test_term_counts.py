"""Term counts of a segment: round trip, bytes by hand, and damage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import CorruptIndexError
from termwise.index import Index, IndexWriter, verify
from termwise.index.container import Container, ContainerWriter
from termwise.index.term_counts import MOST_LENGTH, SECTIONS, TermCounts, write_counts
from termwise.index.updater import IndexUpdater
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

ROWS = st.lists(st.lists(st.sampled_from([1, 1, 1, 2, 3, 4, 254, 255, 256, 70_000]), max_size=7), max_size=9)


def written(path: Path, rows: list[list[int]], pieces: int = 3) -> TermCounts:
    counts = np.array([count for row in rows for count in row], dtype=np.uint32)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
    with ContainerWriter(path, "views", SECTIONS) as writer:
        write_counts(writer, lambda: iter(np.array_split(counts, pieces)), indptr)
        writer.finish()
    return TermCounts(Container(path, "views"), len(rows), len(counts))


@given(rows=ROWS, pieces=st.integers(1, 9))
def test_counts_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], pieces: int
) -> None:
    found = written(tmp_path_factory.mktemp("counts") / "views", rows, pieces)
    flat = np.array([count for row in rows for count in row], dtype=np.int64)
    assert found.of(np.arange(len(flat))).tolist() == flat.tolist()
    assert found.of(np.arange(len(flat))[::-1]).tolist() == flat[::-1].tolist()
    assert found.lengths.tolist() == [min(sum(row), MOST_LENGTH) for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
    assert found.problem(starts) is None


def test_the_bytes_are_those_of_the_format(tmp_path: Path) -> None:
    written(tmp_path / "views", [[1, 2, 3, 4], [300], []])
    container = Container(tmp_path / "views", "views")
    # codes 0, 1, 2, 3 from the lowest bits of the first byte, then 3; the bits to spare are 0
    assert container.array("counts.codes", "u1").tolist() == [0b11_10_01_00, 0b00_00_00_11]
    assert container.array("counts.bytes", "u1").tolist() == [4, 255]
    assert container.array("counts.large", "<u4").tolist() == [300]
    assert container.array("counts.lengths", "<u2").tolist() == [10, 300, 0]


@pytest.mark.parametrize(
    ("codes", "many", "large", "lengths", "expected"),
    [
        ([3, 0], [], [], [8], "counts.bytes of length 1"),
        ([3, 0], [3], [], [8], "counts from 4 on"),
        ([3, 0], [255], [], [8], "counts.large of length 1"),
        ([3, 0], [4], [300], [8], "counts.large of length 0"),
        ([3, 0], [255], [254], [8], "counts from 255 on"),
        ([0], [], [], [5], "counts.codes of length 2"),
        ([0, 0], [], [], [], "counts.lengths of length 1"),
    ],
)
def test_damaged_counts_name_their_section(
    tmp_path: Path, codes: list[int], many: list[int], large: list[int], lengths: list[int], expected: str
) -> None:
    """A row of five postings."""
    with ContainerWriter(tmp_path / "views", "views", SECTIONS) as writer:
        writer.write("counts.codes", "u1", [np.array(codes)])
        writer.write("counts.bytes", "u1", [np.array(many)])
        writer.write("counts.large", "<u4", [np.array(large)])
        writer.write("counts.lengths", "<u2", [np.array(lengths)])
        writer.finish()
    with pytest.raises(CorruptIndexError) as caught:
        TermCounts(Container(tmp_path / "views", "views"), 1, 5).of(np.arange(5))
    assert dict(caught.value.facts)["expected"] == expected


@pytest.mark.parametrize(
    ("codes", "lengths", "expected"),
    [([0, 0], [6], "add up to its length"), ([0, 0b0100], [5], "spare bit"), ([0, 0], [5], None)],
)
def test_verification_adds_the_counts_up(
    tmp_path: Path, codes: list[int], lengths: list[int], expected: str | None
) -> None:
    with ContainerWriter(tmp_path / "views", "views", SECTIONS) as writer:
        writer.write("counts.codes", "u1", [np.array(codes)])
        writer.write("counts.bytes", "u1", [])
        writer.write("counts.large", "<u4", [])
        writer.write("counts.lengths", "<u2", [np.array(lengths)])
        writer.finish()
    found = TermCounts(Container(tmp_path / "views", "views"), 1, 5).problem(np.array([0, 5]))
    assert found is None if expected is None else expected in str(found)


WORDS = Vocabulary(["a", "b", "c"], background=True)


def rows_of(*rows: dict[int, float], vocabulary: Any = WORDS) -> TermWeights:
    return TermWeights.from_rows(rows, vocabulary.id)


def test_an_index_keeps_the_counts_of_its_rows(tmp_path: Path) -> None:
    """A background term has the count 0; with a row without counts, or a term of weight 0, the index keeps none."""
    with IndexWriter(tmp_path / "i") as writer:
        writer.add_documents(["x", "y"])
        writer.add_weights(rows_of({0: 2.0, 2: 1.0, 3: 1.0}, {1: 3.0, 3: 0.0}), np.array([7, 1, 0, 2, 0]))
        writer.commit(WORDS, encoder={})
    index = Index.open(tmp_path / "i")
    assert index.keeps_counts
    counts = index.counts(np.array([1, 0]))
    assert (counts.terms.tolist(), counts.weights.tolist()) == ([1, 0, 2], [2.0, 7.0, 1.0])
    with IndexUpdater(tmp_path / "i") as updater:
        updater.add_documents(["z"])
        updater.add_weights(rows_of({0: 1.0, 3: 2.0}), np.array([300, 0]))
        updater.commit()
        updater.delete(["x"])
        updater.merge()
    index = index.newest()
    assert index.counts(np.arange(2)).weights.tolist() == [2.0, 300.0]
    assert index.segments[0].counts is not None
    assert index.segments[0].counts.lengths.tolist() == [2, 300]
    assert verify(tmp_path / "i") == []
    with IndexUpdater(tmp_path / "i") as updater:
        updater.add(["w"], rows_of({0: 1.0}))
        updater.commit()
        assert not updater.index.keeps_counts
        updater.merge()
    assert not Index.open(tmp_path / "i").keeps_counts
    with IndexWriter(tmp_path / "zero") as writer:
        writer.add_documents(["x"])
        writer.add_weights(rows_of({0: 2.0, 1: 0.0}), np.array([1, 1]))
        writer.commit(WORDS, encoder={})
    assert not Index.open(tmp_path / "zero").keeps_counts
