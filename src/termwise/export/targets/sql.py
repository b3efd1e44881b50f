"""Shared by the SQL targets: types of columns, literals, and filters as conditions on the table of documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from termwise.attributes import Schema
from termwise.attributes.field_types import FieldType
from termwise.errors import ParameterError
from termwise.export.conditions import FieldTest, field_test
from termwise.filters import And, Filter, Not, Or
from termwise.filters.expressions import Condition


class Dialect(Protocol):
    """Dialect of SQL.

    Attributes
    ----------
    types : mapping of FieldType to str
        Types of columns.
    """

    types: Mapping[FieldType, str]

    def date(self, microseconds: int) -> str:
        """Return the literal of a point in time."""

    def compared(self, text: str) -> str:
        """Return an expression of text so that it is compared by code points."""

    def any_of(self, column: str, condition: str) -> str:
        """Return whether a value ``v`` of a column of several strings fulfils a condition."""


def attribute_column(name: str) -> str:
    """Return the name of the column of an attribute, quoted.

    Examples
    --------
    >>> attribute_column('unit "price" in EUR')
    '"attribute_unit ""price"" in EUR"'
    """
    return '"attribute_' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Return a literal of text."""
    if "\0" in text:
        raise ParameterError("a text in SQL has no NUL character", facts=[("text", text)])
    return "'" + text.replace("'", "''") + "'"


def filter_sql(filter: Filter, schema: Schema, dialect: Dialect) -> str:
    """Return a filter as a condition on the columns of ``documents d``, which is never NULL.

    Raises
    ------
    UnknownNameError, ParameterError
        As `termwise.filters.check_filter`.
    """
    if isinstance(filter, Condition):
        return _test_sql(field_test(filter, schema), dialect)
    if isinstance(filter, Not):
        return f"NOT {filter_sql(filter.filter, schema, dialect)}"
    if isinstance(filter, And | Or):
        word = " AND " if isinstance(filter, And) else " OR "
        return "(" + word.join(filter_sql(each, schema, dialect) for each in filter.filters) + ")"
    raise ParameterError("this is no filter", facts=[("given", repr(filter))])


def _test_sql(test: FieldTest, dialect: Dialect) -> str:
    column = f"d.{attribute_column(test.field)}"
    present = f"{column} IS NOT NULL"
    passed = _passed(test, column, dialect)
    if passed is None:
        return f"({present})"
    return f"({present} AND {'NOT ' if test.excluded else ''}({passed}))"


def _passed(test: FieldTest, column: str, dialect: Dialect) -> str | None:
    """Return the condition that a value passes the test; None if it only has to be present."""
    value = "v" if test.kind == "keywords" else column
    if test.never:
        return "1 = 0"
    if test.kind == "boolean" and test.values:
        return " OR ".join(column if each else f"NOT {column}" for each in test.values)
    if test.values:
        condition = f"{value} IN ({', '.join(quoted_text(str(each)) for each in test.values)})"
    elif test.strings is not None:
        span, text, bounds = test.strings, dialect.compared(value), []
        if span.low is not None:
            bounds.append(f"{text} {'>=' if span.with_low else '>'} {quoted_text(span.low)}")
        if span.high is not None:
            bounds.append(f"{text} {'<=' if span.with_high else '<'} {quoted_text(span.high)}")
        condition = " AND ".join(bounds)
    elif test.intervals:
        return " OR ".join(_interval(test.kind, column, low, high, dialect) for low, high in test.intervals)
    else:
        return None
    return dialect.any_of(column, condition) if test.kind == "keywords" else condition


def _interval(
    kind: FieldType, column: str, low: int | float | None, high: int | float | None, dialect: Dialect
) -> str:
    def literal(number: int | float) -> str:
        return dialect.date(int(number)) if kind == "date" else repr(number)

    bounds = [] if low is None else [f"{column} >= {literal(low)}"]
    bounds += [] if high is None else [f"{column} <= {literal(high)}"]
    return f"({' AND '.join(bounds) or '1 = 1'})"
