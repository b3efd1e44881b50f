"""Word tokenizers: the base class, words between white space, and Unicode words."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import cache
from typing import Any, ClassVar

from termwise.fast_dataclass import dataclass
from termwise.text.characters import INVISIBLE, character_table, classify

NOT_SPACE = re.compile("[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_ASCII_WORD = re.compile("[A-Za-z0-9]+(?:(?<=[A-Za-z])'[A-Za-z][A-Za-z0-9]*)*")


class WordTokenizer(ABC):
    """Finds the words of a text. It has no state, and the words are equal in every version of Python."""

    name: ClassVar[str]
    """Name in an `AnalyzerSpec`."""

    nested: ClassVar[bool] = False
    """Whether a word can be followed by its parts, whose ranges are within its own."""

    @property
    def description(self) -> dict[str, Any]:
        """Options of an `AnalyzerSpec` that describe the tokenizer."""
        return {"tokenizer": self.name}

    @abstractmethod
    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words in the order of their starts; none is empty."""

    def words(self, text: str) -> list[str]:
        """Return all words as they are written."""
        return [text[start:end] for start, end in self.spans(text)]


@dataclass(frozen=True)
class WhitespaceWords(WordTokenizer):
    r"""Text between white space, with its punctuation.

    White space is that of ``str.split()``. Lucene's whitespace tokenizer differs: it does not split at U+0085 and the
    no-break spaces (U+00A0, U+2007, U+202F), and cuts words longer than 255.

    Examples
    --------
    >>> WhitespaceWords().words("Merge  two\tlists!")
    ['Merge', 'two', 'lists!']
    """

    name: ClassVar[str] = "whitespace"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words."""
        return [match.span() for match in NOT_SPACE.finditer(text)]

    def words(self, text: str) -> list[str]:
        """Return all words."""
        return text.split()


@dataclass(frozen=True)
class UnicodeWords(WordTokenizer):
    """Maximal runs of letters, marks and numbers that do not begin with a mark.

    An apostrophe (' or ’) between two letters belongs to the word, also if marks follow the first letter, so that a
    stemmer gets ``world's``. Characters that are not seen, such as soft hyphens, count as marks. All other punctuation,
    including the underscore, separates words. Letters, marks and numbers are the general categories L, M and N of
    Unicode 17.0.0 in every version of Python.

    Examples
    --------
    >>> UnicodeWords().words("the world’s snake_case, 3.14 and 'naïve'")
    ['the', 'world’s', 'snake', 'case', '3', '14', 'and', 'naïve']
    """

    name: ClassVar[str] = "unicode-words"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words."""
        if text.isascii():
            return [match.span() for match in _ASCII_WORD.finditer(text)]
        return [match.span() for match in unicode_word().finditer(_classes(text))]

    def words(self, text: str) -> list[str]:
        """Return all words."""
        return _ASCII_WORD.findall(text) if text.isascii() else super().words(text)


def _classes(text: str) -> str:
    return classify(_INVISIBLE.sub("\u0301", text.replace("’", "'")))


@cache
def unicode_word() -> re.Pattern[str]:
    """Compile the rule of `UnicodeWords` over character classes."""
    where = character_table().where
    letter = where(lambda kind, _: kind == "L")
    mark = where(lambda kind, _: kind == "M")
    number = where(lambda kind, _: kind == "N")
    apostrophe = where(lambda _, properties: "Single_Quote" in properties)
    rest = f"[{letter}{mark}{number}]*"
    return re.compile(f"[{letter}{number}]{rest}(?:(?<=[{letter}{mark}])[{apostrophe}][{letter}]{rest})*")
