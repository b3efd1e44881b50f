"""Several segments, and equal bytes for all settings of threads and memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise.index import Index, verify
from termwise.index import document_spill as writers
from termwise.index import segment_writer as segments
from termwise.index.segment import term_dtype
from termwise.index.spill import ranges_within

Make = Callable[..., Any]


@pytest.mark.parametrize(
    ("documents", "postings", "ends"),
    [
        (4, 100, [4, 8, 10]),
        (100, 100, [10]),
        (100, 6, [3, 6, 9, 10]),  # rows of two postings
        (2, 6, [2, 4, 6, 8, 10]),
        (100, 1, list(range(1, 11))),  # a row larger than a segment still gets one
    ],
)
def test_a_full_segment_ends_and_the_next_begins(documents: int, postings: int, ends: list[int]) -> None:
    ranges = ranges_within(np.full(10, 2, dtype=np.int32), postings, documents)
    assert list(ranges) == list(pairwise([0, *ends]))


def test_empty_rows_fill_segments_of_documents() -> None:
    assert list(ranges_within(np.zeros(7, dtype=np.int32), 100, 3)) == [(0, 3), (3, 6), (6, 7)]


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("quantiser", ["uint8", "float32"])
@pytest.mark.parametrize(("limit", "value"), [("MAX_DOCUMENTS", 37), ("MAX_POSTINGS", 150)])
def test_several_segments_give_the_results_of_one(
    monkeypatch: pytest.MonkeyPatch,
    write: Make,
    random_rows: Make,
    search: Make,
    background: bool,
    quantiser: str,
    limit: str,
    value: int,
) -> None:
    rows = random_rows(150, 20, background=background)
    rows[40:80] = rows[:40]  # ties across segments
    options = {
        "ids": [f"doc {i} ü" for i in range(150)],
        "texts": [f"text of {i}" * (i % 3) for i in range(150)],
        "background": background,
        "tokens": [f"t{i}" for i in range(20)],
        "quantiser": quantiser,
    }
    one = write(rows, name="one", **options)
    monkeypatch.setattr(writers, limit, value)
    several = write(rows, name="several", **options)
    assert len(one.segments) == 1
    assert len(several.segments) > 3
    assert several.manifest.postings == one.manifest.postings
    assert several.manifest.quantiser.scale == one.manifest.quantiser.scale
    assert verify(several.path) == []

    query: dict[int, float] = {0: 2.0, 3: 1.0, 7: 1.5}
    if background:
        query[20] = 4.5
    for k in (1, 7, 60, 1000):
        assert search(several, query, k) == search(one, query, k)
    assert [several.doc_id(i) for i in range(150)] == options["ids"]
    assert several.doc_ids(np.arange(149, -1, -1)) == options["ids"][::-1]
    assert [several.find(i) for i in options["ids"]] == list(range(150))
    assert several.find("doc 150 ü") is None
    some = ["doc 149 ü", "doc 150 ü", "doc 0 ü", "", "doc 75 ü", "doc 0 ü"]
    assert several.find_many(some).tolist() == [149, -1, 0, -1, 75, 0]
    assert several.find_many([]).tolist() == []
    assert [several.text(i) for i in range(150)] == options["texts"]
    for i in range(150):
        for a, b in zip(several.row(i), one.row(i), strict=True):
            assert a.tolist() == b.tolist()


def files(index: Index) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(index.path.iterdir())}


@pytest.mark.parametrize("background", [False, True])
def test_the_same_bytes_for_any_threads_and_memory(
    monkeypatch: pytest.MonkeyPatch, write: Make, random_rows: Make, background: bool
) -> None:
    rows = random_rows(400, 60, background=background)
    options = {
        "background": background,
        "tokens": [f"t{i}" for i in range(60)],
        "texts": ["some text"] * 400,
        "attachments": {"b": b"1", "a": b"2"},
        "encoder": {"z": 1, "a": [1, 2]},
    }
    first = files(write(rows, name="first", **options))
    for name, data in first.items():
        assert name == "manifest.json" or hashlib.sha256(data).hexdigest()[:16] == name.split("-")[1][:16]
    assert files(write(rows, name="again", **options)) == first
    for threads in (2, 3):
        assert files(write(rows, name=f"threads{threads}", threads=threads, **options)) == first
    passes: list[tuple[int, int | None]] = []
    monkeypatch.setattr(segments, "LEAST_ROOM", 50)

    def count(stage: str, done: int, total: int | None) -> None:
        if stage == "invert":
            passes.append((done, total))

    assert files(write(rows, name="memory", memory=1, progress=count, **options)) == first
    postings = sum(len(row) - background for row in rows)
    assert len(passes) > postings / 400  # one term alone may hold more than 50 postings
    assert passes[-1] == (postings, postings)
    monkeypatch.setattr(segments, "CHUNK", 30)
    assert files(write(rows, name="pieces", memory=10_000, **options)).keys() == first.keys()


def test_order_is_part_of_the_file_but_not_of_the_result(
    write: Make, random_rows: Make, search: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = random_rows(300, 30)
    ordered, plain = write(rows, name="ordered"), write(rows, name="plain", reorder=False)
    assert plain.segments[0].inverted is not None
    assert plain.segments[0].inverted.order.tolist() == list(range(300))
    assert ordered.segments[0].inverted is not None
    assert ordered.segments[0].inverted.order.tolist() != list(range(300))
    monkeypatch.setattr(segments, "UNORDERED", 300)
    assert write(rows, name="few").segments[0].inverted.order.tolist() == list(range(300))
    assert search(ordered, {1: 1.0, 2: 3.0}, 300) == search(plain, {1: 1.0, 2: 3.0}, 300)


def test_term_numbers_take_two_bytes_while_they_fit() -> None:
    assert term_dtype(0) == term_dtype(65_536) == np.dtype("<u2")
    assert term_dtype(65_537) == np.dtype("<u4")


def test_more_terms_than_16_bits_number(write: Make, search: Make) -> None:
    rows = [{65_535: 2.0, 65_536: 1.0}, {0: 3.0}, {65_536: 5.0}]
    index = write(rows, tokens=[f"t{i}" for i in range(65_537)])
    assert index.segments[0].terms.dtype == np.uint32
    assert search(index, {65_536: 1.0}) == ([2, 0], [5.0, 1.0])
    assert verify(index.path) == []


def test_blocks_of_256_documents(write: Make, search: Make) -> None:
    """One full block, one that is not, and a term that fills a whole block."""
    index = write([{0: 1.0 + i % 2, 1: 1.0} if i % 3 == 0 else {0: 1.0} for i in range(300)], reorder=False)
    view = index.segments[0].inverted
    assert view is not None
    assert view.term_entries.tolist() == [0, 2, 4]
    assert view.term_postings.tolist() == [0, 300, 400]
    assert view.entry_block.tolist() == [0, 1, 0, 1]
    assert view.entry_count.tolist() == [255, 43, 85, 13]
    assert view.entry_max.tolist() == [2, 2, 1, 1]
    assert view.posting_offset[:256].tolist() == list(range(256))
    assert view.posting_offset[256:300].tolist() == list(range(44))
    assert verify(index.path) == []
    found, scores = search(index, {0: 1.0}, 300)
    assert scores == [2.0] * 50 + [1.0] * 250
    assert found[:50] == list(range(3, 300, 6))


def test_only_files_of_the_index_remain(write: Make, random_rows: Make) -> None:
    index = write(random_rows(50, 10), texts=["x"] * 50, attachments={"file": b"x"})
    assert {path.name for path in Path(index.path).iterdir()} == {
        "manifest.json",
        *(file.name for file in index.manifest.files()),
    }
