"""The request of a search, and the results that it has in an index and in a mixture."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise import Document, Query, Results, Search, Searcher
from termwise.engine import QuerySettings
from termwise.errors import ParameterError
from termwise.search.request import MOST_RESULTS
from termwise.serve.requests import SearchRequest

TEAS = [
    Document("a", "green tea", {"kind": "tea", "price": 4}),
    Document("b", "tea of the north", {"kind": "tea", "price": 9}),
    Document("c", "a pot for tea", {"kind": "pot", "price": 20}),
    Document("d", "coffee", {"kind": "coffee", "price": 7}),
]


@pytest.fixture(params=["index", "mixture"])
def searcher(request: pytest.FixtureRequest, tmp_path: Path) -> Searcher:
    found = {
        name: termwise.build_index(
            TEAS, tmp_path / name, model=name, analyzer="standard", attributes="all", store_text=True
        )
        for name in ("bm25", "jm")
    }
    return found["bm25"] if request.param == "index" else Searcher.mix(found, [0.5, 0.5])


def test_a_request_is_checked_and_made_equal_when_it_is_made() -> None:
    search = Search(Query("q1", "tea"), must="green", must_not=["pot"], exclude=["a", "a"], k=10**20)
    assert (search.must, search.must_not, search.exclude) == (("green",), ("pot",), frozenset({"a"}))
    assert (search.text, search.query_id, search.k) == ("tea", "q1", MOST_RESULTS)
    assert (Search().text, Search().query_id) == ("", "")
    with pytest.raises(FrozenInstanceError):
        search.k = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": "tea", "like": "a"}, "one of query, like and like_text"),
        ({"query": "tea", "like_text": "a pot"}, "one of query, like and like_text"),
        ({"like": "a", "like_text": "a pot"}, "one of query, like and like_text"),
        ({"query": 3}, "a query is a string"),
        ({"like": 3}, "like cannot have this value"),
        ({"query": "tea", "k": 0}, "1 or more"),
        ({"query": "tea", "k": True}, "1 or more"),
        ({"query": "tea", "offset": -1}, "offset cannot have this value"),
        ({"query": "tea", "must": 3}, "must cannot have this value"),
        ({"query": "tea", "must_not": [3]}, "must_not cannot have this value"),
        ({"query": "tea", "exclude": 3}, "excluded documents are identifiers"),
        ({"query": "tea", "candidates": "a"}, "candidates cannot have this value"),
        ({"query": "tea", "collapse_size": 2}, "needs an attribute"),
        ({"query": "tea", "collapse": "kind", "collapse_size": 0}, "collapse_size cannot have this value"),
        ({"query": "tea", "collapse_size": True}, "collapse_size cannot have this value"),
        ({"facets": "kind"}, "facets cannot have this value"),
        ({"facets": ["price"], "ranges": {"price": {"low": (None, 5)}}}, "other fields than"),
        ({"facets": ["kind"], "facet_values": 0}, "facet_values cannot have this value"),
        ({"query": "tea", "approximate": 0}, "number of windows"),
        ({"query": "tea", "weighting": {"max_terms": 3}}, "is a QuerySettings"),
        ({"like": "a", "fuzzy": True}, "fuzzy cannot be combined with like"),
        ({"like_text": "a pot", "exclude": "a"}, "exclude cannot be combined with like_text"),
        ({"like": "a", "candidates": ["b"]}, "candidates cannot be combined with like"),
        ({"candidates": ["b"], "facets": ["kind"]}, "candidates cannot be combined with facets"),
        ({"weights": {"tea": 1.0}, "prefix": True}, "weights cannot be combined with prefix"),
        ({"weights": {"tea": 1.0}, "like": "a"}, "weights cannot be combined with like"),
        (
            {"weights": {"tea": 1.0}, "weighting": QuerySettings(max_terms=1)},
            "weights cannot be combined with weighting",
        ),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Search(**options)


def test_every_option_of_the_service_is_one_of_a_search_or_of_its_answer() -> None:
    shown = {"total", "show", "text", "highlight", "excerpt_length", "explain"}
    options = {each.name for each in fields(Search)}
    assert set(SearchRequest.model_fields) - shown <= options
    assert options - set(SearchRequest.model_fields) == {"weighting", "approximate"}


def test_results_are_parts_of_one_search(searcher: Searcher) -> None:
    found = searcher.search(Search("tea", filter="price < 15", facets=["kind"], k=1, offset=1))
    assert isinstance(found, Results)
    whole = searcher.rank("tea", filter="price < 15")
    assert len(whole) == 2
    assert found.ranking.doc_ids == whole.doc_ids[1:]
    assert (found.count(), found.facets()) == (2, {"kind": [("tea", 2)]})
    assert [each.score for each in found.explain()] == found.ranking.scores.tolist()
    assert [hit.text for hit in found.hits()] == [snippet.text for snippet in found.snippets()]
    assert found.ranking is found.ranking
    assert searcher.rank("tea", filter="price < 15", offset=1, k=1) == found.ranking


def test_operators_of_a_query_are_conditions(searcher: Searcher) -> None:
    found = searcher.search(Search('+tea -pot kind:tea "green tea"', syntax=True, must_not="north"))
    assert (found.text, found.must, found.must_not) == (
        "tea green tea",
        ("tea", "green tea"),
        ("north", "pot"),
    )
    assert found.ranking.doc_ids == ("a",)
    assert searcher.search(found.without_conditions()).ranking == searcher.rank("tea green tea")
    listed = searcher.search(Search("kind:pot", syntax=True, filter="price > 1"))
    assert (listed.ranking.doc_ids, listed.ranking.scores.tolist(), listed.count()) == (("c",), [0.0], 1)


def test_the_search_of_many_queries_has_conditions_only(searcher: Searcher) -> None:
    queries = [Query("q", "tea"), Query("r", "pot")]
    run = searcher.rank_many(queries, search=Search(filter="price < 15", collapse="kind"), k=9)
    assert len(run["q"]) == 1
    for wrong in ({"query": "tea"}, {"like": "a"}, {"offset": 1}, {"sort": "price"}, {"exclude": "a"}):
        with pytest.raises(ParameterError, match="has conditions, collapsing and weighting only"):
            searcher.rank_many(queries, search=Search(**wrong))
    with pytest.raises(ParameterError, match="search cannot have this value"):
        searcher.search("tea")  # type: ignore[arg-type]
    timed = searcher.timed_run(queries, k=2)
    assert timed.run == searcher.rank_many(queries, k=2)
    assert timed.encoding.shape == timed.scoring.shape == (2,)


def test_weights_of_terms_replace_those_of_a_query(searcher: Searcher) -> None:
    search = Search(weights={"tea": 2.0, "unknown": 1.0})
    if len(searcher.parts) > 1:
        with pytest.raises(ParameterError, match="need an index with one model"):
            searcher.search(search)
        return
    assert searcher.search(search).ranking == searcher.rank("tea tea")
    assert searcher.rank(searcher.encode("tea tea")) == searcher.rank("tea tea")
