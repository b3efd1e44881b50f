"""Documents, indexes and errors in the form of OpenSearch, in one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.serve.conftest import served

from termwise.serve import KeyFile, ServiceSettings
from termwise.serve.opensearch.fields import Fields, SourceFilter

MATE = {"text": "mate tea from Brazil", "price": 6, "kind": "herb"}


def bulk(client: TestClient, *lines: object, path: str = "/_bulk") -> dict[str, Any]:
    body = "".join(f"{json.dumps(line)}\n" for line in lines)
    answer = client.post(path, content=body, headers={"content-type": "application/x-ndjson"})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_document_is_stored_changed_and_deleted(client: TestClient) -> None:
    created = client.put("/shop/_doc/mate", json=MATE)
    assert (created.status_code, created.json()["result"]) == (201, "created")
    assert client.get("/shop/_doc/mate").json() == {
        "_index": "shop", "_id": "mate", "found": True, "_source": {"id": "mate", **MATE},
    }  # fmt: skip
    assert client.head("/shop/_doc/mate").status_code == 200
    assert client.get("/shop/_doc/mate", params={"_source": "price"}).json()["_source"] == {"price": 6}
    updated = client.post("/shop/_doc/mate?refresh=wait_for", json={**MATE, "price": 8, "tags": None})
    assert (updated.status_code, updated.json()["result"]) == (200, "updated")
    conflict = client.put("/shop/_create/mate", json=MATE)
    assert (conflict.status_code, conflict.json()["error"]["type"]) == (
        409,
        "version_conflict_engine_exception",
    )
    assert client.put("/shop/_doc/mate?op_type=create", json=MATE).status_code == 409
    assert client.get("/shop/_doc/mate").json()["_source"]["price"] == 8
    assert client.delete("/shop/_doc/mate").json()["result"] == "deleted"
    missing = client.delete("/shop/_doc/mate")
    assert (missing.status_code, missing.json()["result"]) == (404, "not_found")
    assert client.get("/shop/_doc/mate").status_code == 404
    without_name = client.post("/shop/_doc", json=MATE).json()
    assert client.get(f"/shop/_doc/{without_name['_id']}").json()["found"]


def test_a_number_is_an_identifier_everywhere(client: TestClient) -> None:
    answer = bulk(client, {"index": {"_index": "shop", "_id": 5}}, {**MATE, "id": 5})
    assert answer["items"][0]["index"]["_id"] == "5"
    assert client.put("/shop/_doc/5", json={**MATE, "id": 5}).status_code == 200
    found = client.post("/shop/_search", json={"query": {"ids": {"values": [5]}}}).json()["hits"]["hits"]
    assert [hit["_id"] for hit in found] == ["5"]
    assert client.post("/shop/_mget", json={"ids": [5]}).json()["docs"][0]["found"]
    refused = client.post("/shop/_search", json={"query": {"ids": {"values": [5.0]}}})
    assert (refused.status_code, "whole number" in refused.text) == (400, True)
    assert client.put("/shop/_doc/5", json={**MATE, "id": 6}).status_code == 400


def test_documents_are_deleted_by_a_query(shop: Path) -> None:
    def delete(client: TestClient, query: object) -> dict[str, Any]:
        found: dict[str, Any] = client.post("/shop/_delete_by_query", json={"query": query}).json()
        return found

    green = {"bool": {"filter": [{"term": {"kind": "green"}}, {"match": {"text": "rice"}}]}}
    with served([str(shop)], ServiceSettings(max_operations=3)) as client:
        assert (delete(client, green)["total"], client.get("/shop/_count").json()["count"]) == (1, 4)
        assert client.get("/shop/_doc/genmaicha").status_code == 404
        assert delete(client, green)["deleted"] == 0
        too_many = delete(client, {"match_all": {}})
        assert too_many["status"] == 413
        assert "documents: 4; most: 3" in too_many["error"]["reason"]
        assert "[ranks by words]" in delete(client, {"match": {"text": "tea"}})["error"]["reason"]
        assert delete(client, None)["status"] == 400
        waiting = client.post("/shop/_delete_by_query?wait_for_completion=false", json={"query": green})
        assert waiting.status_code == 400
        assert delete(client, {"exists": {"field": "price"}})["status"] == 413
        assert delete(client, {"range": {"price": {"gte": 7}}})["deleted"] == 3
    with served([str(shop)], ServiceSettings(read_only=True)) as client:
        assert delete(client, {"match_all": {}})["status"] == 403


def test_the_actions_of_a_bulk_request_are_answered_in_their_order(client: TestClient) -> None:
    answer = bulk(
        client,
        {"index": {"_index": "shop", "_id": "mate"}}, MATE,
        {"create": {"_index": "shop", "_id": "mate"}}, MATE,
        {"create": {"_index": "shop", "_id": "sencha"}}, MATE,
        {"delete": {"_index": "shop", "_id": "pot"}},
        {"delete": {"_index": "shop", "_id": "none"}},
        {"index": {"_index": "shop", "_id": "wrong"}}, {"text": "x", "colour": ["red", 3]},
        {"update": {"_index": "shop", "_id": "assam"}}, {"script": "ctx._source.price = 1"},
        {"index": {"_index": "other", "_id": "x"}}, MATE,
        {"index": {"_index": "shop", "routing": "1"}}, MATE,
    )  # fmt: skip
    assert answer["errors"] is True
    found = [next(iter(item.values())) for item in answer["items"]]
    assert [item.get("result") for item in found] == [
        "created",
        None,
        None,
        "deleted",
        "not_found",
        *[None] * 4,
    ]
    assert [item["status"] for item in found] == [201, 409, 409, 200, 404, 400, 400, 404, 400]
    assert found[6]["error"]["reason"].startswith("the key of an update [script] is not supported")
    assert "routing" in found[8]["error"]["reason"]
    assert client.get("/shop/_count").json()["count"] == 5
    assert client.get("/shop/_doc/sencha").json()["_source"]["price"] == 12


def test_parts_of_a_document_are_updated(client: TestClient) -> None:
    answer = client.post(
        "/shop/_update/mint/fresh?retry_on_conflict=3", json={"doc": {"price": 6, "kind": None}}
    )
    assert (answer.status_code, answer.json()["result"]) == (200, "updated")
    source = client.get("/shop/_doc/mint/fresh").json()["_source"]
    assert source == {"id": "mint/fresh", "text": "peppermint leaves & <b>nothing</b> else", "price": 6}
    answer = bulk(
        client,
        {"update": {"_id": "pot", "retry_on_conflict": 3}}, {"doc": {"price": 41}},
        {"update": {"_id": "pot"}}, {"doc": {"tags": ["clay"]}},
        {"delete": {"_id": "sencha"}},
        {"update": {"_id": "sencha"}}, {"doc": {"price": 1}},
        {"update": {"_id": "pot"}}, {"doc": {"prize": [1]}},
        path="/shop/_bulk",
    )  # fmt: skip
    items = [next(iter(item.values())) for item in answer["items"]]
    assert answer["errors"] is True
    assert [item["status"] for item in items] == [200, 200, 200, 404, 400]
    assert items[3]["error"]["type"] == "document_missing_exception"
    pot = client.get("/shop/_doc/pot").json()["_source"]
    assert (pot["price"], pot["kind"], pot["tags"]) == (41, "ware", ["clay"])


@pytest.mark.parametrize(
    ("path", "body", "status", "kind", "words"),
    [
        ("none", {"doc": {"price": 1}}, 404, "document_missing_exception", "none"),
        ("pot", {"script": {"source": "x"}}, 400, "unsupported_operation_exception", "[script]"),
        ("pot", {"doc": {}, "upsert": {}}, 400, "unsupported_operation_exception", "[upsert]"),
        ("pot?routing=1", {"doc": {}}, 400, "unsupported_operation_exception", "[routing]"),
        ("pot", {}, 400, "parsing_exception", "doc is an object"),
        ("pot", {"doc": {"id": "assam"}}, 400, "parsing_exception", "not that of the address"),
        ("pot", {"doc": {"prize": [1]}}, 400, "illegal_argument_exception", "price"),
        ("pot", {"doc": {"price": "low"}}, 400, "mapper_parsing_exception", "price"),
        ("pot", {"doc": {"text": "new"}}, 400, "parsing_exception", "the whole document with PUT"),
    ],
)
def test_wrong_updates_change_nothing(
    client: TestClient, path: str, body: object, status: int, kind: str, words: str
) -> None:
    answer = client.post(f"/shop/_update/{path}", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], words in error["reason"]) == (status, kind, True), answer.text
    assert client.get("/shop/_doc/pot").json()["_source"]["price"] == 40


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([{"upsert": {"_id": "a"}}, MATE], "[upsert]"),
        ([{"index": {"_id": "a"}}], "lacks its document"),
        ([{"delete": {}}], "_id"),
        ([{"update": {}}, {"doc": {}}], "_id"),
    ],
)
def test_wrong_lines_of_actions_refuse_the_request(
    client: TestClient, lines: list[object], words: str
) -> None:
    body = "".join(f"{json.dumps(line)}\n" for line in lines)
    answer = client.post("/shop/_bulk", content=body, headers={"content-type": "application/x-ndjson"})
    assert (answer.status_code, words in answer.json()["error"]["reason"]) == (400, True), answer.text


def test_an_index_is_described(client: TestClient) -> None:
    properties = client.get("/shop/_mapping").json()["shop"]["mappings"]["properties"]
    assert {name: each["type"] for name, each in properties.items()} == {
        "text": "text", "price": "long", "kind": "keyword", "tags": "keyword",
    }  # fmt: skip
    assert client.get("/shop").json()["shop"]["mappings"]["properties"] == properties
    assert (client.head("/shop").status_code, client.head("/none").status_code) == (200, 404)
    (row,) = client.get("/_cat/indices?format=json").json()
    assert (row["index"], row["docs.count"], row["health"]) == ("shop", "5", "green")
    lines = client.get("/_cat/indices/shop?v&h=index,docs.count").text.splitlines()
    assert [line.split() for line in lines] == [["index", "docs.count"], ["shop", "5"]]
    assert client.post("/shop/_refresh").json()["_shards"]["failed"] == 0
    exists, absent = client.put("/shop", json={}), client.put("/other", json={})
    assert exists.json()["error"]["type"] == "resource_already_exists_exception"
    assert "build it and serve it" in absent.json()["error"]["reason"]
    assert client.delete("/shop").status_code == 403  # no request has created it


def test_clients_that_ask_for_html_get_no_json_at_the_root(client: TestClient) -> None:
    assert client.get("/").json()["version"]["distribution"] == "termwise"
    assert client.head("/").status_code == 200
    page = client.get("/", headers={"accept": "text/html,*/*"})
    assert "json" not in page.headers["content-type"] or page.status_code == 404


def test_keys_and_their_roles_are_required(shop: Path, tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    reader, writer = keys.create("search", "reader"), keys.create("write", "writer")
    with served([str(shop)], ServiceSettings(keys=tmp_path / "keys.json")) as client:
        unknown = client.get("/shop/_search")
        assert (unknown.status_code, unknown.json()["error"]["type"]) == (401, "security_exception")
        assert client.get("/shop/_search", auth=("user", reader)).status_code == 200
        assert client.put("/shop/_doc/mate", json=MATE, auth=("user", reader)).status_code == 403
        assert client.put("/shop/_doc/mate", json=MATE, auth=("user", writer)).status_code == 201


def test_a_name_includes_the_fields_inside_it() -> None:
    of_meta, without_x = SourceFilter(includes=("meta",)), SourceFilter(excludes=("*.x",))
    assert [of_meta.wants(name) for name in ("meta.lang", "metadata", "meta")] == [True, False, True]
    assert [without_x.wants(name) for name in ("a.x", "a.y")] == [False, True]


def test_nested_names_become_objects_unless_they_clash() -> None:
    fields = Fields({}, {})
    assert fields.source("1", {"a.b": 1, "a.c.d": 2, "a.b.e": 3}, {}, SourceFilter()) == {
        "id": "1", "a": {"b": 1, "c": {"d": 2}, "b.e": 3},
    }  # fmt: skip
