"""Parity of statistics with scipy and statsmodels on plain arrays."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.unit.evaluate.compared_runs import compare_runs

from termwise.evaluate import bonferroni, holm
from termwise.evaluate.paired_tests import mean_interval
from termwise.records import Qrel, Ranking, Run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.weightstats import DescrStatsW


@given(st.lists(st.floats(0, 1), min_size=1, max_size=15))
def test_corrections_are_those_of_statsmodels(p):
    with patch("gc.collect"):  # which statsmodels calls each time, and takes a second beside other tests
        assert bonferroni(p) == pytest.approx(multipletests(p, method="bonferroni")[1])
        assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(8)
    n = 60
    qrels = [Qrel(f"q{i}", f"d{j}", int(rng.integers(0, 3))) for i in range(n) for j in range(6)]
    qrels += [Qrel(f"q{i}", "sure", 2) for i in range(n)]
    docs = [f"d{j}" for j in range(8)] + ["sure"]
    runs = []
    for name in ("a", "b", "c"):
        rankings = [Ranking(rng.permutation(docs).tolist(), np.zeros(9), f"q{i}") for i in range(n)]
        runs.append(Run(rankings, name))
    return compare_runs(runs, qrels, ["nDCG@5", "AP"], pairs="all")


def arrays(world, contrast):
    values = {e.run: e.values[contrast.measure] for e in world.evaluations}
    return values[contrast.baseline], values[contrast.run]


def test_the_t_test_is_that_of_scipy_and_statsmodels(world):
    for contrast in world.contrasts:
        before, after = arrays(world, contrast)
        expected = stats.ttest_rel(after, before)
        assert contrast.t == pytest.approx(expected.statistic)
        assert contrast.p_t == pytest.approx(expected.pvalue)
        t, p, _ = DescrStatsW(after - before).ttest_mean(0)
        assert (contrast.t, contrast.p_t) == (pytest.approx(t), pytest.approx(p))
        assert contrast.effect_size == pytest.approx(contrast.t / np.sqrt(contrast.queries))


def test_corrected_p_values_are_those_of_the_family(world):
    for measure in world.measures:
        family = world.of(measure)
        for test in ("t", "permutation"):
            raw = [c.p(test, "none") for c in family]
            for correction in ("bonferroni", "holm"):
                ours = [c.p(test, correction) for c in family]
                assert ours == pytest.approx(multipletests(raw, method=correction)[1])


def test_the_permutation_test_is_that_of_scipy_on_pairs(world):
    # A swap of the two values of a query flips the sign of their difference.
    for contrast in world.of("nDCG@5"):
        before, after = arrays(world, contrast)
        expected = stats.permutation_test(
            (after, before),
            lambda x, y, axis: (x - y).mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=20_000,
            rng=np.random.default_rng(1),
        ).pvalue
        sampling = 4 * np.sqrt(expected * (1 - expected) / 10_000) + 1e-3
        assert contrast.p_permutation == pytest.approx(expected, abs=sampling)
        assert contrast.p_permutation == pytest.approx(contrast.p_t, abs=0.03)


def test_the_interval_is_that_of_scipy_and_close_to_student(world):
    for contrast in world.contrasts:
        before, after = arrays(world, contrast)
        differences = after - before
        expected = stats.bootstrap(
            (differences,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
        ).confidence_interval
        width = expected.high - expected.low
        assert contrast.ci_low == pytest.approx(expected.low, abs=0.04 * width)
        assert contrast.ci_high == pytest.approx(expected.high, abs=0.04 * width)
        low, high = DescrStatsW(differences).tconfint_mean()
        assert contrast.ci_low == pytest.approx(low, abs=0.15 * width)
        assert contrast.ci_high == pytest.approx(high, abs=0.15 * width)


def test_the_interval_covers_as_often_as_it_says():
    # Differences with a known mean of 0.05, half of them 0; with fewer queries the bootstrap intervals are too short.
    rng = np.random.default_rng(3)
    draws, n = 300, 250
    covered = 0
    for _ in range(draws):
        differences = np.where(rng.random(n) < 0.5, 0.0, rng.normal(0.1, 0.25, n))
        low, high = mean_interval(differences, confidence=0.95, resamples=1000, seed=0)
        covered += low <= 0.05 <= high
    assert covered / draws == pytest.approx(0.95, abs=0.03)
