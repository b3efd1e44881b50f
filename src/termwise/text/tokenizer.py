"""The contract of a word tokenizer, and the simplest one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Protocol

_NOT_SPACE = re.compile("[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")


class WordTokenizer(Protocol):
    """Says where the words of a text are. Stateless, and the same in every version of Python."""

    @property
    def name(self) -> str:
        """How the tokenizer is called in an `AnalyzerSpec`."""
        ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words, in order, none empty, none overlapping."""
        ...

    def words(self, text: str) -> list[str]:
        """Return ``[text[start:end] for start, end in spans(text)]``, which may be quicker to get."""
        ...


@dataclass(frozen=True)
class WhitespaceWords:
    r"""Words are what stands between white space, punctuation included.

    White space is what ``str.split()`` takes for it. Lucene's whitespace tokenizer differs in two things: it
    does not split at U+0085 and the no-break spaces (U+00A0, U+2007, U+202F), and cuts words longer than 255.

    Examples
    --------
    >>> WhitespaceWords().words("Merge  two\tlists!")
    ['Merge', 'two', 'lists!']
    """

    name: ClassVar[str] = "whitespace"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words."""
        return [found.span() for found in _NOT_SPACE.finditer(text)]

    def words(self, text: str) -> list[str]:
        """Return all words."""
        return text.split()
