"""Rankings of all documents, without a query."""

from __future__ import annotations

from pathlib import Path

import pytest

import termwise
from termwise.search import MixtureSearcher, Part
from termwise.search.by_example import AnySearcher

TEAS = [
    termwise.Document("a", "green tea", {"price": 12}),
    termwise.Document("b", "black tea", {"price": 7}),
    termwise.Document("c", "clay pot", {"price": 40}),
    termwise.Document("d", "mint"),
]


@pytest.fixture(params=["index", "mixture"])
def searcher(request: pytest.FixtureRequest, tmp_path: Path) -> AnySearcher:
    searchers = [
        termwise.build_index(TEAS, tmp_path / f"{name}.tw", model=name, store_text=True)
        for name in ("bm25", "jm")
    ]
    if request.param == "index":
        return searchers[0]
    return MixtureSearcher([Part(f"p{n}", each, 1.0) for n, each in enumerate(searchers)])


def test_all_documents_are_results_in_the_order_of_the_index(searcher: AnySearcher) -> None:
    ranking = searcher.rank(None, k=3)
    order = [searcher.index.doc_id(ordinal) for ordinal in range(4)]
    assert list(ranking.doc_ids) == order[:3]
    assert ranking.scores.tolist() == [0, 0, 0]


def test_they_are_sorted_and_limited(searcher: AnySearcher) -> None:
    assert searcher.rank(None, sort="price").doc_ids == ("b", "a", "c", "d")
    assert searcher.rank(None, sort="-price", filter="price < 20", exclude="b").doc_ids == ("a",)
    assert set(searcher.rank(None, must="tea").doc_ids) == {"a", "b"}
    assert searcher.rank(None, candidates=["d", "b", "a"], filter="price > 0").doc_ids == ("b", "a")
    assert searcher.count(None, exclude=["a", "unknown"]) == 3
