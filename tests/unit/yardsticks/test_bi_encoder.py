"""Bi-encoders: one vector for the query, one for the text."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

pytest.importorskip("torch")

from termwise.errors import ModelFormatError, ParameterError
from termwise.yardsticks.bi_encoder import BiEncoderScorer


class Counts:
    """Fake SentenceTransformer with counts of a and b as vectors; records the texts."""

    max_seq_length = 4

    def __init__(self):
        self.read = []

    def encode(self, texts, *, normalize_embeddings, **_):
        self.read += texts
        vectors = np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if normalize_embeddings else vectors

    def tokenizer(self, text, **_):
        return {"input_ids": ["[CLS]", *text.split(), "[SEP]"]}


def test_scores_by_hand():
    assert BiEncoderScorer(model=Counts()).score("a", ["a", "b", "aabb"]) == pytest.approx([1, 0, 2**-0.5])
    assert BiEncoderScorer(model=Counts(), similarity="dot").score("aa", ["a", "aab"]).tolist() == [2, 4]
    with pytest.raises(ParameterError, match="cosine or dot"):
        BiEncoderScorer(model=Counts(), similarity="manhattan")


def test_each_text_is_read_once_with_its_prompt():
    model = Counts()
    scorer = BiEncoderScorer(model=model, query_prompt="b", similarity="dot")
    assert scorer.score_pairs(["a", "a"], ["ab", "ab"]).tolist() == [2, 2]
    assert scorer.score("a", ["ab"]).tolist() == [2]
    assert sorted(model.read) == ["ab", "ba"]
    assert scorer.score("a", []).shape == (0,)


def test_truncated_texts_are_reported():
    assert BiEncoderScorer(model=Counts()).cut(["q"] * 3, ["a b", "a b c", "a b"]).tolist() == [
        False,
        True,
        False,
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, base):
    """Save a bi-encoder with sentence-transformers."""
    made = pytest.importorskip("sentence_transformers")
    out = tmp_path_factory.mktemp("two") / "mine"
    made.SentenceTransformer(str(base), device="cpu").save(str(out))
    return out


def test_a_folder_is_opened(folder):
    scorer = BiEncoderScorer.open(folder)
    assert scorer.name == "mine"
    found = scorer.score("wing", ["wing", "heat transfer"])
    assert found[0] == pytest.approx(1)
    assert found[1] < 0.999
    assert (
        BiEncoderScorer.open(folder, length=64).fingerprint
        != BiEncoderScorer.open(folder, length=8).fingerprint
    )


@pytest.mark.parametrize("length", [3, 65, 100_000])
def test_lengths_beyond_the_network_are_refused(folder, length):
    with pytest.raises(ParameterError, match="cannot read texts of this length"):
        BiEncoderScorer.open(folder, length=length)


@pytest.mark.parametrize("device", ["nope", "meta", "cuda:99"])
def test_unknown_devices_are_refused(folder, device):
    with pytest.raises(ParameterError, match="no such device"):
        BiEncoderScorer.open(folder, device=device)


def test_another_tokenizer_is_refused(folder, tmp_path):
    """Without it all texts would have equal vectors, and every cosine would be 1."""
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    for path in other.rglob("*"):
        if path.name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
            path.unlink()
    with pytest.raises(ModelFormatError, match=r"tokenizer does not belong|cannot be loaded"):
        BiEncoderScorer.open(other)


def test_other_folders_are_refused(tmp_path):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ModelFormatError, match="not a folder of sentence-transformers"):
        BiEncoderScorer.open(tmp_path)
