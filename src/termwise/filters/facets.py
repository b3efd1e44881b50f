"""Facets: how many documents have each value of an attribute."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from termwise.attributes.dates import parse_date
from termwise.attributes.field_types import INTEGERS, FieldType
from termwise.display.safe_text import shown
from termwise.errors import ParameterError
from termwise.index.attribute_columns import (
    AttributeColumns,
    BooleanColumn,
    KeywordColumn,
    KeywordsColumn,
    NumberColumn,
)
from termwise.validation import check_count, is_finite_number

Mask = npt.NDArray[np.bool_]
FacetValue = str | int | bool


class ValueCount(NamedTuple):
    """A value, and the number of documents that have it."""

    value: FacetValue
    documents: int


class RangeCount(NamedTuple):
    """Number of documents with a value of at least `low` and below `high`."""

    low: str | float
    high: str | float
    documents: int


def facet_counts(columns: AttributeColumns, field: str, mask: Mask, n: int) -> list[ValueCount]:
    """Count the values of a field, and return the most frequent ones.

    Parameters
    ----------
    columns : AttributeColumns
        Attributes of a segment. For several segments, add up `value_counts` and call `top_counts`.
    field : str
        A field of type keyword, keywords, boolean or integer. Each of the different values of a list counts.
    mask : ndarray of shape (rows,), bool
        Documents to count.
    n : int
        Number of values, 1 or more.

    Returns
    -------
    list of ValueCount
        At most `n`, most frequent first, those of equal frequency in ascending order. Values of no document in the mask
        are left out.

    Raises
    ------
    ParameterError
        If the field has another type, or `n` is not 1 or more.
    CorruptIndexError
        If the column is damaged.
    """
    return top_counts(value_counts(columns, field, mask), n)


def top_counts(counts: Mapping[FacetValue, int], n: int) -> list[ValueCount]:
    """Return the `n` most frequent values, most frequent first, those of equal frequency in ascending order.

    Examples
    --------
    >>> top_counts({"b": 2, "a": 2, "c": 5, "d": 1}, 2)
    [ValueCount(value='c', documents=5), ValueCount(value='a', documents=2)]
    """
    check_count("n", n)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [ValueCount(value, count) for value, count in ordered[:n]]


def value_counts(columns: AttributeColumns, field: str, mask: Mask) -> dict[FacetValue, int]:
    """Return the number of documents in a mask with each value of a field; see `facet_counts`."""
    column = columns.column(field)
    if column is None:
        return {}
    if isinstance(column, BooleanColumn):
        values = column.values[mask]
        counts = {value: int(np.count_nonzero(values == int(value))) for value in (False, True)}
        return {value: count for value, count in counts.items() if count}
    if isinstance(column, NumberColumn):
        if columns.schema[field] != "integer":
            raise ParameterError(
                "only ranges of this field can be counted",
                facts=[("field", field), ("type", columns.schema[field])],
                fixes=["filter by each range, such as NAME between LOW and HIGH, and count the results"],
            )
        numbers = column.values[mask & column.present(0, columns.rows)]
        found, several = np.unique(numbers, return_counts=True)
        return dict(zip(found.tolist(), several.tolist(), strict=True))
    if isinstance(column, KeywordColumn):
        codes = column.codes[mask]
        codes = codes[codes > 0] - np.uint32(1)
    else:
        codes = _codes_of(columns, field, column, mask)
    if codes.max(initial=0) >= len(column.strings) and len(codes):
        raise columns.damaged(field, "codes", f"strings below {len(column.strings)}", int(codes.max()))
    several = np.bincount(codes, minlength=len(column.strings))
    numbers = np.flatnonzero(several)
    return dict(zip(column.strings.get_many(numbers), several[numbers].tolist(), strict=True))


def _codes_of(
    columns: AttributeColumns, field: str, column: KeywordsColumn, mask: Mask
) -> npt.NDArray[np.uint32]:
    starts = column.starts.astype(np.int64)
    if starts[0] != 0 or starts[-1] != len(column.codes) or (starts[1:] < starts[:-1]).any():
        raise columns.damaged(field, "starts", "starts in order", "another order")
    return column.codes[np.repeat(mask, np.diff(starts))]


def range_counts(
    columns: AttributeColumns, field: str, mask: Mask, edges: Sequence[str | float]
) -> list[RangeCount]:
    """Count the documents with a value in each range between two edges.

    Parameters
    ----------
    columns : AttributeColumns
    field : str
        A field of type integer, float or date.
    mask : ndarray of shape (rows,), bool
        Documents to count.
    edges : sequence of numbers, or of dates as text
        At least two, in ascending order. A range includes its lower edge, but not its upper one.

    Raises
    ------
    ParameterError
        If the field has another type, or the edges are not in order.
    """
    kind = columns.schema.get(field)
    if kind not in (None, "integer", "float", "date"):
        raise ParameterError(
            "only values of this field can be counted, not ranges",
            facts=[("field", field), ("type", kind)],
            fixes=["count values: `facet_counts(columns, field, mask, n)`"],
        )
    if kind is None:
        return [RangeCount(low, high, 0) for low, high in pairwise(edges)]
    bounds = [_edge(field, kind, edge) for edge in edges]
    if len(bounds) < 2 or any(low >= high for low, high in pairwise(bounds)):
        raise ParameterError(
            "edges are at least two different values in ascending order",
            facts=[("field", field), ("edges", shown(list(edges)))],
        )
    column = columns.column(field)
    counts = np.zeros(len(bounds) - 1, dtype=np.int64)
    if isinstance(column, NumberColumn):
        numbers = column.values[mask & column.present(0, columns.rows)]
        limits = np.array(
            [math.ceil(bound) for bound in bounds] if kind == "integer" else bounds, dtype=column.values.dtype
        )
        places = np.searchsorted(limits, numbers, side="right")
        counts = np.bincount(places, minlength=len(bounds) + 1)[1 : len(bounds)]
    return [
        RangeCount(low, high, count)
        for (low, high), count in zip(pairwise(edges), counts.tolist(), strict=True)
    ]


def _edge(field: str, kind: FieldType, edge: object) -> float:
    if kind == "date" and isinstance(edge, str):
        moments = parse_date(edge)
        if moments is not None:
            return moments[0]
    elif kind != "date" and is_finite_number(edge) and (kind != "integer" or math.ceil(edge) in INTEGERS):
        return edge
    raise ParameterError(
        "an edge is not a value of the field",
        facts=[("field", field), ("type", kind), ("given", shown(edge))],
    )
