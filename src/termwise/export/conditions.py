"""Conditions of filters in the three forms that targets translate: sets of values, intervals, ranges of strings."""

from __future__ import annotations

import sys
from typing import final

from termwise.attributes import Schema
from termwise.attributes.field_types import FieldType
from termwise.display.safe_text import lone_surrogate, shown
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.filters import Exists
from termwise.filters.expressions import PART_TESTS, Condition
from termwise.filters.types import check_condition, intervals

Interval = tuple[int | float | None, int | float | None]
"""Smallest and largest value, both included; None for no bound. Dates are in microseconds since 1970 in UTC."""


@final
@dataclass(frozen=True)
class StringRange:
    """Range of strings in the order of their code points, which is that of their UTF-8 bytes; None for no bound."""

    low: str | None = None
    high: str | None = None
    with_low: bool = True
    with_high: bool = True


@final
@dataclass(frozen=True)
class FieldTest:
    """Test of the values of one field; a document that lacks the field fails it.

    At most one of `values`, `intervals` and `strings` is given; without them, the field only has to be present, or if
    `never` is set, no document passes.

    Attributes
    ----------
    field : str
    kind : FieldType
    excluded : bool
        Whether the field has to be present and none of its values may pass.
    values : tuple of str or bool
        A value is one of these: of keywords and booleans.
    intervals : tuple of Interval
        A value is in one of these: of numbers and dates.
    strings : StringRange or None
        A value is in this range: of keywords.
    never : bool
        Whether no value passes, as for a whole number that equals 1.5.
    """

    field: str
    kind: FieldType
    excluded: bool = False
    values: tuple[str | bool, ...] = ()
    intervals: tuple[Interval, ...] = ()
    strings: StringRange | None = None
    never: bool = False


def field_test(condition: Condition, schema: Schema) -> FieldTest:
    """Return the test of a condition.

    Raises
    ------
    UnknownNameError, ParameterError
        As `termwise.filters.check_filter`, and for a lone surrogate.

    Examples
    --------
    >>> from termwise.filters import Greater, NotEquals
    >>> schema = Schema({"price": "float", "lang": "keyword"})
    >>> field_test(Greater("price", 2), schema).intervals
    ((2.0000000000000004, None),)
    >>> field_test(NotEquals("lang", "de"), schema)
    FieldTest(field='lang', kind='keyword', excluded=True, values=('de',), intervals=(), strings=None, never=False)
    """
    check_condition(condition, schema)
    kind = schema[condition.field]
    excluded = condition.symbol in ("!=", "not in")
    if isinstance(condition, Exists):
        return FieldTest(condition.field, kind)
    if kind in ("integer", "float", "date"):
        ((least, most),) = intervals(Exists(condition.field), kind)
        found = tuple(
            (None if low == least else low, None if high == most else high)
            for low, high in intervals(condition, kind)
        )
        return FieldTest(condition.field, kind, excluded, intervals=found, never=not found)
    values = tuple(value for value in condition.operands if isinstance(value, str | bool))
    if lone_surrogate(values):
        raise ParameterError(
            "a filter for an engine has no surrogate characters, which UTF-8 cannot encode",
            facts=[("attribute", condition.field), ("text", shown(values))],
        )
    if condition.symbol in ("=", "!=", "in", "not in"):
        return FieldTest(condition.field, kind, excluded, values=tuple(dict.fromkeys(values)))
    strings = [str(value) for value in values]
    if condition.symbol in PART_TESTS and condition.symbol != "starts with":
        raise ParameterError(
            "a filter for an engine cannot look inside strings, or ignore case",
            facts=[("filter", str(condition))],
            fixes=["compare with =, in or starts with"],
        )
    if condition.symbol == "starts with":
        span = StringRange(strings[0] or None, _after_all(strings[0]), with_high=False)
        return FieldTest(condition.field, kind, strings=span if strings[0] else None)
    low = strings[0] if condition.symbol in (">", ">=", "between") else None
    high = strings[-1] if condition.symbol in ("<", "<=", "between") else None
    span = StringRange(low, high, condition.symbol != ">", condition.symbol != "<")
    return FieldTest(condition.field, kind, strings=span)


def _after_all(prefix: str) -> str | None:
    r"""Return the first string after all strings with a prefix; None if there is none.

    Examples
    --------
    >>> _after_all("AB"), _after_all("a\U0010ffff"), _after_all("\ud7ff"), _after_all("\U0010ffff")
    ('AC', 'b', '\ue000', None)
    """
    kept = prefix.rstrip(chr(sys.maxunicode))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)  # no surrogates
