"""Schemas: types of values, inference, files."""

from __future__ import annotations

import pickle
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.attributes import Attributes, Schema
from termwise.attributes.schema import SchemaInference
from termwise.errors import (
    DataError,
    MalformedRecordError,
    MissingFileError,
    ParameterError,
    UnknownNameError,
    UsageError,
)
from termwise.records import Document, Origin


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "integer"),
        ([1, 2.5], "float"),
        ([True, False], "boolean"),
        (["a", "2024-01-31"], "keyword"),
        (["2024-01-31", "2024-01-31T10:00Z"], "date"),
        ([date(2024, 1, 31), "2024-01-31"], "date"),
        ([datetime(2024, 1, 31)], "date"),
        (["a", ["b", "c"], []], "keywords"),
        ([["2024-01-31"], "2024-01-31"], "keywords"),
        ([""], "keyword"),
    ],
)
def test_inferred_types(values: list[Any], kind: str) -> None:
    assert Schema.infer([{"x": value} for value in values]) == {"x": kind}
    assert Schema.infer([Document("a", "", {"x": value}) for value in reversed(values)]) == {"x": kind}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-20", ""], "integer"),
        (["1", "2.50", "1e3"], "float"),
        (["true", "FALSE"], "boolean"),
        (["01069", "2"], "keyword"),
        (["1", "n/a"], "integer"),
        (["2024-01-31", "NULL", "-"], "date"),
        (["n/a", "-"], "keyword"),
        (["1", "n/a", "x"], "keyword"),
        (["9223372036854775808"], "keyword"),
        (["1e999"], "keyword"),
        (["2024-01-31", "2024-02-01"], "date"),
        (["2024-01-31", "7"], "keyword"),
        (["1_000"], "keyword"),
        ([" 1"], "keyword"),
    ],
)
def test_inferred_types_of_text(cells: list[str], kind: str) -> None:
    rows = [Attributes({"x": cell}, untyped=True) for cell in cells]
    assert Schema.infer(rows) == {"x": kind}
    converted = [Schema({"x": kind}).convert(row) for row in rows]
    missing = ("",) if kind == "keyword" else ("", "-", "n/a", "NULL")
    assert [bool(row) for row in converted] == [cell not in missing for cell in cells]


def test_fields_without_values_have_no_type() -> None:
    assert Schema.infer([{"x": None, "y": [], "z": 1}]) == {"z": "integer"}


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ([1, "cheap"], "x is a number in record 1 and text in record 2"),
        ([1.5, True], "x is a number in record 1 and true or false in record 2"),
        (["a", 1], "x is text in record 1 and a number in record 2"),
        ([["a"], date(2024, 1, 1)], "x is a list in record 1 and a date in record 2"),
        ([["a"], 3], "x is a list in record 1 and a number in record 2"),
    ],
)
def test_conflicts(values: list[Any], seen: str) -> None:
    with pytest.raises(DataError, match="different types") as caught:
        Schema.infer([{"x": value} for value in values])
    assert dict(caught.value.facts)["seen"] == seen


def test_a_conflict_names_two_lines() -> None:
    path = Path("docs.jsonl")

    def line(number: int, value: Any) -> Attributes:
        return Attributes({"price": value}, origin=Origin(path, "line", number))

    with pytest.raises(MalformedRecordError) as caught:
        Schema.infer(
            [line(1, 3), line(2, 4), *(line(number, 5.5) for number in range(3, 812)), line(812, "?")]
        )
    facts = dict(caught.value.facts)
    assert (facts["file"], facts["line"]) == (path, 812)
    assert facts["seen"] == "price is a number in line 1 and text in line 812"


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**63, b"x", {"a": 1}, [1], ["a", None], object()]
)
def test_values_that_cannot_be_stored(value: Any) -> None:
    with pytest.raises(DataError, match="cannot be stored") as caught:
        Schema.infer([{}, {"x": value}])
    assert dict(caught.value.facts)["record"] == "number 2"
    assert dict(caught.value.facts)["field"] == "x"


@pytest.mark.parametrize(
    ("kind", "value", "converted"),
    [
        ("keyword", "a", "a"),
        ("keywords", "a", ("a",)),
        ("keywords", ["b", "a", "b"], ("b", "a")),
        ("integer", -(2**63), -(2**63)),
        ("integer", 3.0, 3),
        ("integer", -(2.0**63), -(2**63)),
        ("float", 3, 3.0),
        ("float", "9.50", 9.5),
        ("integer", "7.0", 7),
        ("boolean", "True", True),
        ("boolean", False, False),
        ("date", "2024-01-31T01:00:00+01:00", datetime(2024, 1, 31, tzinfo=UTC)),
        ("date", date(2024, 1, 31), datetime(2024, 1, 31, tzinfo=UTC)),
    ],
)
def test_conversion(kind: str, value: Any, converted: Any) -> None:
    result = Schema({"x": kind}).convert({"x": value, "other": 1, "absent": None})
    assert result == {"x": converted}
    assert type(result["x"]) is type(converted)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("keyword", 3), ("keyword", ["a"]), ("keywords", 3), ("keywords", [3]), ("integer", 3.5), ("integer", "3.5"),
        ("integer", True), ("integer", 2**63), ("integer", 2.0**63), ("float", True), ("float", "03"),
        ("float", float("nan")), ("float", 10**400), ("boolean", 1), ("boolean", "1"), ("date", "yesterday"),
        ("date", True),
    ],
)  # fmt: skip
def test_values_of_the_wrong_type(kind: str, value: Any) -> None:
    origin = Origin(Path("docs.jsonl"), "line", 7)
    with pytest.raises(MalformedRecordError, match="wrong type") as caught:
        Schema({"x": kind}).convert(Attributes({"x": value}, origin=origin))
    facts = dict(caught.value.facts)
    assert (facts["line"], facts["field"]) == (7, "x")
    assert kind in str(facts["expected"])
    assert str(value)[:50] in str(facts["seen"])


@pytest.mark.parametrize(
    ("text", "number"), [("3", 3), ("-20.0", -20), ("0.00", 0), ("9007199254740993.0", 2**53 + 1)]
)
def test_whole_numbers_of_untyped_texts(text: str, number: int) -> None:
    schema = Schema({"x": "integer"})
    assert schema.convert(Attributes({"x": text}, untyped=True)) == {"x": number}
    for wrong in (f"{text}1.5", f"0{text}", f"{text} ", ".0", "1e3"):
        with pytest.raises(DataError, match="wrong type"):
            schema.convert(Attributes({"x": wrong}, untyped=True))


def test_a_document_without_an_origin_is_named() -> None:
    with pytest.raises(DataError) as caught:
        Schema({"x": "integer"}).stored({"x": "a"}, record="'d1'")
    assert dict(caught.value.facts)["record"] == "'d1'"


@given(st.dictionaries(st.text(min_size=1), st.sampled_from(["keyword", "date", "float"]), max_size=5))
def test_a_schema_is_sorted_and_survives_json(
    tmp_path_factory: pytest.TempPathFactory, types: dict[str, str]
) -> None:
    schema = Schema(types)
    assert list(schema) == sorted(types)
    assert schema == types
    if not any("\ud800" <= character <= "\udfff" for name in types for character in name):
        path = tmp_path_factory.mktemp("schema") / "schema.json"
        path.write_text(schema.to_json(), encoding="utf-8")
        assert Schema.read(path) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("types", "texts", "built"),
    [
        ({"price": "float"}, ["title", "text"], "fields=['title', 'text'], attributes=['price', 'title']"),
        ({}, {"title": 3, "text": 1}, "fields={'title': 3, 'text': 1}, attributes=['title']"),
        (
            {f"a{number}": "float" for number in range(100)},
            ["title"],
            "fields=['title'], attributes=['title', NAME, NAME]",
        ),
    ],
)
def test_errors_say_how_a_field_of_the_texts_becomes_an_attribute(
    types: dict[str, str], texts: Any, built: str
) -> None:
    schema = Schema(types, texts=texts)
    with pytest.raises(UsageError) as refused:
        schema.check_name("title")
    assert [str(fix) for fix in refused.value.fixes] == [f"build the index with `{built}`"]
    with pytest.raises(UsageError) as refused:
        schema.check_name("brand")
    assert "title" not in str(refused.value.fixes)


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("s.json", "{", MalformedRecordError),
        ("s.json", "[]", MalformedRecordError),
        ("s.json", '"float"', MalformedRecordError),
        ("s.json", '{"x": 3}', MalformedRecordError),
        ("s.json", '{"x": {"y": {"z": "float"}}}', MalformedRecordError),
        ("s.json", '{"x": "number"}', UnknownNameError),
        ("s.toml", "x = float", MalformedRecordError),
        ("s.toml", "\udcff", MalformedRecordError),
        ("s.yaml", "x: float", UnknownNameError),
        ("absent.json", None, MissingFileError),
    ],
)
def test_schema_files_that_are_refused(tmp_path: Path, name: str, text: str | None, error: type) -> None:
    if text is not None:
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(error):
        Schema.read(tmp_path / name)


@pytest.mark.parametrize(
    "types", [{"": "float"}, {3: "float"}, "float", {f"f{i}": "float" for i in range(1001)}]
)
def test_schemas_that_are_refused(types: Any) -> None:
    with pytest.raises(ParameterError):
        Schema(types)


def test_attributes_are_values() -> None:
    one = Attributes({"a": 1, "b": ("x",)}, origin=Origin(Path("f"), "line", 1))
    same = Attributes({"b": ("x",), "a": 1})
    assert one == same == {"a": 1, "b": ("x",)}
    assert len({Document("d", "t", one), Document("d", "t", same)}) == 1
    assert pickle.loads(pickle.dumps(Document("d", "t", one))) == Document("d", "t", same)
    with pytest.raises(TypeError):
        one["a"] = 2  # type: ignore[index]


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["3,50"], "values such as 3,50 have a decimal comma; to compare them as numbers, write 3.50, "),
        (["1.234,00", "3,50"] * 9, "values such as 1.234,00 have a decimal comma; .* write 1234.00, "),
        (["1,250", "-0,5", "12", "-", "1.000"] * 9, "values such as -0,5 have a decimal comma; "),
        (["3,50"] * 9 + ["on request"], "values such as 3,50 have a decimal comma; "),
        ([3.5] * 30 + ["3,50"] * 2, "values such as 3,50 have a decimal comma; "),
        (["9.50 €", "100,00 €"] * 9, "values such as 9.50 € have a currency; .* write 9.50, "),
        (["EUR 1.234,50"] * 9, "values such as EUR 1.234,50 have a currency; .* write 1234.50, "),
        (["$1,299.00"] * 9, "values such as [$]1,299.00 have a currency; .* write 1299.00, "),
    ],
)
@pytest.mark.parametrize("untyped", [False, True])
def test_decimal_commas_are_noted(values: list[Any], note: str, untyped: bool) -> None:
    inference = SchemaInference(lenient=True)
    for value in values:
        inference.add(Attributes({"price": str(value) if untyped else value}, untyped=untyped))
    (found,) = inference.notes()
    assert re.match(f"price is text: {note}", found)
    assert found.endswith("in JSON without quotes")
    assert inference.schema()["price"] == "keyword"
    assert inference.copy().notes() == [found]


@pytest.mark.parametrize(
    "values",
    [
        ["1,250", "12,000"] * 9,
        ["3,50", "red"] * 9,
        ["3,50 m"] * 9,
        ["red"] * 9 + ["3,50"],
        ["1,5,7"] * 9,
        ["7,"] * 9,
    ],
)
def test_other_commas_are_not_noted(values: list[str]) -> None:
    inference = SchemaInference(lenient=True)
    for value in values:
        inference.add({"price": value})
    assert inference.notes() == []


@pytest.mark.parametrize("untyped", [False, True])
@pytest.mark.parametrize("day", ["05.03.2026", "3/5/2026", "05-03-2026", "2026/03/05"])
def test_dates_of_other_forms_are_noted(day: str, untyped: bool) -> None:
    inference = SchemaInference(lenient=True)
    for _ in range(9):
        inference.add(Attributes({"day": day}, untyped=untyped))
    assert inference.notes() == [
        f"day is text: values such as {day} are no dates in ISO 8601; to compare them as dates, write them as "
        "2024-01-31"
    ]


def test_numbers_in_quotes_are_noted() -> None:
    inference = SchemaInference(lenient=True)
    for number in range(30):
        inference.add(
            {
                "price": f"{number}.50",
                "bad": "abc" if number == 7 else str(number),
                "ean": f"4006381333{number:03}",
                "post": f"{number:05}",
                "size": ("38", "XL")[number % 2],
                "brand": "Alm",
            }
        )
    assert inference.notes(codes=("ean",)) == [
        "numbers in quotes are text: bad ('0', but 'abc' in record 8), price ('0.50'); to compare them as numbers, "
        "write them without quotes, or give all attributes their types in a schema"
    ]
    assert inference.schema()["price"] == "keyword"
    assert "ean ('4006381333000')" in inference.notes()[0]
