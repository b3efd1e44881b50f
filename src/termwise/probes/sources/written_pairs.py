"""Probes of pairs written by hand, which ship with the package: about thirty pairs for each quality.

The first text has the quality, and the query fits both texts. Both texts have the same content. For factuality the
second text has one wrong fact: a person, place, nationality, organisation or number. The pairs show the direction of a
preference; data sets of thousands of pairs (`termwise.probes.sources.transfer`) measure its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.sources.transfer.pairs import TextPair, given_query
from termwise.probes.sources.transfer.probe import PairProbe, TransferProbe
from termwise.probes.sources.written_texts import WRITTEN, written

QUALITIES = {
    "paraphrase": "Two texts with the same meaning in different words; neither comes first.",
    "fluency": define_pair("a text in good English", "the same with errors of grammar and wording"),
    "formality": define_pair("a text in formal wording", "the same in informal wording"),
    "simplicity": define_pair("a text in simple words and sentences", "the same in complex ones"),
    "neutrality": define_pair("a text in neutral wording", "the same in judgmental wording"),
    "succinctness": define_pair("a text in few words", "the same in many words"),
    "factuality": define_pair("a true text", "the same with one wrong fact"),
}
"""Definitions of the probes by quality, in the order of the published table."""


def written_probe(
    name: str,
    title: str,
    pairs: Callable[[], Iterable[TextPair]],
    definition: str,
    *,
    symmetric: bool = False,
) -> TransferProbe:
    """Make a probe of written pairs, which have their own queries."""
    description = PairProbe(f"{name}@{WRITTEN}", title, definition, symmetric=symmetric)
    return TransferProbe(description, pairs, given_query)


def written_pairs(quality: str) -> Iterator[TextPair]:
    """Yield the written pairs of one of `QUALITIES`.

    Examples
    --------
    >>> next(written_pairs("simplicity")).first
    'Earthworms dig holes that let air and water into the soil.'
    """
    for item in written(quality):
        facts: dict[str, Any] = {name: item[name] for name in ("source", "type") if name in item}
        yield TextPair(item["id"], item["first"], item["second"], query=item["query"], facts=facts)


def _written_probes(inputs: ProbeInputs) -> list[Probe]:
    return [
        written_probe(
            quality,
            quality.capitalize(),
            partial(written_pairs, quality),
            definition,
            symmetric=quality == "paraphrase",
        )
        for quality, definition in QUALITIES.items()
    ]


FAMILY = Family("written", "written pairs: fluent, formal, simple, neutral, succinct, true", _written_probes)
