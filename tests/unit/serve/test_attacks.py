"""Hostile requests against a running service: none may hang it, fill its memory, or get more than an error."""

from __future__ import annotations

import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.serve.conftest import TEAS, Running, running

import termwise

HEAD = b"POST /v1/indexes/shop/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def port(service: Running) -> int:
    return service.port


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("service") / "shop.tw"
    termwise.build_index(TEAS, folder, store_text=True)
    with running(str(folder), "--max-body", "1") as service:
        yield service


def _answer(port: int, request: bytes, *, seconds: float = 30) -> bytes:
    """Send bytes, and return all that comes back until the connection ends or an answer is whole."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(request)
        received = b""
        while True:
            try:
                part = connection.recv(65536)
            except TimeoutError:
                return received
            except ConnectionResetError:
                return received or b"reset"
            if not part:
                return received
            received += part
            head, separator, body = received.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            if separator and length and len(body) >= int(length[1]):
                return received


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def _post(port: int, body: bytes, path: bytes = b"/v1/indexes/shop/search", more: bytes = b"") -> bytes:
    head = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + more
    return _answer(port, head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def _still_answers(port: int) -> None:
    begin = time.monotonic()
    assert _status(_post(port, b'{"query": "green tea"}')) == 200
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"filter": ' + b'{"not": ' * 5_000 + b"1" + b"}" * 5_000 + b', "query": "tea"}',
        b'{"query": "' + b"x " * 400_000 + b'"}',
        json.dumps({"query": "tea", "filter": " or ".join(["price = 1"] * 50_000)}).encode(),
        json.dumps({"query": "tea", "filter": "(" * 50_000}).encode(),
        json.dumps({"query": "tea", "must": ["x"] * 10_000}).encode(),
        json.dumps({"query": "tea", "k": 10**30}).encode(),
        json.dumps({"query": "tea", "facets": ["kind"] * 100_000}).encode(),
        json.dumps({"query": "tea", "candidates": ["pot"] * 100_000}).encode(),
        b'{"query": "tea", "k": 1e400}',
        b'{"query": "tea", "k": NaN}',
        b'{"query": "\\ud800"}',
        b'{"query": "\xff\xfe"}',
        '{"query": "tea"}'.encode("utf-16"),
        b"null",
        b"",
        b'{"query": "tea", "query": "pot"}x',
    ],
)
def test_hostile_bodies_are_answered_with_an_error_or_a_result(port: int, body: bytes) -> None:
    assert _status(_post(port, body)) in (200, 400, 413)
    _still_answers(port)


def test_a_body_over_the_limit_is_refused_before_it_is_read(port: int) -> None:
    head = HEAD + b"Content-Length: 1000000000\r\n\r\n"
    assert _status(_answer(port, head + b"x" * (2 << 20))) == 413
    chunks = b"".join(b"100000\r\n" + b"x" * 0x100000 + b"\r\n" for _ in range(3))
    assert _status(_answer(port, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)) == 413
    _still_answers(port)


@pytest.mark.parametrize(
    "request_",
    [
        HEAD + b"X-Long: " + b"x" * 100_000,
        HEAD + b"".join(b"X-%d: 1\r\n" % number for number in range(20_000)) + b"\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        HEAD
        + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 1e3\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET http://[::1 HTTP/1.1\r\n\r\n",
        b"\x00" * 1000,
    ],
)
def test_malformed_heads_end_the_connection(port: int, request_: bytes) -> None:
    answer = _answer(port, request_)
    assert answer in (b"", b"reset") or 400 <= _status(answer) < 500
    assert answer.count(b"HTTP/1.1") <= 1
    _still_answers(port)


def test_slow_heads_and_bodies_are_ended(port: int) -> None:
    begin = time.monotonic()
    answers: list[bytes] = []
    requests = [HEAD, HEAD + b"Content-Length: 100\r\n\r\n{"]
    threads = [
        threading.Thread(target=lambda each=each: answers.append(_answer(port, each))) for each in requests
    ]
    for thread in threads:
        thread.start()
    _still_answers(port)
    for thread in threads:
        thread.join()
    assert time.monotonic() - begin < 25
    assert sorted(answer[9:12] for answer in answers) == [b"", b"408"]


@pytest.mark.parametrize(
    "path",
    [
        b"/v1/indexes/../../etc/passwd",
        b"/v1/indexes/%2e%2e%2f%2e%2e%2fetc/documents/passwd",
        b"/v1/indexes/shop/documents/../../../../etc/passwd",
        b"/v1/indexes/shop/documents/%00",
        b"/v1/indexes/shop%00/search",
        b"/static/../app.py",
        b"/static/%2e%2e/app.py",
        b"//etc/passwd",
    ],
)
def test_no_address_reaches_the_file_system(port: int, path: bytes) -> None:
    answer = _answer(port, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert 400 <= _status(answer) < 500
    assert b"root:" not in answer


def test_markup_and_control_characters_come_back_as_text(port: int) -> None:
    doc_id = "<script>alert(1)</script>\u202e\"'"
    from urllib.parse import quote

    path = b"/v1/indexes/shop/documents/" + quote(doc_id, safe="").encode()
    body = json.dumps({"text": "<img src=x onerror=alert(1)> \u202e\u0000 oolong", "kind": "<b>"}).encode()
    head = b"PUT " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert _status(_answer(port, head + b"Content-Length: %d\r\n\r\n" % len(body) + body)) == 201
    answer = _post(port, b'{"query": "oolong", "text": true}')
    assert b"content-type: application/json" in answer.lower()
    assert b"x-content-type-options: nosniff" in answer.lower()
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["hits"][0]["doc_id"] == doc_id
    delete = b"DELETE " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert _status(_answer(port, delete)) == 200


def test_a_page_of_another_site_cannot_change_documents(port: int) -> None:
    simple = b"POST /v1/indexes/shop/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
    assert _status(_answer(port, simple + b'Content-Length: 17\r\n\r\n{"delete": "pot"}')) == 415
    rebound = b"GET /v1/indexes HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    assert _status(_answer(port, rebound)) == 421
    preflight = (
        b"OPTIONS /v1/indexes/shop/documents HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n"
    )
    answer = _answer(port, preflight + b"Access-Control-Request-Method: POST\r\n\r\n")
    assert b"access-control-allow" not in answer.lower()


def test_many_connections_that_send_nothing(port: int) -> None:
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    _still_answers(port)
    for connection in held:
        connection.close()


def test_a_client_that_leaves_does_not_end_the_service(service: Running) -> None:
    status = Path(f"/proc/{service.process}/status").read_text()
    ignored = int(re.search(r"SigIgn:\s+([0-9a-f]+)", status)[1], 16)
    assert ignored >> (signal.SIGPIPE - 1) & 1
    body = b'{"query": "green tea"}'
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    for pause in (0.0, 0.001, 0.01):
        connections = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(60)]
        for connection in connections:
            connection.sendall(request)
        time.sleep(pause)
        for connection in connections:
            connection.close()  # while answers are written
    _still_answers(service.port)


def test_changes_from_many_clients_are_all_made(port: int) -> None:
    def write(client: int) -> None:
        for number in range(5):
            body = json.dumps({"text": f"keemun {client} {number}"}).encode()
            head = b"PUT /v1/indexes/shop/documents/w%d-%d HTTP/1.1\r\nHost: localhost\r\n" % (client, number)
            more = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            assert _status(_answer(port, head + more + body)) == 201

    threads = [threading.Thread(target=write, args=(client,)) for client in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answer = _post(port, b'{"query": "keemun", "k": 100, "total": true}')
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["total"] == 30


def test_line_ends_after_a_request_do_not_keep_a_connection(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert _status(connection.recv(65536)) == 200
        connection.sendall(b"\r\n")
        while connection.recv(65536):  # the rest of the answer; a connection that stays open is a timeout
            pass
