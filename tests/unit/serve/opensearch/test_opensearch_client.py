"""The client of OpenSearch against a running service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serve.conftest import TEAS, running

import termwise
from termwise.serve import KeyFile

opensearchpy = pytest.importorskip("opensearchpy", reason="opensearch-py is not installed")
helpers = pytest.importorskip("opensearchpy.helpers", reason="opensearch-py is not installed")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    file = KeyFile(path)
    return path, file.create("search"), file.create("write")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory, keys: tuple[Path, str, str]) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("service") / "shop.tw"
    termwise.build_index(TEAS, folder, store_text=True)
    with running(folder, _stock(folder.with_name("stock.tw")), "--keys", keys[0]) as service:
        yield service.port


def _stock(folder: Path) -> Path:
    """Build an index that keeps the texts of its fields apart."""
    cup = {"_id": "cup", "title": "a cup", "text": "of glass", "price": 9, "kind": "ware"}
    collection = folder.with_suffix(".jsonl")
    collection.write_text(json.dumps(cup))
    weights = {"title": 3, "text": 1}
    termwise.build_index(collection, folder, fields=weights, attributes=("price", "kind"), store_text=True)
    return folder


def _client(port: int, key: str, **options: bool) -> Any:
    return opensearchpy.OpenSearch(
        hosts=[{"host": "localhost", "port": port}], http_auth=("any", key), max_retries=0, **options
    )


@pytest.fixture
def client(port: int, keys: tuple[Path, str, str]) -> Any:
    return _client(port, keys[2])


def _ids(answer: Any) -> list[str]:
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def test_bodies_may_be_compressed(port: int, keys: tuple[Path, str, str]) -> None:
    answer = _client(port, keys[2], http_compress=True).search(
        index="shop", body={"query": {"match": {"text": "green tea"}}}
    )
    assert _ids(answer)[0] in ("sencha", "genmaicha")


def test_pages_follow_the_last_result(client: Any) -> None:
    body: dict[str, Any] = {"query": {"match_all": {}}, "sort": [{"kind": "asc"}, {"_id": "asc"}], "size": 2}
    found: list[str] = []
    while hits := client.search(index="shop", body=body)["hits"]["hits"]:
        found += [hit["_id"] for hit in hits]
        body["search_after"] = hits[-1]["sort"]
    assert found == ["assam", "genmaicha", "sencha", "mint/fresh", "pot"]


def test_some_words_are_enough(client: Any) -> None:
    match = {"query": "green tea with rice", "minimum_should_match": "2<75%"}
    assert _ids(client.search(index="shop", body={"query": {"match": {"text": match}}})) == [
        "genmaicha",
        "sencha",
    ]


def test_a_shop_is_searched_and_described(client: Any) -> None:
    assert client.ping()
    assert client.info()["version"]["distribution"] == "termwise"
    assert (client.indices.exists(index="shop"), client.indices.exists(index="none")) == (True, False)
    answer = client.search(
        index="shop",
        body={
            "query": {
                "bool": {
                    "must": [{"multi_match": {"query": "green tea", "fields": ["title", "text"]}}],
                    "filter": [{"terms": {"kind": ["green"]}}, {"range": {"price": {"lte": 12}}}],
                }
            },
            "highlight": {"fields": {"text": {}}},
            "aggs": {"kinds": {"terms": {"field": "kind"}}},
            "_source": ["price"],
            "explain": True,
        },
        size=1,
        track_total_hits=True,
    )
    assert answer["hits"]["total"]["value"] == 2
    (hit,) = answer["hits"]["hits"]
    assert hit["_source"] == {"price": hit["_source"]["price"]}
    assert hit["highlight"]["text"][0].startswith("<em>green</em> <em>tea</em>")
    assert sum(part["value"] for part in hit["_explanation"]["details"]) == pytest.approx(hit["_score"])
    assert answer["aggregations"]["kinds"]["buckets"] == [{"key": "green", "doc_count": 2}]
    assert client.indices.get_mapping(index="shop")["shop"]["mappings"]["properties"]["price"] == {
        "type": "long"
    }
    assert client.cat.indices(format="json")[0]["index"] == "shop"
    assert "shop" in client.cat.indices(index="shop", v=True)
    explained = client.explain(
        index="shop", id="mint/fresh", body={"query": {"match": {"text": "mint peppermint"}}}
    )
    assert explained["matched"]
    several = client.msearch(body=[{"index": "shop"}, {"query": {"match_all": {}}}, {"index": "none"}, {}])
    assert [each["status"] for each in several["responses"]] == [200, 404]


def test_a_shop_is_administered(client: Any) -> None:
    assert client.cluster.health(index="shop", wait_for_status="yellow")["status"] == "green"
    assert client.indices.get_alias() == {"shop": {"aliases": {}}, "stock": {"aliases": {}}}
    assert not client.indices.exists_alias(name="shop")
    tokens = client.indices.analyze(index="shop", body={"field": "text", "text": "Green teas"})["tokens"]
    assert [each["token"] for each in tokens] == ["green", "tea"]
    mapping = {"properties": {"kind": {"type": "keyword"}}}
    assert client.indices.put_mapping(index="shop", body=mapping)["acknowledged"]
    with pytest.raises(opensearchpy.RequestError, match="colour"):
        client.indices.put_mapping(index="shop", body={"properties": {"colour": {"type": "text"}}})
    mapping = {"properties": {"colour": {"type": "keyword"}}}
    assert client.indices.put_mapping(index="stock", body=mapping)["acknowledged"]
    assert "colour" in client.indices.get_mapping(index="stock")["stock"]["mappings"]["properties"]


def test_a_shop_shows_facets_of_which_several_values_can_be_chosen(client: Any) -> None:
    body = {
        "query": {"bool": {"must": [{"match": {"text": "tea"}}], "should": [{"term": {"kind": "black"}}]}},
        "post_filter": {
            "bool": {"filter": [{"terms": {"kind": ["green", "black"]}}, {"range": {"price": {"lt": 12}}}]}
        },
        "aggs": {
            "kinds": {
                "filter": {"bool": {"filter": [{"range": {"price": {"lt": 12}}}]}},
                "aggs": {
                    "kinds": {"terms": {"field": "kind"}, "aggs": {"dearest": {"max": {"field": "price"}}}}
                },
            },
            "prices": {
                "filter": {"bool": {"filter": [{"terms": {"kind": ["green", "black"]}}]}},
                "aggs": {"prices": {"histogram": {"field": "price", "interval": 5, "min_doc_count": 1}}},
            },
        },
    }
    with pytest.warns(opensearchpy.OpenSearchWarning, match="term adds its boost"):
        answer = client.search(index="shop", body=body)
    assert _ids(answer) == ["assam", "genmaicha"]
    kinds, prices = (answer["aggregations"][name][name]["buckets"] for name in ("kinds", "prices"))
    assert [(each["key"], each["doc_count"], each["dearest"]["value"]) for each in kinds] == [
        ("black", 1, 7),
        ("green", 1, 9),
    ]
    assert [(each["key"], each["doc_count"]) for each in prices] == [(5, 2), (10, 1)]


def test_a_search_box_searches_while_a_user_types(client: Any) -> None:
    typed = {"query": "green tea ri", "type": "bool_prefix", "operator": "and"}
    fields = ["text", "text._2gram", "text._3gram"]
    body = {
        "query": {"multi_match": {**typed, "fields": fields}},
        "suggest": {
            "text": "geen tea",
            "fix": {"phrase": {"field": "text"}},
            "words": {"term": {"field": "text"}},
        },
    }
    answer = client.search(index="shop", body=body)
    assert _ids(answer) == ["genmaicha"]
    assert answer["suggest"]["fix"][0]["options"][0]["text"] == "green tea"
    assert [len(each["options"]) for each in answer["suggest"]["words"]] == [1, 0]
    with pytest.warns(opensearchpy.OpenSearchWarning, match=r"the phrase \[green tea\]"):
        found = client.search(index="shop", body={"query": {"match_phrase_prefix": {"text": "green tea ro"}}})
    assert _ids(found) == ["genmaicha"]
    found = client.search(index="shop", body={"query": {"wildcard": {"kind": {"value": "*ree?"}}}})
    assert _ids(found) == ["sencha", "genmaicha"]


def test_a_search_box_sends_text_and_filters(client: Any) -> None:
    answer = client.search(
        index="shop",
        body={
            "query": {
                "bool": {
                    "must": [
                        {"query_string": {"query": "tea -rice", "fields": ["title", "text"], "lenient": True}}
                    ],
                    "filter": [{"prefix": {"kind.keyword": "gr"}}],
                }
            },
            "post_filter": {"range": {"price": {"gte": 12}}},
            "aggs": {"price": {"stats": {"field": "price"}}},
        },
    )
    assert _ids(answer) == ["sencha"]
    assert answer["aggregations"]["price"]["count"] == 1
    simple = {"simple_query_string": {"query": "green + rice", "fields": ["title", "text"]}}
    assert _ids(client.search(index="shop", body={"query": simple})) == ["genmaicha"]


def test_documents_are_changed_one_by_one(client: Any) -> None:
    body = {"text": "mate tea", "price": 6}
    assert client.index(index="shop", id="a/ö ?", body=body, refresh=True)["result"] == "created"
    assert client.get(index="shop", id="a/ö ?")["_source"]["price"] == 6
    assert client.exists(index="shop", id="a/ö ?")
    with pytest.raises(opensearchpy.ConflictError):
        client.create(index="shop", id="a/ö ?", body=body)
    assert client.delete(index="shop", id="a/ö ?", refresh="wait_for")["result"] == "deleted"
    with pytest.raises(opensearchpy.NotFoundError):
        client.get(index="shop", id="a/ö ?")
    name = client.index(index="shop", body=body)["_id"]
    query = {"query": {"ids": {"values": [name, "none"]}}}
    assert client.count(index="shop", body=query)["count"] == 1
    done = client.delete_by_query(index="shop", body=query, refresh=True)
    assert (done["deleted"], done["total"], done["failures"]) == (1, 1, [])
    assert client.delete_by_query(index="shop", body=query)["deleted"] == 0
    assert client.indices.refresh(index="shop")["_shards"]["failed"] == 0


def test_bulk_helpers_index_and_delete(client: Any) -> None:
    actions = [{"_index": "shop", "_id": f"n{n}", "text": f"number {n}", "price": n} for n in range(1200)]
    assert helpers.bulk(client, actions, refresh=True) == (1200, [])
    answer = client.search(index="shop", body={"query": {"match": {"text": "number 77"}}}, size=1)
    assert _ids(answer) == ["n77"]
    sorted_by_price = client.search(
        index="shop",
        body={"query": {"match": {"text": "number"}}, "sort": [{"price": "desc"}], "from": 1, "size": 2},
    )
    assert _ids(sorted_by_price) == ["n1198", "n1197"]
    done, errors = helpers.bulk(
        client,
        [{"_op_type": "create", "_index": "shop", "_id": "n1", "text": "again"}],
        raise_on_error=False,
    )
    assert (done, errors[0]["create"]["error"]["type"]) == (0, "version_conflict_engine_exception")
    deletions = ({"_op_type": "delete", "_index": "shop", "_id": f"n{n}"} for n in range(1200))
    results = list(helpers.parallel_bulk(client, deletions, thread_count=2, chunk_size=400))
    assert [ok for ok, _ in results] == [True] * 1200
    assert client.count(index="shop")["count"] == len(TEAS)


def test_several_documents_are_read(client: Any) -> None:
    found = client.mget(index="shop", body={"ids": ["assam", "none"]}, _source=["price"])["docs"]
    assert found == [
        {"_index": "shop", "_id": "assam", "found": True, "_source": {"price": 7}},
        {"_index": "shop", "_id": "none", "found": False},
    ]
    asked = [
        {"_index": "stock", "_id": "cup"},
        {"_index": "none", "_id": "cup"},
        {"_index": "shop", "_id": "pot"},
    ]
    found = client.mget(body={"docs": asked})["docs"]
    assert [each.get("found") for each in found] == [True, None, True]
    assert found[1]["error"]["type"] == "index_not_found_exception"
    with pytest.raises(opensearchpy.TransportError) as raised:
        client.mget(index="shop", body={"ids": ["pot"] * 1001})
    assert raised.value.status_code == 413


def test_parts_of_documents_are_updated(client: Any) -> None:
    def source(name: str) -> Any:
        return client.get(index="stock", id=name)["_source"]

    changes = {"title": "a mug", "kind": None}
    answer = client.update(index="stock", id="cup", body={"doc": changes}, refresh=True, retry_on_conflict=3)
    assert answer["result"] == "updated"
    assert source("cup") == {"id": "cup", "title": "a mug", "text": "of glass", "price": 9}
    with pytest.raises(opensearchpy.NotFoundError) as raised:
        client.update(index="stock", id="jug", body={"doc": {"price": 1}, "doc_as_upsert": True})
    assert raised.value.error == "document_missing_exception"
    jug = {"doc": {"title": "a jug", "price": 20}, "doc_as_upsert": True}
    assert client.update(index="stock", id="jug", body=jug)["result"] == "created"
    assert client.update(index="stock", id="jug", body=jug)["result"] == "updated"
    action = {"_op_type": "update", "_index": "stock"}
    actions = [
        {**action, "_id": "cup", "doc": {"price": 8}, "retry_on_conflict": 3},
        {**action, "_id": "jug", "doc": {"text": "of steel"}, "doc_as_upsert": True},
        {**action, "_id": "pan", "doc": {"text": "of iron", "price": 50}, "doc_as_upsert": True},
    ]
    assert helpers.bulk(client, actions) == (3, [])
    assert (source("cup")["price"], source("pan")["text"]) == (8, "of iron")
    assert source("jug") == {"id": "jug", "title": "a jug", "text": "of steel", "price": 20}
    none = {**action, "_id": "none", "doc": {"price": 8}}
    _, errors = helpers.bulk(client, [none], raise_on_error=False)
    assert errors[0]["update"]["error"]["type"] == "document_missing_exception"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda client: list(helpers.scan(client, index="shop")), "[scroll]"),
        (
            lambda client: client.search(index="shop", body={"query": {"regexp": {"text": "t.*"}}}),
            "[regexp]",
        ),
        (lambda client: client.update(index="shop", id="pot", body={"script": "x"}), "[script]"),
        (
            lambda client: client.update_by_query(index="shop", body={"query": {"match_all": {}}}),
            "_update_by_query",
        ),
        (
            lambda client: client.delete_by_query(index="shop", body={"query": {"wildcard": {"text": "t*"}}}),
            "ranks by words",
        ),
        (lambda client: client.indices.create(index="more"), "[more]"),
        (
            lambda client: client.mget(index="shop", body={"docs": [{"_id": "pot", "routing": "1"}]}),
            "[routing]",
        ),
        (lambda client: client.mget(index="shop", body={"ids": [["pot"]]}), "_id"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(client: Any, call: Any, words: str) -> None:
    with pytest.raises(opensearchpy.RequestError) as raised:
        call(client)
    assert raised.value.status_code == 400
    assert words in raised.value.info["error"]["reason"]


def test_the_client_reports_that_all_texts_are_searched(client: Any) -> None:
    with pytest.warns(opensearchpy.OpenSearchWarning, match=r"a clause on \[title\] searches all texts"):
        found = client.search(index="shop", body={"query": {"match": {"title": "tea"}}})
    whole = client.search(index="shop", body={"query": {"match": {"text": "tea"}}})
    assert found["hits"]["hits"] == whole["hits"]["hits"]


def test_a_shop_multiplies_scores(client: Any) -> None:
    query = {
        "function_score": {
            "query": {"multi_match": {"query": "tea", "fields": ["title", "text"]}},
            "functions": [
                {"filter": {"term": {"kind": "black"}}, "weight": 2},
                {"field_value_factor": {"field": "price", "modifier": "log1p", "missing": 1}},
            ],
        }
    }
    with pytest.warns(
        opensearchpy.OpenSearchWarning, match=r"do not multiply it; .* boosts = \[\{attribute = 'kind'"
    ):
        found = _ids(client.search(index="shop", body={"query": query}))
    assert set(found) == {"assam", "pot", "sencha", "genmaicha"}
    assert found.index("assam") < found.index("sencha")  # log(8) * 2 > log(13), with nearly equal scores


def test_a_key_for_searches_allows_no_changes(port: int, keys: tuple[Path, str, str]) -> None:
    reader = _client(port, keys[1])
    assert reader.count(index="shop")["count"] >= 1
    with pytest.raises(opensearchpy.AuthorizationException):
        reader.delete(index="shop", id="pot")
    with pytest.raises(opensearchpy.AuthenticationException):
        _client(port, "tw_none").count(index="shop")


@pytest.mark.filterwarnings("ignore::opensearchpy.exceptions.OpenSearchWarning")
def test_a_client_looks_after_its_indexes(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    termwise.build_index(TEAS, tmp_path / "shop.tw", store_text=True)
    with running(tmp_path / "shop.tw", "--create-in", folder) as service:
        client = opensearchpy.OpenSearch(hosts=[{"host": "localhost", "port": service.port}], max_retries=0)
        body = {
            "settings": {"analysis": {"analyzer": {"default": {"type": "german"}}}},
            "mappings": {
                "properties": {
                    "name": {"type": "text"},
                    "sku": {"type": "keyword"},
                    "added": {"type": "date"},
                }
            },
        }
        for name in ("lamps-1", "lamps-2"):
            client.indices.create(index=name, body=body)
            client.index(
                index=name,
                id=name,
                body={"name": "rote Lampen", "sku": "AB-1200", "added": "2024-03-05"},
                refresh=True,
            )
        client.indices.put_alias(index="lamps-1", name="lamps")
        should = [
            {"multi_match": {"query": "AB-1200", "fields": ["name"]}},
            {"term": {"sku": {"value": "AB-1200", "boost": 100}}},
        ]
        months = {"date_histogram": {"field": "added", "calendar_interval": "month", "format": "yyyy-MM"}}
        search: dict[str, Any] = {
            "query": {"bool": {"should": should}},
            "aggs": {"months": {**months, "aggs": {"first": {"top_hits": {"size": 1, "_source": ["sku"]}}}}},
            "min_score": 1,
            "fields": ["sku"],
        }
        answer = client.search(index="lamps", body=search)
        assert (_ids(answer), answer["hits"]["hits"][0]["fields"]) == (["lamps-1"], {"sku": ["AB-1200"]})
        (bucket,) = answer["aggregations"]["months"]["buckets"]
        assert (bucket["key_as_string"], bucket["doc_count"]) == ("2024-03", 1)
        assert bucket["first"]["hits"]["hits"][0]["_source"] == {"sku": "AB-1200"}
        client.indices.update_aliases(
            body={
                "actions": [
                    {"add": {"index": "lamps-2", "alias": "lamps"}},
                    {"remove": {"index": "lamps-1", "alias": "lamps"}},
                ]
            }
        )
        assert client.indices.get_alias(name="lamps") == {"lamps-2": {"aliases": {"lamps": {}}}}
        assert client.indices.exists_alias(name="lamps")
        client.indices.delete(index="lamps-1")
        assert _ids(client.search(index="lamps", body={"query": {"match": {"name": "Lampe"}}})) == ["lamps-2"]
        assert not client.indices.exists(index="lamps-1")
        with pytest.raises(opensearchpy.NotFoundError):
            client.indices.delete(index="lamps-1")
        client.indices.delete(index="lamps-1", ignore_unavailable=True)
        with pytest.raises(opensearchpy.AuthorizationException):
            client.indices.delete(index="shop")
        client.indices.delete_alias(index="lamps-2", name="lamps")
        assert not client.indices.exists_alias(name="lamps")


def test_bodies_of_a_search_box_are_answered_with_warnings(client: Any) -> None:
    text = {"query": "green tea", "fields": ["title^3", "title.ngram", "text"], "tie_breaker": 0.3}
    body = {
        "query": {
            "boosting": {
                "positive": {
                    "bool": {"must": [{"multi_match": {**text, "fuzziness": 1, "prefix_length": 1}}]}
                },
                "negative": {"term": {"price": 9}},
                "negative_boost": 0.5,
            }
        },
        "aggs": {
            "prices": {
                "filters": {"filters": {"low": {"range": {"price": {"lt": 10}}}}, "other_bucket": True}
            },
            "kinds": {"terms": {"field": "kind", "include": ["green", "black"]}},
            "all": {"global": {}, "aggs": {"dearest": {"max": {"field": "price"}}}},
        },
    }
    with pytest.warns(opensearchpy.exceptions.OpenSearchWarning) as seen:
        answer = client.search(index="shop", body=body)
    assert _ids(answer)[0] == "sencha"
    assert answer["aggregations"]["prices"]["buckets"] == {
        "low": {"doc_count": 2},
        "_other_": {"doc_count": 2},
    }
    assert [each["key"] for each in answer["aggregations"]["kinds"]["buckets"]] == ["green", "black"]
    assert answer["aggregations"]["all"]["dearest"]["value"] == 40
    words = " ".join(str(each.message) for each in seen)
    for part in ("title.ngram", "tie_breaker", "fuzziness, prefix_length", "boosting: functions"):
        assert part in words


def test_a_scroll_says_what_to_use_instead(client: Any) -> None:
    with pytest.raises(opensearchpy.exceptions.RequestError, match="search_after"):
        list(helpers.scan(client, index="shop", query={"query": {"match_all": {}}}))
