"""Boosted, sorted and collapsed results against plain Python, over indexes with segments and deleted documents."""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import termwise
from termwise import Document
from termwise.attributes import Schema
from termwise.search import Boost, Relevance, Search, Searcher, boosted_matches

SCHEMA = Schema(
    {"brand": "keyword", "price": "float", "stock": "integer", "sold": "boolean", "added": "date"}
)
FIELDS = list(SCHEMA)
TEXTS = ["tea", "green tea", "tea tea pot", "pot", "green", "black tea with milk"]
VALUES = {
    "brand": st.sampled_from(["a", "b", "c", "ä", "A", ""]),
    "price": st.sampled_from([-1.5, 0.0, 0.5, 3.0, 1e300]),
    "stock": st.sampled_from([-(2**63), -1, 0, 7, 2**63 - 1]),
    "sold": st.booleans(),
    "added": st.sampled_from([datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3)]),
}
ATTRIBUTES = st.fixed_dictionaries({}, optional=VALUES)
COMMITS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 15), st.sampled_from(TEXTS), ATTRIBUTES), max_size=12),
        st.lists(st.integers(0, 15), max_size=4),
    ),
    min_size=1,
    max_size=4,
)


KEYS = st.sampled_from([*FIELDS, "_score", "_id", "_doc"])
WEIGHTS = st.sampled_from([-1.0, 0.0, 0.001, 0.3, 5.0])
BOOSTS = st.builds(
    lambda weight, shape: Boost(weight=weight, **shape),
    WEIGHTS,
    st.sampled_from(
        [
            {"attribute": "price", "saturation": 2},
            {"attribute": "stock", "saturation": 1e-3},
            {"attribute": "brand", "values": ("a", "ä", "unknown")},
            {"attribute": "sold", "values": (False,)},
        ]
    ),
)


@st.composite
def searches(draw):
    sort = draw(st.none() | st.lists(KEYS, min_size=1, max_size=3, unique=True))
    signed = sort and [key if key == "_score" else draw(st.sampled_from([key, f"-{key}"])) for key in sort]
    collapse = draw(st.none() | st.sampled_from(FIELDS))
    return {
        "query": draw(st.sampled_from(["tea", "green pot", "milk tea", "unknown"])),
        "sort": signed and draw(st.sampled_from([",".join(signed), signed])),
        "relevance": draw(st.none() | st.lists(BOOSTS, max_size=3).map(Relevance)),
        "collapse": collapse,
        "collapse_size": 1 if collapse is None else draw(st.sampled_from([1, 2, 3])),
        "filter": draw(st.sampled_from([None, "stock >= 0", 'brand = "a" or brand is missing'])),
        "must": draw(st.sampled_from([(), "tea", "pot"])),
        "exclude": draw(st.lists(st.integers(0, 15).map("d{}".format), max_size=3)),
        "k": draw(st.sampled_from([1, 2, 3, 100])),
    }


def keys_of(search):
    sort = search["sort"] or []
    return sort.split(",") if isinstance(sort, str) else sort


def boosted(boost, attributes):
    value = attributes.get(boost.attribute)
    if boost.values is not None:
        return rounded(boost.weight * (value in boost.values))
    shape = 1 / (1 + boost.saturation / value) if value is not None and value > 0 else 0.0
    return rounded(boost.weight * shape)


def rounded(number):
    return round(number * 2**32) / 2**32


def expected(every, documents, search, order, positions=None):
    """Boost, sort and collapse the ranking by score; `order` is that of equal scores, and by default of the index."""
    positions = order if positions is None else positions
    hits = [(hit.doc_id, hit.score) for hit in every if hit.doc_id not in search["exclude"]]
    boosts = () if search["relevance"] is None else search["relevance"].boosts
    hits = [
        (name, score + sum((boosted(each, documents[name]) for each in boosts), 0.0)) for name, score in hits
    ]
    hits.sort(key=lambda hit: order.index(hit[0]))
    hits.sort(key=lambda hit: -hit[1])
    for key in reversed(keys_of(search)):
        field = key.removeprefix("-")
        values = {name: documents[name].get(field) for name, _ in hits}
        if field in ("_id", "_doc"):
            values = {name: name if field == "_id" else positions.index(name) for name, _ in hits}
        if field == "_score":
            key, values = "-", dict(hits)
        present = [hit for hit in hits if values[hit[0]] is not None]
        present.sort(key=lambda hit: values[hit[0]], reverse=key.startswith("-"))
        hits = present + [hit for hit in hits if values[hit[0]] is None]
    kept, seen = [], Counter()
    for hit in hits:
        value = documents[hit[0]].get(search["collapse"])
        if value is None or seen[value] < search["collapse_size"]:
            kept.append(hit)
            seen[value] += 1
    return kept[: search["k"]]


def check_pages(searcher, search, documents, order):
    """Pages that begin after the values of the result before, with the identifier as last key, have all results."""
    keys = [*(each for each in keys_of(search) if each.removeprefix("-") != "_id"), "_id"]
    search = {**search, "sort": keys}
    whole = searcher.search(Search(**{**search, "k": 100}))
    found, after = [], None
    while (page := searcher.search(Search(**search, after=after))).ranking.doc_ids:
        found += page.ranking
        doc_id, score = found[-1].doc_id, found[-1].score
        own = {"_id": doc_id, "_doc": order.index(doc_id), "_score": score}
        names = [key.removeprefix("-") for key in keys]
        after = [own[name] if name in own else documents[doc_id].get(name) for name in names]
        assert page.count() == whole.count()
    assert found == list(whole.ranking)


@mock.patch.object(boosted_matches, "FIRST", 1)
@mock.patch.object(boosted_matches, "LEAST", 1)
@settings(max_examples=25, deadline=None)
@given(COMMITS, st.lists(searches(), min_size=8, max_size=8))
def test_results_are_those_of_plain_python(commits, wanted):
    documents = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        termwise.build_index([Document("d99", "tea", {"stock": 3})], path, attributes=SCHEMA)
        documents["d99"] = {"stock": 3}
        with termwise.open_writer(path) as writer:
            for added, deleted in commits:
                batch = {f"d{number}": (text, values) for number, text, values in added}
                writer.add(Document(doc_id, *of_document) for doc_id, of_document in batch.items())
                documents |= {doc_id: values for doc_id, (_, values) in batch.items()}
                names = {f"d{number}" for number in deleted} & set(documents)
                writer.delete(sorted(names))
                for name in names:
                    del documents[name]
                writer.commit()
        searcher = termwise.open(path)
        assert set(searcher.index.doc_ids(np.arange(len(searcher.index)))) == set(documents)
        order = searcher.index.doc_ids(np.arange(len(searcher.index)))
        for search in wanted:
            every = searcher.rank(search["query"], k=100, filter=search["filter"], must=search["must"])
            ranking = searcher.search(Search(**search)).ranking
            assert [(hit.doc_id, hit.score) for hit in ranking] == expected(every, documents, search, order)
            keys = keys_of(search)
            assert ranking.sorted_by == ",".join(keys[:-1] if keys[-1:] == ["_score"] else keys)
            for explanation in searcher.search(Search(**search)).explain():
                total = explanation.constant + sum(part.score for part in explanation.contributions)
                assert explanation.score == total
                assert explanation.score == ranking.scores[ranking.doc_ids.index(explanation.doc_id)]
            if keys and search["collapse"] is None:
                check_pages(searcher, search, documents, order)
            # The boosts of all documents are kept by now, and searches use upper bounds of them.
            assert searcher.search(Search(**search)).ranking == ranking
            candidates = every.doc_ids[::-1]
            reranked = searcher.search(Search(**search, candidates=candidates)).ranking
            again = searcher.rank(search["query"], k=100, candidates=candidates)
            assert [(hit.doc_id, hit.score) for hit in reranked] == expected(
                again, documents, search, candidates, order
            )


@mock.patch.object(boosted_matches, "FIRST", 1)
@mock.patch.object(boosted_matches, "LEAST", 1)
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(TEXTS), ATTRIBUTES), min_size=1, max_size=20),
    st.lists(
        st.tuples(st.sampled_from([None, "tea", "green pot"]), st.lists(BOOSTS, max_size=3)), max_size=8
    ),
)
def test_boosts_of_a_mixture_and_of_a_list(contents, wanted):
    documents = {f"d{number}": attributes for number, (_, attributes) in enumerate(contents)}
    with tempfile.TemporaryDirectory() as folder:
        given = [
            Document(name, contents[number][0], documents[name]) for number, name in enumerate(documents)
        ]
        parts = {
            model: termwise.build_index(given, f"{folder}/{model}", model=model, attributes=SCHEMA)
            for model in ("bm25", "jm")
        }
        for searcher in (parts["bm25"], Searcher.mix(parts, [0.4, 0.6], depth=5)):
            for query, boosts in wanted:
                plain, relevance = searcher.rank(query, k=100), Relevance(boosts)
                search = {"relevance": relevance, "exclude": [], "sort": None, "collapse": None, "k": 100}
                hits = expected(plain, documents, search, list(documents))
                for k in (1, 3, 100):
                    ranking = searcher.search(Search(query, k=k, relevance=relevance)).ranking
                    assert [(hit.doc_id, hit.score) for hit in ranking] == hits[:k]
