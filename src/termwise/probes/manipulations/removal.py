"""Parts of a text are left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from termwise.probes.language.base import Parsed
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.positions import has_word, is_punctuation, place_of
from termwise.probes.manipulations.stop_words import is_stop_word
from termwise.probes.manipulations.text_edits import Place, without


@dataclass(frozen=True)
class Removed:
    """Parts of a text are left out, so that one space remains where there was one.

    There is no sample where nothing would be left.

    Attributes
    ----------
    name, title, makes : str
        See `Manipulation`.
    places : callable
        Finds what is left out: one of the functions here.
    """

    name: str
    title: str
    makes: str
    places: Callable[[Parsed, Around], list[Place]]

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        places = self.places(around.language.parse(text), around)
        if not places:
            return None
        changed = without(text, places)
        return changed if has_word(changed) else None


def punctuation(parsed: Parsed, around: Around) -> list[Place]:
    """Return the places of punctuation that is not part of a word, as it is in *don't* and *3.14*."""
    return [Place(token.start, token.end) for token in parsed.tokens if is_punctuation(token.text)]


def stop_words(parsed: Parsed, around: Around) -> list[Place]:
    """Return the places of stop words.

    Where a language takes *don't* for two words, the whole is looked up.
    """
    places = _whole_words(parsed)
    return [place for place in places if is_stop_word(parsed.text[place.start : place.end], around)]


def stop_words_and_punctuation(parsed: Parsed, around: Around) -> list[Place]:
    """Return the places of both."""
    return sorted([*stop_words(parsed, around), *punctuation(parsed, around)])


def first_sentence(parsed: Parsed, around: Around) -> list[Place]:
    """Return the place of the first sentence."""
    return [place_of(parsed, sentence) for sentence in parsed.sentences[:1]]


def last_sentence(parsed: Parsed, around: Around) -> list[Place]:
    """Return the place of the last sentence."""
    return [place_of(parsed, sentence) for sentence in parsed.sentences[-1:]]


def random_sentence(parsed: Parsed, around: Around) -> list[Place]:
    """Return the place of a sentence that is drawn."""
    return [place_of(parsed, around.random.choice(parsed.sentences))] if parsed.sentences else []


def _whole_words(parsed: Parsed) -> list[Place]:
    """Return the places of words, tokens that follow each other without anything between taken as one."""
    found: list[Place] = []
    for token in parsed.tokens:
        if is_punctuation(token.text):
            continue
        start = token.start
        if found and found[-1].end == start:
            start = found.pop().start
        found.append(Place(start, token.end))
    return found
