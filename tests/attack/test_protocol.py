"""Bytes that are not quite HTTP: framing, hosts, targets and encodings, and whether the service goes on."""

import json
import time

import pytest

BODY = b'{"query": "tea", "k": 1}'
SEARCH = b"POST /v1/indexes/docs/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LIST = b"GET /v1/indexes HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
SECOND = LIST + HOST + b"\r\n"

FRAMING = {
    "length and chunks": SEARCH + LENGTH + CHUNKED + b"\r\n" + CHUNKS + SECOND,
    "chunks and length": SEARCH + CHUNKED + b"Content-Length: 4\r\n\r\n" + CHUNKS + SECOND,
    "two lengths": SEARCH + LENGTH + b"Content-Length: 3\r\n\r\n" + BODY,
    "list of lengths": SEARCH + b"Content-Length: 24, 24\r\n\r\n" + BODY,
    "length with a sign": SEARCH + b"Content-Length: +24\r\n\r\n" + BODY,
    "negative length": SEARCH + b"Content-Length: -1\r\n\r\n" + BODY,
    "length of 30 digits": SEARCH + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n" + BODY,
    "length in hexadecimal": SEARCH + b"Content-Length: 0x18\r\n\r\n" + BODY,
    "unknown coding": SEARCH + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "space before the colon": SEARCH + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS,
    "chunked twice": SEARCH + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + CHUNKS,
    "negative chunk": SEARCH + CHUNKED + b"\r\n-5\r\n" + BODY + b"\r\n0\r\n\r\n",
    "chunk of 17 digits": SEARCH + CHUNKED + b"\r\nfffffffffffffffff\r\n" + BODY,
    "lines without CR": (LIST + HOST + b"\r\n").replace(b"\r\n", b"\n"),
    "NUL in a header": LIST + HOST + b"X: a\x00b\r\n\r\n",
    "folded header": LIST + HOST + b"X: a\r\n b\r\n\r\n",
    "header without a name": LIST + HOST + b": b\r\n\r\n",
    "NUL in the target": b"GET /v1/indexes/do\x00cs HTTP/1.1\r\n" + HOST + b"\r\n",
    "NUL in the host": LIST + b"Host: localhost\x00.example\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/3.0": b"GET /v1/indexes HTTP/3.0\r\n" + HOST + b"\r\n",
    "CONNECT": b"CONNECT example.com:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "unknown method": b"FETCH /v1/indexes HTTP/1.1\r\n" + HOST + b"\r\n",
    "head of 40 KB": LIST + HOST + b"X: " + b"a" * 40_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", FRAMING)
def test_doubtful_framing_is_refused_once(service, name):
    """A request whose end is doubtful is answered 400 once, and nothing behind it is read as a request."""
    answer = service.raw(FRAMING[name])
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert answer.count(b"HTTP/1.1 ") == 1, answer


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (LIST + b"Host: evil.example\r\n", 421),
        (LIST, 421),
        (LIST + b"Host: \r\n", 421),
        (LIST + b"Host: localhost, evil.example\r\n", 421),
        (LIST + b"Host: evil.example@localhost\r\n", 421),
        (LIST + b"Host: localhost@evil.example\r\n", 421),
        (LIST + b"Host: LOCALHOST:1\r\n", 200),
        (b"GET http://localhost/v1/indexes HTTP/1.1\r\nHost: evil.example\r\n", 421),
        (b"OPTIONS * HTTP/1.1\r\n" + HOST, 404),
        (b"TRACE /v1/indexes HTTP/1.1\r\n" + HOST, 405),
        (b"GET /static/../../../../etc/passwd HTTP/1.1\r\n" + HOST, 404),
        (b"GET /static/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + HOST, 404),
        (b"GET //v1/indexes HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/indexes/docs%0a HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/indexes/%ff%fe HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/indexes/..%2f..%2fdocs HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/indexes/docs/documents/%ed%a0%80 HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/indexes/docs/search?query=%zz%f%ff HTTP/1.1\r\n" + HOST, 200),
        (LIST + HOST + b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\n", 200),
        (LIST + HOST + b"X-Forwarded-Host: evil.example\r\n", 200),
    ],
)
def test_hosts_and_targets(service, head, status):
    """Only the hosts of the service are answered, and no path leaves it."""
    answer = service.raw(head + b"Connection: close\r\n\r\n")
    assert int(answer.split()[1]) == status, answer


def test_a_websocket_is_refused(service):
    """There are no websockets."""
    head = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    answer = service.raw(LIST + HOST + head + b"Sec-WebSocket-Version: 13\r\n\r\n")
    assert int(answer.split()[1]) in (400, 403, 404, 426), answer


def test_chunks_extensions_and_trailers_are_read(service):
    """A body in chunks with an extension and a trailer is a body, and the next request on the connection is read."""
    chunks = b"%x;a=b\r\n%s\r\n0\r\nX: y\r\n\r\n" % (len(BODY), BODY)
    last = LIST + HOST + b"Connection: close\r\n\r\n"
    answer = service.raw(SEARCH + CHUNKED + b"\r\n" + chunks + last)
    assert answer.count(b"HTTP/1.1 200 ") == 2, answer


def test_pipelined_requests_are_answered_in_order(service):
    """Requests that are sent at once are answered one after the other."""
    lines = [b"GET /v1/indexes/docs/documents/d%d HTTP/1.1\r\n%s\r\n" % (n, HOST) for n in range(50)]
    last = LIST + HOST + b"Connection: close\r\n\r\n"
    answer = service.raw(b"".join(lines) + last, seconds=10)
    places = [answer.index(b'"doc_id":"d%d"' % n) for n in range(50)]
    assert places == sorted(places)
    assert answer.count(b"HTTP/1.1 200 ") == 51


@pytest.mark.parametrize(
    "text", [b"\xff\xfe\x00", b"\xef\xbb\xbf{}", '{"query": "tea"}'.encode("utf-16"), b"[" * 90_000]
)
def test_bodies_that_are_no_json(service, text):
    """A body that is not JSON is answered with a 4xx status, four requests within five seconds."""
    begin = time.monotonic()
    for path in ("/v1/indexes/docs/search", "/docs/_search", "/v1/search", "/mcp"):
        answer = service.client.post(path, content=text, headers={"content-type": "application/json"})
        assert 400 <= answer.status_code < 500, (path, answer.text)
        json.loads(answer.content)
    assert time.monotonic() - begin < 5


def test_two_hosts_are_refused(service):
    """A request with two hosts is ambiguous for a proxy."""
    answer = service.raw(LIST + HOST + b"Host: evil.example\r\nConnection: close\r\n\r\n")
    assert int(answer.split()[1]) == 400, answer
