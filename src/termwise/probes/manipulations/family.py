"""The probes that change texts, for each judged collection."""

from __future__ import annotations

from collections.abc import Iterator

from termwise.probes.manipulations.contract import Manipulation, ManipulationProbe
from termwise.probes.manipulations.expanding import QueriesAppended, QueriesOfFile
from termwise.probes.manipulations.registry import MANIPULATIONS
from termwise.probes.manipulations.typo_list import read_misspellings
from termwise.probes.manipulations.typos import Misspelled
from termwise.probes.material import Family, Material


def manipulations_of(material: Material) -> Iterator[Manipulation]:
    """Yield what can be done to texts, in the order of the registry.

    Parameters
    ----------
    material : Material
        Of its `folders`, ``typos`` is a list of misspellings to be taken in place of codespell's (see
        `termwise.probes.manipulations.typo_list.read_misspellings`), and ``append-queries`` a file of generated
        queries (see `termwise.probes.manipulations.expanding.QueriesOfFile`).
    """
    given = {}
    if "typos" in material.folders:
        given["typos"] = Misspelled(read_misspellings(material.folders["typos"]))
    for name, manipulation in MANIPULATIONS.items():
        yield given.get(name, manipulation)
    if "append-queries" in material.folders:
        yield QueriesAppended(QueriesOfFile(material.folders["append-queries"]))


def make(material: Material) -> list[ManipulationProbe]:
    """Return a probe for each manipulation and judged collection; none where nothing is judged."""
    manipulations = list(manipulations_of(material)) if material.judged else []
    return [
        ManipulationProbe(manipulation, judged, language=material.language, stop_words=material.stop_words)
        for judged in material.judged
        for manipulation in manipulations
    ]


FAMILY = Family(
    "manipulations", "What a change of a text does to its score", make, ("typos", "append-queries")
)
