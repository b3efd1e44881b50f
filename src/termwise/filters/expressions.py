"""Filters: conditions on the attributes of documents, as objects.

A comparison matches no document that lacks the attribute; this includes ``!=`` and ``not in``. An attribute of several
values matches if one of its values does; for ``!=`` and ``not in``, if none of its values is equal. `Not` matches all
documents that its filter does not match, and therefore also those that lack the attribute.

Strings are compared by their code points. A date without a time means the whole day, see `termwise.attributes.dates`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import ClassVar

from termwise.attributes.dates import iso
from termwise.display.safe_text import shown
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.validation import is_finite_number, is_integer

Value = str | int | float | bool
"""Value to compare with. A date is written as a string in ISO 8601."""

KEYWORDS = frozenset(("and", "or", "not", "in", "between", "is", "missing", "true", "false"))
"""Words of the syntax, in any case. Fields with these names are written in backticks."""

LONGEST_PATTERN = 1000
"""Largest number of characters of a pattern; the time to compare it with a string grows with the product of both."""

WORD = re.compile(r"[^\W\d][\w.-]*")
"""Name of a field that needs no backticks."""


class Filter:
    """Condition on the attributes of a document.

    Filters can be combined: ``a & b``, ``a | b``, ``~a``. ``str(filter)`` is the text that `parse_filter` reads.
    """

    def __and__(self, other: Filter) -> And:
        return And(*_parts(And, self), *_parts(And, other))

    def __or__(self, other: Filter) -> Or:
        return Or(*_parts(Or, self), *_parts(Or, other))

    def __invert__(self) -> Not:
        return Not(self)


def _parts(kind: type[And | Or], filter: Filter) -> tuple[Filter, ...]:
    if not isinstance(filter, Filter):
        raise ParameterError("a filter is combined with a filter", facts=[("given", shown(filter))])
    return filter.filters if isinstance(filter, kind) else (filter,)


def _checked(value: object) -> Value:
    """Return a value to compare with, a date as text; raise `ParameterError` for another type."""
    if isinstance(value, date):
        return iso(value)
    if isinstance(value, str | bool):
        return value
    if is_finite_number(value):
        return int(value) if is_integer(value) else float(value)
    raise ParameterError(
        "a filter compares with a string, a finite number, true or false, or a date",
        facts=[("given", shown(value))],
    )


def _written(value: Value) -> str:
    """Write a value as in the syntax."""
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Condition(Filter):
    """Condition on one field.

    Parameters
    ----------
    field : str
        Name of the attribute.

    Raises
    ------
    ParameterError
        If the field is not a string, or is empty, or a value cannot be compared with.
    """

    field: str
    symbol: ClassVar[str]
    """The operator in the syntax and in JSON."""

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field:
            raise ParameterError("a filter names a field", facts=[("given", shown(self.field))])

    @property
    def operands(self) -> tuple[Value, ...]:
        """Values to compare with."""
        return ()

    @property
    def name(self) -> str:
        """The field as it is written in the syntax."""
        if WORD.fullmatch(self.field) and self.field.lower() not in KEYWORDS:
            return self.field
        return "`" + self.field.replace("\\", "\\\\").replace("`", "\\`") + "`"


@dataclass(frozen=True)
class Comparison(Condition):
    """Comparison of a field with a value; see the classes for each operator."""

    value: Value

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "value", _checked(self.value))

    @property
    def operands(self) -> tuple[Value, ...]:
        """The value."""
        return (self.value,)

    def __str__(self) -> str:
        return f"{self.name} {self.symbol} {_written(self.value)}"


class Equals(Comparison):
    """``field = value``."""

    symbol = "="


class NotEquals(Comparison):
    """``field != value``: the field has a value, and none that is equal."""

    symbol = "!="


class Less(Comparison):
    """``field < value``."""

    symbol = "<"


class LessOrEqual(Comparison):
    """``field <= value``."""

    symbol = "<="


class Greater(Comparison):
    """``field > value``."""

    symbol = ">"


class GreaterOrEqual(Comparison):
    """``field >= value``."""

    symbol = ">="


class _PartTest(Comparison):
    """Comparison with a part of a string."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.value, str):
            raise ParameterError(
                f"`{self.symbol}` needs a string",
                facts=[("field", self.field), ("given", shown(self.value))],
            )
        if self.symbol.startswith("matches") and len(self.value) > LONGEST_PATTERN:
            raise ParameterError(
                f"the pattern of `{self.symbol}` is too long",
                facts=[("field", self.field), ("characters", len(self.value)), ("most", LONGEST_PATTERN)],
                fixes=["shorten it, or compare with a start or a part of the value"],
            )


class StartsWith(_PartTest):
    """``field starts with value``: the string of an attribute, or one in its list, starts with the value."""

    symbol = "starts with"


class Contains(_PartTest):
    """``field contains value``: the string of an attribute, or one in its list, contains the value."""

    symbol = "contains"


class Matches(_PartTest):
    """``field matches value``: the string of an attribute, or one in its list, matches the pattern.

    In the pattern, ``*`` stands for any characters, and ``?`` for one. A character after a backslash stands for itself.
    """

    symbol = "matches"


class EqualsIgnoringCase(_PartTest):
    """``field equals ignoring case value``: as `Equals` for strings, but upper and lower case are equal."""

    symbol = "equals ignoring case"


class StartsWithIgnoringCase(_PartTest):
    """``field starts with ignoring case value``: as `StartsWith`, but upper and lower case are equal."""

    symbol = "starts with ignoring case"


class ContainsIgnoringCase(_PartTest):
    """``field contains ignoring case value``: as `Contains`, but upper and lower case are equal."""

    symbol = "contains ignoring case"


class MatchesIgnoringCase(_PartTest):
    """``field matches ignoring case value``: as `Matches`, but upper and lower case are equal."""

    symbol = "matches ignoring case"


COMPARISONS: dict[str, type[Comparison]] = {
    each.symbol: each for each in (Equals, NotEquals, Less, LessOrEqual, Greater, GreaterOrEqual)
}
"""Classes of comparisons by their symbols."""

IGNORING_CASE: dict[str, type[_PartTest]] = {
    each.symbol: each
    for each in (EqualsIgnoringCase, StartsWithIgnoringCase, ContainsIgnoringCase, MatchesIgnoringCase)
}
"""Classes of comparisons of strings in which upper and lower case are the same, by the words that stand for them."""

PART_TESTS: dict[str, type[_PartTest]] = IGNORING_CASE | {
    each.symbol: each for each in (StartsWith, Contains, Matches)
}
"""Classes of comparisons of strings, by the words that stand for them, the longest ones first."""


@dataclass(frozen=True)
class In(Condition):
    """``field in (value, value)``: equal to one of at least one values."""

    values: tuple[Value, ...]
    symbol = "in"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.values, str) or not isinstance(self.values, list | tuple | set | frozenset):
            raise ParameterError(
                f"`{self.symbol}` needs a list of values",
                facts=[("field", self.field), ("given", shown(self.values))],
            )
        values = sorted(self.values, key=repr) if isinstance(self.values, set | frozenset) else self.values
        object.__setattr__(self, "values", tuple(_checked(value) for value in values))
        if not self.values:
            raise ParameterError(f"`{self.symbol}` needs at least one value", facts=[("field", self.field)])

    @property
    def operands(self) -> tuple[Value, ...]:
        """The values."""
        return self.values

    def __str__(self) -> str:
        return f"{self.name} {self.symbol} ({', '.join(map(_written, self.values))})"


class NotIn(In):
    """``field not in (value, value)``: the field has a value, and none that is equal to one of these."""

    symbol = "not in"


@dataclass(frozen=True)
class Between(Condition):
    """``field between low and high``, both included."""

    low: Value
    high: Value
    symbol = "between"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "low", _checked(self.low))
        object.__setattr__(self, "high", _checked(self.high))

    @property
    def operands(self) -> tuple[Value, ...]:
        """Both bounds."""
        return (self.low, self.high)

    def __str__(self) -> str:
        return f"{self.name} between {_written(self.low)} and {_written(self.high)}"


@dataclass(frozen=True)
class Exists(Condition):
    """``field is not missing``."""

    symbol = "exists"

    def __str__(self) -> str:
        return f"{self.name} is not missing"


@dataclass(frozen=True, init=False)
class _Combination(Filter):
    filters: tuple[Filter, ...]
    word: ClassVar[str]

    def __init__(self, *filters: Filter) -> None:
        if not filters or not all(isinstance(each, Filter) for each in filters):
            raise ParameterError(
                f"`{self.word}` combines at least one filter", facts=[("given", shown(filters))]
            )
        object.__setattr__(self, "filters", filters)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.filters))})"

    def __str__(self) -> str:
        parts = [f"({each})" if isinstance(each, And | Or) else str(each) for each in self.filters]
        return f" {self.word} ".join(parts)


class And(_Combination):
    """All of the filters."""

    word = "and"


class Or(_Combination):
    """At least one of the filters."""

    word = "or"


@dataclass(frozen=True)
class Not(Filter):
    """All documents that the filter does not match."""

    filter: Filter

    def __post_init__(self) -> None:
        if not isinstance(self.filter, Filter):
            raise ParameterError("`not` needs a filter", facts=[("given", shown(self.filter))])

    def __str__(self) -> str:
        if isinstance(self.filter, Exists):
            return f"{self.filter.name} is missing"
        return f"not ({self.filter})" if isinstance(self.filter, And | Or) else f"not {self.filter}"


def required_values(filter: Filter, field: str) -> tuple[Value, ...]:
    """Return values of a field of which all documents that a filter matches have one; empty if it requires none.

    Examples
    --------
    >>> from termwise.filters import Equals, In, Less
    >>> required_values(Less("price", 20) & In("lang", ["de", "de-AT"]), "lang")
    ('de', 'de-AT')
    >>> required_values(Less("price", 20) | Equals("lang", "de"), "lang")
    ()
    """
    for each in _conjuncts(filter):
        if type(each) is Equals and each.field == field:
            return (each.value,)
        if type(each) is In and each.field == field:
            return tuple(each.values)
    return ()


def without_field(filter: Filter, field: str) -> Filter | None:
    """Return a filter without the conditions on one field that are combined by `And` with the others; None if no other.

    Examples
    --------
    >>> str(without_field(Equals("lang", "de") & (Less("price", 9) & Exists("lang")), "lang"))
    'price < 9'
    >>> without_field(Equals("lang", "de") | Equals("lang", "en"), "lang") is None
    True
    """
    kept = [each for each in _conjuncts(filter) if fields_of(each) != {field}]
    return And(*kept) if len(kept) > 1 else kept[0] if kept else None


def _conjuncts(filter: Filter) -> Iterator[Filter]:
    for each in filter.filters if isinstance(filter, And) else ():
        yield from _conjuncts(each)
    if not isinstance(filter, And):
        yield filter


def fields_of(filter: Filter) -> set[str]:
    """Return the fields that a filter names."""
    if isinstance(filter, Condition):
        return {filter.field}
    inside = (
        (filter.filter,)
        if isinstance(filter, Not)
        else filter.filters
        if isinstance(filter, And | Or)
        else ()
    )
    return set().union(*map(fields_of, inside))
