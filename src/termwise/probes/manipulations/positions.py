"""Where the words, sentences and noun chunks of a text are that can change places without running into each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from unicodedata import category

from termwise.probes.language.base import Parsed, Span
from termwise.probes.manipulations.text_edits import Place
from termwise.text.characters import character_table, classify
from termwise.text.tokenizer import WhitespaceWords

Groups = list[list[Place]]
"""Places of a text by group: things change places within a group."""

_APOSTROPHES = frozenset("'’")


def words(text: str) -> list[Place]:
    """Return the places of words: what stands between white space, without punctuation before and after it.

    What is glued together, such as *state-of-the-art* and *don't*, is one word: whatever comes to its place, the words
    that an analyzer finds in the text stay the same.

    Examples
    --------
    >>> text = 'The "well-known" dogs (two), ...'
    >>> [text[start:end] for start, end in words(text)]
    ['The', 'well-known', 'dogs', 'two']
    """
    found = []
    for start, end in WhitespaceWords().spans(text):
        core = _core().search(classify(text[start:end]))
        if core is not None:
            found.append(Place(start + core.start(), start + core.end()))
    return found


def all_words(parsed: Parsed) -> Groups:
    """Return `words` in one group."""
    return [words(parsed.text)]


def words_of_sentences(parsed: Parsed) -> Groups:
    """Return `words` by sentence, but for a word that a sentence ends in: the last token of a sentence stays."""
    return _by_sentence(parsed, words(parsed.text))


def words_and_chunks(parsed: Parsed) -> Groups:
    """Return `words` in one group; those of a noun chunk are one, with what stands between them."""
    return [_joined(parsed, words(parsed.text))]


def words_and_chunks_of_sentences(parsed: Parsed) -> Groups:
    """Return what `words_and_chunks` does, by sentence, but for what a sentence ends in."""
    return _by_sentence(parsed, _joined(parsed, words(parsed.text)))


def sentences(parsed: Parsed) -> Groups:
    """Return the places of sentences in one group; where no space divides two sentences, they are one."""
    places: list[Place] = []
    for start, end in (place_of(parsed, sentence) for sentence in parsed.sentences):
        if places and places[-1].end == start:
            start = places.pop().start
        places.append(Place(start, end))
    return [places]


def prepositions(parsed: Parsed) -> Groups:
    """Return the places of prepositions in one group; those that are part of a longer word are left out."""
    places = (Place(token.start, token.end) for token in parsed.tokens if token.tag == "ADP")
    return [_free(parsed.text, places)]


def noun_chunks(parsed: Parsed) -> Groups:
    """Return the places of noun chunks in one group; those that begin or end within a word are left out."""
    return [_free(parsed.text, (place_of(parsed, chunk) for chunk in parsed.chunks))]


def place_of(parsed: Parsed, span: Span) -> Place:
    """Return the characters that a range of tokens covers."""
    return Place(parsed.tokens[span.first].start, parsed.tokens[span.last - 1].end)


def has_word(text: str) -> bool:
    """Whether there is a letter, a mark or a number."""
    return _core().search(classify(text)) is not None


def is_punctuation(word: str) -> bool:
    """Whether a word is made of punctuation; that is told by its characters, as a tag can be wrong."""
    return all(category(character)[0] == "P" for character in word)


def _free(text: str, places: Iterable[Place]) -> list[Place]:
    """Leave out what has part of a word beside it, or another place without anything between."""
    found: list[Place] = []
    for start, end in places:
        beside = text[max(0, start - 1) : start] + text[end : end + 1]
        is_free = not has_word(beside) and not _APOSTROPHES.intersection(beside)
        if is_free and not (found and found[-1].end == start):
            found.append(Place(start, end))
    return found


def _joined(parsed: Parsed, places: Sequence[Place]) -> list[Place]:
    """Make one place of all that a noun chunk touches."""
    found: list[Place] = []
    chunks = iter([place_of(parsed, chunk) for chunk in parsed.chunks])
    chunk = next(chunks, None)
    for place in places:
        while chunk is not None and chunk.end <= place.start:
            chunk = next(chunks, None)
        if found and chunk is not None and chunk.start < found[-1].end:
            place = Place(found.pop().start, place.end)
        found.append(place)
    return found


def _by_sentence(parsed: Parsed, places: Iterable[Place]) -> Groups:
    """Divide places by the sentences they begin in, without what the last token of a sentence is part of."""
    groups: Groups = [[] for _ in parsed.sentences]
    ends = [place_of(parsed, sentence).end for sentence in parsed.sentences]
    number = 0
    for place in places:
        while number < len(ends) - 1 and ends[number] <= place.start:
            number += 1
        if place.end < ends[number]:
            groups[number].append(place)
    return groups


@cache
def _core() -> re.Pattern[str]:
    """Return what reaches from the first to the last letter, mark or number, as an expression over classes."""
    kinds = character_table().where(lambda kind, _: kind in "LMN")
    return re.compile(f"[{kinds}](?:.*[{kinds}])?", re.DOTALL)
