"""When one run is called better than another: a paired test, a correction of its p-value, and a level."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownNameError
from termwise.validation import is_finite_number

if TYPE_CHECKING:
    from termwise.evaluate.compare import Contrast

Test = Literal["t", "permutation"]
"""Which of the two paired tests."""

Correction = Literal["none", "bonferroni", "holm"]
"""How a p-value is corrected for the number of comparisons."""

Verdict = Literal["better", "worse", "not shown"]
"""What is said of a run; a difference that is not shown may be there all the same."""

TEST_NAMES: Mapping[str, str] = {"t": "paired t-test", "permutation": "paired sign-flip permutation test"}
"""The tests in words."""

CORRECTION_NAMES: Mapping[str, str] = {
    "none": "no correction",
    "bonferroni": "Bonferroni correction",
    "holm": "Holm correction",
}
"""The corrections in words."""


MOST_RESAMPLES = 10_000_000
"""Sign flips and bootstrap samples at most; minutes of work, for p-values far below any level in use."""


def check_names(test: str, correction: str) -> None:
    """Refuse a test or a correction that does not exist.

    Raises
    ------
    UnknownNameError
        With those that do.
    """
    if test not in TEST_NAMES:
        raise UnknownNameError.of("test", str(test), TEST_NAMES)
    if correction not in CORRECTION_NAMES:
        raise UnknownNameError.of("correction", str(correction), CORRECTION_NAMES)


@final
@dataclass(frozen=True, kw_only=True)
class Criterion:
    """When one run is called better than another.

    Parameters
    ----------
    test : {"t", "permutation"}, optional
        The test that decides.
    correction : {"none", "bonferroni", "holm"}, optional
        How its p-value is corrected.
    level : float, optional
        A corrected p below this shows a difference, an undefined one never does; between 0 and 1.

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
                fixes=["--level 0.05 (in Python level=0.05)"],
            )

    @property
    def how(self) -> str:
        """Test and correction in words."""
        return f"{TEST_NAMES[self.test]}, {CORRECTION_NAMES[self.correction]}"

    def least_p(self, *, resamples: int, comparisons: int) -> float:
        """Return a bound that no p lies below, whatever the differences: 0 but for the permutation test.

        Of N resamples and the observed arrangement a two-sided p counts two at least, 2 / (N + 1); both corrections
        multiply the smallest p of a family by the size of the family.

        Parameters
        ----------
        resamples : int
            Sign flips that are drawn.
        comparisons : int
            Size of the family.

        Examples
        --------
        >>> round(Criterion().least_p(resamples=100, comparisons=3), 4)
        0.0594
        """
        if self.test == "t":
            return 0.0
        return min(1.0, self._factor(comparisons) * 2 / (resamples + 1))

    def least_resamples(self, comparisons: int) -> int | None:
        """Return the fewest resamples with which the permutation test can show a difference; None beyond the most.

        Examples
        --------
        >>> Criterion(level=0.01).least_resamples(1), Criterion().least_resamples(300)
        (200, 12000)
        """
        needed = 2 * self._factor(comparisons) / self.level
        return math.floor(needed) if needed <= MOST_RESAMPLES else None

    def _factor(self, comparisons: int) -> int:
        return 1 if self.correction == "none" else comparisons

    def verdict(self, contrast: Contrast) -> Verdict:
        """Say whether the run of a contrast is better than its baseline, or worse, or neither was shown."""
        p = contrast.p(self.test, self.correction)
        if p is None or p >= self.level:
            return "not shown"
        return "better" if contrast.difference > 0 else "worse"


USUAL = Criterion()
"""What counts unless something else is asked for."""
