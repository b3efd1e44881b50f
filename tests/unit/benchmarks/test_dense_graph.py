"""The benchmark of graphs: vectors are made from real ones, and a broad search finds the exact results."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("usearch", reason="needs termwise[approximate], which scripts/setup dev installs")


def test_made_vectors_are_near_the_real_ones():
    import dense_graph

    real = np.random.default_rng(0).standard_normal((400, 16)).astype(np.float32)
    real /= np.linalg.norm(real, axis=1, keepdims=True)
    made = np.concatenate(list(dense_graph.matrices(real, 2000, 1)))
    assert made.shape == (2000, 16)
    assert np.array_equal(made[:400], real)
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    nearest = (made[400:] @ real.T).max(axis=1)
    assert 0.7 < nearest.mean() < 0.95  # 1 / sqrt(1 + NOISE ** 2) is .86
    assert np.array_equal(np.concatenate(list(dense_graph.matrices(real, 100, 1))), real[:100])
