"""Rules for queries: pinned and banned documents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise import Document, Query, Ranking, Run, build_index, open_writer
from termwise.collection import read_run, write_run
from termwise.errors import ParameterError, UnknownNameError, WeightError
from termwise.search import QueryRule, Relevance, Search, Searcher
from termwise.search.query_rules import QueryRules
from termwise.text import WordPieceAnalyzer, make_analyzer

DOCUMENTS = [
    Document("a", "red sofa", {"price": 30, "brand": "x"}),
    Document("b", "sofa, sofa", {"price": 20, "brand": "x"}),
    Document("c", "a sofa bed of wood", {"price": 10, "brand": "y"}),
    Document("d", "lamp", {"price": 5, "brand": "y"}),
    Document("e", "red lamp", {"price": 1}),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes") / "i"
    return build_index(DOCUMENTS, folder, attributes={"price": "float", "brand": "keyword"}, store_text=True)


def search(searcher, query, *rules, **options):
    return searcher.search(Search(query, relevance=Relevance(rules=rules), **options))


ENGLISH = make_analyzer("english")

PIN = QueryRule("sofa", pin=["d", "c", "absent"], ban=["b"])


def test_which_rules_match():
    def of(rule, query, analyzer=ENGLISH):
        return bool(QueryRules((rule,)).for_query(query, analyzer).pinned)

    exact, prefix = QueryRule("Red sofa", pin=["a"]), QueryRule("red sofa", "prefix", ["a"])
    assert [
        of(exact, query) for query in ("red SOFAS", "the red sofa", "sofa red", "red", "red sofa bed")
    ] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert [of(prefix, query) for query in ("red sofas", "red sofa bed", "big red sofa", "red")] == [
        True,
        True,
        False,
        False,
    ]
    assert not of(QueryRule("the", pin=["a"]), "the")
    assert not of(QueryRule("the", "prefix", ["a"]), "")
    pieces = WordPieceAnalyzer.shipped()
    assert [
        of(QueryRule("kettle", "prefix", ["a"]), each, pieces) for each in ("kettle set", "kettlebell")
    ] == [
        True,
        False,
    ]
    assert not of(QueryRule("\U0001f984", pin=["a"]), "\U0001f40d", pieces)


def test_several_rules():
    rules = QueryRules(
        (
            QueryRule("red", "prefix", ["a", "x"], ["z"]),
            QueryRule("red sofa", "prefix", ["b", "a"]),
            QueryRule("red sofa", pin=["c", "d"], ban=["b"]),
        )
    )
    found = rules.for_query("red sofas", ENGLISH)
    assert found.pinned == {"c": "red sofa", "d": "red sofa", "a": "red sofa", "x": "red"}
    assert list(found.pinned) == ["c", "d", "a", "x"]
    assert found.banned == {"b", "z"}


def test_pinned_and_banned_documents(searcher):
    results = search(searcher, "sofas", PIN)
    plain = searcher.rank("sofas")
    scores = dict(zip(plain.doc_ids, plain.scores.tolist(), strict=True))
    assert plain.doc_ids == ("b", "a", "c")
    ranking = results.ranking
    assert (ranking.doc_ids, ranking.pinned) == (("d", "c", "a"), 2)
    assert ranking.scores.tolist() == [0.0, scores["c"], scores["a"]]
    assert [hit.pinned for hit in results.hits()] == [True, True, False]
    assert (results.count(), results.unknown_pins) == (3, ("absent",))
    explained = results.explain(["a", "c", "d"])
    assert [each.pinned for each in explained] == ["", "sofa", "sofa"]
    assert [each.score for each in explained] == [scores["a"], scores["c"], 0.0]
    assert "pinned by the rule for: sofa" in explained[1].to_text()
    # Another query, or a document as the query, has no rule.
    assert search(searcher, "red sofa", PIN).ranking.pinned == 0
    assert search(searcher, None, PIN, like="a").ranking.pinned == 0
    assert search(searcher, None, PIN).ranking.doc_ids == ("a", "b", "c", "d", "e")


def test_conditions_and_order(searcher):
    def ids(**options):
        return search(searcher, "sofa", PIN, **options).ranking.doc_ids

    assert ids(filter="price >= 10") == ("c", "a")
    assert ids(must="sofa") == ("c", "a")
    assert ids(must_not="lamp") == ("c", "a")
    assert ids(exclude="d") == ("c", "a")
    assert ids(sort="-price") == ("d", "c", "a")
    assert ids(collapse="brand") == ("d", "a")
    assert ids(k=1) == ("d",)
    assert search(searcher, "sofa", PIN, filter="price >= 10").count() == 2
    assert ids(candidates=["e", "a", "b", "c"]) == ("c", "a", "e")
    facets = search(searcher, "sofa", PIN, facets=["brand"]).facets()["brand"]
    assert {each.value: each.documents for each in facets} == {"x": 1, "y": 2}
    assert search(searcher, "+sofa", PIN, syntax=True).ranking.doc_ids == ("c", "a")


def test_a_deleted_document_is_not_pinned(tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i", attributes={"price": "float", "brand": "keyword"})
    with open_writer(tmp_path / "i") as writer:
        writer.delete(["d"])
    results = search(searcher.refresh(), "sofa", PIN)
    assert results.ranking.doc_ids == ("c", "a")
    assert results.unknown_pins == ("d", "absent")


def test_many_queries(searcher, tmp_path):
    queries = [Query("1", "sofa"), Query("2", "red")]
    run = searcher.rank_many(queries, search=Search(relevance=Relevance(rules=[PIN])))
    assert run["1"] == search(searcher, Query("1", "sofa"), PIN, k=1000).ranking
    assert run["2"].pinned == 0
    # A file keeps the order: readers sort by score.
    write_run(run, tmp_path / "run")
    read = read_run(tmp_path / "run")
    assert [each.doc_ids for each in read] == [each.doc_ids for each in run]
    top = float(run["1"].scores.max())
    assert read["1"].scores.tolist() == [top + 2, top + 1, run["1"].scores[2]]


def test_a_mixture(searcher, tmp_path):
    other = build_index(DOCUMENTS, tmp_path / "jm", model="jm", analyzer="whitespace")
    mixture = Searcher.mix({"bm25": searcher, "jm": other}, [0.5, 0.5])
    results = search(mixture, "sofas", PIN)
    assert results.ranking.doc_ids == ("d", "c", "a")
    assert results.count() == 3
    for explanation, score in zip(results.explain(), results.ranking.scores.tolist(), strict=True):
        total = explanation.constant + math.fsum(part.score for part in explanation.contributions)
        assert (explanation.score, total) == (score, pytest.approx(score, abs=1e-9))


DOC_IDS = st.lists(st.sampled_from([*"abcde", "absent"]), max_size=4)


@given(
    pin=DOC_IDS,
    ban=DOC_IDS,
    query=st.sampled_from(["sofa", "red lamp", "sofa bed", "none"]),
    size=st.integers(1, 4),
    sort=st.sampled_from([None, "price", "-price"]),
    collapse=st.sampled_from([None, "brand"]),
    filter=st.sampled_from([None, "price > 4"]),
    match=st.sampled_from(["exact", "prefix"]),
)
def test_pages_are_the_whole_ranking(searcher, pin, ban, query, size, sort, collapse, filter, match):
    rules = [QueryRule(query, match, pin, ban)] if pin or ban else []
    options = {"sort": sort, "collapse": collapse, "filter": filter}
    whole = search(searcher, query, *rules, k=100, **options)
    ids = whole.ranking.doc_ids
    paged, pinned = [], []
    for offset in range(0, 10, size):
        page = search(searcher, query, *rules, k=size, offset=offset, **options)
        paged += page.ranking.doc_ids
        pinned += [hit.doc_id for hit in page.hits(texts=False) if hit.pinned]
    assert tuple(paged) == ids
    assert len(set(ids)) == len(ids)
    assert not set(ids) & set(ban)
    assert tuple(pinned) == ids[: whole.ranking.pinned]
    matching = searcher.search(Search(query, k=100, exclude=ban, **options)).ranking.doc_ids
    kept = [each for each in dict.fromkeys(pin) if each not in ban and each != "absent"]
    kept = [each for each in kept if filter is None or each != "e"]
    if collapse is None:
        assert list(ids) == [*kept, *(each for each in matching if each not in kept)]
        assert whole.count() == len(ids)


def test_rules_are_checked():
    with pytest.raises(ParameterError, match="query cannot have"):
        QueryRule(" ", pin=["a"])
    with pytest.raises(UnknownNameError, match="match of a rule"):
        QueryRule("a", "suffix", ["a"])
    with pytest.raises(ParameterError, match="pins or bans"):
        QueryRule("a")
    with pytest.raises(ParameterError, match="pin"):
        QueryRule("a", pin="p1")
    with pytest.raises(ParameterError, match="at most 1,000"):
        QueryRule("a", pin=list(map(str, range(1001))))
    with pytest.raises(ParameterError, match="at most 10,000"):
        Relevance(rules=[PIN] * 10_001)


def test_pinned_documents_of_a_ranking():
    ranking = Ranking(["a", "b", "c"], [1.0, 5.0, 2.0], pinned=1)
    assert (ranking.top(2).pinned, ranking.after(1).pinned, ranking.after(2).pinned) == (1, 0, 0)
    assert "the first 1 pinned" in ranking._repr_html_()
    assert ranking != Ranking(["a", "b", "c"], [5.0, 5.0, 2.0])
    with pytest.raises(WeightError, match="must not increase"):
        Ranking(["a", "b", "c"], [1.0, 2.0, 5.0], pinned=1)
    with pytest.raises(WeightError, match="not a number"):
        Ranking(["a"], [np.nan], pinned=1)
    assert Run([ranking])[""] is ranking
