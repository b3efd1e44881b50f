"""Sections of Markdown files as documents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import termwise
from termwise.cli.main import run
from termwise.collection import open_collection
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
    assert "indexed: title, text; attributes: page" in capsys.readouterr().err
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
