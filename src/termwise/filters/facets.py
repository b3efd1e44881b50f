"""Facets: how many documents have each value of an attribute, or a value in a range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from termwise.attributes.schema import Schema
from termwise.budget import spend
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.filters.evaluation import rows_allowed
from termwise.filters.expressions import Exists, Filter, GreaterOrEqual, Less
from termwise.filters.types import check_filter
from termwise.fixes import Fix
from termwise.index.attribute_columns import (
    AttributeColumns,
    BooleanColumn,
    KeywordColumn,
    KeywordsColumn,
    NumberColumn,
)
from termwise.index.string_table import StringTable
from termwise.validation import check, check_count

Mask = npt.NDArray[np.bool_]

Range = tuple[str | float | None, str | float | None]
"""Smallest value of a range, and the one that it ends before; None for no limit. Dates are text."""

_DAYS: Range = ("2024-01-01", "2025-01-01")
"""Example of a range of dates."""

FacetValue = str | int | bool

Segments = Sequence[tuple[AttributeColumns | None, Mask]]
"""Attributes of each segment of an index, None if no document has any, and which of its rows are counted."""


def segments_with(segments: Segments, filter: Filter) -> Segments:
    """Return the segments with those of their counted rows that a checked filter matches."""
    return [(columns, mask & rows_allowed(filter, columns, last=len(mask))) for columns, mask in segments]


def documents_in(segments: Segments) -> int:
    """Return the number of counted rows."""
    return sum(int(np.count_nonzero(mask)) for _, mask in segments)


class ValueCount(NamedTuple):
    """A value, or the name of a range of values, and the number of documents that have it."""

    value: FacetValue
    documents: int


@dataclass(frozen=True, eq=False)
class _Counts:
    """Number of documents with each value of a field in a segment.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Values of some documents, ascending; strings by their numbers in `strings`.
    documents : ndarray of shape (n,), int64
    strings : StringTable or None
    """

    values: npt.NDArray[Any]
    documents: npt.NDArray[np.int64]
    strings: StringTable | None = None


def facet_counts(segments: Segments, field: str, n: int) -> list[ValueCount]:
    """Count the values of a field, and return the most frequent ones.

    Parameters
    ----------
    segments : sequence of (AttributeColumns or None, ndarray of bool)
    field : str
        A field of type keyword, keywords, boolean or integer. Each of the different values of a list counts.
    n : int
        Number of values, 1 or more.

    Returns
    -------
    list of ValueCount
        At most `n`, most frequent first, those of equal frequency in ascending order. Values of no document in the
        masks are left out.

    Raises
    ------
    ParameterError
        If the field has another type, or `n` is not 1 or more.
    CorruptIndexError
        If the column is damaged.
    """
    check_count("n", n)
    every = _counts_of_segments(segments, field)
    if not every:
        return []
    if every[0].strings is not None:
        return _most_frequent_strings(every, n)
    values, places = np.unique(np.concatenate([each.values for each in every]), return_inverse=True)
    documents = np.zeros(len(values), dtype=np.int64)
    np.add.at(documents, places, np.concatenate([each.documents for each in every]))
    first = _largest(documents, n)
    return list(map(ValueCount, values[first].tolist(), documents[first].tolist()))


def numbers_of_strings(segments: Segments, field: str) -> tuple[int, int]:
    """Return the number of the values of a field of strings, and of the different ones; see `facet_counts`."""
    every = _counts_of_segments(segments, field)
    if not every:
        return 0, 0
    _, documents, others = _added(every)
    return int(documents.sum()) + others.total(), int(np.count_nonzero(documents)) + len(others)


def _counts_of_segments(segments: Segments, field: str) -> list[_Counts]:
    return [
        found
        for columns, mask in segments
        if columns is not None and (found := _counts(columns, field, mask)) is not None
    ]


def _counts(columns: AttributeColumns, field: str, mask: Mask) -> _Counts | None:
    spend(len(mask))
    column = columns.column(field)
    if column is None:
        return None
    if isinstance(column, BooleanColumn):
        values = column.values[mask & column.present(slice(None))].view(np.bool_)
        return _Counts(*np.unique(values, return_counts=True))
    if isinstance(column, NumberColumn):
        kind = columns.schema[field]
        if kind != "integer":
            raise ParameterError(
                "only ranges of this field can be counted",
                facts=[("field", field), ("type", kind)],
                fixes=[
                    "filter by each range, such as FIELD >= LOW and FIELD < HIGH, and count the results",
                    Fix.use(
                        "count ranges: {}", ranges={field: {"low": (0, 10) if kind == "float" else _DAYS}}
                    ),
                ],
            )
        numbers = column.values[mask & column.present(slice(None))]
        return _Counts(*np.unique(numbers, return_counts=True))
    if isinstance(column, KeywordColumn):
        codes = column.codes[mask]
        codes = codes[codes > 0] - np.uint32(1)
    else:
        codes = _codes_of(columns, field, column, mask)
    if codes.max(initial=0) >= len(column.strings) and len(codes):
        raise columns.damaged(field, "codes", f"strings below {len(column.strings)}", int(codes.max()))
    documents = np.bincount(codes, minlength=len(column.strings))
    numbers = np.flatnonzero(documents)
    return _Counts(numbers, documents[numbers], column.strings)


def _codes_of(
    columns: AttributeColumns, field: str, column: KeywordsColumn, mask: Mask
) -> npt.NDArray[np.uint32]:
    starts = column.starts.astype(np.int64)
    if starts[0] != 0 or starts[-1] != len(column.codes) or (starts[1:] < starts[:-1]).any():
        raise columns.damaged(field, "starts", "starts in order", "another order")
    return column.codes[np.repeat(mask, np.diff(starts))]


def _most_frequent_strings(every: Sequence[_Counts], n: int) -> list[ValueCount]:
    strings, documents, others = _added(every)
    first = _largest(documents, n)
    counted = [*zip(strings.get_many(first), documents[first].tolist(), strict=True), *others.items()]
    return [ValueCount(*each) for each in nsmallest(n, counted, key=lambda each: (-each[1], each[0]))]


def _added(every: Sequence[_Counts]) -> tuple[StringTable, npt.NDArray[np.int64], Counter[str]]:
    """Return the sums of the counts of all segments, by string number of the largest one, and of all other strings.

    The largest segment is the one with most strings. The strings of the others are decoded, to be looked up in it.
    """
    largest = max(every, key=lambda each: len(each.values))
    assert largest.strings is not None, "all segments have strings"
    documents = np.zeros(len(largest.strings), dtype=np.int64)
    documents[largest.values] = largest.documents
    others: Counter[str] = Counter()
    for each in every:
        if each is not largest and each.strings is not None:
            names = each.strings.get_many(each.values)
            numbers = largest.strings.find_many(names)
            found = numbers >= 0
            documents[numbers[found]] += each.documents[found]
            for name, count in zip(compress(names, ~found), each.documents[~found].tolist(), strict=True):
                others[name] += count
    return largest.strings, documents, others


def _largest(counts: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """Return the places of the `n` largest counts above 0, largest first; equal ones in the order of the places.

    Examples
    --------
    >>> _largest(np.array([1, 3, 0, 1, 5, 1]), 4).tolist()
    [4, 1, 0, 3]
    """
    places = np.flatnonzero(counts)
    if n < len(places):
        least = np.partition(counts[places], -n)[-n]
        above = places[counts[places] > least]
        equal = places[counts[places] == least][: n - len(above)]
        places = np.sort(np.concatenate([above, equal]))
    return places[np.argsort(-counts[places], kind="stable")]


def range_counts(
    segments: Segments, schema: Schema, field: str, ranges: Mapping[str, Range]
) -> list[ValueCount]:
    """Count the documents with a value in each of several ranges.

    Parameters
    ----------
    segments : sequence of (AttributeColumns or None, ndarray of bool)
    schema : Schema
        Types of all fields of the index.
    field : str
        A field of type integer, float or date.
    ranges : mapping of str to (low, high)
        Ranges by their names. A document counts for a range if low <= value < high, as in a filter; None for no limit.
        Ranges may overlap.

    Returns
    -------
    list of ValueCount
        In the order of `ranges`, with the names as values.

    Raises
    ------
    ParameterError
        If the field has another type, or a range is not a pair of such values.
    """
    if schema[field] not in ("integer", "float", "date"):
        raise ParameterError(
            "only values of this field can be counted, not ranges",
            facts=[("field", field), ("type", schema[field])],
            fixes=[Fix.use("count values: {}", facets=[field])],
        )
    counts = []
    for name, each in ranges.items():
        is_pair = isinstance(each, tuple | list) and len(each) == 2
        check(f"the range {name!r}", each, is_pair, "a pair such as (10, 20), (None, 10) or (20, None)")
        filter = range_filter(field, *each)
        check_filter(filter, schema)
        counts.append(ValueCount(name, documents_in(segments_with(segments, filter))))
    return counts


def range_filter(field: str, low: str | float | None, high: str | float | None) -> Filter:
    """Return the filter of a range, see `range_counts`."""
    within = Exists(field) if low is None else GreaterOrEqual(field, low)
    return within if high is None else within & Less(field, high)


def _number_columns(segments: Segments, field: str) -> Iterator[tuple[Mask, NumberColumn | None]]:
    """Yield the mask of each segment, and its column of a field of numbers or dates; None if it has no values."""
    for columns, mask in segments:
        spend(len(mask))
        column = None if columns is None else columns.column(field)
        yield mask, column if isinstance(column, NumberColumn) else None


def moments(segments: Segments, field: str) -> list[tuple[npt.NDArray[np.int64], Mask]]:
    """Return for each row of each segment the microseconds of a date since 1970, and whether it is counted and has one.

    Raises
    ------
    CorruptIndexError
        If the column is damaged.
    """
    found = []
    for mask, column in _number_columns(segments, field):
        if column is not None:
            found.append((column.values.astype(np.int64), mask & column.present(slice(None))))
        else:
            found.append((np.zeros(len(mask), dtype=np.int64), np.zeros(len(mask), dtype=np.bool_)))
    return found


def interval_numbers(
    segments: Segments, field: str, width: float, start: float
) -> list[npt.NDArray[np.float64]]:
    """Return for each row of each segment the number of the interval that its value is in; NaN without a value.

    Interval *n* begins at ``start + n * width``. The field is of type integer or float.

    Raises
    ------
    CorruptIndexError
        If the column is damaged.
    """
    found = []
    for mask, column in _number_columns(segments, field):
        numbers = np.full(len(mask), np.nan)
        if column is not None:
            present = column.present(slice(None))
            with np.errstate(over="ignore"):
                numbers[present] = np.floor((column.values[present].astype(np.float64) - start) / width)
        found.append(numbers)
    return found
