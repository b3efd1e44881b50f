"""Families of manipulation probes, over all judged texts and over the texts of higher and lower grades."""

from __future__ import annotations

from collections.abc import Iterator

from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.manipulations.additions import query_expansion, read_generated_queries
from termwise.probes.manipulations.base import Manipulation, ManipulationProbe
from termwise.probes.manipulations.registry import MANIPULATIONS
from termwise.probes.manipulations.typos import misspelling, read_misspellings
from termwise.probes.sources.written_texts import written_texts

_FOLDERS = ("typos", "append-queries")


def available_manipulations(inputs: ProbeInputs) -> Iterator[Manipulation]:
    """Yield the manipulations in the order of the registry.

    A folder ``typos`` replaces the misspellings of codespell, and ``append-queries`` has generated queries.
    """
    replacements = {}
    if "typos" in inputs.folders:
        replacements["typos"] = misspelling(read_misspellings(inputs.folders["typos"]))
    for name, manipulation in MANIPULATIONS.items():
        yield replacements.get(name, manipulation)
    if "append-queries" in inputs.folders:
        yield query_expansion(read_generated_queries(inputs.folders["append-queries"]))


def manipulation_probes(inputs: ProbeInputs) -> list[ManipulationProbe]:
    """Make a probe for each manipulation and judged collection.

    Manipulations that need non-relevant texts are applied to the written passages as well, because many collections
    have no such texts.
    """
    manipulations = list(available_manipulations(inputs))
    probes = [
        ManipulationProbe(manipulation, judged, inputs)
        for judged in inputs.judged
        for manipulation in manipulations
    ]
    return probes + [
        ManipulationProbe(manipulation, written_texts(), inputs)
        for manipulation in manipulations
        if manipulation.needs
    ]


def manipulation_probes_by_grades(inputs: ProbeInputs) -> list[ManipulationProbe]:
    """Make two probes for each manipulation and judged collection: for the higher and for the lower grades.

    The higher grades are those above the middle of all grades: 2 and 3 of 0 to 3, as in the published code, and 3 and 4
    of 1 to 4.
    """
    return [
        ManipulationProbe(manipulation, judged, inputs, grades=grades, part=part)
        for judged in inputs.judged
        for part, grades in halves(judged).items()
        for manipulation in available_manipulations(inputs)
    ]


def halves(judged: JudgedTexts) -> dict[str, frozenset[int]]:
    """Return the grades above the middle and the other grades; empty if there is only one grade.

    Examples
    --------
    >>> halves(JudgedTexts("toy", {"q": "cat"}, {"a": "", "b": "", "c": ""}, {"q": {"a": 0, "b": 3, "c": 1}}, 0))
    {'higher': frozenset({3}), 'lower': frozenset({0, 1})}
    """
    grades = {grade for judgments in judged.grades.values() for grade in judgments.values()}
    if len(grades) < 2:
        return {}
    middle = (min(grades) + max(grades)) / 2
    higher = frozenset(grade for grade in grades if grade > middle)
    return {"higher": higher, "lower": frozenset(grades - higher)}


FAMILY = Family("manipulations", "effect of a change of the text on its score", manipulation_probes, _FOLDERS)

FAMILY_BY_GRADES = Family(
    "manipulations-by-grades",
    "the same over the texts of the higher and of the lower grades",
    manipulation_probes_by_grades,
    _FOLDERS,
)
