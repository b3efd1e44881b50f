"""Changes of texts as probes, over our own passages and over judged collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from termwise.probes.core.judged_texts import NOT_RELEVANT, JudgedTexts
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.manipulations.base import Around, ManipulationProbe
from termwise.probes.sources.written_texts import written_texts

Among = Literal["all", "relevant", "unrelated"]
"""Which texts are changed: all that are judged, those above the lowest grade, those with it."""


@dataclass(frozen=True)
class Change:
    """A manipulation that is one function.

    Attributes
    ----------
    name, title, makes : str
        See `termwise.probes.manipulations.base.Manipulation`.
    change : callable
        Returns the changed text; None where it cannot be done.
    """

    name: str
    title: str
    makes: str
    change: Callable[[str, Around], str | None]

    def apply(self, text: str, around: Around) -> str | None:
        """Return the changed text."""
        return self.change(text, around)


def collections(material: ProbeInputs) -> tuple[JudgedTexts, ...]:
    """Return our own passages, and the judged collections."""
    return (written_texts(), *material.judged)


def grades(judged: JudgedTexts, among: Among) -> frozenset[int] | None:
    """Return the grades that are meant; None for all."""
    if among == "all":
        return None
    found = {grade for of_query in judged.grades.values() for grade in of_query.values()}
    return frozenset(grade for grade in found if (grade > judged.lowest) == (among == "relevant"))


def changed(
    changes: Iterable[Change], material: ProbeInputs, among: Among = "all"
) -> list[ManipulationProbe]:
    """Return a probe for each change and each collection."""
    given = tuple(changes)
    return [
        ManipulationProbe(
            change,
            judged,
            language=material.language,
            stop_words=material.stop_words,
            grades=grades(judged, among),
            needs=NOT_RELEVANT if among == "unrelated" else "",
        )
        for judged in collections(material)
        for change in given
    ]
