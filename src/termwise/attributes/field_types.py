"""Types of attributes: which values belong to each, and how a value is stored."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import Literal, get_args

from termwise.attributes.dates import EARLIEST, LATEST, epoch_date, microseconds, parse_date, to_datetime
from termwise.display.safe_text import shown
from termwise.records import AttributeValue
from termwise.storage.manifest_json import Misfit
from termwise.validation import is_finite_number

FieldType = Literal[
    "boolean", "integer", "float", "date", "keyword", "keywords", "keyword folded", "keywords folded"
]
"""Type of an attribute. The order is that of preference: a value that fits several types has the first of them.

Values of the last two that differ only in case, spaces and dashes are one value; a schema names these types.
"""

FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)

TEXT_TYPES: tuple[FieldType, ...] = ("keyword", "keywords", "keyword folded", "keywords folded")
"""Types whose values are strings."""

LIST_TYPES: tuple[FieldType, ...] = ("keywords", "keywords folded")
"""Types whose values are lists of strings."""

FOLDED_TYPES: tuple[FieldType, ...] = ("keyword folded", "keywords folded")
"""Types whose values are equal if their `folded_keyword` is."""

MARKERS = frozenset(("", "-", "n/a", "null"))
"""Texts, in lower case, that stand for a missing value among numbers, dates, or true and false."""

EXPECTED: dict[FieldType, str] = {
    "boolean": "true or false",
    "integer": "a whole number of 64 bits",
    "float": "a finite number",
    "date": "a date such as 2024-01-31 or 2024-01-31T18:30:00+01:00",
    "keyword": "a string",
    "keywords": "a string or a list of strings",
    "keyword folded": "a string",
    "keywords folded": "a string or a list of strings",
}
"""Description of the values of each type, for errors."""

STORABLE = "a string, a list of strings, a number, true or false, or a date"

Stored = str | tuple[str, ...] | int | float | bool
"""Value as a column holds it: as `AttributeValue`, with a tuple for strings, and microseconds for a date."""

INTEGERS = range(-(2**63), 2**63)

_WHOLE = re.compile("0|-?[1-9][0-9]*")
_WHOLE_FLOAT = re.compile(r"(?<=[0-9])\.0+$")
"""Fraction of a whole number that a program has written as a float, such as a table whose column has gaps."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_ACCENTS = re.compile("(?<=[a-z])[\u0300-\u036f]+")
_JOINTS = re.compile(r"(?<=[^\W\d_])(?:['’](?=[^\W\d_])|-(?=[^\W_]))|(?<=\d)-(?=[^\W\d_])")
_HYPHENS = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")
_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
_BOOLEANS = {"true": True, "false": False}

_BOOLEAN: tuple[FieldType, ...] = ("boolean",)
_INTEGER: tuple[FieldType, ...] = ("integer", "float")
_FLOAT: tuple[FieldType, ...] = ("float",)
_DATE: tuple[FieldType, ...] = ("date",)
_TEXT: tuple[FieldType, ...] = ("keyword", "keywords")
_TEXTS: tuple[FieldType, ...] = ("keywords",)


def is_missing(value: AttributeValue | None, *, untyped: bool = False) -> bool:
    """Return whether a value means that the document lacks the attribute.

    These are None, an empty list, and an empty text in a file without types.
    """
    if isinstance(value, str):
        return untyped and not value
    return value is None or (isinstance(value, Sequence) and not value)


def is_marker(value: AttributeValue) -> bool:
    """Return whether a value is one of the `MARKERS`, in any case."""
    return isinstance(value, str) and len(value) < 8 and value.strip().lower() in MARKERS


def keyword(text: str) -> str:
    r"""Return a string in the form in which columns hold it: composed (NFC), without characters that nobody sees.

    Soft hyphens, spaces without width, word joiners and byte order marks are left out.

    Examples
    --------
    >>> keyword("Cafe\u0301"), keyword("Kaffee\u00adhaus")
    ('Café', 'Kaffeehaus')
    """
    if text.isascii():
        return str.__str__(text)
    return unicodedata.normalize("NFC", text.translate(_UNSEEN))


def folded_keyword(text: str) -> str:
    """Return what equal values of the `FOLDED_TYPES` have in common.

    They have no case, single spaces, hyphens for dashes, *ae*, *oe* and *ue* for umlauts, no accents on Latin letters,
    no apostrophes between letters, and no hyphens before or after a letter within a word.

    Examples
    --------
    >>> [folded_keyword(text) for text in ("BOSCH ", "Bosch  Siemens", "AB–1200", "10-12", "-5")]
    ['bosch', 'bosch siemens', 'ab1200', '10-12', '-5']
    >>> [folded_keyword(text) for text in ("L’Oréal", "Hi-Tek", "Kärner", "Kaerner", "Nestlé")]
    ['loreal', 'hitek', 'kaerner', 'kaerner', 'nestle']
    """
    form = unjoined_keyword(text)
    if not form.isascii():
        letters = unicodedata.normalize("NFD", form.translate(_UMLAUTS))
        form = unicodedata.normalize("NFC", _ACCENTS.sub("", letters))
    return " ".join(_JOINTS.sub("", form).split())


def unjoined_keyword(text: str) -> str:
    """Return a value in lower case with hyphens for dashes; `folded_keyword` also removes hyphens within words."""
    return keyword(text).casefold().translate(_HYPHENS)


def plain_type(kind: FieldType) -> FieldType:
    """Return the type of the same values without folding.

    Examples
    --------
    >>> plain_type("keywords folded"), plain_type("float")
    ('keywords', 'float')
    """
    return TEXT_TYPES[FOLDED_TYPES.index(kind)] if kind in FOLDED_TYPES else kind


def possible_types(value: AttributeValue, *, untyped: bool = False) -> tuple[FieldType, ...]:
    """Return the types that a value can have, in the order of `FIELD_TYPES`.

    Parameters
    ----------
    value : AttributeValue
        A value that is not missing.
    untyped : bool, optional
        Whether the value is text from a file without types: a text that is written like a number may then be one. A
        number with leading zeros, such as a postal code, is not.

    Raises
    ------
    Misfit
        If no type can store the value.

    Examples
    --------
    >>> possible_types(3), possible_types("2024-01-31"), possible_types("3"), possible_types("3", untyped=True)
    (('integer', 'float'), ('date', 'keyword', 'keywords'), ('keyword', 'keywords'), ('integer', 'float', 'keyword'))
    """
    if isinstance(value, str):
        is_date = len(value) > len("2024-01") and parse_date(value) is not None  # codes may look like months
        types = _DATE + _TEXT if is_date else _TEXT
        return (*_types_of_text(value), *types[: types.index("keyword") + 1]) if untyped else types
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, int):
        if value in INTEGERS:
            return _INTEGER
        raise Misfit(EXPECTED["integer"], shown(value))
    if isinstance(value, float):
        if math.isfinite(value):
            return _FLOAT
        raise Misfit(EXPECTED["float"], shown(value))
    if isinstance(value, date):
        if _is_in_range(value):
            return _DATE
        raise Misfit("a date from the years 1 to 9999, in UTC", shown(value))
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return _TEXTS
    raise Misfit(STORABLE, shown(value))


def _types_of_text(text: str) -> tuple[FieldType, ...]:
    if _WHOLE.fullmatch(text):
        return _INTEGER if len(text) < 21 and int(text) in INTEGERS else ()
    if _NUMBER.fullmatch(text):
        return _FLOAT if math.isfinite(float(text)) else ()
    return _BOOLEAN if text.lower() in _BOOLEANS else ()


def _is_in_range(value: date) -> bool:
    return EARLIEST <= microseconds(value) <= LATEST


def stored_value(kind: FieldType, value: AttributeValue) -> Stored:
    """Return a value that is not missing as a column of a type holds it; a text that is written like a number is one.

    Parameters
    ----------
    kind : FieldType
    value : AttributeValue

    Raises
    ------
    Misfit
        If the value does not belong to the type.

    Examples
    --------
    >>> stored_value("date", "1970-01-02"), stored_value("keywords", "a"), stored_value("integer", 2.0)
    (86400000000, ('a',), 2)
    >>> stored_value("float", "9.50")
    9.5
    """
    if kind in FOLDED_TYPES:
        plain = stored_value(plain_type(kind), value)
        if isinstance(plain, str):
            return " ".join(plain.split())
        assert isinstance(plain, tuple), "a list"
        of_values = {folded_keyword(each): " ".join(each.split()) for each in reversed(plain)}
        return tuple(reversed(of_values.values()))
    if kind == "keyword" and isinstance(value, str):
        return keyword(value)
    if kind == "keywords":
        strings = (value,) if isinstance(value, str) else value
        if isinstance(strings, list | tuple) and all(isinstance(each, str) for each in strings):
            return tuple(dict.fromkeys(map(keyword, strings)))
    elif kind == "date":
        moment = parse_date(value) if isinstance(value, str) else None
        if moment is not None:
            return moment[0]
        if isinstance(value, date) and _is_in_range(value):
            return microseconds(value)
        number = float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value
        if isinstance(number, int | float) and not isinstance(number, bool):
            moment_of_number = epoch_date(number)
            if moment_of_number is not None:
                return moment_of_number
    elif isinstance(value, str):
        text = _WHOLE_FLOAT.sub("", value) if kind == "integer" else value
        if kind in _types_of_text(text):
            if kind == "boolean":
                return _BOOLEANS[text.lower()]
            return int(text) if kind == "integer" else float(text)
    elif kind == "boolean":
        if isinstance(value, bool):
            return value
    elif kind == "integer":
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(whole, int) and not isinstance(whole, bool) and whole in INTEGERS:
            return int(whole)
    elif kind == "float" and isinstance(value, int | float) and is_finite_number(value):
        return float(value)
    raise Misfit(EXPECTED[kind], shown(value))


def attribute_value(kind: FieldType, stored: Stored) -> AttributeValue:
    """Return the value of an attribute for a stored one: a `datetime` in UTC for a date, otherwise the same value."""
    return to_datetime(stored) if kind == "date" and isinstance(stored, int) else stored
