"""Character properties and lower case of a fixed version of Unicode.

Python's own tables change with its releases, and an analyzer gives the same tokens in all versions. The properties
that define words and the lower-case mappings are therefore in the file ``unicode-17.0.0.txt``, generated from the
Unicode Character Database [1]_.

References
----------
.. [1] The Unicode Consortium, *The Unicode Standard*, version 17.0.0, 2025. https://www.unicode.org/versions/
.. [2] The Unicode Consortium, *UTS #51: Unicode Emoji*, section 1.4.9. https://www.unicode.org/reports/tr51/
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass

UNICODE_VERSION = "17.0.0"
"""Version of all character tables of this package."""

INVISIBLE = (
    "\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8"
)
"""Characters that are not seen, such as soft hyphens and joiners, for a class of a regular expression."""

_CODE_POINTS = 0x110000
_SURROGATE = re.compile("[\ud800-\udfff]")
_SINGLED_OUT = {
    "Keycap": range(0x20E3, 0x20E4),
    "Text_Selector": range(0xFE0E, 0xFE0F),
    "Emoji_Selector": range(0xFE0F, 0xFE10),
    "Tag": range(0xE0020, 0xE007F),
    "Tag_End": range(0xE007F, 0xE0080),
}
"""Characters with a special role in emoji sequences [2]_; each has a property of this name, and therefore a class."""


@dataclass(frozen=True)
class CharacterTable:
    """Properties and lower case of all characters.

    Attributes
    ----------
    classes : ndarray of shape (1114112,), uint8
        Class of each code point; all word rules treat the characters of a class in the same way.
    kinds : tuple of str
        ``"L"`` (letter), ``"M"`` (mark), ``"N"`` (number) or ``"-"`` (anything else) for each class.
    properties : tuple of frozenset of str
        Property names of each class, as in the Unicode Character Database.
    lower : ndarray of shape (1114112,), uint32
        Simple lower-case mapping of each code point.
    """

    classes: npt.NDArray[np.uint8]
    kinds: tuple[str, ...]
    properties: tuple[frozenset[str], ...]
    lower: npt.NDArray[np.uint32]

    def where(self, holds: Callable[[str, frozenset[str]], bool]) -> str:
        """Return the classes for which `holds(kind, properties)` is true, as the content of a character set."""
        chosen = [
            number
            for number, (kind, properties) in enumerate(zip(self.kinds, self.properties, strict=True))
            if holds(kind, properties)
        ]
        return "".join(f"\\x{number:02x}" for number in chosen)


@cache
def character_table() -> CharacterTable:
    """Read the table once.

    Examples
    --------
    >>> table = character_table()
    >>> number = table.classes[ord("7")]
    >>> table.kinds[number], sorted(table.properties[number])
    ('N', ['Emoji', 'Numeric'])
    """
    classes = np.zeros(_CODE_POINTS, dtype=np.uint8)
    lower = np.arange(_CODE_POINTS, dtype=np.uint32)
    numbers: dict[tuple[str, str], int] = {("-", "-"): 0}
    table = Path(__file__).with_name(f"unicode-{UNICODE_VERSION}.txt")
    for line in table.read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        where, kind, value = line.split(" ")
        span, _, step = where.partition("/")
        first, _, last = span.partition("..")
        points = range(int(first, 16), int(last or first, 16) + 1, int(step or 1))
        if kind == "lower":
            lower[points.start : points.stop : points.step] += np.uint32(int(value) % 2**32)
        else:
            classes[points.start : points.stop] = numbers.setdefault((kind, value), len(numbers))
    for name, points in _SINGLED_OUT.items():
        kind, value = list(numbers)[classes[points.start]]
        classes[points.start : points.stop] = numbers.setdefault((kind, f"{value},{name}"), len(numbers))
    classes.setflags(write=False)
    lower.setflags(write=False)
    return CharacterTable(
        classes=classes,
        kinds=tuple(kind for kind, _ in numbers),
        properties=tuple(frozenset(value.split(",")) - {"-"} for _, value in numbers),
        lower=lower,
    )


def is_letter(char: str) -> bool:
    """Return whether a character is a letter, general category L.

    Examples
    --------
    >>> [is_letter(char) for char in "aß漢1-"]
    [True, True, True, False, False]
    """
    table = character_table()
    kind: str = table.kinds[table.classes[ord(char)]]
    return kind == "L"


def classify(text: str) -> str:
    """Replace each character by the character whose code point is its class, for regular expressions over classes."""
    return character_table().classes[code_points(text)].tobytes().decode("latin-1")


def lower_case(text: str) -> str:
    """Convert each character to lower case.

    Unlike ``str.lower()``, the result does not depend on the context (a Greek Σ always becomes σ, never ς) or on the
    Python version, so it is equal for a text and for its words. Only İ (U+0130) becomes two characters: i and a
    combining dot.

    Examples
    --------
    >>> lower_case("ΟΔΟΣ Straße")
    'οδοσ straße'
    """
    if text.isascii():
        return text.lower()
    codes = character_table().lower[code_points(text.replace("İ", "i\u0307"))]
    return codes.astype("<u4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")


def without_surrogates(text: str) -> str:
    r"""Replace each lone surrogate, which UTF-8 cannot encode, by U+FFFD; the length stays the same.

    Examples
    --------
    >>> without_surrogates("a\ud800b")
    'a�b'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the code point of each character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
