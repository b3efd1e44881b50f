"""Statistics of the values of an attribute: number, different values, smallest, largest, and sum."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from termwise.budget import spend
from termwise.filters.facets import Segments, numbers_of_strings
from termwise.index.attribute_columns import KeywordColumn, KeywordsColumn

Number = int | float


class ValueStatistics(NamedTuple):
    """Statistics of the values of an attribute in some documents.

    Attributes
    ----------
    values : int
        Number of values; a list counts each of its different values.
    distinct : int
        Number of different values.
    least, most : int, float or None
        Smallest and largest number, a date in microseconds since 1970; None without values, and for strings.
    total : int, float or None
        Sum of the numbers: exact for whole numbers and dates, correctly rounded for others; None for strings.
    """

    values: int
    distinct: int
    least: Number | None = None
    most: Number | None = None
    total: Number | None = None


def value_statistics(segments: Segments, field: str) -> ValueStatistics:
    """Return the statistics of the values of a field.

    Parameters
    ----------
    segments : sequence of (AttributeColumns or None, ndarray of bool)
        Attributes of each segment, and the documents whose values count.
    field : str

    Raises
    ------
    CorruptIndexError
        If the column is damaged.
    """
    columns = [(None if columns is None else columns.column(field), mask) for columns, mask in segments]
    if any(isinstance(column, KeywordColumn | KeywordsColumn) for column, _ in columns):
        return ValueStatistics(*numbers_of_strings(segments, field))
    found = []
    for column, mask in columns:
        spend(len(mask))
        if column is not None and not isinstance(column, KeywordColumn | KeywordsColumn):
            found.append(column.values[mask & column.present(slice(None))])
    numbers = np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
    if not len(numbers):
        return ValueStatistics(0, 0, total=0)
    distinct = 1 + int(np.count_nonzero(numbers[1:] != numbers[:-1]))
    total: Number
    if numbers.dtype.kind == "f":
        try:
            total = math.fsum(numbers.tolist())
        except OverflowError:
            total = math.inf
    else:  # in two halves, whose sums do not overflow
        wide = numbers.astype(np.int64)
        total = (int((wide >> 32).sum()) << 32) + int((wide & 0xFFFFFFFF).sum())
    return ValueStatistics(len(numbers), distinct, numbers[0].item(), numbers[-1].item(), total)
