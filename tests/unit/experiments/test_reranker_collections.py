"""The experiment on networks that re-rank: two small networks are trained, and re-rank two small collections."""

from __future__ import annotations

import json
import sys

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PLAN = """
name = "rerankers"
title = "Networks"
depth = 3
queries = 4
measure = "nDCG@10"
[collections]
cats = "test"
dogs = "test"
[train]
query_length = 6
chunk_length = 8
document_length = 16
max_steps = 2
[networks.cross-encoder]
kind = "cross-encoder"
[networks.cedr-knrm]
kind = "cedr-knrm"
batch = 4
[networks.epic]
kind = "epic"
[rows]
"cross-encoder" = { network = "cross-encoder" }
"cross-encoder, short" = { network = "cross-encoder", document_length = 4 }
"CEDR-KNRM" = { network = "cedr-knrm" }
"EPIC" = { network = "epic" }
"""


@pytest.fixture
def command(tmp_path, toy, monkeypatch):
    import rerankers
    import torch

    torch.manual_seed(1)
    base = toy.save(transformers.BertModel(toy.configuration(initializer_range=0.3)), tmp_path / "base")
    for split in ("train", "validation"):
        (tmp_path / "pairs" / split).mkdir(parents=True)
        pairs = [{"query": word, "passage": f"the {word} of a plate"} for word in ("wing", "lift", "drag")]
        text = "".join(json.dumps(pair) + "\n" for pair in pairs)
        (tmp_path / "pairs" / split / "air.jsonl").write_text(text)
    (tmp_path / "plan.toml").write_text(PLAN)

    def run(name, *options):
        given = [
            "--plan",
            str(tmp_path / "plan.toml"),
            "--models",
            str(tmp_path / "models"),
            "--threads",
            "1",
        ]
        monkeypatch.setattr(sys, "argv", ["rerankers.py", *given, name, *map(str, options)])
        rerankers.main()

    return run, base


def test_networks_are_trained_and_measured(command, collections, tmp_path, capsys):
    run, base = command
    training = ["--pairs", tmp_path / "pairs", "--base", base]
    run("train", *training, "--only", "cross-encoder", "--only", "cedr-knrm")
    run("train", *training, "--only", "cross-encoder")
    assert "exists" in capsys.readouterr().err
    measuring = ["--collections", collections, "--work", tmp_path / "work", "--out", tmp_path / "out"]
    run("run", *measuring)
    found = json.loads((tmp_path / "out" / "rerankers.json").read_text())
    assert found["missing"] == ["epic"]
    for name in ("cats", "dogs"):
        part = found["collections"][name]
        assert part["queries"] == 4
        assert list(part["means"]) == ["BM25", "cross-encoder", "cross-encoder, short", "CEDR-KNRM"]
        contrast = part["contrasts"]["CEDR-KNRM"]
        assert contrast["difference"] == pytest.approx(
            part["means"]["CEDR-KNRM"] - part["means"]["BM25"], abs=1e-5
        )
        assert contrast["wins"] + contrast["ties"] + contrast["losses"] == 4
    assert found["networks"]["cross-encoder"]["pairs_read"] == 6
    page = (tmp_path / "out" / "rerankers.md").read_text()
    assert "Not trained yet: epic." in page
    assert "| above BM25, of 2 |" in page
    run("run", *measuring)  # from the stored runs
    again = json.loads((tmp_path / "out" / "rerankers.json").read_text())
    assert again["collections"]["cats"]["means"] == found["collections"]["cats"]["means"]
    assert again["collections"]["cats"]["seconds"] == {}
    run("run", *measuring, "--data", "dogs")
    assert list(json.loads((tmp_path / "out" / "rerankers.json").read_text())["collections"]) == ["dogs"]
