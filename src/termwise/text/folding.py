"""Normal forms of words: composed letters, letters without accents, compounds without what joins their parts.

References
----------
.. [1] The Unicode Consortium, *UAX #15: Unicode Normalization Forms*. https://www.unicode.org/reports/tr15/
.. [2] Apache Lucene 10, class ``ASCIIFoldingFilter``, which has more letters and no decomposed ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from termwise.text.characters import INVISIBLE
from termwise.text.words_with_parts import DECIMAL_COMMA, JOINT, NUMBER_FIRST

ACCENTS = re.compile("(?<=[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u0370-\u03ff\u1f00-\u1fff])[\u0300-\u036f]+")
"""Accents on Latin and Greek letters, decomposed."""

NOT_NORMALISED = "[\u0897\u1acf-\u1aff\ua7f1\U00010000-\U0010ffff]"
"""Pattern of characters whose normal form differs between Python versions, because their Unicode versions differ."""

FOLDED_LETTERS = {
    **dict(zip("øØđĐðÐłŁħĦıŧŦς’", "oOdDdDlLhHitTσ'", strict=True)),
    **dict(zip("ßẞæÆœŒþÞ", ["ss", "SS", "ae", "AE", "oe", "OE", "th", "TH"], strict=True)),
}
"""Letters with another form than that without accents."""

KEPT_LETTERS: Mapping[str, str] = MappingProxyType(
    {
        "german": "äöüßÄÖÜẞ",
        **dict.fromkeys(("swedish", "norwegian", "danish"), "åäöæøÅÄÖÆØ"),
        "finnish": "åäöÅÄÖ",
        "estonian": "äõöüÄÕÖÜ",
        "spanish": "ñÑ",
        "czech": "áéíóúýčďěňřšťůž",
        "esperanto": "ĉĝĥĵŝŭ",
        "hungarian": "áéíóúöőüű",
        "lithuanian": "ąčęėįšųūž",
        "polish": "ąćęłńóśźż",
        "portuguese": "áâãàçéêíóôõúü",
        "serbian": "čćđšž",
        "turkish": "çğıöşü",
    }
)
"""Letters whose accents the analyzers of languages with parts keep, or in the last eight, keep in stemmers."""

_FOLDED = str.maketrans(FOLDED_LETTERS)
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_NUMBER_FIRST = re.compile(NUMBER_FIRST)
_NOT_NORMALISED = re.compile(NOT_NORMALISED)


def composed(word: str) -> str:
    r"""Write a word in the normal form NFC [1]_, in which *é* is one character, without characters that are not seen.

    Such characters are soft hyphens, joiners and variation selectors, see `INVISIBLE`. Words with characters beyond the
    Basic Multilingual Plane, or with letters that some versions of Python do not know, are not normalised.

    Examples
    --------
    >>> [composed(word) for word in ("cafe\u0301", "Schlaf\u00adsack", "\u1112\u1161\u11ab", "file")]
    ['café', 'Schlafsack', '한', 'file']
    """
    if word.isascii():
        return word
    word = _INVISIBLE.sub("", word)
    return word if _NOT_NORMALISED.search(word) else unicodedata.normalize("NFC", word)


def joined(word: str) -> str:
    """Remove the characters between the parts of a word; if a number comes first, its decimal point stays, as a point.

    A number with a point before each three digits, such as *20.000*, has thousands, and no decimal point, unless it
    begins with 0. A number of seven digits or more with two points or more is an article number.

    Examples
    --------
    >>> [joined(word) for word in ("AB-1200/X", "A123.45", "2.5 mm", "O'Neill's", "1,200", "3,5")]
    ['AB1200X', 'A12345', '2.5mm', "ONeill's", '1200', '3.5']
    >>> [joined(word) for word in ("20.000 mAh", "1.200.000", "0.125", "1.2.3", "4 006381 333931")]
    ['20000mAh', '1200000', '0.125', '1.2.3', '4006381333931']
    >>> [joined(word) for word in ("9857.107.98", "1.324-601.0", "0 986 494 104", "28.11.2026", "192.168.1")]
    ['985710798', '13246010', '0986494104', '28112026', '1921681']
    """
    if word.isalnum():
        return word
    word = JOINT.sub("", DECIMAL_COMMA.sub(".", word))
    return word if _NUMBER_FIRST.search(word) else word.replace(".", "")


def folded(word: str) -> str:
    r"""Write a word without accents and characters that are not seen, and compatible characters in one form.

    The form is NFKC [1]_ without accents on Latin and Greek letters. Letters of other scripts keep their marks: *й* is
    not *и*. *ø đ ł ß æ œ þ* and some others become Latin letters, and *ς* becomes *σ*. Words with characters beyond the
    Basic Multilingual Plane are not normalised.

    Examples
    --------
    >>> [folded(word) for word in ("crème", "cre\u0300me", "Ångström", "straße", "ﬁle", "Ｔｅｘｔ", "co\u00adop")]
    ['creme', 'creme', 'Angstrom', 'strasse', 'file', 'Text', 'coop']
    """
    if word.isascii():
        return word
    word = _INVISIBLE.sub("", word)
    is_stable = _NOT_NORMALISED.search(word) is None
    letters = unicodedata.normalize("NFKD", word) if is_stable else word
    letters = ACCENTS.sub("", letters).translate(_FOLDED)
    return unicodedata.normalize("NFC", letters) if is_stable else letters


def folded_except(letters: str, word: str) -> str:
    r"""Write a word as `folded` does, but keep some letters.

    Examples
    --------
    >>> [folded_except("äöüß", word) for word in ("zoë", "cafe\u0301", "größe", "gro\u0308ße")]
    ['zoe', 'cafe', 'größe', 'größe']
    """
    if word.isascii():
        return word
    kept, held = _held(letters)
    return folded(kept.sub("", composed(word)).translate(held)).translate(
        {own: char for char, own in held.items()}
    )


@cache
def _held(letters: str) -> tuple[re.Pattern[str], dict[int, int]]:
    """Return a pattern of accents on kept letters, and for each letter a noncharacter, which no word has."""
    return re.compile(kept_accents(letters)), {
        ord(char): ord(own) for char, own in held_letters(letters).items()
    }


def kept_accents(letters: str) -> str:
    """Return a pattern of further accents on letters that are kept."""
    return f"(?<=[{letters}])[\u0300-\u036f]+"


def held_letters(letters: str) -> dict[str, str]:
    """Return for each of some letters a noncharacter, which no word has and folding does not change."""
    return {char: chr(0xFDD0 + number) for number, char in enumerate(letters)}
