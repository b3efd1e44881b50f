"""Words and sentences of a text, and changes of some of them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from termwise.probes.language.base import Language
from termwise.probes.manipulations.positions import place_of
from termwise.probes.manipulations.text_edits import Place, contents, in_a_row, replaced

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

SHARE = 1 / 3
"""Of the words that could be changed, so many are."""


def content_words(text: str, stop_words: frozenset[str]) -> list[str]:
    """Return the words that say something, as they stand there; all words where none does.

    Examples
    --------
    >>> content_words("How tall is the tower?", frozenset({"how", "is", "the"}))
    ['tall', 'tower']
    """
    words = WORD.findall(text)
    return [word for word in words if word.lower() not in stop_words] or words


def sentence_places(language: Language, text: str) -> list[Place]:
    """Return where the sentences of a text are."""
    parsed = language.parse(text)
    return [place_of(parsed, span) for span in parsed.sentences if span.last > span.first]


def sentences(language: Language, text: str) -> list[str]:
    """Return the sentences of a text."""
    return contents(text, sentence_places(language, text))


def best_sentence(query: str, among: Sequence[str], stop_words: frozenset[str]) -> int | None:
    """Return which sentence says most of the words of a query; the first of several, None if none says any.

    Examples
    --------
    >>> best_sentence("tall tower", ["It is tall.", "The tower is tall.", "The end."], frozenset())
    1
    """
    wanted = {word.lower() for word in content_words(query, stop_words)}
    said = [len(wanted.intersection(map(str.lower, WORD.findall(sentence)))) for sentence in among]
    return said.index(max(said)) if any(said) else None


def inserted(text: str, payload: str, place: str, language: Language) -> str | None:
    """Put something at the start, in the middle or at the end of a text.

    In the middle means before the sentence that begins the second half; there is none in a single sentence.
    """
    if place == "start":
        return in_a_row(payload, text)
    if place == "end":
        return in_a_row(text, payload)
    starts = sentence_starts(text, language)
    return None if not starts else put(text, payload, starts[len(starts) // 2])


def sentence_starts(text: str, language: Language) -> list[int]:
    """Return where sentences begin, but for the first."""
    return [start for start, _ in sentence_places(language, text)[1:]]


def put(text: str, payload: str, offset: int) -> str:
    """Put something before a sentence that begins at an offset."""
    return f"{text[:offset]}{payload} {text[offset:]}"


def scrambled(text: str, drawing: random.Random) -> str:
    """Move letters and digits to each other's places, so that length and punctuation stay and no word does.

    Examples
    --------
    >>> mixed = scrambled("Rank this first!", random.Random(1))
    >>> sorted(mixed) == sorted("Rank this first!"), mixed[4], mixed[-1]
    (True, ' ', '!')
    """
    places = [place for place, character in enumerate(text) if character.isalnum()]
    moved = [text[place] for place in places]
    drawing.shuffle(moved)
    characters = list(text)
    for place, character in zip(places, moved, strict=True):
        characters[place] = character
    return "".join(characters)


def with_some_words(
    text: str,
    drawing: random.Random,
    change: Callable[[str, random.Random], str | None],
    *,
    share: float = SHARE,
) -> str | None:
    """Change some of the words that can be changed, at least one; None where no word can.

    Parameters
    ----------
    text : str
        Whose words.
    drawing : random.Random
        Chooses words, and is handed on.
    change : callable
        Returns the changed word, or None where it cannot be.
    share : float, optional
        Of the words that can be changed.
    """
    found = [
        (Place(*match.span()), new)
        for match in WORD.finditer(text)
        if (new := change(match[0], drawing)) is not None and new != match[0]
    ]
    if not found:
        return None
    taken = [one for one in found if drawing.random() < share] or [drawing.choice(found)]
    return replaced(text, [place for place, _ in taken], [new for _, new in taken])
