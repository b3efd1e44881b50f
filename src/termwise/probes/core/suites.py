"""Suites: named sets of probes, and the selection of probes by name or pattern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from termwise.errors import UnknownNameError, near_names
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs

_BY_NAME = "probe:"

SECTIONS = {
    "matched": "Measure and match",
    "matched-sum-tf": "Measure and match, sum of term frequencies",
    "manipulations": "Textual manipulation",
    "manipulations-by-grades": "Textual manipulation, by grades",
    "transfer": "Dataset transfer",
    "written": "Shipped pairs",
    "stuffing": "Stuffing and attacks",
    "injection": "Prompt injection",
    "position": "Position of the answer",
    "length": "Length and redundancy",
    "noise": "Surface noise",
    "queries": "The query",
    "swaps": "Facts swapped",
    "gender": "Gender wording",
}
"""Section titles of families, if they differ from the name of the family."""


class ProbeSelection(NamedTuple):
    """A probe selected for a run, with its section in the tables and the maximum number of its samples."""

    probe: Probe
    section: str
    limit: int | None = None


@dataclass(frozen=True)
class Suite:
    """Patterns of families and of probes in them.

    `patterns` has patterns of probe names, separated by spaces, by pattern of family names. A pattern without ``@``
    matches probes on any texts. `limit` is the default maximum number of samples of each probe.
    """

    name: str
    about: str
    patterns: Mapping[str, str]
    limit: int | None = None

    def includes(self, family: str, probe: str) -> bool:
        """Return whether a probe belongs to the suite."""
        return any(
            fnmatchcase(family, family_pattern)
            and any(_matches(probe, pattern) for pattern in patterns.split())
            for family_pattern, patterns in self.patterns.items()
        )


_PAPER = (
    "rem-stops-punct lemmatize shuffle-words shuffle-words-in-sentences shuffle-sentences shuffle-prepositions typos "
    "append-queries *nonrelevant-sentence* rejoin"
)
"""The manipulations of the paper and the control."""

_QUICK = {
    "matched": "relevance-by-* length-by-relevance tf-by-length",
    "manipulations": "rem-stops-punct lemmatize shuffle-words shuffle-sentences typos keystrokes *nonrelevant-sentence "
    "rejoin",
    "transfer": "*",
    "written": "*",
    "axioms": "*@constructed",
    "negation": "*@written *@semantoneg *@wikifactcheck *@condaqa *@nevir",
    "stuffing": "stuffing-append-[15] stuffing-scrambled-5 attack-none attack-query-1",
    "injection": "injection-word-end injection-instruction-end*",
    "position": "position-start-end position-padding-10",
    "length": "length-doubled length-filler-3 length-best-again",
    "noise": "noise-upper-case noise-invisible noise-lookalikes noise-html noise-urls",
    "queries": "query-*-moves",
    "swaps": "*@written",
    "gender": "*",
}

_ROBUSTNESS = {"[!matw]*": "*", "manipulations": "typos keystrokes fold-case shuffle-* rejoin"}

SUITES = {
    suite.name: suite
    for suite in (
        Suite("quick", "some probes of every kind, 100 pairs each: half a minute for BM25", _QUICK, 100),
        Suite(
            "paper",
            "the probes of ABNIRML: measure and match, manipulation, transfer from your data sets",
            {"matched": "*", "manipulations": _PAPER, "transfer": "*", "written": "*"},
        ),
        Suite(
            "robustness", "noise, typos, stuffing, position, length, negation, swaps, wording", _ROBUSTNESS
        ),
        Suite("axioms", "retrieval axioms as controlled and as real pairs", {"axioms": "*"}),
        Suite("all", "all probes, including those of plug-ins", {"*": "*"}),
    )
}
"""Suites by name."""


def select_probes(
    families: Iterable[Family], inputs: ProbeInputs, suites: Sequence[Suite]
) -> list[ProbeSelection]:
    """Return the probes that a suite includes, each once; the largest limit applies.

    Raises
    ------
    UnknownNameError
        If a suite includes no probe.
    """
    limits = [suite.limit for suite in suites if suite.limit is not None]
    limit = max(limits) if limits and len(limits) == len(suites) else None
    selected: list[ProbeSelection] = []
    names: list[str] = []
    unmatched = {suite.name: suite for suite in suites}
    for family in families:
        if not any(fnmatchcase(family.name, pattern) for suite in suites for pattern in suite.patterns):
            continue
        section = SECTIONS.get(family.name, family.name.replace("-", " ").capitalize())
        for probe in family.make(inputs):
            names.append(probe.name)
            including = [suite.name for suite in suites if suite.includes(family.name, probe.name)]
            if including:
                selected.append(ProbeSelection(probe, section, limit))
            for name in including:
                unmatched.pop(name, None)
    for name in unmatched:
        raise _unknown_probe(name, names)
    return selected


def suite_named(name: str) -> Suite:
    """Return a suite by name; ``probe:PATTERN`` is a suite of the probes whose names match.

    Raises
    ------
    UnknownNameError
        If there is no such suite.
    """
    if name in SUITES:
        return SUITES[name]
    if name.startswith(_BY_NAME):
        return Suite(name, "by name", {"*": name.removeprefix(_BY_NAME)})
    raise UnknownNameError.of("suite", name, [*SUITES, f"{_BY_NAME}NAME"])


def _unknown_probe(suite: str, probes: Iterable[str]) -> UnknownNameError:
    """Return the error for a suite without a probe; it lists only similar names out of hundreds."""
    pattern = suite.removeprefix(_BY_NAME)
    known = {probe if "@" in pattern else probe.partition("@")[0] for probe in probes}
    similar = [f"{_BY_NAME}{name}" for name in near_names(pattern, known)]
    return UnknownNameError(
        "there is no such probe",
        facts=[("given", suite)],
        fixes=[
            *([f"did you mean {' or '.join(similar)}?"] if similar else []),
            Fix.sentence("list all probes with {}", Fix.call("families")),
        ],
    )


def _matches(probe: str, pattern: str) -> bool:
    return fnmatchcase(probe if "@" in pattern else probe.partition("@")[0], pattern)
