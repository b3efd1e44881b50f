"""Selected, joined and found rows, compared with lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from termwise.encode.row_selection import find_keys, interleave_rows, take_rows
from termwise.weights import TermWeights


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_take_rows(lengths: list[int], data: st.DataObject) -> None:
    indptr = np.cumsum([0, *lengths])
    order = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=8))
    moved, places = take_rows(indptr, np.array(order, dtype=np.int64))
    rows = [places[start:stop].tolist() for start, stop in pairwise(moved)]
    assert rows == [list(range(indptr[row], indptr[row + 1])) for row in order]


@given(st.lists(st.booleans()))
def test_interleave_rows(is_first: list[bool]) -> None:
    whole = [{number % 3: float(number + 1)} for number in range(len(is_first))]
    first, second = (
        TermWeights.from_rows([row for row, own in zip(whole, is_first, strict=True) if own == part], "toy")
        for part in (True, False)
    )
    made = interleave_rows(first, second, np.array(is_first, dtype=bool))
    assert made == TermWeights.from_rows(whole, "toy")


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_find_keys(keys: list[int], wanted: list[int]) -> None:
    keys.sort()
    found = find_keys(np.array(keys, dtype=np.int64), np.array(wanted, dtype=np.int64))
    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in wanted]
