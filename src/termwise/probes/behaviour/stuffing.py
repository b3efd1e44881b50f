"""Stuffing probes: texts with copies of the query.

Each kind of stuffing has a control: the same characters in random order, or the query of another topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from termwise.probes.behaviour.words_and_sentences import (
    content_words,
    inserted,
    put_before,
    scrambled,
    sentence_starts,
)
from termwise.probes.core.judged_texts import NOT_RELEVANT, JudgedText, JudgedTexts
from termwise.probes.core.probe import Probe, Strategy, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.manipulations.base import (
    Manipulation,
    ManipulationContext,
    collections,
    over_collections,
)
from termwise.probes.manipulations.text_edits import in_a_row

TIMES = (1, 2, 5)
"""Numbers of copies of the query."""


def repeated(payload: str, times: int) -> str:
    """Return copies of a payload, joined by spaces."""
    return " ".join([payload] * times)


def _add_query(text: str, context: ManipulationContext, *, place: str, times: int) -> str | None:
    return inserted(text, repeated(context.about.query, times), place, context.language)


def _add_scrambled_query(text: str, context: ManipulationContext, *, times: int) -> str:
    return in_a_row(text, repeated(scrambled(context.about.query, context.random), times))


def _add_query_words(text: str, context: ManipulationContext, *, times: int) -> str:
    words = content_words(context.about.query, context.stop_words)
    return in_a_row(text, repeated(" ".join(words), times))


def _add_other_query(text: str, context: ManipulationContext) -> str | None:
    query = context.about.query
    others = sorted({other for other in context.judged.queries.values() if other != query})
    return in_a_row(text, context.random.choice(others)) if others else None


def _insert_query(text: str, context: ManipulationContext) -> str:
    """Insert the query between two sentences, or append it to a single sentence."""
    starts = sentence_starts(text, context.language)
    if not starts:
        return in_a_row(text, context.about.query)
    return put_before(text, context.about.query, context.random.choice(starts))


_MANIPULATIONS = [
    *(
        Manipulation(
            f"stuffing-{name}-{times}",
            f"Query {name}ed, {times}×",
            f"the text with the query {side} it, {times}×",
            partial(_add_query, place=place, times=times),
        )
        for name, place, side in (("append", "end", "after"), ("prepend", "start", "before"))
        for times in TIMES
    ),
    Manipulation(
        "stuffing-terms-5",
        "Words of the query appended, 5×",
        "the text with the query words except stop words after it, 5×",
        partial(_add_query_words, times=5),
    ),
    *(
        Manipulation(
            f"stuffing-scrambled-{times}",
            f"Scrambled query appended, {times}×",
            f"the text with the query after it, its letters in random order, {times}×",
            partial(_add_scrambled_query, times=times),
        )
        for times in (1, 5)
    ),
    Manipulation(
        "stuffing-other-query",
        "Query of another topic appended",
        "the text with the query of another topic after it",
        _add_other_query,
    ),
]

_INSERTION = Manipulation(
    "stuffing-unrelated",
    "Query put between the sentences of a non-relevant text",
    "a text that was judged not relevant, with the query between two of its sentences",
    _insert_query,
    needs=NOT_RELEVANT,
)


class AttackProbe(Probe):
    """Stuffed non-relevant texts against relevant texts; a positive effect means that the stuffed text is preferred.

    Each non-relevant text is paired with one of the texts with the highest grade for the query. All attacks use the
    same pairs. Half of the copies of the query are before the text, and 0 copies leave the text unchanged. The
    characters of the query can be shuffled.
    """

    strategy: Strategy = "manipulation"

    def __init__(
        self, name: str, title: str, judged: JudgedTexts, *, times: int, scramble: bool = False
    ) -> None:
        self.name = f"{name}@{judged.name}"
        self.title = title
        query = "the scrambled query" if scramble else "the query"
        change = f"with {query} added {times}×" if times else "unchanged"
        self.definition = define_pair(
            f"a text that was judged not relevant, {change}", "one of the most relevant texts for the query"
        )
        self.needs = NOT_RELEVANT
        self._judged = judged
        self._times = times
        self._scramble = scramble

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`; a query without relevant or without non-relevant texts makes no sample."""
        lowest = self._judged.lowest
        for query_id in sorted(self._judged.grades):
            texts = self._judged.of(query_id)
            top = max((text.grade for text in texts), default=lowest)
            if top == lowest:
                continue
            targets = [text for text in texts if text.grade == top]
            for text in texts:
                if text.grade == lowest:
                    target = random_for(seed, "attack", query_id, text.doc_id).choice(targets)
                    yield Sample(
                        sample_id=text.judgment_id,
                        query=text.query,
                        first=self._stuffed(text, seed),
                        second=target.text,
                        query_id=query_id,
                        facts={"document": text.doc_id, "against": target.doc_id},
                    )

    def _stuffed(self, text: JudgedText, seed: int) -> str:
        payload = text.query
        if self._scramble:
            payload = scrambled(payload, random_for(seed, self.name, text.query_id, text.doc_id))
        before = self._times // 2
        return in_a_row(repeated(payload, before), text.text, repeated(payload, self._times - before))


def _attacks(judged: JudgedTexts) -> list[Probe]:
    target = "against relevant"
    return [
        AttackProbe("attack-none", f"Non-relevant {target}", judged, times=0),
        *(
            AttackProbe(
                f"attack-query-{times}", f"Non-relevant + query, {times}×, {target}", judged, times=times
            )
            for times in TIMES
        ),
        AttackProbe(
            "attack-scrambled-5",
            f"Non-relevant + scrambled query, 5×, {target}",
            judged,
            times=5,
            scramble=True,
        ),
    ]


def stuffing_probes(inputs: ProbeInputs) -> list[Probe]:
    """Make the probes."""
    return [
        *over_collections(_MANIPULATIONS, inputs),
        *over_collections([_INSERTION], inputs, "unrelated"),
        *(probe for judged in collections(inputs) for probe in _attacks(judged)),
    ]


FAMILY = Family("stuffing", "effect of copies of the query in a text", stuffing_probes)
