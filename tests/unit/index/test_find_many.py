from __future__ import annotations

import pytest

from termwise.index import Index, IndexWriter
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

IDS = ["b", "a", "", "ab", "日本", "a b", "🙂", "a\n", "zz"]


@pytest.mark.parametrize("largest", [2, 100])
def test_find_many_agrees_with_find(tmp_path, monkeypatch, largest):
    monkeypatch.setattr("termwise.index.document_spill.MAX_DOCUMENTS", largest)
    vocabulary = Vocabulary(["t"])
    with IndexWriter(tmp_path / "i") as writer:
        writer.add(IDS, TermWeights([0] * (len(IDS) + 1), [], [], vocabulary.id))
        writer.commit(vocabulary, encoder={})
    index = Index.open(tmp_path / "i")
    wanted = [*reversed(IDS), "c", "aa", "日", "a", "zzz"]
    expected = [-1 if index.find(doc_id) is None else index.find(doc_id) for doc_id in wanted]
    assert index.find_many(wanted).tolist() == expected
    assert expected[: len(IDS)] == list(reversed(range(len(IDS))))
    assert index.find_many([]).tolist() == []
