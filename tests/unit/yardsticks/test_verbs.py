"""``termwise train bert-model1`` and ``termwise rerank --scorer``."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from termwise import Document, build_index
from termwise.cli.main import run
from termwise.yardsticks.rerankers.folder import read_scorer_folder

from .conftest import SMALL
from .test_reranker_training import pairs, write_jsonl


def given(settings):
    return [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]


def test_a_scorer_is_trained_and_reranks(tmp_path, base, capsys):
    data = write_jsonl(tmp_path / "pairs.jsonl", *({"query": q, "passage": p} for q, p in pairs(14)))
    scorer = tmp_path / "mine"
    named = ["--data", str(data), "--base", str(base), "--out", str(scorer), "--threads", "1", "--json"]
    assert (
        run(["train", "bert-model1", *named, "--validation", "none", *given({**SMALL, "max_steps": 1})]) == 0
    )
    assert json.loads(capsys.readouterr().out)["steps"] == 1

    texts = {"a": "wing lift", "b": "heat transfer of a plate"}
    build_index([Document(*one) for one in texts.items()], tmp_path / "index", store_text=True)
    (tmp_path / "queries.tsv").write_text("q1\twing drag\n")
    (tmp_path / "run.trec").write_text("q1 Q0 b 1 2.0 first\nq1 Q0 a 2 1.0 first\n")
    options = ["--scorer", str(scorer), "--run", str(tmp_path / "run.trec")]
    options += ["--queries", str(tmp_path / "queries.tsv"), "--out", str(tmp_path / "out.trec")]
    assert run(["rerank", str(tmp_path / "index"), *options]) == 0
    found = {
        line.split()[2]: float(line.split()[4]) for line in (tmp_path / "out.trec").read_text().splitlines()
    }
    expected = dict(
        zip(texts, read_scorer_folder(scorer).score("wing drag", list(texts.values())), strict=True)
    )
    assert found == pytest.approx(expected, abs=1e-5)

    assert run(["rerank", str(tmp_path / "index"), *options, "--table", "model1", "--overwrite"]) == 2
    assert "--table does not apply with --scorer" in capsys.readouterr().err
