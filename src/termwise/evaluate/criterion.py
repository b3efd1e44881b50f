"""Criterion for calling a run better or worse: a paired test, a correction of its p-value, and a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from termwise.display.safe_text import shown
from termwise.errors import ParameterError
from termwise.evaluate.contrast import CORRECTION_NAMES, TEST_NAMES, Contrast, Correction, Test, check_names
from termwise.validation import is_finite_number

Verdict = Literal["better", "worse", "not shown"]
"""Result of a comparison; ``"not shown"`` does not mean that the runs are equal."""


@final
@dataclass(frozen=True, kw_only=True)
class Criterion:
    """When one run is called better than another.

    Parameters
    ----------
    test : {"t", "permutation"}, optional
        Paired test.
    correction : {"none", "bonferroni", "holm"}, optional
        Correction of its p-value for the number of comparisons.
    level : float, optional
        A corrected p below this level shows a difference, an undefined p never does; between 0 and 1.

    Raises
    ------
    UnknownNameError
        If there is no such test or correction.
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
        check_names(self.test, self.correction)
        if not is_finite_number(self.level) or not 0 < self.level < 1:
            raise ParameterError(
                "the level of a test is out of range",
                facts=[("given", shown(self.level)), ("expected", "a number between 0 and 1")],
                fixes=["set `level=0.05`"],
            )

    @property
    def how(self) -> str:
        """Names of the test and the correction."""
        return f"{TEST_NAMES[self.test]}, {CORRECTION_NAMES[self.correction]}"

    def verdict(self, contrast: Contrast) -> Verdict:
        """Return whether the run of a contrast is better or worse than its baseline."""
        p = contrast.p(self.test, self.correction)
        if p is None or p >= self.level:
            return "not shown"
        return "better" if contrast.difference > 0 else "worse"


DEFAULT_CRITERION = Criterion()
"""Permutation test, Holm correction, level 0.05."""
