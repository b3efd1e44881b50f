r"""Confidence intervals and tests of probe scores, with queries as clusters.

Samples of one query share a query or a text and are not independent. With the queries as clusters, :math:`s_g` the sum
of the effects of query g and :math:`n_g` the number of its samples, the score is the ratio :math:`\sum s_g / \sum n_g`:

====================  ================================================================================================
`interval`            bootstrap: queries are drawn with replacement, each with all its samples; percentiles of the ratio
`clustered_t`         a t-test of the score against 0 with the variance of a ratio over clusters,
                      :math:`\sum_g (s_g - s\,n_g)^2 / (\sum n_g)^2 \cdot G/(G-1)`, and G - 1 degrees of freedom (Liang
                      & Zeger, Biometrika 1986; the usual correction for few clusters). If all clusters have the same
                      mean, the variance is 0 and t undefined; p is the p-value of the exact sign test with G equal
                      signs, :math:`2^{1-G}`
`published_t`         the paired t-test of the two scores over all samples, as published, without threshold and
                      clusters. None for a symmetric probe
`compare`             difference of the scores of two scorers on the same samples, with interval and clustered test
====================  ================================================================================================

An undefined statistic is None: every statistic without a sample, tests and intervals with a single query, intervals
without variation, and tests if all values are 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.probes.core.result import ProbeResult
from termwise.probes.core.score_gaps import Scores
from termwise.validation import check_count

CONFIDENCE, RESAMPLES, SEED = 0.95, 10_000, 0

_ROUNDING = 1e-12  # relative tolerance for equal means

_DRAWS_IN_MEMORY = 4_000_000  # drawn queries held in memory at once


@dataclass(frozen=True)
class Estimate:
    """A mean over samples with confidence interval and test.

    Attributes
    ----------
    value : float or None
        The mean; None without a sample.
    low, high : float or None
        Bounds of its interval.
    t, p : float or None
        Two-sided clustered test against 0.
    queries, samples : int
        Numbers of queries and samples.
    """

    value: float | None
    low: float | None
    high: float | None
    t: float | None
    p: float | None
    queries: int
    samples: int


def estimate(result: ProbeResult, *, resamples: int = RESAMPLES) -> Estimate:
    """Return the score of a probe with interval and clustered test.

    Parameters
    ----------
    result : ProbeResult
    resamples : int, optional
        Resamples of the bootstrap.

    Returns
    -------
    Estimate
        Undefined statistics are None.

    Examples
    --------
    >>> from termwise.probes import ProbeResult
    >>> first, effects = np.array([3.0, 2.0, 1.0, 4.0]), np.array([1, 1, 0, 1], dtype=np.int8)
    >>> result = ProbeResult(
    ...     "mine", "bm25", False, {}, "", ("1", "2", "3", "4"), ("a", "a", "b", "c"), first, np.ones(4), effects, 0
    ... )
    >>> score = estimate(result)
    >>> score.value, score.queries, score.samples
    (0.75, 3, 4)
    """
    return _estimate(result.effects.astype(np.float64), result.query_ids, resamples)


def compare(result: ProbeResult, baseline: ProbeResult, *, resamples: int = RESAMPLES) -> Estimate:
    """Return the score of a result minus the score of a baseline on the same samples.

    Parameters
    ----------
    result, baseline : ProbeResult
        Results of one probe with equal `ProbeResult.content`.
    resamples
        See `estimate`.

    Returns
    -------
    Estimate
        Positive if `result` scores higher.

    Raises
    ------
    ParameterError
        If the samples differ.
    """
    if result.content != baseline.content:
        raise ParameterError(
            "results of different samples cannot be compared",
            facts=[
                ("probe", result.probe),
                (result.scorer, f"{len(result):,} samples, {result.content[:19]}"),
                (baseline.scorer, f"{len(baseline):,} samples, {baseline.content[:19]}"),
            ],
            fixes=["run the same probe with the same seed and data for both scorers"],
        )
    differences = result.effects.astype(np.float64) - baseline.effects
    return _estimate(differences, result.query_ids, resamples)


def published_t(result: ProbeResult) -> tuple[float | None, float | None]:
    """Return t and p of the two-sided paired t-test over the scores of all samples.

    Both are None for symmetric probes, fewer than two samples, equal differences and infinite differences.
    """
    varying = _normalised(result.differences)
    if result.symmetric or varying is None:
        return None, None
    from scipy.stats import ttest_1samp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nearly equal differences
        test = ttest_1samp(varying, 0.0)
    return float(test.statistic), float(test.pvalue)


def standardised_mean(values: Scores) -> float | None:
    """Return mean / standard deviation; None for fewer than two values, equal values and infinite values.

    Examples
    --------
    >>> standardised_mean(np.array([1.0, 2.0, 3.0])), standardised_mean(np.array([1e-200, 2e-200, 3e-200]))
    (2.0, 2.0)
    """
    varying = _normalised(values)
    return None if varying is None else float(varying.mean() / varying.std(ddof=1))


def _normalised(values: Scores) -> Scores | None:
    """Return values times a power of two so that their squares neither underflow nor overflow.

    Mean / standard deviation is unchanged to the last bit. None for fewer than two, equal or infinite values.
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    _, exponent = np.frexp(np.abs(values).max())
    scaled: Scores = np.ldexp(values, -exponent)
    return scaled if np.ptp(scaled) else None


def clustered_t(values: Scores, query_ids: Sequence[str]) -> tuple[float | None, float | None]:
    """Return t and p of the clustered test of a mean against 0; see the module docstring.

    Examples
    --------
    >>> clustered_t(np.ones(6), ["a", "a", "b", "b", "c", "d"])
    (None, 0.125)
    """
    sums, sizes = _clusters(values, query_ids)
    clusters = len(sums)
    if clusters < 2:
        return None, None
    mean = sums.sum() / sizes.sum()
    deviations = sums - mean * sizes
    if np.abs(deviations).max() <= _ROUNDING * sizes.max():
        return None, None if mean == 0 else 2.0 ** (1 - clusters)
    variance = float((deviations**2).sum()) / float(sizes.sum()) ** 2 * clusters / (clusters - 1)
    from scipy.stats import t as student

    t = float(mean / np.sqrt(variance))
    return t, float(2 * student.sf(abs(t), clusters - 1))


def interval(
    values: Scores, query_ids: Sequence[str], *, resamples: int
) -> tuple[float | None, float | None]:
    """Return the bounds of the bootstrap interval of a mean; see the module docstring."""
    check_count("resamples", resamples)
    sums, sizes = _clusters(values, query_ids)
    clusters = len(sums)
    if clusters < 2 or not np.ptp(values):
        return None, None
    generator = np.random.default_rng(SEED)
    means = np.empty(resamples)
    step = max(1, _DRAWS_IN_MEMORY // clusters)
    for begin in range(0, resamples, step):
        end = min(begin + step, resamples)
        drawn = generator.integers(0, clusters, size=(end - begin, clusters), dtype=np.int32)
        means[begin:end] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    outside = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(means, [outside, 100 - outside])
    return float(low), float(high)


def _estimate(values: Scores, query_ids: Sequence[str], resamples: int) -> Estimate:
    low, high = interval(values, query_ids, resamples=resamples)
    if not len(values):
        return Estimate(None, None, None, None, None, 0, 0)
    t, p = clustered_t(values, query_ids)
    return Estimate(float(values.mean()), low, high, t, p, len(set(query_ids)), len(values))


def _clusters(values: Scores, query_ids: Sequence[str]) -> tuple[Scores, Scores]:
    """Return the sum and the count of the values of each query."""
    if not len(values):
        return np.empty(0), np.empty(0)
    _, number = np.unique(np.array(query_ids, dtype=object), return_inverse=True)
    sums: Scores = np.bincount(number, weights=values).astype(np.float64)
    sizes: Scores = np.bincount(number).astype(np.float64)
    return sums, sizes


@dataclass(frozen=True, eq=False)
class Sweep:
    """The score of a probe by threshold.

    Attributes
    ----------
    percentiles, deltas, scores : ndarray of shape (101,), float64
        Percentiles of the gaps from 0 to 100, with their thresholds and mean effects.
    """

    percentiles: Scores
    deltas: Scores
    scores: Scores

    @property
    def area(self) -> float:
        """The mean score over all percentiles."""
        return float(self.scores.mean())


def sweep(result: ProbeResult, gaps: Scores) -> Sweep | None:
    """Return the score of a probe at each percentile of the gaps; None without a sample.

    Parameters
    ----------
    result : ProbeResult
        Result of the probe; its effects are not used.
    gaps : ndarray of shape (g,), float64
        Gaps of the scorer, at least one; see `termwise.probes.core.score_gaps.pooled_gaps`.
    """
    if not len(result):
        return None
    percentiles = np.arange(101, dtype=np.float64)
    deltas = np.percentile(gaps, percentiles)
    differences = np.sort(result.differences)
    count = len(differences)
    positive = count - np.searchsorted(differences, deltas, side="right")
    negative = np.searchsorted(differences, -deltas, side="left")
    effects = positive + negative if result.symmetric else positive - negative
    return Sweep(percentiles, deltas, effects / count)
