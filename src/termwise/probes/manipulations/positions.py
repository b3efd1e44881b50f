"""Places of words, sentences and noun chunks that can be exchanged without merging with their neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from unicodedata import category

from termwise.probes.language.base import Parsed, Span
from termwise.probes.manipulations.text_edits import Place, merged
from termwise.text.characters import character_table, classify
from termwise.text.tokenizer import WhitespaceWords

Groups = list[list[Place]]
"""Places of a text by group: parts are exchanged within a group."""

_APOSTROPHES = frozenset("'’")


def words(text: str) -> list[Place]:
    """Return the places of words: text between white space, without punctuation at its ends.

    *state-of-the-art* and *don't* are one word: if such words are exchanged, an analyzer finds the same words.

    Examples
    --------
    >>> text = 'The "well-known" dogs (two), ...'
    >>> [text[start:end] for start, end in words(text)]
    ['The', 'well-known', 'dogs', 'two']
    """
    places = []
    for start, end in WhitespaceWords().spans(text):
        core = _core().search(classify(text[start:end]))
        if core is not None:
            places.append(Place(start + core.start(), start + core.end()))
    return places


def all_words(parsed: Parsed) -> Groups:
    """Return `words` in one group."""
    return [words(parsed.text)]


def words_of_sentences(parsed: Parsed) -> Groups:
    """Return `words` by sentence, without a word at the end of a sentence."""
    return _by_sentence(parsed, words(parsed.text))


def words_and_chunks(parsed: Parsed) -> Groups:
    """Return `words` in one group; the words of a noun chunk are one place."""
    return [_joined(parsed, words(parsed.text))]


def words_and_chunks_of_sentences(parsed: Parsed) -> Groups:
    """Return the places of `words_and_chunks` by sentence, without a place at the end of a sentence."""
    return _by_sentence(parsed, _joined(parsed, words(parsed.text)))


def sentences(parsed: Parsed) -> Groups:
    """Return the places of sentences in one group; sentences without a space between them are one place."""
    return [merged(place_of(parsed, sentence) for sentence in parsed.sentences)]


def prepositions(parsed: Parsed) -> Groups:
    """Return the places of prepositions in one group, without those inside a longer word."""
    places = (Place(token.start, token.end) for token in parsed.tokens if token.tag == "ADP")
    return [_separate(parsed.text, places)]


def noun_chunks(parsed: Parsed) -> Groups:
    """Return the places of noun chunks in one group, without those that begin or end inside a word."""
    return [_separate(parsed.text, (place_of(parsed, chunk) for chunk in parsed.chunks))]


def place_of(parsed: Parsed, span: Span) -> Place:
    """Return the character range of a range of tokens."""
    return Place(parsed.tokens[span.first].start, parsed.tokens[span.last - 1].end)


def has_word(text: str) -> bool:
    """Return whether a text has a letter, a mark or a number."""
    return _core().search(classify(text)) is not None


def is_punctuation(word: str) -> bool:
    """Return whether a word consists of punctuation characters; tags are not used, because they can be wrong."""
    return all(category(character)[0] == "P" for character in word)


def _separate(text: str, places: Iterable[Place]) -> list[Place]:
    """Leave out places that touch a word or another place."""
    separate: list[Place] = []
    for start, end in places:
        beside = text[max(0, start - 1) : start] + text[end : end + 1]
        is_free = not has_word(beside) and not _APOSTROPHES.intersection(beside)
        if is_free and not (separate and separate[-1].end == start):
            separate.append(Place(start, end))
    return separate


def _joined(parsed: Parsed, places: Sequence[Place]) -> list[Place]:
    """Merge the places that a noun chunk touches."""
    merged: list[Place] = []
    chunks = iter([place_of(parsed, chunk) for chunk in parsed.chunks])
    chunk = next(chunks, None)
    for place in places:
        while chunk is not None and chunk.end <= place.start:
            chunk = next(chunks, None)
        if merged and chunk is not None and chunk.start < merged[-1].end:
            place = Place(merged.pop().start, place.end)
        merged.append(place)
    return merged


def _by_sentence(parsed: Parsed, places: Iterable[Place]) -> Groups:
    """Group places by the sentence they begin in, without those that include the last token of a sentence."""
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
    """Return the expression, over character classes, from the first to the last letter, mark or number."""
    kinds = character_table().where(lambda kind, _: kind in "LMN")
    return re.compile(f"[{kinds}](?:.*[{kinds}])?", re.DOTALL)
