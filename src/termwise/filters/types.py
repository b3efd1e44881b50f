"""Conditions checked against the types of fields, and brought into the form that columns are compared with."""

from __future__ import annotations

import math
import sys

from termwise.attributes.dates import EARLIEST, LATEST, parse_date, relative_date
from termwise.attributes.field_types import EXPECTED, INTEGERS, LIST_TYPES, TEXT_TYPES, FieldType
from termwise.attributes.schema import Schema
from termwise.display.safe_text import shown
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.filters.expressions import PART_TESTS, And, Condition, Filter, Not, Or, Value

Bounds = tuple[int | float, int | float]
"""Smallest and largest value of an interval; it is empty if the first is larger."""

_LIMITS: dict[FieldType, Bounds] = {
    "integer": (INTEGERS.start, INTEGERS.stop - 1),
    "float": (-sys.float_info.max, sys.float_info.max),
    "date": (EARLIEST, LATEST),
}


YES_AND_NO = {"yes": "true", "no": "false", "true": "true", "false": "false"}
"""Words that are given for true and false, in lower case."""


def check_filter(filter: Filter, schema: Schema) -> None:
    """Check a filter against the types of the fields.

    Raises
    ------
    UnknownNameError
        If the schema has no such field.
    ParameterError
        If a field is compared with a value of another type.

    Examples
    --------
    >>> from termwise.filters import Less
    >>> check_filter(Less("lang", 20), Schema({"lang": "keyword"}))
    Traceback (most recent call last):
    termwise.errors.ParameterError: a filter compares a field with a value of another type  [parameter]
      field     lang
      type      keyword
      value     20
      expected  a string
    """
    if isinstance(filter, Condition):
        check_condition(filter, schema)
    elif isinstance(filter, Not):
        check_filter(filter.filter, schema)
    elif isinstance(filter, And | Or):
        for each in filter.filters:
            check_filter(each, schema)
    else:
        raise ParameterError("this is no filter", facts=[("given", shown(filter))])


def check_condition(condition: Condition, schema: Schema) -> None:
    """Check a condition on one field; see `check_filter`."""
    kind = schema.get(condition.field)
    if kind is None:
        raise schema.unknown(condition.field)
    if condition.symbol in PART_TESTS and kind not in TEXT_TYPES:
        raise ParameterError(
            "only strings have a beginning, and parts",
            facts=[("field", condition.field), ("type", kind), ("filter", str(condition))],
            fixes=["compare with =, <, <=, > or >="] if kind != "boolean" else [f"{condition.name} = true"],
        )
    if kind in _LIMITS:
        intervals(condition, kind)
        return
    wanted = bool if kind == "boolean" else str
    for value in condition.operands:
        if not isinstance(value, wanted):
            raise _mismatch(condition, kind, value)
    if kind == "boolean" and condition.symbol in ("<", "<=", ">", ">=", "between"):
        raise ParameterError(
            "true and false have no order",
            facts=[("field", condition.field), ("type", kind), ("filter", str(condition))],
            fixes=[f"{condition.name} = true", f"not {condition.name}"],
        )


def intervals(condition: Condition, kind: FieldType) -> list[Bounds]:
    """Return the intervals of the values that a condition matches, or that ``!=`` and ``not in`` exclude.

    Parameters
    ----------
    condition : Condition
    kind : {"integer", "float", "date"}

    Returns
    -------
    list of (int, int) or (float, float)
        In ascending order, without overlaps. Both ends are included, and can be represented by int64 or float64. Dates
        are in microseconds.

    Raises
    ------
    ParameterError
        If a value has another type, or is not a date.

    Examples
    --------
    >>> from termwise.filters import Equals, Greater
    >>> intervals(Greater("x", 2.5), "integer"), intervals(Equals("day", "1970-01-01"), "date")
    ([(3, 9223372036854775807)], [(0, 86399999999)])
    """
    least, most = _LIMITS[kind]
    spans = [_span(condition, kind, value) for value in condition.operands]
    symbol = condition.symbol
    found: list[Bounds]
    if symbol == "between":
        found = [(spans[0].at_least, spans[1].at_most)]
    elif symbol == "exists":
        found = [(least, most)]
    elif symbol == "<":
        found = [(least, spans[0].below)]
    elif symbol == "<=":
        found = [(least, spans[0].at_most)]
    elif symbol == ">":
        found = [(spans[0].above, most)]
    elif symbol == ">=":
        found = [(spans[0].at_least, most)]
    else:
        found = [(span.at_least, span.at_most) for span in spans]
    joined: list[Bounds] = []
    for low, high in sorted((max(low, least), min(high, most)) for low, high in found):
        if low <= high and joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        elif low <= high:
            joined.append((low, high))
    return joined


@dataclass(frozen=True)
class _Span:
    """Bounds of values beside a value: the largest below and up to it, the smallest from it and above it."""

    below: int | float
    at_most: int | float
    at_least: int | float
    above: int | float


def _span(condition: Condition, kind: FieldType, value: Value) -> _Span:
    if kind == "date":
        moments = (parse_date(value) or relative_date(value)) if isinstance(value, str) else None
        if moments is None:
            raise _mismatch(condition, kind, value)
        first, last = moments
        return _Span(first - 1, last, first, last + 1)
    if isinstance(value, bool | str):
        raise _mismatch(condition, kind, value)
    if kind == "integer":
        return _Span(math.ceil(value) - 1, math.floor(value), math.ceil(value), math.floor(value) + 1)
    near = float(value)
    smaller, larger = math.nextafter(near, -math.inf), math.nextafter(near, math.inf)
    return _Span(
        below=near if near < value else smaller,
        at_most=near if near <= value else smaller,
        at_least=near if near >= value else larger,
        above=near if near > value else larger,
    )


def _mismatch(condition: Condition, kind: FieldType, value: Value) -> ParameterError:
    expected = EXPECTED["keyword" if kind in LIST_TYPES else kind]
    word = YES_AND_NO.get(value.lower()) if kind == "boolean" and isinstance(value, str) else None
    return ParameterError(
        "a filter compares a field with a value of another type",
        facts=[
            ("field", condition.field),
            ("type", kind),
            ("value", shown(value)),
            ("expected", "a number" if kind in ("integer", "float") else expected),
        ],
        fixes=[f"write {word}, without quotes"] if word else [],
    )
