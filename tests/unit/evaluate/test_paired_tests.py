"""Paired statistics, by hand and where they are not defined."""

import math

import numpy as np
import pytest

from termwise.evaluate.paired_tests import ROUNDING, mean_interval, paired_differences, paired_t, sign_flip_p


def test_t_and_effect_size_by_hand():
    before, after = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.2, 0.4, 0.3, 0.5])
    # differences 0.1, 0.2, 0, 0.1: mean 0.1, sum of squares about it 0.02, standard deviation sqrt(0.02 / 3)
    deviation = math.sqrt(0.02 / 3)
    t, p, effect = paired_t(before, after)
    assert effect == pytest.approx(0.1 / deviation)
    assert t == pytest.approx(0.1 / (deviation / 2))
    assert 0.05 < p < 0.1  # t of 2.449 with 3 degrees of freedom lies between the table's 2.353 and 3.182


def test_all_sign_patterns_are_used_if_they_are_few():
    # Of 16 arrangements of 1, 2, 3, 4 only all + and all - have a mean as far from 0.
    assert sign_flip_p(np.array([0.1, 0.2, 0.3, 0.4]), resamples=1000, seed=0) == 2 / 16
    assert sign_flip_p(np.array([0.1, 0.0, 0.2, 0.3, 0.4, 0.0]), resamples=1000, seed=0) == 2 / 16


def test_a_sampled_p_is_never_zero():
    assert sign_flip_p(np.full(60, 0.5), resamples=100, seed=0) == pytest.approx(2 / 101)


def test_the_interval_lies_around_the_mean_and_within_the_differences():
    differences = np.random.default_rng(1).normal(0.1, 0.2, 80)
    low, high = mean_interval(differences, confidence=0.9, resamples=500, seed=0)
    assert differences.min() < low < differences.mean() < high < differences.max()


@pytest.mark.parametrize(
    "differences", [[], [0.5], [0.0, 0.0], [0.25, 0.25, 0.25], [0.25, 0.25 + ROUNDING / 2]]
)
def test_undefined_statistics_are_none(differences):
    values = np.array(differences, dtype=np.float64)
    assert paired_t(np.zeros_like(values), values) == (None, None, None)
    assert mean_interval(values, confidence=0.95, resamples=100, seed=0) == (None, None)
    assert (sign_flip_p(values, resamples=100, seed=0) is None) == (len(values) < 2)


def test_rounding_is_no_difference():
    differences = paired_differences(
        np.array([0.3, 0.3, 0.3]), np.array([0.1 + 0.2, 0.3 + 2e-9, 0.3 - 1e-10])
    )
    assert differences.tolist() == [0.0, pytest.approx(2e-9), 0.0]
    with pytest.raises(ValueError, match="read-only"):
        differences[0] = 1.0
