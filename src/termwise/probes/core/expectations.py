"""What a good ranker of passages does: an opinion, apart from the probes, which measure.

A probe says what its two texts are, and its score which of them a ranker prefers. What is wanted is another matter, and
a matter of use: who searches the news may like the answer at the start, who searches statutes may not. So it stands
here, in one table, for the probes that ship; about most of style, length and position it has no opinion. A probe with
an attribute ``wanted`` of its own, such as one of a YAML file, knows better.

================  ====================================================================================================
``"first"``       the first text should be preferred: a score of +1
``"second"``      the second text should be preferred: −1
``"neither"``     the difference should not count: 0
``""``            people may want either
================  ====================================================================================================

An axiom demands the first text; where only negative effects break it, it demands nothing.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from termwise.probes.core.probe import SYMMETRIC_EXPECTATIONS, Probe

SCORES = {"first": 1, "second": -1, "neither": 0}
"""The score of a ranker that does what is wanted."""

_WANTED = (
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
"""What is wanted, with patterns of names without their texts; the first one that fits counts."""


def expectation_of(probe: Probe) -> str:
    """Return what is wanted of a ranker: the probe's own word on it, or that of the table; see the module.

    Examples
    --------
    >>> from termwise.probes.language import open_language
    >>> from termwise.probes.core.probe_inputs import ProbeInputs
    >>> from termwise.probes.registry import families
    >>> from termwise.probes.core.suites import select_probes, suite_named
    >>> material = ProbeInputs(open_language("rules"), frozenset())
    >>> ((probe, _),) = select_probes(families(), material, [suite_named("probe:factuality@written")])
    >>> expectation_of(probe)
    'first'
    """
    if probe.expectation is not None:
        return probe.expectation
    name = probe.name.partition("@")[0]
    wish = next((wish for wish, some in _WANTED if any(fnmatchcase(name, one) for one in some.split())), "")
    return wish if not probe.symmetric or wish in SYMMETRIC_EXPECTATIONS else ""


def distance(wanted: str, score: float) -> float | None:
    """Return how far a score is from what is wanted, from 0 to 2; None where nothing is.

    Examples
    --------
    >>> distance("first", -1.0), distance("neither", -0.25), distance("", 1.0)
    (2.0, 0.25, None)
    """
    return abs(score - SCORES[wanted]) if wanted else None
