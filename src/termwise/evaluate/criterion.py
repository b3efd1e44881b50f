"""When one run is called better than another: a paired test, a correction of its p-value, and a level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from termwise.arguments import is_finite_number
from termwise.errors import ParameterError, UnknownNameError
from termwise.legible import shown

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
            )

    @property
    def how(self) -> str:
        """Test and correction in words."""
        return f"{TEST_NAMES[self.test]}, {CORRECTION_NAMES[self.correction]}"

    def verdict(self, contrast: Contrast) -> Verdict:
        """Say whether the run of a contrast is better than its baseline, or worse, or neither was shown."""
        p = contrast.p(self.test, self.correction)
        if p is None or p >= self.level:
            return "not shown"
        return "better" if contrast.difference > 0 else "worse"


USUAL = Criterion()
"""What counts unless something else is asked for."""
