"""Metadata of any types in an index: what comes back, and what filters see, compared with a filter in plain Python."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import termwise
from termwise.attributes.dates import microseconds, parse_date
from termwise.errors import ParameterError
from termwise.filters import (
    And,
    Between,
    Contains,
    Equals,
    Exists,
    Filter,
    Greater,
    GreaterOrEqual,
    In,
    Less,
    LessOrEqual,
    Not,
    NotEquals,
    NotIn,
    Or,
    StartsWith,
)
from termwise.integrations.metadata import (
    SCHEMA,
    VALUES,
    attributes_of,
    filter_of_values,
    read_filter,
    record_of,
)

NAMES = st.sampled_from(["a", "ab", "a.b", "b", "\x01", "ü"])

NUMBERS = st.one_of(
    st.integers(-30, 30),
    st.sampled_from([2**53, 2**53 + 1, -(2**63) - 1, 10**25, 0.1, -0.1, 1e-300, -1e300, 120, 12, 1200.0]),
    st.floats(allow_nan=False, allow_infinity=False),
)

TEXTS = st.one_of(
    st.text(alphabet="ab01~!\x01\U0010ffff", max_size=3),
    st.sampled_from(["2024-01-31", "2024-01-31T12:00:00", "2024-02-01T00:00:00+01:00", "1969-07-20"]),
)

SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)

VALUES_OF_FIELDS = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.sampled_from(["b", "c"]), SCALARS, max_size=2),
    st.sampled_from([math.inf, -math.inf]),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=5))])),
)

METADATA = st.dictionaries(NAMES, VALUES_OF_FIELDS, max_size=4)


def values_of(metadata: dict[str, Any], field: str) -> list[Any]:
    """Return the values of a field: those of lists, and of objects by their names with a dot."""
    found: list[Any] = []

    def collect(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for inner, each in value.items():
                collect(f"{name}.{inner}" if name else inner, each)
        elif isinstance(value, list):
            for each in value:
                collect(name, each)
        elif name == field and value is not None and not (isinstance(value, float) and math.isinf(value)):
            found.append(value)

    collect("", metadata)
    return [
        each
        for each in found
        if not isinstance(each, date)
        or -62_135_596_800_000_000 <= microseconds(each) <= 253_402_300_799_999_999
    ]


def is_equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(wanted, str):
        days = parse_date(wanted)
        moment = moment_of(value)
        return value == wanted or (days is not None and moment is not None and days[0] <= moment <= days[1])
    return isinstance(value, int | float) and value == wanted


def moment_of(value: Any) -> int | None:
    if isinstance(value, date):
        return microseconds(value)
    moments = parse_date(value) if isinstance(value, str) else None
    return None if moments is None else moments[0]


def is_ordered(value: Any, symbol: str, wanted: Any) -> bool:
    """Compare values of one type by order; a date without a time is the whole day."""
    if isinstance(wanted, str) and (days := parse_date(wanted)) is not None:
        moment = moment_of(value)
        if moment is None:
            return False
        return {
            "<": moment < days[0],
            "<=": moment <= days[1],
            ">": moment > days[1],
            ">=": moment >= days[0],
        }[symbol]
    same = isinstance(value, str) if isinstance(wanted, str) else type(value) in (int, float)
    if not same:
        return False
    return {"<": value < wanted, "<=": value <= wanted, ">": value > wanted, ">=": value >= wanted}[symbol]


def matches(filter: Filter, metadata: dict[str, Any]) -> bool:
    """Evaluate a filter in plain Python."""
    if isinstance(filter, And):
        return all(matches(each, metadata) for each in filter.filters)
    if isinstance(filter, Or):
        return any(matches(each, metadata) for each in filter.filters)
    if isinstance(filter, Not):
        return not matches(filter.filter, metadata)
    values = values_of(metadata, filter.field)  # type: ignore[attr-defined]
    if isinstance(filter, Exists):
        return bool(values)
    operands = filter.operands  # type: ignore[attr-defined]
    if isinstance(filter, Between):
        low, high = operands
        return any(is_ordered(value, ">=", low) and is_ordered(value, "<=", high) for value in values)
    if isinstance(filter, Less | LessOrEqual | Greater | GreaterOrEqual):
        return any(is_ordered(value, filter.symbol, operands[0]) for value in values)
    if isinstance(filter, StartsWith):
        return any(isinstance(value, str) and value.startswith(str(filter.value)) for value in values)
    equal = any(is_equal(value, wanted) for value in values for wanted in operands)
    return bool(values) and not equal if isinstance(filter, NotEquals | NotIn) else equal


COMPARED = st.one_of(st.booleans(), NUMBERS.filter(lambda number: abs(number) < 1e300), TEXTS)
ORDERED = st.one_of(NUMBERS.filter(lambda number: abs(number) < 1e300), TEXTS)

CONDITIONS = st.one_of(
    st.builds(Equals, NAMES, COMPARED),
    st.builds(NotEquals, NAMES, COMPARED),
    st.builds(In, NAMES, st.lists(COMPARED, min_size=1, max_size=3)),
    st.builds(NotIn, NAMES, st.lists(COMPARED, min_size=1, max_size=3)),
    st.builds(Exists, NAMES),
    *(st.builds(kind, NAMES, ORDERED) for kind in (Less, LessOrEqual, Greater, GreaterOrEqual)),
    st.builds(Between, NAMES, st.integers(-20, 20), st.integers(-20, 20)),
)

FILTERS = st.recursive(
    CONDITIONS,
    lambda inner: st.one_of(st.builds(Not, inner), st.builds(And, inner, inner), st.builds(Or, inner, inner)),
    max_leaves=3,
)


def selected(filter: Filter, documents: list[dict[str, Any]]) -> list[bool]:
    """Evaluate the filter on the strings of documents, as the engine does on its columns."""
    rows = [set(attributes_of(each)[VALUES]) for each in documents]  # type: ignore[arg-type]

    def evaluate(part: Filter, row: set[str]) -> bool:
        if isinstance(part, And):
            return all(evaluate(each, row) for each in part.filters)
        if isinstance(part, Or):
            return any(evaluate(each, row) for each in part.filters)
        if isinstance(part, Not):
            return not evaluate(part.filter, row)
        if isinstance(part, In):
            return not row.isdisjoint(part.values)  # type: ignore[arg-type]
        assert isinstance(part, Between)
        return any(str(part.low) <= each <= str(part.high) for each in row)

    translated = filter_of_values(filter)
    return [evaluate(translated, row) for row in rows]


@given(METADATA, FILTERS)
def test_a_filter_on_the_strings_matches_as_on_the_metadata(metadata, filter):
    assert selected(filter, [metadata]) == [matches(filter, metadata)]


def test_all_comparisons_of_pairs_of_values():
    numbers = [
        0,
        -0.0,
        1,
        -1,
        12,
        120,
        1.2,
        -1.2,
        -12,
        -123,
        123,
        1e-9,
        -1e-9,
        2**53,
        2**53 + 1,
        1e300,
        -1e300,
    ]
    texts = [
        "",
        "a",
        "ab",
        "b",
        "a\x01",
        "1",
        "2024-01-31",
        "2024-01-31T00:00:00",
        "2024-01-31T23:59:59.999999",
    ]
    texts += ["2024-02-01", "2024-01-30T23:59:59.999999", "2024-02-01T01:00:00+01:00"]
    values = [*numbers, *texts, True, False]
    kinds = (Equals, NotEquals, Less, LessOrEqual, Greater, GreaterOrEqual)
    filters = [
        kind("a", value) for value in values for kind in (kinds[:2] if isinstance(value, bool) else kinds)
    ]
    documents = [{"a": value} for value in values]
    for filter in filters:
        assert selected(filter, documents) == [matches(filter, each) for each in documents], filter


@given(METADATA)
def test_metadata_come_back_unchanged(metadata):
    assert record_of(attributes_of(metadata)) == metadata


@given(st.lists(NUMBERS, min_size=2, max_size=2))
def test_numbers_are_ordered_as_in_python(numbers):
    first, second = numbers
    (one,), (other,) = (attributes_of({"n": number})[VALUES] for number in numbers)  # type: ignore[misc]
    assert ((one > other) - (one < other)) == ((first > second) - (first < second))


def test_the_index_evaluates_the_filter(tmp_path):
    metadata: list[dict[str, Any]] = [
        {"year": 2019, "lang": "de", "tags": ["a", "b"], "day": "2024-01-31T10:00:00"},
        {"year": 2020.5, "lang": "en", "tags": [], "day": datetime(2024, 2, 1)},
        {"year": "2019", "lang": None, "author": {"name": "Ada"}},
        {"flag": True, "tags": "a", "year": -5},
    ]
    documents = [
        termwise.Document(str(number), "text", attributes_of(each)) for number, each in enumerate(metadata)
    ]
    searcher = termwise.build_index(documents, tmp_path, attributes=SCHEMA)

    def found(text: str) -> str:
        filter = read_filter(text)
        assert filter is not None
        assert [matches(filter, each) for each in metadata] == [
            str(number) in searcher.rank(None, filter=filter_of_values(filter)).doc_ids for number in range(4)
        ]
        return "".join(searcher.rank(None, filter=filter_of_values(filter)).doc_ids)

    assert found("year < 2020") == "03"
    assert found("year > 2019") == "1"
    assert found('year = "2019"') == "2"
    assert found('year in (2019, "2019")') == "02"
    assert found('lang != "de"') == "1"
    assert found('not lang = "de"') == "123"
    assert found("lang is missing") == "23"
    assert found('tags = "a"') == "03"
    assert found('day >= "2024-01-31" and day < "2024-02-01"') == "0"
    assert found("`author.name` is not missing") == "2"
    assert found("flag") == "3"
    assert found("unknown is missing") == "0123"
    assert found("year between -10 and 2019") == "03"
    assert found('lang starts with "d"') == "0"
    assert found('year starts with "20"') == "2"
    with pytest.raises(ParameterError, match="part of a text"):
        filter_of_values(Contains("lang", "e"))


@pytest.mark.parametrize(
    "metadata",
    [
        {"a": object()},
        {"a": {1, 2}},
        {"a": b"x"},
        {1: "a"},
        {"": 1},
        {"a\0b": 1},
        {"a": {2: 3}},
        {"a": 10**6000},
        {"a": [{"b": {3: 1}}]},
        3,
        ["a"],
    ],
)
def test_metadata_that_json_cannot_hold_are_refused(metadata):
    with pytest.raises(ParameterError, match="cannot be stored"):
        attributes_of(metadata, doc_id="x")


def test_numbers_of_numpy_are_refused():
    import numpy as np

    with pytest.raises(ParameterError, match="int64"):
        attributes_of({"a": np.int64(3)})
    assert record_of(attributes_of({"a": np.float64(0.5)})) == {"a": 0.5}


def test_values_without_an_order_are_refused():
    for filter in (Less("a", True), Between("a", 1, "b")):
        with pytest.raises(ParameterError, match="no common order"):
            filter_of_values(filter)


def test_filters_have_three_forms():
    expected = And(Equals("lang", "de"), Equals("year", 3))
    assert read_filter('lang = "de" and year = 3') == expected
    assert read_filter({"lang": "de", "year": 3}) == expected
    assert read_filter({"and": [{"field": "lang", "=": "de"}, {"field": "year", "=": 3}]}) == expected
    assert read_filter(expected) is expected
    assert read_filter(None) is read_filter({}) is read_filter("") is None
    with pytest.raises(ParameterError):
        read_filter(3)  # type: ignore[arg-type]
