"""What scorers of pairs share."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.errors import ParameterError
from termwise.scorers.protocol import BasePairScorer, PairScorer


class Both(BasePairScorer):
    """Characters of text and query together."""

    name = "both"

    def __init__(self):
        self.asked = []

    def score_pairs(self, queries, texts):
        self.asked.append((list(queries), list(texts)))
        return np.array([len(query) + len(text) for query, text in zip(queries, texts, strict=True)], float)


def test_a_query_with_texts_is_a_pair_for_each():
    scorer = Both()
    assert isinstance(scorer, PairScorer)
    assert scorer.score("tea", ["a", "bc"]).tolist() == [4, 5]
    assert scorer.score("tea", ()).tolist() == []
    assert scorer.asked == [(["tea", "tea"], ["a", "bc"]), ([], [])]


@pytest.mark.parametrize(
    ("query", "texts", "named"),
    [
        (None, ["a"], "query"),
        (["tea"], ["a"], "query"),
        (3, [], "query"),
        ("tea", "a", "texts"),
        ("tea", 5, "texts"),
        ("tea", None, "texts"),
        ("tea", ["a", b"b"], "text number 2"),
    ],
)
def test_what_is_no_text_is_refused_by_name(query, texts, named):
    scorer = Both()
    with pytest.raises(ParameterError, match=f"^{named} cannot have this value"):
        scorer.score(query, texts)
    assert scorer.asked == []
