"""Rankings of all documents, without a query."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise.search import Search, Searcher

TEAS = [
    termwise.Document("a", "green tea", {"price": 12}),
    termwise.Document("b", "black tea", {"price": 7}),
    termwise.Document("c", "clay pot", {"price": 40}),
    termwise.Document("d", "mint"),
]


@pytest.fixture(params=["index", "mixture"])
def searcher(request: pytest.FixtureRequest, tmp_path: Path) -> Searcher:
    searchers = [
        termwise.build_index(TEAS, tmp_path / f"{name}.tw", model=name, store_text=True)
        for name in ("bm25", "jm")
    ]
    if request.param == "index":
        return searchers[0]
    return Searcher.mix({f"p{n}": each for n, each in enumerate(searchers)}, [1.0, 1.0])


def test_all_documents_are_results_in_the_order_of_the_index(searcher: Searcher) -> None:
    ranking = searcher.rank(None, k=3)
    order = [searcher.index.doc_id(ordinal) for ordinal in range(4)]
    assert list(ranking.doc_ids) == order[:3]
    assert ranking.scores.tolist() == [0, 0, 0]


def test_they_are_sorted_and_limited(searcher: Searcher) -> None:
    assert searcher.rank(None, sort="price").doc_ids == ("b", "a", "c", "d")
    assert searcher.rank(None, sort="-price", filter="price < 20", exclude="b").doc_ids == ("a",)
    assert set(searcher.rank(None, must="tea").doc_ids) == {"a", "b"}
    assert searcher.rank(None, candidates=["d", "b", "a"], filter="price > 0").doc_ids == ("b", "a")
    assert searcher.search(Search(None, exclude=["a", "unknown"])).count() == 3


@pytest.mark.parametrize(
    "settings",
    [{}, {"model": "dirichlet"}, {"options": termwise.BuildOptions(quantiser="float32")}, {"chunk": 5}],
)
def test_matches_are_those_of_a_whole_ranking(tmp_path: Path, settings: dict[str, Any]) -> None:
    texts = [
        "green tea. black tea",
        "tea pot of clay and stone. a lid",
        "mint",
        "of",
        "stone. clay. stone pot",
    ]
    documents = [termwise.Document(f"d{n}", texts[n % 5], {"price": n % 3}) for n in range(20)]
    termwise.build_index(documents, tmp_path / "x.tw", store_text=True, **settings)
    with termwise.open_writer(tmp_path / "x.tw") as writer:
        writer.add([termwise.Document("new", "a new tea"), documents[3], termwise.Document("d0", "salt")])
        writer.delete(["d1", "d10"])
    searcher = termwise.open(tmp_path / "x.tw")
    for query in ("tea", "stone mint", "unknown", "", "of clay tea", "salt new"):
        for more in ({}, {"filter": "price < 2"}, {"must": "pot"}, {"exclude": ["d5", "new"]}):
            ranking = searcher.rank(query, k=100, **more)
            assert searcher.search(Search(query, **more)).count() == len(ranking), (query, more)
            counted = searcher.search(Search(query, facets=["price"], **more)).facets()["price"]
            expected = Counter(
                each["price"] for each in searcher.attributes(ranking.doc_ids) if "price" in each
            )
            assert {each.value: each.documents for each in counted} == expected
