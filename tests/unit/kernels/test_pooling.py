"""Pooling kernels against their definitions."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import pooling as reference

from termwise.kernels import pooling

WEIGHTS = st.sampled_from([-1.5, 0.0, 0.25, 0.5, 1.0, 1.5]) | st.floats(-8, 8, width=32)
ROWS = st.lists(
    st.lists(st.tuples(st.integers(0, 9) | st.integers(0, 2**31 - 1), WEIGHTS), max_size=12), max_size=6
)
Rows = list[list[tuple[int, float]]]


def arrays(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.cumsum([0] + [len(row) for row in rows]).astype(np.int64),
        np.array([term for row in rows for term, _ in row], dtype=np.int32),
        np.array([weight for row in rows for _, weight in row], dtype=np.float32),
    )


def test_by_hand() -> None:
    rows: Rows = [[(7, 1.0), (2, 0.5), (7, 2.0), (3, -1.0), (4, 0.0)], [], [(1, 3.0)]]
    indptr, terms, weights = pooling.max_rows(*arrays(rows))
    assert (indptr.tolist(), terms.tolist(), weights.tolist()) == ([0, 2, 2, 3], [2, 7, 1], [0.5, 2.0, 3.0])
    assert (indptr.dtype, terms.dtype, weights.dtype) == (np.int64, np.int32, np.float32)


def test_ties_go_to_smaller_terms() -> None:
    rows: Rows = [[(1, 0.5), (2, 2.0), (5, 0.5), (9, 0.5)]]
    for keep, expected in ((1, [2]), (2, [1, 2]), (3, [1, 2, 5]), (4, [1, 2, 5, 9]), (9, [1, 2, 5, 9])):
        assert pooling.keep_largest(*arrays(rows), arrays(rows)[2], keep)[1].tolist() == expected


@given(ROWS)
def test_max_rows_agrees_with_the_reference(rows: Rows) -> None:
    given_ = arrays(rows)
    fast = pooling.max_rows(*given_)
    assert [part.tolist() for part in fast] == list(reference.max_rows(*given_))


@given(ROWS, st.integers(1, 14), st.data())
def test_keep_largest_agrees_with_the_reference(rows: Rows, keep: int, data: st.DataObject) -> None:
    pooled = pooling.max_rows(*arrays(rows))
    size = len(pooled[2])
    keys = np.array(data.draw(st.lists(WEIGHTS, min_size=size, max_size=size)), dtype=np.float32)
    fast = pooling.keep_largest(*pooled, keys, keep)
    assert [part.tolist() for part in fast] == list(reference.keep_largest(*pooled, keys, keep))


@pytest.mark.parametrize("name", ["max_rows", "keep_largest"])
def test_same_parameters_as_the_reference(name: str) -> None:
    function = getattr(pooling, name)
    fast = inspect.signature(getattr(function, "py_func", function))
    assert list(fast.parameters) == list(inspect.signature(getattr(reference, name)).parameters)
