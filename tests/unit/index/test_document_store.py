"""Stored texts and chunks that do not fit the manifest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from termwise import Document, build_index
from termwise.errors import CorruptIndexError
from termwise.index import Index
from termwise.index.folder import publish

DOCUMENTS = [
    Document.of_fields("a", {"title": "merge", "text": "sort a list of three words"}),
    Document.of_fields("b", {"title": "deck", "text": "shuffle it well"}),
]


def test_texts_with_other_fields_than_the_manifest_are_damage(tmp_path: Path) -> None:
    index = build_index(DOCUMENTS, tmp_path / "i", fields={"title": 3, "text": 1}, store_text=True).index
    assert index.store.texts(np.array([0])) == ["merge\x1fsort a list of three words"]
    publish(tmp_path / "i", replace(index.manifest, field_weights={"title": 3, "text": 1, "more": 1}))
    damaged = Index.open(tmp_path / "i")
    with pytest.raises(CorruptIndexError) as caught:
        damaged.text(0)
    facts = dict(caught.value.facts)
    assert (facts["file"].name.split("-")[0], facts["seen"]) == ("texts", "2")
    assert facts["expected"] == "a text of 3 fields, as in encoder.field_weights"


def test_a_position_that_is_no_first_chunk_is_damage(tmp_path: Path) -> None:
    index = build_index(DOCUMENTS, tmp_path / "i", fields={"title": 3, "text": 1}, chunk=3).index
    assert index.chunks.starts.tolist() == [0, 2]
    assert index.chunks.counts(np.array([2, 0])).tolist() == [1, 2]
    assert index.chunks.counts(np.array([], dtype=np.int64)).tolist() == []
    for wrong in (1, 3, 9):
        with pytest.raises(CorruptIndexError, match="damaged"):
            index.chunks.counts(np.array([0, wrong]))
