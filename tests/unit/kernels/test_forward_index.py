"""Scoring given rows against the definition."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import retrieval as reference
from tests.two_ways import way  # noqa: F401

from termwise.kernels import forward_index
from termwise.kernels.forward_index import CORRUPT, OK

N_TERMS = 8


def score(
    indptr: list[int],
    terms: list[int],
    impacts: list[float],
    bias: list[float],
    rows: list[int],
    query: dict[int, Any],
    background: Any = 0,
    *,
    number: Any = np.int64,
    size: int = N_TERMS,
    term_type: Any = np.uint16,
) -> tuple[list[Any], list[bool], int]:
    slots = np.zeros(size, dtype=np.uint8)
    exact = number is np.float64
    scores, matched, status = forward_index.score_rows(
        np.array(indptr, dtype=np.uint32),
        np.array(terms, dtype=term_type),
        np.array(impacts, dtype=np.float32 if exact else np.uint8),
        np.array(bias, dtype=np.float32 if exact else np.uint16),
        np.array(rows, dtype=np.int64),
        np.array(sorted(query), dtype=np.int32),
        np.array([query[term] for term in sorted(query)], dtype=number),
        number(background), slots,
    )  # fmt: skip
    assert not slots.any()  # the look-up table is left as it was found
    assert scores.dtype == number
    return scores.tolist(), matched.tolist(), status


def test_by_hand() -> None:
    indptr, terms, impacts, bias = [0, 2, 2, 3], [0, 3, 3], [5, 7, 9], [1, 2, 3]
    assert score(indptr, terms, impacts, [], [0, 1, 2], {3: 2, 5: 1}) == (
        [14, 0, 18],
        [True, False, True],
        OK,
    )
    assert score(indptr, terms, impacts, bias, [2, 0, 2, 1], {0: 1}, 10) == (
        [30, 15, 30, 20],
        [False, True, False, False],
        OK,
    )
    assert score(indptr, terms, impacts, bias, [], {0: 1}, 10) == ([], [], OK)
    assert score(indptr, terms, impacts, [], [0], {}) == ([0], [False], OK)


@given(st.data())
@settings(max_examples=100)
def test_agrees_with_the_definition(data: st.DataObject) -> None:
    number = data.draw(st.sampled_from([np.int64, np.float64]))
    exact = number is np.float64
    value = st.floats(0.0009765625, 1000.0, width=32) if exact else st.integers(1, 255)
    weight = st.floats(0.0009765625, 1000.0, width=32) if exact else st.integers(1, 2**30)
    rows = data.draw(
        st.lists(
            st.dictionaries(st.integers(0, N_TERMS - 1), value, max_size=N_TERMS), min_size=1, max_size=12
        )
    )
    indptr = np.cumsum([0] + [len(row) for row in rows]).tolist()
    terms = [term for row in rows for term in sorted(row)]
    impacts = [row[term] for row in rows for term in sorted(row)]
    with_bias = data.draw(st.booleans())
    bias = (
        data.draw(st.lists(st.integers(0, 65_535), min_size=len(rows), max_size=len(rows)))
        if with_bias
        else []
    )
    background = data.draw(st.integers(0, 1000)) if with_bias else 0
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=20))
    query = data.draw(st.dictionaries(st.integers(0, N_TERMS - 1), weight, max_size=N_TERMS))
    scores, matched, status = score(indptr, terms, impacts, bias, chosen, query, background, number=number)
    slow, shared = reference.score_rows(
        indptr, terms, impacts, bias, chosen, sorted(query), [query[t] for t in sorted(query)], background
    )
    assert (scores, matched, status) == (slow, shared, OK)  # floats too: the same sums in the same order


def test_takes_the_arguments_of_the_definition_in_its_order() -> None:
    fast = list(inspect.signature(forward_index.score_rows.py_func).parameters)
    assert fast[:8] == list(inspect.signature(reference.score_rows).parameters)


@pytest.mark.parametrize("weight", [2.0**63, 3.0e38, 1e-45])
def test_weights_that_fit_no_integer(weight: float) -> None:
    weight = float(np.float32(weight))
    assert score([0, 1], [0], [weight], [], [0], {0: 2.0}, number=np.float64) == ([2 * weight], [True], OK)


def test_four_byte_terms() -> None:
    assert score([0, 1], [70_000], [3], [], [0], {70_000: 2}, size=70_001, term_type=np.uint32)[0] == [6]


@pytest.mark.parametrize(
    ("indptr", "terms"),
    [
        ([0, 2, 1, 3], [0, 1, 2]),  # row 1 ends before it begins
        ([0, 1, 2**32 - 1, 3], [0, 1, 2]),
        ([0, 1, 4, 4], [0, 1, 2]),  # one more than there are
        ([0, 1, 3, 3], [0, 1, N_TERMS]),  # no such term
        ([0, 1, 3, 3], [0, 65_535, 2]),
    ],
)
@pytest.mark.parametrize("number", [np.int64, np.float64])
def test_a_position_outside_its_array_is_corrupt(indptr: list[int], terms: list[int], number: Any) -> None:
    _, _, status = score(indptr, terms, [1, 2, 3], [], [0, 1, 2], {0: 1, 2: 3}, number=number)
    assert status == CORRUPT


@given(st.data())
@settings(max_examples=40)
def test_terms_are_searched_for_in_long_rows(data: st.DataObject) -> None:
    number = data.draw(st.sampled_from([np.int64, np.float64]))
    size = 8 * forward_index.LONG
    lengths = data.draw(
        st.lists(
            st.sampled_from([0, 3, forward_index.LONG, forward_index.LONG + 1, size]), min_size=1, max_size=4
        )
    )
    seed = data.draw(st.integers(0, 99))
    generator = np.random.default_rng(seed)
    terms = [sorted(generator.choice(size, n, replace=False).tolist()) for n in lengths]
    indptr = np.cumsum([0, *lengths]).tolist()
    flat = [term for row in terms for term in row]
    impacts = generator.integers(1, 256, len(flat)).tolist()
    query = data.draw(
        st.dictionaries(st.integers(0, size - 1), st.integers(1, 2**30), min_size=1, max_size=9)
    )
    rows = list(range(len(lengths)))
    scores, matched, status = score(indptr, flat, impacts, [], rows, query, number=number, size=size)
    wanted = reference.score_rows(
        indptr, flat, impacts, [], rows, sorted(query), [query[t] for t in sorted(query)], 0
    )
    assert ((scores, matched), status) == (wanted, OK)


def test_the_bias_is_added_after_the_terms() -> None:
    impacts = [1.0, 29.0, 4.260926246643066]
    weights = {1: 565.0, 2: 1.0, 6: 0.6000000238418579}
    terms, values = [1, 2, 6], [impacts[1], impacts[0], impacts[2]]
    scores, _, _ = score([0, 3], terms, values, [174], [0], weights, 660, number=np.float64)
    slow, _ = reference.score_rows(
        [0, 3], terms, values, [174], [0], sorted(weights), [565.0, 1.0, weights[6]], 660
    )
    assert scores == slow
