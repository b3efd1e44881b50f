"""Manipulations that remove parts of a text."""

from __future__ import annotations

from collections.abc import Callable

from termwise.probes.language.base import Parsed
from termwise.probes.manipulations.base import Change, ManipulationContext
from termwise.probes.manipulations.positions import has_word, is_punctuation, place_of
from termwise.probes.manipulations.text_edits import Place, without


def removal(places: Callable[[Parsed, ManipulationContext], list[Place]]) -> Change:
    """Return the change that removes parts of a text, such as `punctuation`; one space is kept if there was one.

    A text without any other word makes no sample.
    """

    def apply(text: str, context: ManipulationContext) -> str | None:
        removed = places(context.language.parse(text), context)
        changed = without(text, removed)
        return changed if removed and has_word(changed) else None

    return apply


def punctuation(parsed: Parsed, context: ManipulationContext) -> list[Place]:
    """Return the places of punctuation outside words; the punctuation in *don't* and *3.14* is inside."""
    return [Place(token.start, token.end) for token in parsed.tokens if is_punctuation(token.text)]


def stop_words(parsed: Parsed, context: ManipulationContext) -> list[Place]:
    """Return the places of stop words. If the language splits *don't* into two tokens, the whole is looked up."""
    return [
        place for place in _whole_words(parsed) if context.is_stop_word(parsed.text[place.start : place.end])
    ]


def stop_words_and_punctuation(parsed: Parsed, context: ManipulationContext) -> list[Place]:
    """Return the places of stop words and punctuation."""
    return sorted([*stop_words(parsed, context), *punctuation(parsed, context)])


def first_sentence(parsed: Parsed, context: ManipulationContext) -> list[Place]:
    """Return the place of the first sentence."""
    return [place_of(parsed, sentence) for sentence in parsed.sentences[:1]]


def last_sentence(parsed: Parsed, context: ManipulationContext) -> list[Place]:
    """Return the place of the last sentence."""
    return [place_of(parsed, sentence) for sentence in parsed.sentences[-1:]]


def random_sentence(parsed: Parsed, context: ManipulationContext) -> list[Place]:
    """Return the place of a random sentence."""
    return [place_of(parsed, context.random.choice(parsed.sentences))] if parsed.sentences else []


def _whole_words(parsed: Parsed) -> list[Place]:
    """Return the places of words; adjacent tokens without a space form one word."""
    places: list[Place] = []
    for token in parsed.tokens:
        if is_punctuation(token.text):
            continue
        start = token.start
        if places and places[-1].end == start:
            start = places.pop().start
        places.append(Place(start, token.end))
    return places
