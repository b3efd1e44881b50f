"""Searches in the form of OpenSearch, in one process."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from starlette.testclient import TestClient
from tests.unit.serve.conftest import TEAS, served

import termwise
from termwise.attributes import Schema
from termwise.filters import ValueStatistics, value_statistics
from termwise.filters.facets import Segments
from termwise.records import Document
from termwise.serve import ServiceSettings
from termwise.serve.bodies import json_bytes
from termwise.serve.opensearch import aggregations
from termwise.serve.opensearch.routes import answered
from termwise.serve.opensearch.search import Answer
from termwise.serve.opensearch.words import Words
from termwise.text import make_analyzer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop") / "shop.tw"
    termwise.build_index(TEAS, folder, store_text=True)
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with served([str(folder)]) as client:
        yield client


def search(
    client: TestClient, query: object = None, *, index: str = "shop", **body: object
) -> dict[str, Any]:
    request = body if query is None else {"query": query, **body}
    answer = client.post(f"/{index}/_search", json=request)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def refused(client: TestClient, body: object, words: str, path: str = "/shop/_search") -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 400, answer.text
    error = answer.json()
    assert error["status"] == 400
    assert words in error["error"]["reason"]
    assert error["error"]["root_cause"][0]["type"] == error["error"]["type"]


def in_pairs(levels: int) -> dict[str, Any]:
    """Return conditions of which two are fulfilled, one of them again of such conditions, and so on."""
    others = [{"term": {"price": price}} for price in range(8)]
    inner = in_pairs(levels - 1) if levels else {"term": {"price": 9}}
    return {"bool": {"should": [inner, *others], "minimum_should_match": 2}}


def test_a_match_has_the_results_and_scores_of_the_searcher(client: TestClient, folder: Path) -> None:
    ranking = termwise.open(folder).rank("green tea", k=3)
    answer = search(client, {"match": {"text": "green tea"}}, size=3)
    assert [(hit["_id"], hit["_score"]) for hit in answer["hits"]["hits"]] == [
        (each.doc_id, each.score) for each in ranking
    ]
    assert answer["hits"]["max_score"] == ranking.scores[0]
    assert answer["hits"]["total"] == {"value": 4, "relation": "eq"}
    assert answer["timed_out"] is False
    assert answer["hits"]["hits"][0]["_source"]["kind"] == "green"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"match": {"text": {"query": "green rice", "operator": "and"}}}, {"genmaicha"}),
        ({"match": {"text": {"query": "green rice", "minimum_should_match": "100%"}}}, {"genmaicha"}),
        ({"match": {"text": {"query": "green tea rice", "minimum_should_match": 2}}}, {"sencha", "genmaicha"}),
        ({"match": {"text": {"query": "green tea rice", "minimum_should_match": "75%"}}}, {"sencha", "genmaicha"}),
        ({"match": {"text": {"query": "green tea rice clay", "minimum_should_match": "-25%"}}}, {"genmaicha"}),
        ({"match": {"text": {"query": "green tea rice clay", "minimum_should_match": -2}}},
         {"sencha", "genmaicha", "pot"}),
        ({"match": {"text": {"query": "green rice", "minimum_should_match": "2 < 75%"}}}, {"genmaicha"}),
        ({"match": {"text": {"query": "green tea rice clay", "minimum_should_match": "2<-50% 9<3"}}},
         {"sencha", "genmaicha", "pot"}),
        ({"match": {"text": {"query": "green rice", "minimum_should_match": "0%"}}}, {"sencha", "genmaicha"}),
        ({"match": {"text": {"query": "geen rise", "operator": "and", "fuzziness": "AUTO"}}}, {"genmaicha"}),
        ({"multi_match": {"query": "green tea rice", "minimum_should_match": "-1"}}, {"sencha", "genmaicha"}),
        ({"bool": {"should": [{"match": {"text": each}} for each in ("green", "tea", "clay")],
                   "minimum_should_match": 2}}, {"sencha", "genmaicha", "pot"}),
        ({"bool": {"should": [{"match": {"text": each}} for each in ("green", "rice")],
                   "minimum_should_match": "100%"}}, {"genmaicha"}),
        ({"bool": {"should": [{"term": {"kind": "green"}}, {"term": {"price": 12}}, {"exists": {"field": "tags"}}],
                   "minimum_should_match": "-1"}}, {"sencha"}),
        ({"bool": {"filter": {"bool": {
            "should": [{"term": {"kind": "green"}}, {"range": {"price": {"lt": 10}}}, {"term": {"kind": "black"}}],
            "minimum_should_match": "75%"}}}}, {"genmaicha", "assam"}),
        ({"multi_match": {"query": "clay rice", "fields": ["title", "text"]}}, {"pot", "genmaicha"}),
        ({"multi_match": {"query": "roasted rice", "type": "phrase"}}, {"genmaicha"}),
        ({"multi_match": {"query": "clay", "fields": []}}, {"pot"}),
        ({"dis_max": {"queries": [{"match": {"title": {"query": "clay", "boost": 3}}}, {"match": {"text": "clay"}}],
                      "tie_breaker": 0.3}}, {"pot"}),
        ({"bool": {"should": {"dis_max": {"queries": [{"match": {"text": "clay"}}]}},
                   "filter": {"range": {"price": {"lt": 50}}}, "minimum_should_match": 1}}, {"pot"}),
        ({"match_phrase": {"text": "tea green"}}, set()),
        ({"match_bool_prefix": {"text": "gree"}}, {"sencha", "genmaicha"}),
        ({"match_bool_prefix": {"text": "rice gre "}}, {"sencha", "genmaicha"}),
        ({"match_bool_prefix": {"text": {"query": "roas gre", "operator": "and", "max_expansions": 10}}}, set()),
        ({"match_bool_prefix": {"text": {"query": "rice gre", "operator": "and"}}}, {"genmaicha"}),
        ({"match_bool_prefix": {"text": {"query": "geen tea ri", "minimum_should_match": 3, "fuzziness": "AUTO"}}},
         {"genmaicha"}),
        ({"multi_match": {"query": "tea ro", "type": "bool_prefix", "operator": "and",
                          "fields": ["text", "text._2gram", "text._3gram"]}}, {"genmaicha"}),
        ({"match_phrase_prefix": {"text": "gre"}}, {"sencha", "genmaicha"}),
        ({"match_phrase_prefix": {"text": "green te"}}, {"sencha", "genmaicha"}),
        ({"match_phrase_prefix": {"text": {"query": "green tea ro", "slop": 0, "max_expansions": 20}}}, {"genmaicha"}),
        ({"match_phrase_prefix": {"text": "tea green r"}}, set()),
        ({"multi_match": {"query": "black tea fr", "type": "phrase_prefix"}}, {"assam"}),
        ({"match": {"text": {"query": "pepermint", "fuzziness": "AUTO"}}}, {"mint/fresh"}),
        ({"match": {"text": {"query": "pepermint", "fuzziness": "AUTO:4,8", "prefix_length": 0}}}, {"mint/fresh"}),
        ({"match": {"kind": "green"}}, {"sencha", "genmaicha"}),
        ({"prefix": {"kind": "gr"}}, {"sencha", "genmaicha"}),
        ({"prefix": {"tags": {"value": "lo"}}}, {"sencha"}),
        ({"prefix": {"text": "Gre"}}, {"sencha", "genmaicha"}),
        ({"wildcard": {"kind.keyword": "*ar*"}}, {"pot"}),
        ({"wildcard": {"kind": {"wildcard": "he*"}}}, {"mint/fresh"}),
        ({"wildcard": {"kind": "herb"}}, {"mint/fresh"}),
        ({"wildcard": {"kind": "*ree?"}}, {"sencha", "genmaicha"}),
        ({"wildcard": {"kind": "g*e*n"}}, {"sencha", "genmaicha"}),
        ({"wildcard": {"kind": "gree"}}, set()),
        ({"wildcard": {"kind": r"gree\*"}}, set()),
        ({"wildcard": {"tags": "**"}}, {"sencha"}),
        ({"wildcard": {"kind": {"value": "?LAC*", "case_insensitive": True}}}, {"assam"}),
        ({"term": {"kind": {"value": "GREEN", "case_insensitive": True}}}, {"sencha", "genmaicha"}),
        ({"term": {"kind": {"value": "GREEN", "case_insensitive": False}}}, set()),
        ({"prefix": {"tags": {"value": "LO", "case_insensitive": True}}}, {"sencha"}),
        ({"wildcard": {"kind": {"value": "*AR*", "case_insensitive": True}}}, {"pot"}),
        ({"wildcard": {"kind": {"value": "HERB", "case_insensitive": True}}}, {"mint/fresh"}),
        ({"wildcard": {"text": "pepp*"}}, {"mint/fresh"}),
        ({"bool": {"must_not": {"prefix": {"kind": "gr"}}}}, {"assam", "pot", "mint/fresh"}),
        ({"term": {"kind.keyword": {"value": "green"}}}, {"sencha", "genmaicha"}),
        ({"terms": {"kind": ["herb", "ware"]}}, {"pot", "mint/fresh"}),
        ({"term": {"tags": "loose"}}, {"sencha"}),
        ({"range": {"price": {"gte": 7, "lt": 12}}}, {"assam", "genmaicha"}),
        ({"exists": {"field": "tags"}}, {"sencha"}),
        ({"ids": {"values": ["pot", "unknown", "assam"]}}, {"pot", "assam"}),
        ({"constant_score": {"filter": {"term": {"kind": "black"}}, "boost": 3}}, {"assam"}),
        (
            {"bool": {"must": {"match": {"text": "tea"}}, "filter": {"range": {"price": {"lt": 10}}}}},
            {"assam", "genmaicha"},
        ),
        (
            {"bool": {"must": [{"match": {"text": "green"}}, {"match": {"text": "rice"}}]}},
            {"genmaicha"},
        ),
        ({"bool": {"should": [{"match": {"text": "clay"}}, {"match": {"text": "rice"}}]}}, {"pot", "genmaicha"}),
        (
            {"bool": {"must": [{"match": {"text": "green"}}], "should": [{"match": {"text": "clay rice"}}]}},
            {"sencha", "genmaicha"},
        ),
        (
            {"bool": {"must": [{"match": {"text": "tea"}}], "must_not": [{"match": {"text": "rice clay"}}]}},
            {"sencha", "assam"},
        ),
        ({"bool": {"must_not": [{"exists": {"field": "tags"}}, {"ids": {"values": ["pot"]}}]}},
         {"assam", "genmaicha", "mint/fresh"}),
        (
            {"bool": {"filter": {"bool": {"should": [{"term": {"kind": "ware"}}, {"term": {"price": 5}}]}}}},
            {"pot", "mint/fresh"},
        ),
        ({"bool": {"must_not": {"bool": {"must": [{"term": {"kind": "green"}}, {"term": {"price": 9}}]}}}},
         {"sencha", "assam", "pot", "mint/fresh"}),
        ({"bool": {"filter": [{"match_phrase": {"text": "green tea"}}, {"match": {"text": "rice"}}]}}, {"genmaicha"}),
        ({"neural_sparse": {"text": {"query_text": "clay", "model_id": "bm25"}}}, {"pot"}),
        ({"neural_sparse": {"text": {"query_tokens": {"clay": 2.0, "unseen": 1.0}}}}, {"pot"}),
        ({"match_all": {}}, {"sencha", "assam", "genmaicha", "pot", "mint/fresh"}),
        ({"bool": {}}, {"sencha", "assam", "genmaicha", "pot", "mint/fresh"}),
    ],
)  # fmt: skip
def test_queries_have_the_results_of_opensearch(client: TestClient, query: object, found: set[str]) -> None:
    answer = search(client, query)
    assert set(ids(answer)) == found
    assert answer["hits"]["total"]["value"] == len(found)
    assert client.post("/shop/_count", json={"query": query}).json()["count"] == len(found)


@pytest.mark.parametrize(
    ("query", "score"),
    [
        ({"match_all": {"boost": 2}}, 2.0),
        ({"bool": {}}, 1.0),
        ({"bool": {"filter": {"match_all": {}}}}, 0.0),
        ({"constant_score": {"filter": {"exists": {"field": "price"}}, "boost": 3}}, 3.0),
        ({"term": {"kind": "green"}}, 0.0),
    ],
)
def test_conditions_add_nothing_to_scores(client: TestClient, query: object, score: float) -> None:
    assert {hit["_score"] for hit in search(client, query)["hits"]["hits"]} == {score}


def test_scores_of_several_clauses_are_added_up(client: TestClient) -> None:
    def scores(query: object) -> dict[str, float]:
        return {hit["_id"]: hit["_score"] for hit in search(client, query)["hits"]["hits"]}

    one, other = scores({"match": {"text": "green"}}), scores({"match": {"text": "tea"}})
    both = scores({"bool": {"should": [{"match": {"text": "green"}}, {"match": {"text": "tea"}}]}})
    assert both == pytest.approx({name: one.get(name, 0) + other.get(name, 0) for name in both})
    boosted = scores(
        {
            "bool": {
                "should": [
                    {"match": {"text": {"query": "green", "boost": 0.5}}},
                    {"match": {"text": {"query": "tea", "boost": 2}}},
                ]
            }
        }
    )
    assert boosted == pytest.approx(
        {name: one.get(name, 0) / 2 + 2 * other[name] for name in boosted}, rel=1e-3
    )
    twice = scores({"match": {"text": {"query": "green", "boost": 2}}})
    assert twice == pytest.approx({name: 2 * score for name, score in one.items()})
    constant = scores({"bool": {"must": [{"match": {"text": "green"}}, {"match_all": {}}]}})
    assert constant == pytest.approx({name: score + 1 for name, score in one.items()})
    tokens = scores({"neural_sparse": {"text": {"query_tokens": {"green": 1}}}})
    assert tokens == pytest.approx(one)


def test_results_are_sorted_by_an_attribute(client: TestClient) -> None:
    answer = search(client, {"match": {"text": "tea"}}, sort=[{"price": {"order": "desc"}}, "_score"])
    assert ids(answer) == ["pot", "sencha", "genmaicha", "assam"]
    hits = answer["hits"]["hits"]
    assert [hit["sort"] for hit in hits] == [
        [price, hit["_score"]] for price, hit in zip((40, 12, 9, 7), hits, strict=True)
    ]
    assert answer["hits"]["hits"][0]["_score"] > 0
    by_address = client.get("/shop/_search", params={"sort": "price:asc", "size": 2, "from": 1}).json()
    assert ids(by_address) == ["assam", "genmaicha"]
    assert by_address["hits"]["hits"][0]["_score"] is None
    assert ids(search(client, {"match": {"text": "tea"}}, collapse={"field": "kind"}, sort="price")) == [
        "assam", "genmaicha", "pot",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "same"),
    [
        ({"sort": [{"price": {"order": "desc", "unmapped_type": "long", "missing": "_last"}}]},
         {"sort": [{"price": "desc"}]}),
        ({"sort": [{"sold": {"unmapped_type": "long"}}, "price"]}, {"sort": ["price"]}),
        ({"sort": [{"sold": {"order": "desc", "unmapped_type": "long"}}]}, {}),
        ({"timeout": "10s", "cancel_after_time_interval": "5s", "stats": ["box"], "track_scores": True}, {}),
        ({"version": False, "seq_no_primary_term": False, "profile": False, "terminate_after": 0}, {}),
        ({"query": {"range": {"price": {"gte": "7", "lt": "12.5"}}}},
         {"query": {"range": {"price": {"gte": 7, "lt": 12.5}}}}),
        ({"query": {"term": {"price": {"value": "9.0"}}}}, {"query": {"term": {"price": 9}}}),
        ({"query": {"terms": {"price": ["9", 7]}}}, {"query": {"terms": {"price": [9, 7]}}}),
        ({"query": {"match": {"price": "9"}}}, {"query": {"match": {"price": 9}}}),
        ({"query": {"bool": {"must": {"match": {"text": "tea"}}, "should": {"term": {"price": "9"}}}}},
         {"query": {"bool": {"must": {"match": {"text": "tea"}}, "should": {"term": {"price": 9}}}}}),
        ({"aggs": {"a": {"range": {"field": "price", "ranges": [{"from": "5", "to": "10"}]}}}},
         {"aggs": {"a": {"range": {"field": "price", "ranges": [{"from": 5, "to": 10}]}}}}),
    ],
)  # fmt: skip
def test_what_changes_nothing_is_ignored_and_strings_are_values(
    client: TestClient, body: dict[str, Any], same: dict[str, Any]
) -> None:
    found, expected = (search(client, **each) for each in (body, same))
    assert found | {"took": 0} == expected | {"took": 0}


def test_booleans_and_dates_are_given_as_strings(tmp_path: Path) -> None:
    today = datetime.now(UTC)
    added = {"a": today, "b": today - timedelta(days=90), "c": today - timedelta(days=91)}
    termwise.build_index(
        [Document(name, "tea", {"sale": name == "a", "added": day}) for name, day in added.items()],
        tmp_path / "s.tw",
    )
    with served([str(tmp_path / "s.tw")]) as client:
        for query, found in (
            ({"term": {"sale": "true"}}, ["a"]),
            ({"terms": {"sale": ["false"]}}, ["b", "c"]),
            ({"range": {"added": {"gte": "now-90d/d"}}}, ["a", "b"]),
            ({"range": {"added": {"gt": "now-90d/d"}}}, ["a"]),
            ({"range": {"added": {"lte": "now-91d/d"}}}, ["c"]),
        ):
            assert ids(search(client, query, index="s")) == found
        refused(client, {"query": {"range": {"added": {"gte": "now/d-1d"}}}}, "another type", "/s/_search")


def test_results_are_sorted_by_several_keys(client: TestClient) -> None:
    answer = search(
        client, {"match": {"text": "tea"}}, sort=["kind", {"price": {"order": "desc", "missing": "_last"}}]
    )
    assert [(hit["_id"], hit["sort"], hit["_score"]) for hit in answer["hits"]["hits"]] == [
        ("assam", ["black", 7], None), ("sencha", ["green", 12], None),
        ("genmaicha", ["green", 9], None), ("pot", ["ware", 40], None),
    ]  # fmt: skip
    best = search(client, {"match": {"text": "tea"}})["hits"]["hits"]
    by_score = search(client, {"match": {"text": "tea"}}, sort=["_score", {"price": "asc"}])["hits"]["hits"]
    assert sorted((-hit["_score"], hit["_source"]["price"]) for hit in best) == [
        (-hit["sort"][0], hit["sort"][1]) for hit in by_score
    ]


@pytest.fixture(scope="module")
def sorted_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    place = tmp_path_factory.mktemp("sorted")
    days = ["2024-01-31T10:00:00.123456", "2024-01-31", "2024-02-01"]
    documents = [
        termwise.Document(
            f"d{n}",
            "tea",
            {
                name: value
                for name, value in (
                    ("price", n % 3 / 4 or None),
                    ("kind", "abc"[n % 2] if n % 5 else None),
                    ("day", days[n % 3]),
                    ("ok", bool(n % 4)),
                    ("n", n),
                )
                if value is not None
            },
        )
        for n in range(24)
    ]
    schema = Schema({"price": "float", "kind": "keyword", "day": "date", "ok": "boolean", "n": "integer"})
    termwise.build_index(documents, place / "i.tw", attributes=schema)
    with served([str(place / "i.tw")]) as client:
        yield client


@pytest.mark.parametrize("first", ["price", "kind", "day", "ok"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_follow_the_values_of_the_last_result(
    sorted_client: TestClient, first: str, order: str
) -> None:
    sort = [{first: order}, {"n": "desc"}]
    body: dict[str, Any] = {"query": {"match": {"text": "tea"}}, "sort": sort, "index": "i"}
    every = search(sorted_client, **body, size=100)["hits"]["hits"]
    pages, after = [], None
    aggs = {"all": {"value_count": {"field": "n"}}}
    while True:
        page = search(sorted_client, **body, size=5, aggs=aggs, **({"search_after": after} if after else {}))
        assert page["hits"]["total"]["value"] == page["aggregations"]["all"]["value"] == 24
        if not page["hits"]["hits"]:
            break
        pages += page["hits"]["hits"]
        after = pages[-1]["sort"]
    assert [hit["_id"] for hit in pages] == [hit["_id"] for hit in every]
    assert len(pages) == 24


@pytest.mark.parametrize(
    "sort",
    [
        ["ok", "_id"],
        ["ok", {"_id": "desc"}],
        [{"day": "desc"}, "ok", "_doc"],
        ["_score", "_shard_doc"],
        [{"_score": "desc"}, {"_id": {"order": "desc"}}],
        [{"_doc": "desc"}],
        ["_id"],
    ],
)
@pytest.mark.parametrize("query", [{"match": {"text": "tea"}}, {"match_all": {}}, {"bool": {"filter": []}}])
def test_pages_follow_with_ties(sorted_client: TestClient, sort: list[Any], query: object) -> None:
    pages: list[Any] = []
    while page := search(
        sorted_client,
        query,
        index="i",
        sort=sort,
        size=5,
        **({"search_after": pages[-1]["sort"]} if pages else {}),
    )["hits"]["hits"]:
        pages += page
    assert len(pages) == len({hit["_id"] for hit in pages}) == 24
    assert [hit["_id"] for hit in pages] == ids(search(sorted_client, query, index="i", sort=sort, size=100))
    if sort[-1] in ("_id", {"_id": "desc"}):
        ties = [hit["_id"] for hit in pages if hit["_source"]["ok"]]
        assert ties == sorted(ties, reverse=sort[-1] != "_id")


def test_a_text_in_a_mixture_has_pages_of_matches_by_words(tmp_path: Path) -> None:
    termwise.build_index(TEAS, tmp_path / "m.tw", model="instant")
    match = {"query": "tea", "minimum_should_match": "100%"}
    some = {"query": "green tea", "minimum_should_match": "2<75%"}
    with served([str(tmp_path / "m.tw")]) as client:
        for words, number in ((match, 4), (some, 2)):
            query = {"match": {"text": words}}
            first = search(client, query, index="m", sort=["_score", "_id"], size=1)["hits"]["hits"]
            rest = search(client, query, index="m", sort=["_score", "_id"], search_after=first[0]["sort"])
            assert len({*ids(rest), first[0]["_id"]}) == number == rest["hits"]["total"]["value"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (True, {"id", "text", "price", "kind", "tags"}),
        (["price", "t*"], {"text", "price", "tags"}),
        ("kind", {"kind"}),
        ({"excludes": ["t*", "id"]}, {"price", "kind"}),
        ({"includes": ["price", "kind"], "excludes": ["kind"]}, {"price"}),
    ],
)
def test_a_result_has_the_chosen_fields(client: TestClient, source: object, names: set[str]) -> None:
    (hit,) = search(client, {"ids": {"values": ["sencha"]}}, _source=source)["hits"]["hits"]
    assert set(hit["_source"]) == names


@pytest.mark.parametrize(
    ("query", "least", "found"),
    [
        ({"match": {"text": "green tea"}}, 0.5, ["genmaicha", "sencha"]),
        ({"match": {"text": {"query": "green tea", "boost": 2}}}, 1.2, ["genmaicha"]),
        ({"match": {"text": {"query": "green tea", "boost": 0}}}, 0.1, []),
        ({"match_all": {"boost": 2}}, 2, ["sencha", "assam", "genmaicha", "pot", "mint/fresh"]),
        ({"match_all": {}}, 1.1, []),
        ({"ids": {"values": ["pot"]}}, 0, ["pot"]),
        ({"bool": {"must": [{"match_all": {}}], "should": [{"range": {"price": {"gt": 9}}}]}}, 2, ["sencha", "pot"]),
    ],
)  # fmt: skip
def test_results_below_a_score_are_left_out(
    client: TestClient, query: object, least: float, found: list[str]
) -> None:
    kinds = {"kinds": {"value_count": {"field": "kind"}}}
    answer = search(client, query, min_score=least, aggs=kinds)
    assert ids(answer) == found
    assert answer["hits"]["total"]["value"] == answer["aggregations"]["kinds"]["value"] == len(found)
    assert set(ids(search(client, query, min_score=least, sort="price"))) == set(found)


def test_a_least_score_of_a_mixture_is_refused(tmp_path: Path) -> None:
    termwise.build_index(TEAS, tmp_path / "shop.tw", model="instant")
    with served([str(tmp_path / "shop.tw")]) as client:
        refused(client, {"query": {"match": {"text": "tea"}}, "min_score": 0.1}, "minimum_should_match")
        answer = client.post("/v1/indexes/shop/search", json={"query": "tea", "min_score": 0.1})
        assert (answer.status_code, "min_relevance" in answer.text) == (400, True)


@pytest.mark.parametrize(
    ("body", "fields", "has_source"),
    [
        ({"fields": ["kind", "pri*"]}, {"kind": ["green"], "price": [12]}, True),
        ({"fields": ["text", "tags"], "_source": False}, {"text": [TEAS[0].text], "tags": ["loose"]}, False),
        ({"docvalue_fields": ["kind.keyword"], "stored_fields": ["*"]}, {"kind.keyword": ["green"]}, False),
        ({"fields": [{"field": "nix", "include_unmapped": True}]}, None, True),
        ({"stored_fields": "_none_"}, None, False),
        ({"stored_fields": ["_source"], "terminate_after": 5}, None, True),
        ({"stored_fields": [], "_source": ["kind"]}, None, True),
    ],
)
def test_values_of_fields_are_lists(client: TestClient, body: Any, fields: object, has_source: bool) -> None:
    answer = search(client, size=1, **body)
    (hit,) = answer["hits"]["hits"]
    assert (hit.get("fields"), "_source" in hit) == (fields, has_source)
    assert answer.get("terminated_early", None) is (False if "terminate_after" in body else None)


def test_a_result_has_no_source_if_none_is_wanted(client: TestClient) -> None:
    (hit,) = search(client, {"ids": {"values": ["sencha"]}}, _source=False)["hits"]["hits"]
    assert "_source" not in hit


@pytest.mark.parametrize(
    ("options", "source", "found", "words"),
    [
        ({"store_text": True}, ["title"], {}, "_source lacks [title], because the index keeps it joined"),
        ({"store_text": True}, ["text"], {"text": "Sofa\nof oak\nand wool"}, ""),
        ({"store_text": True}, ["ti*"], {}, ""),
        (
            {},
            ["title", "text", "id"],
            {"id": "a"},
            "_source lacks [title, text], because the index keeps no texts",
        ),
        (
            {"store_text": True, "fields": {"title": 1, "text": 1}},
            ["title", "text"],
            {"title": "Sofa", "text": "of oak\nand wool"},
            "",
        ),
    ],
)
def test_texts_that_an_index_does_not_keep_are_a_warning(
    tmp_path: Path, options: dict[str, Any], source: list[str], found: object, words: str
) -> None:
    collection = tmp_path / "i.jsonl"
    collection.write_text('{"_id": "a", "title": "Sofa", "text": ["of oak", "and wool"]}\n')
    termwise.build_index(collection, tmp_path / "i.tw", model="bm25", **options)
    with served([str(tmp_path / "i.tw")]) as client:
        answer = client.post("/i/_search", json={"_source": source})
        assert answer.json()["hits"]["hits"][0]["_source"] == found
        assert words in answer.headers.get("warning", "")
        assert bool(words) is ("warning" in answer.headers)


def test_highlights_have_tags_and_entities(client: TestClient) -> None:
    body = {"fields": {"text": {}}, "pre_tags": ["<b>"], "post_tags": ["</b>"], "encoder": "html"}
    (hit,) = search(client, {"match": {"text": "peppermint"}}, highlight=body)["hits"]["hits"]
    assert hit["highlight"] == {"text": ["<b>peppermint</b> leaves &amp; &lt;b&gt;nothing&lt;/b&gt; else"]}


@pytest.mark.parametrize(
    ("text", "found", "with_and"),
    [
        ("green tea", "sencha genmaicha assam pot", "sencha genmaicha"),
        ("green AND rice", "genmaicha", "genmaicha"),
        ("clay OR rice", "pot genmaicha", "pot genmaicha"),
        (
            "green rice OR clay",
            "sencha genmaicha pot",
            "sencha genmaicha",
        ),  # with and, only green is required
        ("tea -rice", "sencha assam pot", "sencha assam pot"),
        ("tea NOT rice", "sencha assam pot", "sencha assam pot"),
        ("+green rice", "sencha genmaicha", "genmaicha"),
        ("tea && kind:green", "sencha genmaicha", "sencha genmaicha"),
        ("tea AND (kind:black OR kind:ware)", "assam pot", "assam pot"),
        ("kind:(black OR ware)", "assam pot", "assam pot"),
        ('"roasted rice"', "genmaicha", "genmaicha"),
        ('kind:"green"', "sencha genmaicha", "sencha genmaicha"),
        ("kind:g*", "sencha genmaicha", "sencha genmaicha"),
        ("price:[7 TO 12}", "assam genmaicha", "assam genmaicha"),
        ("price:>=12", "sencha pot", "sencha pot"),
        ("price:[* TO 5]", "mint/fresh", "mint/fresh"),
        ("_exists_:tags", "sencha", "sencha"),
        ("gree*", "sencha genmaicha", "sencha genmaicha"),
        ("clay gree*", "pot sencha genmaicha", None),
        ("tea^2 clay", "sencha assam genmaicha pot", "pot"),
        ("*", "sencha assam genmaicha pot mint/fresh", "sencha assam genmaicha pot mint/fresh"),
        (r"NOT te\a", "mint/fresh", "mint/fresh"),
        ("", "", ""),
    ],
)
def test_a_query_string_has_the_results_of_opensearch(
    client: TestClient, text: str, found: str, with_and: str | None
) -> None:
    for operator, expected in (("or", found), ("AND", with_and)):
        if expected is not None:
            query = {
                "query_string": {"query": text, "default_operator": operator, "fields": ["title", "text"]}
            }
            assert set(ids(search(client, query))) == set(expected.split()), operator


@pytest.mark.parametrize(
    ("text", "found", "with_and"),
    [
        ("green tea", "sencha genmaicha assam pot", "sencha genmaicha"),
        ("green + rice", "genmaicha", "genmaicha"),
        ("clay | rice", "pot genmaicha", "pot genmaicha"),
        ("clay (rice | black)", "pot genmaicha assam", None),
        ("tea -rice", None, "sencha assam pot"),
        ("-tea", "mint/fresh", "mint/fresh"),
        ("tea --green", "sencha genmaicha assam pot", "sencha genmaicha"),
        ('"roasted rice"', "genmaicha", "genmaicha"),
        ("gree*", "sencha genmaicha", "sencha genmaicha"),
        ("kind:green", "sencha genmaicha", ""),  # which has no fields
        ("", "", ""),
        ("+ |", "", ""),
    ],
)
def test_a_simple_query_string_has_the_results_of_opensearch(
    client: TestClient, text: str, found: str | None, with_and: str | None
) -> None:
    for operator, expected in (("or", found), ("and", with_and)):
        if expected is not None:
            query = {"simple_query_string": {"query": text, "default_operator": operator}}
            assert set(ids(search(client, query))) == set(expected.split()), operator


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("query_string", "tea price:[10 TO 100]", "sencha pot"),
        ("query_string", "+green rice price:[10 TO 100]", "sencha"),
        ("query_string", "green rice kind:black kind:green price:>7 -clay", "sencha genmaicha"),
        ("query_string", 'tea "roasted rice"', "genmaicha"),
        ("query_string", '"green tea" _exists_:tags', "sencha"),
        ("query_string", "tea kind:(black OR ware)", "assam pot"),
        ("simple_query_string", "tea -rice", "sencha assam pot"),
        ("simple_query_string", "clay green -rice", "sencha pot"),
        ("simple_query_string", 'clay "green tea"', "sencha genmaicha"),
        ("simple_query_string", 'green -"roasted rice"', "sencha"),
        ("simple_query_string", '"green tea" -rice', "sencha"),
    ],
)
def test_conditions_phrases_and_signs_without_an_operator_are_required(
    client: TestClient, kind: str, text: str, found: str
) -> None:
    answer = client.post("/shop/_search", json={"query": {kind: {"query": text}}})
    assert set(ids(answer.json())) == set(found.split()), answer.text
    assert f"in {kind}, results " in answer.headers["warning"]


def test_optional_conditions_keep_their_order_by_words(client: TestClient) -> None:
    alone = search(client, {"match": {"text": "clay rice"}})["hits"]["hits"]
    query = {"query_string": {"query": "clay rice price:[9 TO 100]"}}
    assert [(each["_id"], each["_score"]) for each in search(client, query)["hits"]["hits"]] == [
        (each["_id"], each["_score"]) for each in alone
    ]
    stated = {"simple_query_string": {"query": '"green tea" + rice'}}
    answer = client.post("/shop/_search", json={"query": stated})
    assert (ids(answer.json()), "warning" in answer.headers) == (["genmaicha"], False)


def test_a_post_filter_limits_results_and_no_aggregations(client: TestClient) -> None:
    answer = search(
        client,
        {"match": {"text": "tea"}},
        post_filter={"term": {"kind": "green"}},
        aggs={"kinds": {"terms": {"field": "kind"}}, "dear": {"max": {"field": "price"}}},
    )
    assert set(ids(answer)) == {"sencha", "genmaicha"}
    assert answer["hits"]["total"]["value"] == 2
    buckets = answer["aggregations"]["kinds"]["buckets"]
    assert [(each["key"], each["doc_count"]) for each in buckets] == [("green", 2), ("black", 1), ("ware", 1)]
    assert answer["aggregations"]["dear"] == {"value": 40}


def test_metrics_are_those_of_all_matches(client: TestClient) -> None:
    kinds = ("stats", "min", "max", "avg", "sum", "value_count", "cardinality")
    aggs = {kind: {kind: {"field": "price"}} for kind in kinds} | {
        "kinds": {"cardinality": {"field": "kind"}}
    }
    found = search(client, {"match": {"text": "tea"}}, size=1, aggs=aggs)["aggregations"]
    stats = found.pop("stats")  # of 12, 7, 9 and 40
    assert stats == {"count": 4, "min": 7, "max": 40, "avg": 17.0, "sum": 68}
    assert {kind: each["value"] for kind, each in found.items()} == {
        "min": 7, "max": 40, "avg": 17.0, "sum": 68, "value_count": 4, "cardinality": 4, "kinds": 3,
    }  # fmt: skip
    none = search(client, {"match": {"text": "clay"}}, post_filter={"term": {"kind": "herb"}}, aggs=aggs)
    assert (none["hits"]["hits"], none["aggregations"]["sum"]["value"]) == ([], 40)
    none = search(client, {"match": {"text": "unknown"}}, aggs=aggs)
    assert none["aggregations"]["stats"] == {"count": 0, "min": None, "max": None, "avg": None, "sum": 0}


def function_score(*functions: object, **others: object) -> dict[str, Any]:
    modes = {"score_mode": "sum", "boost_mode": "sum", **others}
    return {"function_score": {"query": {"match": {"text": "tea"}}, "functions": list(functions), **modes}}


GREEN = {"filter": {"term": {"kind": "green"}}, "weight": 3}
NEAR = {"exp": {"price": {"origin": 10, "scale": 5, "decay": 0.25}}, "weight": 2}


@pytest.mark.parametrize(
    ("functions", "added"),
    [
        ([GREEN, {"weight": 1}], lambda kind, price: 1 + 3 * (kind == "green")),
        (
            [GREEN],
            lambda kind, price: 3 if kind == "green" else 1,
        ),  # 1 if there is no function for a document
        ([NEAR], lambda kind, price: 2 * 0.25 ** (abs(price - 10) / 5)),
        ([NEAR, GREEN], lambda kind, price: 2 * 0.25 ** (abs(price - 10) / 5) + 3 * (kind == "green")),
        ([{"weight": 2}], lambda kind, price: 2),
        (
            [
                {"filter": {"range": {"price": {"gte": 9, "lt": 40}}}, "weight": 2},
                {"filter": {"bool": {"must_not": {"term": {"kind": "green"}}}}, "weight": 5},
                {"weight": 1},
            ],
            lambda kind, price: 1 + 2 * (9 <= price < 40) + 5 * (kind != "green"),
        ),
    ],
)
def test_functions_are_added_to_scores(client: TestClient, functions: list[Any], added: Any) -> None:
    hits = search(client, {"match": {"text": "tea"}})["hits"]["hits"]
    expected = {
        hit["_id"]: 2 * hit["_score"] + added(hit["_source"]["kind"], hit["_source"]["price"]) for hit in hits
    }
    query = function_score(*functions, query={"match": {"text": {"query": "tea", "boost": 2}}})
    found = search(client, query, explain=True)["hits"]["hits"]
    assert {hit["_id"]: hit["_score"] for hit in found} == pytest.approx(expected)
    assert [hit["_score"] for hit in found] == pytest.approx(sorted(expected.values(), reverse=True))
    for hit in found:
        details = hit["_explanation"]["details"]
        assert sum(part["value"] for part in details) == pytest.approx(hit["_score"])
    other = client.post("/shop/_explain/mint/fresh", json={"query": query}).json()
    assert other["matched"] is False


def test_functions_are_added_without_words(client: TestClient) -> None:
    query = function_score({"exp": {"price": {"origin": 9, "scale": 1}}}, query={"term": {"kind": "green"}})
    hits = search(client, query)["hits"]["hits"]
    assert [(hit["_id"], hit["_score"]) for hit in hits] == [("genmaicha", 1), ("sencha", 0.125)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (function_score(GREEN, NEAR, score_mode="max"), "score_mode"),
        (function_score({"script_score": {"script": "1"}}), "[script_score]"),
        (function_score({"exp": {"price": {"origin": 1, "scale": 1, "offset": -2}}}), "offset"),
        (function_score(GREEN, boost_mode="replace"), "boost_mode"),
        (function_score(GREEN, NEAR, max_boost=2), "up to 5"),
        (function_score({"field_value_factor": {"field": "kind"}}), "[kind]"),
        (function_score({"field_value_factor": {"field": "price", "factor": 0}}), "factor"),
        (function_score({"field_value_factor": {"field": "price", "modifier": "reciprocal"}}), "modifier"),
        (function_score({"field_value_factor": {"field": "price", "missing": "a"}}), "missing"),
        (function_score({"field_value_factor": {"field": "price"}, **NEAR}), "field_value_factor and exp"),
        (function_score({"exp": {"price": {"origin": 1, "scale": 0}}}), "scale"),
        (function_score({"exp": {"price": {"origin": 1, "scale": 1, "decay": 1}}}), "decay"),
        (function_score({"exp": {"kind": {"origin": 1, "scale": 1}}}), "[kind]"),
        (function_score({"exp": {"price": [1]}}), "exp of price"),
        (function_score({"filter": {"match": {"text": "tea"}}, "weight": 2}), "among conditions"),
        (function_score({"weight": -1}), "weight of a function"),
        (function_score({"weight": 0}), "weight of a function"),
        (function_score({"filter": {"term": {"kind": {"a": 1}}}, "weight": 2}), "[a]"),
        (function_score({"filter": {"term": {"kind": True}}, "weight": 2}), "another type"),
        (function_score({"filter": {"term": {"kind": "green"}}}), "a weight"),
        (function_score(), "has functions"),
        (function_score(*[{"weight": 1}] * 101), "has functions"),
        (function_score({"weight": 1}, min_score=1), "[min_score]"),
        (function_score(NEAR, query={"match": {"text": {"query": "tea", "boost": 0}}}), "[0]"),
        ({"function_score": [1]}, "function_score is an object"),
    ],
)
def test_functions_with_other_scores_are_refused(client: TestClient, query: object, words: str) -> None:
    refused(client, {"query": query}, words)


LOG1P = {"field_value_factor": {"field": "price", "modifier": "log1p"}}
SHARE = math.log(1 + 14.6) / math.log(41)
SATURATION = 14.6 * 40 * (1 - SHARE) / (40 * SHARE - 14.6)
"""Saturation for log(1 + price); the mean price is 14.6, and the largest 40."""


def test_the_saturation_of_a_logarithm_has_its_value_at_the_mean() -> None:
    at_mean, at_most = (number / (number + SATURATION) for number in (14.6, 40))
    assert at_mean / at_most == pytest.approx(SHARE)


@pytest.mark.parametrize(
    ("functions", "modes", "share"),
    [
        ([GREEN], {}, lambda kind, price: 2 / 3 * (kind == "green")),
        ([{**GREEN, "weight": 0.25}], {"score_mode": "max"}, lambda kind, price: -0.75 * (kind == "green")),
        (
            [GREEN, {**GREEN, "filter": {"terms": {"kind": ["black"]}}}],
            {},
            lambda kind, price: 2 / 3 * (kind in ("green", "black")),
        ),
        (
            [GREEN, {"filter": {"term": {"kind": "black"}}, "weight": 2}],
            {"score_mode": "sum", "max_boost": 9},
            lambda kind, price: 2 / 4 * (kind == "green") + 1 / 4 * (kind == "black"),
        ),
        ([LOG1P], {}, lambda kind, price: price / (price + SATURATION) * (40 + SATURATION) / 40),
        (
            [LOG1P, {"weight": math.log10(41)}],
            {"score_mode": "sum"},
            lambda kind, price: 0.5 * price / (price + SATURATION) * (40 + SATURATION) / 40,
        ),
        (
            [{"field_value_factor": {"field": "price", "factor": 5, "modifier": "square"}}],
            {},
            lambda kind, price: price / (price + 400) * 440 / 40,
        ),
        (
            [{"gauss": {"price": {"origin": 10, "scale": 5, "decay": 0.0625}}}],
            {},
            lambda kind, price: 0.5 ** (abs(price - 10) / 2.5),
        ),
        (
            [{"linear": {"price": {"origin": 10, "scale": 4, "decay": 0.75, "offset": 1}}}],
            {},
            lambda kind, price: 0.5 ** (abs(price - 10) / 9),
        ),
    ],
)
def test_functions_that_multiply_are_added_in_units_of_the_best_score(
    client: TestClient, functions: list[Any], modes: dict[str, Any], share: Any
) -> None:
    hits = search(client, {"match": {"text": "tea"}})["hits"]["hits"]
    best = hits[0]["_score"]
    expected = {
        hit["_id"]: hit["_score"] + best * share(hit["_source"]["kind"], hit["_source"]["price"])
        for hit in hits
    }
    query = {"function_score": {"query": {"match": {"text": "tea"}}, "functions": functions, **modes}}
    answer = client.post("/shop/_search", json={"query": query, "explain": True})
    found = answer.json()["hits"]["hits"]
    assert {hit["_id"]: hit["_score"] for hit in found} == pytest.approx(expected)
    assert "do not multiply it" in answer.headers["warning"]
    assert "boosts = [{attribute = '" in answer.headers["warning"]
    assert client.post("/shop/_count", json={"query": query}).json()["count"] == len(hits)


def test_a_function_that_multiplies_passes_the_best_document_as_in_opensearch(tmp_path: Path) -> None:
    texts = {"a": "tea", "b": "tea of clay, glass, iron and wood", "c": "a pot for tea"}
    (tmp_path / "i.jsonl").write_text(
        "".join(json.dumps({"_id": each, "text": text, "tag": each}) + "\n" for each, text in texts.items())
    )
    termwise.build_index(tmp_path / "i.jsonl", tmp_path / "i.tw", attributes=["tag"])
    with served([str(tmp_path / "i.tw")]) as client:
        hits = search(client, {"match": {"text": "tea"}}, index="i")["hits"]["hits"]
        scores = {hit["_id"]: hit["_score"] for hit in hits}
        ratio = scores["a"] / scores["b"]
        assert ids({"hits": {"hits": hits}}) == ["a", "c", "b"]
        for weight, first in ((0.98 * ratio, "a"), (1.02 * ratio, "b")):
            function = {"filter": {"term": {"tag": "b"}}, "weight": weight}
            query = {"function_score": {"query": {"match": {"text": "tea"}}, "functions": [function]}}
            assert ids(search(client, query, index="i"))[0] == first


@pytest.mark.parametrize(
    ("should", "added", "words"),
    [
        ({"term": {"kind": "green"}}, {"sencha": 1, "genmaicha": 1}, "term adds its boost"),
        ({"term": {"kind.keyword": {"value": "black", "boost": 2}}}, {"assam": 2}, "boosts = [{attribute = 'kind'"),
        ({"match": {"kind": {"query": "ware", "boost": 0.5}}}, {"pot": 0.5}, "match adds its boost"),
        ({"range": {"price": {"gt": 9, "boost": 2}}}, {"sencha": 2, "pot": 2}, ""),
        ({"exists": {"field": "tags", "boost": 4}}, {"sencha": 4}, ""),
        ({"wildcard": {"kind": {"value": "*ar*", "boost": 0.5}}}, {"pot": 0.5}, ""),
        ({"constant_score": {"filter": {"bool": {"must": [{"term": {"kind": "green"}}, {"term": {"price": 9}}]}}}},
         {"genmaicha": 1}, ""),
        ({"terms": {"kind": ["green", "ware"], "boost": 3}}, {"sencha": 3, "genmaicha": 3, "pot": 3}, ""),
        ({"term": {"price": {"value": 7, "boost": 0.25}}}, {"assam": 0.25}, ""),
        (
            [
                {"constant_score": {"filter": {"term": {"kind": "green"}}, "boost": 2}},
                {"constant_score": {"filter": {"terms": {"price": [12, 40]}}}},
            ],
            {"sencha": 3, "genmaicha": 2, "pot": 1},
            "",
        ),
    ],
)  # fmt: skip
def test_optional_conditions_add_their_boost(
    client: TestClient, should: object, added: dict[str, float], words: str
) -> None:
    must = {"match": {"text": {"query": "tea", "boost": 2}}}
    plain = {hit["_id"]: hit["_score"] for hit in search(client, must)["hits"]["hits"]}
    answer = client.post("/shop/_search", json={"query": {"bool": {"must": must, "should": should}}})
    found = {hit["_id"]: hit["_score"] for hit in answer.json()["hits"]["hits"]}
    assert found == pytest.approx({name: score + added.get(name, 0) for name, score in plain.items()})
    assert words in answer.headers.get("warning", "")
    assert bool(words) is ("warning" in answer.headers)
    listed = {"bool": {"filter": {"range": {"price": {"gte": 7}}}, "should": should}}
    scores = {hit["_id"]: hit["_score"] for hit in search(client, listed)["hits"]["hits"]}
    assert scores == {name: added.get(name, 0) for name in plain}


@pytest.mark.parametrize(
    ("clauses", "found"),
    [
        ([{"multi_match": {"query": "AB-2", "fields": ["title", "text"]}},
          {"term": {"price": {"value": 9, "boost": 10}}}],
         {"genmaicha": 10}),
        ([{"match": {"text": "clay"}}, {"term": {"price": 9}}, {"terms": {"kind": ["herb"], "boost": 2}}],
         {"mint/fresh": 2, "pot": ("clay", 0), "genmaicha": 1}),
        ([{"match": {"text": {"query": "green rice", "operator": "and"}}},
          {"term": {"price": {"value": 12, "boost": 9}}}],
         {"sencha": ("green rice", 9), "genmaicha": ("green rice", 0)}),
        ([{"match": {"text": {"query": "green rice tea", "minimum_should_match": 2}}}, {"range": {"price": {"lt": 6}}}],
         {"genmaicha": ("green rice tea", 0), "mint/fresh": 1, "sencha": ("green rice tea", 0)}),
    ],
)  # fmt: skip
def test_documents_of_conditions_beside_words_are_results(
    client: TestClient, clauses: object, found: dict[str, Any]
) -> None:
    query = {"bool": {"should": clauses}}
    answer = search(client, query, aggs={"prices": {"value_count": {"field": "price"}}}, explain=True)
    hits = {hit["_id"]: hit["_score"] for hit in answer["hits"]["hits"]}

    def score(name: str, expected: Any) -> float:
        words, boost = expected if isinstance(expected, tuple) else ("", expected)
        plain = {
            hit["_id"]: hit["_score"] for hit in search(client, {"match": {"text": words}})["hits"]["hits"]
        }
        return float(plain.get(name, 0) + boost)

    assert hits == pytest.approx({name: score(name, expected) for name, expected in found.items()})
    assert sorted(hits.values(), reverse=True) == [*hits.values()]
    assert answer["hits"]["total"]["value"] == answer["aggregations"]["prices"]["value"] == len(found)
    assert all(hit["_explanation"]["value"] == pytest.approx(hit["_score"]) for hit in answer["hits"]["hits"])
    first = next(iter(hits))
    explained = client.post(f"/shop/_explain/{first}", json={"query": query}).json()
    assert (explained["matched"], explained["explanation"]["value"]) == (True, pytest.approx(hits[first]))
    assert (
        search(client, {"bool": {"must": [query], "filter": [{"term": {"price": 1}}]}})["hits"]["hits"] == []
    )
    paged = [ids(search(client, query, **{"size": 1, "from": place})) for place in range(len(found))]
    assert [name for page in paged for name in page] == [*hits]


def test_a_number_finds_its_product_in_a_mixture(tmp_path: Path) -> None:
    termwise.build_index(TEAS, tmp_path / "shop.tw", model="instant", store_text=True)
    clauses = [{"match": {"text": "green tea"}}, {"term": {"price": {"value": 5, "boost": 100}}}]
    with served([str(tmp_path / "shop.tw")]) as client:
        assert ids(search(client, {"bool": {"should": clauses}}))[0] == "mint/fresh"
        by_price = search(client, {"bool": {"should": clauses}}, sort="price")
        assert ids(by_price)[0] == "mint/fresh"
        assert search(client, {"bool": {"should": clauses}}, size=0)["hits"]["total"]["value"] == 3


@pytest.mark.parametrize(
    ("clause", "words", "found"),
    [
        ({"match_phrase": {"text": {"query": "green tea", "boost": 2}}}, ["green tea"], {"sencha", "genmaicha"}),
        ({"multi_match": {"query": "roasted rice", "type": "phrase"}}, ["roasted rice"], {"genmaicha"}),
        ({"match_phrase": {"text": "tea green"}}, ["tea green"], set()),
        ({"match": {"text": {"query": "rice green", "operator": "and"}}}, ["rice green"], {"genmaicha"}),
        ({"match": {"text": {"query": "rice fresh", "boost": 3}}}, ["rice", "fresh"], None),
        ({"match_phrase": {"text": "of the"}}, [], set()),
    ],
)  # fmt: skip
def test_optional_phrases_and_words_add_the_best_score_of_their_words(
    client: TestClient, clause: dict[str, Any], words: list[str], found: set[str] | None
) -> None:
    def scores(query: object) -> dict[str, float]:
        return {hit["_id"]: hit["_score"] for hit in search(client, query)["hits"]["hits"]}

    must = {"match": {"text": "green tea"}}
    plain = scores(must)
    values = next(iter(clause.values()))
    boost = values["text"].get("boost", 1) if isinstance(values.get("text"), dict) else 1
    added = dict.fromkeys(plain, 0.0)
    for each in words:
        of_words = scores({"match": {"text": each}})
        containing = of_words if found is None else found
        added |= {name: boost * max(of_words.values()) for name in containing if name in plain}
    body = {"query": {"bool": {"must": must, "should": clause}}, "explain": True}
    answer = client.post("/shop/_search", json=body)
    hits = {hit["_id"]: hit for hit in answer.json()["hits"]["hits"]}
    assert {name: hit["_score"] for name, hit in hits.items()} == pytest.approx(
        {name: score + added[name] for name, score in plain.items()}
    )
    for name, hit in hits.items():
        details = hit["_explanation"]["details"]
        assert sum(each["value"] for each in details) == pytest.approx(hit["_score"])
        assert sum(each["value"] for each in details if "(boost)" in each["description"]) == pytest.approx(
            added[name]
        )
    assert ("adds the best score of these words" in answer.headers.get("warning", "")) is any(words)
    if found is not None:  # the same with a should of which one clause suffices
        other = {"match_phrase": {"text": {"query": "tea", "boost": 0}}}
        both = scores({"bool": {"should": [{"match": {"text": "green tea rice roasted"}}, clause, other]}})
        alone = scores({"match": {"text": "green tea rice roasted"}})
        assert both == pytest.approx({name: score + added[name] for name, score in alone.items()})


def test_optional_conditions_of_many_values_and_in_filters(client: TestClient) -> None:
    many = {"terms": {"price": list(range(1500))}}
    query = {"bool": {"must": [{"match_all": {}}], "should": [many]}}
    assert {hit["_score"] for hit in search(client, query)["hits"]["hits"]} == {2}
    optional = {"must": [{"term": {"kind": "green"}}], "should": [{"term": {"price": 9}}]}
    assert set(ids(search(client, {"bool": {"filter": [{"bool": optional}]}}))) == {"sencha", "genmaicha"}


def test_pages_follow_the_scores_of_optional_conditions(client: TestClient) -> None:
    should = [{"terms": {"kind": ["green"], "boost": 0.1}}, {"term": {"price": {"value": 40, "boost": 0.3}}}]
    query = {"bool": {"must": [{"match_all": {}}], "should": should}}
    body: dict[str, Any] = {"sort": ["_score", "_id"], "size": 2}
    found: list[str] = []
    while hits := search(client, query, **body)["hits"]["hits"]:
        found += [hit["_id"] for hit in hits]
        body["search_after"] = hits[-1]["sort"]
    assert found == ["pot", "genmaicha", "sencha", "assam", "mint/fresh"]
    query["bool"]["must"] = [{"match_all": {"boost": 0.1}}]
    refused(client, {"query": query, **body}, "with a boost or a constant")


def test_optional_conditions_are_part_of_a_score_that_a_function_multiplies(client: TestClient) -> None:
    query = {
        "bool": {
            "must": [{"match": {"text": "tea"}}],
            "should": [{"match": {"text": "rice"}}, {"terms": {"kind": ["black"], "boost": 5}}],
        }
    }
    plain = {hit["_id"]: hit["_score"] for hit in search(client, query)["hits"]["hits"]}
    assert list(plain)[:2] == ["assam", "genmaicha"]
    function = {"filter": {"term": {"kind": "ware"}}, "weight": 2}
    multiplied = {"function_score": {"query": query, "functions": [function]}}
    found = {hit["_id"]: hit["_score"] for hit in search(client, multiplied)["hits"]["hits"]}
    assert found == pytest.approx(plain | {"pot": plain["pot"] + plain["assam"] / 2})


def test_the_mean_is_that_of_the_changed_index(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "shop.tw")
    query = {"function_score": {"query": {"match": {"text": "tea"}}, **LOG1P}}
    with served([str(tmp_path / "shop.tw")]) as client:
        for numbers in ("14.6 and 40", "14.6 and 40", "25.5 and 80"):  # (12 + 7 + 9 + 40 + 5 + 80) / 6 = 25.5
            if numbers.endswith("80"):
                client.put("/shop/_doc/can", json={"text": "can", "price": 80}, params={"refresh": "true"})
            warning = client.post("/shop/_search", json={"query": query}).headers["warning"]
            assert f"with the same value at 0, {numbers}. A relevance file" in warning


def test_functions_without_a_text_have_the_order_of_their_values(client: TestClient) -> None:
    query = {"function_score": {"query": {"match_all": {}}, **LOG1P}}
    assert ids(search(client, query)) == ["pot", "sencha", "genmaicha", "assam", "mint/fresh"]
    filtered = {"function_score": {"query": {"bool": {"filter": {"term": {"kind": "green"}}}}, **LOG1P}}
    assert [hit["_score"] for hit in search(client, filtered)["hits"]["hits"]] == [0, 0]  # as in OpenSearch


def test_documents_without_a_value_of_a_decay_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "i.jsonl").write_text(
        '{"_id": "a", "text": "tea", "stars": 5, "added": "2024-01-31"}\n'
        '{"_id": "b", "text": "tea", "added": "2024-01-01"}\n'
    )
    termwise.build_index(tmp_path / "i.jsonl", tmp_path / "i.tw", attributes=["stars", "added"])
    stars = {"exp": {"stars": {"origin": 4, "scale": 1}}}
    added = {"exp": {"added": {"origin": "2024-01-31", "scale": "30d", "decay": 0.25}}}
    with served([str(tmp_path / "i.tw")]) as client:

        def found(query: object) -> tuple[list[tuple[str, float]], str]:
            answer = client.post("/i/_search", json={"query": query})
            hits = answer.json()["hits"]["hits"]
            return [(hit["_id"], hit["_score"]) for hit in hits], answer.headers.get("warning", "")

        limited = function_score({**stars, "filter": {"exists": {"field": "stars"}}}, {"weight": 1})
        for query, difference, words in (
            (limited, 0.5, ""),
            (function_score(stars), 0.5, "documents without a value of stars get 0 of exp"),
            (function_score(added), 0.75, ""),
            (
                function_score({"exp": {"added": {"origin": "2024-01-15", "scale": "14d", "offset": "0d"}}}),
                0.5,
                "dates of added after the origin count as the origin",
            ),
            (
                function_score(
                    {"gauss": {"added": {"origin": "2024-01-31", "scale": "20d", "offset": "10d"}}}
                ),
                0.5,
                "gauss is an exponential decay with the same half; the half of gauss is further away by the offset",
            ),
            (
                function_score({"field_value_factor": {"field": "stars", "missing": 3}}),
                5,
                "documents without a value of stars count as 0, and missing changes nothing",
            ),
        ):
            hits, warning = found(query)
            assert [doc_id for doc_id, _ in hits] == ["a", "b"]
            assert hits[0][1] - hits[1][1] == pytest.approx(difference)
            assert words in warning
            assert bool(words) is bool(warning)
        assert found(function_score({"exp": {"added": {"scale": "30d"}}}))[0]
        added["exp"]["added"]["scale"] = "30 weeks"
        refused(client, {"query": function_score(added)}, "30d", "/i/_search")


def test_a_text_is_analysed(client: TestClient) -> None:
    def tokens(**body: object) -> list[tuple[object, ...]]:
        answer = client.post("/shop/_analyze", json=body)
        assert answer.status_code == 200, answer.text
        keys = ("token", "start_offset", "end_offset", "type", "position")
        return [tuple(each[key] for key in keys) for each in answer.json()["tokens"]]

    assert tokens(field="text", text="Green \U0001f375 teas 12") == [
        ("green", 0, 5, "<ALPHANUM>", 0), ("tea", 9, 13, "<ALPHANUM>", 1), ("12", 14, 16, "<NUM>", 2),
    ]  # fmt: skip
    assert tokens(text="Green teas") == tokens(text="Green teas", analyzer="english")
    assert tokens(text="Green teas", field="kind") == [("Green teas", 0, 10, "<ALPHANUM>", 0)]
    assert tokens(text=["a", "Teas"], analyzer="standard")[1] == ("teas", 2, 6, "<ALPHANUM>", 101)
    for body, words in (
        ({"text": "tea", "analyzer": "wordpiece:/etc/passwd"}, "wordpiece"),
        ({"text": "tea", "field": "price"}, "[price]"),
        ({"text": "tea", "field": "nope"}, "nope"),
        ({"text": "tea", "field": "text", "analyzer": "english"}, "[field]"),
        ({"text": "tea", "tokenizer": "standard"}, "[tokenizer]"),
        ({"text": "tea" * 4000}, "longer"),
        ({"text": {"a": 1}}, "text of an analysis"),
        ({}, "text of an analysis"),
    ):
        refused(client, body, words, "/shop/_analyze")


def test_a_mapping_that_agrees_with_the_index_is_accepted(client: TestClient) -> None:
    keyword = {"type": "keyword", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
    agreeing = {"text": {"type": "text"}, "kind": keyword, "price": {"type": "integer"}}
    answer = client.put("/shop/_mapping", json={"properties": agreeing})
    assert (answer.status_code, answer.json()) == (200, {"acknowledged": True})
    deep: dict[str, object] = {"type": "keyword"}
    for _ in range(40):
        deep = {"properties": {"a": deep}}
    for body, words in (
        ({"properties": {"price": {"type": "text"}}}, "[text]"),
        ({"properties": {"colour": {"type": "text"}}}, "an index gets all its texts when it is created"),
        ({"properties": {"meta": {"properties": {"place": {"type": "geo_point"}}}}}, "[geo_point]"),
        ({"properties": {"_meta": {"type": "keyword"}}}, "cannot have this name"),
        ({"properties": {"kind": {"type": "keyword", "index": False}}}, "[index]"),
        ({"properties": {"kind": {"type": "keyword", "fields": {"raw": {}}}}}, "[raw]"),
        ({"properties": {"kind": {}}}, "type of kind"),
        ({"properties": []}, "properties"),
        ({"dynamic": "strict"}, "dynamic"),
        (deep, "levels"),
    ):
        answer = client.put("/shop/_mapping", json=body)
        assert answer.status_code == 400, answer.text
        assert words in answer.json()["error"]["reason"]


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_a_mapping_adds_attributes(tmp_path: Path, model: str) -> None:
    folder = tmp_path / "i.tw"
    termwise.build_index([Document("a", "green tea")], folder, model=model, store_text=True)
    new = {
        "price": {"type": "double"},
        "meta": {"properties": {"brand": {"type": "keyword"}, "new": {"type": "boolean"}}},
    }
    with served([str(folder)]) as client:
        for _ in range(2):  # the second time, they are there
            assert client.put("/i/_mapping", json={"dynamic": True, "properties": new}).status_code == 200
            found = client.get("/i/_mapping").json()["i"]["mappings"]["properties"]
            assert (found["price"], found["meta"]["properties"]["new"]) == (
                {"type": "double"},
                {"type": "boolean"},
            )
            assert ids(search(client, {"exists": {"field": "price"}}, index="i")) == []
        refused(client, {"properties": {"price": {"type": "long"}}}, "[long]", "/i/_mapping")
        document = {"text": "black tea", "price": 5, "meta": {"brand": "Aki"}}  # 5 alone would be an integer
        assert client.put("/i/_doc/b", json=document).status_code == 201
        assert client.put("/i/_doc/c", json={"text": "tea", "price": 5.5}).status_code == 201
        assert ids(search(client, {"range": {"price": {"gt": 5}}}, index="i")) == ["c"]
        assert ids(search(client, {"term": {"meta.brand": "Aki"}}, index="i")) == ["b"]
    assert dict(termwise.open(folder).schema) == {
        "price": "float",
        "meta.brand": "keyword",
        "meta.new": "boolean",
    }
    with served([str(folder)], ServiceSettings(threads=2, read_only=True)) as client:
        answer = client.put("/i/_mapping", json={"properties": {"stars": {"type": "long"}}})
        assert answer.status_code == 403


def test_health_and_aliases(folder: Path) -> None:
    with served([f"shop={folder}", f"teas={folder}"]) as client:
        health = client.get("/_cluster/health?wait_for_status=yellow&timeout=1s").json()
        assert (health["status"], health["timed_out"], health["active_shards"]) == ("green", False, 2)
        assert client.get("/_cluster/health/shop").json()["active_shards"] == 1
        assert client.get("/_cluster/health?wait_for_status=blue").status_code == 400
        assert client.get("/_cluster/health/none").status_code == 404
        expected = {"shop": {"aliases": {"teas": {}}}}
        for path in (
            "/_alias",
            "/_aliases",
            "/_alias/teas",
            "/shop/_alias",
            "/teas/_alias",
            "/shop/_alias/teas",
        ):
            assert client.get(path).json() == expected, path
        assert [client.head(f"/_alias/{name}").status_code for name in ("teas", "shop", "none")] == [
            200,
            404,
            404,
        ]
        assert client.post("/teas/_count", json={}).json()["count"] == len(TEAS)
        assert client.post("/_aliases", json={"actions": []}).status_code == 400


def test_aggregations_count_all_matches(client: TestClient) -> None:
    answer = search(
        client,
        {"match": {"text": "tea"}},
        size=0,
        aggs={
            "kinds": {"terms": {"field": "kind", "size": 1}},
            "prices": {
                "range": {"field": "price", "ranges": [{"to": 10}, {"from": 9, "to": 40}, {"from": 40}]}
            },
            "named": {"range": {"field": "price", "keyed": True, "ranges": [{"key": "dear", "from": 12}]}},
        },
    )
    assert answer["hits"]["hits"] == []
    found = answer["aggregations"]
    assert found["kinds"] == {
        "doc_count_error_upper_bound": 0,
        "sum_other_doc_count": 2,
        "buckets": [{"key": "green", "doc_count": 2}],
    }
    assert found["prices"]["buckets"] == [
        {"key": "*-10.0", "to": 10, "doc_count": 2},
        {"key": "9.0-40.0", "from": 9, "to": 40, "doc_count": 2},
        {"key": "40.0-*", "from": 40, "doc_count": 1},
    ]
    assert found["named"]["buckets"] == {"dear": {"from": 12, "doc_count": 2}}


def nested(levels: int) -> dict[str, Any]:
    inner = {"aggs": {"a": nested(levels - 1)}} if levels > 1 else {}
    return {"terms": {"field": "kind"}, **inner}


def test_aggregations_beneath_each_other_have_a_limit(client: TestClient) -> None:
    assert search(client, aggs={"a": nested(5)})["aggregations"]
    refused(client, {"aggs": {"a": nested(6)}}, "beneath each other")


@pytest.mark.parametrize(
    "body",
    [
        {"terms": {"field": "kind"}},
        {"range": {"field": "price", "ranges": [{"to": to} for to in range(9)]}},
        {"histogram": {"field": "price", "interval": 1}},
    ],
)
def test_the_documents_of_one_bucket_at_a_time_take_memory(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any]
) -> None:
    masks: list[ref[Any]] = []
    most = 0

    def statistics(segments: Segments, field: str) -> ValueStatistics:
        nonlocal most
        masks.extend(ref(mask) for _, mask in segments)
        most = max(most, sum(each() is not None for each in masks))
        return value_statistics(segments, field)

    monkeypatch.setattr(aggregations, "value_statistics", statistics)
    search(client, size=0, aggs={"a": {**body, "aggs": {"p": {"avg": {"field": "price"}}}}})
    assert len(masks) > 3
    assert most <= 2


def test_buckets_have_aggregations_of_their_documents(client: TestClient) -> None:
    """Prices of green: 12 and 9; black: 7; ware: 40; herb: 5."""
    price = {"field": "price"}
    answer = search(
        client,
        size=0,
        aggs={
            "kinds": {
                "terms": {"field": "kind", "order": {"_key": "desc"}},
                "aggs": {
                    "mean": {"avg": price},
                    "all": {"stats": price},
                    "tags": {"terms": {"field": "tags"}, "aggs": {"most": {"max": price}}},
                },
            },
            "steps": {
                "histogram": {**price, "interval": 10},
                "aggs": {"n": {"cardinality": {"field": "kind"}}},
            },
            "filled": {"histogram": {**price, "interval": 5, "offset": 2, "min_doc_count": 2, "keyed": True}},
            "cheap": {
                "filter": {"range": {"price": {"lt": 10}}},
                "aggs": {"kinds": {"terms": {"field": "kind"}}},
            },
            "every": {"filter": {"match_all": {}}, "aggs": {"sum": {"sum": price}}},
            "none": {"filter": {"bool": {"must": [], "filter": []}}},
            "untagged": {"missing": {"field": "tags"}, "aggregations": {"least": {"min": price}}},
            "ranges": {
                "range": {**price, "keyed": True, "ranges": [{"key": "low", "to": 9}]},
                "aggs": {"sum": {"sum": price}},
            },
        },
    )
    found = answer["aggregations"]
    kinds = {each["key"]: each for each in found["kinds"]["buckets"]}
    assert list(kinds) == ["ware", "herb", "green", "black"]
    assert kinds["green"] == {
        "key": "green",
        "doc_count": 2,
        "mean": {"value": 10.5},
        "all": {"count": 2, "min": 9, "max": 12, "avg": 10.5, "sum": 21},
        "tags": {
            "doc_count_error_upper_bound": 0,
            "sum_other_doc_count": 0,
            "buckets": [{"key": "loose", "doc_count": 1, "most": {"value": 12}}],
        },
    }
    assert kinds["ware"]["tags"]["buckets"] == []
    assert [(each["key"], each["doc_count"], each["n"]["value"]) for each in found["steps"]["buckets"]] == [
        (0, 3, 3), (10, 1, 1), (20, 0, 0), (30, 0, 0), (40, 1, 1),
    ]  # fmt: skip
    assert found["filled"]["buckets"] == {"7.0": {"key": 7.0, "doc_count": 2}}  # 7 and 9
    assert found["cheap"]["doc_count"] == 3
    assert [each["key"] for each in found["cheap"]["kinds"]["buckets"]] == ["black", "green", "herb"]
    assert found["every"] == {"doc_count": 5, "sum": {"value": 73}}
    assert found["none"] == {"doc_count": 5}
    assert found["untagged"] == {"doc_count": 4, "least": {"value": 5}}
    assert found["ranges"]["buckets"] == {"low": {"to": 9, "doc_count": 2, "sum": {"value": 12}}}
    by_ids = search(client, {"ids": {"values": ["pot", "assam"]}}, aggs={"sum": {"sum": price}})
    assert by_ids["aggregations"]["sum"]["value"] == 47


ADDED = ["2024-01-15", "2024-01-31T23:30:00", "2024-03-01", "1969-12-31", None]


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("dated") / "shop.tw"
    documents = [
        Document(tea.doc_id, tea.text, {**tea.attributes, **({"added": added} if added else {})})
        for tea, added in zip(TEAS, ADDED, strict=True)
    ]
    types: dict[str, Any] = {"price": "integer", "kind": "keyword", "added": "date", "tags": "keywords"}
    termwise.build_index(documents, folder, store_text=True, attributes=Schema(types))
    with served([str(folder)]) as client:
        yield client


def of_dates(client: TestClient, query: object = None, /, **body: object) -> Any:
    """Return the buckets of a histogram of dates, of the documents of this century by default."""
    asked = {"m": {"date_histogram": {"field": "added", **body}}}
    query = query or {"range": {"added": {"gte": "2000-01-01"}}}
    return search(client, query, size=0, aggs=asked)["aggregations"]["m"]["buckets"]


@pytest.mark.parametrize(
    ("body", "buckets"),
    [
        ({"calendar_interval": "month"}, {"2024-01-01": 2, "2024-02-01": 0, "2024-03-01": 1}),
        ({"calendar_interval": "1M", "min_doc_count": 1}, {"2024-01-01": 2, "2024-03-01": 1}),
        ({"interval": "quarter"}, {"2024-01-01": 3}),
        ({"calendar_interval": "week", "min_doc_count": 1}, {"2024-01-15": 1, "2024-01-29": 1, "2024-02-26": 1}),
        ({"calendar_interval": "day", "min_doc_count": 1}, {"2024-01-15": 1, "2024-01-31": 1, "2024-03-01": 1}),
        ({"fixed_interval": "1d", "min_doc_count": 1, "time_zone": "+01:00"},
         {"2024-01-15": 1, "2024-02-01": 1, "2024-03-01": 1}),
        ({"calendar_interval": "month", "time_zone": "+01:00"}, {"2024-01-01": 1, "2024-02-01": 1, "2024-03-01": 1}),
        ({"fixed_interval": "24h", "offset": "-1h", "min_doc_count": 1},
         {"2024-01-14": 1, "2024-01-31": 1, "2024-02-29": 1}),
        ({"interval": "3650d"}, {"2019-12-20": 3}),
        ({"calendar_interval": "year", "extended_bounds": {"min": "2023-05-05", "max": 1_740_000_000_000}},
         {"2023-01-01": 0, "2024-01-01": 3, "2025-01-01": 0}),
        ({"calendar_interval": "month", "order": {"_key": "desc"}},
         {"2024-03-01": 1, "2024-02-01": 0, "2024-01-01": 2}),
        ({"calendar_interval": "month", "order": {"_count": "asc"}},
         {"2024-02-01": 0, "2024-03-01": 1, "2024-01-01": 2}),
    ],
)  # fmt: skip
def test_dates_are_counted_by_intervals(
    dated: TestClient, body: dict[str, Any], buckets: dict[str, int]
) -> None:
    found = of_dates(dated, format="yyyy-MM-dd", **body)
    assert [(each["key_as_string"], each["doc_count"]) for each in found] == [*buckets.items()]
    keyed = of_dates(dated, format="yyyy-MM-dd", keyed=True, **body)
    assert [*keyed.items()] == [(each["key_as_string"], each) for each in found]
    total = sum(
        each["doc_count"] for each in of_dates(dated, {"match_all": {}}, **(body | {"min_doc_count": 1}))
    )
    assert total == 4


def test_keys_of_dates_are_in_milliseconds_and_at_the_time_zone(dated: TestClient) -> None:
    (bucket,) = of_dates(dated, calendar_interval="year", time_zone="+02:00")
    begin = datetime(2023, 12, 31, 22, tzinfo=UTC)
    assert bucket == {
        "key_as_string": "2024-01-01T00:00:00.000+02:00",
        "key": int(begin.timestamp()) * 1000,
        "doc_count": 3,
    }
    assert of_dates(dated, {"match": {"text": "zebra"}}, calendar_interval="year") == []
    formats = {"epoch_second": "1704067200", "d MMM yy": "1 Jan 24", "EEEE, HH:mm'h'": "Monday, 00:00h"}
    for given, written in formats.items():
        (bucket,) = of_dates(dated, calendar_interval="year", format=given)
        assert bucket["key_as_string"] == written


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "has one of calendar_interval"),
        ({"calendar_interval": "day", "fixed_interval": "1d"}, "calendar_interval, fixed_interval"),
        ({"calendar_interval": "2M"}, "use fixed_interval"),
        ({"fixed_interval": "1M"}, "use calendar_interval"),
        ({"fixed_interval": "0d"}, "[0d]"),
        ({"fixed_interval": "-1d"}, "[-1d]"),
        ({"fixed_interval": "999999999d"}, "fixed_interval"),
        ({"fixed_interval": ["1d"]}, "fixed_interval"),
        ({"calendar_interval": "day", "time_zone": "Europe/Berlin"}, "+01:00"),
        ({"calendar_interval": "day", "format": "QQ"}, "the format of dates [QQ]"),
        ({"calendar_interval": "day", "format": "yyyyy"}, "[yyyyy]"),
        ({"calendar_interval": "day", "format": "y" * 200}, "too long"),
        ({"calendar_interval": "day", "offset": "1 day"}, "offset"),
        ({"calendar_interval": "minute", "format": "HH:mm"}, "too many buckets"),
        ({"calendar_interval": "day", "extended_bounds": {"min": "now"}}, "max of extended_bounds"),
        ({"calendar_interval": "day", "extended_bounds": {"min": "now", "max": "2000-01-01"}}, "not after"),
        (
            {"calendar_interval": "day", "extended_bounds": {"min": "0001-01-01", "max": "now"}},
            "too many buckets",
        ),
        ({"calendar_interval": "day", "order": {"price": "asc"}}, "order"),
        ({"calendar_interval": "day", "missing": "2000-01-01"}, "[missing]"),
    ],
)
def test_wrong_histograms_of_dates_are_refused(dated: TestClient, body: dict[str, Any], words: str) -> None:
    refused(dated, {"aggs": {"m": {"date_histogram": {"field": "added", **body}}}}, words)


def test_dates_are_counted_in_ranges(dated: TestClient) -> None:
    ranges = [
        {"to": "2024-02-01"},
        {"key": "new", "from": "2024-02-01"},
        {"from": "2024-01-15", "to": 1_706_659_200_000},
    ]
    asked = {"field": "added", "format": "yyyy-MM-dd", "ranges": ranges}
    inner = {"cheapest": {"min": {"field": "price"}}}
    buckets = search(dated, size=0, aggs={"r": {"date_range": asked, "aggs": inner}})["aggregations"]["r"][
        "buckets"
    ]
    first = 1_706_745_600_000
    assert buckets[0] == {
        "key": "*-2024-02-01", "to": first, "to_as_string": "2024-02-01", "doc_count": 3, "cheapest": {"value": 7},
    }  # fmt: skip
    assert (buckets[1]["key"], buckets[1]["from"], buckets[1]["doc_count"]) == ("new", first, 1)
    assert (buckets[2]["key"], buckets[2]["doc_count"]) == ("2024-01-15-2024-01-31", 1)
    keyed = search(dated, size=0, aggs={"r": {"date_range": {**asked, "keyed": True}}})["aggregations"]["r"][
        "buckets"
    ]
    assert [*keyed] == ["*-2024-02-01", "new", "2024-01-15-2024-01-31"]
    for wrong, words in [
        ({"ranges": []}, "a list of ranges"),
        ({"ranges": [{}]}, "from or to"),
        ({"ranges": [{"to": "soon"}]}, "now-30d/d"),
        ({"ranges": [{"to": 10**30}]}, "milliseconds"),
        ({"ranges": [{"to": "now", "key": "a"}, {"to": "now", "key": "a"}], "keyed": True}, "different keys"),
    ]:
        refused(dated, {"aggs": {"r": {"date_range": {"field": "added", **wrong}}}}, words)


def test_buckets_have_their_first_documents(client: TestClient) -> None:
    def of_kinds(query: object, **top: object) -> dict[str, Any]:
        asked = {"kinds": {"terms": {"field": "kind"}, "aggs": {"first": {"top_hits": top}}}}
        answer = search(client, query, size=0, aggs=asked)["aggregations"]["kinds"]["buckets"]
        return {each["key"]: each["first"]["hits"] for each in answer}

    dearest = of_kinds({"match_all": {}}, size=1, sort=[{"price": "desc"}], _source=["price"])
    assert dearest["green"] == {
        "total": {"value": 2, "relation": "eq"},
        "max_score": None,
        "hits": [{"_index": "shop", "_id": "sencha", "_score": None, "_source": {"price": 12}, "sort": [12]}],
    }
    query = {"match": {"text": {"query": "green tea", "boost": 2}}}
    scores = {hit["_id"]: hit["_score"] for hit in search(client, query)["hits"]["hits"]}
    best = of_kinds(query, _source=False)
    assert [(hit["_id"], hit["_score"]) for hit in best["green"]["hits"]] == [
        (name, scores[name]) for name in ("genmaicha", "sencha")
    ]
    assert best["green"]["max_score"] == scores["genmaicha"]
    assert "herb" not in best
    second = of_kinds(query, size=1, **{"from": 1})
    assert ([hit["_id"] for hit in second["green"]["hits"]], second["ware"]["hits"]) == (["sencha"], [])
    assert second["green"]["hits"][0]["_source"]["text"] == TEAS[0].text
    alone = search(client, query, size=0, aggs={"t": {"top_hits": {"size": 0}}})
    assert alone["aggregations"]["t"]["hits"]["total"]["value"] == 4
    boosted = {
        "bool": {"must": [{"match_all": {}}], "should": [{"range": {"price": {"lt": 10, "boost": 2}}}]}
    }
    assert [hit["_id"] for hit in of_kinds(boosted)["green"]["hits"]] == ["genmaicha", "sencha"]


def test_first_documents_of_buckets_have_a_limit(folder: Path) -> None:
    asked = {"kinds": {"terms": {"field": "kind"}, "aggs": {"first": {"top_hits": {"size": 2}}}}}
    with served([str(folder)], ServiceSettings(threads=1, max_results=4)) as client:
        refused(client, {"aggs": asked, "size": 0}, "smaller size of top_hits")


def test_documents_without_attributes_are_among_the_missing(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "shop.tw")
    with served([str(tmp_path / "shop.tw")]) as client:
        assert (
            client.put("/shop/_doc/plain", json={"text": "plain"}, params={"refresh": "true"}).status_code
            < 300
        )
        aggs = {"none": {"missing": {"field": "kind"}}, "all": {"filter": {"match_all": {}}}}
        found = search(
            client,
            size=0,
            aggs=aggs | {"kinds": {"terms": {"field": "kind"}}, "n": {"sum": {"field": "price"}}},
        )
        assert found["aggregations"]["none"]["doc_count"] == 1
        assert found["aggregations"]["all"]["doc_count"] == len(TEAS) + 1
        assert found["aggregations"]["n"]["value"] == 73


def test_values_are_ordered_by_themselves_if_all_are_counted(folder: Path) -> None:
    with served([str(folder)], ServiceSettings(threads=2, max_results=4)) as client:
        by_key = {"aggs": {"a": {"terms": {"field": "kind", "order": {"_key": "asc"}}}}}
        refused(client, by_key | {"size": 1}, "order _key of an attribute of 4 or more values")
        by_key["query"] = {"match": {"text": "tea"}}
        found = client.post("/shop/_search", json=by_key | {"size": 1}).json()["aggregations"]["a"]
        assert [each["key"] for each in found["buckets"]] == ["black", "green", "ware"]


def test_a_phrase_with_the_beginning_of_a_word_is_a_warning(client: TestClient) -> None:
    for text, words in (("green tea ro", "the phrase [green tea], and a word that begins"), ("ro", "")):
        answer = client.post("/shop/_search", json={"query": {"match_phrase_prefix": {"text": text}}})
        assert ids(answer.json()) == ["genmaicha"]
        assert words in answer.headers.get("warning", "")
        assert bool(words) is ("warning" in answer.headers)


def suggested(client: TestClient, **suggest: object) -> Any:
    return search(client, size=0, suggest=suggest)["suggest"]


def test_words_that_the_index_lacks_have_suggestions(client: TestClient) -> None:
    found = suggested(client, text="geen tea geen", words={"term": {"field": "text"}})["words"]
    option = {"text": "green", "score": 0.8, "freq": 2}
    assert found == [
        {"text": "geen", "offset": 0, "length": 4, "options": [option]},
        {"text": "tea", "offset": 5, "length": 3, "options": []},
        {"text": "geen", "offset": 9, "length": 4, "options": [option]},
    ]
    phrase = {"field": "text", "size": 1, "highlight": {"pre_tag": "<b>", "post_tag": "</b>"}}
    found = suggested(
        client, whole={"text": "geen tea blck", "phrase": phrase}, right={"text": "tea", "phrase": phrase}
    )
    (entry,) = found["whole"]
    assert (entry["offset"], entry["length"]) == (0, 13)
    assert [(each["text"], each["highlighted"]) for each in entry["options"]] == [
        ("green tea black", "<b>green</b> tea <b>black</b>")
    ]
    assert entry["options"][0]["score"] == pytest.approx(0.64)
    assert found["right"][0]["options"] == []


def test_suggesters_say_what_changes_nothing(client: TestClient) -> None:
    body = {"suggest": {"a": {"text": "geen", "term": {"field": "title", "min_word_length": 3}}}}
    warning = client.post("/shop/_search", json=body).headers["warning"]
    assert "[min_word_length] changes nothing" in warning
    assert "a clause on [title]" in warning


def test_an_explanation_adds_up_to_the_score(client: TestClient) -> None:
    query = {"match": {"text": {"query": "green tea", "boost": 2}}}
    hit = search(client, query, explain=True, size=1)["hits"]["hits"][0]
    parts = hit["_explanation"]
    assert sum(part["value"] for part in parts["details"]) == pytest.approx(hit["_score"])
    alone = client.post(f"/shop/_explain/{hit['_id']}", json={"query": query}).json()
    assert alone["matched"] is True
    assert alone["explanation"]["value"] == pytest.approx(hit["_score"])
    other = client.post("/shop/_explain/mint/fresh", json={"query": query}).json()
    assert (other["matched"], other["explanation"]["value"]) == (False, 0.0)
    assert client.post("/shop/_explain/none", json={"query": query}).status_code == 404


@pytest.mark.parametrize(("least", "matched"), [(1, True), (2, True), ("-1", True), (3, False)])
def test_a_document_with_too_few_words_is_explained_as_no_match(
    client: TestClient, least: object, matched: bool
) -> None:
    query = {"match": {"text": {"query": "green tea rice", "minimum_should_match": least}}}
    answer = client.post("/shop/_explain/sencha", json={"query": query}).json()
    assert answer["matched"] is matched
    assert (answer["explanation"]["value"] > 0) is matched


def test_results_of_a_mixture_contain_enough_words(tmp_path: Path) -> None:
    termwise.build_index(TEAS, tmp_path / "m.tw", model="instant")
    query = {"match": {"text": {"query": "green tea rice", "minimum_should_match": "-1"}}}
    with served([str(tmp_path / "m.tw")]) as client:
        every = search(client, {"match": {"text": "green tea rice"}}, index="m")
        some = search(client, query, index="m")
    assert len(ids(every)) == 5
    assert set(ids(some)) == {"sencha", "genmaicha"}
    assert some["hits"]["total"]["value"] == 2


def test_bodies_may_have_the_media_type_of_elasticsearch(client: TestClient) -> None:
    kind = "application/vnd.elasticsearch+json; compatible-with=8"
    headers = {"content-type": kind, "accept": kind}
    body = json.dumps({"query": {"match": {"text": "rice"}}})
    answer = client.post("/shop/_search", content=body, headers=headers)
    assert (ids(answer.json()), answer.headers["content-type"]) == (["genmaicha"], kind)
    answer = client.post("/shop/_search", content="{", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (400, kind)
    lines = kind.replace("+json", "+x-ndjson")
    answer = client.post("/shop/_msearch", content=f"{{}}\n{body}\n", headers={"content-type": lines})
    assert ids(answer.json()["responses"][0]) == ["genmaicha"]
    assert answer.headers["content-type"] == "application/json"
    assert client.post("/shop/_search", content=body, headers={"content-type": lines}).status_code == 415


def test_several_searches_have_an_answer_each(client: TestClient) -> None:
    lines = (
        '{"preference": "me"}\n{"query": {"match": {"text": "rice"}}}\n'
        '{"index": "none"}\n{}\n{}\n{"query": {"regexp": {}}}\n'
    )
    answer = client.post("/shop/_msearch", content=lines, headers={"content-type": "application/x-ndjson"})
    found, unknown, wrong = answer.json()["responses"]
    assert (ids(found), found["status"]) == (["genmaicha"], 200)
    assert (unknown["error"]["type"], unknown["status"]) == ("index_not_found_exception", 404)
    assert (wrong["error"]["type"], wrong["status"]) == ("unsupported_operation_exception", 400)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"query": {"regexp": {"text": "te.*"}}}, "[regexp]"),
        ({"query": {"dis_max": {"queries": [{"match": {"kind": "a"}}, {"match": {"title": "a"}}]}}}, "[kind]"),
        ({"query": {"dis_max": {"queries": []}}}, "dis_max of"),
        ({"query": {"wildcard": {"text": "*een"}}}, "[*een]"),
        ({"query": {"prefix": {"text": "green te"}}}, "beginning of one word"),
        ({"query": {"prefix": {"price": 1}}}, "only strings"),
        ({"query": {"prefix": {"kind": {"value": "g", "case_insensitive": "yes"}}}}, "case_insensitive"),
        ({"query": {"term": {"price": {"value": 3, "case_insensitive": True}}}}, "only strings"),
        ({"query": {"prefix": {"kind": ["g"]}}}, "value of prefix"),
        ({"query": {"bool": {"should": [{"match_phrase": {"text": "green tea"}}, {"term": {"kind": "green"}}]}}},
         "match of the same words"),
        ({"query": {"bool": {"should": [{"match": {"text": "clay"}}, {"match_phrase": {"text": "green tea"}}]}}},
         "match of the same words"),
        ({"query": {"bool": {"should": [{"match": {"text": "tea"}}, {"term": {"sku": "AB-1"}}]}}}, "unknown field"),
        ({"query": {"bool": {"must": [{"match": {"text": {"query": "green tea", "operator": "and"}}},
                                      {"bool": {"should": [{"match": {"text": "pot"}}, {"term": {"price": 9}}]}}]}}},
         "one such should"),
        ({"query": {"bool": {"must": {"match": {"text": "green tea"}},
                             "should": {"match": {"text": " ".join(f"a{n}" for n in range(21))}}}}}, "too many words"),
        ({"query": {"bool": {"must": {"match": {"text": "tea"}}, "should": {"match_bool_prefix": {"text": {
            "query": "green te", "minimum_should_match": 2}}}}}}, "match_phrase"),
        ({"query": {"bool": {"must_not": {"query_string": {"query": "tea kind:green"}}}}}, "in must_not, optional"),
        ({"query": {"query_string": {"query": "te?t"}}}, "[te?t]"),
        ({"query": {"query_string": {"query": "tea~2"}}}, "[~2]"),
        ({"query": {"query_string": {"query": "/te./"}}}, "[/te./]"),
        ({"query": {"query_string": {"query": "(tea"}}}, "not closed"),
        ({"query": {"query_string": {"query": "tea)"}}}, "not opened"),
        ({"query": {"query_string": {"query": "tea OR"}}}, "after the last operator"),
        ({"query": {"query_string": {"query": "(" * 4000}}}, "parentheses inside each other"),
        ({"query": {"query_string": {"query": "tea " * 2000}}}, "longer"),
        ({"query": {"query_string": {"query": "-tea " * 300}}}, "too many clauses"),
        ({"query": {"query_string": {"query": "price:[1 2]"}}}, "[1 TO 5]"),
        ({"query": {"query_string": {"query": "price:cheap"}}}, "another type"),
        ({"query": {"query_string": {"query": "nope:3"}}}, "nope"),
        ({"query": {"query_string": {"query": "kind:green^2"}}}, "[^2]"),
        ({"query": {"query_string": {"query": "tea", "fuzziness": 1}}}, "[fuzziness]"),
        ({"query": {"query_string": {"query": ["tea"]}}}, "query of query_string"),
        ({"query": {"query_string": "tea"}}, "query_string is an object"),
        ({"query": {"simple_query_string": {"query": "tea | -rice"}}}, "default_operator"),
        ({"query": {"simple_query_string": {"query": 'tea | "roasted rice"'}}}, "several required words"),
        ({"query": {"simple_query_string": {"query": "tea~1"}}}, "[~1]"),
        ({"query": {"simple_query_string": {"query": '"green tea'}}}, "quote"),
        ({"query": {"simple_query_string": {"query": "(" * 4000}}}, "parentheses inside each other"),
        ({"query": {"simple_query_string": {"query": "tea", "flags": "AND"}}}, "flags"),
        ({"query": {"match": {"text": {"query": "tea", "slop": 2}}}}, "[slop]"),
        ({"query": {"match": {"text": {"query": "tea", "operator": "xor"}}}}, "[xor]"),
        ({"query": {"match": {"text": {"query": "tea", "minimum_should_match": "many"}}}}, "[many]"),
        ({"query": {"match": {"text": {"query": "tea", "minimum_should_match": "120%"}}}}, "[120%]"),
        ({"query": {"match": {"text": {"query": "tea", "minimum_should_match": "all"}}}}, "2<75%"),
        ({"query": {"bool": {"should": [{"match": {"text": "green tea"}}, {"match": {"text": "rice"}},
                                        {"match": {"text": "clay"}}], "minimum_should_match": 2}}}, "one word each"),
        ({"query": {"bool": {"should": [{"match": {"text": "tea"}}, {"match": {"text": "tea"}},
                                        {"match": {"text": "clay"}}], "minimum_should_match": 2}}}, "one word each"),
        ({"query": {"bool": {"should": [{"term": {"price": n}} for n in range(12)], "minimum_should_match": 6}}},
         "more combinations"),
        ({"query": {"bool": {"must_not": {"match": {"text": {"query": "a b tea pot", "minimum_should_match": 2}}}}}},
         "in must_not"),
        ({"query": {"bool": {"must": [{"match": {"text": "tea"}},
                                      {"match": {"text": {"query": "a green pot", "minimum_should_match": 2}}}]}}},
         "beside other scoring clauses"),
        ({"query": {"match": {"colour": "red"}}}, "colour"),
        ({"query": {"bool": {"filter": {"match": {"title": "tea"}}}}}, "match on some of the texts [title]"),
        ({"query": {"constant_score": {"filter": {"match_phrase": {"content": "green tea"}}}}},
         "multi_match without fields"),
        ({"post_filter": {"multi_match": {"query": "tea", "fields": ["title"]}}}, "an index of the fields title"),
        ({"query": {"query_string": {"query": "rice -title:tea"}}}, "multi_match on some of the texts [title]"),
        ({"query": {"multi_match": {"query": "tea", "type": ["phrase"]}}}, "type of multi_match"),
        ({"query": {"neural_sparse": {"kind": {"query_text": "tea"}}}}, "attribute [kind]"),
        ({"query": {"match": {"text": "tea"}}, "highlight": {"fields": {"title": {}}}}, "joined field [title]"),
        ({"query": {"match": {"text": "tea"}}, "highlight": {"fields": {"kind": {}}}}, "attribute [kind]"),
        ({"query": {"match": {"text": "tea"}}, "highlight": {"fields": {"text": {"no_match_size": 9}}}},
         "[no_match_size]"),
        ({"query": {"match": {"text": "tea"}}, "highlight": {"fields": {"text": {}}, "type": "semantic"}},
         "[semantic]"),
        ({"query": {"term": {"text": "tea"}}}, "use match"),
        ({"query": {"range": {"price": {"gte": 1, "format": "yyyy"}}}}, "[format]"),
        ({"query": {"multi_match": {"query": "tea", "fields": ["text^nan"]}}}, "boost"),
        ({"query": {"neural_sparse": {"text": {"query_text": "tea", "model_id": "x1"}}}}, "[x1]"),
        ({"query": {"bool": {"must": [{"match": {"text": "a b tea"}}, {"match": {"text": "green pot"}}]}}},
         "operator"),
        ({"query": {"bool": {"filter": {"match": {"text": "green tea"}}}}}, "operator and"),
        ({"query": {"bool": {"filter": {"term": {"kind": "green"}}, "should": {"match": {"text": "tea"}}}}},
         "minimum_should_match"),
        ({"query": {"bool": {"must": {"match": {"text": "tea"}}, "should": {"bool": {"filter": []}}}}},
         "use filter"),
        ({"query": {"bool": {"must": {"match": {"text": {"query": "tea", "boost": 0}}},
                             "should": {"term": {"kind": "green"}}}}}, "beside should, a text with the boost [0]"),
        ({"query": {"bool": {"must": {"match": {"text": "tea"}}, "should": {"term": {"price": "9 EUR"}}}}},
         "another type"),
        ({"query": {"bool": {"must_not": {"match": {"text": {"query": "a tea pot", "operator": "and"}}}}}},
         "must_not"),
        ({"query": {"match_all": {}}, "highlight": {"fields": {"text": {}}}}, "highlight"),
        ({"query": {"match": {"text": "tea"}}, "knn": {}}, "[knn]"),
        ({"post_filter": {"match": {"text": "green tea"}}}, "as a filter"),
        ({"post_filter": [1]}, "a query is an object"),
        ({"sort": ["price", "price"]}, "sort twice"),
        ({"sort": [{"_score": "asc"}]}, "omit the order: the largest score is first"),
        ({"sort": [{"price": "up"}]}, "supported: asc, desc"),
        ({"sort": [{"price": {"order": "desc", "missing": "_first"}}]}, "missing"),
        ({"sort": [{"prize": {"order": "asc"}}]}, "prize"),
        ({"sort": [{"text": {"unmapped_type": "keyword"}}]}, "sort or collapse on the text"),
        ({"profile": True}, "profile of a search"),
        ({"terminate_after": -1}, "terminate_after"),
        ({"min_score": "1"}, "min_score is a number"),
        ({"fields": ["nix"]}, "unknown field"),
        ({"fields": [3]}, "an entry of fields"),
        ({"fields": ["kind"] * 101}, "too many names"),
        ({"fields": [{"field": "kind", "format": "yyyy"}]}, "fields of the type date"),
        ({"docvalue_fields": ["text"]}, "on the text [text]"),
        ({"stored_fields": {}}, "stored_fields is a list"),
        ({"query": {"range": {"price": {"gte": "10 EUR"}}}}, "another type"),
        ({"query": {"match": {"price": "cheap"}}}, "another type"),
        ({"search_after": [7]}, "search_after with the sort [_score]"),
        ({"search_after": [7], "sort": "price", "collapse": {"field": "kind"}}, "beside collapse"),
        ({"sort": "_score", "search_after": [7]}, "search_after with the sort [_score]"),
        ({"sort": ["_score", "price"], "search_after": ["x", 7]}, "_score"),
        ({"sort": ["price", "_id"], "search_after": [7, 8]}, "_id"),
        ({"sort": ["price", "_doc"], "search_after": [7, "a"]}, "_doc"),
        ({"sort": "price", "search_after": [7], "collapse": {"field": "kind"}}, "after"),
        ({"query": {"match": {"text": {"query": "tea", "boost": 2}}}, "sort": ["_score", "_id"],
          "search_after": [1, "a"]}, "with a boost"),
        ({"sort": "price", "search_after": [7, 8]}, "a value of each sort key"),
        ({"sort": "price", "search_after": 7}, "a value of each sort key"),
        ({"sort": "price", "search_after": ["dear"]}, "another type"),
        ({"sort": "price", "search_after": [{"a": 1}]}, "another type"),
        ({"sort": "price", "search_after": [7], "from": 2}, "[from]"),
        ({"sort": {"_score": "asc"}}, "[asc]"),
        ({"sort": [{"_id": "up"}]}, "[up]"),
        ({"aggs": {"a": {"avg": {"field": "kind"}}}}, "[avg]"),
        ({"aggs": {"a": {"percentiles": {"field": "price"}}}}, "[percentiles]"),
        ({"aggs": {"a": {"stats": {"field": "price", "missing": 0}}}}, "[missing]"),
        ({"aggs": {"a": {"top_hits": {"size": 99, "from": 2}}}}, "too many documents"),
        ({"aggs": {"a": {"top_hits": {"sort": "nix"}}}}, "unknown field"),
        ({"aggs": {"a": {"top_hits": {"highlight": {}}}}}, "[highlight]"),
        ({"aggs": {"a": {"top_hits": {}, "aggs": {"b": {"min": {"field": "price"}}}}}}, "beneath top_hits"),
        ({"aggs": {"a": {"terms": {"field": "kind"}, "aggs": {"doc_count": {"min": {"field": "price"}}}}}},
         "give it another name"),
        ({"aggs": {"a": {"terms": {"field": "kind"}, "aggs": {"key": {"top_hits": {}}}}}}, "the name [key]"),
        ({"aggs": {"a": {"terms": {"field": "kind"}, "aggs": {}, "aggregations": {}}}}, "beside aggs"),
        ({"aggs": {"a": {"avg": {"field": "price"}, "aggs": {"b": {"avg": {"field": "price"}}}}}}, "beneath avg"),
        ({"aggs": {"a": {"terms": {"field": "kind", "order": {"b": "desc"}}}}}, '{"_key": "asc"}'),
        ({"aggs": {"a": {"terms": {"field": "kind", "order": [{"_key": "asc"}, {"_count": "desc"}]}}}}, "order of an"),
        ({"aggs": {"a": {"filter": {"match": {"text": "tea"}}}}}, "[match]"),
        ({"aggs": {"a": {"filter": {"term": {"price": "9 EUR"}}}}}, "another type"),
        ({"aggs": {"a": {"histogram": {"field": "kind", "interval": 5}}}}, "[histogram]"),
        ({"aggs": {"a": {"histogram": {"field": "price", "interval": 0}}}}, "interval above 0"),
        ({"aggs": {"a": {"histogram": {"field": "price"}}}}, "interval"),
        ({"aggs": {"a": {"histogram": {"field": "price", "interval": 1, "offset": 1e300}}}}, "an offset up to"),
        ({"aggs": {"a": {"aggs": {}}}}, "kinds: terms, range"),
        ({"aggs": {"a": {"filter": {"bool": {"any": []}}}}}, "[any]"),
        ({"aggs": {"a": {"filter": {"match_all": "x"}}}}, "match_all is an object"),
        ({"aggs": {"a": {"range": {"field": "price", "keyed": True, "ranges": [
            {"to": 5, "key": "x"}, {"from": 5, "key": "x"}]}}}}, "different keys"),
        ({"aggs": {"a": {"histogram": {"field": "price", "interval": 0.001}}}}, "larger interval"),
        ({"aggs": {"a": {"range": {"field": "kind", "ranges": [{"to": 5}]}}}}, "[range]"),
        ({"aggs": {"a": {"date_histogram": {"field": "price", "fixed_interval": "1d"}}}}, "use histogram"),
        ({"aggs": {"a": {"date_range": {"field": "kind", "ranges": [{"to": "now"}]}}}}, "attributes of dates"),
        ({"suggest": {"a": {"prefix": "te", "completion": {"field": "text"}}}}, "GET /v1/indexes/INDEX/suggest"),
        ({"suggest": {"a": {"text": "te", "term": {"field": "text", "suggest_mode": "always"}}}}, "suggest_mode"),
        ({"suggest": {"a": {"text": "te", "term": {"field": "text"}, "phrase": {"field": "text"}}}}, "one of term"),
        ({"suggest": {"a": {"text": "te", "term": {"field": "kind"}}}}, "[kind]"),
        ({"suggest": {"a": {"term": {"field": "text"}}}}, "text of the suggester a"),
        ({"suggest": {"a": {"text": "te", "term": {"field": "text", "a": 1}}}}, "[a]"),
        ({"suggest": {"a": {"text": "te", "phrase": {
            "field": "text", "highlight": {"pre_tag": "<" * 101}}}}}, "tag of pre_tag is too long"),
        ({"suggest": {"text": "tea " * 2000, "a": {"term": {"field": "text"}}}}, "longer"),
        ({"suggest": {"text": "t"} | {f"a{n}": {"term": {"field": "text"}} for n in range(11)}}, "too many suggesters"),
        ({"query": {"multi_match": {"query": "tea gre", "type": "phrase_prefix", "operator": "and"}}}, "operator"),
        ({"query": {"match_phrase_prefix": {"text": {"query": "tea gre", "slop": 2}}}}, "slop"),
        ({"query": {"bool": {"filter": {"match_phrase_prefix": {"text": "gre"}}}}}, "as a filter"),
        ({"query": {"bool": {"must_not": {"match_phrase_prefix": {"text": "gre"}}}}}, "in must_not"),
        ({"query": {"bool": {"must": [{"match_phrase_prefix": {"text": "green te"}}, {"match": {"text": "rice"}}]}}},
         "beside other scoring clauses"),
        ({"aggs": {"a": {"terms": {"field": "kind"}, "aggs": {
            f"b{n}": {"avg": {"field": "price"}} for n in range(30)}}}}, "too many aggregations"),
        ({"aggs": {"a": {"terms": {"field": "text"}}}}, "[text]"),
        ({"size": 100_000}, "larger"),
        ({"query": {"match": {"text": {"query": "tea " * 2000, "operator": "and"}}}}, "longer"),
        ({"query": {"bool": {"filter": [{"term": {"price": n}} for n in range(300)]}}}, "too many clauses"),
        *((body, "lower the number of clauses") for body in (
            {"query": {"bool": {"filter": in_pairs(6)}}},
            {"query": {"bool": {"must": {"match": {"text": "tea"}},
                                "should": {"constant_score": {"filter": in_pairs(6)}}}}},
            {"aggs": {"a": {"filter": in_pairs(6)}}})),
        ({"query": {"wildcard": {"kind": "*" + "?x" * 500}}}, "too long"),
        ({"aggs": {f"a{n}": {"terms": {"field": "kind"}} for n in range(30)}}, "too many aggregations"),
        ({"size": "many"}, "size"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused_by_name(client: TestClient, body: object, words: str) -> None:
    refused(client, body, words)


def test_parameters_and_addresses_are_refused_by_name(client: TestClient) -> None:
    refused(client, {}, "[scroll]", "/shop/_search?scroll=1m")
    refused(client, {}, "_termvectors/x", "/shop/_termvectors/x")
    refused(client, {}, "_search/scroll", "/_search/scroll")
    assert client.post("/shop/_search?pretty=true&preference=a", json={}).status_code == 200
    assert client.get("/_search").status_code == 200
    unknown = client.post("/none/_search", json={})
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "index_not_found_exception")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Serve books whose titles and contents are apart."""
    place = tmp_path_factory.mktemp("books")
    (place / "books.jsonl").write_text(
        '{"_id": "a", "title": "Tea", "content": "Leaves of a shrub, dried in the sun.", "meta.lang": "en"}\n'
        '{"_id": "b", "title": "Clay", "content": "Pots for tea & rice, from red clay.", "meta.lang": "de"}\n'
    )
    fields = {"title": 3, "content": 1}
    termwise.build_index(
        place / "books.jsonl",
        place / "books.tw",
        store_text=True,
        fields=fields,
        attributes=["meta.lang"],
    )
    with served([str(place / "books.tw")]) as client:
        yield client


def test_fields_with_weights_are_apart_in_a_result(books: TestClient) -> None:
    query = {"multi_match": {"query": "tea", "fields": ["title^3", "content"]}}
    answer = books.post("/books/_search", json={"query": query}).json()
    assert answer["hits"]["hits"][0]["_source"] == {
        "id": "a", "title": "Tea", "content": "Leaves of a shrub, dried in the sun.", "meta": {"lang": "en"},
    }  # fmt: skip
    properties = books.get("/books/_mapping").json()["books"]["mappings"]["properties"]
    assert properties["title"] == properties["content"] == {"type": "text"}
    assert properties["meta"]["properties"]["lang"]["type"] == "keyword"


@pytest.mark.parametrize(
    ("fields", "highlights"),
    [
        ({"title": {}}, {"a": {"title": ["<em>Tea</em>"]}, "b": {"title": ["<em>Clay</em>"]}}),
        ({"content": {}}, {"a": {}, "b": {"content": ["Pots for <em>tea</em> & rice, from red <em>clay</em>."]}}),
        (
            [{"*": {"pre_tags": ["<b>"], "post_tags": "</b>", "number_of_fragments": 0}}],
            {
                "a": {"title": ["<b>Tea</b>"]},
                "b": {"title": ["<b>Clay</b>"], "content": ["Pots for <b>tea</b> & rice, from red <b>clay</b>."]},
            },
        ),
        (
            {"cont*": {"fragment_size": 20}, "title": {"pre_tags": "[", "post_tags": "]"}},
            {"a": {"title": ["[Tea]"]}, "b": {"title": ["[Clay]"], "content": ["… rice, from red <em>clay</em>."]}},
        ),
    ],
)  # fmt: skip
def test_each_field_has_its_own_highlights(books: TestClient, fields: object, highlights: object) -> None:
    query = {"multi_match": {"query": "tea clay"}}
    hits = search(books, query, index="books", highlight={"fields": fields})["hits"]["hits"]
    assert {hit["_id"]: hit.get("highlight", {}) for hit in hits} == highlights


def test_a_text_that_is_also_an_attribute_is_matched_as_a_text(tmp_path: Path) -> None:
    lines = '{"_id": "a", "title": "Green tea", "text": "leaves"}\n{"_id": "b", "title": "Pot", "text": "of clay"}\n'
    (tmp_path / "shop.jsonl").write_text(lines)
    for fields in (None, {"title": 3, "text": 1}, ("title",)):
        folder = tmp_path / "shop.tw"
        schema = Schema({"title": "keyword"})
        termwise.build_index(
            tmp_path / "shop.jsonl", folder, fields=fields, attributes=schema, store_text=True, overwrite=True
        )
        with served([str(folder)]) as client:
            match = {"match": {"title": "tea"}}
            if fields == ("title",):
                assert ids(search(client, match)) == ["a"]
            else:
                assert ids(search(client, match)) == ["a"]
                both = {"multi_match": {"query": "tea", "fields": ["title", "text"]}}
                assert ids(search(client, both)) == ["a"]
            for name in ("title", "title.keyword"):
                assert ids(search(client, {"term": {name: "Green tea"}})) == ["a"]
            assert ids(search(client, {"match": {"title.keyword": "Green tea"}})) == ["a"]
            answer = client.post("/shop/_search", json={"query": {"match": {"titel": "tea"}}})
            reason = answer.json()["error"]["reason"]
            assert reason.split("known: ")[1].split(")")[0].split(", ").count("title") == 1
            described = client.get("/shop/_mapping").json()["shop"]["mappings"]["properties"]["title"]
            assert described["fields"] == {"keyword": {"type": "keyword"}}
            assert described["type"] == ("text" if fields else "keyword")


ALL_TEXTS = "searches all texts of a document, because the index has one weight for a word in all of them"


def warnings_of(answer: Any) -> list[str]:
    """Return the texts of the header `Warning`, as opensearch-py reads them."""
    return re.findall(r'299 OpenSearch-2\.19\.0-unknown "([^"]*)"', answer.headers.get("warning", ""))


@pytest.mark.parametrize("field", ["title", "content"])
@pytest.mark.parametrize("clause", ["match", "match_phrase", "match_bool_prefix", "prefix"])
def test_a_clause_on_one_of_several_fields_is_for_all_texts(
    books: TestClient, clause: str, field: str
) -> None:
    """The word *tea* is in the title of book a, and in the content of book b."""
    whole = search(books, {"multi_match": {"query": "tea"}}, index="books")
    one: dict[str, Any] = {"query": {clause: {field: "tea"}}}
    answer = books.post("/books/_search", json=one)
    assert ids(answer.json()) == ids(whole) == ["a", "b"]
    assert answer.json()["hits"]["max_score"] == whole["hits"]["max_score"]
    assert warnings_of(answer) == [f"a clause on [{field}] {ALL_TEXTS}"]
    every: list[Any] = [{}, one, {}, one, {}, {"query": {"match_all": {}}}]
    lines = b"".join(json_bytes(each) + b"\n" for each in every)
    headers = {"content-type": "application/x-ndjson"}
    assert warnings_of(books.post("/books/_msearch", content=lines, headers=headers)) == warnings_of(answer)
    for path in ("/books/_count", "/books/_explain/b"):
        assert warnings_of(books.post(path, json=one)) == warnings_of(answer)
    refused(
        books, {"query": {clause: {"titel": "tea"}}}, "known: content, meta.lang, title", "/books/_search"
    )
    if clause != "prefix":
        for query in ({"bool": {"must_not": one["query"]}}, {"bool": {"filter": one["query"]}}):
            refused(books, {"query": query}, f"{clause} on some of the texts [{field}]", "/books/_search")


@pytest.mark.parametrize(
    "score", ["_score", "_score:desc", {"_score": "desc"}, {"_score": {"order": "desc"}}]
)
def test_scores_are_one_of_several_sort_keys(client: TestClient, folder: Path, score: object) -> None:
    expected = termwise.open(folder).rank("green tea", sort="kind,_score")
    hits = search(client, {"match": {"text": "green tea"}}, sort=["kind", score])["hits"]["hits"]
    assert [(hit["_id"], hit["_score"]) for hit in hits] == [(each.doc_id, each.score) for each in expected]
    assert [hit["sort"][1] for hit in hits] == [hit["_score"] for hit in hits]


def test_words_in_a_deletion_are_not_on_one_of_several_fields(books: TestClient) -> None:
    query = {"bool": {"filter": {"match": {"title": "tea"}}}}
    refused(books, {"query": query}, "match on some of the texts [title]", "/books/_delete_by_query")


@pytest.mark.parametrize(
    ("fields", "notes"),
    [
        (["title^3", "content"], []),
        (["title", "content"], []),
        (["title^3"], [f"a clause on [title] {ALL_TEXTS}"]),
        (["title^2", "content"], ["the boosts of fields are those of the index, [title^3, content^1]; those of the "
                                  "request change nothing"]),
    ],
)  # fmt: skip
def test_boosts_of_fields_are_those_of_the_index(
    books: TestClient, fields: list[str], notes: list[str]
) -> None:
    answer = books.post("/books/_search", json={"query": {"multi_match": {"query": "tea", "fields": fields}}})
    whole = search(books, {"multi_match": {"query": "tea"}}, index="books")
    assert [hit["_score"] for hit in answer.json()["hits"]["hits"]] == [
        hit["_score"] for hit in whole["hits"]["hits"]
    ]
    assert warnings_of(answer) == notes


def test_a_warning_has_the_characters_of_a_header() -> None:
    answer = answered(Answer({}, ('a clause on [größe"]\n100 %',)))
    assert warnings_of(answer) == ["a clause on [gr%C3%B6%C3%9Fe']%0A100 %25"]


@pytest.mark.parametrize(
    ("fields", "name", "query"),
    [
        (["title"], "title", {"match": {"title": "tea"}}),
        (["title", "content"], "text", {"match": {"text": "tea"}}),
        (["title", "content"], "text", {"multi_match": {"query": "tea", "fields": ["content", "title"]}}),
    ],
)
def test_a_match_on_the_only_text_is_answered(
    tmp_path: Path, fields: list[str], name: str, query: object
) -> None:
    (tmp_path / "books.jsonl").write_text('{"_id": "a", "title": "Tea", "content": "leaves"}\n')
    termwise.build_index(tmp_path / "books.jsonl", tmp_path / "i.tw", fields=fields, store_text=True)
    with served([str(tmp_path / "i.tw")]) as client:
        (hit,) = search(client, query, index="i", highlight={"fields": {"*": {}}})["hits"]["hits"]
        assert hit["highlight"][name][0].startswith("<em>Tea</em>")


def test_a_compound_is_one_word() -> None:
    words = Words("T-shirt, 5 GHz red 5ghz", every=True)
    assert words.needed(make_analyzer("english-parts")) == ["T-shirt", "5 GHz", "red"]
    assert words.needed(make_analyzer("english")) == ["T", "shirt", "5", "GHz", "red", "5ghz"]
