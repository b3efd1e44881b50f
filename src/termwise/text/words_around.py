"""Words around positions in a text, for analyzers that split words into pieces.

A word is a sequence of letters and digits. Positions in scripts without spaces between words (Chinese, Japanese, Thai,
Lao, Burmese, Khmer) are inside no word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Ranges of the characters of these scripts, for a class of a regular expression."""

_WORD_CHARACTER = re.compile(f"[^\\W_{UNSPACED}]|[\u0300-\u036f]")
_WORD_CHARACTERS = re.compile(f"(?:[^\\W_{UNSPACED}]+|[\u0300-\u036f]+)+")
_LONGEST = 200


def word_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of the word around a span.

    Examples
    --------
    >>> word_around("the pathlib module", 8, 11), word_around("the pathlib module", 4, 11)
    ((4, 11), (4, 11))
    """
    if inside_word(text, start):
        start -= _leading(text[max(0, start - _LONGEST) : start][::-1])
    if inside_word(text, end):
        end += _leading(text[end : end + _LONGEST])
    return start, end


def is_part_of_word(text: str, spans: Sequence[Sequence[int]], first: int, stop: int) -> bool:
    """Return whether the tokens before `stop`, from `first` on, begin or end in a word that other tokens are in, too.

    Examples
    --------
    >>> spans = [(0, 3), (4, 8), (8, 11)]
    >>> is_part_of_word("the pathlib", spans, 0, 2), is_part_of_word("the pathlib", spans, 0, 3)
    (True, False)
    """
    start, end = word_around(text, spans[first][0], spans[stop - 1][1])
    return (first > 0 and spans[first - 1][1] > start) or (stop < len(spans) and spans[stop][0] < end)


def inside_word(text: str, position: int) -> bool:
    """Return whether a position is inside a word.

    Examples
    --------
    >>> inside_word("os.path", 4), inside_word("os.path", 2)
    (True, False)
    """
    if not 0 < position < len(text):
        return False
    before, after = _WORD_CHARACTER.match(text, position - 1), _WORD_CHARACTER.match(text, position)
    return before is not None and after is not None


def _leading(text: str) -> int:
    """Return the length of the word at the start of a text."""
    word = _WORD_CHARACTERS.match(text)
    return 0 if word is None else word.end()
