"""Scorers that call an HTTP service."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from termwise.errors import DataError, ParameterError, UsageError
from termwise.rankers.from_name import ScorerContext, open_scorer
from termwise.scorers import Background, HttpScorer, http


def shared_words(queries, texts):
    return [len(set(query.split()) & set(text.split())) for query, text in zip(queries, texts, strict=True)]


class Server:
    """Returns the number of shared words, or the responses in `answers`."""

    def __init__(self):
        self.answers = []
        self.sizes = []
        self.pause = 0.0
        self.expected = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.sizes.append(len(body["pairs"]))
                status, answer, *headers = outer.answers.pop(0) if outer.answers else (200, None)
                if outer.expected not in (None, self.headers["Authorization"]):
                    status, answer = 401, "who are you?"
                if answer is None:
                    pairs = [(one["query"], one["text"]) for one in body["pairs"]]
                    answer = json.dumps({"scores": shared_words(*zip(*pairs, strict=True))})
                self.send_response(status)
                if answer.endswith("…"):
                    self.send_header("Content-Length", "1000")
                for name, value in (headers[0] if headers else {}).items():
                    self.send_header(name, value)
                self.end_headers()
                for byte in [answer.encode()] if not outer.pause else answer:
                    time.sleep(outer.pause)
                    with suppress(ConnectionError):
                        self.wfile.write(byte if isinstance(byte, bytes) else byte.encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/score"
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(http, "PAUSE", 0.0)
    found = Server()
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_pairs_are_sent_in_batches(server):
    scorer = HttpScorer(server.url, batch=2)
    assert scorer.score("a b", ["a", "b a", "é", "b", "c"]).tolist() == [1, 2, 0, 1, 0]
    assert server.sizes == [2, 2, 1]
    assert scorer.name.startswith("127.0.0.1:")
    assert scorer.score("a", []).shape == (0,)


def test_temporary_failures_are_retried(server):
    server.answers = [(503, "wait"), (429, "wait")]
    assert HttpScorer(server.url).score("a", ["a"]).tolist() == [1]
    server.answers = [(503, "no\n  room")] * 3
    with pytest.raises(DataError, match="does not respond") as caught:
        HttpScorer(server.url).score("a", ["a"])
    assert ("attempts", 3) in caught.value.facts
    assert ("response", "no room") in caught.value.facts
    server.answers = [(400, "bad")]
    with pytest.raises(DataError) as caught:
        HttpScorer(server.url).score("a", ["a"])
    assert caught.value.message == "the service refuses the request"
    assert ("status", "HTTP 400 Bad Request") in caught.value.facts
    assert ("response", "bad") in caught.value.facts
    assert len(server.sizes) == 3 + 3 + 1


def test_incomplete_responses_are_retried(server):
    server.answers = [(200, '{"scores": [1…')]
    assert HttpScorer(server.url).score("a", ["a"]).tolist() == [1]
    server.answers = [(200, '{"scores": [1…')] * 3
    with pytest.raises(DataError, match="does not respond") as caught:
        HttpScorer(server.url).score("a", ["a"])
    assert "IncompleteRead" in str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        "no json",
        "[]",
        '{"scores": [1, 2]}',
        '{"scores": ["x"]}',
        '{"scores": 1}',
        "{}",
        '{"scores": "1"}',
        '{"scores": {"1": 0}}',
        '{"scores": ["1"]}',
        '{"scores": [true]}',
        f'{{"scores": [1{"0" * 400}]}}',
    ],
)
def test_invalid_responses_are_refused(server, answer):
    server.answers = [(200, answer)]
    with pytest.raises(DataError, match="score for each pair"):
        HttpScorer(server.url).score("a", ["a"])


def test_invalid_addresses_are_refused():
    for url in ("ftp://host/x", "http://", "localhost:80"):
        with pytest.raises(ParameterError, match="address"):
            HttpScorer(url)
    with pytest.raises(ParameterError):
        HttpScorer("http://host/x", timeout=0)
    with pytest.raises(DataError, match="does not respond"):
        HttpScorer("http://127.0.0.1:9/x", timeout=1).score("a", ["a"])


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(server, code):
    """The redirected GET request would lack the pairs."""
    server.answers = [(code, "", {"Location": "/v2/score"})]
    with pytest.raises(DataError, match="redirects") as caught:
        HttpScorer(server.url).score("a", ["a"])
    assert caught.value.fixes == (f"name the final address: {server.url.removesuffix('/score')}/v2/score",)
    assert len(server.sizes) == 1


def test_responses_are_limited_in_size_and_time(server, monkeypatch):
    monkeypatch.setattr(http, "_MAX_RESPONSE", (100, 10))
    server.answers = [(200, '{"scores": [1], "more": "' + "x" * 100 + '"}')]
    with pytest.raises(DataError, match="score for each pair") as caught:
        HttpScorer(server.url).score("a", ["a"])
    assert "more than 110 bytes" in str(caught.value)
    server.pause = 0.05
    server.answers = [(200, "x" * 100)] * 3
    with pytest.raises(DataError, match="does not respond") as caught:
        HttpScorer(server.url, timeout=0.2).score("a", ["a"])
    assert "takes too long" in str(caught.value)
    assert caught.value.fixes_worded()[1].startswith("timeout=SECONDS")
    server.pause, server.answers = 0.0, [(413, "at most 16 pairs")]
    with pytest.raises(DataError, match="refuses") as caught:
        HttpScorer(server.url).score("a", ["a"])
    assert caught.value.fixes_worded()[0].startswith("batch=16")


@pytest.mark.parametrize(
    ("begin", "why"),
    [
        ("", "takes too long"),
        ("HTTP/1.1 200 OK\r\nX: ", "takes too long"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", "takes too long"),
        ("HTTP/1.1 503 Busy\r\nContent-Length: 900\r\n\r\n", "HTTP 503 Busy"),
    ],
    ids=["status", "header", "body", "body of an error"],
)
def test_slow_responses_end_at_the_timeout(monkeypatch, begin, why):
    """The timeout of a socket restarts with each byte."""
    monkeypatch.setattr(http, "PAUSE", 0.0)
    monkeypatch.setattr(http, "TRIES", 1)

    def drip(link):
        with link, suppress(ConnectionError):
            link.recv(1 << 16)
            link.sendall(begin.encode())
            for _ in range(600):
                time.sleep(0.05)
                link.sendall(b"1")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        scorer = HttpScorer(f"http://127.0.0.1:{listening.getsockname()[1]}/", timeout=0.3)
        answering = threading.Thread(target=lambda: drip(listening.accept()[0]), daemon=True)
        answering.start()
        with pytest.raises(DataError, match="does not respond") as caught:
            scorer.score("a", ["a"])
        assert why in dict(caught.value.facts)["reason"]
        answering.join(timeout=20)
        assert not answering.is_alive()


def test_errors_say_whether_scores_are_cached(server):
    server.answers = [(503, "bad")] * 6
    for fingerprint, note in ((None, "scores are cached"), ("v1", "not requested again")):
        with pytest.raises(DataError) as caught:
            HttpScorer(server.url, fingerprint=fingerprint).score("a", ["a"])
        assert note in caught.value.fixes_worded()[0]


@pytest.mark.parametrize(
    "given",
    [
        {"timeout": 1e300},
        {"timeout": "1"},
        {"url": "http://[::1"},
        {"url": "http://host:x/"},
        {"url": "http://host:99999/"},
        {"url": "http://host:0/"},
        {"url": "http://host/\u00f6"},
        {"url": "http://host/a b"},
        {"url": "http://host/\n"},
        {"url": 5},
        {"fingerprint": 1},
        {"authorization": 1},
        {"authorization": "Bearer\nX: 1"},
        {"authorization": "Bearer \u00f6"},
        {"name": 1},
    ],
)
def test_invalid_arguments_are_refused(given):
    with pytest.raises(ParameterError):
        HttpScorer(given.pop("url", "http://host/x"), **given)


def test_the_authorization_is_sent_and_never_shown(server, monkeypatch):
    """Neither a report nor the history of a shell contains it."""
    server.expected = "Bearer abc-123"
    scorer = HttpScorer(server.url, authorization="Bearer abc-123")
    assert scorer.score("a", ["a"]).tolist() == [1]
    for wrong in (HttpScorer(server.url, authorization="Bearer xyz-987"), HttpScorer(server.url)):
        with pytest.raises(DataError, match="refuses") as caught:
            wrong.score("a", ["a"])
        assert ("status", "HTTP 401 Unauthorized") in caught.value.facts
        assert "xyz-987" not in str(caught.value)
        assert caught.value.fixes_worded()[0].startswith("authorization=")
    with pytest.raises(ParameterError) as refused:
        HttpScorer(server.url, authorization="Bearer abc-123\n")
    assert "abc-123" not in str(refused.value)
    for url in (server.url, "http://host:x/"):
        with pytest.raises(ParameterError, match="cannot contain") as refused:
            HttpScorer(url.replace("//", "//me:abc-123@"))
        assert "abc-123" not in str(refused.value)


def test_the_authorization_of_a_specification_is_an_environment_variable(server, monkeypatch):
    context = ScorerContext(Background([]))
    server.expected = "Bearer abc-123"
    with pytest.raises(UsageError, match="not set") as caught:
        open_scorer(f"{server.url},authorization=MY_KEY", context)
    assert ("variable", "MY_KEY") in caught.value.facts
    monkeypatch.setenv("MY_KEY", "Bearer abc-123")
    opened = open_scorer(f"{server.url},authorization=MY_KEY,fingerprint=1", context)
    assert opened.score("a", ["a"]).tolist() == [1]
    assert "abc-123" not in opened.fingerprint


def test_an_address_without_a_scheme_is_refused():
    with pytest.raises(UsageError, match="begins with http") as caught:
        open_scorer("mine=127.0.0.1:8000/score,batch=2", ScorerContext(Background([])))
    assert caught.value.fixes == ("http://127.0.0.1:8000/score",)


def test_the_scheme_may_be_in_upper_case(server):
    assert HttpScorer(server.url.replace("http", "HTTP")).score("a", ["a"]).tolist() == [1]


def test_a_fix_for_a_redirect_names_valid_addresses_only():
    assert http._redirect_fix("http://a/score", "/other") == "name the final address: http://a/other"
    for place in ("http://[x/", None):
        assert http._redirect_fix("http://a/score", place) == "check what runs there"
