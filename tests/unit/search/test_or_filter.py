"""Documents that are results beside the matches of a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise.errors import ParameterError
from termwise.search import Boost, Relevance, Search, Searcher

SHOP = [
    termwise.Document("a", "green tea", {"sku": "AB-1", "price": 4}),
    termwise.Document("b", "a pot", {"sku": "AB-2", "price": 20}),
    termwise.Document("c", "black tea", {"sku": "AB-3", "price": 5}),
    termwise.Document("d", "a cup", {"price": 3}),
]


@pytest.fixture(scope="module", params=["bm25", "dirichlet", "instant"])
def shop(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Searcher:
    folder: Path = tmp_path_factory.mktemp("shop") / "shop.tw"
    return termwise.build_index(SHOP, folder, model=request.param, store_text=True)


def found(shop: Searcher, query: str, **options: object) -> set[str]:
    search = Search(query, only_words=True, **options)  # type: ignore[arg-type]
    results = shop.search(search)
    names = set(results.ranking.doc_ids)
    assert results.count() == len(names) == results.length()
    assert all(results.is_match(name) for name in names)
    return names


def test_results_are_those_of_the_query_or_the_condition(shop: Searcher) -> None:
    assert found(shop, "tea", or_filter='sku = "AB-2"') == {"a", "b", "c"}
    assert found(shop, "tea", or_filter='sku = "AB-1"') == {"a", "c"}
    assert found(shop, "AB-2", or_filter='sku = "AB-2"') == {"b"}
    assert found(shop, "tea", or_filter='sku = "AB-2"', filter="price < 5") == {"a"}
    assert found(shop, "tea", or_filter='sku = "AB-2"', exclude=["a", "b"]) == {"c"}
    assert found(shop, "tea", or_filter="price > 0", must_not=["cup"]) == {"a", "b", "c"}
    assert found(shop, "tea", or_filter="price > 100") == {"a", "c"}


def test_boosts_put_the_documents_of_the_condition_first(shop: Searcher) -> None:
    relevance = Relevance((Boost("sku", 1000.0, values=["AB-2"]),))
    results = shop.search(Search("tea", or_filter='sku = "AB-2"', relevance=relevance, k=1))
    assert results.ranking.doc_ids == ("b",)
    (explanation,) = results.explain()
    assert explanation.score == pytest.approx(results.ranking.scores[0])
    assert results.matching()[0] in (None, "words")


def test_scores_of_the_matches_stay_the_same(shop: Searcher) -> None:
    plain = shop.search(Search("tea", only_words=True)).ranking
    both = shop.search(Search("tea", only_words=True, or_filter="price = 20")).ranking
    scores = dict(zip(both.doc_ids, both.scores.tolist(), strict=True))
    assert [scores[name] for name in plain.doc_ids] == pytest.approx(plain.scores.tolist())


def test_it_is_for_a_query() -> None:
    given: tuple[dict[str, Any], ...] = ({}, {"query": "tea", "candidates": ["a"]}, {"like": "a"})
    for options in given:
        with pytest.raises(ParameterError, match="or_filter"):
            Search(or_filter="price = 1", **options)
