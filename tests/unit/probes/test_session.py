"""Tests of `probe_rankers`."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from termwise.errors import (
    DataError,
    ForeignFolderError,
    MissingFileError,
    ParameterError,
    UnknownNameError,
    UsageError,
)
from termwise.probes import ProbeSettings, open_inputs, probe_rankers
from termwise.probes.report import read_report

OF_INPUTS = ("judged", "collection", "data", "stop_words", "language")
OF_RUN = ("suites", "out", "progress", "before_scoring")

GIVEN = {"suites": ["probe:length-doubled@written", "probe:fold-case@kitchen"], "language": "rules"}


def probe(scorers, **given):
    inputs = {name: given.pop(name) for name in OF_INPUTS if name in given}
    run = {name: given.pop(name) for name in OF_RUN if name in given}
    return probe_rankers(scorers, inputs=open_inputs(**inputs), settings=ProbeSettings(**given), **run)


class Length:
    """Prefers long texts."""

    name = "length"

    def score(self, query, texts):
        return np.array([float(len(text)) for text in texts])


class Unnamed(Length):
    """Has an invalid name."""

    name = 5


class Infinite(Length):
    """Returns infinite scores, which have no gaps."""

    name = "infinite"

    def score(self, query, texts):
        return np.full(len(texts), np.inf)


class Windowed(Length):
    """Reports cut texts by a given function."""

    def __init__(self, given):
        self.given = given

    def cut(self, queries, texts):
        return self.given


@pytest.fixture
def judged(tmp_path):
    files = {
        "docs.jsonl": '{"_id": "tea", "text": "Let boiling water cool. Then pour it."}\n'
        '{"_id": "bread", "text": "Knead the dough. Bake it hot."}\n',
        "queries.tsv": "q1\thow hot is water for tea\n",
        "qrels.txt": "q1 0 tea 1\nq1 0 bread 0\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return [f"kitchen={tmp_path}/docs.jsonl,{tmp_path}/queries.tsv,{tmp_path}/qrels.txt"]


def test_objects_and_names_have_equal_results(judged, tmp_path):
    out = tmp_path / "report"
    report = probe([Length(), "bm25"], judged=judged, delta=0.5, out=out, **GIVEN)
    scores = {(cell["probe"], cell["scorer"]): cell["score"] for cell in report["cells"]}
    assert scores["length-doubled@written", "length"] == 1.0
    assert scores["length-doubled@written", "bm25"] < 0.5
    assert scores["fold-case@kitchen", "length"] == 0.0
    assert report["facts"]["suites"] == GIVEN["suites"]
    assert report["facts"]["candidates"] is None, "a number needs no rankings"
    assert read_report(out) == json.loads(json.dumps(report))
    again = probe([Length(), "bm25"], judged=judged, delta=0.5, out=out, **GIVEN)
    assert again == report


def test_numbers_of_numpy_are_numbers(judged, tmp_path):
    given = {"judged": judged, "suites": ["probe:length-doubled@written"], "language": "rules", "limit": 5}
    plain = probe([Length()], delta=0.5, seed=1, **given)
    numbers = {"delta": np.float32(0.5), "seed": np.int64(1)}
    assert probe([Length()], out=tmp_path / "out", **numbers, **given)["facts"] == plain["facts"]


def test_paths_are_accepted_as_names(judged, tmp_path):
    pytest.importorskip("yaml")
    own = tmp_path / "own.yaml"
    own.write_text("probes: [{name: p, cases: [{query: tea, first: tea tea, second: tea}]}]\n")
    report = probe([Length()], judged=judged, delta=0.5, suites=[own])
    assert [(cell["probe"], cell["score"]) for cell in report["cells"]] == [("p", 1.0)]


def test_progress_is_reported(judged):
    calls = []
    probe(
        ["bm25"],
        judged=judged,
        delta=0.5,
        progress=lambda stage, done, total: calls.append((stage, done, total)),
        **GIVEN,
    )
    stages = dict.fromkeys(stage for stage, _, _ in calls)
    assert {"score: bm25", "compute statistics"} <= stages.keys()
    assert all(done <= total for _, done, total in calls if total is not None)


def test_a_plan_is_known_before_anything_is_scored(judged, tmp_path):
    class Stopped(Exception):
        pass

    def stop(plan):
        assert list(plan.rankers) == ["length", "bm25"]
        assert plan.unused_data == ["nevir"]
        assert plan.not_made == {}
        raise Stopped

    nevir = tmp_path / "test.jsonl"
    nevir.write_text('{"q1": "cats?", "q2": "dogs?", "doc1": "A cat.", "doc2": "A dog."}\n')
    given = {"judged": judged, "data": {"nevir": nevir}, "before_scoring": stop, **GIVEN}
    with pytest.raises(Stopped):
        probe([Length(), "bm25"], **given)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"scorers": [len]}, ParameterError, "a name and a method score"),
        ({"scorers": [Length]}, ParameterError, "a name and a method score"),
        ({"scorers": [Length(), Length()]}, UsageError, "one name"),
        ({"scorers": ["bm52"]}, UnknownNameError, "bm25"),
        ({"suites": ["probe:tpyos"]}, UnknownNameError, "tpyos"),
        ({"data": {"jfelg": "."}}, UnknownNameError, "jfleg"),
        ({"data": {"jfleg": "nowhere"}}, MissingFileError, "jfleg=nowhere"),
        ({"candidates": "nowhere.txt"}, MissingFileError, "nowhere.txt"),
        ({"delta": "medain"}, ParameterError, "did you mean median"),
        ({"delta": None}, ParameterError, "median, by-query, by-rank"),
        ({"out": "reports\0"}, ParameterError, "a path"),
        ({"scorers": "bm25"}, ParameterError, "['bm25']"),
        ({"scorers": []}, ParameterError, "['bm25']"),
        ({"suites": None}, ParameterError, "suites"),
        ({"suites": "quick"}, ParameterError, "suites"),
        ({"suites": []}, ParameterError, "['quick']"),
        ({"scorers": [object()]}, ParameterError, "index_scorer"),
        ({"judged": 5}, ParameterError, "judged"),
        ({"data": ["jfleg"]}, ParameterError, "data"),
        ({"data": {"jfleg": 5}}, ParameterError, "jfleg"),
        ({"candidates": 5}, ParameterError, "candidates"),
        ({"out": 5}, ParameterError, "out"),
        ({"seed": "x"}, ParameterError, "seed"),
        ({"seed": 10**5000}, ParameterError, "seed"),
        ({"suites": {"quick"}}, ParameterError, "suites"),
        ({"data": {5: "x"}}, ParameterError, "data"),
        ({"data": {"jfleg": None}}, ParameterError, "jfleg"),
        ({"threads": 0}, ParameterError, "threads"),
        ({"depth": 1}, ParameterError, "depth"),
        ({"language": 5}, ParameterError, "language"),
        ({"collection": 5}, ParameterError, "collection"),
        ({"device": 5}, ParameterError, "device"),
        ({"limit": 0}, ParameterError, "limit"),
        ({"scorers": [Unnamed()]}, ParameterError, "name of a ranker"),
        ({"scorers": [Infinite()], "delta": "median"}, DataError, "scorer  infinite"),
        ({"scorers": [Windowed([False])]}, DataError, "one bool for each text"),
        ({"scorers": [Windowed(None)]}, DataError, "one bool for each text"),
    ],
)
def test_invalid_arguments_are_refused(changed, error, message, judged):
    given = {"scorers": ["bm25"], "judged": judged, "delta": 0.5, **GIVEN, **changed}
    with pytest.raises(error) as caught:
        probe(given.pop("scorers"), **given)
    assert message in str(caught.value)


def test_a_folder_with_other_files_is_not_changed(judged, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(ForeignFolderError):
        probe(["bm25"], judged=judged, delta=0.5, out=tmp_path / "mine", **GIVEN)


def test_cut_texts_are_counted(judged):
    given = {"suites": ["probe:fold-case@kitchen"], "language": "rules", "judged": judged, "delta": 0.5}
    report = probe([Windowed([True, False, False, False])], **given)
    assert report["cells"][0]["cut"] == 1


def test_the_authorization_of_a_service_is_sent_and_not_stored(tmp_path, monkeypatch):
    received = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(self.headers["Authorization"])
            pairs = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["pairs"]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"scores": [len(pair["text"]) for pair in pairs]}).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    monkeypatch.setenv("MY_KEY", "Bearer abc-123")
    ranker = f"http://127.0.0.1:{server.server_port}/score,authorization=MY_KEY,fingerprint=1"
    out = tmp_path / "report"
    suites = ["probe:length-doubled@written"]
    report = probe([ranker], suites=suites, language="rules", delta=0.1, limit=5, out=out)
    server.shutdown()
    server.server_close()
    assert set(received) == {"Bearer abc-123"}
    assert "abc-123" not in json.dumps(report)
    files = [path for path in out.rglob("*") if path.is_file()]
    assert {"report.json", "report.html", "scores.sqlite"} <= {path.name for path in files}
    for path in files:
        content = path.read_bytes()
        assert b"abc-123" not in (gzip.decompress(content) if path.suffix == ".gz" else content), path
