"""Queries of OpenSearch against their meaning in plain Python: each has these results, or is refused."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

import termwise
from termwise.errors import TermwiseError
from termwise.search import Searcher
from termwise.serve import ServiceSettings
from termwise.serve.errors import status_of
from termwise.serve.indexes import OpenIndex
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.query import CLAUSES
from termwise.serve.opensearch.search import count, explain, search
from termwise.serve.opensearch.search_body import BODY_KEYS

Query = dict[str, Any]

WORDS = ["green", "black", "tea", "pot", "of"]
TEXTS = [
    "green tea",
    "tea green tea",
    "black tea pot",
    "pot of tea",
    "pot",
    "green pot black",
    "of",
    "black green",
]
DOCUMENTS = {
    f"d{n}": (
        text,
        {name: value for name, value in (("kind", "ab "[n % 3]), ("price", n % 4 or None)) if value},
    )
    for n, text in enumerate(TEXTS * 2)
}


def _built(folder: Path, model: str) -> Searcher:
    documents = [termwise.Document(name, text, attributes) for name, (text, attributes) in DOCUMENTS.items()]
    return termwise.build_index(documents, folder / model, model=model, analyzer="standard", store_text=True)


@pytest.fixture(scope="module")
def served() -> Iterator[OpenIndex]:
    with tempfile.TemporaryDirectory() as folder:
        yield OpenIndex("shop", _built(Path(folder), "bm25"))


def matches(query: Query, name: str) -> bool:
    """Whether a document matches a query in OpenSearch."""
    (kind, body), (text, attributes) = next(iter(query.items())), DOCUMENTS[name]
    words = text.split()
    if kind == "match_all":
        return True
    if kind == "bool":
        should, required = body.get("should", []), [*body.get("must", []), *body.get("filter", [])]
        least = body.get("minimum_should_match", 0 if required else 1) if should else 0
        return (
            all(matches(each, name) for each in required)
            and not any(matches(each, name) for each in body.get("must_not", []))
            and sum(matches(each, name) for each in should) >= least
        )
    if kind == "ids":
        return name in body["values"]
    if kind == "query_string":
        signs = [each[0] if each[0] in "+-" else "" for each in body["query"].split()]
        terms = [{"match": {"text": each.strip("+-")}} for each in body["query"].split()]
        names = {"": "should", "+": "must", "-": "must_not"}
        clauses: dict[str, list[Query]] = {}
        for sign, term in zip(signs, terms, strict=True):
            clauses.setdefault(names[sign], []).append(term)
        return matches({"bool": clauses}, name)
    if kind == "exists":
        return body["field"] in attributes
    (field, value), = body.items()  # fmt: skip
    if kind == "term":
        return bool(attributes.get(field) == value)
    if kind == "terms":
        return attributes.get(field) in value
    if kind == "range":
        return field in attributes and value["gte"] <= attributes[field] < value["lt"]
    if kind == "prefix":
        return str(attributes.get(field, "-")).startswith(value)
    if kind == "match_phrase":
        return f" {value} " in f" {text} "
    asked = value if isinstance(value, dict) else {"query": value}
    found = [word in words for word in asked["query"].split()]
    return all(found) if asked.get("operator") == "and" else any(found)


TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
LEAVES: st.SearchStrategy[Query] = st.one_of(
    st.just({"match_all": {}}),
    st.builds(
        lambda text, more: {"match": {"text": {"query": text, **more}}},
        TEXT,
        st.sampled_from([{}, {"operator": "and"}, {"boost": 2}]),
    ),
    TEXT.map(lambda text: {"match": {"text": {"query": text}}}),
    TEXT.map(lambda text: {"match_phrase": {"text": text}}),
    st.sampled_from("ab").map(lambda value: {"term": {"kind": value}}),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=2).map(lambda values: {"terms": {"kind": values}}),
    st.integers(0, 4).map(lambda low: {"range": {"price": {"gte": low, "lt": 3}}}),
    st.sampled_from(["a", "", "c"]).map(lambda value: {"prefix": {"kind": value}}),
    st.lists(st.tuples(st.sampled_from(["", "+", "-"]), st.sampled_from(WORDS)), min_size=1, max_size=3).map(
        lambda parts: {"query_string": {"query": " ".join(map("".join, parts))}}
    ),
    st.sampled_from(["kind", "price"]).map(lambda field: {"exists": {"field": field}}),
    st.lists(st.sampled_from(list(DOCUMENTS)), unique=True, max_size=4).map(
        lambda ids: {"ids": {"values": ids}}
    ),
)
QUERIES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda clauses, least: {"bool": {**clauses, **least}},
        st.fixed_dictionaries(
            {},
            optional={
                name: st.lists(inner, min_size=1, max_size=2)
                for name in ("must", "should", "must_not", "filter")
            },
        ),
        st.sampled_from([{}, {}, {"minimum_should_match": 1}, {"minimum_should_match": 0}]),
    ),
    max_leaves=6,
)


def test_a_query_has_the_results_of_opensearch_or_is_refused(served: OpenIndex) -> None:
    counted: Counter[str] = Counter()

    @settings(max_examples=400, deadline=None)
    @given(query=QUERIES)
    def compare(query: Query) -> None:
        expected = {name for name in DOCUMENTS if matches(query, name)}
        try:
            answer = search(served, {"query": query, "size": 100}, {}, ServiceSettings()).body
        except UnsupportedError:
            counted["refused"] += 1
            return
        counted["answered"] += 1
        hits = {hit["_id"]: hit["_score"] for hit in answer["hits"]["hits"]}
        assert set(hits) == expected
        assert answer["hits"]["total"]["value"] == len(expected)
        assert count(served, {"query": query}, ServiceSettings()).body["count"] == len(expected)
        for name in ("d0", "d3"):
            explained = explain(served, name, {"query": query}, None, ServiceSettings()).body
            assert explained["matched"] == (name in expected)
            assert explained["explanation"]["value"] == pytest.approx(hits.get(name, 0.0))

    compare()
    assert counted["answered"] > counted["refused"] > 0


KEYS = st.sampled_from(
    [
        *BODY_KEYS,
        *CLAUSES,
        *[
            "must",
            "should",
            "must_not",
            "filter",
            "minimum_should_match",
            "operator",
            "fuzziness",
            "text",
            "kind",
            "price",
            "query_text",
        ],
        *[
            "query_tokens",
            "value",
            "values",
            "gte",
            "lt",
            "field",
            "fields",
            "order",
            "missing",
            "includes",
            "pre_tags",
            "ranges",
            "to",
            "key",
            "keyed",
        ],
        *["functions", "weight", "exp", "origin", "scale", "decay", "score_mode", "default_operator"],
        *["number_of_fragments", "boost", "", "*", "a"],
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2.5, 10**30, 1e308, 1e-320]),
    st.sampled_from(
        [
            "tea",
            "",
            "and",
            "AUTO",
            "kind",
            "price",
            "text",
            "_score",
            "asc",
            "*",
            "text^2",
            "\x00",
            "sum",
            "te*",
            '(a:"b" -c',
        ]
    ),
)
BODIES = st.dictionaries(
    st.sampled_from(BODY_KEYS),
    st.recursive(
        SCALARS | QUERIES,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=2)),
        max_leaves=6,
    ),
    max_size=3,
)


@settings(max_examples=400, deadline=None)
@given(body=BODIES, kind=st.sampled_from(CLAUSES), inside=BODIES)
def test_any_body_is_answered_or_refused_with_an_error(
    served: OpenIndex, body: Query, kind: str, inside: Query
) -> None:
    for each in (body, {"query": {kind: body}}, {"query": {kind: {"text": inside}}}):
        refusal = None
        try:
            to_json(search(served, each, {}, ServiceSettings()).body, inf_nan_mode="null")
        except TermwiseError as error:
            refusal = error
        assert refusal is None or status_of(refusal) == 400


def test_a_mixture_has_the_same_results(tmp_path: Path, served: OpenIndex) -> None:
    parts = {name: _built(tmp_path, name) for name in ("bm25", "jm")}
    mixture = OpenIndex("shop", Searcher.mix(parts, [0.5, 0.5]))
    should = [{"match": {"text": "black"}}, {"match": {"text": "green"}}]
    for query in (
        {"match_all": {}},
        {"match": {"text": {"query": "green tea", "operator": "and"}}},
        {"bool": {"should": should, "filter": [{"term": {"kind": "a"}}], "minimum_should_match": 1}},
        {"bool": {"must": should, "must_not": [{"match_phrase": {"text": "black green"}}]}},
    ):
        expected = {name for name in DOCUMENTS if matches(query, name)}
        answer = search(mixture, {"query": query, "size": 100, "explain": True}, {}, ServiceSettings()).body
        assert {hit["_id"] for hit in answer["hits"]["hits"]} == expected
        for hit in answer["hits"]["hits"]:
            details = sum(part["value"] for part in hit["_explanation"]["details"])
            assert details == pytest.approx(hit["_score"], abs=1e-9)
    for query in (
        {"neural_sparse": {"text": {"query_tokens": {"tea": 1}}}},
        {"bool": {"should": [should[0], {"match": {"text": {"query": "tea", "boost": 2}}}]}},
    ):
        with pytest.raises(UnsupportedError, match="mixture"):
            search(mixture, {"query": query}, {}, ServiceSettings())
