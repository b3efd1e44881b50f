"""Conversion of rows to postings and entries, and comparison of both views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.kernels import inversion
from termwise.kernels.inversion import count_terms, first_difference, first_unsorted, invert

N_TERMS = 6
Rows = list[dict[int, int]]


def forward(rows: Rows, term_type: Any = np.uint16) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.cumsum([0] + [len(row) for row in rows]).astype(np.int64),
        np.array([term for row in rows for term in sorted(row)], dtype=term_type),
        np.array([row[term] for row in rows for term in sorted(row)], dtype=np.uint8),
    )


def segment(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    starts, terms, impacts = forward(rows)
    return starts.astype(np.uint32), terms, impacts


def inverted(rows: Rows, order: list[int], block_bits: int, cuts: list[int]) -> dict[str, list[int]]:
    """Invert a range of terms at a time, as a segment is written."""
    indptr, terms, impacts = forward(rows)
    boundaries = np.concatenate([[0], np.cumsum(count_terms(terms, N_TERMS))])
    found: dict[str, list[int]] = {
        name: [] for name in ("entries", "block", "count", "max", "offset", "impact")
    }
    for first, last in zip([0, *cuts], [*cuts, N_TERMS], strict=True):
        parts = invert(indptr, terms, impacts, np.array(order, dtype=np.int32), first, last, block_bits)
        for name, part in zip(found, parts, strict=True):
            found[name] += part.tolist()
    found["postings"] = boundaries.tolist()
    found["documents"] = [
        (block << block_bits) + offset
        for block, offset in zip(
            np.repeat(found["block"], np.array(found["count"], dtype=int) + 1).tolist(),
            found["offset"],
            strict=True,
        )
    ]
    return found


def test_by_hand() -> None:
    rows = [{0: 5, 2: 1}, {2: 7}, {}, {0: 9, 2: 3}]
    view = inverted(rows, [3, 1, 0, 2], 1, [])  # internally: row 3, row 1 | row 0, row 2
    assert view["postings"] == [0, 2, 2, 5, 5, 5, 5]
    assert view["documents"] == [0, 2, 0, 1, 2]
    assert view["impact"] == [9, 5, 3, 7, 1]
    assert view["entries"] == [2, 0, 2, 0, 0, 0]
    assert view["block"] == [0, 1, 0, 1]
    assert view["count"] == [0, 0, 1, 0]
    assert view["max"] == [9, 5, 7, 1]
    assert view["offset"] == [0, 0, 0, 1, 0]


ROWS = st.lists(st.dictionaries(st.integers(0, N_TERMS - 1), st.integers(1, 255)), min_size=1, max_size=20)


@given(st.data())
@settings(max_examples=60)
def test_ranges_of_terms_change_nothing_and_every_posting_is_there(data: st.DataObject) -> None:
    rows = data.draw(ROWS)
    order = list(data.draw(st.permutations(range(len(rows)))))
    block_bits = data.draw(st.sampled_from([0, 1, 3, 8]))
    cuts = sorted(data.draw(st.sets(st.integers(1, N_TERMS - 1))))
    view = inverted(rows, order, block_bits, [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inversion, "AT_ONCE", data.draw(st.integers(1, 9)))
        assert inverted(rows, order, block_bits, cuts) == view
    postings = {
        (term, order[view["documents"][position]], view["impact"][position])
        for term in range(N_TERMS)
        for position in range(view["postings"][term], view["postings"][term + 1])
    }
    assert postings == {(term, row, rows[row][term]) for row in range(len(rows)) for term in rows[row]}


def arrays(view: dict[str, list[int]]) -> list[np.ndarray]:
    return [
        np.concatenate([[0], np.cumsum(view["entries"])]).astype(np.uint32),
        np.array(view["postings"], dtype=np.uint32),
        np.array(view["block"], dtype=np.uint16),
        np.array(view["count"], dtype=np.uint8),
        np.array(view["max"], dtype=np.uint8),
        np.array(view["offset"], dtype=np.uint8),
        np.array(view["impact"], dtype=np.uint8),
    ]


@given(st.data())
@settings(max_examples=60)
def test_the_views_agree(data: st.DataObject) -> None:
    rows = data.draw(ROWS)
    order = list(data.draw(st.permutations(range(len(rows)))))
    block_bits = data.draw(st.sampled_from([0, 1, 3, 8]))
    view = arrays(inverted(rows, order, block_bits, []))
    assert first_difference(*segment(rows), np.array(order, dtype=np.uint32), block_bits, *view) == -1


@pytest.mark.parametrize(
    ("part", "position", "value", "term"),
    [
        (2, 1, 0, 0),  # two entries of one block
        (2, 1, 2, 0),  # a block beyond the documents
        (2, 1, 65_535, 0),
        (3, 0, 255, 0),  # more postings than the term has
        (3, 2, 0, 2),  # fewer
        (4, 0, 10, 0),  # a bound that is not the maximum
        (4, 2, 6, 2),
        (5, 0, 1, 0),  # another document
        (5, 3, 0, 2),  # the same document twice
        (5, 0, 255, 0),
        (6, 4, 2, 2),  # another impact
    ],
)
def test_any_difference_between_the_views_is_found(part: int, position: int, value: int, term: int) -> None:
    rows = [{0: 5, 2: 1}, {2: 7}, {}, {0: 9, 2: 3}]
    order = np.array([3, 1, 0, 2], dtype=np.uint32)
    view = arrays(inverted(rows, order.tolist(), 1, []))
    assert first_difference(*segment(rows), order, 1, *view) == -1
    view[part][position] = value
    assert first_difference(*segment(rows), order, 1, *view) == term


@pytest.mark.parametrize(
    ("terms", "row"),
    [([0, 1, 3, 3], -1), ([1, 1, 3, 3], 0), ([0, 1, 3, 2], -1), ([0, 1, 4, 3], 2), ([0, 1, 3, 65_535], 3)],
)
@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_rows_must_increase_and_stay_below_the_number_of_terms(
    terms: list[int], row: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inversion, "AT_ONCE", at_once)
    starts = np.array([0, 2, 2, 3, 4], dtype=np.uint32)
    found = first_unsorted(starts, np.array(terms, dtype=np.uint16), 4)
    assert found == row
