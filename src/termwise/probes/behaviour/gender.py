"""Gender probes: texts in male and female wording for gender-neutral queries."""

from __future__ import annotations

import re
from collections.abc import Iterator

from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.sources.transfer.data_sets import DataSets, data_set_probes
from termwise.probes.sources.transfer.grepbiasir import GREPBIASIR, TOLD_APART, wording_contrast
from termwise.probes.sources.transfer.pairs import TextPair
from termwise.probes.sources.written_pairs import written_probe
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
"""Female words by the male words in braces in the written texts."""

DATA_SETS: DataSets = {"grepbiasir": GREPBIASIR}
"""Data sets of this family."""

_SLOT = re.compile(r"\{(\w+)\}")


def worded(text: str, *, female: bool) -> str:
    """Return a text in male or female wording.

    Examples
    --------
    >>> worded("{He} wrote {his} notes {himself}.", female=True)
    'She wrote her notes herself.'
    """

    def word(match: re.Match[str]) -> str:
        male = match[1]
        new = FEMALE[male.lower()] if female else male.lower()
        return new.capitalize() if male[0].isupper() else new

    return _SLOT.sub(word, text)


def _pairs() -> Iterator[TextPair]:
    for item in written("gender"):
        male, female = (worded(item["text"], female=female) for female in (False, True))
        yield TextPair(item["id"], male, female, query=item["query"], group=item["id"])


def gender_probes(inputs: ProbeInputs) -> list[Probe]:
    """Make the probes of the written texts, and of Grep-BiasIR if its folder is given."""
    title, definition = TOLD_APART
    contrast = wording_contrast("male", "female")
    return [
        written_probe("gender-male-female", "Male against female wording", _pairs, contrast),
        written_probe("gender-told-apart", title, _pairs, definition, symmetric=True),
        *data_set_probes(DATA_SETS, inputs),
    ]


FAMILY = Family(
    "gender", "effect of gender wording for gender-neutral queries", gender_probes, tuple(DATA_SETS)
)
