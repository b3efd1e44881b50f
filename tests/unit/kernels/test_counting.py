"""`count_rows` against its definition."""

from __future__ import annotations

import inspect

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import counting as reference

from termwise.kernels import counting

ROWS = st.lists(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 5), max_size=30), max_size=12)


def arrays(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    indptr = np.cumsum([0] + [len(row) for row in rows]).astype(np.int64)
    return indptr, np.array([token for row in rows for token in row], dtype=np.int32)


def test_counts_a_small_example_by_hand() -> None:
    indptr, terms, counts = counting.count_rows(*arrays([[7, 2, 7], [], [7], [0, 0, 0, 0]]))
    assert indptr.tolist() == [0, 2, 2, 3, 4]
    assert terms.tolist() == [2, 7, 7, 0]
    assert counts.tolist() == [1.0, 2.0, 1.0, 4.0]
    assert (indptr.dtype, terms.dtype, counts.dtype) == (np.int64, np.int32, np.float32)


@given(ROWS)
def test_agrees_with_the_reference(rows: list[list[int]]) -> None:
    indptr, tokens = arrays(rows)
    before = tokens.copy()
    fast = counting.count_rows(indptr, tokens)
    slow = reference.count_rows(indptr.tolist(), tokens.tolist())
    assert [part.tolist() for part in fast] == list(slow)
    assert np.array_equal(tokens, before)


def test_same_parameters_as_the_reference() -> None:
    fast = inspect.signature(counting.count_rows)
    assert list(fast.parameters) == list(inspect.signature(reference.count_rows).parameters)


def test_no_rows_and_only_empty_rows() -> None:
    for n_rows in (0, 3):
        indptr, terms, counts = counting.count_rows(*arrays([[]] * n_rows))
        assert indptr.tolist() == [0] * (n_rows + 1)
        assert len(terms) == len(counts) == 0


def test_a_document_of_a_million_equal_tokens() -> None:
    tokens = np.full(1_000_000, 3, dtype=np.int32)
    _, terms, counts = counting.count_rows(np.array([0, len(tokens)]), tokens)
    assert terms.tolist() == [3]
    assert counts.tolist() == [1_000_000.0]


def test_read_only_input_is_accepted() -> None:
    indptr, tokens = arrays([[1, 1]])
    indptr.setflags(write=False)
    tokens.setflags(write=False)
    assert counting.count_rows(indptr, tokens)[2].tolist() == [2.0]
