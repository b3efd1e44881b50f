"""Sections of Markdown files as documents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import termwise
from termwise.cli.main import run
from termwise.collection import open_collection
from termwise.collection.front_matter import read_front_matter
from termwise.errors import DataError, MalformedRecordError, MissingFileError
from termwise.search import Search

INSTALL = """\
---
title: "The guide"
tags: [a, b]
---
Before all *headings*.

# Install

Run `pip install .` for **all** [extras](x.md "title") ![a picture](p.png),
or more.

## From `source`

| option | meaning |
|---|---|
| `--fast` | quick <b>build</b> |

- one
- two

<div>left out</div>

```sh
# no heading
git clone X
```

### Deep

deep text

## From source!

again

# Without text

## Last

    code by indentation
"""

SECTIONS = {
    "guide/install.md": ("The guide", "Before all headings."),
    "guide/install.md#install": (
        "The guide › Install",
        "Run pip install . for all extras a picture, or more.",
    ),
    "guide/install.md#from-source": (
        "The guide › Install › From source",
        "option, meaning\n--fast, quick build\none\ntwo\n# no heading\ngit clone X",
    ),
    "guide/install.md#deep": ("The guide › Install › From source › Deep", "deep text"),
    "guide/install.md#from-source-1": ("The guide › Install › From source!", "again"),
    "guide/install.md#last": ("The guide › Without text › Last", "code by indentation"),
    "z.markdown#tea": ("Tea", "Green tea."),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "guide").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "guide" / "install.md").write_text(INSTALL, "utf-8")
    (folder / "z.markdown").write_bytes(b"\xef\xbb\xbf# Tea\r\nGreen tea.\r\n")
    (folder / ".git" / "hidden.md").write_text("hidden")
    (folder / "notes.txt").write_text("# no Markdown")
    (folder / "empty.md").write_text("")
    return folder


def test_sections_are_documents(folder: Path) -> None:
    collection = open_collection(folder)
    found = list(collection.documents())
    texts = {name: f"{title}\n{text}" for name, (title, text) in SECTIONS.items()}
    assert {each.doc_id: each.text for each in found} == texts
    assert [each.doc_id for each in found] == list(SECTIONS)
    assert [each.doc_id for each in collection.documents()] == list(SECTIONS)  # read again
    assert [each.doc_id for each in open_collection(folder / "z.markdown").documents()] == ["z.markdown#tea"]


def test_fields_are_chosen(folder: Path) -> None:
    by_field = list(open_collection(folder, fields={"title": 3, "text": 1}, attributes=("page",)).documents())
    assert by_field[0].fields == {"title": "The guide", "text": "Before all headings."}
    assert {each.attributes["page"] for each in by_field} == {"guide/install.md", "z.markdown"}
    (tea,) = open_collection(folder / "z.markdown", fields=("text",)).documents()
    assert tea.text == "Green tea."


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_a_folder_is_indexed(folder: Path, tmp_path: Path, model: str) -> None:
    searcher = termwise.build_index(folder, tmp_path / "i", model=model, store_text=True)
    results = searcher.search(Search("fast build", filter='page = "guide/install.md"'))
    assert results.ranking.doc_ids[0] == "guide/install.md#from-source"
    assert "`" not in results.snippets()[0].text


def test_the_commands(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = str(tmp_path / "i")
    assert run(["index", str(folder), "--model", "bm25", "--out", index]) == 0
    assert "indexed: title, text; attributes: page, tags" in capsys.readouterr().err
    (folder / "new.md").write_text("# Coffee\nBlack coffee.\n")
    assert run(["add", index, str(folder)]) == 0
    assert run(["search", index, "coffee", "--json"]) == 0
    assert '"doc_id": "new.md#coffee"' in capsys.readouterr().out


def test_a_name_that_is_not_in_utf8(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        (folder / os.fsdecode(b"z\xff.md")).write_text("# Pot\nIron.\n", encoding="utf-8")
    except OSError:
        pytest.skip("names of files are UTF-8 in this file system")
    with pytest.raises(DataError, match="not in UTF-8"):
        list(open_collection(folder).documents())
    assert run(["index", str(folder), "--model", "bm25", "--out", str(tmp_path / "tw")]) == 3
    assert "z\ufffd.md" in capsys.readouterr().err


def test_bad_files(folder: Path, tmp_path: Path) -> None:
    (folder / "latin.md").write_bytes("# Caf\xe9\n".encode("latin-1"))
    with pytest.raises(MalformedRecordError, match="latin1"):
        list(open_collection(folder).documents())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("x")
    with pytest.raises(MissingFileError, match="BEIR"):
        open_collection(tmp_path / "other")


def fields_of(*lines: str) -> dict[str, object]:
    fields, page = read_front_matter(Path("a.md"), "\n".join(["---", *lines, "---", "# Tea"]))
    assert page == "# Tea"
    return fields


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("k: en", "en"),
        ("k:   en \t # English", "en"),
        ("k: no", "no"),
        ("k: TRUE", True),
        ("k: 7", 7),
        ("k: -7.5", -7.5),
        ("k: 007", "007"),
        ("k: '7'", "7"),
        ('k: "a \\"b\\" # c"  # d', 'a "b" # c'),
        ("k: 'it''s'", "it's"),
        ("k: a: b", "a: b"),
        ("k: https://x.org/#y", "https://x.org/#y"),
        ("k: 2026-01-02", "2026-01-02"),
        ("k: [a, 'b, c', \"d\", 7, ]  # e", ["a", "b, c", "d", "7"]),
        ("k: []", []),
        ("k:\n  - a\n  # b\n\n  - 'c: d'", ["a", "c: d"]),
        ("k: # c\n- a\n- 7", ["a", "7"]),
        ("'k': a", "a"),
        ("# c\n\nk: a", "a"),
    ],
)
def test_simple_values_of_front_matter(line: str, value: object) -> None:
    found = fields_of(line, "z: 1")
    assert found == {"k": value, "z": 1}
    assert type(found["k"]) is type(value)


@pytest.mark.parametrize(
    "line",
    [
        "k:",
        "k: ~",
        "k: null",
        "k: {a: b}",
        "k: [[a], b]",
        "k: [{a: b}]",
        "k:\n  a: b",
        "k:\n  - a: b\n  - c",
        "k:\n  - 'a': b",
        "k:\n  - [a]",
        "k: |\n  a\n  b",
        "k: [a,\n  b\n]",
        "k: a\n  b",
        "k: *a",
    ],
)
def test_other_values_are_left_out(line: str) -> None:
    assert fields_of(line, "z: 1") == {"z": 1}


@pytest.mark.parametrize("line", ["no key", "k: [a, b", "k: 'a", 'k: "a" b', "k: {a", "a: 1", ": 1", "'k: 1"])
def test_front_matter_that_is_not_valid(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.md").write_text(f"---\na: 1\n# c\n{line}\n---\n# Tea\nGreen.\n")
    with pytest.raises(MalformedRecordError, match="front matter") as caught:
        list(open_collection(tmp_path).documents())
    facts = dict(caught.value.facts)
    assert (facts["file"], facts["line"], facts["seen"]) == (tmp_path / "a.md", 4, line)


@pytest.mark.parametrize(
    "page", ["---\nOnce upon\na: 1\n---\n", "---\na: 1\n", "\n---\na: 1\n---\n", "a: 1\n"]
)
def test_a_page_without_front_matter(page: str) -> None:
    assert read_front_matter(Path("a.md"), page) == ({}, page)


def test_fields_of_front_matter_belong_to_each_section(tmp_path: Path) -> None:
    front = "title: 1984\nlang: de\ndate: 2026-01-02\nrank: 2\ntags: [a, b]\n_id: x\nid: y\ntext: z\npage: q"
    (tmp_path / "a.md").write_text(f"---\n{front}\n---\n# Tee\nGrüner Tee.\n## Kaffee\nDie Bohnen.\n")
    (tmp_path / "b.md").write_text("---\nlang: en\n---\n# Tea\nGreen tea.\n")
    first, second, other = open_collection(tmp_path, attributes="all").documents()
    kept = {"page": "a.md", "lang": "de", "date": "2026-01-02", "rank": 2, "tags": ("a", "b")}
    assert (first.doc_id, first.text, first.attributes) == ("a.md#tee", "1984 › Tee\nGrüner Tee.", kept)
    assert (second.doc_id, second.attributes) == ("a.md#kaffee", kept)
    assert other.attributes == {"page": "b.md", "lang": "en"}

    assert run(["index", str(tmp_path), "--analyzer-by", "lang", "--out", str(tmp_path / "i")]) == 0
    index = termwise.open(tmp_path / "i")
    assert dict(index.schema) == {
        "date": "date", "lang": "keyword", "page": "keyword", "rank": "integer", "tags": "keywords",
    }  # fmt: skip
    assert index.rank("Bohne").doc_ids == ("a.md#kaffee",)
