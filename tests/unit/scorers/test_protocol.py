"""Base class of pair scorers."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.errors import ParameterError
from termwise.scorers.protocol import BasePairScorer, PairScorer


class TotalLength(BasePairScorer):
    """Number of characters of query and text."""

    name = "total length"

    def __init__(self):
        self.calls = []

    def _score_pairs(self, queries, texts):
        self.calls.append((list(queries), list(texts)))
        return np.array([len(query) + len(text) for query, text in zip(queries, texts, strict=True)], float)


def test_a_query_with_texts_is_scored_as_pairs():
    scorer = TotalLength()
    assert isinstance(scorer, PairScorer)
    assert scorer.score("tea", ["a", "bc"]).tolist() == [4, 5]
    assert scorer.score("tea", ()).tolist() == []
    assert scorer.calls == [(["tea", "tea"], ["a", "bc"]), ([], [])]


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
def test_arguments_of_wrong_types_are_refused_by_name(query, texts, named):
    scorer = TotalLength()
    with pytest.raises(ParameterError, match=f"^{named} cannot have this value"):
        scorer.score(query, texts)
    assert scorer.calls == []
