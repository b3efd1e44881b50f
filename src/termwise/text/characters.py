"""Character properties and lower-casing, frozen at one version of Unicode.

Python's own tables move on with every release, and an analyzer must give the same tokens for ever. So the
properties that decide where a word ends, and the lower-case mappings, are read from a file of ours:
``unicode-17.0.0.txt``, generated from the Unicode Character Database [1]_.

References
----------
.. [1] The Unicode Consortium, *The Unicode Standard*, version 17.0.0, 2025. https://www.unicode.org/versions/
.. [2] The Unicode Consortium, *UTS #51: Unicode Emoji*, section 1.4.9. https://www.unicode.org/reports/tr51/
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt

UNICODE_VERSION = "17.0.0"
"""The version all tables of this package are taken from."""

_CODE_POINTS = 0x110000
_SURROGATE = re.compile("[\ud800-\udfff]")
_SINGLED_OUT = {
    "Keycap": range(0x20E3, 0x20E4),
    "Text_Selector": range(0xFE0E, 0xFE0F),
    "Emoji_Selector": range(0xFE0F, 0xFE10),
    "Tag": range(0xE0020, 0xE007F),
    "Tag_End": range(0xE007F, 0xE0080),
}
"""What emoji sequences [2]_ name character by character: a property of this name, and so a class, each."""


@dataclass(frozen=True)
class CharacterTable:
    """Which characters share their properties, and how each is lower-cased.

    Attributes
    ----------
    classes : ndarray of shape (1114112,), uint8
        The class of each code point: characters are in one class if no word rule tells them apart.
    kinds : tuple of str
        For each class ``"L"`` (letter), ``"M"`` (mark), ``"N"`` (number) or ``"-"`` (anything else).
    properties : tuple of frozenset of str
        For each class its property names as in the Unicode Character Database.
    lower : ndarray of shape (1114112,), uint32
        The simple lower-case mapping of each code point.
    """

    classes: npt.NDArray[np.uint8]
    kinds: tuple[str, ...]
    properties: tuple[frozenset[str], ...]
    lower: npt.NDArray[np.uint32]

    def where(self, holds: Callable[[str, frozenset[str]], bool]) -> str:
        """Return, as the inside of a regular-expression bracket, the classes for which `holds` is true.

        Parameters
        ----------
        holds : callable of (kind, properties) to bool
            Which classes are wanted.
        """
        chosen = [
            number
            for number, (kind, properties) in enumerate(zip(self.kinds, self.properties, strict=True))
            if holds(kind, properties)
        ]
        return "".join(f"\\x{number:02x}" for number in chosen)


@cache
def character_table() -> CharacterTable:
    """Read the table; the first call takes a few milliseconds, later ones nothing.

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
    table = resources.files("termwise.text").joinpath(f"unicode-{UNICODE_VERSION}.txt")
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


def classify(text: str) -> str:
    """Replace each character by its class, so that word rules can be regular expressions over classes.

    Returns
    -------
    str of the length of `text`
        The character at position *i* has the number of the class of ``text[i]`` as its code point.
    """
    return character_table().classes[_code_points(text)].tobytes().decode("latin-1")


def lower_case(text: str) -> str:
    """Lower-case each character by itself.

    This is ``str.lower()`` without its dependence on context (a Greek Σ always becomes σ, never ς) and on the
    Python version, so that lower-casing a text and lower-casing its words come to the same. Only İ (U+0130)
    becomes two characters: i and a combining dot.

    Examples
    --------
    >>> lower_case("ΟΔΟΣ Straße")
    'οδοσ straße'
    """
    if text.isascii():
        return text.lower()
    codes = character_table().lower[_code_points(text.replace("İ", "i\u0307"))]
    return codes.astype("<u4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")


def without_surrogates(text: str) -> str:
    r"""Replace each lone surrogate by U+FFFD, as it has no place in UTF-8; lengths stay the same.

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


def _code_points(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
