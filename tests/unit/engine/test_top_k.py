"""Selection of the best scores against its definition."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import dense_retrieval as reference

from termwise.engine import dense_retrieval
from termwise.engine.dense_retrieval import top_k


@pytest.mark.parametrize("k", [1, 2, 3, 7, 40, 100])
@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
def test_the_best_are_found_with_ties_by_position(k: int, levels: int) -> None:
    generator = np.random.default_rng(k * levels)
    for count in (0, 1, 2, 5, 40, 41):
        scores = generator.integers(0, levels, count).astype(np.float64) - levels // 2
        scores[generator.random(count) < 0.2] = -np.inf
        assert top_k(scores, k).tolist() == reference.top_k(scores.tolist(), k)


@given(st.lists(st.floats(-2, 2) | st.just(-np.inf), max_size=60), st.integers(1, 70))
@settings(max_examples=100, deadline=None)
def test_any_scores(values: list[float], k: int) -> None:
    for sample in (2048, 8):
        with mock.patch.object(dense_retrieval, "SAMPLE", sample):
            assert top_k(np.array(values, dtype=np.float64), k).tolist() == reference.top_k(values, k)


@pytest.mark.parametrize("step", [1, 7])
def test_an_unlucky_sample(step: int) -> None:
    scores = np.arange(10_000.0)
    scores[:: len(scores) // dense_retrieval.SAMPLE] = -1.0 if step == 1 else -np.inf
    expected = reference.top_k(scores.tolist(), 50 * step)
    assert top_k(scores, 50 * step).tolist() == expected
