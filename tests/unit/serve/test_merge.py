"""Tests of partial updates of documents by JSON merge patches, as RFC 7396 defines them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.unit.serve.conftest import served

import termwise
from termwise.fusion import mix_indexes
from termwise.records import Document
from termwise.serve.changes import ChangeQueue, Delete, Merge, Put
from termwise.serve.documents import read_merge

POT = {
    "_id": "pot",
    "title": "a pot",
    "text": "of clay",
    "price": 40,
    "tags": ["tea", "ware"],
    "by": {"name": "Ito"},
}
CUP = {"_id": "cup", "title": "a cup", "text": "of glass", "price": 9, "tags": ["tea"], "by": {"name": "Abe"}}
ATTRIBUTES = ("price", "tags", "by.name")


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return _built(tmp_path_factory.mktemp("pots") / "pots.tw", {"title": 3, "text": 1})


def _built(folder: Path, fields: dict[str, int] | None, **options: Any) -> Any:
    collection = folder.with_suffix(".jsonl")
    collection.write_text("".join(f"{json.dumps(record)}\n" for record in (POT, CUP)))
    options = {"store_text": True, "attributes": ATTRIBUTES, **options}
    return termwise.build_index(collection, folder, fields=fields, **options)


@pytest.fixture
def pots(tmp_path: Path) -> Iterator[TestClient]:
    _built(tmp_path / "pots.tw", {"title": 3, "text": 1})
    with served([str(tmp_path / "pots.tw")]) as client:
        yield client


ADDRESS = "/v1/indexes/pots/documents/pot"


def test_given_texts_and_attributes_change_and_others_stay(pots: TestClient) -> None:
    patch = {"title": "a kettle", "price": 35, "tags": None, "by": {"name": "Abe"}}
    answer = pots.patch(ADDRESS, json=patch)
    assert (answer.status_code, answer.json()) == (200, {"doc_id": "pot", "result": "updated"})
    document = pots.get(ADDRESS).json()
    assert document["texts"] == {"title": "a kettle", "text": "of clay"}
    assert document["attributes"] == {"price": 35, "by.name": "Abe"}
    hits = pots.get("/v1/indexes/pots/search", params={"query": "kettle clay"}).json()["hits"]
    assert [hit["doc_id"] for hit in hits] == ["pot"]
    patched = {"content-type": "application/merge-patch+json"}
    assert pots.patch(ADDRESS, content=b'{"by": null}', headers=patched).status_code == 200
    assert pots.get(ADDRESS).json()["attributes"] == {"price": 35}


def test_a_whole_document_has_a_text(pots: TestClient) -> None:
    answer = pots.put(ADDRESS, json={"price": 1})
    assert answer.status_code == 400
    assert "PATCH" in answer.json()["error"]["fixes"][1]
    assert pots.put(ADDRESS, json={"title": "a pot"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "patch", "status", "words"),
    [
        ("none", {"price": 1}, 404, "no such document"),
        ("pot", {"prize": [1]}, 400, "did you mean price"),
        ("pot", {"price": "much"}, 400, "price"),
        ("pot", {"title": 3}, 400, "a text is not a string"),
        ("pot", {"_id": "cup"}, 400, "not that of the address"),
        ("pot", [], 400, "JSON object"),
    ],
)
def test_a_wrong_patch_changes_nothing(
    pots: TestClient, path: str, patch: object, status: int, words: str
) -> None:
    before = pots.get(ADDRESS).json()
    answer = pots.patch(f"/v1/indexes/pots/documents/{path}", json=patch)
    assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert pots.get(ADDRESS).json() == before


def test_lines_of_many_changes_are_patches(pots: TestClient) -> None:
    lines = [
        {"patch": {"_id": "pot", "title": "a kettle", "tags": None}},
        {"patch": {"id": "pot", "price": 35}},
        {"patch": {"_id": "none", "price": 35}},
        {"patch": {"_id": "cup", "prize": [35]}},
        {"patch": {"price": 35}},
        {"patch": "cup"},
        {"_id": "cup", "patch": {"price": 35}},
    ]
    body = "\n".join(json.dumps(line) for line in lines)
    kind = {"content-type": "application/x-ndjson"}
    answer = pots.post(ADDRESS.removesuffix("/pot"), content=body, headers=kind)
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert records[:3] == [
        {"doc_id": "pot", "result": "updated"},
        {"doc_id": "pot", "result": "updated"},
        {"doc_id": "none", "result": "missing"},
    ]
    assert [(each["line"], each.get("doc_id"), each["status"]) for each in records[3:]] == [
        (4, "cup", 400), (5, None, 400), (6, None, 400), (7, "cup", 400),
    ]  # fmt: skip
    document = pots.get(ADDRESS).json()
    assert document["texts"] == {"title": "a kettle", "text": "of clay"}
    assert document["attributes"] == {"price": 35, "by.name": "Ito"}


def test_an_index_that_joins_texts_refuses_new_ones(tmp_path: Path) -> None:
    _built(tmp_path / "pots.tw", None)
    _built(tmp_path / "bare.tw", None, store_text=False)
    with served([str(tmp_path / "pots.tw"), str(tmp_path / "bare.tw")]) as client:
        assert client.patch(ADDRESS, json={"price": 3}).status_code == 200
        document = client.get(ADDRESS).json()
        assert (document["text"], document["attributes"]["price"]) == ("a pot\nof clay", 3)
        for address, patch in (
            (ADDRESS, {"text": "of iron"}),
            (ADDRESS.replace("pots", "bare"), {"price": 3}),
        ):
            answer = client.patch(address, json=patch)
            assert (answer.status_code, answer.json()["error"]["type"]) == (400, "partial-update")
            assert "PUT" in answer.json()["error"]["fixes"][0]


def test_documents_of_a_mixture_are_merged(tmp_path: Path) -> None:
    parts = [tmp_path / "a.tw", tmp_path / "b.tw"]
    _built(parts[0], {"title": 3, "text": 1}, attributes=None)
    _built(parts[1], {"title": 3, "text": 1}, model="jm")
    mix_indexes(parts, [0.5, 0.5], tmp_path / "pots.tw")
    with served([str(tmp_path / "pots.tw")]) as client:
        assert client.patch(ADDRESS, json={"text": "of iron", "price": 3}).status_code == 200
        document = client.get(ADDRESS).json()
        assert document["texts"] == {"title": "a pot", "text": "of iron"}
        assert document["attributes"]["price"] == 3


def test_patches_at_the_same_time_lose_nothing(pots: TestClient) -> None:
    patches = [
        {"title": "a kettle"},
        {"text": "of iron"},
        {"price": 3},
        {"tags": ["new"]},
        {"by": {"name": "Abe"}},
    ]
    threads = [
        threading.Thread(target=pots.patch, args=(ADDRESS,), kwargs={"json": each}) for each in patches
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    document = pots.get(ADDRESS).json()
    assert document["texts"] == {"title": "a kettle", "text": "of iron"}
    assert document["attributes"] == {"price": 3, "tags": ["new"], "by.name": "Abe"}


def test_changes_of_one_commit_are_made_in_their_order(tmp_path: Path) -> None:
    _built(tmp_path / "pots.tw", {"title": 3, "text": 1})
    changes = ChangeQueue(tmp_path / "pots.tw", 60)
    whole = Document.of_fields("pot", {"title": "a bowl", "text": ""}, {"price": 1})
    cheap = Merge("pot", {"text": "of wood"}, {"price": None})
    done = changes.submit([cheap, Put(whole), cheap, Delete("cup"), Merge("cup", {}, {"price": 1})])
    assert done.result() == ["updated", "replaced", "updated", "deleted", "missing"]
    changes.close()
    index = termwise.open(tmp_path / "pots.tw").index
    assert index.documents == 1
    assert index.document_texts(index.find_many(["pot"])) == ["a bowl\nof wood"]


TEXTS = st.text("xy ", max_size=3) | st.none()
PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "title": TEXTS,
        "text": TEXTS,
        "price": st.integers(-3, 3) | st.none(),
        "tags": st.lists(st.sampled_from("ab"), min_size=1, unique=True) | st.none(),
        "by": st.none() | st.fixed_dictionaries({}, optional={"name": st.text("xy", max_size=2) | st.none()}),
    },
)


def merged(target: Any, patch: Any) -> Any:
    """Return what section 2 of RFC 7396 returns."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = merged(target.get(name), value)
    return target


@settings(max_examples=200, deadline=None)
@given(patches=st.lists(PATCHES, min_size=1, max_size=3))
def test_patches_are_those_of_the_standard(searcher: Any, patches: list[dict[str, Any]]) -> None:
    texts = {"title": "a pot", "text": "of clay"}
    attributes = {"price": 40, "tags": ("tea", "ware"), "by.name": "Ito"}
    document, record = Document.of_fields("pot", texts, attributes), dict(POT)
    for patch in patches:
        document = read_merge(searcher, patch, "pot").applied(document)
        record = merged(record, patch)
    assert document.fields == {name: record.get(name, "") for name in texts}
    known = {"price": record.get("price"), "by.name": record.get("by", {}).get("name")}
    known["tags"] = tuple(record["tags"]) if "tags" in record else None
    assert document.attributes == {name: value for name, value in known.items() if value is not None}


def test_new_attributes_come_with_documents_and_patches(pots: TestClient) -> None:
    put = pots.put(
        "/v1/indexes/pots/documents/jug",
        json={"title": "a jug", "rating": 4, "maker": {"town": "Mashiko"}, "marks": ["old", "blue"]},
    )
    assert put.status_code == 201, put.text
    assert pots.patch(ADDRESS, json={"rating": 5, "glaze": "ash", "absent": None}).status_code == 200
    wrong = pots.patch(ADDRESS, json={"rating": "high"})
    assert (wrong.status_code, "rating" in wrong.text) == (400, True)
    text = pots.patch(ADDRESS, json={"story": "Found in an old barn near the sea."})
    assert (text.status_code, "story" in text.text) == (400, True)
    assert pots.get(ADDRESS).json()["attributes"]["rating"] == 5
    found = pots.post("/v1/indexes/pots/search", json={"filter": "rating > 3 and glaze is missing"}).json()
    assert [hit["doc_id"] for hit in found["hits"]] == ["jug"]
    jug = pots.get("/v1/indexes/pots/documents/jug").json()
    assert jug["attributes"] == {"rating": 4, "maker.town": "Mashiko", "marks": ["old", "blue"]}
