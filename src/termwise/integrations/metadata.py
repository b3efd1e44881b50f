r"""Metadata of any fields and types in an index, whose schema of attributes is fixed when it is built.

Frameworks give documents metadata without a schema: a later document can have a new field, or a value of another type.
Two attributes hold them. `RECORD` is a JSON object that comes back unchanged. `VALUES` has one string for each value of
the metadata, in an order that makes every filter on a field a range or a set of strings::

    FIELD \0 KIND KEY        year \0 n 15003202! (the number 2020), lang \0 s de \0 (the text "de")

The kind is ``b`` for true and false, ``d`` for dates, ``n`` for numbers, and ``s`` for texts. Among the keys of a kind,
the order of the strings is that of the values. A text that is written like a date has both keys. Objects in objects are
fields with a dot, as in ``author.name``, and a list stands for its elements. None, empty lists and numbers that are not
finite have no string: filters treat them as missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from termwise.attributes import Schema
from termwise.attributes.dates import EARLIEST, LATEST, microseconds, parse_date
from termwise.display.safe_text import shown
from termwise.engine.allowed_documents import FilterLike
from termwise.errors import ParameterError
from termwise.filters.expressions import (
    PART_TESTS,
    And,
    Between,
    Condition,
    Equals,
    Exists,
    Filter,
    In,
    Not,
    Or,
    StartsWith,
    Value,
)
from termwise.filters.json_form import filter_from_json
from termwise.filters.parser import parse_filter
from termwise.records import AttributeValue

RECORD = "metadata"
"""Attribute with the metadata as a JSON object."""

VALUES = "metadata.values"
"""Attribute with the strings that filters compare."""

SCHEMA = Schema({RECORD: "keyword", VALUES: "keywords"})

_DATETIME, _DATE = "\0datetime", "\0date"
"""Names that stand for dates in JSON; names of metadata have no null character."""

_POINT = 5000
"""Added to the exponent of a number, so that it is written with four digits."""

_COMPLEMENT = str.maketrans("0123456789", "9876543210")


def attributes_of(
    record: Mapping[str, Any], filterable: Mapping[str, Any] | None = None, *, doc_id: str = ""
) -> dict[str, AttributeValue]:
    r"""Return the attributes of a document that hold its metadata.

    Parameters
    ----------
    record : mapping of str to object
        What `record_of` returns: strings, numbers, true and false, None, dates, lists and mappings of them. A tuple
        comes back as a list.
    filterable : mapping of str to object, optional
        What filters see; by default `record`.
    doc_id : str, optional
        The document, for errors.

    Raises
    ------
    ParameterError
        If the metadata are no mapping, a name is not a string, is empty or has a null character, or JSON has no form
        for a value.

    Examples
    --------
    >>> attributes = attributes_of({"year": 2020, "author": {"name": "Ada"}})
    >>> attributes["metadata.values"]
    ('year\x00n15003202!', 'author.name\x00sAda\x00')
    >>> record_of(attributes)
    {'year': 2020, 'author': {'name': 'Ada'}}
    """
    try:
        seen = record if filterable is None else filterable
        if not isinstance(seen, Mapping):
            raise TypeError(f"the metadata are no mapping: {shown(seen)}")
        _check_names(record)
        _check_names(filterable)
        values = tuple(dict.fromkeys(_strings("", seen)))
        written = json.dumps(record, default=_tagged)
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            "the metadata of a document cannot be stored",
            facts=[
                ("document", doc_id),
                ("reason", error),
                ("expected", "strings, numbers, true and false, None, dates, and lists and objects of them"),
            ],
            fixes=["convert the value, such as a number of numpy to one of Python"],
        ) from None
    return {RECORD: written, VALUES: values}


def record_of(attributes: Mapping[str, AttributeValue]) -> dict[str, Any]:
    """Return the metadata that `attributes_of` was called with."""
    record: dict[str, Any] = json.loads(str(attributes[RECORD]), object_hook=_untagged)
    return record


def read_filter(filter: FilterLike | None) -> Filter | None:
    """Return a filter that is given as text, as JSON, as a `Filter`, or as values by field, all of which are equal.

    Examples
    --------
    >>> str(read_filter({"lang": "de", "year": 2020})), str(read_filter({"field": "year", "<": 2020}))
    ('lang = "de" and year = 2020', 'year < 2020')
    """
    if not filter:
        return None
    if isinstance(filter, str):
        return parse_filter(filter)
    if isinstance(filter, Mapping):
        if filter.keys().isdisjoint(("field", "and", "or", "not")):
            equal = [Equals(field, value) for field, value in filter.items()]
            return equal[0] if len(equal) == 1 else And(*equal)
        return filter_from_json(filter)
    if not isinstance(filter, Filter):
        raise ParameterError("this is no filter", facts=[("given", shown(filter))])
    return filter


def filter_of_values(filter: Filter) -> Filter:
    r"""Return the filter on `VALUES` that matches the documents whose metadata a filter matches.

    A comparison matches values of the type that it compares with: ``year > 2000`` no text, and ``day > "2024-01-31"``
    dates, also those that are written as text. No field is unknown: one that no document has is missing.

    Raises
    ------
    ParameterError
        If true and false are compared by order, or the bounds of a range have different types.

    Examples
    --------
    >>> from termwise.filters import Less
    >>> filter_of_values(Less("year", 2000))
    Between(field='metadata.values', low='year\x00n', high='year\x00n150032 ')
    """
    if isinstance(filter, And | Or):
        return type(filter)(*map(filter_of_values, filter.filters))
    if isinstance(filter, Not):
        return Not(filter_of_values(filter.filter))
    if not isinstance(filter, Condition):
        raise ParameterError("this is no filter", facts=[("given", shown(filter))])
    field, symbol = filter.field, filter.symbol
    exists = Between(VALUES, f"{field}\0", f"{field}\1")
    if isinstance(filter, Exists):
        return exists
    if symbol in ("=", "in"):
        return _equal(field, filter.operands)
    if symbol in ("!=", "not in"):
        return And(exists, Not(_equal(field, filter.operands)))
    if isinstance(filter, StartsWith):
        return StartsWith(VALUES, f"{field}\0s{filter.value}")
    if symbol in PART_TESTS:
        raise ParameterError(
            "metadata of any types cannot be searched for a part of a text, or ignoring case",
            facts=[("filter", filter)],
            fixes=["compare with =, in or starts with"],
        )
    spans = [_spans(value)[-1] for value in filter.operands]
    kinds = {span.kind for span in spans}
    if len(kinds) > 1 or "b" in kinds:
        raise ParameterError(
            "a filter compares values that have no common order",
            facts=[("filter", filter), ("expected", "numbers, texts, or dates")],
        )
    kind = spans[0].kind
    least, most = f"{field}\0{kind}", f"{field}\0{chr(ord(kind) + 1)}"
    low = {">": spans[0].above, ">=": spans[0].least, "between": spans[0].least}.get(symbol)
    high = {"<": spans[-1].below, "<=": spans[-1].most, "between": spans[-1].most}.get(symbol)
    return Between(
        VALUES,
        least if low is None else f"{least}{low}",
        most if high is None else f"{least}{high}",
    )


def _equal(field: str, values: tuple[Value, ...]) -> Filter:
    """Return the filter for documents with one of some values: a set of strings, and the days of dates."""
    spans = [span for value in values for span in _spans(value)]
    keys = [f"{field}\0{span.kind}{span.least}" for span in spans if span.least == span.most]
    filters: list[Filter] = [In(VALUES, tuple(keys))] if keys else []
    filters += [
        Between(VALUES, f"{field}\0{span.kind}{span.least}", f"{field}\0{span.kind}{span.most}")
        for span in spans
        if span.least != span.most
    ]
    return filters[0] if len(filters) == 1 else Or(*filters)


class _Span(NamedTuple):
    """Kind and keys of a value: its first and last key (of a day, other ones), and bounds that exclude them."""

    kind: str
    below: str
    least: str
    most: str
    above: str


def _spans(value: Value) -> list[_Span]:
    """Return the span of a value, and for a text that is written like a date, also that of the date."""
    if isinstance(value, bool):
        return [_Span("b", "", str(int(value)), str(int(value)), "")]
    if isinstance(value, str):
        text = _Span("s", value, f"{value}\0", f"{value}\0", f"{value}\1")
        moments = parse_date(value)
        if moments is None:
            return [text]
        first, last = moments
        return [text, _Span("d", *map(_date_key, (first - 1, first, last, last + 1)))]
    key = _number_key(value)
    body, end = key[:-1], ord(key[-1])
    return [_Span("n", f"{body}{chr(end - 1)}", key, key, f"{body}{chr(end + 1)}")]


def _number_key(value: int | float) -> str:
    """Return a string whose order is that of numbers: sign, exponent and digits, and an end that sorts before a digit.

    A negative number has the complements of the digits, and an end that sorts after a digit.
    """
    if not value:
        return "0!"
    number = Decimal((float if isinstance(value, float) else int).__repr__(value))
    if abs(number.adjusted()) >= _POINT:
        raise ValueError(f"a number has more than {_POINT:,} digits")
    sign, digits, _ = number.as_tuple()
    text = f"{number.adjusted() + _POINT:04}{''.join(map(str, digits)).rstrip('0')}"
    return f"-{text.translate(_COMPLEMENT)}~" if sign else f"1{text}!"


def _date_key(moment: int) -> str:
    return f"{moment - EARLIEST + 1:018}"


def _strings(field: str, value: object) -> Iterator[str]:
    """Yield the strings of a value and of those in it."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _strings(f"{field}.{name}" if field else name, each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(field, each)
    elif isinstance(value, date):
        if EARLIEST <= (moment := microseconds(value)) <= LATEST:
            yield f"{field}\0d{_date_key(moment)}"
    elif isinstance(value, str | int | float):  # also true and false
        if isinstance(value, float) and not math.isfinite(value):
            return
        for span in _spans(value):
            yield f"{field}\0{span.kind}{span.least}"


def _check_names(value: object) -> None:
    """Check the names in a value: raise `TypeError` for other names than strings, `ValueError` for other wrong ones."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            if not isinstance(name, str):
                raise TypeError(f"the name of a field is no string: {shown(name)}")
            if not name or "\0" in name:
                raise ValueError(f"the name of a field is empty or has a null character: {shown(name)}")
            _check_names(each)
    elif isinstance(value, list | tuple):
        for each in value:
            _check_names(each)


def _tagged(value: object) -> dict[str, str]:
    if isinstance(value, datetime):
        return {_DATETIME: value.isoformat()}
    if isinstance(value, date):
        return {_DATE: value.isoformat()}
    raise TypeError(f"a value is of the type {type(value).__name__}")


def _untagged(value: dict[str, Any]) -> Any:
    if _DATETIME in value:
        return datetime.fromisoformat(value[_DATETIME])
    return date.fromisoformat(value[_DATE]) if _DATE in value else value
