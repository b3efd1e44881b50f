"""The tokenizer of the default analyzer: runs of letters, marks and numbers in any script."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from termwise.text.characters import character_table, classify

_ASCII_WORD = re.compile("[A-Za-z0-9]+(?:(?<=[A-Za-z])'[A-Za-z][A-Za-z0-9]*)*")


@dataclass(frozen=True)
class UnicodeWords:
    """Words are maximal runs of letters, marks and numbers that do not begin with a mark.

    An apostrophe (' or ’) between two letters belongs to the word, so that a stemmer sees ``world's``; the
    letter before it may carry marks. The underscore separates, as all other punctuation does. Letters, marks
    and numbers are the general categories L, M and N of Unicode 17.0.0, whatever the Python version.

    Examples
    --------
    >>> UnicodeWords().words("the world’s snake_case, 3.14 and 'naïve'")
    ['the', 'world’s', 'snake', 'case', '3', '14', 'and', 'naïve']
    """

    name: ClassVar[str] = "unicode-words"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words."""
        if text.isascii():
            return [found.span() for found in _ASCII_WORD.finditer(text)]
        return self._spans_by_class(text)

    def words(self, text: str) -> list[str]:
        """Return all words as they are written."""
        if text.isascii():
            return _ASCII_WORD.findall(text)
        return [text[start:end] for start, end in self._spans_by_class(text)]

    def _spans_by_class(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in _word().finditer(classify(text.replace("’", "'")))]


@cache
def _word() -> re.Pattern[str]:
    """Return the rule as a regular expression over character classes."""
    where = character_table().where
    letter = where(lambda kind, _: kind == "L")
    mark = where(lambda kind, _: kind == "M")
    number = where(lambda kind, _: kind == "N")
    apostrophe = where(lambda _, properties: "Single_Quote" in properties)
    rest = f"[{letter}{mark}{number}]*"
    return re.compile(f"[{letter}{number}]{rest}(?:(?<=[{letter}{mark}])[{apostrophe}][{letter}]{rest})*")
