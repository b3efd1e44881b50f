from __future__ import annotations

import pytest

from termwise import Document, Searcher, build_index
from termwise.errors import TermwiseError
from termwise.index import Index, IndexWriter
from termwise.text import Vocabulary
from termwise.weights import TermWeights


@pytest.mark.parametrize(
    "encoder",
    [
        {},
        {"analyzer": 5},
        {"analyzer": {}},
        {"analyzer": {"name": "english", "options": {}, "files": ["nothing"], "fingerprint": "x"}},
        {"analyzer": {"name": "english", "options": {}, "files": 3, "fingerprint": "x"}},
        {"analyzer": {"name": "english", "options": {}, "files": [], "fingerprint": "other"}},
        {"analyzer": {"name": "no-such", "options": {}, "files": [], "fingerprint": "x"}},
        {"query": 5},
    ],
)
def test_unreadable_descriptions_are_refused(tmp_path, encoder):
    vocabulary = Vocabulary(["t"])
    with IndexWriter(tmp_path / "i") as writer:
        writer.add(["a"], TermWeights([0, 1], [0], [1.0], vocabulary.id))
        writer.commit(vocabulary, encoder=encoder)
    with pytest.raises(TermwiseError):
        Searcher.open(tmp_path / "i")


def test_a_query_is_described_by_a_mapping(tmp_path):
    build_index([Document("a", "words")], tmp_path / "i")
    described = Index.open(tmp_path / "i").manifest.encoder.json
    vocabulary = Vocabulary(["word"])
    with IndexWriter(tmp_path / "j") as writer:
        writer.add(["a"], TermWeights([0, 1], [0], [1.0], vocabulary.id))
        writer.commit(vocabulary, encoder=described | {"query": 5})
    with pytest.raises(TermwiseError, match="query"):
        Searcher.open(tmp_path / "j")
