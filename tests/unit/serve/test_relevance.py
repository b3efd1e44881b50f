"""Relevance of requests and of a served index, whose file changes while the service runs."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from tests.unit.serve.conftest import served

from termwise.cli.main import run
from termwise.errors import MissingFileError, ParameterError
from termwise.serve import ServiceSettings
from termwise.serve.indexes import ServedIndexes

DEAR = {"boosts": [{"attribute": "price", "weight": 5, "saturation": 1}]}
CHEAP = {"boosts": [{"attribute": "price", "weight": -5, "saturation": 10}]}


def test_requests_and_a_file_that_changes(
    shop: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "relevance.json"
    file.write_text(json.dumps(DEAR))
    settings = ServiceSettings(threads=2, relevance=(str(file),))
    with served([str(shop)], settings) as client, caplog.at_level(logging.ERROR, "termwise.serve"):

        def search(**request: object) -> list[str]:
            answer = client.post("/v1/indexes/shop/search", json={"query": "tea", **request})
            assert answer.status_code == 200, answer.text
            return [hit["doc_id"] for hit in answer.json()["hits"]]

        by_price = ["pot", "sencha", "genmaicha", "assam"]
        assert search() == by_price
        assert search(relevance=CHEAP)[0] == "assam"
        plain = search(relevance={})
        assert plain == search(relevance=None) != by_price
        assert search(sort=["kind", "-price"])[:2] == ["assam", "sencha"]
        assert search(sort="kind,-price") == search(sort=["kind", "-price"])
        answer = client.post("/v1/indexes/shop/explain", json={"query": "tea", "doc_id": "pot"})
        boost = answer.json()["explanation"]["contributions"][-1]
        assert (boost["origin"], boost["value"], boost["shape"]) == ("boost", "40", "saturation 1")
        page = client.get("/", params={"index": "shop", "q": "tea"}, headers={"accept": "text/html"}).text
        assert "40, saturation 1" in page
        wrong = client.post("/v1/indexes/shop/search", json={"relevance": {"boost": []}})
        assert wrong.status_code == 400
        assert "did you mean boosts" in wrong.text

        file.write_text(json.dumps(CHEAP) + " ")
        assert search()[0] == "assam"
        file.write_text("{")
        assert search()[0] == "assam"
        assert search()[0] == "assam"
        assert len([each for each in caplog.records if "cannot be read" in each.getMessage()]) == 1
        file.write_text(json.dumps({"boosts": []}))
        assert search() == plain


def test_files_for_indexes(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps(DEAR))
    two = [f"a={shop}", f"b={shop}"]
    indexes = ServedIndexes(two, relevance=[f"b={file}"])
    assert indexes["a"].current().relevance is None
    relevance = indexes["b"].current().relevance
    assert relevance is not None
    assert relevance.boosts[0].attribute == "price"
    for given in ([str(file)], [f"c={file}"], [f"a={file}", f"a={file}"]):
        with pytest.raises(ParameterError, match="each relevance file is for one index"):
            ServedIndexes(two, relevance=given)
    with pytest.raises(MissingFileError):
        ServedIndexes([str(shop)], relevance=[str(tmp_path / "none.json")])


def test_commands(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, queries, out = tmp_path / "r.json", tmp_path / "q.jsonl", tmp_path / "run.trec"
    file.write_text(json.dumps(DEAR))
    assert run(["search", str(shop), "tea", "--relevance", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["doc_id"] == "pot"
    assert run(["search", str(shop), "--relevance", str(file), "-k", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["doc_id"] == "pot"
    assert run(["explain", str(shop), "tea", "pot", "--relevance", str(file)]) == 0
    assert "price (40, saturation 1)" in capsys.readouterr().out
    queries.write_text('{"_id": "q", "text": "tea"}\n')
    ranked = ["rank", str(shop), "--queries", str(queries), "--out", str(out), "--relevance", str(file)]
    assert run(ranked) == 0
    assert out.read_text().split()[2] == "pot"
    qrels, learned = tmp_path / "qrels", tmp_path / "learned.json"
    qrels.write_text("q 0 pot 1\n")
    command = ["learn-weights", str(shop), "--relevance", str(file), "--queries", str(queries)]
    command += ["--qrels", str(qrels), "--folds", "0", "--json"]
    capsys.readouterr()
    assert run([*command, "--out", str(learned)]) == 0
    report = json.loads(capsys.readouterr().out)
    weight = json.loads(learned.read_text())["boosts"][0]["weight"]
    assert report["weights"] == {"1 price": weight}
    assert report["present"]["weights"] == {"1 price": 5}
    assert run(["search", str(shop), "tea", "--relevance", str(learned), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["doc_id"] == "pot"
    assert run([*command, "--out", str(tmp_path / "learned.toml")]) == 2
    assert run([*command, "--method", "sweep"]) == 2
    qrels.write_text("q 0 assam 1\n")  # the last one for the query, so that its weight is negative
    assert run(command) == 3
    assert "judge more queries" in capsys.readouterr().err
