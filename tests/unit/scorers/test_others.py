"""Scorers that are something else: a function, an address, a run, two together; and scores that are kept."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType

import numpy as np
import pytest

from termwise import Document
from termwise.errors import DataError, DuplicateIdError, ParameterError, UnknownIdError, UsageError
from termwise.records import Ranking, Run
from termwise.scorers import (
    Background,
    FunctionScorer,
    HttpScorer,
    MixedScorer,
    RunScorer,
    Scale,
    ScoreStore,
    Surroundings,
    http,
    open_any_scorer,
)
from termwise.scorers.specification import read_specification

AROUND = Surroundings(Background(lambda: [Document("a", "x")]))


def shared_words(queries, texts):
    return [len(set(query.split()) & set(text.split())) for query, text in zip(queries, texts, strict=True)]


class Server:
    """Answers with the shared words, or with whatever is put into `answers`."""

    def __init__(self):
        self.answers = []
        self.sizes = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.sizes.append(len(body["pairs"]))
                status, answer = outer.answers.pop(0) if outer.answers else (200, None)
                if answer is None:
                    pairs = [(one["query"], one["text"]) for one in body["pairs"]]
                    answer = json.dumps({"scores": shared_words(*zip(*pairs, strict=True))})
                self.send_response(status)
                if answer.endswith("…"):
                    self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/score"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(http.time, "sleep", lambda seconds: None)
    found = Server()
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_an_address_is_asked_in_batches(server):
    scorer = HttpScorer(server.url, batch=2)
    assert scorer.score("a b", ["a", "b a", "é", "b", "c"]).tolist() == [1, 2, 0, 1, 0]
    assert server.sizes == [2, 2, 1]
    assert scorer.name.startswith("127.0.0.1:")
    assert scorer.score("a", []).shape == (0,)


def test_an_address_that_fails_for_a_moment_is_asked_again(server):
    server.answers = [(503, "wait"), (429, "wait")]
    assert HttpScorer(server.url).score("a", ["a"]).tolist() == [1]
    server.answers = [(503, "no")] * 3
    with pytest.raises(DataError, match="does not answer"):
        HttpScorer(server.url).score("a", ["a"])
    server.answers = [(400, "bad")]
    with pytest.raises(DataError) as caught:
        HttpScorer(server.url).score("a", ["a"])
    assert "HTTP 400" in str(caught.value.facts)
    assert ("tried", "once") in caught.value.facts


def test_a_fingerprint_is_that_of_its_ranker(tmp_path, monkeypatch):
    """Two functions whose state is called the same do not share scores."""
    (tmp_path / "two_of_them.py").write_text("def one(q, t):\n    return [1.0] * len(t)\n\n\ntwo = one\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    around = Surroundings(Background(list))
    names = [
        "python:two_of_them:one",
        "python:two_of_them:two",
        "http://localhost:1/a",
        "http://localhost:1/b",
    ]
    prints = [open_any_scorer(f"{name},fingerprint=1", around).fingerprint for name in names]
    assert len(set(prints)) == 4
    assert open_any_scorer("python:two_of_them:one", around).fingerprint is None


def test_an_answer_that_breaks_off_is_asked_for_again(server):
    server.answers = [(200, '{"scores": [1…')]
    assert HttpScorer(server.url).score("a", ["a"]).tolist() == [1]
    server.answers = [(200, '{"scores": [1…')] * 3
    with pytest.raises(DataError, match="does not answer") as caught:
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
def test_an_odd_answer_is_told(server, answer):
    server.answers = [(200, answer)]
    with pytest.raises(DataError, match="score for each pair"):
        HttpScorer(server.url).score("a", ["a"])


def test_addresses_that_are_none():
    for url in ("ftp://host/x", "http://", "localhost:80"):
        with pytest.raises(ParameterError, match="address"):
            HttpScorer(url)
    with pytest.raises(ParameterError):
        HttpScorer("http://host/x", timeout=0)
    with pytest.raises(DataError, match="does not answer"):
        HttpScorer("http://127.0.0.1:9/x", timeout=1).score("a", ["a"])


def test_a_function_of_a_module(monkeypatch):
    module = ModuleType("mine_of_this_test")
    module.count = lambda queries, texts: [len(text) for text in texts]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    scorer = open_any_scorer("long=python:mine_of_this_test:count", AROUND)
    assert scorer.name == "long"
    assert scorer.score("q", ["ab", "abc"]).tolist() == [2, 3]
    assert scorer.fingerprint is None
    for wrong in (
        "python:mine_of_this_test:none",
        "python:nowhere:count",
        "python:mine_of_this_test",
        "python::",
    ):
        with pytest.raises(UsageError, match="no such function"):
            open_any_scorer(wrong, AROUND)


def test_a_run_scores_by_rank_what_it_ranks():
    run = Run([Ranking(["a", "b", "z"], [9.0, 9.0, 1.0], "q")], "mine")
    scorer = RunScorer(run, {"q": "cats"}, {"a": "A", "b": "B", "c": "C"})
    assert scorer.score("cats", ["B", "A"]).tolist() == [-2, -1]
    assert scorer.knows("cats", "A")
    assert not scorer.knows("cats", "C")
    with pytest.raises(UnknownIdError, match="does not rank"):
        scorer.score("cats", ["C"])
    twice = Run([Ranking(["a"], [1.0], "q"), Ranking(["a"], [1.0], "r")])
    with pytest.raises(DuplicateIdError):
        RunScorer(twice, {"q": "cats", "r": "cats"}, {"a": "A"})


def test_two_scorers_together():
    one = FunctionScorer(shared_words, name="one", fingerprint="1")
    other = FunctionScorer(
        lambda queries, texts: [len(text) for text in texts], name="other", fingerprint="2"
    )
    scales = (Scale(1.0, 2.0), Scale(10.0, 5.0))
    mixed = MixedScorer(one, other, alpha=0.25, scales=scales)
    found = mixed.score("a b", ["a b", "a"])
    # .25 (2 - 1) / 2 + .75 (3 - 10) / 5, .25 (1 - 1) / 2 + .75 (1 - 10) / 5
    assert found == pytest.approx([0.125 - 1.05, -1.35])
    assert mixed.name == "one+other"
    assert MixedScorer(one, other, alpha=1.0, scales=scales).score("a", ["a"]).tolist() == [0.0]
    assert mixed.fingerprint != MixedScorer(one, other, alpha=0.5, scales=scales).fingerprint
    unknown = FunctionScorer(shared_words, name="unknown")
    assert MixedScorer(one, unknown, alpha=0.5, scales=scales).fingerprint is None
    for alpha in (-0.1, 1.1, float("nan"), "x"):
        with pytest.raises(ParameterError, match="share"):
            MixedScorer(one, other, alpha=alpha, scales=scales)
    with pytest.raises(DataError, match="scale"):
        Scale.of({"q": np.array([1.0, 1.0])})


def test_scores_are_kept(tmp_path):
    path = tmp_path / "scores.sqlite"
    scores = [0.1, -np.inf, 1e300]
    with ScoreStore(path) as store:
        store.add("f", ["q", "q", "é"], ["a", "b", "\ud800"], scores)
    with ScoreStore(path) as store:
        assert store.find("f", ["é", "q", "q"], ["\ud800", "a", "b"]).tolist() == [1e300, 0.1, -np.inf]
        assert np.isnan(store.find("g", ["q"], ["a"])).all()
        assert np.isnan(store.find("f", ["a"], ["q"])).all()
        assert store.find("f", [], []).shape == (0,)
        store.add("f", ["q"], ["a"], [0.5])
        assert store.find("f", ["q"], ["a"]).tolist() == [0.5]
        assert len(store) == 3
    assert b'"a"' not in path.read_bytes()


def test_many_scores_are_found():
    with ScoreStore() as store:
        queries = [f"q{place}" for place in range(1234)]
        store.add("f", queries, queries, np.arange(1234.0))
        assert store.find("f", queries[::-1], queries[::-1]).tolist() == list(range(1233, -1, -1))


def test_a_file_that_is_something_else_is_refused(tmp_path):
    (tmp_path / "text").write_text("no database, but long enough to be read as one" * 40)
    with pytest.raises(DataError, match="damaged, or is something else"):
        ScoreStore(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(DataError, match="no store of scores"):
        ScoreStore(tmp_path / "other")
    assert (tmp_path / "text").read_text().startswith("no database")


@pytest.mark.parametrize("text", ["", "=", "name=", "bm25,k1", "bm25,=1", "bm25,k1=1,k1=2", ",a=b"])
def test_lines_that_name_no_scorer(text):
    with pytest.raises(UsageError):
        read_specification(text)
