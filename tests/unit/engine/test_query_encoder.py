from __future__ import annotations

import pytest

import termwise
from termwise import Document, build_index
from termwise.errors import (
    CorruptIndexError,
    ParameterError,
    UnknownIdError,
    UnknownNameError,
    VocabularyMismatchError,
)
from termwise.index import Index, IndexWriter
from termwise.text import Vocabulary
from termwise.weights import TermWeights


def commit(folder, encoder):
    vocabulary = Vocabulary(["word"])
    with IndexWriter(folder) as writer:
        writer.add(["a"], TermWeights([0, 1], [0], [1.0], vocabulary.id))
        writer.commit(vocabulary, encoder=encoder)


@pytest.mark.parametrize(
    ("encoder", "error"),
    [
        ({}, UnknownNameError),
        (
            {"analyzer": {"name": "english", "options": {}, "files": ["no"], "fingerprint": "x"}},
            UnknownIdError,
        ),
        (
            {"analyzer": {"name": "english", "options": {}, "files": [], "fingerprint": "other"}},
            VocabularyMismatchError,
        ),
        (
            {"analyzer": {"name": "no-such", "options": {}, "files": [], "fingerprint": "x"}},
            CorruptIndexError,
        ),
        ({"query": {"weighting": "no-such"}}, CorruptIndexError),
    ],
)
def test_unusable_descriptions_are_refused(tmp_path, encoder, error):
    commit(tmp_path / "i", encoder)
    with pytest.raises(error) as caught:
        termwise.open(tmp_path / "i")
    if error is CorruptIndexError:
        facts = dict(caught.value.facts)
        assert facts["file"] == tmp_path / "i" / "manifest.json"
        assert facts["expected"] in ("a known encoder.analyzer", "a known encoder.query.weighting")


@pytest.mark.parametrize(
    "change",
    [
        {"analyzer": 5},
        {"analyzer": {}},
        {"analyzer": {"name": "english", "options": {}, "files": 3, "fingerprint": "x"}},
        {"query": 5},
    ],
)
def test_values_of_the_wrong_type_are_not_written(tmp_path, change):
    build_index([Document("a", "words")], tmp_path / "i")
    described = Index.open(tmp_path / "i").manifest.encoder.json
    with pytest.raises(ParameterError, match="value of the wrong type") as caught:
        commit(tmp_path / "j", described | change)
    assert str(dict(caught.value.facts)["expected"]).startswith(f"encoder.{next(iter(change))}")
    assert not (tmp_path / "j").exists()
