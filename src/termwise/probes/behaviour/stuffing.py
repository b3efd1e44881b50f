"""Stuffing: texts into which the query was put.

Titles say what stands first. Each attack has its control: the same characters in an order that makes no words, or the
query of another topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from termwise.probes.behaviour.changes import Change, changed, collections
from termwise.probes.behaviour.wording import content_words, inserted, put, scrambled, sentence_starts
from termwise.probes.core.judged_texts import NOT_RELEVANT, JudgedText, JudgedTexts
from termwise.probes.core.probe import Probe, Strategy, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.text_edits import in_a_row

TIMES = (1, 2, 5)
"""How often the query is put there."""

_PLACES = {"append": "end", "prepend": "start"}
_SIDES = {"end": "behind", "start": "before"}


def repeated(payload: str, times: int) -> str:
    """Return something several times, with blanks between."""
    return " ".join([payload] * times)


def _query(text: str, around: Around, *, place: str, times: int) -> str | None:
    return inserted(text, repeated(around.about.query, times), place, around.language)


def _scrambled(text: str, around: Around, *, times: int) -> str:
    return in_a_row(text, repeated(scrambled(around.about.query, around.random), times))


def _terms(text: str, around: Around, *, times: int) -> str:
    words = content_words(around.about.query, around.stop_words)
    return in_a_row(text, repeated(" ".join(words), times))


def _other_query(text: str, around: Around) -> str | None:
    own = around.about.query
    others = sorted({query for query in around.judged.queries.values() if query != own})
    return in_a_row(text, around.random.choice(others)) if others else None


def _anywhere(text: str, around: Around) -> str:
    starts = sentence_starts(text, around.language)
    if not starts:
        return in_a_row(text, around.about.query)
    return put(text, around.about.query, around.random.choice(starts))


CHANGES = (
    *(
        Change(
            f"stuffing-{name}-{times}",
            f"Query {name}ed, {times}×",
            f"the text with the query {_SIDES[place]} it, {times}×",
            partial(_query, place=place, times=times),
        )
        for name, place in _PLACES.items()
        for times in TIMES
    ),
    Change(
        "stuffing-terms-5",
        "Words of the query appended, 5×",
        "the text with the words of the query behind it, five times, without function words",
        partial(_terms, times=5),
    ),
    *(
        Change(
            f"stuffing-scrambled-{times}",
            f"Scrambled query appended, {times}×",
            f"the text with the letters of the query behind it in an order that makes no words, {times}×",
            partial(_scrambled, times=times),
        )
        for times in (1, 5)
    ),
    Change(
        "stuffing-other-query",
        "Query of another topic appended",
        "the text with the query of another topic behind it",
        _other_query,
    ),
)
"""What is done to any text."""

INSERTED = Change(
    "stuffing-unrelated",
    "Query put between the sentences of a non-relevant text",
    "a text that was judged not relevant, with the query between two of its sentences",
    _anywhere,
)


class AttackProbe(Probe):
    """A non-relevant text with something added, against a relevant one. Positive: the attack wins.

    Every non-relevant text meets one of the texts with the highest grade for its query, the same one in all attacks.

    Parameters
    ----------
    name, title : str
        See `Probe`.
    judged : JudgedTexts
        Whose texts.
    times : int
        How often the query is added, half of it before the text and the rest behind; 0 shows what happens without.
    scramble : bool, optional
        Whether its characters are scrambled.
    """

    strategy: Strategy = "manipulation"

    def __init__(
        self, name: str, title: str, judged: JudgedTexts, *, times: int, scramble: bool = False
    ) -> None:
        self.name = f"{name}@{judged.name}"
        self.title = title
        said = "the query, scrambled," if scramble else "the query"
        added = f"with {said} added {times}×" if times else "as it is"
        self.definition = define_pair(
            f"a text that was judged not relevant, {added}", "one of the most relevant texts of the query"
        )
        self.needs = NOT_RELEVANT
        self._judged = judged
        self._times = times
        self._scramble = scramble

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`; a query without relevant or without non-relevant text gives none."""
        for query_id in sorted(self._judged.grades):
            of_query = self._judged.of(query_id)
            top = max((one.grade for one in of_query), default=self._judged.lowest)
            if top == self._judged.lowest:
                continue
            targets = [one for one in of_query if one.grade == top]
            for one in of_query:
                if one.grade == self._judged.lowest:
                    target = random_for(seed, "attack", query_id, one.doc_id).choice(targets)
                    yield Sample(
                        sample_id=one.judgment_id,
                        query=one.query,
                        first=self._attacked(one, seed),
                        second=target.text,
                        query_id=query_id,
                        facts={"document": one.doc_id, "against": target.doc_id},
                    )

    def _attacked(self, one: JudgedText, seed: int) -> str:
        payload = one.query
        if self._scramble:
            payload = scrambled(payload, random_for(seed, self.name, one.query_id, one.doc_id))
        before = self._times // 2
        return in_a_row(repeated(payload, before), one.text, repeated(payload, self._times - before))


def _attacks(judged: JudgedTexts) -> list[Probe]:
    return [
        AttackProbe("attack-none", "Non-relevant against relevant", judged, times=0),
        *(
            AttackProbe(
                f"attack-query-{times}",
                f"Non-relevant + query, {times}×, against relevant",
                judged,
                times=times,
            )
            for times in TIMES
        ),
        AttackProbe(
            "attack-scrambled-5",
            "Non-relevant + scrambled query, 5×, against relevant",
            judged,
            times=5,
            scramble=True,
        ),
    ]


def stuffing_probes(material: ProbeInputs) -> list[Probe]:
    """Make the probes, over our passages and every judged collection."""
    attacks = [probe for judged in collections(material) for probe in _attacks(judged)]
    return [*changed(CHANGES, material), *changed([INSERTED], material, "unrelated"), *attacks]


FAMILY = Family("stuffing", "is a text preferred because the query was put into it?", stuffing_probes)
