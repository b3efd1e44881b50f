"""The probes that change texts, for each judged collection."""

from __future__ import annotations

from collections.abc import Iterator

from termwise.probes.core.judged_texts import NOT_RELEVANT, JudgedTexts
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.manipulations.base import Manipulation, ManipulationProbe
from termwise.probes.manipulations.nonrelevant import NonRelevantSentenceAdded
from termwise.probes.manipulations.query_expansion import QueriesAppended, QueriesOfFile
from termwise.probes.manipulations.registry import MANIPULATIONS
from termwise.probes.manipulations.typo_list import read_misspellings
from termwise.probes.manipulations.typos import Misspelled
from termwise.probes.sources.written_texts import written_texts


def manipulations_of(material: ProbeInputs) -> Iterator[Manipulation]:
    """Yield what can be done to texts, in the order of the registry.

    Parameters
    ----------
    material : ProbeInputs
        Of its `folders`, ``typos`` is a list of misspellings to be taken in place of codespell's (see
        `termwise.probes.manipulations.typo_list.read_misspellings`), and ``append-queries`` a file of generated
        queries (see `termwise.probes.manipulations.query_expansion.QueriesOfFile`).
    """
    given = {}
    if "typos" in material.folders:
        given["typos"] = Misspelled(read_misspellings(material.folders["typos"]))
    for name, manipulation in MANIPULATIONS.items():
        yield given.get(name, manipulation)
    if "append-queries" in material.folders:
        yield QueriesAppended(QueriesOfFile(material.folders["append-queries"]))


def make(material: ProbeInputs) -> list[ManipulationProbe]:
    """Return a probe for each manipulation and judged collection.

    A sentence that is not relevant is added to our own passages as well: many collections have no such judgments.
    """
    manipulations = list(manipulations_of(material))
    asked: list[tuple[JudgedTexts, list[Manipulation]]] = [(one, manipulations) for one in material.judged]
    asked.append(
        (written_texts(), [one for one in manipulations if isinstance(one, NonRelevantSentenceAdded)])
    )
    return [
        ManipulationProbe(
            manipulation,
            judged,
            language=material.language,
            stop_words=material.stop_words,
            needs=_needs(manipulation),
        )
        for judged, those in asked
        for manipulation in those
    ]


def make_by_grades(material: ProbeInputs) -> list[ManipulationProbe]:
    """Return two probes for each manipulation and judged collection: over texts of the higher grades, and of the lower.

    The higher grades are those above the middle of all that there are: of 0 to 3 these are 2 and 3, as in the published
    code, and of 1 to 4 they are 3 and 4.
    """
    return [
        ManipulationProbe(
            manipulation,
            judged,
            language=material.language,
            stop_words=material.stop_words,
            grades=grades,
            part=part,
            needs=_needs(manipulation),
        )
        for judged in material.judged
        for part, grades in halves(judged).items()
        for manipulation in manipulations_of(material)
    ]


def _needs(manipulation: Manipulation) -> str:
    return NOT_RELEVANT if isinstance(manipulation, NonRelevantSentenceAdded) else ""


def halves(judged: JudgedTexts) -> dict[str, frozenset[int]]:
    """Return the grades above the middle, and the others; nothing where there are not both.

    Examples
    --------
    >>> halves(JudgedTexts("toy", {"q": "cat"}, {"a": "", "b": "", "c": ""}, {"q": {"a": 0, "b": 3, "c": 1}}, 0))
    {'higher': frozenset({3}), 'lower': frozenset({0, 1})}
    """
    found = {grade for of_query in judged.grades.values() for grade in of_query.values()}
    if len(found) < 2:
        return {}
    middle = (min(found) + max(found)) / 2
    higher = frozenset(grade for grade in found if grade > middle)
    return {"higher": higher, "lower": frozenset(found - higher)}


FAMILY_BY_GRADES = Family(
    "manipulations-by-grades",
    "the same over texts of the higher grades alone, and of the lower",
    make_by_grades,
    ("typos", "append-queries"),
)

FAMILY = Family(
    "manipulations", "What a change of a text does to its score", make, ("typos", "append-queries")
)
