"""Length and redundancy: texts that grow without saying more."""

from __future__ import annotations

from functools import partial

from termwise.probes.behaviour.changes import Change, changed
from termwise.probes.behaviour.wording import best_sentence, sentences
from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.text_edits import in_a_row
from termwise.probes.sources.written_texts import neutral_sentences

FILLERS = (1, 3, 10)
"""Neutral sentences that are appended."""


def _doubled(text: str, around: Around) -> str:
    return in_a_row(text, text)


def _filled(text: str, around: Around, *, count: int) -> str:
    return in_a_row(text, *around.random.sample(neutral_sentences(), count))


def _copied(text: str, around: Around, *, best: bool) -> str | None:
    found = sentences(around.language, text)
    place = best_sentence(around.about.query, found, around.stop_words)
    if place is None or len(found) < 2:
        return None
    if not best:
        place = around.random.choice([other for other in range(len(found)) if other != place])
    return in_a_row(text, found[place])


CHANGES = (
    Change("length-doubled", "Text twice", "the text twice", _doubled),
    *(
        Change(
            f"length-filler-{count}",
            f"Text + neutral sentences, {count}",
            f"the text with {count} neutral sentence{'s' if count > 1 else ''} behind it",
            partial(_filled, count=count),
        )
        for count in FILLERS
    ),
    Change(
        "length-best-again",
        "Text + its best sentence again",
        "the text with the sentence that has most words of the query said again behind it",
        partial(_copied, best=True),
    ),
    Change(
        "length-other-again",
        "Text + another of its sentences again",
        "the text with another of its sentences said again behind it: a control of the best one",
        partial(_copied, best=False),
    ),
)


def length_probes(material: ProbeInputs) -> list[Probe]:
    """Make the probes, over our passages and every judged collection.

    The best sentence is the one with most words of the query; ``length-other-again`` is its control.
    """
    return [*changed(CHANGES, material)]


FAMILY = Family("length", "does a text win or lose by growing without saying more?", length_probes)
