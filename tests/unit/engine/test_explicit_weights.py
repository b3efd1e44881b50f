"""Weights of query terms that a client gives."""

from __future__ import annotations

import pytest

import termwise
from termwise.errors import ParameterError
from termwise.search import Search

DOCUMENTS = [termwise.Document("a", "green tea"), termwise.Document("b", "tea tea pot")]


@pytest.mark.parametrize("model", ["bm25", "jm", "dirichlet"])
def test_the_counts_of_a_text_give_its_ranking(tmp_path, model):
    searcher = termwise.build_index(DOCUMENTS, tmp_path / "x.tw", model=model, analyzer="standard")
    weights = {"green": 1, "tea": 2, "unknown": 5, "[background]": 9, "pot": 0}
    given = searcher.search(Search("whatever", weights=weights))
    assert given.ranking == searcher.rank("green tea tea")
    assert given.count() == searcher.search(Search("green tea")).count()
    (explanation,) = searcher.search(Search("tea", weights=weights)).explain(["a"])
    assert explanation.score == searcher.explain("green tea tea", "a").score


def test_weights_are_numbers_of_0_or_more(tmp_path):
    searcher = termwise.build_index(DOCUMENTS, tmp_path / "x.tw")
    for weight in (-1, float("nan"), "1", True):
        with pytest.raises(ParameterError, match="0 or more"):
            searcher.search(Search(weights={"tea": weight}))
