"""Words and sentences of a text: finding, inserting and changing them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from termwise.probes.language.base import Language
from termwise.probes.manipulations.positions import place_of
from termwise.probes.manipulations.text_edits import Place, contents, in_a_row, replaced

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

PLACES = {"start": "at the start", "middle": "in the middle", "end": "at the end"}
"""Places in a text, and their form in titles."""

SHARE = 1 / 3
"""Share of the words that are changed."""


def content_words(text: str, stop_words: frozenset[str]) -> list[str]:
    """Return the words that are not stop words, or all words if all are stop words.

    Examples
    --------
    >>> content_words("How tall is the tower?", frozenset({"how", "is", "the"}))
    ['tall', 'tower']
    """
    words = WORD.findall(text)
    return [word for word in words if word.lower() not in stop_words] or words


def sentence_places(language: Language, text: str) -> list[Place]:
    """Return the places of the sentences of a text."""
    parsed = language.parse(text)
    return [place_of(parsed, sentence) for sentence in parsed.sentences]


def sentences(language: Language, text: str) -> list[str]:
    """Return the sentences of a text."""
    return contents(text, sentence_places(language, text))


def best_sentence(query: str, candidates: Sequence[str], stop_words: frozenset[str]) -> int | None:
    """Return the position of the first sentence with most query words; None if no sentence has a query word.

    Examples
    --------
    >>> best_sentence("tall tower", ["It is tall.", "The tower is tall.", "The end."], frozenset())
    1
    """
    query_words = {word.lower() for word in content_words(query, stop_words)}
    counts = [
        len(query_words.intersection(map(str.lower, WORD.findall(sentence)))) for sentence in candidates
    ]
    return counts.index(max(counts)) if any(counts) else None


def inserted(text: str, payload: str, place: str, language: Language) -> str | None:
    """Insert a payload into a text at one of `PLACES`.

    The middle is before the sentence that begins the second half; None for the middle of a single sentence.
    """
    if place == "start":
        return in_a_row(payload, text)
    if place == "end":
        return in_a_row(text, payload)
    starts = sentence_starts(text, language)
    return put_before(text, payload, starts[len(starts) // 2]) if starts else None


def sentence_starts(text: str, language: Language) -> list[int]:
    """Return the offsets of all sentences except the first."""
    return [start for start, _ in sentence_places(language, text)[1:]]


def put_before(text: str, payload: str, offset: int) -> str:
    """Insert a payload before the sentence at an offset."""
    return f"{text[:offset]}{payload} {text[offset:]}"


def scrambled(text: str, random: Random) -> str:
    """Shuffle the letters and digits of a text; length, spaces and punctuation do not change.

    Examples
    --------
    >>> mixed = scrambled("Rank this first!", Random(1))
    >>> sorted(mixed) == sorted("Rank this first!"), mixed[4], mixed[-1]
    (True, ' ', '!')
    """
    shuffled = [character for character in text if character.isalnum()]
    random.shuffle(shuffled)
    remaining = iter(shuffled)
    return "".join(next(remaining) if character.isalnum() else character for character in text)


def with_some_words(
    text: str, random: Random, change: Callable[[str, Random], str | None], *, share: float = SHARE
) -> str | None:
    """Change a share of the words that can be changed, at least one; None if no word can be changed.

    `change` returns the changed word; None, or the same word, if it cannot be changed.
    """
    candidates = [
        (Place(*match.span()), new)
        for match in WORD.finditer(text)
        if (new := change(match[0], random)) is not None and new != match[0]
    ]
    if not candidates:
        return None
    chosen = [each for each in candidates if random.random() < share] or [random.choice(candidates)]
    return replaced(text, [place for place, _ in chosen], [new for _, new in chosen])
