"""Renewal of the statistics of an index, against a new build of the same documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import BuildOptions, Document
from termwise.attributes import Schema
from termwise.errors import IndexLockedError, ParameterError
from termwise.fusion import mix_indexes
from termwise.index import Index
from termwise.index.encoder_description import EncoderDescription
from termwise.index.folder import publish, writer_lock
from termwise.index.updater import IndexUpdater
from termwise.indexing import renew_index
from termwise.search import Searcher, verify

pytestmark = pytest.mark.usefixtures("no_counts")

FIRST = [Document("a", "green tea", {"price": 3}), Document("b", "a red pot"), Document("c", "tea for two")]
LATER = [
    Document("a", "green tea of this year", {"price": 5}),
    Document("d", "a pot of black tea, a cup and a pot"),
]


def test_an_index_with_counts_is_weighed_again_without_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    termwise.build_index(FIRST, tmp_path / "tw", model="jm")
    termwise.build_index(FIRST, tmp_path / "m", model="best")
    for name in ("tw", "m"):
        with (
            IndexUpdater(tmp_path / "tw") if name == "tw" else termwise.open_writer(tmp_path / name) as writer
        ):
            writer.delete(["c"])
            writer.commit()
    fresh = termwise.build_index(FIRST[:2], tmp_path / "fresh", model="jm")
    assert renew_index(tmp_path / "tw").index.manifest.quantiser == fresh.index.manifest.quantiser
    fresh = termwise.build_index(FIRST[:2], tmp_path / "bm25", model="bm25")
    bm25 = renew_index(tmp_path / "m").parts[0].index.manifest
    assert (bm25.segments, bm25.encoder) == (fresh.index.manifest.segments, fresh.index.manifest.encoder)


def changed(path: Path, **options: Any) -> None:
    termwise.build_index(FIRST, path, store_text=True, attributes="all", **options)
    with termwise.open_writer(path) as writer:
        writer.add(LATER)
        writer.delete(["c"])


@pytest.mark.parametrize(
    "options",
    [{"model": "bm25"}, {"model": "dirichlet"}, {"model": "jm", "analyzer": "german"}, {"chunk": 3}],
)
def test_a_renewed_index_is_that_of_a_new_build(tmp_path: Path, options: dict[str, Any]) -> None:
    changed(tmp_path / "tw", **options)
    renewed = renew_index(tmp_path / "tw")
    fresh = termwise.build_index(
        [FIRST[1], *LATER], tmp_path / "fresh", store_text=True, attributes="all", **options
    )
    verify(tmp_path / "tw")
    for query in ("tea", "green pot", "cup"):
        ours, theirs = renewed.rank(query), fresh.rank(query)
        assert ours.doc_ids == theirs.doc_ids
        assert np.array_equal(ours.scores, theirs.scores)
    assert renewed.attributes(["a"]) == [{"price": 5}]
    everything = np.arange(len(fresh.index))
    assert renewed.index.texts(everything) == fresh.index.texts(everything)
    manifest = renewed.index.manifest
    assert (len(manifest.segments), manifest.idf, manifest.added_terms) == (1, None, ())
    with termwise.open_writer(tmp_path / "tw") as writer:
        writer.add([Document("e", "white tea")])
    assert renewed.refresh().rank("white").doc_ids == ("e",)


def test_an_index_without_statistics_can_be_renewed_and_then_changed(tmp_path: Path) -> None:
    changed(tmp_path)
    manifest = Index.open(tmp_path).manifest
    encoder = {name: value for name, value in manifest.encoder.json.items() if name != "statistics"}
    publish(tmp_path, replace(manifest, encoder=EncoderDescription.of(encoder)))
    with pytest.raises(ParameterError, match="no statistics of its collection"):
        termwise.open_writer(tmp_path)
    renew_index(tmp_path)
    with termwise.open_writer(tmp_path) as writer:
        assert writer.add([Document("e", "white tea")]).new == 1


@pytest.mark.parametrize(
    "options",
    [
        {"attributes": "all"},
        {"chunk": 3},
        {"fields": {"title": 3, "text": 1}},
        {"options": BuildOptions(threads=2)},
    ],
)
def test_a_renewed_mixture_is_that_of_a_new_build(tmp_path: Path, options: dict[str, Any]) -> None:
    """Also the vectors, whose segments are merged."""
    first, later = FIRST, LATER
    if "fields" in options:
        first, later = ([in_fields(document) for document in each] for each in (FIRST, LATER))
    termwise.build_index(first, tmp_path / "m", model="best", store_text=True, **options)
    with termwise.open_writer(tmp_path / "m") as writer:
        writer.add(later)
        writer.delete(["c"])
    before = termwise.open(tmp_path / "m")
    renewed = renew_index(tmp_path / "m", threads=2 if "options" in options else 1)
    fresh = termwise.build_index(
        [first[1], *later], tmp_path / "new", model="best", store_text=True, **options
    )
    assert len(renewed.parts) > 1
    assert len(fresh.parts) > 1
    for ours, theirs in zip(renewed.parts, fresh.parts, strict=True):
        assert len(ours.index.manifest.segments) == 1
        assert ours.index.schema == theirs.index.schema
        assert ours.index.stores_text == theirs.index.stores_text
    bm25 = renewed.parts[0].index.manifest
    assert replace(bm25, generation=0) == fresh.parts[0].index.manifest
    for query in ("tea", "green pot", "cup"):
        assert ranking(renewed, query) == ranking(fresh, query)
    assert ranking(before, "green pot") != ranking(fresh, "green pot")
    assert verify(tmp_path / "m") == []
    assert renew_index(tmp_path / "m").rank("tea") == fresh.rank("tea")  # nothing to renew
    with termwise.open_writer(tmp_path / "m") as writer:
        writer.add([first[2]._replace(doc_id="e")])
    assert "e" in renewed.refresh().rank("two", k=5).doc_ids


def in_fields(document: Document) -> Document:
    title, _, rest = document.text.partition(" ")
    return Document.of_fields(document.doc_id, {"title": title, "text": rest}, document.attributes)


def ranking(searcher: Any, query: str) -> list[tuple[str, float]]:
    found = searcher.rank(query)
    return list(zip(found.doc_ids, found.scores.tolist(), strict=True))


def test_texts_of_another_part_are_weighed(tmp_path: Path) -> None:
    """BM25 has the texts without weights of fields, and Dirichlet none: only it can be renewed from them."""
    for name, options in {"bm25": {"store_text": True}, "dirichlet": {}, "lookup": {}}.items():
        termwise.build_index(FIRST, tmp_path / name, model=name, **options)  # type: ignore[call-overload]
    mix_indexes([tmp_path / "lookup", tmp_path / "dirichlet", tmp_path / "bm25"], [1.0] * 3, tmp_path / "m")
    with termwise.open_writer(tmp_path / "m") as writer:
        writer.add(LATER)
    renewed = renew_index(tmp_path / "m")
    assert len(renewed.parts) > 1
    anew = termwise.build_index([*FIRST[1:], *LATER], tmp_path / "fresh", model="dirichlet")
    assert ranking(Searcher(renewed.parts[1].backend), "tea pot") == ranking(anew, "tea pot")
    fields = {"title": 3, "text": 1}
    termwise.build_index(map(in_fields, FIRST), tmp_path / "jm", model="jm", fields=fields)
    mix_indexes([tmp_path / "bm25", tmp_path / "jm"], [1.0, 1.0], tmp_path / "n")
    with pytest.raises(ParameterError, match="keeps no texts") as caught:
        renew_index(tmp_path / "n")
    assert caught.value.facts == (("index", tmp_path / "n" / "jm"),)


def test_what_cannot_be_renewed(tmp_path: Path) -> None:
    termwise.build_index(FIRST, tmp_path / "no texts")
    with pytest.raises(ParameterError, match="keeps no texts"):
        renew_index(tmp_path / "no texts")
    termwise.build_index(FIRST, tmp_path / "empty", store_text=True)
    with termwise.open_writer(tmp_path / "empty") as writer:
        writer.delete([document.doc_id for document in FIRST])
    with pytest.raises(ParameterError, match="has no documents"):
        renew_index(tmp_path / "empty")
    termwise.build_index(FIRST, tmp_path / "lookup", model="lookup", store_text=True)
    with pytest.raises(ParameterError, match="no statistics to renew") as caught:
        renew_index(tmp_path / "lookup")
    assert ("model", "lookup") in caught.value.facts
    assert caught.value.fixes == ("merge its segments without renewing them",)
    termwise.build_index(FIRST, tmp_path / "best", model="best")
    with pytest.raises(ParameterError, match="a part of a mixture"):
        renew_index(tmp_path / "best" / "bm25")
    with pytest.raises(ParameterError, match="keeps no texts"):
        renew_index(tmp_path / "best")
    termwise.build_index(FIRST, tmp_path / "more", model="lookup", store_text=True)
    mix_indexes([tmp_path / "lookup", tmp_path / "more"], [1.0, 1.0], tmp_path / "vectors")
    with pytest.raises(ParameterError, match="no statistics to renew"):
        renew_index(tmp_path / "vectors")
    changed(tmp_path / "held")
    before = Index.open(tmp_path / "held").manifest
    with writer_lock(tmp_path / "held"), pytest.raises(IndexLockedError):
        renew_index(tmp_path / "held")
    assert Index.open(tmp_path / "held").manifest == before


@pytest.mark.parametrize("model", ["bm25", "best"])
def test_a_schema_stays_without_a_document_with_attributes(tmp_path: Path, model: str) -> None:
    """In a build, after a change, and in an index that is weighed again."""
    schema = Schema({"day": "keyword", "price": "float"})
    lines = tmp_path / "docs.jsonl"
    lines.write_text('{"id": "b", "text": "a red pot"}\n{"id": "c", "text": "tea for two"}\n')
    path = tmp_path / "i"
    searcher = termwise.build_index(lines, path, model=model, attributes=schema, store_text=True)
    assert searcher.schema == schema
    assert len(searcher.rank("tea pot", filter="price > 1")) == 0
    with termwise.open_writer(path) as writer:
        writer.add([Document("a", "green tea", {"price": 3, "day": "2024-01-31"})])
    assert searcher.refresh().rank("tea", filter='price > 1 and day = "2024-01-31"').doc_ids == ("a",)
    with termwise.open_writer(path) as writer:
        writer.delete(["a"])
        writer.merge()
    assert searcher.refresh().schema == renew_index(path).schema == schema
    opened = termwise.open_collection(lines, attributes=schema)
    assert termwise.build_index(opened, tmp_path / "again", model=model).schema == schema
    assert verify(path) == []
