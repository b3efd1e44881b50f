"""Scores by vectors against their definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import dense_retrieval as reference
from tests.two_ways import way  # noqa: F401

from termwise.kernels import dense_retrieval as kernels


@given(
    lengths=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    dimensions=st.sampled_from([1, 2, 31, 64, 65]),
    places=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_scores_agree_with_the_reference(lengths: list[int], dimensions: int, places: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    rows = generator.integers(-127, 128, (int(starts[-1]), dimensions)).astype(np.int8)
    scales = generator.choice([0.5, 0.37, 3.0], len(rows)).astype(np.float32)
    digits = generator.integers(-(2**15), 2**15, (places, dimensions)).astype(np.int16)
    for array in (starts, rows, scales):
        array.setflags(write=False)
    query = [sum(int(digits[p, j]) << (13 * p) for p in range(places)) for j in range(dimensions)]
    scores = np.empty(len(lengths))
    kernels.score(starts, rows, scales, digits, 13, scores)
    expected = reference.score(starts.tolist(), rows.tolist(), [float(scale) for scale in scales], query)
    assert scores.tolist() == expected


def test_the_largest_sums_do_not_overflow() -> None:
    dimensions = kernels.LARGEST_SUM // (128 * 32767)
    rows = np.full((2, dimensions), -128, dtype=np.int8)
    rows[1] = 127
    digits = np.full((2, dimensions), 32767, dtype=np.int16)
    scores = np.empty(2)
    kernels.score(np.arange(3, dtype=np.uint32), rows, np.ones(2, dtype=np.float32), digits, 16, scores)
    each = dimensions * 32767 * (1 + (1 << 16))
    assert scores.tolist() == [-128 * each, 127 * each]
