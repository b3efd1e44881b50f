"""Tokenisation of English texts by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from termwise.probes.language.english import BEFORE_NAMES, BEFORE_NUMBERS, FUNCTION_WORDS, IN_SENTENCES
from termwise.text.characters import character_table, classify

_ABBREVIATIONS = BEFORE_NAMES | IN_SENTENCES
_NEXT = re.compile(r"\s*(?P<word>\w+)")
_WORD = re.compile(
    r"""
      (?P<dotted>L\.(?:L\.)+(?![LMN]))               # U.S., e.g.
    | (?P<number>N+(?:[.,:]N+)*(?![LMN]))            # 1,234.5 and 10:30
    | (?P<word>[LN][LMN]*(?:(?<=[LM])['’]L[LMN]*)*)  # world's
    | (?P<mark>([^\sLMN])\5*|M+)                     # ... and what else there is
    """,
    re.VERBOSE,
)


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the half-open character ranges of words, numbers and punctuation marks.

    Abbreviations and initials include their full stop. An apostrophe between letters does not split a word. A hyphen
    splits a word and is a token. A run of equal marks, such as ``...``, is one token.

    Examples
    --------
    >>> text = "Mr. J. Hale's well-known $1,234.50... in the U.S."
    >>> [text[start:end] for start, end in word_spans(text)]
    ['Mr.', 'J.', "Hale's", 'well', '-', 'known', '$', '1,234.50', '...', 'in', 'the', 'U.S.']
    """
    shape = _Shapes.of(text)
    done = 0
    for found in _WORD.finditer(shape):
        start, end = found.span()
        if start < done:
            continue
        if found["word"] and shape[end : end + 1] == "." and shape[end : end + 2] != "..":
            end += _has_stop(text, text[start:end], end)
        yield start, end
        done = end


def _has_stop(text: str, word: str, end: int) -> bool:
    """Return whether the full stop after a word belongs to it."""
    form = word.lower()
    if form in _ABBREVIATIONS:
        return True
    found = _NEXT.match(text, end + 1)
    following = found["word"] if found else ""
    if form in BEFORE_NUMBERS:
        return following.isdecimal()
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return is_initial and following[:1].isupper() and following.lower() not in FUNCTION_WORDS


class _Shapes(dict[int, str]):
    """Translation table: letters to L, marks to M, numbers to N, white space to a blank, others unchanged."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = character_table().kinds[ord(classify(character))]
        self[code] = kind if kind != "-" else " " if character.isspace() else character
        return self[code]

    @staticmethod
    def of(text: str) -> str:
        return text.translate(_SHAPES)


_SHAPES = _Shapes()
