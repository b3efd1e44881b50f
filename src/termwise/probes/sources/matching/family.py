"""The measure-and-match probes of each judged collection."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.sources.matching.counting import CountedTexts
from termwise.probes.sources.matching.measurements import (
    Length,
    Measurement,
    Overlap,
    Relevance,
    SumTermFrequency,
    TermFrequency,
)
from termwise.probes.sources.matching.probe import MatchedProbe
from termwise.probes.sources.matching.terms import PublishedTerms, Terms

PUBLISHED: tuple[Measurement, ...] = (Relevance(), Length(), TermFrequency(), Overlap())
"""In the order of the published table."""


def matched_probes(material: ProbeInputs, *, terms: Terms | None = None) -> list[Probe]:
    """Make the 12 published probes for each judged collection.

    Parameters
    ----------
    material : ProbeInputs
        Its stop words belong to the published terms.
    terms : Terms, optional
        What lengths and frequencies count, such as the analyzer that is searched with; `PublishedTerms` unless given.
    """
    return _made(material, list(permutations(PUBLISHED, 2)), terms)


def sum_tf_probes(material: ProbeInputs, *, terms: Terms | None = None) -> list[Probe]:
    """Make the 7 probes with the sum of term frequencies, which are not among the published ones.

    Where the vector of term frequencies is held, their sum cannot differ: there is no such probe.
    """
    total = SumTermFrequency()
    choices = [pair for other in PUBLISHED for pair in ((total, other), (other, total))]
    choices = [pair for pair in choices if pair[1].name != TermFrequency.name]
    return _made(material, choices, terms)


def _made(
    material: ProbeInputs, choices: Sequence[tuple[Measurement, Measurement]], terms: Terms | None
) -> list[Probe]:
    probes: list[Probe] = []
    for judged in material.judged:
        counted = CountedTexts(judged, terms or PublishedTerms(material.stop_words))
        probes += [MatchedProbe(variable, control, counted) for variable, control in choices]
    return probes


FAMILY = Family(
    "matched",
    "of two judged texts that agree in one measurement, is the higher one preferred?",
    matched_probes,
)

FAMILY_SUM_TF = Family(
    "matched-sum-tf", "the same with the summed counts of all terms of the query", sum_tf_probes
)
