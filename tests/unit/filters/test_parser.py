"""Filters as text: every construct, and every error with its position."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.attributes import Schema
from termwise.errors import ParameterError, UnknownNameError
from termwise.filters import (
    And,
    Between,
    Contains,
    ContainsIgnoringCase,
    Equals,
    EqualsIgnoringCase,
    Exists,
    Filter,
    Greater,
    GreaterOrEqual,
    In,
    Less,
    LessOrEqual,
    Matches,
    MatchesIgnoringCase,
    Not,
    NotEquals,
    NotIn,
    Or,
    StartsWith,
    StartsWithIgnoringCase,
    as_filter,
    check_filter,
    filter_from_json,
    filter_to_json,
    parse_filter,
)

SCHEMA = Schema(
    {
        "lang": "keyword",
        "tags": "keywords",
        "price": "float",
        "count": "integer",
        "archived": "boolean",
        "day": "date",
        "metadata.year": "integer",
    }
)


@pytest.mark.parametrize(
    ("text", "filter"),
    [
        ('lang = "de"', Equals("lang", "de")),
        ("lang == 'de'", Equals("lang", "de")),
        ("price != 3", NotEquals("price", 3)),
        ("price <> -3.5e1", NotEquals("price", -35.0)),
        ("price<20", Less("price", 20)),
        ("price <= +20", LessOrEqual("price", 20)),
        ("price > 0.5", Greater("price", 0.5)),
        ("price>=2", GreaterOrEqual("price", 2)),
        ("tags in ('a',\"b\")", In("tags", ("a", "b"))),
        ("tags NOT IN ('a')", NotIn("tags", ("a",))),
        ("price between 1 and 2", Between("price", 1, 2)),
        ('lang starts with "d"', StartsWith("lang", "d")),
        ("tags CONTAINS 'ea' and archived", And(Contains("tags", "ea"), Equals("archived", True))),
        (
            "contains contains 'x' or starts starts with ''",
            Or(Contains("contains", "x"), StartsWith("starts", "")),
        ),
        ('lang equals ignoring case "DE"', EqualsIgnoringCase("lang", "DE")),
        ("lang STARTS with Ignoring case 'd'", StartsWithIgnoringCase("lang", "d")),
        ("contains contains ignoring case 'x'", ContainsIgnoringCase("contains", "x")),
        (r'sku matches "a\\*?*"', Matches("sku", r"a\*?*")),
        ("sku matches ignoring case 'A*'", MatchesIgnoringCase("sku", "A*")),
        ("price is missing", Not(Exists("price"))),
        ("price is not missing", Exists("price")),
        ("archived", Equals("archived", True)),
        ("not archived", Not(Equals("archived", True))),
        ("archived = FALSE", Equals("archived", False)),
        ("metadata.year = 2003", Equals("metadata.year", 2003)),
        ("`is` = 1", Equals("is", 1)),
        (r"`a \`b\\` = 1", Equals("a `b\\", 1)),
        (r'lang = "\u00e9\n\"\ud83d\ude00"', Equals("lang", 'é\n"😀')),
        ("größe-2 = 1", Equals("größe-2", 1)),
        ("a and b or c", Or(And(Equals("a", True), Equals("b", True)), Equals("c", True))),
        ("a and (b or c)", And(Equals("a", True), Or(Equals("b", True), Equals("c", True)))),
        ("not (a or b) and c", And(Not(Or(Equals("a", True), Equals("b", True))), Equals("c", True))),
        ("not not a", Not(Not(Equals("a", True)))),
        ("((a))", Equals("a", True)),
        ("a between 1 and 2 and b", And(Between("a", 1, 2), Equals("b", True))),
    ],
)
def test_syntax(text: str, filter: Filter) -> None:
    assert parse_filter(text) == filter
    assert parse_filter(str(filter)) == filter


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0), ("   ", 3), ("price", None), ("price <", 7), ("price < cheap", 8), ("price < 20 lang", 11),
        ("price << 2", 7), ("lang = 'de", 7), ('lang = "de\'', 7), ("= 3", 0), ("and", 0), ("a and", 5), ("(a", 2),
        ("a)", 1), ("tags in 'a'", 8), ("tags in ()", 9), ("tags in ('a'", 12), ("tags in ('a' 'b')", 13),
        ("a between 1", 11), ("a between 1 or 2", 12), ("a is 3", 2), ("a ? 3", 2), ("'lang' = 'de'", 0), ("a = 1.", 4),
        ("a = 1e999", 4), ("a = " + "9" * 5000, 4), ("a = 'x\\q'", 6), ("a = `b`", 4), ("not", 3), ("a not b", 2),
        ("lang = de", 7), ("lang starts 'd'", 5), ("lang starts with", 16), ("lang contains d", 14),
        ("lang contains 3", 14),
    ],
)  # fmt: skip
def test_errors_mark_the_position(text: str, position: int | None) -> None:
    if position is None:
        assert parse_filter(text)
        return
    with pytest.raises(ParameterError, match="cannot be read") as caught:
        parse_filter(text)
    line, caret = str(dict(caught.value.facts)["filter"]).split("\n")
    assert caret == " " * position + "^"
    assert text.startswith(line.removesuffix("..."))


def test_long_and_wide_filters_are_shown_around_the_error() -> None:
    with pytest.raises(ParameterError) as caught:
        parse_filter(f"lang = '{'首' * 80}' ? {'x' * 80}")
    line, caret = str(dict(caught.value.facts)["filter"]).split("\n")
    assert line == f"...{'首' * 58}' ? {'x' * 58}..."
    assert caret == f"{' ' * (3 + 2 * 58 + 2)}^"


def test_deep_nesting_is_refused() -> None:
    for text in ("(" * 5000, "not " * 5000):
        with pytest.raises(ParameterError, match="cannot be read"):
            parse_filter(text)
    body: Any = {"field": "a", "=": 1}
    for _ in range(5000):
        body = {"not": body}
    with pytest.raises(ParameterError):
        filter_from_json(body)


@pytest.mark.parametrize(
    ("text", "fixes"),
    [
        ("day >= 2024-01-01", ['write a date in quotes: "2024-01-01"']),
        ("day in (2024-01-01T10:00:00Z)", ['write a date in quotes: "2024-01-01T10:00:00Z"']),
        ("lang = de", ['write a string in quotes: "de"']),
        ("archived = Yes", ["write true for an attribute that is true or false", 'write a string in quotes: "Yes"']),
        ("archived = 'no'", ["write false, without quotes"]),
        ("archived = 'TRUE'", ["write true, without quotes"]),
        ("lang = 3", []),
        ("price < 20 && lang = 'de'", ["write and"]),
        ("price < 20 || archived", ["write or"]),
        ("!archived", ["write not"]),
    ],
)  # fmt: skip
def test_wrong_values_have_a_fix(text: str, fixes: list[str]) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_filter(text, SCHEMA)
    assert caught.value.fixes == tuple(fixes)
    assert parse_filter("archived = TRUE and not archived = False", SCHEMA)


def test_types_are_checked_at_their_position() -> None:
    with pytest.raises(ParameterError) as caught:
        parse_filter("price < 20 and lang > 3", SCHEMA)
    assert caught.value.facts == (
        ("filter", "price < 20 and lang > 3\n" + " " * 22 + "^"),
        ("field", "lang"),
        ("type", "keyword"),
        ("value", "3"),
        ("expected", "a string"),
    )
    with pytest.raises(UnknownNameError) as unknown:
        parse_filter("archived and prize < 20", SCHEMA)
    assert dict(unknown.value.facts)["filter"] == "archived and prize < 20\n" + " " * 13 + "^"
    assert unknown.value.fixes == ("did you mean price?",)


@pytest.mark.parametrize(
    "filter",
    [
        Equals("lang", 3), Equals("lang", True), In("tags", ["a", 3]), Less("price", "20"), Equals("count", "3"),
        Equals("price", True), Equals("archived", 1), Less("archived", True), Between("archived", False, True),
        Equals("archived", "true"), Equals("day", 2024), Equals("day", "yesterday"), Between("lang", "a", 3),
        Not(Or(Equals("lang", "a"), Equals("lang", 3))),
    ],
)  # fmt: skip
def test_values_of_another_type(filter: Filter) -> None:
    with pytest.raises(ParameterError):
        check_filter(filter, SCHEMA)
    with pytest.raises(ParameterError):
        as_filter(str(filter), SCHEMA)
    with pytest.raises(ParameterError):
        as_filter(filter_to_json(filter), SCHEMA)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Equals("", 1), lambda: Equals(3, 1), lambda: Equals("a", None), lambda: Equals("a", float("nan")),
        lambda: Equals("a", 10**400), lambda: Equals("a", ["x"]), lambda: In("a", "xy"), lambda: In("a", []),
        lambda: In("a", [None]), lambda: And(), lambda: And("a"), lambda: Not("a"), lambda: Equals("a", 1) & "b",
        lambda: parse_filter(3), lambda: check_filter("a", SCHEMA), lambda: as_filter(3, SCHEMA),
        lambda: filter_to_json("a"),
    ],
)  # fmt: skip
def test_objects_that_are_refused(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


def test_operators_and_values_of_python() -> None:
    a, b, c = (Equals(name, True) for name in "abc")
    assert a & b & c == And(a, b, c)
    assert (a | b) & ~c == And(Or(a, b), Not(c))
    assert Equals("day", date(2024, 1, 31)) == Equals("day", "2024-01-31")
    assert Less("day", datetime(2024, 1, 31, 12, tzinfo=UTC)).value == "2024-01-31T12:00:00Z"
    assert In("tags", {"b", "a"}) == In("tags", ("a", "b"))
    assert type(Equals("a", np.int64(3)).value) is int
    assert len({Equals("a", "x"), NotEquals("a", "x"), Equals("a", "x")}) == 2


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ([], ParameterError), ({}, ParameterError), ({"field": "a"}, ParameterError), ("a = 1", ParameterError),
        ({"field": "a", "<": 1, ">": 0}, ParameterError), ({"field": "a", "~": 1}, UnknownNameError),
        ({"nor": []}, UnknownNameError), ({"and": []}, ParameterError), ({"and": {}}, ParameterError),
        ({"not": []}, ParameterError), ({"field": "a", "in": "xy"}, ParameterError),
        ({"field": 3, "=": 1}, ParameterError),
        ({"field": "a", "between": [1]}, ParameterError), ({"field": "a", "exists": False}, ParameterError),
        ({"field": "a", "=": None}, ParameterError), ({"field": "a", "=": [1]}, ParameterError),
    ],
)  # fmt: skip
def test_json_that_is_refused(body: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        filter_from_json(body)


FIELDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4) | st.sampled_from(
    ["a", "not", "x.y"]
)
VALUES = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
)
COMPARED = st.sampled_from([Equals, NotEquals, Less, LessOrEqual, Greater, GreaterOrEqual])
CONDITIONS = (
    st.builds(lambda kind, field, value: kind(field, value), COMPARED, FIELDS, VALUES)
    | st.builds(In, FIELDS, st.lists(VALUES, min_size=1, max_size=3))
    | st.builds(NotIn, FIELDS, st.lists(VALUES, min_size=1, max_size=3))
    | st.builds(Between, FIELDS, VALUES, VALUES)
    | st.builds(Exists, FIELDS)
)


def combined(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=2, max_size=3)
    return (
        st.builds(Not, parts)
        | several.map(lambda filters: And(*filters))
        | several.map(lambda filters: Or(*filters))
    )


FILTERS = st.recursive(CONDITIONS, combined, max_leaves=8)


@given(FILTERS)
@settings(max_examples=300)
def test_text_objects_and_json_are_the_same(filter: Filter) -> None:
    assert repr(parse_filter(str(filter))) == repr(filter)
    assert repr(filter_from_json(json.loads(json.dumps(filter_to_json(filter))))) == repr(filter)


@given(
    st.text(max_size=30)
    | st.lists(
        st.sampled_from(
            ["a", "=", "1", "(", ")", "and", "or", "not", "in", "'x'", ",", "between", "is", "missing"]
        )
    ).map(" ".join)
)
@settings(max_examples=300)
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    try:
        filter = parse_filter(text)
    except ParameterError:
        return
    assert parse_filter(str(filter)) == filter


@pytest.mark.parametrize("filter", [StartsWith("lang", "d"), Contains("tags", 'a"b')])
def test_parts_of_strings_have_three_forms(filter: Filter) -> None:
    assert filter_from_json(filter_to_json(filter)) == filter
    assert as_filter(str(filter), SCHEMA) == filter
    for field in ("price", "archived", "day"):
        with pytest.raises(ParameterError, match="only strings"):
            check_filter(type(filter)(field, "1"), SCHEMA)  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="needs a string"):
        filter_from_json({"field": "lang", "contains": 3})
