"""Negation probes: statements and their negations, and queries that exclude something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from termwise.probes.behaviour.words_and_sentences import best_sentence, sentence_places
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.manipulations.base import Manipulation, ManipulationContext, over_collections
from termwise.probes.manipulations.text_edits import contents, replaced
from termwise.probes.sources.transfer.data_sets import DataSets, data_set_probes
from termwise.probes.sources.transfer.negation import CONDAQA, NEVIR, SEMANTONEG, WIKIFACTCHECK
from termwise.probes.sources.transfer.pairs import TextPair
from termwise.probes.sources.written_pairs import written_probe
from termwise.probes.sources.written_texts import written

DATA_SETS: DataSets = {
    "semantoneg": SEMANTONEG,
    "wikifactcheck": WIKIFACTCHECK,
    "condaqa": CONDAQA,
    "nevir": NEVIR,
}
"""Data sets of this family, in the order of tables."""

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|can|could|will|would|should|must|might)\b(?!\s+(?:not|never|no)\b)(?!['’])",
    re.IGNORECASE,
)


def negated(sentence: str) -> str | None:
    """Negate a sentence at its first auxiliary verb; None if it has no auxiliary verb, or the verb is already negated.

    Examples
    --------
    >>> negated("The tower was built in Paris and is tall."), negated("It stands."), negated("It is not so.")
    ('The tower was not built in Paris and is tall.', None, None)
    """
    match = _AUXILIARY.search(sentence)
    if match is None:
        return None
    verb = match[0] + "not" if match[0].lower() == "can" else f"{match[0]} not"
    return sentence[: match.start()] + verb + sentence[match.end() :]


def _negate_best_sentence(text: str, context: ManipulationContext) -> str | None:
    places = sentence_places(context.language, text)
    best = best_sentence(context.about.query, contents(text, places), context.stop_words)
    if best is None or (new := negated(text[slice(*places[best])])) is None:
        return None
    return replaced(text, [places[best]], [new])


_NEGATE = Manipulation(
    "negation-inserted",
    "Best sentence negated",
    "a relevant text with a negation in its sentence with most query words",
    _negate_best_sentence,
)


def _statements(query: str) -> Iterator[TextPair]:
    """Yield statements and their contradictions, for queries about the affirmed or the negated statement."""
    for item in written("negation"):
        affirmed, other = item["affirmed"], item["negated"]
        first, second = (affirmed, other) if query == "query" else (other, affirmed)
        yield TextPair(item["id"], first, second, query=item[query], group=item["id"])


def _exclusions(preposition: str) -> Iterator[TextPair]:
    """Yield texts with and without something, for queries about one of them."""
    other = "with" if preposition == "without" else "without"
    for item in written("exclusion"):
        query = f"{item['topic']} {preposition} {item['excluded']}"
        yield TextPair(item["id"], item[preposition], item[other], query=query, group=item["id"])


def negation_probes(inputs: ProbeInputs) -> list[Probe]:
    """Make the probes.

    ``negation-affirmed`` and ``negation-negated`` have the same texts and opposite queries. The same holds for
    ``exclusion-without`` and ``exclusion-with``. A ranker that ignores the negation has opposite scores in the two
    probes.
    """
    return [
        written_probe(
            "negation-affirmed",
            "Query for the affirmed statement",
            partial(_statements, "query"),
            define_pair("a statement that answers the query", "its negation"),
        ),
        written_probe(
            "negation-negated",
            "Query for the negated statement",
            partial(_statements, "query_negated"),
            define_pair("a negated statement that answers the query", "the statement without the negation"),
        ),
        written_probe(
            "exclusion-without",
            "Query for X without Y",
            partial(_exclusions, "without"),
            define_pair("a text about X without Y, which answers the query", "a text about X with Y"),
        ),
        written_probe(
            "exclusion-with",
            "Query for X with Y",
            partial(_exclusions, "with"),
            define_pair("a text about X with Y, which answers the query", "a text about X without Y"),
        ),
        *over_collections([_NEGATE], inputs, "relevant"),
        *data_set_probes(DATA_SETS, inputs),
    ]


FAMILY = Family("negation", "effect of *not* and *without*", negation_probes, tuple(DATA_SETS))
