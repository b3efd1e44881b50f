"""Expected behaviour of a good passage ranker, by probe.

A probe only measures. The desirable behaviour is an opinion and depends on the application. Most probes of style,
length and position have no expectation. A probe that sets its attribute ``expectation`` overrides this table.

================  ====================================================================================================
``"first"``       the first text should be preferred: a score of +1
``"second"``      the second text should be preferred: −1
``"neither"``     neither text should be preferred: 0
``""``            no expectation
================  ====================================================================================================

Axioms expect the first text. Axioms that only a negative effect violates have no expectation.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from termwise.probes.core.probe import SYMMETRIC_EXPECTATIONS, Probe

EXPECTED_SCORES = {"first": 1, "second": -1, "neither": 0}
"""Score of a ranker that meets an expectation."""

_BY_NAME = (
    ("first", "relevance-by-*"),
    ("", "shuffle-sentences* reverse-sentences*"),
    ("second", "shuffle-* reverse-* *-nonrelevant-sentence* replace-by-query*"),
    ("neither", "typos* keystrokes* fold-case* rejoin* prepend-query*"),
    ("neither", "paraphrase"),
    ("first", "factuality*"),
    ("first", "tfc1 tfc2 tfc3 lb1 lb2 tf-lnc prox1 prox2 prox3 prox4 prox5 stmc1 reg and m-and"),
    ("second", "negation-inserted"),
    ("first", "negation* exclusion-*"),
    ("neither", "stuffing-* injection-*"),
    ("second", "attack-*"),
    ("neither", "length-doubled length-best-again length-other-again"),
    ("neither", "noise-* query-*-moves gender-*"),
    ("first", "swap-roles swap-units"),
    ("second", "swap-numbers swap-dates swap-names"),
)
"""Expectations with patterns of probe names without the part after ``@``; the first match counts."""


def expectation_of(probe: Probe) -> str:
    """Return the expectation of a probe: its own, or the one of the table.

    Examples
    --------
    >>> from termwise.probes.language import open_language
    >>> from termwise.probes.core.probe_inputs import ProbeInputs
    >>> from termwise.probes.registry import families
    >>> from termwise.probes.core.suites import select_probes, suite_named
    >>> inputs = ProbeInputs(open_language("rules"), frozenset())
    >>> (selected,) = select_probes(families(), inputs, [suite_named("probe:factuality@written")])
    >>> expectation_of(selected.probe)
    'first'
    """
    if probe.expectation is not None:
        return probe.expectation
    name = probe.name.partition("@")[0]
    for expectation, patterns in _BY_NAME:
        if any(fnmatchcase(name, pattern) for pattern in patterns.split()):
            return "" if probe.symmetric and expectation not in SYMMETRIC_EXPECTATIONS else expectation
    return ""
