"""Renewal of the statistics of an index, against a new build of the same documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import Document
from termwise.errors import IndexLockedError, ParameterError
from termwise.index import Index, verify
from termwise.index.folder import writer_lock
from termwise.index.manifest import publish
from termwise.indexing import renew_index

FIRST = [Document("a", "green tea", {"price": 3}), Document("b", "a red pot"), Document("c", "tea for two")]
LATER = [
    Document("a", "green tea of this year", {"price": 5}),
    Document("d", "a pot of black tea, a cup and a pot"),
]


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
    encoder = {name: value for name, value in manifest.encoder.items() if name != "statistics"}
    publish(tmp_path, replace(manifest, encoder=encoder))
    with pytest.raises(ParameterError, match="no statistics of its collection"):
        termwise.open_writer(tmp_path)
    renew_index(tmp_path)
    with termwise.open_writer(tmp_path) as writer:
        assert writer.add([Document("e", "white tea")]).new == 1


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
    termwise.build_index(FIRST, tmp_path / "best", model="best", store_text=True)
    for path in (tmp_path / "best", tmp_path / "best" / "bm25"):
        with pytest.raises(ParameterError, match="mixture"):
            renew_index(path)
    changed(tmp_path / "held")
    before = Index.open(tmp_path / "held").manifest
    with writer_lock(tmp_path / "held"), pytest.raises(IndexLockedError):
        renew_index(tmp_path / "held")
    assert Index.open(tmp_path / "held").manifest == before
