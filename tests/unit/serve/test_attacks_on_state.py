"""Attacks on the documents and the state of a service: a request harms no other document, and no other client."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.unit.serve.conftest import served

import termwise
from termwise.errors import StorageError
from termwise.indexing.live_writer import LiveWriter
from termwise.serve import ServiceSettings

NDJSON = {"Content-Type": "application/x-ndjson"}
DOCUMENTS = "/v1/indexes/shop/documents"


def _lines(*records: object) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


@pytest.mark.parametrize("address", [DOCUMENTS, "/shop/_doc"])
def test_line_ends_belong_to_an_identifier(client: TestClient, address: str) -> None:
    for doc_id in ("sencha\n", "\nsencha", "a\nb/c%\r\n"):
        path = f"{address}/{quote(doc_id, safe='')}"
        assert client.get(path).status_code == client.delete(path).status_code == 404
        assert client.put(path, json={"text": "oolong"}).status_code == 201
        assert client.delete(path).status_code == 200
    assert client.get(f"{address}/sencha").status_code == 200


@pytest.mark.parametrize("name", ["price", "other"])
@pytest.mark.parametrize("value", [{"x": 1}, "more words than an attribute has"])
def test_what_can_be_no_attribute_is_refused_inside_an_object(
    client: TestClient, name: str, value: object
) -> None:
    before = client.get(f"{DOCUMENTS}/sencha").json()
    for answer in (
        client.put(f"{DOCUMENTS}/new", json={"text": "x", name: {"amount": value}}),
        client.patch(f"{DOCUMENTS}/sencha", json={name: {"amount": value}}),
    ):
        assert answer.status_code == 400
        assert f"{name}.amount" in answer.text
    assert client.get(f"{DOCUMENTS}/new").status_code == 404
    assert client.get(f"{DOCUMENTS}/sencha").json() == before


def test_unknown_fields_inside_an_object_are_new_attributes(client: TestClient) -> None:
    record = {"text": "x", "weight": {"amount": 3}, "maker": {"a": "b", "c": None}}
    assert client.put(f"{DOCUMENTS}/new", json=record).status_code == 201
    attributes = {"weight.amount": 3, "maker.a": "b"}
    assert client.get(f"{DOCUMENTS}/new").json()["attributes"] == attributes
    assert client.patch(f"{DOCUMENTS}/new", json={"weight": {"amount": None}}).status_code == 200
    assert client.get(f"{DOCUMENTS}/new").json()["attributes"] == {"maker.a": "b"}
    for change in ({"maker": {"a": {"x": 1}}}, {"text": {"a": 1}}):
        assert client.patch(f"{DOCUMENTS}/new", json=change).status_code == 400
    assert client.get(f"{DOCUMENTS}/new").json()["attributes"] == {"maker.a": "b"}


def test_an_object_in_place_of_a_value_is_refused(client: TestClient) -> None:
    about = client.get("/v1/indexes/shop").json()["attributes"]
    record = {"text": "x", "price": {"amount": 3}}
    line = json.dumps({"index": {"_id": "new"}}) + "\n" + json.dumps(record) + "\n"
    headers = {"content-type": "application/x-ndjson"}
    for answer in (
        client.put(f"{DOCUMENTS}/new", json=record),
        client.patch(f"{DOCUMENTS}/sencha", json={"price": {"amount": 3}}),
        client.put("/shop/_doc/new", json=record),
        client.post("/shop/_update/sencha", json={"doc": {"price": {"amount": 3}}}),
    ):
        assert answer.status_code == 400
        assert "an object in place of a value" in answer.text
    assert client.post("/shop/_bulk", content=line, headers=headers).json()["errors"] is True
    assert client.get("/v1/indexes/shop").json()["attributes"] == about


def test_candidates_and_exclude_are_never_ignored(client: TestClient) -> None:
    for request in (
        {"like": "assam", "exclude": ["pot"]},
        {"like_text": "black tea", "exclude": ["pot"]},
        {"like": "assam", "candidates": ["pot"]},
        {"query": "tea", "candidates": ["pot"], "facets": ["kind"]},
        {"query": "tea", "candidates": ["pot"], "ranges": {"price": {"all": [0, None]}}},
    ):
        answer = client.post("/v1/indexes/shop/search", json=request)
        assert answer.status_code == 400, request


def test_ranges_of_huge_numbers_are_refused(client: TestClient) -> None:
    ranges = [{"from": 10**400}]
    answer = client.post(
        "/shop/_search", json={"aggs": {"a": {"range": {"field": "price", "ranges": ranges}}}}
    )
    assert answer.status_code == 400


def test_a_document_needs_a_body_in_json(client: TestClient) -> None:
    """A page of another site can send a request without a body."""
    for path in ("/shop/_doc", "/shop/_doc/a", "/shop/_create/a"):
        assert client.post(path).status_code == 415


def test_many_changes_of_one_document_are_one_change(no_counts: None, client: TestClient, shop: Path) -> None:
    put, delete = {"id": "x", "text": "oolong"}, {"delete": "x"}
    lines = [delete, put, put, delete, delete, {"id": "y", "text": "keemun"}, *[put, delete] * 500, put]
    answer = client.post(DOCUMENTS, content=_lines(*lines), headers=NDJSON)
    results = [json.loads(line)["result"] for line in answer.text.splitlines()]
    assert results[:7] == ["missing", "created", "replaced", "deleted", "missing", "created", "created"]
    assert results[7:] == ["deleted", "created"] * 500
    index = termwise.open(shop).index
    assert len(index.manifest.segments) == 2
    assert [index.doc_id(len(index) - 2), index.doc_id(len(index) - 1)] == ["y", "x"]
    create, text = {"create": {"_id": "x"}}, {"text": "a"}
    actions = [create, text, {"delete": {"_id": "x"}}, create, text]
    items = client.post("/shop/_bulk", content=_lines(*actions), headers=NDJSON).json()["items"]
    assert [each["status"] for item in items for each in item.values()] == [409, 200, 201]


def test_a_bulk_request_reports_what_was_made_in_each_index(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    termwise.build_index([termwise.Document("a", "tea")], tmp_path / "other.tw")
    add = LiveWriter.add

    def fails_in_other(writer: LiveWriter, documents: list[termwise.Document]) -> object:
        if writer.path.name == "other.tw":
            raise StorageError("the disk is full", facts=[("file", tmp_path / "secret")])
        return add(writer, documents)

    monkeypatch.setattr(LiveWriter, "add", fails_in_other)
    monkeypatch.setattr(logging.getLogger("termwise.serve"), "propagate", True)
    lines = [
        {"index": {"_index": "shop", "_id": "n"}},
        {"text": "x"},
        {"index": {"_index": "other", "_id": "n"}},
    ]
    with served([str(shop), str(tmp_path / "other.tw")]) as client:
        answer = client.post("/_bulk", content=_lines(*lines, {"text": "x"}), headers=NDJSON)
        assert [item["index"]["status"] for item in answer.json()["items"]] == [201, 500]
        assert answer.json()["errors"]
        alone = client.put("/other/_doc/n", json={"text": "x"})
        assert client.get("/shop/_doc/n").status_code == 200
    assert alone.status_code == 500
    assert "secret" not in answer.text + alone.text
    logged = {id(record) for record in caplog.records if "the disk is full" in record.getMessage()}
    assert len(logged) == 2


def test_ready_notices_a_missing_folder_and_its_return_without_a_search(
    client: TestClient, shop: Path
) -> None:
    away = shop.with_name("away")
    for _ in range(2):
        shop.rename(away)
        assert client.get("/ready").status_code == 503
        away.rename(shop)
        assert client.get("/ready").status_code == 200


def test_bodies_of_searches_are_small(shop: Path) -> None:
    """Reading JSON holds up all other requests."""
    with served([str(shop)], ServiceSettings(max_search_body=1000)) as client:
        large = {"query": "tea", "exclude": ["x" * 2000]}
        for path in ("v1/indexes/shop/search", "v1/indexes/shop/explain", "v1/search", "_search", "_msearch"):
            answer = client.post(f"/{path}", json=large)
            assert answer.status_code == 413
            assert answer.headers["connection"] == "close"
        assert client.put(f"{DOCUMENTS}/long", json={"text": "x" * 2000}).status_code == 201
