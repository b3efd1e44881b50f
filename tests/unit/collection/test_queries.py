"""Queries in every form they come in."""

import gzip
from pathlib import Path

import pytest

from termwise.collection import read_queries
from termwise.errors import (
    DuplicateIdError,
    MalformedRecordError,
    MissingFileError,
    ParameterError,
    UnknownNameError,
)
from termwise.records import Query

CLASSIC = """\
<top>

<num> Number: 301
<title> International
Organized   Crime

<desc> Description:
Identify organizations that &lt;act&gt; & R&D.

<narr> Narrative:
A relevant document must ...

</top>

some text between topics

<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain: International Economics
<title> Topic:  Airbus Subsidies
<desc> Description:
</top>
"""

CLOSED = """\
<top>
<num>MB01</num><query>world cup</query><querytime>Tue</querytime>
</top>
<TOP><NUM>MB02</NUM><TITLE>BBC</TITLE></TOP>
"""

XML = """\
<?xml version="1.0" encoding="utf-8"?>
<topics task="COVID-19">
  <topic number="1">
    <query>coronavirus origin</query>
    <question>what is the &quot;origin&quot; of it</question>
  </topic>
  <topic number="2">
    <title>second</title><subtopic number="1">one</subtopic><subtopic number="2">two</subtopic>
  </topic>
  <topic number="3">
    A 30 year old
    patient
  </topic>
  <topic><number>4</number><query/></topic>
</topics>
"""


def queries(path: Path, text: str, fields: tuple[str, ...] | None = None) -> list[Query]:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return list(read_queries(path, fields=fields))


@pytest.mark.parametrize("name", ["queries.jsonl", "queries.jsonl.gz", "queries.txt"])
@pytest.mark.parametrize(
    "keys", [("_id", "text"), ("id", "query"), ("query_id", "title"), ("qid", "question")]
)
def test_json_lines(tmp_path: Path, name: str, keys: tuple[str, str]) -> None:
    text = f'\n{{"{keys[0]}": "q1", "{keys[1]}": "one"}}\n{{"{keys[0]}": 2, "{keys[1]}": ""}}\n'
    assert queries(tmp_path / name, text) == [Query("q1", "one"), Query("2", "")]


def test_fields_of_json_lines(tmp_path: Path) -> None:
    text = '{"_id": "q1", "text": "long", "title": "short"}'
    assert queries(tmp_path / "q.jsonl", text) == [Query("q1", "long")]
    assert queries(tmp_path / "q.jsonl", text, ("title", "text")) == [Query("q1", "short long")]
    with pytest.raises(UnknownNameError):
        queries(tmp_path / "q.jsonl", text, ("desc",))


@pytest.mark.parametrize("name", ["q.tsv", "q.tsv.gz", "q", "topics.dl19.txt"])
def test_two_columns(tmp_path: Path, name: str) -> None:
    assert queries(tmp_path / name, "1\twing flutter\r\n\nq 2\t\n") == [
        Query("1", "wing flutter"),
        Query("q 2", ""),
    ]


@pytest.mark.parametrize("header", ["id\ttext", "query_id\tquery", "QID\tQuestion", "query-id\ttext"])
def test_two_columns_with_a_header(tmp_path: Path, header: str) -> None:
    assert queries(tmp_path / "q.tsv", f"{header}\n1\twing flutter\n") == [Query("1", "wing flutter")]


@pytest.mark.parametrize("line", ["id\tquery expansion", "q1\ttext", "qid\t"])
def test_a_first_line_that_is_not_a_header_is_a_query(tmp_path: Path, line: str) -> None:
    assert queries(tmp_path / "q.tsv", f"{line}\n") == [Query(*line.split("\t"))]


@pytest.mark.parametrize("line", ["one", "\ttext", "q1\ttext\tmore"])
def test_two_columns_that_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(MalformedRecordError):
        queries(tmp_path / "q.tsv", line)


def test_a_tsv_may_start_with_any_character(tmp_path: Path) -> None:
    assert queries(tmp_path / "q.tsv", "<q>\t{x}\n") == [Query("<q>", "{x}")]


def test_two_columns_have_no_fields(tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        queries(tmp_path / "q.tsv", "1\tone\n", ("title",))


@pytest.mark.parametrize("name", ["topics", "topics.301-450.gz"])
def test_classic_topics(tmp_path: Path, name: str) -> None:
    assert queries(tmp_path / name, CLASSIC) == [
        Query("301", "International Organized Crime"),
        Query("051", "Airbus Subsidies"),
    ]


@pytest.mark.parametrize(
    ("topic", "title", "desc"),
    [
        ("<num> 1\n<title> sort a vector<int> fast\n<desc> a\nb <b>c</b>\n", "sort a vector<int> fast", "a b <b>c</b>"),
        ("<num> 1\n<title> <int> x\n<desc> Description:\n<int> and <desc>\n", "<int> x", "<int> and <desc>"),
        ("<num>1</num>\n<title>map<K, V></title>\n<desc>x</desc>\n", "map<K, V>", "x"),
        ("<num> Number: 1 <title> wing <desc> flutter", "wing", "flutter"),
        ("<num> 1\n<title> the <title> of a page\n<desc> a\n<desc> b\n", "the <title> of a page", "a b"),
    ],
)  # fmt: skip
def test_tags_inside_the_text_of_a_topic_are_text(tmp_path: Path, topic: str, title: str, desc: str) -> None:
    others = "".join(f"<top>\n<num> {number}\n<title> x\n<desc> y\n</top>\n" for number in (2, 3))
    text = f"<top> {topic}</top>\n{others}"
    assert queries(tmp_path / "topics", text)[0] == Query("1", title)
    assert queries(tmp_path / "topics", text, ("desc",))[0].text == desc


def test_fields_of_one_format_begin_lines_of_most_topics(tmp_path: Path) -> None:
    text = "".join(f"<top>\n<num> {n}\n<title> t\n<facet> f{n}\n</top>\n" for n in range(3))
    assert [each.text for each in queries(tmp_path / "topics", text)] == ["t"] * 3
    assert [each.text for each in queries(tmp_path / "topics", text, ("facet",))] == ["f0", "f1", "f2"]


def test_byte_order_marks_of_joined_files_are_dropped(tmp_path: Path) -> None:
    for name, text in (
        ("q.tsv", "\ufeff1\tone\n\ufeff2\ttwo\n"),
        ("topics", f"\ufeff{CLOSED}\ufeff{CLOSED.replace('MB', 'M')}"),
    ):
        ids = [query.query_id for query in queries(tmp_path / name, text)]
        assert ids in (["1", "2"], ["MB01", "MB02", "M01", "M02"])


def test_fields_of_classic_topics(tmp_path: Path) -> None:
    found = queries(tmp_path / "topics", CLASSIC, ("desc", "TITLE", "dom"))
    assert found[0].text == "Identify organizations that <act> & R&D. International Organized Crime"
    assert found[1].text == "Airbus Subsidies International Economics"


def test_classic_topics_with_closing_tags(tmp_path: Path) -> None:
    assert queries(tmp_path / "topics", CLOSED) == [Query("MB01", "world cup"), Query("MB02", "BBC")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<top>\n<num> 1\n<title> one\n<top>\n<num> 2\n<title> two\n</top>\n", "not closed"),
        ("<top>\n<num> 1\n<title> one\n", "not closed"),
        ("<top>\n<title> one\n</top>\n", "no number"),
        ("<top>\n<num> Number:\n<title> one\n</top>\n", "no number"),
        ("<top>\n<num> 1\n<desc> one\n</top>\n", "no text under a known name"),
        ("<html>\n", "no topics"),
    ],
)
def test_classic_topics_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(MalformedRecordError, match=message):
        queries(tmp_path / "topics", text)


def test_unknown_field_of_topics(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError) as error:
        queries(tmp_path / "topics", CLASSIC, ("description",))
    assert "desc" in str(dict(error.value.facts)["known"])


@pytest.mark.parametrize("name", ["topics.xml", "topics.xml.gz"])
def test_xml_topics(tmp_path: Path, name: str) -> None:
    assert queries(tmp_path / name, XML) == [
        Query("1", "coronavirus origin"),
        Query("2", "second"),
        Query("3", "A 30 year old patient"),
        Query("4", ""),
    ]


def test_fields_of_xml_topics(tmp_path: Path) -> None:
    found = queries(tmp_path / "topics.xml", XML, ("question", "subtopic"))
    assert [query.text for query in found] == ['what is the "origin" of it', "one two", "", ""]


@pytest.mark.parametrize(
    "text",
    ["<topics><topic number='1'><query>a</query>", "<topics><topic><query>a</query></topic></topics>"],
    ids=["not closed", "no number"],
)
def test_xml_topics_that_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(MalformedRecordError):
        queries(tmp_path / "topics.xml", text)


def test_truncated_compressed_xml(tmp_path: Path) -> None:
    path = tmp_path / "topics.xml.gz"
    path.write_bytes(gzip.compress((XML * 1).encode())[:-20])
    with pytest.raises(MalformedRecordError):
        list(read_queries(path))


def test_beir_folder(tmp_path: Path) -> None:
    queries(tmp_path / "queries.jsonl.gz", '{"_id": "q1", "text": "one"}\n')
    assert list(read_queries(tmp_path)) == [Query("q1", "one")]


def test_folder_without_queries(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        list(read_queries(tmp_path))


@pytest.mark.parametrize("name", ["absent.tsv", "absent"])
def test_absent_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(MissingFileError):
        list(read_queries(tmp_path / name))


def test_empty_file_has_no_queries(tmp_path: Path) -> None:
    assert queries(tmp_path / "q.tsv", "") == []


def test_identifier_used_twice_names_both_lines(tmp_path: Path) -> None:
    with pytest.raises(DuplicateIdError) as error:
        queries(tmp_path / "q.tsv", "1\tone\n2\ttwo\n\n1\tother\n")
    assert dict(error.value.facts)["lines"] == "1 and 4"


def test_xml_topics_have_a_size_limit(tmp_path: Path) -> None:
    path = tmp_path / "topics.xml.gz"
    path.write_bytes(gzip.compress(b'<topic number="1">\n' + b" \n" * 32_000_000, compresslevel=1))
    with pytest.raises(MalformedRecordError, match="too long"):
        list(read_queries(path))
