"""The request of a search, and the results that it has in an index and in a mixture."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import numpy as np
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
    given = {
        "candidates": np.array(["a"]),
        "facets": ["kind"],
        "offset": np.int64(2),
        "exclude": np.array(["a"]),
    }
    with pytest.raises(ParameterError):
        Search(**given)  # facets of candidates
    given["candidates"] = None
    search = Search("tea", **given, collapse_size=np.int64(1), facet_values=2**80)
    assert (search.facets, search.offset, search.exclude) == (("kind",), 2, frozenset({"a"}))
    assert type(search.offset) is int
    assert search.facet_values == MOST_RESULTS
    empty: list[str] = []
    assert Search("tea", must=empty, must_not=empty, facets=empty, exclude=empty) == Search("tea")
    names = ["a", "b"]
    search = Search("tea", candidates=names)
    names.append("c")
    assert search.candidates == ("a", "b")
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
        ({"query": "tea", "offset": None}, "offset cannot have this value"),
        ({"query": "tea", "must": None}, "must cannot have this value"),
        ({"query": "tea", "must_not": 0}, "must_not cannot have this value"),
        ({"query": "tea", "ranges": []}, "ranges cannot have this value"),
        ({"query": "tea", "ranges": None}, "ranges cannot have this value"),
        ({"facets": None}, "facets cannot have this value"),
        ({"facets": 0}, "facets cannot have this value"),
        ({"query": "tea", "fuzzy": "no"}, "fuzzy cannot have this value"),
        ({"query": "tea", "syntax": np.array([])}, "syntax cannot have this value"),
        ({"weights": ["tea"]}, "weights cannot have this value"),
        ({"weights": {1: 1.0}}, "weights cannot have this value"),
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
    defaults = SearchRequest()
    assert (
        Search(**{name: getattr(defaults, name) for name in options & set(SearchRequest.model_fields)})
        == Search()
    )
    assert defaults.search(None) == Search()


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


def test_the_number_of_matches_does_not_depend_on_the_order(searcher: Searcher) -> None:
    names = [document.doc_id for document in TEAS]
    for options in ({}, {"collapse": "kind"}, {"sort": "price"}, {"k": 1, "offset": 1}):
        assert searcher.search(Search("tea", candidates=names, **options)).count() == 4
        assert searcher.search(Search("tea", candidates=names, filter="price < 8", **options)).count() == 2
        assert searcher.search(Search("tea", **options)).count() == searcher.search(Search("tea")).count()


def test_numbers_beyond_those_of_documents(searcher: Searcher) -> None:
    found = searcher.search(Search("tea", k=2**70, offset=2**70))
    assert len(found.ranking) == 0
    assert found.hits() == []
    neighbours = [
        len(searcher.explain("tea", "a", competitors=most).competitors) for most in (9, 2**63, 10**20)
    ]
    assert len(set(neighbours)) == 1


def test_an_example_of_a_mixture_has_the_same_scores_on_each_page(tmp_path: Path) -> None:
    """The document with its text is no result, and does not change the scores of the others."""
    documents = [
        Document(f"d{n}", "tea " * (n % 5 + 1) + "pot " * (n % 3) + f"w{n}", {"n": n}) for n in range(40)
    ]
    documents.append(Document("same", "green tea pot", {"n": 1000}))
    parts = {
        name: termwise.build_index(
            documents,
            tmp_path / name,
            model=name,
            analyzer="english",
            store_text=True,
            attributes={"n": "integer"},
        )
        for name in ("bm25", "jm")
    }
    for weights in ([0.5, 0.5], [1.0, -0.4]):
        searcher = Searcher.mix(parts, weights, depth=20)
        for sort in ("n", None):
            whole = searcher.search(Search(like_text="green tea pot", sort=sort, k=100))
            assert whole.same_text == ("same",)
            assert [each.score for each in whole.explain()] == pytest.approx(whole.ranking.scores.tolist())
            pages = [
                searcher.search(Search(like_text="green tea pot", sort=sort, k=3, offset=offset)).ranking
                for offset in range(0, len(whole.ranking), 3)
            ]
            assert [each for page in pages for each in page.doc_ids] == list(whole.ranking.doc_ids)
            assert [each for page in pages for each in page.scores.tolist()] == whole.ranking.scores.tolist()


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
    assert searcher.rank_many(queries, search=Search(facets=[], exclude=[])) == searcher.rank_many(queries)
    for wrong in (
        *({"query": "tea"}, {"like": "a"}, {"offset": 1}, {"sort": "price"}, {"exclude": "a"}),
        *({"k": 2}, {"weights": {}}, {"facet_values": 3}),
    ):
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
