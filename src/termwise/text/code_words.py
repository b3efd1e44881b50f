"""Words of program code: identifiers as a whole and in their parts."""

from __future__ import annotations

import re
from typing import ClassVar

from termwise.fast_dataclass import dataclass
from termwise.text.tokenizer import WordTokenizer
from termwise.text.words_with_parts import CAPITAL, SMALL, kinds_of_text, spans_beside_marks

_LETTERS = f"A-Za-z{CAPITAL}{SMALL}"
IDENTIFIER = re.compile(f"[{_LETTERS}0-9_]*[{_LETTERS}0-9][{_LETTERS}0-9_]*")
"""Pattern of an identifier, in a text of kinds of characters; see `kinds_of_characters`."""

PART = re.compile(f"[A-Z{CAPITAL}]+(?![a-z{SMALL}])|[A-Z{CAPITAL}]?[a-z{SMALL}]+|[0-9]+")
"""A part of an identifier, over the same kinds."""


@dataclass(frozen=True)
class CodeWords(WordTokenizer):
    """Identifiers, and the parts of those that have several.

    An identifier is a run of letters, marks, numbers and underscores, by Unicode 17.0.0. Parts end at underscores,
    before a capital that follows a small letter or precedes one, and between letters and numbers. An identifier of
    several parts comes first and is followed by its parts, so their ranges overlap. Marks belong to the letter before
    them, and characters that are not seen do not end a word, as in `WordsWithParts`.

    Examples
    --------
    >>> CodeWords().words("getUserById parse_HTTPResponse2 os.path")
    ['getUserById', 'get', 'User', 'By', 'Id', 'parse_HTTPResponse2', 'parse', 'HTTP', 'Response', '2', 'os', 'path']
    """

    name: ClassVar[str] = "code-words"
    nested: ClassVar[bool] = True

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all identifiers and parts, in the order of their starts."""
        if text.isascii():
            return _spans(text)
        return spans_beside_marks(kinds_of_text(text), _spans)


def _spans(kinds: str) -> list[tuple[int, int]]:
    spans = []
    for identifier in IDENTIFIER.finditer(kinds):
        whole = identifier.span()
        parts = [part.span() for part in PART.finditer(kinds, *whole)]
        spans += parts if parts == [whole] else [whole, *parts]
    return spans
