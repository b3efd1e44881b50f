"""Demands on a ranker that a machine can check: ``typos<-0.3`` fails where a score is below -0.3."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from termwise.errors import UnknownNameError, UsageError

_SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_WRITTEN = re.compile(
    r"\s*(?P<probe>[^<>=\s][^<>=]*?)\s*(?P<sign><=|>=|<|>)\s*(?P<value>[-+−]?[0-9]*\.?[0-9]+)\s*"
)


NO_PAIR = "there is no pair in these texts"
"""Why a probe without samples has no score."""


@dataclass(frozen=True)
class Assertion:
    """What must not be: the score of a probe on one side of a number; see `Assertion.read`.

    Attributes
    ----------
    text : str
        As it was written.
    probe : str
        A name of a probe, or a pattern with ``*``. A name without ``@`` is the probe on whatever texts.
    scorer : str
        A name or pattern; ``*`` for every one.
    sign : str
        ``<``, ``<=``, ``>`` or ``>=``.
    value : float
    """

    text: str
    probe: str
    scorer: str
    sign: str
    value: float

    @classmethod
    def read(cls, text: str) -> Assertion:
        """Read ``[SCORER:]PROBE<NUMBER``.

        Raises
        ------
        UsageError
            If it is written otherwise.

        Examples
        --------
        >>> demand = Assertion.read("bm25:typos<-0.3")
        >>> demand.scorer, demand.probe, demand.sign, demand.value
        ('bm25', 'typos', '<', -0.3)
        """
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise UsageError(
                "a demand is a probe, a sign and a number",
                facts=[("given", text)],
                fixes=["--fail-if 'typos<-0.3'", "--fail-if 'bm25:shuffle-*>=0.1'"],
            )
        scorer, colon, probe = found["probe"].rpartition(":")
        return cls(
            text, probe, scorer if colon else "*", found["sign"], float(found["value"].replace("−", "-"))
        )

    def names_probe(self, name: str) -> bool:
        """Whether a probe is one that is spoken of."""
        return fnmatchcase(name if "@" in self.probe else name.partition("@")[0], self.probe)

    def names_scorer(self, name: str) -> bool:
        """Whether a scorer is one that is spoken of."""
        return fnmatchcase(name, self.scorer)


def check_assertions(
    demands: Iterable[Assertion],
    *,
    probes: Sequence[str],
    scorers: Sequence[str],
    idle: Mapping[str, str] | None = None,
) -> None:
    """Refuse a demand that speaks of no probe, or no scorer, of a run, or of none that can have a score.

    Parameters
    ----------
    demands : iterable of Assertion
    probes, scorers : sequence of str
        Names of those that are asked.
    idle : mapping of str to str, optional
        Of probes without samples, why there are none.

    Raises
    ------
    UnknownNameError
        If there is none.
    UsageError
        If all probes that it speaks of are idle: a check that nothing can fail is a mistake.
    """
    idle = idle or {}
    for demand in demands:
        if not any(map(demand.names_scorer, scorers)):
            raise UnknownNameError.of("ranker in a demand", demand.scorer, set(scorers))
        if not any(map(demand.names_probe, probes)):
            known = set(probes) if "@" in demand.probe else {name.partition("@")[0] for name in probes}
            raise UnknownNameError.of("probe in a demand", demand.probe, known)
        spoken_of = [name for name in probes if demand.names_probe(name)]
        if all(name in idle for name in spoken_of):
            raise _vain(demand, [(name, idle[name]) for name in spoken_of])


def failed_assertions(
    demands: Iterable[Assertion], report: Mapping[str, Any]
) -> list[tuple[Assertion, dict[str, Any]]]:
    """Return the cells that are as they must not be.

    Parameters
    ----------
    demands : iterable of Assertion
        `Assertion.read` makes one of a text.
    report : mapping
        What `termwise.probes.probe_rankers` or `read_report` returns.

    Returns
    -------
    list of (Assertion, dict)
        Each with a cell of the report that fails it.

    Raises
    ------
    UnknownNameError
        If a demand speaks of no probe, or no scorer, of the report.
    UsageError
        If no cell that it speaks of has a score: a check that nothing can fail is a mistake.
    """
    found = []
    probes, scorers = ([one["name"] for one in report[kind]] for kind in ("probes", "scorers"))
    for demand in demands:
        check_assertions([demand], probes=probes, scorers=scorers)
        cells = [
            cell
            for cell in report["cells"]
            if cell["score"] is not None
            and demand.names_probe(cell["probe"])
            and demand.names_scorer(cell["scorer"])
        ]
        if not cells:
            raise _vain(demand, _reasons(demand, report))
        found += [(demand, cell) for cell in cells if _SIGNS[demand.sign](cell["score"], demand.value)]
    return found


def _reasons(demand: Assertion, report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the probes that a demand speaks of, with why they have no score."""
    empty = [
        (probe["name"], NO_PAIR)
        for probe in report["probes"]
        if demand.names_probe(probe["name"]) and not probe["samples"]
    ]
    return empty + [
        (probe, f"{scorer['name']} was not asked: {why}")
        for scorer in report["scorers"]
        if demand.names_scorer(scorer["name"])
        for probe, why in scorer["skipped"].items()
        if demand.names_probe(probe)
    ]


def _vain(demand: Assertion, reasons: Sequence[tuple[str, str]]) -> UsageError:
    """Return the error for a demand that nothing can fail: it says why there is no score."""
    return UsageError(
        "a demand that nothing can fail: what it speaks of has no score",
        facts=[("given", demand.text), *reasons[:4]],
        fixes=["leave it out", "name a probe that has pairs in these texts"],
    )
