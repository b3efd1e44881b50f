"""Parser by rules, without dependencies: words, sentences and approximate noun chunks."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from termwise.fast_dataclass import dataclass
from termwise.probes.language.base import Parsed, Span, Token
from termwise.probes.language.rule_lemmas import rule_lemma
from termwise.probes.language.rule_words import (
    BEFORE_NAMES,
    FUNCTION_WORDS,
    NUMBER_WORDS,
    PREPOSITIONS,
    word_spans,
)

SHORTEST_CHUNK = 6
"""Minimum number of characters of a noun chunk."""

_ENDS = re.compile("[.!?…]+")
_WIDE_ENDS = frozenset("。！？")
_CLOSING = frozenset("\"'”’»)]}」』")
_OPENING = frozenset("\"'“‘«([{「『")
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n|\u2029")


@dataclass(frozen=True)
class RuleLanguage:
    """Parser of English by rules.

    - Sentences end at full stops, question marks and exclamation marks before white space, unless a small letter
      follows; not after titles, initials and abbreviations. An empty line ends a sentence as well.
    - Lemmas come from endings, see `termwise.probes.language.rule_lemmas`. Capitalised words inside a sentence
      count as proper names and keep their form.
    - Tags are PUNCT, SYM, NUM and, for a closed list of prepositions, ADP; others are empty.
    - Noun chunks are approximate: the longest runs of words that are not function words, of more than 5 characters.
      They can contain verbs.
    - Names are not found.

    Examples
    --------
    >>> parsed = RuleLanguage().parse("Mr. Hale lives in the old house. He paid $3.50!")
    >>> [parsed.of(sentence) for sentence in parsed.sentences]
    ['Mr. Hale lives in the old house.', 'He paid $3.50!']
    >>> [parsed.of(chunk) for chunk in parsed.chunks]
    ['Mr. Hale lives', 'old house']
    >>> [(token.lemma, token.tag) for token in parsed.tokens[2:4]]
    [('live', ''), ('in', 'ADP')]
    """

    @property
    def name(self) -> str:
        """``rules`` and a version, which increases if results change."""
        return "rules 1"

    def parse(self, text: str) -> Parsed:
        """See `Language`."""
        words = [_Word(text[start:end], start, end) for start, end in word_spans(text)]
        sentences = tuple(_sentences(text, words))
        openings = {_opening(words, sentence) for sentence in sentences}
        tokens = tuple(
            Token(sys.intern(word), start, end, sys.intern(_lemma(word, place in openings)), _tag(word))
            for place, (word, start, end) in enumerate(words)
        )
        return Parsed(text, tokens, sentences, tuple(_chunks(tokens, sentences)), entities=())


class _Word(NamedTuple):
    text: str
    start: int
    end: int


def _sentences(text: str, words: Sequence[_Word]) -> Iterator[Span]:
    first = 0
    for place in range(1, len(words)):
        if _ends(text, words, place):
            yield Span(first, place)
            first = place
    if words:
        yield Span(first, len(words))


def _ends(text: str, words: Sequence[_Word], place: int) -> bool:
    """Return whether a sentence ends before a word."""
    gap = text[words[place - 1].end : words[place].start]
    if _EMPTY_LINE.search(gap):
        return True
    last = place - 1
    while last > 0 and words[last].text in _CLOSING and words[last - 1].end == words[last].start:
        last -= 1
    mark = words[last].text
    if not gap:
        return mark in _WIDE_ENDS and words[place].text not in _CLOSING | _WIDE_ENDS
    following = next((word.text for word in words[place : place + 4] if word.text not in _OPENING), '"')
    if _ENDS.fullmatch(mark):
        return not following[0].islower()
    is_abbreviation = len(mark) > 2 and mark.endswith(".") and mark[:-1].lower() not in BEFORE_NAMES
    return is_abbreviation and following[0].isupper() and following.lower() in FUNCTION_WORDS


def _opening(words: Sequence[_Word], sentence: Span) -> int:
    """Return the place of the first word of a sentence, after opening quotation marks and brackets."""
    places = range(*sentence)
    return next((place for place in places if words[place].text[0].isalnum()), sentence.first)


def _lemma(word: str, opens: bool) -> str:
    """Return the lemma of a word; a capital inside a sentence makes a proper name."""
    return word if word[0].isupper() and not opens else rule_lemma(word)


def _tag(word: str) -> str:
    kinds = {unicodedata.category(character)[0] for character in word}
    if kinds <= {"P", "S"}:
        return "PUNCT" if "P" in kinds else "SYM"
    form = word.lower()
    if form in PREPOSITIONS:
        return "ADP"
    return "NUM" if form in NUMBER_WORDS or kinds <= {"N", "P"} else ""


def _chunks(tokens: Sequence[Token], sentences: Sequence[Span]) -> Iterator[Span]:
    for sentence in sentences:
        inside = (place for place in range(*sentence) if _is_in_chunks(tokens[place]))
        for _, run in groupby(enumerate(inside), key=lambda pair: pair[1] - pair[0]):
            places = [place for _, place in run]
            if tokens[places[-1]].end - tokens[places[0]].start >= SHORTEST_CHUNK:
                yield Span(places[0], places[-1] + 1)


def _is_in_chunks(token: Token) -> bool:
    return token.tag not in ("PUNCT", "SYM", "ADP") and token.text.lower() not in FUNCTION_WORDS
