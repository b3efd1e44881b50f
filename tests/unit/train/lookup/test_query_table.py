"""The query table, compared with dense solvers of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from termwise.errors import EmptyCollectionError
from termwise.train.lookup.query_table import fit_query_table
from termwise.train.lookup.settings import LookupSettings

TEXTS, TERMS, DIMENSIONS = 80, 12, 5


def settings(**changes):
    return LookupSettings(**{"held_out": 0.0, "steps": 60, **changes})


@pytest.fixture
def counts():
    """Counts of ten of twelve terms."""
    random = np.random.default_rng(1)
    dense = random.poisson(0.4, size=(TEXTS, TERMS)).astype(np.float32)
    dense[:, [3, 7]] = 0
    return sparse.csr_array(dense / np.sqrt(np.maximum(dense.sum(axis=1, keepdims=True), 1)))


@pytest.fixture
def vectors():
    rows = np.random.default_rng(2).normal(size=(TEXTS, DIMENSIONS)) + 0.5
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


def ridge(counts, targets, weight):
    dense = counts.toarray().astype(np.float64)
    return np.linalg.solve(dense.T @ dense + weight * np.eye(TERMS), dense.T @ targets)


@pytest.mark.parametrize("weight", [0.5, 4.0])
@pytest.mark.parametrize("centred", [True, False])
def test_many_steps_give_the_ridge_regression(counts, vectors, weight, centred):
    table = fit_query_table(counts, [vectors], settings=settings(ridge=weight, centred=centred))
    targets = vectors.astype(np.float64)
    targets = targets - targets.mean(axis=0) if centred else targets
    np.testing.assert_allclose(table.rows, ridge(counts, targets, weight), atol=2e-5)
    assert table.residuals[-1] < 1e-5
    assert table.texts == TEXTS


def test_a_tiny_ridge_gives_least_squares(counts, vectors):
    table = fit_query_table(counts, [vectors], settings=settings(ridge=1e-6, centred=False, steps=200))
    expected, *_ = np.linalg.lstsq(counts.toarray().astype(np.float64), vectors.astype(np.float64))
    np.testing.assert_allclose(table.rows, expected, atol=1e-3)


def test_a_token_of_no_text_has_no_row(counts, vectors):
    table = fit_query_table(counts, [vectors], settings=settings())
    assert (~table.rows.any(axis=1)).nonzero()[0].tolist() == [3, 7]


def test_a_dead_dimension_stays_0(counts, vectors):
    vectors[:, 2] = 0
    table = fit_query_table(counts, [vectors], settings=settings())
    assert np.isfinite(table.rows).all()
    assert not table.rows[:, 2].any()
    assert table.rows[:, 1].any()


def test_constant_vectors_give_an_empty_table(counts, vectors):
    vectors[:] = vectors[0]
    table = fit_query_table(counts, [vectors], settings=settings())
    np.testing.assert_allclose(table.rows, 0, atol=1e-6)


def test_equal_input_gives_equal_bytes_and_parts_nearly_equal_ones(counts, vectors):
    one, other = (fit_query_table(counts, [vectors], settings=settings(steps=4)) for _ in range(2))
    assert one.rows.tobytes() == other.rows.tobytes()
    assert one.residuals == other.residuals
    parts = fit_query_table(counts, [vectors[:50], vectors[50:]], settings=settings(steps=4))
    np.testing.assert_allclose(parts.rows, one.rows, atol=1e-5)
    assert len(parts.residuals) == 4


def test_held_out_texts_measure_the_table_and_do_not_change_it(counts, vectors):
    chosen = settings(held_out=0.25, seed=3)
    table = fit_query_table(counts, [vectors[:30], vectors[30:]], settings=chosen)
    assert table.texts == 60
    held = np.random.default_rng(3).permutation(TEXTS)[:20]
    fitted = np.delete(np.arange(TEXTS), held)
    mean = vectors[fitted].astype(np.float64).mean(axis=0)
    expected = ridge(counts[fitted], vectors[fitted].astype(np.float64) - mean, 1.0)
    np.testing.assert_allclose(table.rows, expected, atol=2e-5)
    sums, targets = counts[held] @ expected, vectors[held] - mean
    norms = np.linalg.norm(sums, axis=1) * np.linalg.norm(targets, axis=1)
    known = norms > 0
    cosines = np.where(known, (sums * targets).sum(axis=1) / np.where(known, norms, 1), 0)
    assert table.cosine == pytest.approx(cosines.mean(), abs=1e-4)


def test_without_held_out_texts_nothing_is_measured(counts, vectors):
    assert fit_query_table(counts, [vectors], settings=settings()).cosine is None
    assert fit_query_table(counts, [vectors], settings=settings(held_out=0.001)).cosine is None


def test_texts_without_a_known_token_are_refused(counts, vectors):
    with pytest.raises(EmptyCollectionError, match="no text has a token"):
        fit_query_table(sparse.csr_array(counts.shape, dtype=np.float32), [vectors], settings=settings())


def test_progress_names_the_residual(counts, vectors):
    seen = []
    table = fit_query_table(
        counts, [vectors], settings=settings(steps=2), progress=lambda *report: seen.append(report)
    )
    assert seen == [
        (f"fit the query table: residual {value:.4f}", number, 2)
        for number, value in enumerate(table.residuals, 1)
    ]
