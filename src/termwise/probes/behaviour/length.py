"""Length probes: texts that become longer without new information."""

from __future__ import annotations

from functools import partial

from termwise.probes.behaviour.words_and_sentences import best_sentence, sentences
from termwise.probes.core.probe_inputs import Family
from termwise.probes.manipulations.base import Manipulation, ManipulationContext, over_collections
from termwise.probes.manipulations.text_edits import in_a_row
from termwise.probes.sources.written_texts import neutral_sentences


def _append_neutral(text: str, context: ManipulationContext, *, count: int) -> str:
    return in_a_row(text, *context.random.sample(neutral_sentences(), count))


def _repeat_sentence(text: str, context: ManipulationContext, *, best: bool) -> str | None:
    parts = sentences(context.language, text)
    place = best_sentence(context.about.query, parts, context.stop_words)
    if place is None or len(parts) < 2:
        return None
    if not best:
        place = context.random.choice([other for other in range(len(parts)) if other != place])
    return in_a_row(text, parts[place])


_MANIPULATIONS = [
    Manipulation(
        "length-doubled", "Text twice", "the text twice", lambda text, context: in_a_row(text, text)
    ),
    *(
        Manipulation(
            f"length-filler-{count}",
            f"Text + neutral sentences, {count}",
            f"the text followed by {count} neutral sentence{'s' if count > 1 else ''}",
            partial(_append_neutral, count=count),
        )
        for count in (1, 3, 10)
    ),
    Manipulation(
        "length-best-again",
        "Text + its best sentence again",
        "the text followed by a copy of its sentence with most query words",
        partial(_repeat_sentence, best=True),
    ),
    Manipulation(
        "length-other-again",
        "Text + another of its sentences again",
        "the text followed by a copy of another of its sentences, a control of length-best-again",
        partial(_repeat_sentence, best=False),
    ),
]


FAMILY = Family(
    "length", "effect of length without new information", partial(over_collections, _MANIPULATIONS)
)
