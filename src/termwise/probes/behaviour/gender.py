"""Wording of gender: queries that say nothing of it, and texts that differ in nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from termwise.probes.material import Family, Material
from termwise.probes.probe import Probe, in_order
from termwise.probes.transfer.files import chosen
from termwise.probes.transfer.pair import Pair
from termwise.probes.transfer.probe import TransferProbe
from termwise.probes.transfer.queries import GivenQuery
from termwise.probes.transfer.reading import read_pairs
from termwise.probes.written_texts import written

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

CONTRASTS = {
    "male>female": ("gender-male-female", "Male against female wording"),
    "neutral>male": ("gender-neutral-male", "Neutral against male wording"),
    "neutral>female": ("gender-neutral-female", "Neutral against female wording"),
}
"""Which wordings a pair of Grep-BiasIR has, and what probes and tables call it."""

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


def _bias(path: Path, contrast: str) -> Iterable[Pair]:
    return read_pairs(path, keep=lambda record: record.get("contrast") == contrast)


def _both(source: str, read: Callable[[], Iterable[Pair]]) -> list[Probe]:
    return [
        TransferProbe(
            f"gender-male-female@{source}",
            "Male against female wording",
            read,
            GivenQuery(),
            definition=in_order("a text in male wording", "the same in female wording"),
        ),
        TransferProbe(
            f"gender-told-apart@{source}",
            "Male and female wording told apart",
            read,
            GivenQuery(),
            definition="A text in male and in female wording; neither comes first.",
            symmetric=True,
        ),
    ]


def gender_probes(material: Material) -> list[Probe]:
    """Make the probes: our own texts, and Grep-BiasIR where there is a folder of it."""
    made = _both("written", _written)
    if "grepbiasir" in material.folders:
        _, files = chosen(material.folders["grepbiasir"], "Grep-BiasIR", {"pairs": {"all": ["pairs.jsonl"]}})
        (path,) = files["all"]
        made += _both("grepbiasir", partial(_bias, path, "male>female"))
        made += [
            TransferProbe(
                f"{name}@grepbiasir",
                title,
                partial(_bias, path, contrast),
                GivenQuery(),
                definition=in_order(*(f"a text in {wording} wording" for wording in contrast.split(">"))),
            )
            for contrast, (name, title) in CONTRASTS.items()
            if contrast != "male>female"
        ]
    return made


FAMILY = Family(
    "gender", "does the wording of gender matter where nobody asked for it?", gender_probes, ("grepbiasir",)
)
