"""Bi-encoders: one vector for the query, one for the text."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from termwise.errors import ModelFormatError, ParameterError
from termwise.rerank.bi_encoder import BiEncoderScorer


class Counts:
    """Stands in the place of a SentenceTransformer: counts of a and b; remembers what it reads."""

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
    assert BiEncoderScorer(Counts()).score("a", ["a", "b", "aabb"]) == pytest.approx([1, 0, 2**-0.5])
    assert BiEncoderScorer(Counts(), similarity="dot").score("aa", ["a", "aab"]).tolist() == [2, 4]
    with pytest.raises(ParameterError, match="cosine or dot"):
        BiEncoderScorer(Counts(), similarity="manhattan")


def test_each_text_is_read_once_with_its_prompt():
    model = Counts()
    scorer = BiEncoderScorer(model, query_prompt="b", similarity="dot")
    assert scorer.score_pairs(["a", "a"], ["ab", "ab"]).tolist() == [2, 2]
    assert scorer.score("a", ["ab"]).tolist() == [2]
    assert sorted(model.read) == ["ab", "ba"]
    assert scorer.score("a", []).shape == (0,)


def test_texts_that_are_cut():
    assert BiEncoderScorer(Counts()).cut(["q"] * 3, ["a b", "a b c", "a b"]).tolist() == [False, True, False]


def test_folders_that_are_none(tmp_path):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ModelFormatError, match="no folder of sentence-transformers"):
        BiEncoderScorer.open(tmp_path)
