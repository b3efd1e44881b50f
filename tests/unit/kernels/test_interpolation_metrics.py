"""Kernels of interpolation metrics against their definitions."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import interpolation_metrics as reference

from termwise.kernels import interpolation_metrics as sweeping

UNLIMITED = 2**31 - 1
SCORES = st.integers(-4, 4).map(float) | st.sampled_from([0.1, 0.3, 1 / 3, 2.5, -0.7])
DOCUMENTS = st.lists(
    st.tuples(SCORES, SCORES, st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0])), min_size=0, max_size=12
)
KINDS = st.sampled_from([sweeping.NDCG, sweeping.AP, sweeping.RR, sweeping.P, sweeping.R, sweeping.SUCCESS])
CUTOFFS = st.integers(1, 13) | st.just(UNLIMITED)


def columns(documents):
    table = np.array(documents, dtype=np.float64).reshape(-1, 3)
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()


def test_a_swap_by_hand():
    # Lines 2a and 1 - a cross at 1/3: from there on the first document stands above the second.
    first, second, gains = columns([(2.0, 0.0, 1.0), (0.0, 1.0, 0.0)])
    alphas, values = sweeping.query_steps(first, second, gains, sweeping.RR, UNLIMITED, 1.0)
    assert (alphas.tolist(), values.tolist()) == ([0.0, 1 / 3], [0.5, 1.0])


def test_documents_below_others_at_every_alpha():
    first, second, _ = columns([(3, 1, 0), (2, 2, 0), (1, 3, 0), (1, 1, 0), (2, 2, 0), (1, 1, 0)])
    # (1, 1) is under all three of the front; of the two (2, 2) the later one is under the earlier.
    assert sweeping.undominated(first, second, 1).tolist() == [0, 1, 2]
    assert sweeping.undominated(first, second, 2).tolist() == [0, 1, 2, 4]
    assert sweeping.undominated(first, second, 5).tolist() == [0, 1, 2, 3, 4]
    assert sweeping.undominated(first, second, 6).tolist() == list(range(6))


@given(DOCUMENTS, st.integers(1, 14))
def test_undominated_agrees_with_the_reference(documents, most):
    first, second, _ = columns(documents)
    assert sweeping.undominated(first, second, most).tolist() == reference.undominated(first, second, most)


@given(
    st.lists(st.integers(1, 20), unique=True, max_size=8), KINDS, CUTOFFS, st.sampled_from([0.0, 1.0, 3.7])
)
def test_value_of_ranks_agrees_with_the_reference(ranks, kind, cutoff, norm):
    gains = [float(1 + rank % 3) for rank in ranks]
    found = sweeping.value_of_ranks(
        np.array(ranks, dtype=np.int64), np.array(gains, dtype=np.float64), kind, cutoff, norm
    )
    assert found == pytest.approx(reference.value_of_ranks(ranks, gains, kind, cutoff, norm), abs=1e-12)


@given(st.lists(DOCUMENTS, max_size=4), KINDS, CUTOFFS, st.randoms(use_true_random=False))
def test_query_values_agree_with_the_reference(queries, kind, cutoff, shuffle):
    indptr = np.cumsum([0, *map(len, queries)])
    scores, _, gains = columns([document for documents in queries for document in documents])
    places = list(range(len(scores)))
    shuffle.shuffle(places)
    arguments = (indptr, scores, np.array(places, dtype=np.int64), gains, np.full(len(queries), 2.0))
    found = sweeping.query_values(*arguments, kind, cutoff)
    assert found.tolist() == pytest.approx(reference.query_values(*arguments, kind, cutoff), abs=1e-12)


@given(DOCUMENTS, KINDS, CUTOFFS)
def test_query_steps_agree_with_the_reference(documents, kind, cutoff):
    arguments = (*columns(documents), kind, cutoff, 2.0)
    found, expected = sweeping.query_steps(*arguments), reference.query_steps(*arguments)
    # Rounding may part places that are one: look where the exact function is constant for some while.
    ends = [*expected[0], 1.0]
    for low, high, value in zip(ends, ends[1:], expected[1], strict=False):
        if high - low > 1e-9:
            for alpha in (low + 1e-10, (low + high) / 2, high - 1e-10):
                step = np.searchsorted(found[0], alpha, side="right") - 1
                assert found[1][step] == pytest.approx(value, abs=1e-12)
    assert found[0][0] == 0
    assert (np.diff(found[0]) >= 0).all()


@pytest.mark.parametrize("kind", [sweeping.NDCG, sweeping.AP, sweeping.RR, sweeping.R])
@pytest.mark.parametrize("cutoff", [20, UNLIMITED])
def test_rounding_does_not_add_up_over_many_swaps(kind, cutoff):
    source = np.random.default_rng(1)
    first, second = source.normal(size=(2, 400))
    gains = source.integers(0, 3, 400).astype(np.float64)
    alphas, values = sweeping.query_steps(first, second, gains, kind, cutoff, 50.0)
    one = (np.array([0, 400]), np.arange(400), gains, np.array([50.0]))
    for step in range(0, len(alphas) - 1, max(1, len(alphas) // 50)):
        if alphas[step + 1] - alphas[step] > 1e-9:
            alpha = (alphas[step] + alphas[step + 1]) / 2
            mixed = alpha * first + (1 - alpha) * second
            (expected,) = sweeping.query_values(one[0], mixed, *one[1:], kind, cutoff)
            assert values[step] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["value_of_ranks", "query_values", "undominated", "query_steps"])
def test_same_parameters_as_the_reference(name):
    fast = inspect.signature(getattr(sweeping, name).py_func)
    assert list(fast.parameters) == list(inspect.signature(getattr(reference, name)).parameters)
