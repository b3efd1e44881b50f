"""Wording of gender: queries that say nothing of it, and texts that differ in nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.sources.transfer import grepbiasir
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery
from termwise.probes.sources.written_texts import written

FEMALE = {
    "he": "she",
    "him": "her",
    "his": "her",
    "himself": "herself",
    "man": "woman",
    "boy": "girl",
    "father": "mother",
    "brother": "sister",
}
"""Words of one gender that stand in our texts between braces, and those of the other."""

DATA_SETS: Mapping[str, Callable[[Path, ProbeInputs], Sequence[Probe]]] = MappingProxyType(
    {"grepbiasir": grepbiasir.probes}
)
"""What makes the probes of a data set, by the name of its folder in `ProbeInputs.folders`."""

_SLOT = re.compile(r"\{(\w+)\}")


def worded(text: str, *, female: bool) -> str:
    """Return a text in the wording of one gender.

    Examples
    --------
    >>> worded("{He} wrote {his} notes {himself}.", female=True)
    'She wrote her notes herself.'
    """

    def word(found: re.Match[str]) -> str:
        male = found[1]
        new = FEMALE[male.lower()] if female else male.lower()
        return new.capitalize() if male[0].isupper() else new

    return _SLOT.sub(word, text)


def _written() -> Iterator[Pair]:
    for item in written("gender"):
        male, female = (worded(item["text"], female=female) for female in (False, True))
        yield Pair(item["id"], male, female, query=item["query"], group=item["id"])


def gender_probes(material: ProbeInputs) -> list[Probe]:
    """Make the probes: our own texts, and Grep-BiasIR where there is a folder of it."""
    made: list[Probe] = [
        TransferProbe(
            "gender-male-female@written",
            "Male against female wording",
            _written,
            GivenQuery(),
            definition=define_pair("a text in male wording", "the same in female wording"),
        ),
        TransferProbe(
            "gender-told-apart@written",
            "Male and female wording told apart",
            _written,
            GivenQuery(),
            definition="A text in male and in female wording; neither comes first.",
            symmetric=True,
        ),
    ]
    for name, make in DATA_SETS.items():
        if name in material.folders:
            made += make(material.folders[name], material)
    return made


FAMILY = Family(
    "gender", "does the wording of gender matter where nobody asked for it?", gender_probes, tuple(DATA_SETS)
)
