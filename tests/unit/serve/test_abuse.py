"""Unkind clients with a mere search key: expensive requests, large answers that nobody reads, and idle connections."""

from __future__ import annotations

import json
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.unit.serve.conftest import running, served

import termwise
from termwise import Document
from termwise.serve import ServiceSettings, bodies, protocol
from termwise.serve.app import PIECE, create_app
from termwise.serve.byte_budget import ByteBudget
from termwise.serve.keys import KeyFile
from termwise.serve.pace import Pace
from termwise.serve.protocol import BoundedProtocol
from termwise.serve.server import listen
from termwise.serve.service import Service

SEARCH = "/v1/indexes/shop/search"

LONG = "water " * 20_000
"""Text of a document, 120,000 characters."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index of long texts."""
    folder = tmp_path_factory.mktemp("large") / "shop.tw"
    documents = [Document(f"d{number}", LONG + str(number), {"n": number}) for number in range(40)]
    termwise.build_index(documents, folder, store_text=True)
    return folder


def _error(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["type"]


EXPENSIVE: dict[str, dict[str, Any]] = {
    "filter": {"query": "tea", "filter": "price > 1 and price < 100 and price > 2"},
    "phrase": {"query": "tea", "must_not": ["tea from Uji"]},
    "facets": {
        "query": "tea",
        "facets": ["kind"],
        "ranges": {"price": {"a": [1, 2], "b": [2, 3], "c": [3, 9]}},
    },
    "highlight": {"query": "tea", "highlight": True},
    "explain": {"query": "tea", "explain": True},
    "sort": {"sort": "price", "filter": "price > 1"},
}


@pytest.mark.parametrize("name", EXPENSIVE)
def test_a_request_that_looks_at_too_many_documents_ends(shop: Path, name: str) -> None:
    with served([str(shop)], ServiceSettings(max_touched=6)) as client:
        assert _error(client.post(SEARCH, json=EXPENSIVE[name])) == (400, "budget")
    with served([str(shop)]) as client:
        assert client.post(SEARCH, json=EXPENSIVE[name]).status_code == 200


def test_all_searches_of_a_request_have_one_deadline(shop: Path) -> None:
    header, body = json.dumps({"index": "shop"}), json.dumps({"query": {"match": {"text": "tea"}}})
    lines = f"{header}\n{body}\n" * 50
    ndjson = {"content-type": "application/x-ndjson"}
    with served([str(shop)], ServiceSettings(max_touched=2000)) as client:
        answers = client.post("/_msearch", content=lines, headers=ndjson).json()["responses"]
    statuses = [each["status"] for each in answers]
    assert statuses == sorted(statuses)  # the first ones are answered, the rest is not
    assert statuses[0] == 200
    assert statuses[-1] == 400


def test_an_answer_of_too_many_texts_is_refused_before_it_is_made(large: Path) -> None:
    many = {"query": "water", "k": 40, "text": True}
    with served([str(large)], ServiceSettings(max_answer=1_000_000)) as client:
        assert _error(client.post(SEARCH, json=many)) == (400, "budget")
        assert client.post(SEARCH, json={**many, "k": 3}).status_code == 200
        found = client.post("/shop/_search", json={"query": {"match": {"text": "water"}}, "size": 40})
        assert found.status_code == 400
        body = {"ids": [f"d{number}" for number in range(40)]}
        assert client.post("/shop/_mget", json=body).status_code == 400


def test_a_document_is_answered_once(shop: Path) -> None:
    with served([str(shop)]) as client:
        docs = client.post("/shop/_mget", json={"ids": ["pot"] * 500 + ["assam", "pot"]}).json()["docs"]
        assert [each["_id"] for each in docs] == ["pot", "assam"]


def test_large_answers_are_sent_in_pieces_within_a_bound(large: Path) -> None:
    many = {"query": "water", "k": 8, "text": True}
    with served([str(large)], ServiceSettings(max_answers=3_000_000)) as client:
        whole = client.post(SEARCH, json=many)
        assert len(whole.content) > 10 * PIECE
        assert len(whole.json()["hits"]) == 8
        assert "x-content-type-options" in whole.headers
        budget: ByteBudget = client.app.state.service.answers  # type: ignore[attr-defined]
        assert budget.held == 0
        assert budget.take("another", 2_500_000)
        refused = client.post(SEARCH, json=many)
        assert _error(refused) == (503, "overload")
        assert refused.headers["retry-after"] == "1"
        assert client.post(SEARCH, json={"query": "water"}).status_code == 200  # a small one
        budget.give_back("another", 2_500_000)
        assert client.post(SEARCH, json=many).status_code == 200
        assert budget.held == 0


@contextmanager
def running_here(folder: Path, **settings: Any) -> Iterator[tuple[int, Service]]:
    """Run a service in a thread of this process; yields its port."""
    app = create_app([str(folder)], ServiceSettings(**settings))
    server = uvicorn.Server(uvicorn.Config(app, http=BoundedProtocol, log_config=None))
    listening = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1], app.state.service
    finally:
        server.should_exit = True
        thread.join()


def _connect(port: int) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    return connection


def _head(method: str, path: str, size: int) -> bytes:
    lines = (f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json")
    return "\r\n".join([*lines, f"Content-Length: {size}", "", ""]).encode()


def test_answers_that_nobody_reads_are_bounded_and_end(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "TAKE_SECONDS", 0.5)
    body = json.dumps({"query": "water", "k": 40, "text": True}).encode()  # an answer of 10 MB
    with running_here(large, max_answers=35_000_000, timeout=60, threads=2) as (port, service):
        readers = [_connect(port) for _ in range(12)]
        for reader in readers:
            reader.sendall(_head("POST", SEARCH, len(body)) + body)
        states = select.poll()
        for reader in readers:
            states.register(reader, 0)  # of errors only
        refused, ended, most = 0, 0, 0
        deadline = time.monotonic() + 60
        while len(readers) > refused + ended:
            assert time.monotonic() < deadline
            most = max(most, service.answers.held)
            ended += len(found := states.poll(20))
            for descriptor, _ in found:
                states.unregister(descriptor)
            for reader in readers:
                reader.setblocking(False)
                with suppress(BlockingIOError, OSError):
                    if reader.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 503":
                        refused += 1
                        states.unregister(reader)
                        reader.recv(4096)
        assert most <= 25_000_000  # a client with several has no more than are free
        assert refused > 0
        assert ended >= 2
        with closing(_connect(port)) as reader:
            reader.sendall(_head("GET", "/health", 0))
            assert reader.recv(12) == b"HTTP/1.1 200"
        assert service.answers.held == 0
        for reader in readers:
            reader.close()


def test_idle_connections_leave_files_for_changes(shop: Path) -> None:
    with running(shop, "--without-log", prefix=("prlimit", "--nofile=200:200")) as service:
        idle = [_connect(service.port) for _ in range(260)]
        body, statuses = b'{"text": "white tea"}', []
        for number, connection in ((0, idle[0]), (1, idle[-1]), (2, None)):
            if connection is None:
                for each in idle:
                    each.close()
                time.sleep(0.5)
                connection = _connect(service.port)
            with suppress(ConnectionError):
                connection.sendall(_head("PUT", f"/v1/indexes/shop/documents/new{number}", len(body)) + body)
            statuses.append(connection.recv(12)[9:])
        connection.close()
        assert statuses == [b"201", b"503", b"201"]


def _create(path: Path) -> None:
    for _ in range(10):
        KeyFile(path).create("search")


def test_keys_that_several_processes_create_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    context = get_context("fork")
    processes = [context.Process(target=_create, args=(path,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len(KeyFile(path).read()) == 30
    assert [entry.name for entry in tmp_path.iterdir()] == ["keys.json"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_of_keys_keeps_owner_group_and_mode(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.create("search")
    file.path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file.path, 12345, 12346)
    before = file.path.stat()
    file.create("write")
    file.revoke(key.split("_")[1])
    after = file.path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "[" * 100_000,
        '{"keys": [3]}',
        '{"keys": [{"id": "a", "role": "search", "sha256": "%s", "created": ""}]}' % ("é" * 64),
        '{"keys": [{"id": [], "role": "search", "sha256": "%s", "created": ""}]}' % ("0" * 64),
        b"\xff\xfe",
        None,
    ],
)
def test_known_keys_stay_valid_while_their_file_cannot_be_read(
    shop: Path, tmp_path: Path, damaged: str | bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.create("search")
    good = file.path.read_bytes()
    with served([str(shop)], ServiceSettings(keys=file.path)) as client:
        assert client.get("/ready").status_code == 200
        if damaged is None:
            file.path.unlink()
        else:
            file.path.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
        for _ in range(3):
            assert client.get("/v1/indexes", headers={"x-api-key": key}).status_code == 200
            assert client.get("/v1/indexes", headers={"x-api-key": "tw_a_x"}).status_code == 401
        assert (client.get("/ready").status_code, client.get("/health").status_code) == (503, 200)
        assert [record.message.split(";")[0] for record in caplog.records] == ["the API keys cannot be read"]
        file.path.write_bytes(good)
        file.revoke(key.split("_")[1])
        assert client.get("/v1/indexes", headers={"x-api-key": key}).status_code == 401
        assert client.get("/ready").status_code == 200


@pytest.mark.parametrize(
    "path", ["/metrics%0A", "/health%0a", "/ready%0A", "/v1/indexes%0A", "/openapi.json%0A"]
)
def test_addresses_match_whole(shop: Path, path: str) -> None:
    with served([str(shop)]) as client:
        assert client.get(path.partition("%")[0]).status_code == 200
        assert client.get(path).status_code == 404


def test_unknown_and_known_names_have_the_same_answer_without_a_key(shop: Path, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    file.create("search")
    paths = ("/{}", "/{}/x", "/{}/_foo", "/{}/_doc/1", "/{}/_search", "/indexes/{}", "/v1/indexes/{}")
    with served([str(shop)], ServiceSettings(keys=file.path)) as client:
        for path in paths:
            for method in ("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"):
                known, unknown = (client.request(method, path.format(name)) for name in ("shop", "nosuch"))
                assert (known.status_code, known.content) == (unknown.status_code, unknown.content)
                assert known.status_code == 401


@pytest.mark.parametrize("boost", [1e308, 1e10, 1e-300])
def test_boosts_that_overflow_or_vanish_are_refused(shop: Path, boost: float) -> None:
    clause = {"match": {"text": {"query": "tea", "boost": boost}}}
    with served([str(shop)]) as client:
        for query in (clause, {"bool": {"should": [clause, clause]}}, {"match_all": {"boost": boost}}):
            assert client.post("/shop/_search", json={"query": query}).status_code == 400
        assert client.post(SEARCH, json={"weights": {"tea": 1e-300}}).status_code == 400


@pytest.mark.parametrize(
    "part", ['"', "(", "[ ", "tea ", "-tea ", "a:", '"a"', "\\\\ ", "tea | ", "^2 ", "kind:g* "]
)
def test_queries_as_text_are_read_in_linear_time(shop: Path, part: str) -> None:
    with served([str(shop)]) as client:
        for kind in ("query_string", "simple_query_string"):
            query = {kind: {"query": (part * 4000)[:4000]}}
            begin = time.perf_counter()
            assert client.post("/shop/_search", json={"query": query}).status_code in (200, 400)
            assert time.perf_counter() - begin < 2


def test_names_of_a_source_are_bounded(shop: Path) -> None:
    stars = "*" + "t*" * 99
    with served([str(shop)]) as client:
        for names in (["*"] * 101, ["*" * 201], {"includes": ["a"] * 50, "excludes": ["b"] * 51}):
            assert client.post("/shop/_search", json={"_source": names}).status_code == 400
        hits = client.post("/shop/_search", json={"_source": [stars, "pri*"]}).json()["hits"]["hits"]
        assert [set(hit["_source"]) for hit in hits] == [{"price"}] * 5
        assert client.get(f"/shop/_doc/pot?_source_includes={'*' * 201}").status_code == 400


def test_highlights_are_bounded(large: Path) -> None:
    """Tags of some kilobytes around each of a million words need more memory than a machine has."""

    def search(size: int, **highlight: Any) -> int:
        body = {"query": {"match": {"text": "water"}}, "size": size, "highlight": highlight, "_source": False}
        return client.post("/shop/_search", json=body).status_code

    whole = {"text": {"number_of_fragments": 0}}
    with served([str(large)], ServiceSettings(max_answer=1_000_000, timeout=60)) as client:
        assert search(1, fields=whole) == 200
        assert search(1, fields=whole, pre_tags=["x" * 101]) == 400
        assert search(1, fields={"text": {"post_tags": "x" * 101}}) == 400
        assert search(1, fields=whole, pre_tags=["x" * 100]) == 400  # 20,000 words: the answer is too large
        assert search(12, fields=whole) == 400
        assert search(1, fields={f"t{'*' * number}": {} for number in range(101)}) == 400
        many = {"query": "water", "k": 12, "highlight": True, "excerpt_length": 100_000}
        assert _error(client.post(SEARCH, json=many)) == (400, "budget")


def test_large_bodies_are_read_in_the_share_of_their_client(shop: Path) -> None:
    """Reading two megabytes of JSON took the event loop a tenth of a second."""
    names = [f"x{number}" for number in range(5000)]
    with served([str(shop)], ServiceSettings(timeout=60)) as client:
        pool = client.app.state.service.pool  # type: ignore[attr-defined]
        ran: list[object] = []
        run = pool.run

        async def noted(*given: Any) -> Any:
            ran.append(given)
            return await run(*given)

        pool.run = noted
        for path, body in (
            (SEARCH, {"query": "tea", "exclude": names}),
            ("/shop/_search", {"query": {"ids": {"values": names[:1000]}}}),
            ("/v1/indexes/shop/documents/a", {"text": "white tea " * 1000}),
        ):
            ran.clear()
            method = client.put if path.endswith("/a") else client.post
            assert method(path, json=body).status_code in (200, 201)
            assert len(ran) == 1 + (method == client.post)
            ran.clear()
            assert method(path, content=b'{"query": ' + b"[" * 10_000).status_code in (400, 415)
        header = b'{"index": "shop"}\n'
        ndjson = {"content-type": "application/x-ndjson"}
        lines = header + b"{}\n" + header + b"[\n" + b'{"index": "none"}\n{}\n'
        ran.clear()
        answers = client.post("/_msearch", content=lines, headers=ndjson).json()["responses"]
        assert [each["status"] for each in answers] == [200, 400, 404]
        assert len(ran) <= 3


@pytest.mark.parametrize(
    ("start", "status"),
    [
        (b"GET /health HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", b"200"),
        (b"GET /health HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", b"200"),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", b"400"),
        (b"GET /health HTTP/1.1\r\nHost: localhost:evil\r\n\r\n", b"400"),
        (
            b"GET /health HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nAuthorization: Bearer y\r\n\r\n",
            b"400",
        ),
        (b"POST /_msearch HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
        (b"POST /_msearch HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", b"400"),
    ],
)
def test_heads_that_a_proxy_could_read_differently_are_refused(
    shop: Path, start: bytes, status: bytes
) -> None:
    with running_here(shop) as (port, _), closing(_connect(port)) as connection:
        connection.settimeout(30)
        connection.sendall(start)
        assert connection.recv(12)[9:] == status


def test_a_connection_with_many_waiting_requests_ends(shop: Path) -> None:
    """Each answer let further requests be read, hundreds for each, which filled the memory."""
    request = b"GET /v1/indexes HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with running_here(shop) as (port, _):
        with closing(_connect(port)) as connection:
            connection.settimeout(30)
            connection.sendall(100 * request)
            received = b""
            while received.count(b"HTTP/1.1 200") < 100:
                received += connection.recv(65536)
        with closing(_connect(port)) as connection:
            connection.settimeout(30)
            with pytest.raises(ConnectionError):  # noqa: PT012
                for _ in range(1000):
                    connection.sendall(1000 * request)
                    time.sleep(0.001)


def _statuses(port: int, address: str, body: bytes, seconds: float) -> list[int]:
    """Return the statuses of the answers that a client gets in a time."""
    statuses, end = [], time.monotonic() + seconds
    connection = HTTPConnection("127.0.0.1", port, source_address=(address, 0))
    with closing(connection):
        while time.monotonic() < end:
            connection.request("POST", SEARCH, body, {"Content-Type": "application/json"})
            with connection.getresponse() as answer:
                answer.read()
            statuses.append(answer.status)
    return statuses


def test_refusals_are_paced_while_another_client_is_active(shop: Path) -> None:
    with running_here(shop) as (port, service), ThreadPoolExecutor() as threads:
        alone = _statuses(port, "127.0.0.1", b"{]", 1)
        assert (set(alone), len(alone) > 100) == ({400}, True)
        service.refusal_pace = Pace(10, 50)
        other = threads.submit(_statuses, port, "127.0.0.2", b'{"query": "green tea"}', 4)
        time.sleep(0.5)
        assert len(_statuses(port, "127.0.0.1", b"{]", 3)) < 100
        assert (set(other.result()), len(other.result()) > 100) == ({200}, True)


def test_what_comes_after_a_body_or_an_answer_is_bounded(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.5)
    chunked = _head("POST", SEARCH, 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    body = b'10\r\n{"query": "green"}\r\n0\r\n'.replace(b"10", b"12")
    with running_here(shop) as (port, service):
        with closing(_connect(port)) as connection:
            connection.sendall(chunked + body + b"A: b\r\n" * 3 + b"\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"  # a few trailers are dropped
        for start, unit in (
            (chunked + body, b"a: b\r\n" * 1000),
            (_head("GET", "/health", 10**9), b" " * 60_000),
            (_head("GET", "/health", 0), b"\r\n" * 30_000),
        ):
            with closing(_connect(port)) as connection:
                connection.settimeout(30)
                connection.sendall(start)
                with pytest.raises(ConnectionError):  # noqa: PT012
                    for _ in range(10_000):
                        connection.sendall(unit)
                        time.sleep(0.001)
        assert service.bodies.held == 0


def test_long_addresses_are_refused(shop: Path) -> None:
    with served([str(shop)]) as client:
        assert client.get(f"/v1/indexes/{'x' * 8000}").status_code == 404
        assert _error(client.get(f"/v1/indexes/{'x' * 9000}")) == (414, "too-large")
        assert client.get(f"{SEARCH}?query={'tea%20' * 600}").status_code == 200


def test_unknown_parameters_and_fields_take_no_time(shop: Path) -> None:
    """Names that are near those of fields took a second on the event loop."""
    many = "&".join(f"quer{number}=1" for number in range(301))
    with served([str(shop)]) as client:
        for path in (SEARCH, "/shop/_search", "/v1/indexes/shop/suggest"):
            assert client.get(f"{path}?{many}").status_code == 400
        fields = {f"quer{number}": 1 for number in range(301)}
        for path in (SEARCH, "/v1/indexes/shop/explain", "/v1/search"):
            assert _error(client.post(path, json=fields)) == (400, "unknown-name")
        assert client.get(f"{SEARCH}?query=tea&{'show=kind&' * 90}k=3").status_code == 200


def test_a_change_is_refused_while_the_index_cannot_be_read(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    termwise.build_index(
        [Document("a", "a pot"), Document("b", "a cup")], other, model="best", store_text=True
    )
    with served([str(shop)]) as client:
        shop.rename(tmp_path / "away")
        other.rename(shop)
        address = "/v1/indexes/shop/documents/new"
        assert _error(client.put(address, json={"text": "white tea"})) == (503, "unreadable-index")
        assert client.get("/ready").status_code == 503
        assert client.get(address).status_code == 404
        assert termwise.open(shop).documents == 2
