"""Opening collections: every kind, every choice of fields, every bad line."""

import gzip
import json
import os
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import termwise
from termwise.collection import Collection, open_collection
from termwise.collection.file_collections import JsonLinesCollection, TabSeparatedCollection, count_documents
from termwise.errors import (
    MalformedRecordError,
    MissingFileError,
    ParameterError,
    TermwiseError,
    UnknownNameError,
)
from termwise.records import Document, join_fields


def write(path: Path, records: Iterable[Any]) -> Path:
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def texts(collection: Collection) -> list[tuple[str, str]]:
    return [(document.doc_id, document.text) for document in collection.documents()]


RECORDS = [{"_id": "a", "title": "T", "text": "one"}, {"_id": "b", "title": "", "text": "two"}]


@pytest.mark.parametrize("file", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_beir_folder(tmp_path: Path, file: str) -> None:
    folder = tmp_path / "toy"
    folder.mkdir()
    write(folder / file, RECORDS)
    collection = open_collection(folder)
    assert isinstance(collection, Collection)
    assert collection.name == "toy"
    assert collection.length is None
    assert list(collection.documents()) == [Document.of_texts("a", ["T", "one"]), Document("b", "two")]
    assert list(collection.documents()) == list(collection.documents())


def test_plain_corpus_is_preferred(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", RECORDS[:1])
    write(tmp_path / "corpus.jsonl.gz", RECORDS)
    assert len(texts(open_collection(tmp_path))) == 1


def test_folder_name_is_that_of_the_folder_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "corpus.jsonl", RECORDS)
    monkeypatch.chdir(tmp_path)
    assert open_collection(".").name == tmp_path.name


@pytest.mark.parametrize("name", ["d.jsonl", "d.jsonl.gz", "d.ndjson", "d.json", "d.JSONL"])
@pytest.mark.parametrize("key", ["_id", "id", "doc_id", "docid", "docno"])
def test_json_lines(tmp_path: Path, name: str, key: str) -> None:
    path = write(tmp_path / name, [{key: "a", "contents": "one"}])
    assert texts(open_collection(str(path))) == [("a", "one")]


def test_name_of_a_file(tmp_path: Path) -> None:
    assert open_collection(write(tmp_path / "my.docs.jsonl.gz", [])).name == "my.docs"


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"title": "T", "text": "x"}, "T\nx"),
        ({"text": "x", "title": "T"}, "T\nx"),
        ({"title": "T"}, "T"),
        ({"text": "x"}, "x"),
        ({"title": "", "text": ""}, ""),
        ({"title": None, "text": "x"}, "x"),
        ({"title": " ", "text": "x"}, "x"),
        ({"title": "T", "contents": "x"}, "T\nx"),
        ({"body": "x", "title": "T", "url": "u"}, "T\nx"),
        ({"document_text": "x"}, "x"),
        ({"content": "x", "vector": {"x": 1}}, "x"),
        ({"title": "T", "abstract": "x"}, "T\nx"),
        ({"text": "x", "contents": "y", "body": "z"}, "x\ny\nz"),
        ({"contents": "y", "abstract": "z"}, "y\nz"),
        ({"text": ["x", "y"], "title": "T"}, "T\nx\ny"),
    ],
)
def test_default_text(tmp_path: Path, record: dict[str, Any], text: str) -> None:
    path = write(tmp_path / "d.jsonl", [{"_id": "a", **record}])
    assert texts(open_collection(path)) == [("a", text)]


@pytest.mark.parametrize(
    ("value", "doc_id"), [("x y", "x y"), ("é", "é"), (7, "7"), (-1, "-1"), (10**30, str(10**30))]
)
def test_identifiers(tmp_path: Path, value: object, doc_id: str) -> None:
    path = write(tmp_path / "d.jsonl", [{"_id": value, "text": "x"}])
    assert texts(open_collection(path)) == [(doc_id, "x")]


@pytest.mark.parametrize("value", ["", None, True, 1.5, ["a"], {}, "\ufeffa"])
def test_identifiers_that_are_refused(tmp_path: Path, value: object) -> None:
    path = write(tmp_path / "d.jsonl", [RECORDS[0], {"_id": value, "text": "x"}])
    with pytest.raises(MalformedRecordError) as error:
        texts(open_collection(path))
    assert dict(error.value.facts)["line"] == 2
    assert dict(error.value.facts)["file"] == path


def test_a_number_with_a_fraction_is_no_identifier(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", [{"_id": 1.0, "text": "x"}])
    with pytest.raises(MalformedRecordError) as error:
        texts(open_collection(path))
    assert error.value.fixes == ("write it without a fraction, 1, or as a string",)
    (tmp_path / "d.csv").write_text("id,text\n1.0,x\n")
    assert texts(open_collection(tmp_path / "d.csv")) == [("1.0", "x")]


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        ("d.tsv", "a\tone\n", "b\ttwo\n"),
        ("d.csv", "id,text\na,one\n", "b,two\n"),
        ("d.csv", "id,text\na,one\n", '"b",two\n'),
        ("d.jsonl", '{"_id": "a", "text": "one"}\n', '{"_id": "b", "text": "two"}\n'),
    ],
)
def test_byte_order_marks_of_joined_files_are_dropped(tmp_path: Path, name: str, one: str, two: str) -> None:
    (tmp_path / name).write_text(f"\ufeff{one}\ufeff{two}")
    assert texts(open_collection(tmp_path / name)) == [("a", "one"), ("b", "two")]


def test_a_byte_order_mark_inside_a_cell_is_kept(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('id,text\na,"one\n\ufefftwo"\n')
    assert texts(open_collection(tmp_path / "d.csv")) == [("a", "one\n\ufefftwo")]


@pytest.mark.parametrize(
    ("name", "header", "fix"),
    [
        ("d.csv", ",id,text\n", "index=False"),
        ("d.csv", ",text\n", "index_label='id'"),
        ("d.tsv", "\tid\ttext\n", "index=False"),
        ("d.tsv", "\ttext\n", "index_label='id'"),
    ],
)
def test_a_first_column_without_a_name_has_a_fix(tmp_path: Path, name: str, header: str, fix: str) -> None:
    (tmp_path / name).write_text(header + header.replace("id", "a").replace("text", "x"))
    with pytest.raises(MalformedRecordError) as error:
        texts(open_collection(tmp_path / name))
    assert fix in error.value.fixes[0]


@pytest.mark.parametrize(
    "record",
    [
        {"text": "x"},
        {"_id": "a"},
        {"_id": "a", "headline": "x"},
        {"_id": "a", "text": 3},
        {"_id": "a", "text": ["x", 3]},
    ],
    ids=["no id", "nothing", "unknown shape", "number", "list"],
)
def test_records_that_are_refused(tmp_path: Path, record: dict[str, Any]) -> None:
    path = write(tmp_path / "d.jsonl", [record])
    with pytest.raises(MalformedRecordError) as error:
        texts(open_collection(path))
    assert dict(error.value.facts)["line"] == 1


def test_fields_choose_and_order(tmp_path: Path) -> None:
    records = [{"_id": 7, "title": "T", "abstract": "A", "text": "x"}, {"_id": 8, "title": "U"}]
    path = write(tmp_path / "d.jsonl", records)
    assert texts(open_collection(path, fields=("abstract", "title"))) == [("7", "A\nT"), ("8", "U")]
    assert texts(open_collection(path, fields=["_id", "text"])) == [("7", "7\nx"), ("8", "8")]


@pytest.mark.parametrize(
    ("ending", "command"), [("bz2", "bunzip2 --keep"), ("xz", "unxz --keep"), ("zst", "unzstd")]
)
def test_compressed_file_of_an_unknown_ending(tmp_path: Path, ending: str, command: str) -> None:
    path = tmp_path / f"d.jsonl.{ending}"
    path.touch()
    with pytest.raises(UnknownNameError) as error:
        open_collection(path)
    assert error.value.fixes == (f"{command} {path}",)


def test_field_that_no_record_has(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", RECORDS)
    with pytest.raises(UnknownNameError) as error:
        texts(open_collection(path, fields=("titel", "text")))
    assert dict(error.value.facts)["known"] == "_id, text, title"
    assert error.value.fixes == ("did you mean title?",)


def test_fields_of_an_empty_file_are_not_judged(tmp_path: Path) -> None:
    assert texts(open_collection(write(tmp_path / "d.jsonl", []), fields=("title",))) == []


@pytest.mark.parametrize("fields", [(), "title", [""], [1]])
def test_choices_of_fields_that_are_refused(tmp_path: Path, fields: Any) -> None:
    with pytest.raises(ParameterError):
        open_collection(write(tmp_path / "d.jsonl", RECORDS), fields=fields)


@pytest.mark.parametrize("name", ["d.tsv", "d.tsv.gz", "d.tab"])
def test_tab_separated(tmp_path: Path, name: str) -> None:
    data = b"a\tone\r\n\nb c\ttwo\tthree\t\tfour\nd\t\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    collection = open_collection(tmp_path / name)
    assert isinstance(collection, Collection)
    assert collection.name == "d"
    assert texts(collection) == [("a", "one"), ("b c", "two\nthree\nfour"), ("d", "")]


@pytest.mark.parametrize(
    "header",
    ["id\ttext", "\ufeff_id\ttitle\ttext", "docid\ttitle\tbody", "PID\tPassage\r", "\ndoc_id\tcontents"],
)
def test_tab_separated_with_a_header(tmp_path: Path, header: str) -> None:
    path = tmp_path / "d.tsv"
    path.write_text(f"{header}\na\tone\nid\ttext\n", encoding="utf-8", newline="")
    collection = open_collection(path)
    assert isinstance(collection, TabSeparatedCollection)
    assert collection.header() == (header.strip("\ufeff\r\n"), True)
    assert texts(collection) == [("a", "one"), ("id", "text")]  # only a first line is a header


@pytest.mark.parametrize("line", ["id\ttext mining", "text\tid", "7\ttext", "id\t", "identity\ttext"])
def test_tab_separated_first_documents_that_are_no_header(tmp_path: Path, line: str) -> None:
    path = tmp_path / "d.tsv"
    path.write_text(f"{line}\nb\ttwo\n")
    collection = open_collection(path)
    assert isinstance(collection, TabSeparatedCollection)
    assert collection.header() == (("text\tid", False) if line == "text\tid" else None)
    assert texts(collection) == [tuple(line.split("\t")), ("b", "two")]


@pytest.mark.parametrize(
    "lines",
    [
        "Artikel\tName\tPreis\nA1\tSofa aus Eiche\t9,50 €\nA2\tLampe\t\n",  # a word above numbers
        "nummer\tname\n4711\tsofa\n4712\tlamp\n",
        "handle\ttitle\tmaker\nsofa\tA sofa\tAlm\n",  # a name of texts, of three
        "sku\tname\nA1\tsofa\n",  # a name of codes
    ],
)
def test_tab_separated_names_without_an_identifier_are_no_document(tmp_path: Path, lines: str) -> None:
    (tmp_path / "d.tsv").write_text(lines)
    (tmp_path / "d.csv").write_text(lines)
    errors = []
    for name in ("d.tsv", "d.csv"):
        with pytest.raises(MalformedRecordError, match="the first line does not name the columns") as error:
            texts(open_collection(tmp_path / name))
        errors.append(error.value)
    assert errors[0].fixes == errors[1].fixes
    assert dict(errors[0].facts)["expected"] == dict(errors[1].facts)["expected"]
    first, second, *_ = lines.split()
    read = [
        texts(open_collection(tmp_path / name, fields=(second,), id_field=first))
        for name in ("d.tsv", "d.csv")
    ]
    assert read[0] == read[1]


@pytest.mark.parametrize(
    "lines",
    [
        "wren\tA small brown bird.\nswift\t7 inches\n",
        "a\t1\nb\t2\n",
        "x\tshort\n1\tlong\n",
        "one\ttwo\tthree\nfour\tfive\tsix\n",
        "wren\tsmall\n",
        "\n",
        "",
    ],
)
def test_tab_separated_documents_that_are_no_header(tmp_path: Path, lines: str) -> None:
    (tmp_path / "d.tsv").write_text(lines)
    assert isinstance(open_collection(tmp_path / "d.tsv"), TabSeparatedCollection)


@pytest.mark.parametrize("line", ["only an identifier", "\ttext without one"])
def test_tab_separated_lines_that_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "d.tsv").write_text(f"a\tone\n{line}\n")
    with pytest.raises(MalformedRecordError) as error:
        texts(open_collection(tmp_path / "d.tsv"))
    assert dict(error.value.facts)["line"] == 2


def test_fields_of_a_collection_without_fields_are_refused(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("a\tone\n")
    with pytest.raises(ParameterError, match="no named fields"):
        open_collection(tmp_path / "d.tsv", fields=("title",))


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("absent", MissingFileError),
        ("absent.jsonl", MissingFileError),
        ("x" * 5000, MissingFileError),
        ("empty", MissingFileError),
        ("python:std", UnknownNameError),
        ("notes.pdf", UnknownNameError),
        ("noending", UnknownNameError),
    ],
)
def test_collections_that_cannot_be_opened(
    tmp_path: Path, spec: str, kind: type[TermwiseError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("notes.pdf").touch()
    Path("noending").touch()
    with pytest.raises(kind):
        open_collection(spec)


def test_a_folder_that_looks_like_a_prefix_can_be_opened_as_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "python:stdlib"
    folder.mkdir()
    write(folder / "corpus.jsonl", RECORDS)
    assert len(texts(open_collection(folder))) == 2


def test_documents_before_a_bad_line_were_yielded(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", [*RECORDS, {"text": "no id"}])
    documents = open_collection(path).documents()
    assert [next(documents).doc_id, next(documents).doc_id] == ["a", "b"]
    with pytest.raises(MalformedRecordError):
        next(documents)


def test_a_document_of_a_megabyte(tmp_path: Path) -> None:
    text = "word " * 200_000
    path = write(tmp_path / "d.jsonl", [{"_id": "a", "text": text}])
    assert texts(open_collection(path)) == [("a", text)]


@pytest.mark.parametrize("name", ["large.jsonl", "large.jsonl.gz"])
def test_reading_takes_no_more_memory_for_a_larger_file(tmp_path: Path, name: str) -> None:
    path, line = tmp_path / name, json.dumps({"_id": "a", "text": "word " * 200}).encode() + b"\n"
    piece = line * 1000
    with gzip.open(path, "wb", compresslevel=1) if name.endswith(".gz") else path.open("wb") as stream:
        for _ in range(30):
            stream.write(piece)
    tracemalloc.start()
    try:
        number = sum(1 for _ in open_collection(path).documents())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert number == 30_000
    assert peak < 2_000_000


@given(st.lists(st.text()))
def test_join_keeps_every_visible_character_in_order(parts: list[str]) -> None:
    assert join_fields(parts).split() == " ".join(parts).split()


def test_documents_of_a_file_are_counted(tmp_path: Path) -> None:
    json_lines, tabs, packed = (tmp_path / name for name in ("a.jsonl", "b.tsv", "c.jsonl.gz"))
    json_lines.write_text('{"_id": "a", "text": "x"}\n\n  \n{"_id": "b", "text": "y"}')
    tabs.write_text("id\ttext\na\tone\nb\ttwo\nc\tthree\n")
    packed.write_bytes(gzip.compress(json_lines.read_bytes()))
    for path in (json_lines, tabs, packed):
        collection = open_collection(path)
        assert isinstance(collection, JsonLinesCollection | TabSeparatedCollection)
        assert count_documents(collection) == len(list(collection.documents()))
    json_lines.write_bytes(b"{}\n\xff\n")
    assert count_documents(open_collection(json_lines)) is None  # type: ignore[arg-type]
    os.mkfifo(tmp_path / "d.jsonl")
    assert count_documents(open_collection(tmp_path / "d.jsonl")) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_first_line_of_a_csv_file_decides_about_the_separator(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "docs.csv"
    rows = [["id", '"text, long; or\tshort"', "price"], ["a", f'"green{separator} ""new"" tea"', '"3,50"']]
    path.write_text("\ufeff" + "".join(f"{separator.join(row)}\n" for row in rows))
    collection = open_collection(path, fields=("text, long; or\tshort",), attributes=("price",))
    (document,) = collection.documents()
    assert document == Document("a", f'green{separator} "new" tea', {"price": "3,50"})
    path.write_text(f"id{separator}text\na{separator}b{separator}c\n")
    with pytest.raises(MalformedRecordError) as refused:
        list(open_collection(path).documents())
    assert dict(refused.value.facts)["seen"] == "3 columns: a, b, c"


def test_the_separator_of_a_csv_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "docs.csv"
    for line, note in ("id,text", []), ("id;text", ["docs.csv: the columns are separated by semicolons"]):
        path.write_text(f"{line}\na{line[2]}tea\n")
        said: list[str] = []
        termwise.build_index(
            path, tmp_path / "i", overwrite=True, options=termwise.BuildOptions(say=said.append)
        )
        assert said == note


ROWS = [{"sku": "AB-1", "id": 7, "title": "green tea"}, {"sku": "AB-2", "id": 7, "title": "black tea"}]


@pytest.mark.parametrize(
    "name", ["d.jsonl", "d.json", "d.csv", "d.tsv", "d.parquet", "folder", "records", "frame"]
)
def test_the_identifier_has_another_name(tmp_path: Path, name: str) -> None:
    path: Any = tmp_path / name
    if name == "records":
        path = ROWS
    elif name == "frame":
        path = pytest.importorskip("pyarrow").Table.from_pylist(ROWS)
    elif name == "d.parquet":
        pytest.importorskip("pyarrow.parquet").write_table(
            pytest.importorskip("pyarrow").Table.from_pylist(ROWS), path
        )
    elif name in ("d.csv", "d.tsv"):
        cells = [list(map(str, row.values())) for row in ROWS]
        separator = {"d.csv": ",", "d.tsv": "\t"}[name]
        path.write_text("".join(f"{separator.join(row)}\n" for row in [list(ROWS[0]), *cells]))
    elif name == "d.json":
        path.write_text(json.dumps(ROWS))
    else:
        if name == "folder":
            path.mkdir()
        write(path / "d.jsonl" if name == "folder" else path, ROWS)
    searcher = termwise.build_index(path, tmp_path / "i", options=termwise.BuildOptions(id_field="sku"))
    assert searcher.rank("tea").doc_ids == ("AB-1", "AB-2")
    assert searcher.attributes(["AB-1"]) == [{"id": 7}]
    assert searcher.rank("AB-2", k=1).doc_ids == ("AB-2",)  # a name of codes
    with pytest.raises(MalformedRecordError) as refused:
        termwise.build_index(path, tmp_path / "j", options=termwise.BuildOptions(id_field="skuu"))
    assert "BuildOptions(id_field=FIELD)" in str(refused.value.fixes[0])


def test_names_of_identifiers_that_are_refused(tmp_path: Path) -> None:
    for wrong in "", 5:
        with pytest.raises(ParameterError):
            open_collection("python:stdlib", id_field=wrong)  # type: ignore[arg-type]
        with pytest.raises(ParameterError):
            termwise.BuildOptions(id_field=wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="identifiers of its own"):
        open_collection("python:stdlib", id_field="name")
    with pytest.raises(ParameterError, match="have identifiers"):
        termwise.build_index(
            [Document("a", "tea")], tmp_path / "i", options=termwise.BuildOptions(id_field="sku")
        )
