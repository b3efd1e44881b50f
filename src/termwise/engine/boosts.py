"""Boosts: attributes of documents in the score.

    score(q, d) = score of the query + sum over boosts b of  weight_b * shape_b(d)

A shape is a number from 0 to 1, computed from one attribute; 0 for a document without a value. One shape is computed
from the text. Boosts change the order of the documents that match a query, not which documents match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import KW_ONLY
from datetime import date
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from termwise.attributes.dates import DAY, LETTERS, UNITS, iso, parse_date
from termwise.attributes.field_types import INTEGERS, TEXT_TYPES, FieldType
from termwise.attributes.schema import Schema
from termwise.budget import spend
from termwise.engine.allowed_documents import allowed_documents
from termwise.engine.text_conditions import TextConditions, TextReader
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.attribute_columns import (
    AttributeColumns,
    BooleanColumn,
    KeywordColumn,
    KeywordsColumn,
    NumberColumn,
)
from termwise.index.segment import Segment, concatenated_ranges
from termwise.validation import check, is_finite_number

if TYPE_CHECKING:
    from termwise.engine.boost_biases import BoostBiases

MINUTE = DAY // 1440
"""Microseconds of a minute; the least unit of a half-life."""

FRACTION_BITS = 32
"""Number of binary digits after the point in what a boost adds to a score."""

MOST_WEIGHT = 1e6
"""Largest weight of a boost, and the smallest one with a minus sign."""

MOST_VALUES = 1000
"""Largest number of values of a boost."""

MOST_WORDS, LONGEST_WORDS = 20, 1000
"""Largest number of words and phrases of all boosts of a search, and of the characters of each.

What is known about each takes a byte for each document.
"""

CALL = 1600
"""Number of documents whose boosts take as long as what each computation takes besides."""

Floats = npt.NDArray[np.float64]

RowsOfSegments = Sequence[tuple[Segment, npt.NDArray[np.intp], npt.NDArray[np.int64]]]
"""Segments of documents, the places of their documents, and the rows; see `Segments.by_segment`."""

TEXT = "_text"
"""Name of the text in place of an attribute."""

_SHAPES = ("saturation", "half_life", "near", "values", "filter", "contains")

_TYPES: dict[str, tuple[FieldType, ...]] = {
    "saturation": ("integer", "float"),
    "half_life": ("date",),
    "near": ("integer", "float"),
    "values": (*TEXT_TYPES, "boolean", "integer", "float"),
}
"""Types of the attributes that shapes are computed from; a filter has those of its conditions."""

_PERIOD = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:(minute|hour|day|week|month|year)s?|([smhdwMy]))\s*")


_UNITS = {**LETTERS, "M": "month", "y": "year"}
"""Units of periods by their letters in filters."""


@final
@dataclass(frozen=True)
class Boost:
    """Attribute or text that changes the scores of documents: ``weight * shape`` is added, with one of six shapes.

    Parameters
    ----------
    attribute : str
        Attribute of the documents; `TEXT` with `contains`.
    weight : float
        Weight in units of the score; a negative weight moves documents down.
    saturation : float, optional
        For a number: ``value / (value + saturation)``, which is 1/2 for a value of `saturation`; 0 for negative values.
    half_life : str, optional
        For a date: ``0.5 ** (age / half_life)``, with a period such as ``"30 days"`` or ``"30d"``; 1 for a date in the
        future. Units are minutes, hours, days, weeks, months and years (of 365.25 days), or the letters of filters: s
        (seconds), m (minutes), h, d, w, M (months) and y.
    now : str or date, optional
        With `half_life`: the moment from which ages are counted; by default the minute of the search.
    near, distance : float, optional
        For a number: ``0.5 ** (abs(value - near) / distance)``, which is 1/2 at `distance` from `near`.
    values : sequence of str, bool or float, optional
        For a keyword, a list of keywords, a boolean or a number: 1 for a document that has one of these values, all of
        one type.
    filter : str, optional
        Condition such as ``"stock > 0 and price < 20"``, see `termwise.filters`: 1 for a document that fulfils it.
        `attribute` is the one whose value explanations show.
    contains : sequence of str, optional
        Words and phrases: 1 for a document whose text contains all of them, see `termwise.engine.text_conditions`.

    Raises
    ------
    ParameterError
        If there is not exactly one shape, or a value has another type or is out of its range.

    Examples
    --------
    >>> Boost("sold", 2.0, saturation=100).shape
    'saturation'
    >>> Boost("added", 1.0, half_life="30 days", now="2026-03-01").half_life
    '30 days'
    """

    attribute: str
    weight: float
    _: KW_ONLY
    saturation: float | None = None
    half_life: str | None = None
    now: str | date | None = None
    near: float | None = None
    distance: float | None = None
    values: Sequence[str | bool | float] | None = None
    filter: str | None = None
    contains: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check(
            "attribute",
            self.attribute,
            isinstance(self.attribute, str) and self.attribute != "",
            "the name of an attribute",
        )
        holds = is_finite_number(self.weight) and abs(self.weight) <= MOST_WEIGHT
        check("weight", self.weight, holds, f"a number from -{MOST_WEIGHT:,.0f} to {MOST_WEIGHT:,.0f}")
        given = [name for name in _SHAPES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ParameterError(
                "a boost has exactly one shape",
                facts=[
                    ("attribute", self.attribute),
                    ("given", ", ".join(given) or "none"),
                    ("shapes", "saturation; half_life; near with distance; values; filter; contains"),
                ],
            )
        for name in ("saturation", "distance"):
            number = getattr(self, name)
            if number is not None:
                check(name, number, is_finite_number(number) and number > 0, "a number above 0")
        check("near", self.near, self.near is None or is_finite_number(self.near), "a number")
        check(
            "distance",
            self.distance,
            (self.distance is None) is (self.near is None),
            "a number together with `near`, at which the boost is half its weight",
        )
        check(
            "half_life",
            self.half_life,
            self.half_life is None or _microseconds(self.half_life) is not None,
            "a period such as '30 days' or '30d'",
        )
        if isinstance(self.now, date):
            object.__setattr__(self, "now", iso(self.now))
        check(
            "now",
            self.now,
            self.now is None
            or (given == ["half_life"] and isinstance(self.now, str) and parse_date(self.now) is not None),
            "a date such as 2024-01-31, together with `half_life`",
        )
        check("filter", self.filter, self.filter is None or isinstance(self.filter, str), "a filter as text")
        if self.values is not None:
            holds = (
                isinstance(self.values, list | tuple)
                and 0 < len(self.values) <= MOST_VALUES
                and (
                    all(isinstance(value, str) for value in self.values)
                    or all(isinstance(value, bool) for value in self.values)
                    or all(map(is_finite_number, self.values))
                )
            )
            check("values", self.values, holds, f"1 to {MOST_VALUES:,} strings, numbers, or true and false")
            object.__setattr__(self, "values", tuple(self.values))
        if self.contains is not None:
            self._check_contains()

    def _check_contains(self) -> None:
        check("attribute", self.attribute, self.attribute == TEXT, f"{TEXT} together with `contains`")
        holds = (
            isinstance(self.contains, list | tuple)
            and 0 < len(self.contains) <= MOST_WORDS
            and all(isinstance(each, str) and 0 < len(each) <= LONGEST_WORDS for each in self.contains)
        )
        expected = f"1 to {MOST_WORDS} words and phrases of at most {LONGEST_WORDS:,} characters"
        check("contains", self.contains, holds, expected)
        object.__setattr__(self, "contains", tuple(self.contains or ()))

    @property
    def shape(self) -> str:
        """Name of the shape: ``saturation``, ``half_life``, ``near``, ``values``, ``filter`` or ``contains``."""
        return next(name for name in _SHAPES if getattr(self, name) is not None)

    @property
    def moves(self) -> bool:
        """Whether the shape depends on the time of the search."""
        return (self.half_life is not None and self.now is None) or "now" in (self.filter or "")

    def check_schema(self, schema: Schema) -> None:
        """Check that the documents have the attribute, and that its type goes with the shape.

        Raises
        ------
        ParameterError, UnknownNameError
        """
        if self.contains is not None:
            return
        schema.check_name(self.attribute)
        if self.filter is not None:
            from termwise.filters import parse_filter

            parse_filter(self.filter, schema)
            return
        types, kind = _TYPES[self.shape], schema[self.attribute]
        if self.values is not None:
            first = self.values[0]
            types = TEXT_TYPES if isinstance(first, str) else ("integer", "float")
            types = ("boolean",) if isinstance(first, bool) else types
        if kind not in types:
            raise ParameterError(
                f"{self.shape} of a boost is for an attribute of another type",
                facts=[("attribute", self.attribute), ("type", kind), ("expected", " or ".join(types))],
            )


def _microseconds(period: object) -> float | None:
    match = _PERIOD.fullmatch(period) if isinstance(period, str) else None
    if match is None:
        return None
    unit = match[2] or _UNITS[match[3]]
    number = float(match[1]) * UNITS[unit]
    return number if 0 < number < np.inf else None


@final
class IndexBoosts:
    """Boosts of searches over the documents of an index.

    The sums of all documents are computed and kept when those of some documents have taken as long.

    Parameters
    ----------
    index : Index
        Index with the attributes.
    boosts : sequence of Boost
        They go with the schema of the index, see `Boost.check_schema`.
    now : int
        Time of the searches, in microseconds since 1970.
    reader : TextReader, optional
        Reads the texts of the documents, for boosts of what they contain.

    Attributes
    ----------
    largest : float
        Upper bound of the sum of all boosts of a document.
    """

    def __init__(
        self, index: Index, boosts: Sequence[Boost], now: int, reader: TextReader | None = None
    ) -> None:
        self.index, self.boosts, self._now = index, tuple(boosts), now
        self._conditions = {
            boost: TextConditions.of(reader, boost.contains, ())
            for boost in self.boosts
            if boost.contains is not None and reader is not None
        }
        self.largest = 0.0
        for boost in boosts:  # in the order of `of`, so that rounding keeps the bound
            self.largest += max(float(rounded_boost(boost.weight)), 0.0)
        filters = sum(boost.filter is not None for boost in self.boosts)
        self._of_filters = filters * len(index) // max(1, len(self.boosts))  # which look at all documents
        self._computed = 0
        self._all: Floats | None = None
        self._biases: BoostBiases | None = None

    def of(self, ordinals: npt.NDArray[np.int64]) -> Floats:
        """Return the sum of all boosts of each document."""
        if self._all is None:
            self._computed += len(ordinals) + CALL + self._of_filters
            if self._computed <= len(self.index):
                return self._sums(ordinals)
            self._all = self._sums(np.arange(len(self.index)))
            self.largest = float(self._all.max(initial=-np.inf))
        return self._all[ordinals]

    def biases(self) -> BoostBiases | None:
        """Return the boosts as biases of segments; None before those of all documents are kept."""
        if self._biases is None and self._all is not None:
            from termwise.engine.boost_biases import BoostBiases

            self._biases = BoostBiases(self.index, self._all)
        return self._biases

    def _sums(self, ordinals: npt.NDArray[np.int64]) -> Floats:
        total, rows = np.zeros(len(ordinals)), [*self.index.segments.by_segment(ordinals)]
        for boost in self.boosts:
            if boost.filter is not None or boost.contains is not None:
                fulfilled = self._fulfil(boost, ordinals)
                np.add(total, rounded_boost(boost.weight), out=total, where=fulfilled)
            else:
                total += rounded_boost(boost.weight * self._shapes(boost, ordinals, rows))
        return total

    def shapes(self, boost: Boost, ordinals: npt.NDArray[np.int64]) -> Floats:
        """Return the shape of a boost for each document, from 0 to 1."""
        if boost.filter is not None or boost.contains is not None:
            return self._fulfil(boost, ordinals).astype(np.float64)
        return self._shapes(boost, ordinals, [*self.index.segments.by_segment(ordinals)])

    def _fulfil(self, boost: Boost, ordinals: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        spend(len(ordinals))
        if boost.filter is not None:
            return allowed_documents(self.index, boost.filter).mask[ordinals]
        conditions = self._conditions[boost]
        assert conditions is not None, "there is at least one word"
        return conditions.fulfilled(ordinals)

    def _shapes(
        self, boost: Boost, ordinals: npt.NDArray[np.int64], rows_of_segments: RowsOfSegments
    ) -> Floats:
        spend(len(ordinals))
        shapes = np.zeros(len(ordinals))
        for segment, places, rows in rows_of_segments:
            if segment.attributes is not None:
                shapes[places] = self._of_rows(boost, segment.attributes, rows)
        return shapes

    def _of_rows(self, boost: Boost, columns: AttributeColumns, rows: npt.NDArray[np.int64]) -> Floats:
        if boost.values is not None:
            return _has_value(columns, boost.attribute, rows, boost.values)
        keys, present = columns.keys(boost.attribute, rows)
        numbers = keys.astype(np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            if boost.saturation is not None:
                return np.where(
                    numbers > 0, 1 / (1 + boost.saturation / numbers), 0.0
                )  # 0 stands for missing
            if boost.half_life is not None:
                moment = parse_date(boost.now) if isinstance(boost.now, str) else (self._now, 0)
                assert moment is not None, "the boost was checked"
                exponent = np.maximum(moment[0] - numbers, 0) / (_microseconds(boost.half_life) or 1)
            else:
                exponent = np.abs(numbers - (boost.near or 0.0)) / (boost.distance or 1.0)
            return np.where(present, 0.5**exponent, 0.0)


def rounded_boost(numbers: npt.ArrayLike) -> Floats:
    """Round what boosts add to scores to multiples of 2**-32.

    Scores of terms are multiples of a power of two, too. So a sum of both is the same in any order, if it is small.

    Examples
    --------
    >>> first, second, third = rounded_boost([0.1, 0.2, 0.3])
    >>> bool((first + second) + third == first + (second + third)), (0.1 + 0.2) + 0.3 == 0.1 + (0.2 + 0.3)
    (True, False)
    """
    return np.ldexp(np.rint(np.ldexp(numbers, FRACTION_BITS)), -FRACTION_BITS)


def _has_value(
    columns: AttributeColumns, name: str, rows: npt.NDArray[np.int64], values: Sequence[str | bool | float]
) -> Floats:
    """Return 1 for the rows with one of some values, and 0 for the others."""
    column = columns.column(name)
    found = np.zeros(len(rows))
    if isinstance(column, BooleanColumn):
        found[np.isin(column.values[rows], [int(value) for value in values])] = 1
    elif isinstance(column, NumberColumn):
        numbers = column.values[rows]
        if numbers.dtype.kind == "f":
            wanted = [float(value) for value in values]
        else:  # floats would not be exact
            wanted = [int(value) for value in values if float(value).is_integer() and int(value) in INTEGERS]
        found[np.isin(numbers, wanted)] = 1
        found[~column.present(rows)] = 0  # a missing value is stored as 0
    elif isinstance(column, KeywordColumn | KeywordsColumn):
        codes = columns.string_numbers(name, map(str, values))
        if isinstance(column, KeywordColumn):
            found[np.isin(column.codes[rows], codes + 1)] = 1
        else:
            begin, end = columns.code_ranges(name, column, rows)
            hits = np.isin(column.codes[concatenated_ranges(begin, end - begin)], codes)
            found[np.repeat(np.arange(len(rows)), end - begin)[hits]] = 1
    return found
