"""Words of program code: identifiers as a whole and in their parts."""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar

from termwise.fast_dataclass import dataclass
from termwise.text.characters import character_table, classify
from termwise.text.tokenizer import WordTokenizer

IDENTIFIER = re.compile("[A-Za-z0-9_]*[A-Za-z0-9][A-Za-z0-9_]*")
PART = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@dataclass(frozen=True)
class CodeWords(WordTokenizer):
    """Identifiers, and the parts of those that have several.

    An identifier is a run of letters, marks, numbers and underscores, by Unicode 17.0.0. Parts end at underscores,
    before a capital that follows a small letter or precedes one, and between letters and numbers. An identifier of
    several parts comes first and is followed by its parts, so their ranges overlap.

    Examples
    --------
    >>> CodeWords().words("getUserById parse_HTTPResponse2 os.path")
    ['getUserById', 'get', 'User', 'By', 'Id', 'parse_HTTPResponse2', 'parse', 'HTTP', 'Response', '2', 'os', 'path']
    """

    name: ClassVar[str] = "code-words"
    nested: ClassVar[bool] = True

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all identifiers and parts, in the order of their starts."""
        kinds = text if text.isascii() else _ascii_kinds(text)
        spans = []
        for identifier in IDENTIFIER.finditer(kinds):
            whole = identifier.span()
            parts = [part.span() for part in PART.finditer(kinds, *whole)]
            spans += parts if parts == [whole] else [whole, *parts]
        return spans


def _ascii_kinds(text: str) -> str:
    """Write ``A``, ``a``, ``0`` or ``_`` for a capital, another letter, a number, an underscore; otherwise a blank.

    A mark counts as a small letter after a letter, and as a number after a number.
    """
    lower, kinds = character_table().lower, code_kinds()
    written = []
    before = " "
    for char, number in zip(text, classify(text), strict=True):
        kind = kinds[ord(number)]
        if kind == "M":
            kind = {"A": "a", "a": "a", "0": "0"}.get(before, " ")
        elif kind == "a" and lower[ord(char)] != ord(char):
            kind = "A"
        written.append(kind)
        before = kind
    return "".join(written)


@cache
def code_kinds() -> tuple[str, ...]:
    """Return ``a`` (letter), ``M`` (mark), ``0`` (number), ``_`` or a blank for each class of characters."""
    table = character_table()
    return tuple(
        "_" if kind == "-" and "ExtendNumLet" in properties else {"L": "a", "M": "M", "N": "0"}.get(kind, " ")
        for kind, properties in zip(table.kinds, table.properties, strict=True)
    )
