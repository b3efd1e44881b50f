"""Log-likelihoods against their definitions, also for extreme logits."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.reference import likelihood as reference

from termwise.kernels import likelihood

LOGITS = arrays(
    np.float32, (3, 6), elements=st.floats(-(2.0**100), 2.0**100, width=32) | st.floats(-20, 20, width=32)
)


def test_by_hand() -> None:
    logits = np.array([[0.0, math.log(3)]], dtype=np.float32)
    assert likelihood.log_sigmoid(logits)[0] == pytest.approx([math.log(0.5), math.log(0.75)], rel=1e-6)
    indptr, terms, weights = likelihood.excess_rows(
        logits, np.array([0, 1]), np.array([-0.5, -1.0], dtype=np.float32)
    )
    assert (indptr.tolist(), terms.tolist()) == ([0, 1], [1])
    assert weights == pytest.approx([1 + math.log(0.75)], rel=1e-6)


def test_large_logits_do_not_overflow() -> None:
    extremes = np.array([[-3e38, -200, 200, 3e38]], dtype=np.float32)
    assert likelihood.log_sigmoid(extremes)[0].tolist() == [np.float32(-3e38), -200.0, 0.0, 0.0]


@given(LOGITS)
def test_log_sigmoid_agrees_with_the_reference(logits: np.ndarray) -> None:
    slow = np.array(reference.log_sigmoid(logits.tolist()), dtype=np.float32)
    assert np.allclose(likelihood.log_sigmoid(logits), slow, rtol=3e-7, atol=0)


@given(LOGITS, st.sets(st.integers(0, 5)), st.floats(-30, 0, width=32))
def test_excess_rows_agree_with_the_reference(logits: np.ndarray, terms: set[int], floor: float) -> None:
    chosen = np.array(sorted(terms), dtype=np.int64)
    floors = np.full(len(chosen), floor, dtype=np.float32)
    fast = likelihood.excess_rows(logits, chosen, floors)
    slow = reference.excess_rows(logits.tolist(), chosen.tolist(), floors.tolist())
    assert [fast[0].tolist(), fast[1].tolist()] == [slow[0], slow[1]]
    assert np.allclose(fast[2], np.array(slow[2], dtype=np.float32), rtol=3e-7, atol=1e-14)


def test_pruning_keys_by_hand() -> None:
    keys = likelihood.pruning_keys(
        np.array([1, 0, 1], dtype=np.int32),
        np.array([2.0, 2.0, 1.0], dtype=np.float32),
        np.array([-4.0, -2.0], dtype=np.float32),
    )
    assert keys.dtype == np.float32
    assert keys.tolist() == pytest.approx([2.0, 2 * math.exp(-1), math.exp(-0.5)], rel=1e-6)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(2.0**-10, 40, width=32)), max_size=6))
def test_pruning_keys_agree_with_the_reference(entries: list[tuple[int, float]]) -> None:
    terms = np.array([term for term, _ in entries], dtype=np.int32)
    weights = np.array([weight for _, weight in entries], dtype=np.float32)
    floors = np.array([-40.0, -7.5, -1.0, -0.125], dtype=np.float32)
    fast = likelihood.pruning_keys(terms, weights, floors)
    assert np.allclose(fast, reference.pruning_keys(terms, weights, floors), rtol=3e-7, atol=1e-30)


@pytest.mark.parametrize("name", ["log_sigmoid", "excess_rows", "pruning_keys"])
def test_same_parameters_as_the_reference(name: str) -> None:
    fast = inspect.signature(getattr(likelihood, name).py_func)
    assert list(fast.parameters) == list(inspect.signature(getattr(reference, name)).parameters)
