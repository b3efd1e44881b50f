"""Attributes of documents from files of all kinds: JSON lines and arrays, tables, Parquet."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.attributes import Schema
from termwise.collection import open_collection
from termwise.collection.file_collections import JsonArrayCollection
from termwise.collection.json_array import read_json_array
from termwise.errors import MalformedRecordError, MissingFileError, ParameterError, UnknownNameError
from termwise.records import NO_ATTRIBUTES, Document

RECORDS: list[dict[str, Any]] = [
    {
        "_id": "a",
        "id": 7,
        "title": "T",
        "text": "one",
        "price": 3,
        "tags": ["x", "y"],
        "metadata": {"url": "u"},
    },
    {"_id": "b", "title": "", "text": "two", "price": None, "tags": [], "metadata": {}},
]


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def attributes(path: Path, chosen: Any, **options: Any) -> list[Any]:
    return [
        document.attributes for document in open_collection(path, attributes=chosen, **options).documents()
    ]


def test_all_fields_but_identifier_and_text(tmp_path: Path) -> None:
    path = lines(tmp_path / "d.jsonl", RECORDS)
    assert attributes(path, None) == [{}, {}]
    assert attributes(path, "all") == [{"id": 7, "price": 3, "tags": ("x", "y"), "metadata.url": "u"}, {}]
    first = next(open_collection(path, attributes="all", fields=("title",)).documents())
    assert first.text == "T"
    assert first.attributes["text"] == "one"


def test_named_fields(tmp_path: Path) -> None:
    path = lines(tmp_path / "d.jsonl", RECORDS)
    assert attributes(path, ["title", "metadata.url"]) == [{"title": "T", "metadata.url": "u"}, {"title": ""}]
    assert attributes(path, ()) == [{}, {}]
    with pytest.raises(UnknownNameError, match="attribute 'prize'") as caught:
        attributes(path, ("prize",))
    assert caught.value.fixes == ("did you mean price?",)


def test_fields_of_a_schema_are_converted(tmp_path: Path) -> None:
    path = lines(tmp_path / "d.jsonl", RECORDS)
    schema = Schema({"price": "float", "tags": "keywords", "not here": "date"})
    assert attributes(path, schema) == [{"price": 3.0, "tags": ("x", "y")}, {}]
    with pytest.raises(MalformedRecordError) as caught:
        attributes(path, Schema({"price": "keyword"}))
    assert caught.value.facts == (
        ("file", path),
        ("line", 1),
        ("field", "price"),
        ("expected", "a string (keyword)"),
        ("seen", "3"),
    )


@pytest.mark.parametrize("value", [{"deep": {"er": 1}}, [1], [{"a": 1}], float("nan"), 2**64])
def test_values_that_cannot_be_stored(tmp_path: Path, value: Any) -> None:
    path = lines(tmp_path / "d.jsonl", [RECORDS[1], {"_id": "c", "text": "x", "odd": value}])
    assert attributes(path, None) == [{}, {}]
    with pytest.raises(MalformedRecordError, match="cannot be stored") as caught:
        attributes(path, "all")
    assert dict(caught.value.facts)["line"] == 2
    assert str(dict(caught.value.facts)["field"]).startswith("odd")


def test_a_field_given_twice(tmp_path: Path) -> None:
    path = lines(tmp_path / "d.jsonl", [{"_id": "c", "text": "x", "m.a": 1, "m": {"a": 2}}])
    with pytest.raises(MalformedRecordError, match="twice"):
        attributes(path, "all")


@pytest.mark.parametrize("chosen", ["price", ["price", 3], 3, [""]])
def test_choices_that_are_refused(tmp_path: Path, chosen: Any) -> None:
    with pytest.raises(ParameterError):
        open_collection(lines(tmp_path / "d.jsonl", RECORDS), attributes=chosen)


def test_collections_without_fields(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("a\tone\n")
    with pytest.raises(ParameterError, match="no named fields to keep"):
        open_collection(tmp_path / "d.tsv", attributes="all")


@pytest.mark.parametrize("name", ["d.json", "d.json.gz"])
@pytest.mark.parametrize("indent", [None, 2])
def test_json_arrays(tmp_path: Path, name: str, indent: int | None) -> None:
    text = "\ufeff \n" + json.dumps(RECORDS, indent=indent) + "\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    collection = open_collection(path, attributes=("price",))
    assert isinstance(collection, JsonArrayCollection)
    assert list(collection.documents()) == [
        Document.of_texts("a", ["T", "one"], {"price": 3}),
        Document("b", "two"),
    ]
    with pytest.raises(MalformedRecordError) as caught:
        attributes(path, Schema({"price": "boolean"}))
    assert dict(caught.value.facts)["record"] == 1


def test_an_empty_array(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(" [ ]\n")
    assert list(open_collection(tmp_path / "d.json").documents()) == []


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("[", 1), ("[1]", 1), ('["a"]', 1), ('[{"_id": "a", "text": "x"}', 1), ('[{"_id": "a", "text": "x"},]', 2),
        ('[{"_id": "a", "text": "x"} {}]', 1), ('[{"_id": "a", "text": "x"}] x', 1), ('[{"a": 1, "a": 2}]', 1),
        ('[{"_id": "a", "text": "x"}, {"_id": "b", "text": "x", "a": [{"b": "\\ud800"}]}]', 2),
        ('[{"_id": "a", "text": "x"}, {"_id": tru}]', 2), ('[{"_id": "a", "text": "x"}, {"_id": "\\ud800"}]', 2),
        ('[{"_id": "a", "text": "x"}, {"text": "no id"}]', 2), ("[" + '{"a":' * 100_000, 1),
    ],
)  # fmt: skip
def test_arrays_that_are_refused(tmp_path: Path, text: str, record: int) -> None:
    (tmp_path / "d.json").write_text(text)
    with pytest.raises(MalformedRecordError) as caught:
        list(open_collection(tmp_path / "d.json").documents())
    assert dict(caught.value.facts)["record"] == record


def test_an_array_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_bytes(b'[{"_id": "a", "text": "caf\xe9"}]')
    with pytest.raises(MalformedRecordError, match="UTF-8"):
        list(open_collection(tmp_path / "d.json").documents())


@given(
    st.lists(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.floats(allow_nan=False))),
    st.sampled_from([None, 0, 3]),
)
def test_arrays_are_read_as_the_json_module_reads_them(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, float]], indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("array") / "d.json"
    path.write_text(json.dumps(records, indent=indent))
    assert [record for _, record in read_json_array(path)] == records


def test_long_arrays_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    record = json.dumps({"_id": "a", "text": "word " * 200_000})
    path.write_text(f"[{', '.join([record] * 20)}]")
    tracemalloc.start()
    try:
        assert sum(1 for _ in open_collection(path).documents()) == 20
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


CSV = 'Id,Title,text,price,tags,day\n"a","T, U","one\n""two""",3.5,x,2024-01-31\n\nb,,three,,y,\n'


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "d.CSV"])
def test_comma_separated_values(tmp_path: Path, name: str) -> None:
    data = CSV.encode("utf-8-sig")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    collection = open_collection(tmp_path / name)
    assert collection.name == "d"
    assert list(collection.documents()) == [
        Document.of_texts("a", ["T, U", 'one\n"two"']),
        Document("b", "three"),
    ]
    assert attributes(tmp_path / name, "all") == [
        {"price": "3.5", "tags": "x", "day": "2024-01-31"},
        {"tags": "y"},
    ]
    schema = Schema.infer(open_collection(tmp_path / name, attributes="all").documents())
    assert schema == {"price": "float", "tags": "keyword", "day": "date"}
    assert attributes(tmp_path / name, schema) == [
        {"price": 3.5, "tags": "x", "day": datetime(2024, 1, 31, tzinfo=UTC)},
        {"tags": "y"},
    ]


def test_tabs_with_names_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text('id\ttext\tprice\na\t"one\t3\nb\ttwo\t\n')
    assert [document.text for document in open_collection(path).documents()] == ['"one', "two"]
    documents = list(open_collection(path, attributes=("price",)).documents())
    assert documents == [Document("a", '"one', {"price": "3"}), Document("b", "two")]
    assert documents[1].attributes is NO_ATTRIBUTES
    assert [one.text for one in open_collection(path, fields=("price", "text")).documents()] == [
        '3\n"one',
        "two",
    ]


def test_cells_of_the_wrong_type(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('id,text,price\na,"one\ntwo",3\nb,"three\nfour",cheap\n')
    with pytest.raises(MalformedRecordError) as caught:
        attributes(tmp_path / "d.csv", Schema({"price": "float"}))
    facts = dict(caught.value.facts)
    assert (facts["line"], facts["field"], facts["seen"]) == (4, "price", "'cheap'")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name,text\na,b\n", 1),
        ("id;text\na,b\n", 2),
        ("id,text,text\na,b,c\n", 1),
        ("id,text,\na,b,c\n", 1),
        ("id,text\na\n", 2),
        ("id,text\n\na,b,c\n", 3),
        ('id,text\na,b\nb,"open\n', 3),
        ('id,text\na,"b"c\n', 2),
        ("id,text\n,b\n", 2),
        ("id,price\na,3\n", 2),
        ("id,text\na,\udce9\n", 2),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "d.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(MalformedRecordError) as caught:
        list(open_collection(tmp_path / "d.csv").documents())
    assert dict(caught.value.facts)["line"] == line


def test_long_cells(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(f"id,text\na,{'word ' * 200_000}\n")
    assert len(next(open_collection(tmp_path / "d.csv").documents()).text) == 1_000_000


def parquet(path: Path, **columns: Any) -> Path:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(arrow.table(columns), path)
    return path


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    path = parquet(
        tmp_path / "d.parquet",
        _id=[1, 2],
        title=["T", None],
        text=arrow.array(["one", "two"]).dictionary_encode(),
        price=[3.5, None],
        tags=[["x"], []],
        day=[date(2024, 1, 31), None],
        at=arrow.array([1_700_000_000_123_456_789, None], arrow.timestamp("ns", "UTC")),
        metadata=[{"year": 2003}, None],
    )
    collection = open_collection(path, attributes="all")
    assert collection.length == 2
    assert list(collection.documents()) == [
        Document.of_texts(
            "1",
            ["T", "one"],
            {
                "price": 3.5,
                "tags": ("x",),
                "day": date(2024, 1, 31),
                "at": datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC),
                "metadata.year": 2003,
            },
        ),
        Document("2", "two"),
    ]
    assert attributes(path, ("metadata.year",)) == [{"metadata.year": 2003}, {}]
    assert attributes(path, Schema({"day": "date"})) == [{"day": datetime(2024, 1, 31, tzinfo=UTC)}, {}]
    assert [one.text for one in open_collection(path, fields=("text",)).documents()] == ["one", "two"]
    with pytest.raises(UnknownNameError, match="prize"):
        attributes(path, ("prize",))


def test_parquet_files_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedRecordError) as caught:
        attributes(parquet(tmp_path / "d.parquet", id=["a", "b"], text=["x", "y"], raw=[None, b"x"]), "all")
    assert dict(caught.value.facts)["record"] == 2
    arrow = pytest.importorskip("pyarrow")
    twice = arrow.Table.from_arrays([arrow.array([each]) for each in "abc"], names=["id", "text", "text"])
    pytest.importorskip("pyarrow.parquet").write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(MalformedRecordError, match="two columns of one name") as caught:
        list(open_collection(tmp_path / "twice.parquet").documents())
    assert dict(caught.value.facts)["column"] == "'text'"
    inside = arrow.StructArray.from_arrays([arrow.array([1]), arrow.array([2])], names=["x", "x"])
    latin = arrow.array([b"caf\xe9"]).view(arrow.string())
    for columns in ({"text": ["x"], "meta": inside}, {"text": latin}):
        with pytest.raises(MalformedRecordError, match="cannot be read"):
            attributes(parquet(tmp_path / "d.parquet", id=["a"], **columns), "all")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    assert open_collection(tmp_path / "bad.parquet").length is None
    with pytest.raises(MalformedRecordError, match="Parquet"):
        list(open_collection(tmp_path / "bad.parquet").documents())
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(MissingFileError):
        open_collection(tmp_path / "folder.parquet")
