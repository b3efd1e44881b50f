"""Negation and exclusion: *not* turns a statement round, and *without* excludes something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from termwise.probes.behaviour.changes import Change, changed
from termwise.probes.behaviour.wording import best_sentence, sentence_places
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.text_edits import contents, replaced
from termwise.probes.sources.transfer import condaqa, nevir, semantoneg, wikifactcheck
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery
from termwise.probes.sources.written_texts import written

DATA_SETS: Mapping[str, Callable[[Path, ProbeInputs], Sequence[Probe]]] = MappingProxyType(
    {
        "semantoneg": semantoneg.probes,
        "wikifactcheck": wikifactcheck.probes,
        "condaqa": condaqa.probes,
        "nevir": nevir.probes,
    }
)
"""What makes the probes of a data set, by the name of its folder in `ProbeInputs.folders`; in the order of tables."""

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|can|could|will|would|should|must|might)\b(?!\s+(?:not|never|no)\b)(?!['’])",
    re.IGNORECASE,
)


def negated(sentence: str) -> str | None:
    """Negate a sentence at its first auxiliary verb; None where it has none, or is negated there.

    Examples
    --------
    >>> negated("The tower was built in Paris and is tall."), negated("It stands."), negated("It is not so.")
    ('The tower was not built in Paris and is tall.', None, None)
    """
    found = _AUXILIARY.search(sentence)
    if found is None:
        return None
    verb = found[0] + "not" if found[0].lower() == "can" else f"{found[0]} not"
    return sentence[: found.start()] + verb + sentence[found.end() :]


def _best_negated(text: str, around: Around) -> str | None:
    places = sentence_places(around.language, text)
    best = best_sentence(around.about.query, contents(text, places), around.stop_words)
    if best is None or (new := negated(text[slice(*places[best])])) is None:
        return None
    return replaced(text, [places[best]], [new])


def _statements(asked: str) -> Iterator[Pair]:
    """Yield statements with what contradicts them, for queries that ask for the affirmed or the negated one."""
    for item in written("negation"):
        affirmed, other = item["affirmed"], item["negated"]
        first, second = (affirmed, other) if asked == "query" else (other, affirmed)
        yield Pair(item["id"], first, second, query=item[asked], group=item["id"])


def _exclusions(wanted: str) -> Iterator[Pair]:
    """Yield texts with and without something, for queries that want it so."""
    other = "with" if wanted == "without" else "without"
    for item in written("exclusion"):
        query = f"{item['topic']} {wanted} {item['excluded']}"
        yield Pair(item["id"], item[wanted], item[other], query=query, group=item["id"])


def negation_probes(material: ProbeInputs) -> list[Probe]:
    """Make the probes.

    Of ours, ``negation-affirmed`` and ``negation-negated`` have the same texts and opposite queries, and so have
    ``exclusion-without`` and ``exclusion-with``: a ranker that does not see the negation loses in one what it wins in
    the other.
    """
    made: list[Probe] = [
        TransferProbe(
            "negation-affirmed@written",
            "Affirmed statement asked for",
            partial(_statements, "query"),
            GivenQuery(),
            definition=define_pair("a statement, which the query asks for", "its negation"),
        ),
        TransferProbe(
            "negation-negated@written",
            "Negated statement asked for",
            partial(_statements, "query_negated"),
            GivenQuery(),
            definition=define_pair(
                "a negated statement, which the query asks for", "the statement without negation"
            ),
        ),
        TransferProbe(
            "exclusion-without@written",
            "X without Y asked for",
            partial(_exclusions, "without"),
            GivenQuery(),
            definition=define_pair("a text about X without Y, as the query asks", "one about X with Y"),
        ),
        TransferProbe(
            "exclusion-with@written",
            "X with Y asked for",
            partial(_exclusions, "with"),
            GivenQuery(),
            definition=define_pair("a text about X with Y, as the query asks", "one about X without Y"),
        ),
        *changed(
            [
                Change(
                    "negation-inserted",
                    "Best sentence negated",
                    "a relevant text in which the sentence with most words of the query is negated",
                    _best_negated,
                )
            ],
            material,
            "relevant",
        ),
    ]
    for name, make in DATA_SETS.items():
        if name in material.folders:
            made += make(material.folders[name], material)
    return made


FAMILY = Family(
    "negation",
    "does *not* turn a statement round, and *without* exclude something?",
    negation_probes,
    tuple(DATA_SETS),
)
