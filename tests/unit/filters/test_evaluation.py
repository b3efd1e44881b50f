"""Evaluation of filters, and facets, against a model over dictionaries."""

from __future__ import annotations

import operator
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termwise
from termwise.attributes import Schema
from termwise.attributes.dates import microseconds, parse_date
from termwise.budget import Budget, limited
from termwise.errors import CorruptIndexError, ParameterError
from termwise.filters import (
    And,
    Between,
    Equals,
    Exists,
    Filter,
    In,
    Less,
    Matches,
    MatchesIgnoringCase,
    Not,
    NotEquals,
    NotIn,
    Or,
    ValueCount,
    facet_counts,
    parse_filter,
    range_counts,
    rows_allowed,
)
from termwise.filters.expressions import COMPARISONS, LONGEST_PATTERN, PART_TESTS, Comparison
from termwise.index.attribute_columns import AttributeColumns
from termwise.index.attribute_spill import KIND, AttributeSpill
from termwise.index.container import Container

SCHEMA = Schema(
    {
        "lang": "keyword",
        "tags": "keywords",
        "price": "float",
        "count": "integer",
        "sold": "boolean",
        "day": "date",
        "never": "float",
    }
)
WORDS = ["", "a", "b", "bb", "abab", "ü", "üb", "\U0001f600"]
DAYS = [
    "0001-01-01",
    "2024-01-31",
    "2024-01-31T12:00",
    "2024-01-31T23:59:59.999999",
    "2024-02-01",
    "9999-12-31",
]
COUNTS = [-(2**63), -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1]
PRICES = [-1e308, -0.0, 0.5, 1.0, 2.0, 2.0**53, 1e308, 5e-324]
POOLS: dict[str, list[Any]] = {
    "lang": WORDS, "price": PRICES, "count": COUNTS, "sold": [False, True], "day": DAYS, "never": [1.0], "tags": WORDS,
}  # fmt: skip
BEYOND: dict[str, list[Any]] = {
    "lang": ["c", "\ud800"], "tags": ["ab"], "price": [0.1, 3, 2**53 + 1, 10**308, -(10**30)], "sold": [], "never": [0],
    "count": [0.5, -0.5, 2.0**63, -(2.0**63), 1e300, -1e300, 10**30],
    "day": ["2024-01-30", "2024-01-31T13:00:00+01:00"],
}  # fmt: skip

ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            **{name: st.sampled_from(POOLS[name]) for name in ("lang", "price", "count", "sold", "day")},
            "tags": st.lists(st.sampled_from(WORDS), max_size=3),
        },
    ),
    min_size=1,
    max_size=20,
)


def conditions(field: str) -> st.SearchStrategy[Filter]:
    value = st.sampled_from(POOLS[field] + BEYOND[field])
    several = st.lists(value, min_size=1, max_size=8)
    equal = st.builds(Equals, st.just(field), value) | st.builds(NotEquals, st.just(field), value)
    lists = st.builds(In, st.just(field), several) | st.builds(NotIn, st.just(field), several)
    if field == "sold":
        return equal | lists | st.just(Exists(field))
    ordered = st.builds(
        lambda kind, one: kind(field, one), st.sampled_from(list(COMPARISONS.values())), value
    )
    found = (
        equal | lists | ordered | st.builds(Between, st.just(field), value, value) | st.just(Exists(field))
    )
    if field not in ("lang", "tags"):
        return found
    upper = st.builds(lambda value, upper: value.upper() if upper else value, value, st.booleans())
    pattern = st.text("ab*?", max_size=6) | upper
    return found | st.builds(
        lambda kind, part: kind(field, part), st.sampled_from(list(PART_TESTS.values())), upper | pattern
    )


def combined(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=1, max_size=3)
    return st.builds(Not, parts) | several.map(lambda each: And(*each)) | several.map(lambda each: Or(*each))


FILTERS = st.recursive(st.one_of(*map(conditions, POOLS)), combined, max_leaves=5)


def open_columns(folder: Path, rows: list[dict[str, Any]]) -> AttributeColumns:
    spill = AttributeSpill(folder / "spill", SCHEMA)
    for row in rows:
        spill.add("d", row)
    spill.write(folder / "columns", 0, len(rows))
    spill.close()
    return AttributeColumns(Container(folder / "columns", KIND), len(rows))


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip


def compares(symbol: str, field: str, value: Any, other: Any) -> bool:
    """Compare in plain Python; a date without a time is a whole day."""
    if field != "day":
        return OPERATORS[symbol](value, other)
    moment = parse_date(value)[0]  # type: ignore[index]
    first, last = parse_date(other)  # type: ignore[misc]
    if symbol == "=":
        return bool(first <= moment <= last)
    return OPERATORS[symbol](moment, first if symbol in ("<", ">=") else last)


def model(filter: Filter, row: dict[str, Any]) -> bool:
    if isinstance(filter, And):
        return all(model(each, row) for each in filter.filters)
    if isinstance(filter, Or):
        return any(model(each, row) for each in filter.filters)
    if isinstance(filter, Not):
        return not model(filter.filter, row)
    field: str = filter.field  # type: ignore[attr-defined]
    stored = row.get(field)
    values = stored if isinstance(stored, list) else [] if stored is None else [stored]
    if isinstance(filter, Exists):
        return bool(values)
    if isinstance(filter, Between):
        return any(
            compares(">=", field, each, filter.low) and compares("<=", field, each, filter.high)
            for each in values
        )
    if isinstance(filter, In | NotEquals):
        wanted = filter.values if isinstance(filter, In) else [filter.value]
        found = any(compares("=", field, each, one) for each in values for one in wanted)
        return bool(values) and not found if isinstance(filter, NotIn | NotEquals) else found
    assert isinstance(filter, Comparison)
    if isinstance(filter, tuple(PART_TESTS.values())):
        part, strings = str(filter.value), values
        if filter.symbol.endswith("ignoring case"):
            part, strings = part.casefold(), [each.casefold() for each in values]
        if filter.symbol.startswith("equals"):
            return part in strings
        if filter.symbol.startswith("matches"):
            return any(fnmatchcase(each, part) for each in strings)
        starts = filter.symbol.startswith("starts")
        return any(each.startswith(part) if starts else part in each for each in strings)
    return any(compares(filter.symbol, field, each, filter.value) for each in values)


@given(ROWS, st.lists(FILTERS, min_size=1, max_size=5), st.data())
@settings(max_examples=150, deadline=None)
def test_evaluation_equals_the_model(
    rows: list[dict[str, Any]], filters: list[Filter], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        columns = open_columns(Path(folder), rows)
        first = data.draw(st.integers(0, len(rows)))
        last = data.draw(st.integers(first, len(rows)))
        for filter in filters:
            expected = [model(filter, row) for row in rows]
            assert rows_allowed(filter, columns).tolist() == expected, str(filter)
            part = rows_allowed(filter, columns, first=first, last=last)
            assert part.tolist() == expected[first:last]
            assert part.dtype == np.bool_


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a*b", ["a*b", "a\\b", "a\nb"]),
        (r"a\*b", ["a*b"]),
        ("a\\\nb", ["a\nb"]),
        (r"a\\b", ["a\\b"]),
        (r"*\\", ["b\\"]),
        ("*\\", ["b\\"]),
        ("b?", ["b\\"]),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, found: list[str]) -> None:
    values = ["a*b", "a\\b", "a\nb", "b\\"]
    columns = open_columns(tmp_path, [{"lang": each} for each in values])
    for kind in (Matches, MatchesIgnoringCase):
        allowed = rows_allowed(kind("lang", pattern), columns)
        assert [each for each, fits in zip(values, allowed, strict=True) if fits] == found


def test_a_pattern_has_a_largest_length_and_looks_at_the_time(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="too long"):
        Matches("lang", "*" + "x" * LONGEST_PATTERN)
    columns = open_columns(tmp_path, [{"lang": f"{number:x<9000}"} for number in range(20)])
    for kind in (Matches, MatchesIgnoringCase):
        budget, pauses = Budget(seconds=60), Counter[str]()
        budget.pause = lambda pauses=pauses: pauses.update(["pause"])
        with limited(budget):
            rows_allowed(kind("lang", "*x?x*y"), columns)
        assert pauses["pause"] > 10  # after two strings each


@given(ROWS, st.data())
@settings(max_examples=60, deadline=None)
def test_facets_equal_the_model(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    mask = np.array(kept)
    chosen = [row for row, keep in zip(rows, kept, strict=True) if keep]
    with tempfile.TemporaryDirectory() as folder:
        columns = open_columns(Path(folder), rows)
        for field in ("lang", "count", "sold"):
            counts = Counter(row[field] for row in chosen if field in row)
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            assert facet_counts([(columns, mask)], field, 3) == ordered[:3]
        tags = Counter(tag for row in chosen for tag in set(row.get("tags", ())))
        assert dict(facet_counts([(columns, mask)], "tags", 100)) == tags
        bound = st.none() | st.sampled_from([-1, 0, 0.5, 2, 7, 8, 2**53, 2**60])
        ranges = data.draw(st.dictionaries(st.text(max_size=2), st.tuples(bound, bound)))
        for field in ("count", "price"):
            values = [row[field] for row in chosen if field in row]
            expected = [
                (name, sum((low is None or low <= x) and (high is None or x < high) for x in values))
                for name, (low, high) in ranges.items()
            ]
            assert range_counts([(columns, mask)], SCHEMA, field, ranges) == expected


@given(st.lists(st.lists(st.tuples(ROWS, st.booleans()), min_size=1, max_size=3), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_facets_of_segments_are_added(drawn: list[list[tuple[list[dict[str, Any]], bool]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        segments, chosen = [], []
        for number, part in enumerate(drawn):
            rows = [row for several, _ in part for row in several]
            kept = [keep for several, keep in part for _ in several]
            (place := Path(folder) / str(number)).mkdir()
            segments.append((open_columns(place, rows), np.array(kept, dtype=np.bool_)))
            chosen += [row for row, keep in zip(rows, kept, strict=True) if keep]
        for field in ("lang", "tags", "count", "sold"):
            values = [row[field] for row in chosen if field in row]
            counts = Counter(
                value for each in values for value in (set(each) if isinstance(each, list) else [each])
            )
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            for n in (1, 2, 50):
                assert facet_counts(segments, field, n) == ordered[:n]


def test_facets(tmp_path: Path) -> None:
    rows = [
        {"tags": ["b", "a"], "day": "2024-01-31"},
        {"tags": ["b"], "day": "2024-02-01T10:00"},
        {"tags": ["c", "a"]},
    ]
    columns = open_columns(tmp_path, rows)
    every = [(columns, np.ones(3, dtype=np.bool_))]
    assert facet_counts(every, "tags", 2) == [ValueCount("a", 2), ValueCount("b", 2)]
    assert facet_counts([(columns, np.array([False, True, False]))], "tags", 9) == [("b", 1)]
    assert facet_counts(every, "sold", 9) == []
    assert facet_counts(every, "unknown", 9) == []
    assert facet_counts([], "tags", 9) == []
    months = {"january": ("2024-01-01", "2024-02-01"), "later": ("2024-02-01", None), "all": (None, None)}
    assert range_counts(every, SCHEMA, "day", months) == [("january", 1), ("later", 1), ("all", 2)]
    with_new = Schema({**SCHEMA, "new": "integer"})
    assert range_counts(every, with_new, "new", {"any": (0, 1)}) == [("any", 0)]


@pytest.mark.parametrize(
    ("field", "given_"),
    [
        ("tags", ("a", "b")), ("lang", ("a", "b")), ("sold", (False, True)), ("price", 1), ("price", (1,)),
        ("price", ("1", "2")), ("price", (1, "2")), ("day", (1, 2)), ("day", ("2024", "2025")),
        ("price", (0, float("nan"))), ("price", "12"),
    ],
)  # fmt: skip
def test_ranges_that_are_refused(tmp_path: Path, field: str, given_: Any) -> None:
    columns = open_columns(tmp_path, [{}])
    with pytest.raises(ParameterError):
        range_counts([(columns, np.ones(1, dtype=np.bool_))], SCHEMA, field, {"x": given_})


@pytest.mark.parametrize(("field", "n"), [("price", 1), ("day", 1), ("lang", 0)])
def test_facets_that_are_refused(tmp_path: Path, field: str, n: int) -> None:
    columns = open_columns(tmp_path, [{}])
    with pytest.raises(ParameterError):
        facet_counts([(columns, np.ones(1, dtype=np.bool_))], field, n)


def test_wrong_types_are_refused(tmp_path: Path) -> None:
    columns = open_columns(tmp_path, [{"lang": "de"}])
    with pytest.raises(ParameterError):
        rows_allowed(Less("lang", 3), columns)
    with pytest.raises(ParameterError):
        rows_allowed("lang = 'de'", columns)  # type: ignore[arg-type]


def test_missing_values_match_no_comparison(tmp_path: Path) -> None:
    columns = open_columns(tmp_path, [{"lang": "de"}, {"lang": "en"}, {}])
    for text, expected in {
        "lang = 'de'": [True, False, False],
        "lang != 'de'": [False, True, False],
        "not lang = 'de'": [False, True, True],
        "lang not in ('de')": [False, True, False],
        "lang is missing": [False, False, True],
        "never is missing": [True, True, True],
        "never != 1": [False, False, False],
    }.items():
        assert rows_allowed(parse_filter(text, SCHEMA), columns).tolist() == expected, text


def test_moments_in_other_zones(tmp_path: Path) -> None:
    columns = open_columns(tmp_path, [{"day": datetime(2024, 1, 31, 23, 30, tzinfo=UTC)}])
    assert microseconds(datetime(2024, 1, 31, 23, 30)) == 1_706_743_800_000_000
    for text in (
        "day = '2024-02-01T00:30+01:00'",
        "day = '2024-01-31'",
        "day < '2024-02-01'",
        "day <= '2024-01-31'",
    ):
        assert rows_allowed(parse_filter(text, SCHEMA), columns).all(), text
    for text in ("day > '2024-01-31'", "day >= '2024-02-01'", "day < '2024-01-31'"):
        assert not rows_allowed(parse_filter(text, SCHEMA), columns).any(), text


@pytest.mark.parametrize("position", [0, 1, 2])
def test_damaged_codes_and_starts(tmp_path: Path, position: int) -> None:
    """Damage ends in an error or in a mask, never in another exception."""
    rows = [{"lang": "de", "tags": ["a", "b"]}, {"lang": "en", "tags": ["a"]}]
    columns = open_columns(tmp_path, rows)
    data = bytearray((tmp_path / "columns").read_bytes())
    for name in ("lang", "tags"):
        column = columns.column(name)
        for array in (column.codes, getattr(column, "starts", column.codes)):  # type: ignore[union-attr]
            at = data.find(array.tobytes(), 48 + 64 * 30)
            assert at > 0
            damaged = bytearray(data)
            place = at + position % len(array) * array.itemsize
            damaged[place : place + array.itemsize] = b"\xff" * array.itemsize
            (tmp_path / "damaged").write_bytes(damaged)
            other = AttributeColumns(Container(tmp_path / "damaged", KIND), 2)
            for filter in (
                Equals(name, "a"),
                Exists(name),
                NotIn(name, ["a"]),
                Less(name, "b"),
                *(kind(name, "a") for kind in PART_TESTS.values()),
            ):
                for call in (
                    lambda filter=filter, other=other: rows_allowed(filter, other),
                    lambda name=name, other=other: facet_counts(
                        [(other, np.ones(2, dtype=np.bool_))], name, 9
                    ),
                    lambda other=other: other.values(np.arange(2)),
                ):
                    with suppress(CorruptIndexError):
                        call()


def test_filters_on_composed_strings_and_the_current_time(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    documents = [
        termwise.Document("a", "x", {"name": "Cafe\u0301", "tags": ("caf\u00e9", "cafe\u0301"), "day": now}),
        termwise.Document("b", "x", {"name": "Kaffee\u00adhaus", "day": now - timedelta(days=10)}),
    ]
    searcher = termwise.build_index(documents, tmp_path / "index", model="bm25")
    assert searcher.attributes(["a"])[0]["tags"] == ("caf\u00e9",)

    def found(filter: str) -> tuple[str, ...]:
        return searcher.rank("x", filter=filter).doc_ids

    for name in ("Caf\u00e9", "Cafe\u0301", "Ca\u200bfe\u0301"):
        assert found(f'name = "{name}"') == found(f'tags in ("{name.lower()}", "z")') == ("a",)
    assert found('name >= "Kaf\u00adfeehaus"') == found('name = "Kaffeehaus"') == ("b",)
    assert found('day > "now-7d"') == ("a",)
    assert found('day between "now-2w" and "now-1w"') == ("b",)
    assert found('day > "now-1M"') == ("a", "b")
