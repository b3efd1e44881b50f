"""Comparison of one run with another under one measure, and the criterion for calling it better or worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownNameError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.validation import is_finite_number

Test = Literal["t", "permutation"]
"""A paired test."""

Correction = Literal["none", "bonferroni", "holm"]
"""A correction of p-values for the number of comparisons."""

Verdict = Literal["better", "worse", "not significant"]
"""Result of a comparison; ``"not significant"`` does not mean that the runs are equal."""

TEST_NAMES: Mapping[str, str] = {"t": "paired t-test", "permutation": "paired sign-flip permutation test"}
"""Full names of the tests."""

CORRECTION_NAMES: Mapping[str, str] = {
    "none": "no correction",
    "bonferroni": "Bonferroni correction",
    "holm": "Holm correction",
}
"""Full names of the corrections."""


def _check_names(test: str, correction: str) -> None:
    """Raise `UnknownNameError` for an unknown test or correction."""
    if test not in TEST_NAMES:
        raise UnknownNameError.of("test", str(test), TEST_NAMES)
    if correction not in CORRECTION_NAMES:
        raise UnknownNameError.of("correction", str(correction), CORRECTION_NAMES)


@final
@dataclass(frozen=True, eq=False)
class Contrast:
    """One run against a baseline under one measure.

    Attributes
    ----------
    measure, baseline, run : str
        Measure and names of the runs; differences are `run` minus `baseline`.
    queries : int
        Number n of queries.
    baseline_mean, run_mean, difference : float
        Averages over the queries, and the mean difference.
    relative : float or None
        ``difference / baseline_mean``, 0.1 for ten percent more; None if the baseline mean is 0.
    ci_low, ci_high : float or None
        Bounds of the confidence interval of the mean difference.
    t, p_t, p_t_bonferroni, p_t_holm : float or None
        Paired t-test: statistic, p-value, corrected p-values.
    p_permutation, p_permutation_bonferroni, p_permutation_holm : float or None
        Sign-flip test: p-value in (0, 1], corrected p-values.
    effect_size : float or None
        Cohen's d_z.
    wins, ties, losses : int
        Queries on which the run is better, equal or worse.
    differences : ndarray of shape (n,), float64
        Per query, in the order of ``Comparison.query_ids``; read-only.
    """

    measure: str
    baseline: str
    run: str
    queries: int
    baseline_mean: float
    run_mean: float
    difference: float
    relative: float | None
    ci_low: float | None
    ci_high: float | None
    t: float | None
    p_t: float | None
    p_t_bonferroni: float | None
    p_t_holm: float | None
    p_permutation: float | None
    p_permutation_bonferroni: float | None
    p_permutation_holm: float | None
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    differences: npt.NDArray[np.float64]

    def p(self, test: Test, correction: Correction) -> float | None:
        """Return the p-value of one test under one correction."""
        _check_names(test, correction)
        name = f"p_{test}" if correction == "none" else f"p_{test}_{correction}"
        value: float | None = getattr(self, name)
        return value

    def row(self) -> dict[str, str | int | float | None]:
        """Return all fields except the per-query differences."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "differences"}


@final
@dataclass(frozen=True, kw_only=True)
class Criterion:
    """Condition for calling one run better than another.

    Parameters
    ----------
    test : {"t", "permutation"}, optional
        Paired test.
    correction : {"none", "bonferroni", "holm"}, optional
        Correction of its p-value for the number of comparisons.
    level : float, optional
        Between 0 and 1. A difference is shown if its corrected p is below this level, and never if p is undefined.

    Raises
    ------
    UnknownNameError
        If the test or the correction is unknown.
    ParameterError
        If the level is not between 0 and 1.

    Examples
    --------
    >>> Criterion(test="t", correction="none").how
    'paired t-test, no correction'
    """

    test: Test = "permutation"
    correction: Correction = "holm"
    level: float = 0.05

    def __post_init__(self) -> None:
        _check_names(self.test, self.correction)
        if not is_finite_number(self.level) or not 0 < self.level < 1:
            raise ParameterError(
                "the level of a test is out of range",
                facts=[("given", shown(self.level)), ("expected", "a number between 0 and 1")],
                fixes=[Fix.use(level=0.05)],
            )

    @property
    def how(self) -> str:
        """Names of the test and the correction."""
        return f"{TEST_NAMES[self.test]}, {CORRECTION_NAMES[self.correction]}"

    def verdict(self, contrast: Contrast) -> Verdict:
        """Return whether the run of a contrast is better or worse than its baseline."""
        p = contrast.p(self.test, self.correction)
        if p is None or p >= self.level:
            return "not significant"
        return "better" if contrast.difference > 0 else "worse"


DEFAULT_CRITERION = Criterion()
"""Permutation test, Holm correction, level 0.05."""
