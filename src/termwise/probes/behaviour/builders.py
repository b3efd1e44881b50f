"""Builders of probes over the written passages and the judged collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.manipulations.base import Manipulation, ManipulationProbe
from termwise.probes.sources.written_texts import written_texts

TextSelection = Literal["all", "relevant", "unrelated"]
"""Selection of judged texts: all, those above the lowest grade, or those with the lowest grade."""


def collections(inputs: ProbeInputs) -> tuple[JudgedTexts, ...]:
    """Return the written passages and the judged collections."""
    return (written_texts(), *inputs.judged)


def selected_grades(judged: JudgedTexts, selection: TextSelection) -> frozenset[int] | None:
    """Return the grades of a selection; None for all."""
    if selection == "all":
        return None
    grades = {grade for judgments in judged.grades.values() for grade in judgments.values()}
    return frozenset(grade for grade in grades if (grade > judged.lowest) == (selection == "relevant"))


def over_collections(
    manipulations: Sequence[Manipulation], inputs: ProbeInputs, selection: TextSelection = "all"
) -> list[ManipulationProbe]:
    """Make a probe for each collection and manipulation."""
    return [
        ManipulationProbe(manipulation, judged, inputs, grades=selected_grades(judged, selection))
        for judged in collections(inputs)
        for manipulation in manipulations
    ]
