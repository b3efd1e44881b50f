"""Explanations of steered searches are sums: with boosts, synonyms, rules, weights of parts, and identifiers.

The score of an explanation is that of the ranking, bit for bit. In an index of bm25, so is the sum of its rows,
those of the query and those of the boosts added up separately, as the search does. In a mixture, so is the sum of its
parts and the boosts; contributions of terms add up to it within rounding.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import termwise
from termwise import Document
from termwise.explain.explanation import Explanation
from termwise.search import Relevance, Search, Searcher

WORDS = ["tea", "green", "pot", "kettle", "mint", "AB-1200/X", "CD-77/Y", "12345678"]

texts = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
attributes = st.fixed_dictionaries(
    {},
    optional={
        "sold": st.integers(-2, 1000),
        "price": st.floats(0, 100, width=32),
        "kind": st.sampled_from(["a", "b"]),
        "on": st.sampled_from(["2026-01-01", "2025-07-15"]),
    },
)
weights = st.floats(-3, 3, allow_nan=False).map(lambda number: round(number, 3))
boosts = st.lists(
    st.one_of(
        st.builds(
            lambda w, s: {"attribute": "sold", "weight": w, "saturation": s}, weights, st.integers(1, 300)
        ),
        st.builds(
            lambda w, n: {"attribute": "price", "weight": w, "near": n, "distance": 7.5},
            weights,
            st.integers(0, 99),
        ),
        st.builds(lambda w: {"attribute": "kind", "weight": w, "values": ["a"]}, weights),
        st.builds(
            lambda w: {"attribute": "on", "weight": w, "half_life": "40 days", "now": "2026-02-01"}, weights
        ),
    ),
    max_size=4,
)
lines = st.lists(
    st.sampled_from(
        ["tea, mint", "pot, kettle ^0.35", "green => mint, pot", "green tea, kettle", "kettle, AB-1200/X"]
    ),
    max_size=3,
    unique=True,
)
ids = st.lists(st.sampled_from([f"d{number}" for number in range(8)]), max_size=2)
rules = st.lists(
    st.builds(
        lambda query, pin, ban: {"query": query, "match": "prefix", "pin": pin, "ban": ban},
        st.sampled_from(WORDS),
        ids,
        ids,
    ).filter(lambda rule: bool(rule["pin"] or rule["ban"])),
    max_size=2,
)
relevances = st.fixed_dictionaries(
    {"boosts": boosts, "synonyms": lines, "rules": rules, "synonym_weight": st.sampled_from([0.1, 0.7, 1])}
)
parts = st.fixed_dictionaries({}, optional={"bm25": weights, "other": weights})
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
collections = st.lists(st.tuples(texts, attributes), min_size=1, max_size=7)

FULL: dict[str, Any] = {
    "boosts": [
        {"attribute": "sold", "weight": 1.3, "saturation": 7},
        {"attribute": "kind", "weight": -0.1, "values": ["a"]},
    ],
    "synonyms": ["tea, mint", "pot => kettle"],
    "rules": [{"query": "tea", "match": "prefix", "pin": ["d0"], "ban": ["d2"]}],
}
SHOP: list[tuple[str, dict[str, Any]]] = [
    ("green pot", {"sold": 3}),
    ("tea AB-1200/X", {"kind": "a", "price": 3.3}),
    ("tea", {"sold": 12}),
    ("mint and kettle", {"kind": "b", "sold": 7, "on": "2026-01-01"}),
]


def documents(collection: list[tuple[str, dict[str, Any]]]) -> list[Document]:
    return [Document(f"d{number}", text, values) for number, (text, values) in enumerate(collection)]


def steered(searcher: Searcher, body: dict[str, Any], query: str, **options: Any) -> list[Explanation]:
    """Search, and compare the scores of explanations with those of the ranking."""
    known = [boost for boost in body["boosts"] if boost["attribute"] in searcher.schema]
    relevance = Relevance.of({**body, "boosts": known})
    for _ in range(2):  # the second search has the boosts of all documents
        results = searcher.search(Search(query, k=20, relevance=relevance, **options))
        explanations = results.explain()
        assert [each.doc_id for each in explanations] == list(results.ranking.doc_ids)
        assert [each.score for each in explanations] == results.ranking.scores.tolist()
        for place, each in enumerate(explanations):
            assert bool(each.pinned) == (place < results.ranking.pinned)
            of_boosts = [part for part in each.contributions if part.origin == "boost"]
            assert [part.term for part in of_boosts] == [boost["attribute"] for boost in known]
            assert all(abs(part.score - part.query_weight * part.weight) <= 2.0**-33 for part in of_boosts)
    return explanations


def boosted(explanation: Explanation, score: float) -> float:
    """Add the boosts to a score: their sum, in their order."""
    return score + sum((part.score for part in explanation.contributions if part.origin == "boost"), 0.0)


SETTINGS = settings(
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


@settings(SETTINGS, max_examples=60)
@given(collections, relevances, queries)
@example(SHOP, FULL, "tea pot")
def test_in_an_index(collection: list[tuple[str, dict[str, Any]]], body: dict[str, Any], query: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        searcher = termwise.build_index(documents(collection), folder, model="bm25", store_text=True)
        for fuzzy in (False, True):
            for explanation in steered(searcher, body, query, fuzzy=fuzzy):
                of_query = [part.score for part in explanation.contributions if part.origin != "boost"]
                assert explanation.score == boosted(explanation, explanation.constant + sum(of_query))


@pytest.mark.parametrize("kind", ["counts", "instant"])
@settings(SETTINGS, max_examples=25)
@given(collections, relevances, parts, queries)
@example(SHOP, FULL, {"bm25": 0.3}, "tea AB-1200/X")
@example(SHOP, FULL, {"bm25": 0.3, "other": 0.7}, "tea pot")
def test_in_a_mixture(
    kind: str,
    collection: list[tuple[str, dict[str, Any]]],
    body: dict[str, Any],
    weights: dict[str, float],
    query: str,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if kind == "instant":
            searcher = termwise.build_index(documents(collection), folder, model="instant", store_text=True)
        else:
            models = ("bm25", "jm")
            built = {
                model: termwise.build_index(documents(collection), Path(folder) / model, model=model)
                for model in models
            }
            searcher = Searcher.mix(built, [0.4, 0.6])
        names = [part.name for part in searcher.parts]
        own = dict(zip(names, [weights.get("bm25", 0.5), weights.get("other", 0.5)], strict=True))
        if not any(own.values()):
            return
        for explanation in steered(searcher, {**body, "parts": own}, query):
            total = 0.0
            for part in explanation.parts:
                total += part.weight / part.deviation * (part.score - part.mean)
            assert explanation.score == boosted(explanation, total)
            summed = explanation.constant + sum(part.score for part in explanation.contributions)
            assert explanation.score == pytest.approx(summed, abs=1e-6)
            for part in explanation.parts:
                assert part.weight == own[part.name] or part.reason
            if query == "tea AB-1200/X" and collection == SHOP:
                assert any(part.reason for part in explanation.parts) == (kind == "instant")
                assert sum(part.weight for part in explanation.parts) == pytest.approx(sum(own.values()))
