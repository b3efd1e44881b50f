import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import ParameterError
from termwise.evaluate import Latency, LatencySummary


def test_by_hand():
    summary = LatencySummary.of(np.arange(1, 102) / 1000)  # 1 to 101 ms
    assert (summary.n, summary.mean, summary.p50, summary.maximum) == (
        101,
        *map(pytest.approx, (51, 51, 101)),
    )
    assert summary.p99 == pytest.approx(100)


def test_one_query_and_none():
    assert LatencySummary.of([0.002]) == LatencySummary(1, 2.0, 2.0, 2.0, 2.0)
    assert LatencySummary.of([]) == LatencySummary(0, None, None, None, None)


def test_the_total_is_summed_per_query():
    latency = Latency.of([0.001, 0.003], [0.003, 0.001])
    assert latency.total.p50 == latency.total.maximum == pytest.approx(4.0)
    assert latency.encoding.maximum == latency.scoring.maximum == pytest.approx(3.0)
    assert set(latency.row()) >= {"queries", "encoding_mean_ms", "scoring_p99_ms", "total_maximum_ms"}


@pytest.mark.parametrize("times", [[-1e-9], [math.nan], [math.inf], [[0.1]]])
def test_impossible_times_are_refused(times):
    with pytest.raises(ParameterError):
        LatencySummary.of(times)


def test_different_numbers_of_queries_are_refused():
    with pytest.raises(ParameterError):
        Latency.of([0.1], [0.1, 0.2])


@given(st.lists(st.floats(0, 10), min_size=1, max_size=50))
def test_the_parts_are_ordered(seconds):
    s = LatencySummary.of(seconds)
    assert 0 <= s.p50 <= s.p99 <= s.maximum
    assert s.mean <= s.maximum * (1 + 1e-12)
