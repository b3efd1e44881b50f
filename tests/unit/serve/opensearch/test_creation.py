"""Indexes that requests create."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.serve.conftest import TEAS, running, served

import termwise
from termwise.attributes import Schema
from termwise.errors import ParameterError
from termwise.serve import KeyFile, ServiceSettings

MAPPING = {
    "properties": {
        "title": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}},
        "description": {"type": "text"},
        "price": {"type": "double"},
        "stock": {"type": "integer"},
        "added": {"type": "date"},
        "sold": {"type": "boolean"},
        "maker": {"properties": {"name": {"type": "keyword"}}},
    }
}
LAMP = {
    "title": "Desk lamp",
    "description": "lamps for the desk, of brass",
    "price": 12.5,
    "stock": 3,
    "added": "2024-01-31",
    "sold": False,
    "maker": {"name": "Bo"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "new"
    folder.mkdir()
    return folder


@pytest.fixture
def client(shop: Path, folder: Path) -> Iterator[TestClient]:
    with served([str(shop)], ServiceSettings(threads=2, create_in=folder)) as client:
        yield client


def found(client: TestClient, index: str, query: object) -> list[str]:
    answer = client.post(f"/{index}/_search", json={"query": query})
    assert answer.status_code == 200, answer.text
    return [hit["_id"] for hit in answer.json()["hits"]["hits"]]


def test_an_index_is_created_filled_and_searched(client: TestClient, folder: Path) -> None:
    answer = client.put("/lamps", json={"mappings": MAPPING, "settings": {"index": {"number_of_shards": 1}}})
    assert answer.json() == {"acknowledged": True, "shards_acknowledged": True, "index": "lamps"}
    index = termwise.open(folder / "lamps.tw").index
    assert index.schema == Schema(
        {
            "title": "keyword", "price": "float", "stock": "integer", "added": "date", "sold": "boolean",
            "maker.name": "keyword",
        }
    )  # fmt: skip
    assert dict(index.manifest.field_weights) == {"title": 1, "description": 1}
    assert index.manifest.encoder.analyzer.name == "standard"
    assert client.head("/lamps").status_code == 200
    assert found(client, "lamps", {"match_all": {}}) == []
    assert client.put("/lamps/_doc/l1", json=LAMP).status_code == 201
    assert (
        client.put("/lamps/_doc/l2", json={"title": "Floor lamp", "price": 80, "colour": "red"}).status_code
        == 201
    )
    assert client.get("/lamps/_doc/l1").json()["_source"] == {
        "id": "l1",
        **LAMP,
        "added": "2024-01-31T00:00:00Z",
    }
    assert set(found(client, "lamps", {"multi_match": {"query": "lamp"}})) == {"l1", "l2"}
    assert found(client, "lamps", {"multi_match": {"query": "lamps"}}) == ["l1"]  # no stems
    assert found(client, "lamps", {"term": {"title.keyword": "Floor lamp"}}) == ["l2"]
    assert found(client, "lamps", {"range": {"added": {"lt": "2025-01-01"}}}) == ["l1"]
    assert found(client, "lamps", {"term": {"colour": "red"}}) == ["l2"]
    names = [each["index"] for each in client.get("/v1/indexes").json()["indexes"]]
    assert names == ["shop", "lamps"]
    answer = client.put("/lamps", json={"mappings": MAPPING})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "resource_already_exists_exception")


@pytest.mark.parametrize(
    ("settings", "word", "analyzer"),
    [
        ({"analysis": {"analyzer": {"default": {"type": "english"}}}}, "lamps", "english"),
        ({"index": {"analysis.analyzer.default.type": "german"}}, "Lampen", "german"),
        ({"termwise.model": "jm"}, "lamp", "standard"),
        ({"termwise": {"model": "instant"}}, "lights", "english-parts"),
    ],
)
def test_settings_choose_model_and_analyzer(
    client: TestClient, folder: Path, settings: object, word: str, analyzer: str
) -> None:
    mapping = {"properties": {"name": {"type": "text"}}}
    assert client.put("/a", json={"mappings": mapping, "settings": settings}).status_code == 200
    text = {"german": "eine Lampe"}.get(analyzer, "one lamp")
    assert client.put("/a/_doc/1", json={"name": text}).status_code == 201
    assert found(client, "a", {"match": {"name": word}}) == ["1"]
    part = termwise.open(folder / "a.tw").parts[0].index
    assert part.manifest.encoder.analyzer.name == analyzer


def test_created_indexes_are_served_again_and_by_other_processes(
    client: TestClient, shop: Path, folder: Path
) -> None:
    with served([str(shop)], ServiceSettings(threads=2, create_in=folder)) as other:
        body = {"mappings": {"properties": {"name": {"type": "text"}}}}
        assert client.put("/a", json=body).status_code == 200
        line = '{"index": {"_id": "1"}}\n{"name": "one lamp"}\n'
        headers = {"content-type": "application/x-ndjson"}
        assert other.post("/a/_bulk", content=line, headers=headers).json()["errors"] is False
        assert found(client, "a", {"match": {"name": "lamp"}}) == ["1"]
        assert client.put("/b", json=body).status_code == 200
        assert {line.split()[2] for line in other.get("/_cat/indices").text.splitlines()} == {
            "shop",
            "a",
            "b",
        }
        assert other.put("/b", json=body).status_code == 400
    with served([str(shop)], ServiceSettings(threads=2, create_in=folder)) as again:
        assert found(again, "a", {"match": {"name": "lamp"}}) == ["1"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "needs a text"),
        ({"mappings": {"properties": {"price": {"type": "long"}}}}, "needs a text"),
        ({"mapping": {}}, "[mapping]"),
        ({"mappings": {"properties": {"a": {"type": "text"}}}, "aliases": {"B": {}}}, "the alias [B]"),
        ({"mappings": {"properties": {"a": {"type": "text"}}}, "aliases": {"b": {"filter": {}}}}, "[filter]"),
        ({"mappings": {"properties": {"a": {"type": "text"}}}, "aliases": []}, "aliases is an object"),
        ({"mappings": {"properties": {"a_de": {"type": "text", "analyzer": "german"},
                                      "a_fr": {"type": "text", "analyzer": "french"}}}}, "termwise.analyzer_by"),
        ({"mappings": {"properties": {"a": {"type": "text"}}},
          "settings": {"analysis": {"analyzer": {"my": {"type": "custom", "tokenizer": "standard"}}}}},
         "use an analyzer by its name"),
        ({"mappings": {"properties": {"a": {"type": "text"}, "lang": {"type": "long"}}},
          "settings": {"termwise.analyzer_by": "lang"}}, "as termwise.analyzer_by"),
        ({"mappings": {"properties": {"a": {"type": "text", "analyzer": "german"}}},
          "settings": {"termwise.analyzer_by": "lang"}}, "beside termwise.analyzer_by, the analyzer"),
        ({"mappings": {"properties": {"a": {"type": "text"}}},
          "settings": {"termwise.analyzer_by": "lang", "termwise.model": "jm"}}, "the model [jm]"),
        ({"mappings": {"dynamic": "strict", "properties": {}}}, "dynamic"),
        ({"mappings": {"properties": {"title": {}}}}, "type of title"),
        ({"mappings": {"properties": {"title": "text"}}}, "the field title is an object"),
        ({"mappings": {"properties": {"place": {"type": "geo_point"}}}}, "[geo_point]"),
        ({"mappings": {"properties": {"added": {"type": "date", "format": "yyyy"}}}}, "[format]"),
        ({"mappings": {"properties": {"title": {"type": "text", "boost": 2}}}}, "[boost]"),
        ({"mappings": {"properties": {"title": {"type": "text", "fields": {"raw": {"type": "keyword"}}}}}}, "[raw]"),
        ({"mappings": {"properties": {"a": {"type": "text", "analyzer": "english"},
                                      "b": {"type": "text", "analyzer": "german"}}}}, "several analyzers"),
        ({"mappings": {"properties": {"a": {"type": "text", "analyzer": "englisch"}}}}, "englisch"),
        ({"mappings": {"properties": {"a": {"type": "text", "analyzer": ""}}}}, "analyzer"),
        ({"mappings": {"properties": {"a": {"type": "text", "analyzer": "wordpiece:/etc/group"}}}}, "/etc/group"),
        ({"mappings": {"properties": {"a": {"type": "text", "analyzer": "wordpiece:\0"}}}}, "the analyzer"),
        ({"mappings": {"properties": {"_id": {"type": "text"}}}}, "cannot have this name"),
        ({"mappings": {"properties": {"a" * 256: {"type": "text"}}}}, "cannot have this name"),
        ({"mappings": {"properties": {"a\u202eb": {"type": "text"}}}}, "cannot have this name"),
        ({"mappings": {"properties": {"a": {"type": "text"}}}, "settings": {"analysis": {"filter": {"x": 1}}}},
         "[analysis.filter.x]"),
        ({"mappings": {"properties": {"a": {"type": "text"}}}, "settings": {"termwise.model": "/etc"}}, "[/etc]"),
        ({"mappings": {"properties": {"a": {"type": "text", "analyzer": "german"}}},
          "settings": {"termwise.model": "instant"}}, "[german]"),
        ({"mappings": {"properties": {f"f{n}": {"type": "text"} for n in range(1001)}}}, "too many fields"),
    ],
)  # fmt: skip
def test_what_an_index_cannot_have_is_refused_by_name(
    client: TestClient, folder: Path, body: object, words: str
) -> None:
    answer = client.put("/a", json=body)
    assert answer.status_code == 400, answer.text
    assert words in answer.json()["error"]["reason"]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["_a", "A", "a b", "..", ".a", "-a", "a" * 65, "a%2Fb", "%2e%2e", "ä"])
def test_bad_names_create_nothing(client: TestClient, folder: Path, name: str) -> None:
    body = {"mappings": {"properties": {"a": {"type": "text"}}}}
    assert 400 <= client.put(f"/{name}", json=body).status_code < 500
    assert list(folder.iterdir()) == []
    assert [each.name for each in folder.parent.iterdir() if each.name not in ("new", "shop.tw")] == []


def test_who_may_create_indexes(shop: Path, folder: Path, tmp_path: Path) -> None:
    body = {"mappings": {"properties": {"a": {"type": "text"}}}}
    file = KeyFile(tmp_path / "keys.json")
    keys = {role: {"authorization": f"Bearer {file.create(role)}"} for role in ("search", "write")}
    settings = ServiceSettings(threads=2, create_in=folder, keys=tmp_path / "keys.json")
    with served([str(shop)], settings) as client:
        statuses = [
            client.put("/a", json=body, headers=headers).status_code for headers in ({}, *keys.values())
        ]
        assert statuses == [401, 403, 200]
    with served([str(shop)], ServiceSettings(threads=2, create_in=folder, read_only=True)) as client:
        assert client.put("/b", json=body).status_code == 403
    with served([str(shop)]) as client:
        answer = client.put("/b", json=body)
        assert answer.status_code == 400
        assert "[b] is not supported" in answer.json()["error"]["reason"]
    with pytest.raises(ParameterError, match="does not exist"):
        served([str(shop)], ServiceSettings(create_in=tmp_path / "none"))


def test_the_command(folder: Path, tmp_path: Path) -> None:
    import httpx

    termwise.build_index(TEAS[:1], tmp_path / "s.tw")
    with running(tmp_path / "s.tw", "--create-in", folder) as service:
        body = {"mappings": {"properties": {"name": {"type": "text"}}}}
        answer: Any = httpx.put(f"http://localhost:{service.port}/a", json=body)
        assert answer.json()["acknowledged"] is True
    assert (folder / "a.tw" / "manifest.json").is_file()


def test_a_damaged_folder_is_left_out(
    shop: Path, folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("termwise.serve"), "propagate", True)
    for name in ("a", "b"):
        termwise.build_index(TEAS, folder / f"{name}.tw", store_text=True)
    manifest = folder / "a.tw" / "manifest.json"
    whole = manifest.read_bytes()
    manifest.write_text("{")
    with served([str(shop)], ServiceSettings(threads=2, create_in=folder)) as client:
        for _ in range(2):
            names = {line.split()[2] for line in client.get("/_cat/indices").text.splitlines()}
            assert names == {"shop", "b"}
        (logged,) = (each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR)
        assert "the index a cannot be read, and is not served" in logged
        assert str(manifest) in logged
        assert found(client, "b", {"match_all": {}})
        body = {"mappings": {"properties": {"name": {"type": "text"}}}}
        for answer, status, kind in (
            (client.post("/a/_search", json={}), 503, "no_shard_available_action_exception"),
            (client.put("/a/_doc/1", json={"name": "tea"}), 503, "no_shard_available_action_exception"),
            (client.put("/a", json=body), 400, "resource_already_exists_exception"),
        ):
            assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)
            assert str(folder) not in answer.text
        answer = client.post("/v1/indexes/a/search", json={"query": "tea"})
        assert (answer.status_code, answer.json()["error"]["type"]) == (503, "unreadable-index")
        manifest.write_bytes(whole)
        assert found(client, "a", {"match_all": {}})


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_folder_that_is_damaged_or_removed_while_it_is_served(
    client: TestClient, folder: Path, is_removed: bool
) -> None:
    """Searches see the generation before; a change and a verification say that the index cannot be read."""
    body = {"mappings": {"properties": {"name": {"type": "text"}}}}
    assert client.put("/a", json=body).status_code == 200
    assert client.put("/a/_doc/1", json={"name": "one lamp"}).status_code == 201
    assert found(client, "a", {"match": {"name": "lamp"}}) == ["1"]
    if is_removed:
        shutil.rmtree(folder / "a.tw")
    else:
        (folder / "new").write_text("{")
        (folder / "new").replace(folder / "a.tw" / "manifest.json")
    assert found(client, "a", {"match": {"name": "lamp"}}) == ["1"]
    answer = client.put("/a/_doc/2", json={"name": "two lamps"})
    assert (answer.status_code, answer.json()["error"]["reason"].split(";")[0]) == (
        503,
        "the index cannot be read",
    )
    answer = client.post("/v1/indexes/a/verify")
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "unreadable-index")
    assert client.get("/ready").status_code == 503


BODY = {"mappings": {"properties": {"name": {"type": "text"}}}}


def names_of(client: TestClient) -> set[str]:
    return {line.split()[2] for line in client.get("/_cat/indices").text.splitlines()}


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"analysis": {"analyzer": {"mine": {"type": "german"}}}}, {"analyzer": "mine"}),
        ({"index": {"analysis": {"analyzer": {"mine": {"type": "german"}}}}},
         {"analyzer": "mine", "search_analyzer": "german"}),
        ({}, {"analyzer": "german"}),
    ],
)  # fmt: skip
def test_analyzers_have_names(
    client: TestClient, folder: Path, settings: object, field: dict[str, str]
) -> None:
    body = {"mappings": {"properties": {"name": {"type": "text", **field}}}, "settings": settings}
    assert client.put("/a", json=body).status_code == 200
    client.put("/a/_doc/1", json={"name": "rote Lampen"})
    assert found(client, "a", {"match": {"name": "Lampe"}}) == ["1"]
    assert termwise.open(folder / "a.tw").index.manifest.encoder.analyzer.name == "german"


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_documents_have_the_analyzer_of_their_language(client: TestClient, model: str) -> None:
    pytest.importorskip("simplemma")
    settings = {"termwise": {"analyzer_by": "lang", "model": model}}
    assert client.put("/a", json={**BODY, "settings": settings}).status_code == 200
    for doc_id, lang, name in (("1", "de", "rote Jacken"), ("2", "en", "red jackets")):
        assert client.put(f"/a/_doc/{doc_id}", json={"name": name, "lang": lang}).status_code == 201
    assert found(client, "a", {"match": {"name": {"query": "Jacke", "operator": "and"}}}) == ["1"]
    assert found(client, "a", {"match": {"name": {"query": "jacket", "operator": "and"}}}) == ["2"]


def test_aliases_move_to_another_index_and_survive(client: TestClient, shop: Path, folder: Path) -> None:
    for name in ("a", "b"):
        assert client.put(f"/{name}", json={**BODY, "aliases": {f"{name}-first": {}}}).status_code == 200
        client.put(f"/{name}/_doc/{name}1", json={"name": "one lamp"})
    assert client.put("/a/_alias/lamps").json() == {"acknowledged": True}
    assert found(client, "lamps", {"match": {"name": "lamp"}}) == ["a1"]
    assert client.post("/lamps/_search", json={}).json()["hits"]["hits"][0]["_index"] == "a"
    assert client.post("/v1/indexes/lamps/search", json={"query": "lamp"}).json()["index"] == "a"
    move = {
        "actions": [{"add": {"index": "b", "alias": "lamps"}}, {"remove": {"index": "a", "alias": "lamps"}}]
    }
    assert client.post("/_aliases", json=move).json() == {"acknowledged": True}
    assert found(client, "lamps", {"match": {"name": "lamp"}}) == ["b1"]
    assert client.put("/lamps/_doc/b2", json={"name": "two lamps"}).json()["_index"] == "b"
    assert client.put("/shop/_alias/teas").status_code == 200
    wanted = {"shop": {"aliases": {"teas": {}}}, "a": {"aliases": {"a-first": {}}},
              "b": {"aliases": {"b-first": {}, "lamps": {}}}}  # fmt: skip
    assert client.get("/_alias").json() == wanted
    assert client.get("/_alias/lamps").json() == {"b": {"aliases": {"lamps": {}}}}
    assert client.head("/_alias/lamps").status_code == 200
    with served([str(shop)], ServiceSettings(threads=2, create_in=folder)) as again:
        assert again.get("/_alias").json() == wanted
        assert found(again, "teas", {"match_all": {}}) == [tea.doc_id for tea in TEAS]
        assert client.delete("/b/_alias/lamps").json() == {"acknowledged": True}
        assert again.head("/_alias/lamps").status_code == 404
        assert again.post("/lamps/_search", json={}).status_code == 404
    assert client.put("/b-first", json=BODY).json()["error"]["type"] == "resource_already_exists_exception"


@pytest.mark.parametrize(
    ("actions", "status", "words"),
    [
        ([], 400, "has actions"),
        ("add", 400, "an action on aliases is an object"),
        ([{"add": {"index": "a"}}], 400, "needs alias"),
        ([{"add": {"alias": "x"}}], 400, "needs index"),
        ([{"add": {"index": "a", "alias": "X/.."}}], 400, "[X/..]"),
        ([{"add": {"index": "*", "alias": "x"}}], 400, "[*]"),
        ([{"add": {"index": "a", "alias": "x", "filter": {"match_all": {}}}}], 400, "[filter]"),
        ([{"add": {"index": "a", "alias": "x", "routing": "1"}}], 400, "[routing]"),
        ([{"add": {"indices": ["a", "shop"], "alias": "x"}}], 400, "for several indexes, the alias [x]"),
        ([{"add": {"index": "a", "alias": "shop"}}], 400, "already"),
        ([{"add": {"index": "nix", "alias": "x"}}], 404, "no such index"),
        ([{"remove": {"index": "a", "alias": "x"}}], 404, "no such alias"),
        ([{"remove_index": {"index": "a"}}], 400, "DELETE /INDEX"),
        ([{"add": {"index": "a", "aliases": [f"x{n}" for n in range(1001)]}}], 413, "too many aliases"),
        ([{"add": {"index": "a", "alias": "x"}}] * 1001, 400, "has actions"),
        ([{"add": {"index": "a", "alias": "x"}}, {"remove": {"index": "a", "alias": "y"}}], 404, "no such alias"),
    ],
)  # fmt: skip
def test_wrong_changes_of_aliases_change_nothing(
    client: TestClient, actions: object, status: int, words: str
) -> None:
    assert client.put("/a", json=BODY).status_code == 200
    answer = client.post("/_aliases", json={"actions": actions})
    assert (answer.status_code, words in answer.json()["error"]["reason"]) == (status, True), answer.text
    assert client.get("/_alias").json() == {"shop": {"aliases": {}}, "a": {"aliases": {}}}


def test_a_damaged_file_of_aliases_is_logged(
    client: TestClient, folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("termwise.serve"), "propagate", True)
    assert client.put("/shop/_alias/teas").status_code == 200
    assert client.head("/_alias/teas").status_code == 200
    for damaged in ("{", "[1]", '{"teas": 1}', "[" * 10_000):
        (folder / "aliases.json").write_text(damaged)
        assert client.head("/_alias/teas").status_code == 200
    assert "cannot be read" in caplog.text
    assert client.put("/shop/_alias/new").status_code == 200
    assert client.head("/_alias/new").status_code == 200


def test_an_index_is_deleted_in_all_processes(client: TestClient, shop: Path, folder: Path) -> None:
    assert client.put("/a", json={**BODY, "aliases": {"lamps": {}}}).status_code == 200
    client.put("/a/_doc/1", json={"name": "one lamp"})
    with served([str(shop)], ServiceSettings(threads=2, create_in=folder)) as other:
        assert found(other, "lamps", {"match": {"name": "lamp"}}) == ["1"]
        refused = client.delete("/lamps")
        assert (refused.status_code, "delete the index a" in refused.text) == (400, True)
        assert client.delete("/a").json() == {"acknowledged": True}
        for each in (client, other):
            assert names_of(each) == {"shop"}
            assert each.get("/ready").status_code == 200
            for name in ("a", "lamps"):
                assert each.post(f"/{name}/_search", json={}).status_code == 404
            assert each.put("/a/_doc/2", json={"name": "lamp"}).status_code == 404
        assert client.delete("/a").json()["error"]["type"] == "index_not_found_exception"
        assert client.delete("/a?ignore_unavailable=true").status_code == 200
        assert other.put("/a", json=BODY).status_code == 200
        assert other.put("/a/_doc/3", json={"name": "new lamp"}).status_code == 201
        for each in (client, other):
            assert found(each, "a", {"match": {"name": "lamp"}}) == ["3"]
    assert [file for each in folder.glob(".deleted-*") for file in each.iterdir()] == []


def test_searches_that_have_begun_end_as_usual(client: TestClient, folder: Path) -> None:
    for model in ("bm25", "instant"):
        assert client.put("/a", json={**BODY, "settings": {"termwise.model": model}}).status_code == 200
        client.put("/a/_doc/1", json={"name": "one lamp"})
        app: Any = client.app
        searcher = termwise.open(folder / "a.tw")
        assert app is not None
        assert client.delete("/a").status_code == 200
        assert searcher.rank("lamp").doc_ids == ("1",)
        assert searcher.search(termwise.search.Search("lamp")).hits()[0].text == "one lamp"


@pytest.mark.parametrize("name", ["shop", "*", "_all", "a,shop", "..", "%2e%2e", "nix"])
def test_other_indexes_are_not_deleted(client: TestClient, folder: Path, shop: Path, name: str) -> None:
    assert client.put("/a", json=BODY).status_code == 200
    assert 400 <= client.delete(f"/{name}").status_code < 500
    assert names_of(client) == {"shop", "a"}
    assert (shop / "manifest.json").is_file()


def test_who_may_delete_indexes_and_change_aliases(shop: Path, folder: Path, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    keys = {role: {"authorization": f"Bearer {file.create(role)}"} for role in ("search", "write")}
    with served(
        [str(shop)], ServiceSettings(threads=2, create_in=folder, keys=tmp_path / "keys.json")
    ) as client:
        client.put("/a", json=BODY, headers=keys["write"])
        for send in (
            lambda headers: client.put("/a/_alias/x", headers=headers),
            lambda headers: client.request("DELETE", "/a/_alias/x", headers=headers),
            lambda headers: client.post("/_aliases", json={"actions": []}, headers=headers),
            lambda headers: client.delete("/a", headers=headers),
        ):
            assert [send(headers).status_code for headers in ({}, keys["search"])] == [401, 403]
            assert send(keys["write"]).status_code in (200, 400)
        client.put("/a", json=BODY, headers=keys["write"])
    with served([str(shop)], ServiceSettings(threads=2, create_in=folder, read_only=True)) as client:
        assert [client.delete("/a").status_code, client.put("/a/_alias/x").status_code] == [403, 403]
    with served([str(shop)]) as client:
        assert client.put("/shop/_alias/x").status_code == 400
        assert client.delete("/shop").status_code == 403
        assert client.delete("/a").status_code == 404


def test_files_of_a_deletion_that_ended_early_are_removed(shop: Path, folder: Path) -> None:
    termwise.build_index(TEAS, folder / "a.tw")
    (folder / "a.tw").rename(folder / ".deleted-a-0123")
    with served([str(shop)], ServiceSettings(threads=2, create_in=folder)) as client:
        assert names_of(client) == {"shop"}
    assert [*(folder / ".deleted-a-0123").iterdir()] == []


def test_changes_while_an_index_is_deleted(client: TestClient) -> None:
    from concurrent.futures import ThreadPoolExecutor

    assert client.put("/a", json=BODY).status_code == 200
    with ThreadPoolExecutor(4) as threads:
        changes = [threads.submit(client.put, f"/a/_doc/{n}", json={"name": "lamp"}) for n in range(20)]
        searches = [threads.submit(client.post, "/a/_search", json={}) for _ in range(20)]
        deletion = threads.submit(client.delete, "/a")
        assert deletion.result().status_code == 200
        assert {each.result().status_code for each in changes} <= {201, 404, 503}
        assert {each.result().status_code for each in searches} <= {200, 404}
    assert client.post("/a/_search", json={}).status_code == 404
    assert client.put("/a", json=BODY).status_code == 200
    assert found(client, "a", {"match_all": {}}) == []
