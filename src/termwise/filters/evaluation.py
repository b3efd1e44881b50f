"""Evaluation of filters over columns of attributes."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from termwise.attributes.field_types import FOLDED_TYPES, folded_keyword, keyword, unjoined_keyword
from termwise.attributes.schema import Schema
from termwise.budget import spend
from termwise.display.safe_text import shown
from termwise.errors import ParameterError
from termwise.filters.expressions import IGNORING_CASE, And, Condition, Exists, Filter, Not, Or
from termwise.filters.json_form import filter_from_json
from termwise.filters.parser import parse_filter
from termwise.filters.types import check_condition, check_filter, intervals
from termwise.index.attribute_columns import (
    AttributeColumns,
    BooleanColumn,
    KeywordColumn,
    KeywordsColumn,
    NumberColumn,
)
from termwise.index.string_table import StringTable

Mask = npt.NDArray[np.bool_]

FEW = 4
"""Largest number of intervals or codes to compare with one by one."""

MANY = 0.1
"""Number of matching values per row from which on all values are counted, instead of looking up the row of each."""

STRINGS, CHARACTERS = 1024, 1 << 14
"""Strings that are read at a time, and characters after which the tests of strings look at the time."""

MOST_CONDITIONS = 1024
"""Largest number of conditions of a filter, as in Lucene; each looks at all documents."""


def as_filter(given: str | Mapping[str, Any] | Filter, schema: Schema) -> Filter:
    """Return a checked filter, given as text, as an object of JSON, or as a `Filter`.

    The errors are those of `parse_filter`, `filter_from_json` and `check_filter`.
    """
    if isinstance(given, str):
        filter = parse_filter(given, schema)
    else:
        filter = filter_from_json(given) if isinstance(given, Mapping) else given
        check_filter(filter, schema)
    conditions = conditions_in(filter)
    if conditions > MOST_CONDITIONS:
        raise ParameterError(
            "a filter has too many conditions",
            facts=[("conditions", conditions), ("most", MOST_CONDITIONS)],
            fixes=['list the values of an attribute: kind in ("a", "b")'],
        )
    return filter


def conditions_in(filter: Filter) -> int:
    """Return the number of conditions of a filter."""
    if isinstance(filter, Not):
        return conditions_in(filter.filter)
    return sum(map(conditions_in, filter.filters)) if isinstance(filter, And | Or) else 1


def rows_allowed(
    filter: Filter, columns: AttributeColumns | None, *, first: int = 0, last: int | None = None
) -> Mask:
    """Return which documents of a segment a filter matches.

    Parameters
    ----------
    filter : Filter
        A filter that was checked against the schema of the index. A field without a column is missing in all documents.
    columns : AttributeColumns or None
        Attributes of the segment; None if no document has any.
    first, last : int, optional
        Rows to evaluate; by default all. `last` is needed without columns.

    Returns
    -------
    ndarray of shape (last - first,), bool

    Raises
    ------
    ParameterError
        If a field is compared with a value of another type.
    CorruptIndexError
        If a string or the rows of a column are damaged.
    """
    if last is None:
        assert columns is not None, "the number of rows is known"
        last = columns.rows
    if isinstance(filter, Condition):
        spend(last - first)
        return _matches(filter, columns, first, last)
    if isinstance(filter, Not):
        return ~rows_allowed(filter.filter, columns, first=first, last=last)
    if not isinstance(filter, And | Or):
        raise ParameterError("this is no filter", facts=[("given", shown(filter))])
    result = rows_allowed(filter.filters[0], columns, first=first, last=last)
    for each in filter.filters[1:]:
        if isinstance(filter, Or):
            result |= rows_allowed(each, columns, first=first, last=last)
        elif result.any():
            result &= rows_allowed(each, columns, first=first, last=last)
    return result


def _matches(condition: Condition, columns: AttributeColumns | None, first: int, last: int) -> Mask:
    column = None if columns is None else columns.column(condition.field)
    if columns is None or column is None:
        return np.zeros(last - first, dtype=np.bool_)
    rows = slice(first, last)
    if isinstance(condition, Exists):
        return column.present(rows)
    check_condition(condition, columns.schema)
    if isinstance(column, NumberColumn):
        bounds = intervals(condition, columns.schema[condition.field])
        found = _in_intervals(column.values[first:last], bounds)
    elif isinstance(column, BooleanColumn):
        found = np.zeros(last - first, dtype=np.bool_)
        for value in set(condition.operands):
            found |= column.values[first:last] == int(value)
    elif isinstance(column, KeywordColumn):
        found = _has_code(condition, columns, column, column.codes[first:last], 1)
    else:
        starts = column.starts[first : last + 1].astype(np.int64)
        begin, end = int(starts[0]), int(starts[-1])
        if not 0 <= begin <= end <= len(column.codes) or (starts[1:] < starts[:-1]).any():
            raise columns.damaged(condition.field, "starts", "starts in order", "another order")
        hits = _has_code(condition, columns, column, column.codes[begin:end], 0)
        positions = np.flatnonzero(hits)
        if len(positions) < MANY * (last - first):
            found = np.zeros(last - first, dtype=np.bool_)
            found[np.searchsorted(starts, positions + begin, side="right") - 1] = True
        else:
            before = np.concatenate([[0], np.cumsum(hits)])[starts - begin]
            found = before[1:] > before[:-1]
    if condition.symbol in ("!=", "not in"):
        return column.present(rows) & ~found
    return column.present(rows) & found if isinstance(column, NumberColumn) else found


def _in_intervals(values: npt.NDArray[Any], bounds: list[tuple[float, float]]) -> Mask:
    if len(bounds) <= FEW:
        found = np.zeros(len(values), dtype=np.bool_)
        for low, high in bounds:
            found |= values == low if low == high else (values >= low) & (values <= high)
        return found
    edges = np.array(bounds, dtype=values.dtype)
    place = np.searchsorted(edges[:, 0], values, side="right") - 1
    found = (place >= 0) & (values <= edges[np.maximum(place, 0), 1])
    return cast(Mask, found)


def _ignoring_case(
    symbol: str, strings: StringTable, value: str, forms: Sequence[Callable[[str], str]]
) -> npt.NDArray[np.int64]:
    """Return the numbers of the strings of which a form fits that of a value; equal forms differ in case only."""

    def test_of(value: str) -> Callable[[str], object]:
        tests: dict[str, Callable[[str], object]] = {
            "equals ignoring case": value.__eq__,
            "starts with ignoring case": lambda each: each.startswith(value),
            "contains ignoring case": lambda each: value in each,
        }
        return tests.get(symbol) or _pattern(value).fullmatch

    tests = [(form, test_of(form(keyword(value)))) for form in forms]
    return _fitting(
        strings, np.arange(len(strings)), lambda each: any(fits(form(each)) for form, fits in tests)
    )


_SIGNS = re.compile(r"\\.|.", re.DOTALL)
_NO_LITERAL = re.compile(r"\\.|[*?]", re.DOTALL)


def _pattern(value: str) -> re.Pattern[str]:
    r"""Return the expression for a pattern of `Matches`; no part of a string is matched twice.

    Examples
    --------
    >>> [bool(_pattern(r"a*b?\*").fullmatch(each)) for each in ("abc*", "abxbc*", "abcd", "ab*")]
    [True, True, False, False]
    """
    parts = [""]
    for sign in _SIGNS.findall(value):
        if sign == "*":
            parts.append("")
        else:
            parts[-1] += "." if sign == "?" else re.escape(sign[-1])
    first, *inner = parts
    last = f".*{inner.pop()}" if inner else ""
    return re.compile(f"{first}{''.join(f'(?>.*?{part})' for part in inner if part)}{last}", re.DOTALL)


def _matching(strings: StringTable, value: str) -> npt.NDArray[np.int64]:
    """Return the numbers of the strings that fit a pattern of `Matches`."""
    literal = max(_NO_LITERAL.split(value), key=len)
    numbers = strings.containing(literal.removesuffix("\\"))
    return _fitting(strings, numbers, _pattern(value).fullmatch)


def _fitting(
    strings: StringTable, numbers: npt.NDArray[np.int64], fits: Callable[[str], object]
) -> npt.NDArray[np.int64]:
    """Return the numbers of the strings for which `fits` is true."""
    found: list[int] = []
    characters = 0
    for first in range(0, len(numbers), STRINGS):
        part = numbers[first : first + STRINGS]
        spend(len(part))
        for number, string in zip(part.tolist(), strings.get_many(part), strict=True):
            characters += len(string)
            if characters > CHARACTERS:  # a test of a long string takes long
                spend()
                characters = 0
            if fits(string):
                found.append(number)
    return np.array(found, dtype=np.int64)


def _has_code(
    condition: Condition,
    columns: AttributeColumns,
    column: KeywordColumn | KeywordsColumn,
    codes: npt.NDArray[np.uint32],
    least: int,
) -> Mask:
    """Return which codes stand for strings that match, or are excluded; `least` is the code of the first string."""
    values, strings = cast(tuple[str, ...], condition.operands), column.strings
    folds, symbol = columns.schema[condition.field] in FOLDED_TYPES, condition.symbol
    if folds and symbol in ("starts with", "contains", "matches"):
        symbol = f"{symbol} ignoring case"
    if symbol in ("=", "!=", "in", "not in", "contains", "matches", *IGNORING_CASE):
        if symbol in IGNORING_CASE:
            # A beginning such as *AB-* ends with a hyphen, which the folded value *ab1200* has not.
            forms = (folded_keyword, unjoined_keyword) if folds else (str.casefold,)
            wanted = _ignoring_case(symbol, strings, values[0], forms)
        elif symbol == "contains":
            wanted = strings.containing(keyword(values[0]))
        elif symbol == "matches":
            wanted = _matching(strings, keyword(values[0]))
        else:
            wanted = columns.string_numbers(condition.field, values)
        wanted = wanted + least
        if len(wanted) <= FEW:
            found = np.zeros(len(codes), dtype=np.bool_)
            for code in wanted.tolist():
                found |= codes == code
            return found
        table = np.zeros(len(strings) + least + 1, dtype=np.bool_)
        table[wanted] = True
        table[-1] = False
        return table[np.minimum(codes, len(table) - 1)]
    numbers = range(len(strings))
    begin, end = 0, len(strings)
    values = tuple(map(keyword, values))
    if condition.symbol in (">=", "between"):
        begin = bisect_left(numbers, values[0], key=strings.get)
    elif condition.symbol == ">":
        begin = bisect_right(numbers, values[0], key=strings.get)
    elif condition.symbol == "starts with":  # strings are in order
        begin = bisect_left(numbers, values[0], key=strings.get)
        end = begin + len(strings.starting_with(values[0]))
    if condition.symbol in ("<=", "between"):
        end = bisect_right(numbers, values[-1], key=strings.get)
    elif condition.symbol == "<":
        end = bisect_left(numbers, values[-1], key=strings.get)
    return (codes >= begin + least) & (codes < end + least)
