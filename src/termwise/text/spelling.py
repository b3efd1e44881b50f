"""Normal forms of spellings, as in Lucene's filters of the same languages: elision, lower case, letters and digits.

The functions are steps of the analyzers in `languages`: they take a word and return it in one of several spellings.

References
----------
.. [1] Apache Lucene 10.4, ``org.apache.lucene.analysis``: ``ElisionFilter``, ``DecimalDigitFilter`` and the
   normalisation and lower-case filters of the languages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from termwise.text.characters import lower_case

_APOSTROPHE = re.compile("['’]")

ELIDED: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in (
        ("catalan", "d l m n s t"),
        ("french", "c d j jusqu l lorsqu m n puisqu qu quoiqu s t"),
        ("irish", "b d m"),
        ("italian", "agl all c d dagl dall degl dell gl l m negl nell pell coll s sugl sull t un v"),
    )
}
"""Words that lose their last vowel before another word, without apostrophe."""


def without_elision(word: str, elided: frozenset[str]) -> str:
    """Remove an elided article or other short word from the beginning of a word, in upper or lower case.

    Examples
    --------
    >>> [without_elision(word, ELIDED["french"]) for word in ("l'avion", "L’avion", "aujourd'hui")]
    ['avion', 'avion', "aujourd'hui"]
    """
    apostrophe = _APOSTROPHE.search(word)
    if apostrophe is None or lower_case(word[: apostrophe.start()]) not in elided:
        return word
    return word[apostrophe.end() :] or word


def before_apostrophe(word: str) -> str:
    """Remove an apostrophe and what follows it, as the endings of Turkish names.

    Examples
    --------
    >>> before_apostrophe("Türkiye'nin")
    'Türkiye'
    """
    return _APOSTROPHE.split(word, maxsplit=1)[0] or word


def turkish_lower_case(word: str) -> str:
    """Convert to lower case with I as capital of ı, and İ as capital of i.

    Examples
    --------
    >>> turkish_lower_case("DIŞ İzmir")
    'dış izmir'
    """
    return lower_case(_DOTTED_I.sub(r"i\1", word).replace("İ", "i").replace("I", "ı"))


def irish_lower_case(word: str) -> str:
    """Convert to lower case; an n or t before a capital vowel gets a hyphen.

    Examples
    --------
    >>> [irish_lower_case(word) for word in ("nAthair", "tUisce", "Nathair")]
    ['n-athair', 't-uisce', 'nathair']
    """
    if word[:1] in ("n", "t") and word[1:2] and word[1] in "AEIOUÁÉÍÓÚ":
        word = f"{word[0]}-{word[1:]}"
    return lower_case(word)


def greek_lower_case(word: str) -> str:
    """Convert to lower case without accents, with σ in place of ς.

    Examples
    --------
    >>> greek_lower_case("Λόγος")
    'λογοσ'
    """
    return lower_case(word).translate(_GREEK)


def german_letters(word: str) -> str:
    """Write ä, ö, ü, ae, oe, ue as a, o, u and ß as ss; *ue* stays after a vowel and after q.

    Examples
    --------
    >>> [german_letters(word) for word in ("häuser", "haeuser", "straße", "quelle", "treue")]
    ['hauser', 'hauser', 'strasse', 'quelle', 'treue']
    """
    return _UMLAUT_E.sub(r"\1", word).translate(_GERMAN)


def romanian_letters(word: str) -> str:
    """Write ş and ţ with a comma below in place of a cedilla.

    Examples
    --------
    >>> romanian_letters("ţară") == "\u021bară"
    True
    """
    return word.translate(_ROMANIAN)


def serbian_latin(word: str) -> str:
    """Write Cyrillic letters as Latin ones, all without diacritics; đ becomes dj.

    Examples
    --------
    >>> [serbian_latin(word) for word in ("датотека", "čuvaj", "њега")]
    ['datoteka', 'cuvaj', 'njega']
    """
    return word.translate(_SERBIAN)


def arabic_letters(word: str) -> str:
    """Write ا, ي and ه in one form, without vowel marks and tatweel.

    Examples
    --------
    >>> arabic_letters("إِعْدَاد"), arabic_letters("قائمة")
    ('اعداد', 'قائمه')
    """
    return word.translate(_ARABIC)


def persian_letters(word: str) -> str:
    """Write ي, ك and ه in the Arabic form, without the hamza above.

    Examples
    --------
    >>> persian_letters("کلیدهای")
    'كليدهاي'
    """
    return word.translate(_PERSIAN)


def devanagari_vowels(word: str) -> str:
    """Write vowels and dotted letters that consist of several characters as one character.

    Examples
    --------
    >>> devanagari_vowels("\u0905\u093e\u092a") == "\u0906\u092a"
    True
    """
    return _DEVANAGARI_PARTS.sub(lambda parts: DEVANAGARI_WHOLE[parts[0]], word)


def tamil_vowels(word: str) -> str:
    """Write vowels that consist of two characters as one character.

    Examples
    --------
    >>> tamil_vowels("\u0b95\u0bc6\u0bbe") == "\u0b95\u0bca"
    True
    """
    return _TAMIL_PARTS.sub(lambda parts: TAMIL_WHOLE[parts[0]], word)


def hindi_letters(word: str) -> str:
    """Write long vowels as short ones, without virama, nukta and joiners; *n* before a consonant as anusvara.

    Examples
    --------
    >>> hindi_letters("हिन्दी") == hindi_letters("हिंदी")
    True
    """
    return word.replace("\u0928\u094d", "\u0902").translate(_HINDI)


def ascii_digits(word: str) -> str:
    """Write decimal digits of any script as 0 to 9, by Unicode 14.0.

    Examples
    --------
    >>> ascii_digits("۱۴۰۳"), ascii_digits("१२")
    ('1403', '12')
    """
    return word if word.isascii() else word.translate(_DIGITS)


_DOTTED_I = re.compile("I([\u0300-\u0306\u0308-\u036f]*)\u0307")
_GREEK = str.maketrans("ςάέήίϊΐύϋΰόώ", "σαεηιιιυυυοω")
_UMLAUT_E = re.compile("([ao]|(?<![aeioquyäöü])u)e")
_GERMAN = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})
_ROMANIAN = str.maketrans("ŞşŢţ", "ȘșȚț")
_SERBIAN = str.maketrans(
    {
        **dict(zip("абвгдежзијклмнопрстћуфхцчшžčćš", "abvgdezzijklmnoprstcufhccszccs", strict=True)),
        "ђ": "dj",
        "đ": "dj",
        "љ": "lj",
        "њ": "nj",
        "џ": "dz",
    }
)
_ARABIC = str.maketrans("آأإىة", "ااايه", "\u0640\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652")
_PERSIAN = str.maketrans("\u06cc\u06d2\u06a9\u06c0\u06c1", "\u064a\u064a\u0643\u0647\u0647", "\u0654")
_HINDI = str.maketrans(
    "\u0901\u0929\u0931\u0934\u0958\u0959\u095a\u095b\u095c\u095d\u095e\u095f"
    "\u0945\u0946\u0949\u094a\u090d\u090e\u0911\u0912\u0972\u0906\u0908\u090a\u0960\u0961"
    "\u0910\u0914\u0940\u0942\u0944\u0963\u0948\u094c",
    "\u0902\u0928\u0930\u0933\u0915\u0916\u0917\u091c\u0921\u0922\u092b\u092f"
    "\u0947\u0947\u094b\u094b\u090f\u090f\u0913\u0913\u0905\u0905\u0907\u0909\u090b\u090c"
    "\u090f\u0913\u093f\u0941\u0943\u0962\u0947\u094b",
    "\u093c\u094d\u200c\u200d",
)


def _compositions(block: int, table: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """Read ``PARTS>WHOLE`` of two hexadecimal digits a character, relative to a block of Unicode."""
    whole = {}
    for entry in table.split():
        parts, _, composed = entry.partition(">")
        characters = [chr(block + code) for code in bytes.fromhex(parts)]
        whole["".join(characters)] = chr(block + int(composed, 16))
    return re.compile("|".join(sorted(whole, key=len, reverse=True))), whole


_DEVANAGARI_PARTS, DEVANAGARI_WHOLE = _compositions(
    0x900,
    "053e45>11 053e46>12 053e47>13 053e48>14 053e>06 0545>72 0546>04 0549>11 054a>12 054b>13 054c>14 "
    "0645>11 0646>12 0647>13 0648>14 0941>0a 0f45>0d 0f46>0e 0f47>10 3e45>49 3e46>4a 3e47>4b 3e48>4c "
    "153c>58 163c>59 173c>5a 1c3c>5b 213c>5c 223c>5d 283c>29 2b3c>5e 2f3c>5f 303c>31 333c>34",
)
_TAMIL_PARTS, TAMIL_WHOLE = _compositions(0xB80, "0957>0a 1257>14 463e>4a 4657>4c 473e>4b")

_ZEROS = (
    *(0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50),
    *(0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40),
    *(0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x11066),
    *(0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950),
    *(0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6),
    *(0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0),
)
"""The digit zero of each script, followed by the other nine."""

_DIGITS = {zero + value: str(value) for zero in _ZEROS for value in range(10)}
