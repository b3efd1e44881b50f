"""Bounds of the service: generations in memory, bodies, searches that are late, and work on the event loop."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import gzip
import json
import queue
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.serve.conftest import TEAS, served

import termwise
from termwise.budget import spend
from termwise.errors import CorruptIndexError, DeadlineError, StorageError
from termwise.index.folder import writer_lock
from termwise.index.updater import IndexUpdater
from termwise.indexing import added_rows
from termwise.indexing.model_choice import opened_encoder
from termwise.records import Document
from termwise.search import Results, Searcher
from termwise.serve import ServiceSettings as Settings
from termwise.serve import search
from termwise.serve.app import check_service
from termwise.serve.byte_budget import ByteBudget
from termwise.serve.changes import ChangeQueue, Put
from termwise.serve.indexes import ServedIndex
from termwise.serve.requests import ExplainRequest, SearchRequest
from termwise.serve.search_pool import SearchPool

SEARCHES: dict[str, dict[str, Any]] = {
    "plain": {"query": "green tea"},
    "mistyped": {"query": "gren tea", "fuzzy": True},
    "unfinished": {"query": "green te", "prefix": True},
    "conditions": {"query": "tea", "must": ["green tea", "from Uji"], "must_not": ["rice"]},
    "syntax": {"query": '+tea -rice "from Uji" kind:green', "syntax": True},
    "filter": {"query": "tea", "filter": "price < 20", "sort": "-price", "collapse": "kind"},
    "facets": {"query": "tea", "facets": ["kind"], "ranges": {"price": {"low": [None, 9]}}, "total": True},
    "like": {"like": "sencha"},
    "like text": {"like_text": "green tea with rice", "total": True, "facets": ["kind"]},
    "all about results": {"query": "tea", "text": True, "highlight": True, "explain": True},
    "candidates": {"query": "tea", "candidates": ["assam", "pot"]},
    "weights": {"weights": {"green": 1.0}},
}

WORK: dict[str, Callable[[ServedIndex, Settings], object]] = {
    "suggestions": lambda index, settings: search.suggest(index.searcher(), "gren te", settings),
    "explanation": lambda index, settings: search.explain(
        index.current(), ExplainRequest(query="tea", doc_id="assam", competitors=1), settings
    ),
    "facts": lambda index, settings: index.current().facts(),
}


def _search(request: dict[str, Any]) -> Callable[[ServedIndex, Settings], object]:
    return lambda index, settings: search.search(
        index.current(), SearchRequest(**request), settings
    ).explained()


@pytest.mark.parametrize("name", [*SEARCHES, *WORK])
def test_a_generation_that_no_search_reads_is_freed_at_once(shop: Path, name: str) -> None:
    """Without the collection of reference cycles, which comes late and keeps many generations until then."""
    index = ServedIndex("shop", shop)
    work = WORK[name] if name in WORK else _search(SEARCHES[name])
    gc.collect()
    gc.disable()
    try:
        work(index, Settings())
        before = [weakref.ref(each) for each in (index.opened, index.opened.index)]
        with termwise.open_writer(shop) as writer:
            writer.add([Document("new", "white tea")])
        assert index.follow()
        assert [each() for each in before] == [None] * 2
    finally:
        gc.enable()


ARRAYS = """
import ctypes
import numpy as np
from termwise.serve.server import return_large_arrays

class Facts(ctypes.Structure):
    _fields_ = (("numbers", ctypes.c_size_t * 10),)

library = ctypes.CDLL(None)
library.mallinfo2.restype = Facts
mapped = lambda: int(library.mallinfo2().numbers[4])  # hblkhd
return_large_arrays()
del (large := [np.ones(2_000_000)])[:]  # which would make the C library keep smaller arrays in the heap
before = mapped()
large = [np.ones(250_000) for _ in range(4)]
held = mapped() - before
del large
print(held, mapped() - before)
"""


def test_large_arrays_are_returned_to_the_system() -> None:
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("another C library")
    # in a process of its own: the heap of this one may have gaps that are large enough
    done = subprocess.run([sys.executable, "-c", ARRAYS], capture_output=True, text=True, check=True)
    held, kept = map(int, done.stdout.split())
    assert held >= 8_000_000 > kept


def test_a_body_over_the_bound_of_all_is_refused_for_now(shop: Path) -> None:
    with served([str(shop)], Settings(threads=1, max_body=1000, max_bodies=1000)) as client:
        bodies: ByteBudget = client.app.state.service.bodies  # type: ignore[attr-defined]
        assert bodies.take("another", 990)
        answer = client.post("/v1/indexes/shop/search", json={"query": "green tea"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert bodies.held == 990
        bodies.give_back("another", 990)
        assert client.post("/v1/indexes/shop/search", json={"query": "green tea"}).status_code == 200
        assert client.put("/v1/indexes/shop/documents/a", json={"text": "b"}).status_code == 201
        assert bodies.held == 0


def test_a_body_of_a_search_has_a_bound_of_values(shop: Path) -> None:
    with served([str(shop)]) as client:
        few, many = ({"query": "tea", "exclude": [str(each) for each in range(n)]} for n in (500, 20_000))
        assert client.post("/v1/indexes/shop/search", json=few).status_code == 200
        answer = client.post("/v1/indexes/shop/search", json=many)
        assert (answer.status_code, answer.json()["error"]["facts"]) == (413, {"most": "10000"})
        lines = [{}, {"query": {"match": {"text": "tea"}}, "terms": list(range(200))}] * 60
        body = "".join(json.dumps(each) + "\n" for each in lines)
        for content in (body, "\n" * 20_000, '"\n' + body):
            answer = client.post(
                "/shop/_msearch", content=content, headers={"content-type": "application/x-ndjson"}
            )
            assert answer.status_code == 413
        text = ", ".join("tea" for _ in range(20_000))  # a document may have any number of commas
        assert client.put("/v1/indexes/shop/documents/a", json={"text": text}).status_code == 201
        answer = client.post("/v1/indexes/shop/search", json={"like_text": f'say "{text}" \\'})
        assert answer.status_code == 400
        assert "longer" in answer.json()["error"]["message"]


def test_a_late_search_ends_early(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, ended = ServedIndex("shop", shop), threading.Event()
    errors: list[BaseException] = []
    find = Searcher.search

    def slowly(*given: Any) -> Any:
        time.sleep(0.2)
        return find(*given)

    def late() -> None:
        try:
            search.search(index.current(), SearchRequest(query="tea", explain=True), Settings())
        except BaseException as error:
            errors.append(error)
            raise
        finally:
            ended.set()

    async def run() -> None:
        pool = SearchPool(1, 1, 0.1)
        with pytest.raises(DeadlineError):
            await pool.run(late)
        ended.wait(10)
        pool.close()

    monkeypatch.setattr(Searcher, "search", slowly)
    monkeypatch.setattr(Results, "hits", None)  # what would come next
    asyncio.run(run())
    assert [type(error) for error in errors] == [DeadlineError]
    spend()  # not for other threads


def test_no_request_reads_files_on_the_event_loop(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_the_loop: list[bool] = []
    searcher = ServedIndex.searcher

    def noted(index: ServedIndex, **options: bool) -> Searcher:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            on_the_loop.append(False)
        else:
            on_the_loop.append(True)
        return searcher(index)

    index = "/v1/indexes/shop"
    with served([str(shop)]) as client:
        monkeypatch.setattr(ServedIndex, "searcher", noted)
        line = '{"index": {"_id": "c"}}\n{"text": "white tea"}\n'
        ndjson = {"content-type": "application/x-ndjson"}
        answers = [
            client.post(f"{index}/search", json={"query": "tea"}),
            client.get(f"{index}/search?query=tea"),
            client.post("/v1/search", json={"indexes": [{"index": "shop"}], "query": "tea"}),
            client.post(f"{index}/explain", json={"query": "tea", "doc_id": "pot"}),
            client.get(f"{index}/suggest?text=te"),
            client.get(f"{index}/documents/pot"),
            client.get("/v1/indexes"),
            client.get(index),
            client.put(f"{index}/documents/a", json={"text": "white tea"}),
            client.post(f"{index}/documents", content='{"id": "b", "text": "tea"}', headers=ndjson),
            client.delete(f"{index}/documents/a"),
            client.get("/metrics"),
            client.get("/"),
            client.get("/?q=tea"),
            client.post("/shop/_search", json={"query": {"match": {"text": "tea"}}}),
            client.put("/shop/_doc/d", json={"text": "white tea"}),
            client.get("/shop/_doc/d"),
            client.post("/shop/_bulk", content=line, headers=ndjson),
            client.get("/shop/_mapping"),
            client.get("/shop"),
            client.get("/_cat/indices"),
            client.get("/shop/_count"),
        ]
    assert [answer.status_code for answer in answers if answer.status_code >= 400] == []
    assert len(on_the_loop) > 15
    assert not any(on_the_loop)


def test_the_process_that_starts_others_keeps_nothing_open(shop: Path) -> None:
    threads, before = threading.active_count(), _mapped(shop)
    check_service([str(shop)], Settings())
    assert (threading.active_count(), _mapped(shop)) == (threads, before)
    next(shop.glob("terms-*")).write_bytes(b"termwise")
    with pytest.raises(CorruptIndexError):
        check_service([str(shop)], Settings())


def _mapped(folder: Path) -> int:
    """Return the number of maps of files in a folder."""
    return Path("/proc/self/maps").read_text().count(str(folder))


def test_changes_wait_for_another_writer(shop: Path) -> None:
    changes = ChangeQueue(shop, 30)
    with writer_lock(shop):
        future = changes.submit([Put(Document("new", "white tea"))])
        time.sleep(0.05)
        assert not future.done()
    assert future.result(30) == ["created"]
    with writer_lock(shop):  # the lock is free after the commit
        pass
    changes.close()


def test_a_change_is_answered_if_the_merge_after_it_fails(
    no_counts: None, shop: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(updater: IndexUpdater, first: int, last: int) -> None:
        raise StorageError("no space left")

    with served([str(shop)]) as client:
        with monkeypatch.context() as patched:
            patched.setattr(IndexUpdater, "_merge", full)
            for number in range(5):
                address = f"/v1/indexes/shop/documents/new{number}"
                assert client.put(address, json={"text": "white tea"}).status_code == 201
            assert 'termwise_merge_failed{index="shop"} 1.0' in client.get("/metrics").text
        assert "were not merged" in caplog.text
        assert "no space left" in caplog.text
        assert len(termwise.open(shop).rank("white")) >= 5
        assert client.put(address, json={"text": "black tea"}).status_code == 200
        assert 'termwise_merge_failed{index="shop"} 0.0' in client.get("/metrics").text


def test_what_could_not_be_merged_is_merged_later(
    no_counts: None, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(updater: IndexUpdater, first: int, last: int) -> None:
        raise StorageError("no space left")

    monkeypatch.setattr("termwise.serve.changes.MERGE_AGAIN_SECONDS", 0.05)
    told: queue.Queue[bool] = queue.Queue()
    changes = ChangeQueue(shop, 30, told.put)
    with monkeypatch.context() as patched:
        patched.setattr(IndexUpdater, "_merge", full)
        for number in range(5):
            changes.submit([Put(Document(f"new{number}", "white tea"))]).result(30)
        segments = len(termwise.open(shop).index.segments)
        while not told.get(timeout=30):
            pass
        with writer_lock(shop):  # another process writes
            time.sleep(0.2)
    while told.get(timeout=30):
        pass
    assert len(termwise.open(shop).index.segments) < segments
    changes.close()
    assert len(termwise.open(shop).rank("white")) >= 5


def test_a_network_is_loaded_once_for_all_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, loaded = tmp_path / "mixture", []

    def load(*given: Any, **options: Any) -> Any:
        loaded.append(given)
        return opened_encoder(*given, **options)

    termwise.build_index(TEAS, folder, model="best", store_text=True)
    monkeypatch.setattr(added_rows, "opened_encoder", load)
    changes = ChangeQueue(folder, 30)
    for number in range(3):
        document = Document(f"new{number}", f"white tea number {number}")
        assert changes.submit([Put(document)]).result(60) == ["created"]
    changes.close()
    assert len(loaded) == 1
    assert set(termwise.open(folder).rank("white", k=3).doc_ids) == {"new0", "new1", "new2"}


SEARCH = "/v1/indexes/shop/search"


def compressed(body: object, coding: str = "gzip") -> dict[str, Any]:
    headers = {"content-type": "application/json", "content-encoding": coding}
    return {"content": gzip.compress(json.dumps(body).encode()), "headers": headers}


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "x-gzip"])
def test_a_compressed_body_is_read(client: TestClient, coding: str) -> None:
    plain = client.post(SEARCH, json={"query": "green tea"})
    answer = client.post(SEARCH, **compressed({"query": "green tea"}, coding))
    assert answer.status_code == plain.status_code == 200
    assert [hit["doc_id"] for hit in answer.json()["hits"]] == [hit["doc_id"] for hit in plain.json()["hits"]]
    text = " ".join(f"leaf{number}" for number in range(30_000))  # several parts
    assert client.put("/v1/indexes/shop/documents/long", **compressed({"text": text})).status_code == 201
    assert client.post(SEARCH, json={"query": "leaf29999"}).json()["hits"][0]["doc_id"] == "long"


def test_a_decompressed_body_has_the_same_bound(client: TestClient) -> None:
    given = compressed({"query": "tea" + " " * (20 << 20)})
    assert len(given["content"]) < 50_000
    answer = client.post(SEARCH, **given)
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "too-large")


def test_damaged_and_unknown_compressions_are_refused(client: TestClient) -> None:
    given = compressed({"query": "green tea"})
    whole = given["content"]
    for damaged in (b"", b"{}", whole[:-5], whole + b"more", whole[:10] + bytes(9)):
        answer = client.post(SEARCH, content=damaged, headers=given["headers"])
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "the body is not valid gzip")
    answer = client.post(SEARCH, **compressed({}, "br"))
    assert answer.status_code == 415
    assert answer.json()["error"]["facts"] == {"content-encoding": "'br'"}
