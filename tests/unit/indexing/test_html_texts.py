"""Indexes of documents with HTML in their texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise import BuildOptions, Document, build_index
from termwise.errors import ParameterError
from termwise.indexing import open_writer, renew_index
from termwise.indexing.html_texts import LEAST_SHARE, plain_document
from termwise.search import Searcher

SHOP = [
    {"id": "a", "title": "T&uuml;r &amp; Tor", "text": "<p>Eiche<br>rot</p>", "url": "?x=1&amp;y=2"},
    {"id": "b", "title": "Lampe", "text": "blau", "url": "?x=2"},
]


def built(path: Path, said: list[str] | None = None, **options: Any) -> Searcher:
    say = (lambda line: None) if said is None else said.append
    chosen = {"attributes": ["title", "url"], "store_text": True, "fields": ("title", "text")} | options
    html = chosen.pop("html", True)
    return build_index(SHOP, path, analyzer="standard", options=BuildOptions(html=html, say=say), **chosen)


def texts(searcher: Searcher) -> Iterator[str | None]:
    return iter(searcher.index.document_texts(searcher.index.find_many(["a", "b"])))


@pytest.mark.parametrize("fields", [("title", "text"), {"title": 3, "text": 1}])
def test_texts_and_attributes_are_plain(tmp_path: Path, fields: Any) -> None:
    said: list[str] = []
    searcher = built(tmp_path / "i", said, fields=fields)
    assert list(texts(searcher)) == ["Tür & Tor\nEiche\nrot", "Lampe\nblau"]
    assert searcher.attributes(["a"]) == [{"title": "Tür & Tor", "url": "?x=1&amp;y=2"}]
    assert searcher.rank("tür").doc_ids == ("a",)
    assert not any("HTML" in line for line in said)
    assert termwise.open(tmp_path / "i").index.manifest.html


def test_later_documents_are_read_in_the_same_way(tmp_path: Path) -> None:
    built(tmp_path / "i", attributes=["url"])
    with open_writer(tmp_path / "i") as writer:
        assert writer.add(SHOP).unchanged == 2
        writer.add([{"id": "b", "title": "B&auml;r", "text": "&lt;b&gt;", "url": ""}])
    searcher = termwise.open(tmp_path / "i")
    assert list(texts(searcher)) == ["Tür & Tor\nEiche\nrot", "Bär"]
    change = Document.of_texts("a", ["T&uuml;r", "rot"], {"url": "T&uuml;r"})
    with open_writer(tmp_path / "i") as writer:
        writer.add([change])
    assert termwise.open(tmp_path / "i").attributes(["a"]) == [{"url": "Tür"}]
    with open_writer(tmp_path / "i") as writer:
        writer.merge()
    renew_index(tmp_path / "i")
    searcher = termwise.open(tmp_path / "i")
    assert searcher.index.manifest.html
    assert searcher.rank("bär").doc_ids == ("b",)


def test_a_mixture(tmp_path: Path) -> None:
    searcher = build_index(SHOP, tmp_path / "m", model="instant", options=BuildOptions(html=True))
    assert all(part.index.manifest.html for part in searcher.parts)
    with open_writer(tmp_path / "m") as writer:
        writer.add([{"id": "c", "title": "R&uuml;be", "text": "", "url": ""}])
    assert termwise.open(tmp_path / "m").rank("rübe").doc_ids[0] == "c"


def test_a_build_says_that_texts_have_html(tmp_path: Path) -> None:
    said: list[str] = []
    searcher = built(tmp_path / "i", said, html=False)
    assert not searcher.index.manifest.html
    assert next(texts(searcher)) == "T&uuml;r &amp; Tor\n<p>Eiche<br>rot</p>"
    assert said[-1].startswith("1 of 2 documents have HTML in their texts, such as '<p>'")
    many = [Document(str(number), "Tee") for number in range(round(1 / LEAST_SHARE) - 1)]
    said.clear()
    options = BuildOptions(say=said.append)
    build_index([*many, Document("x", "T&uuml;r")], tmp_path / "few", options=options)
    assert said == []


def test_lists_of_texts() -> None:
    given = ("Haus &amp; Hof", "<b>Garten</b>")
    plain = ("Haus & Hof", "Garten")
    document = Document.of_texts("a", given, {"tags": given, "others": ("&amp;",)})
    assert plain_document(document).attributes == {"tags": plain, "others": ("&amp;",)}
    joined = Document.of_fields("a", {"tags": "\n".join(given)}, {"tags": given})
    assert plain_document(joined).attributes == {"tags": plain}


def test_weights_have_no_html(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "vector": {"sofa": 1}}\n')
    with pytest.raises(ParameterError, match="a file of weights has no texts"):
        build_index(rows, tmp_path / "i", model="vectors", options=BuildOptions(html=True))
