"""Assertions on probe scores: ``typos<-0.3`` fails if a score is below -0.3."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from termwise.errors import UnknownNameError, UsageError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix

_SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_ASSERTION = re.compile(
    r"\s*(?P<probe>[^<>=\s][^<>=]*?)\s*(?P<sign><=|>=|<|>)\s*(?P<value>[-+−]?[0-9]*\.?[0-9]+)\s*"
)

NO_PAIR = "there is no pair in these texts"
"""Reason why a probe without samples has no score."""


@dataclass(frozen=True)
class Assertion:
    """Assertion that fails if the score of a probe is in a given range, such as ``bm25:typos<-0.3``.

    Probe and scorer are names or patterns with ``*``. A probe without ``@`` matches on any texts. The sign is ``<``,
    ``<=``, ``>`` or ``>=``.
    """

    text: str
    probe: str
    scorer: str
    sign: str
    value: float

    @classmethod
    def read(cls, text: str) -> Assertion:
        """Parse ``[SCORER:]PROBE<NUMBER``; `UsageError` for anything else.

        Examples
        --------
        >>> assertion = Assertion.read("bm25:typos<-0.3")
        >>> assertion.scorer, assertion.probe, assertion.sign, assertion.value
        ('bm25', 'typos', '<', -0.3)
        """
        parts = _ASSERTION.fullmatch(text)
        if parts is None:
            raise UsageError(
                "an assertion is a probe, a sign and a number",
                facts=[("given", text)],
                fixes=[Fix.use(fail_if="typos<-0.3"), Fix.use(fail_if="bm25:shuffle-*>=0.1")],
            )
        scorer, colon, probe = parts["probe"].rpartition(":")
        value = float(parts["value"].replace("−", "-"))
        return cls(text, probe, scorer if colon else "*", parts["sign"], value)

    def matches_probe(self, name: str) -> bool:
        """Return whether the assertion applies to a probe."""
        return fnmatchcase(name if "@" in self.probe else name.partition("@")[0], self.probe)

    def matches_scorer(self, name: str) -> bool:
        """Return whether the assertion applies to a scorer."""
        return fnmatchcase(name, self.scorer)


def check_assertions(
    assertions: Iterable[Assertion],
    *,
    probes: Sequence[str],
    scorers: Sequence[str],
    without_samples: Mapping[str, str] | None = None,
) -> None:
    """Raise an error if an assertion matches no scorer, or no probe that can have a score.

    `without_samples` has the reason for each probe without samples. An assertion on such probes only can never fail.
    """
    reasons = without_samples or {}
    for assertion in assertions:
        if not any(map(assertion.matches_scorer, scorers)):
            raise UnknownNameError.of("ranker in an assertion", assertion.scorer, set(scorers))
        matching = [name for name in probes if assertion.matches_probe(name)]
        if not matching:
            known = set(probes) if "@" in assertion.probe else {name.partition("@")[0] for name in probes}
            raise UnknownNameError.of("probe in an assertion", assertion.probe, known)
        if all(name in reasons for name in matching):
            raise _never_fails(assertion, [(name, reasons[name]) for name in matching])


def failed_assertions(
    assertions: Iterable[Assertion], report: Mapping[str, Any]
) -> list[tuple[Assertion, dict[str, Any]]]:
    """Return each failed assertion with each cell of the report that fails it.

    Parameters
    ----------
    assertions : iterable of Assertion
    report : mapping
        Value of `termwise.probes.probe_rankers` or `read_report`.

    Raises
    ------
    UnknownNameError
        If an assertion matches no probe or no scorer of the report.
    UsageError
        If none of the matching cells has a score, so that the assertion can never fail.
    """
    failed = []
    probes, scorers = ([one["name"] for one in report[part]] for part in ("probes", "scorers"))
    for assertion in assertions:
        check_assertions([assertion], probes=probes, scorers=scorers)
        cells = [
            cell
            for cell in report["cells"]
            if cell["score"] is not None
            and assertion.matches_probe(cell["probe"])
            and assertion.matches_scorer(cell["scorer"])
        ]
        if not cells:
            raise _never_fails(assertion, _missing_scores(assertion, report))
        fails = _SIGNS[assertion.sign]
        failed += [(assertion, cell) for cell in cells if fails(cell["score"], assertion.value)]
    return failed


def _missing_scores(assertion: Assertion, report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the matching probes with the reasons why they have no score."""
    empty = [
        (probe["name"], NO_PAIR)
        for probe in report["probes"]
        if assertion.matches_probe(probe["name"]) and not probe["samples"]
    ]
    return empty + [
        (probe, f"skipped for {scorer['name']}: {reason}")
        for scorer in report["scorers"]
        if assertion.matches_scorer(scorer["name"])
        for probe, reason in scorer["skipped"].items()
        if assertion.matches_probe(probe)
    ]


def _never_fails(assertion: Assertion, reasons: Sequence[tuple[str, str]]) -> UsageError:
    return UsageError(
        "an assertion that can never fail: no matching probe has a score",
        facts=[("given", assertion.text), *reasons[:4]],
        fixes=["remove it", "name a probe that has pairs in these texts"],
    )
