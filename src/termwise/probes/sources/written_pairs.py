"""Our own pairs, written by hand: small, and always there.

About thirty for each quality, in ``written/``. The first text has the quality, and the query fits both: the two say the
same, but for factuality, where one thing is wrong in the second: a person, a place, a nationality, an organisation or a
number. They show which way a ranker leans; data sets of thousands of pairs (`termwise.probes.sources.transfer`) say
how far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib import resources
from types import MappingProxyType

from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_pairs
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery

QUALITIES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "paraphrase": ("Paraphrase", "Two texts that say the same in other words; neither comes first."),
        "fluency": (
            "Fluency",
            define_pair("a text in good English", "the same with mistakes of grammar and wording"),
        ),
        "formality": ("Formality", define_pair("a text in formal wording", "the same, said informally")),
        "simplicity": (
            "Simplicity",
            define_pair("a text in simple words and sentences", "the same, said in a complex way"),
        ),
        "neutrality": (
            "Neutrality",
            define_pair("a text that takes no side", "the same in words that judge"),
        ),
        "succinctness": ("Succinctness", define_pair("a text in few words", "the same in many")),
        "factuality": (
            "Factuality",
            define_pair("a text that is true", "the same with something in it that is wrong"),
        ),
    }
)
"""Titles and definitions by name, in the order of the published table. Of paraphrases neither is the better one."""


def written_pairs(quality: str) -> Iterator[Pair]:
    """Yield our pairs for one of `QUALITIES`.

    Examples
    --------
    >>> next(written_pairs("simplicity")).first
    'Earthworms dig holes that let air and water into the soil.'
    """
    file = resources.files("termwise.probes.sources").joinpath("written", f"{quality}.jsonl")
    with resources.as_file(file) as path:
        yield from read_pairs(path)


def written_probes() -> list[Probe]:
    """Make a probe for each quality."""
    return [
        TransferProbe(
            f"{quality}@written",
            title,
            partial(written_pairs, quality),
            GivenQuery(),
            definition=definition,
            symmetric=quality == "paraphrase",
        )
        for quality, (title, definition) in QUALITIES.items()
    ]


def _made(material: ProbeInputs) -> list[Probe]:
    return written_probes()


FAMILY = Family("written", "our own small pairs: fluent, formal, simple, neutral, succinct, true", _made)
