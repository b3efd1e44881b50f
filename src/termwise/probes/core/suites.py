"""Suites: which probes are asked, by name or by pattern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple

from termwise.errors import UnknownNameError, near_names
from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs

_BY_NAME = "probe:"

SECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "matched": "Measure and match",
        "matched-sum-tf": "Measure and match, sum of term frequencies",
        "manipulations": "Textual manipulation",
        "manipulations-by-grades": "Textual manipulation, by grades",
        "transfer": "Dataset transfer",
        "written": "Pairs that ship",
        "stuffing": "Stuffing and attacks",
        "injection": "Prompt injection",
        "position": "Position of the answer",
        "length": "Length and redundancy",
        "noise": "Surface noise",
        "queries": "The query",
        "swaps": "Facts swapped",
        "gender": "Gender wording",
    }
)
"""What tables call a family, where it is not its name."""

_BEHAVIOUR = (
    "negation",
    "stuffing",
    "injection",
    "position",
    "length",
    "noise",
    "queries",
    "swaps",
    "gender",
)


class Chosen(NamedTuple):
    """A probe of a suite, and the section that tables put it in."""

    probe: Probe
    section: str


@dataclass(frozen=True)
class Suite:
    """Patterns of families and of probes in them.

    Attributes
    ----------
    name : str
    about : str
        One line.
    patterns : mapping of str to tuple of str
        For a pattern of family names, patterns of names of probes; one without ``@`` is met by a probe on any texts.
    most : int or None
        Samples of each probe, at the most, unless said otherwise.
    """

    name: str
    about: str
    patterns: Mapping[str, tuple[str, ...]]
    most: int | None = None

    def chooses(self, family: str, probe: str) -> bool:
        """Whether a probe is of this suite."""
        return any(
            fnmatchcase(family, of_family) and any(_fits(probe, pattern) for pattern in patterns)
            for of_family, patterns in self.patterns.items()
        )


_PAPER = (
    "rem-stops-punct", "lemmatize", "shuffle-words", "shuffle-words-in-sentences", "shuffle-sentences",
    "shuffle-prepositions", "typos", "append-queries", "*nonrelevant-sentence*", "rejoin",
)  # fmt: skip
"""The manipulations of the paper, and the control."""

SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        suite.name: suite
        for suite in (
            Suite(
                "quick",
                "some probes of every kind, 100 pairs each: half a minute for BM25",
                {
                    "matched": ("relevance-by-*", "length-by-relevance", "tf-by-length"),
                    "manipulations": (
                        "rem-stops-punct",
                        "lemmatize",
                        "shuffle-words",
                        "shuffle-sentences",
                        "typos",
                        "keystrokes",
                        "*nonrelevant-sentence",
                        "rejoin",
                    ),
                    "transfer": ("*",),
                    "written": ("*",),
                    "axioms": ("*@constructed",),
                    "negation": ("*@written", "*@semantoneg", "*@wikifactcheck", "*@condaqa", "*@nevir"),
                    "stuffing": (
                        "stuffing-append-[15]",
                        "stuffing-scrambled-5",
                        "attack-none",
                        "attack-query-1",
                    ),
                    "injection": ("injection-word-end", "injection-instruction-end*"),
                    "position": ("position-start-end", "position-padding-10"),
                    "length": ("length-doubled", "length-filler-3", "length-best-again"),
                    "noise": (
                        "noise-upper-case",
                        "noise-invisible",
                        "noise-lookalikes",
                        "noise-html",
                        "noise-urls",
                    ),
                    "queries": ("query-*-moves",),
                    "swaps": ("*@written",),
                    "gender": ("*",),
                },
                most=100,
            ),
            Suite(
                "paper",
                "the probes of ABNIRML: measure and match, manipulation, transfer from your data sets",
                {"matched": ("*",), "manipulations": _PAPER, "transfer": ("*",), "written": ("*",)},
            ),
            Suite(
                "robustness",
                "noise, typos, stuffing, position, length, negation, swaps, wording",
                {
                    "[!matw]*": ("*",),
                    "manipulations": ("typos", "keystrokes", "fold-case", "shuffle-*", "rejoin"),
                },
            ),
            Suite("axioms", "retrieval axioms as controlled and as real pairs", {"axioms": ("*",)}),
            Suite("all", "everything there is, with what plug-ins bring", {"*": ("*",)}),
        )
    }
)
"""By name."""


def select_probes(families: Iterable[Family], material: ProbeInputs, suites: Sequence[Suite]) -> list[Chosen]:
    """Return the probes of some suites, each once.

    Parameters
    ----------
    families : iterable of Family
        All there are; see `termwise.probes.registry.families`.
    material : ProbeInputs
        What they are made from.
    suites : sequence of Suite
        A probe is of any of them.

    Raises
    ------
    UnknownNameError
        If there is no probe of a suite: a name that nothing bears is a mistake.
    """
    found: list[Chosen] = []
    names: list[str] = []
    without = {suite.name: suite for suite in suites}
    for family in families:
        section = SECTIONS.get(family.name, family.name.replace("-", " ").capitalize())
        if not any(fnmatchcase(family.name, pattern) for suite in suites for pattern in suite.patterns):
            continue
        for probe in family.make(material):
            names.append(probe.name)
            of_suites = [suite.name for suite in suites if suite.chooses(family.name, probe.name)]
            if of_suites:
                found.append(Chosen(probe, section))
            for name in of_suites:
                without.pop(name, None)
    for name in without:
        raise _unknown(name, names)
    return found


def suite_named(name: str) -> Suite:
    """Return a suite by its name; ``probe:NAME`` is one of its own, where ``*`` stands for any letters.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    if name in SUITES:
        return SUITES[name]
    if name.startswith(_BY_NAME):
        return Suite(name, "by name", {"*": (name.removeprefix(_BY_NAME),)})
    raise UnknownNameError.of("suite", name, [*SUITES, f"{_BY_NAME}NAME"])


def _unknown(suite: str, probes: Iterable[str]) -> UnknownNameError:
    """Build the error for a suite without a probe, with what is spelt like it; all names would be hundreds."""
    pattern = suite.removeprefix(_BY_NAME)
    known = {probe if "@" in pattern else probe.partition("@")[0] for probe in probes}
    near = [f"{_BY_NAME}{name}" for name in near_names(pattern, known)]
    return UnknownNameError(
        "there is no such probe",
        facts=[("given", suite)],
        fixes=[
            *([f"did you mean {' or '.join(near)}?"] if near else []),
            "termwise probe --list --suite all, with the same --judged and --data",
        ],
    )


def _fits(probe: str, pattern: str) -> bool:
    return fnmatchcase(probe if "@" in pattern else probe.partition("@")[0], pattern)
