"""The model of ``termwise index`` without ``--model``."""

from __future__ import annotations

import json

import pytest

import termwise
from termwise.cli.main import run

DOCUMENTS = """\
{"_id": "a", "text": "merge sorted lists"}
{"_id": "b", "text": "shuffle a list of cards"}
"""
BEST_NOTE = "--model best ranks better, with a network"
BM25_NOTE = "this is the model instant, for English; --model bm25 indexes the words alone\n"
INDEX = ["index", "docs.jsonl", "--out", "n"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text(DOCUMENTS)
    return tmp_path


def test_the_default_is_a_mixture(capsys):
    assert run([*INDEX, "--store-text"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("n: 2 documents, 0.4 bm25 + 0.6 table, ")
    assert 'next: termwise search n "your question" --explain\n' in streams.err
    assert BEST_NOTE in streams.err
    assert streams.err.endswith(BM25_NOTE)
    mixture = termwise.open("n")
    assert [(part.name, part.weight) for part in mixture.parts] == [("bm25", 0.4), ("table", 0.6)]
    assert mixture.rank("sorted lists").doc_ids[0] == "a"


def test_the_named_model_is_the_default_with_fewer_notes(capsys):
    assert run([*INDEX, "--model", "instant"]) == 0
    error = capsys.readouterr().err
    assert BEST_NOTE in error
    assert BM25_NOTE not in error
    assert [part.name for part in termwise.open("n").parts] == ["bm25", "table"]


@pytest.mark.parametrize(
    ("options", "analyzer"),
    [
        (["--analyzer", "german"], "german"),
        (["--set", "k1=1.2"], "english-parts"),
        (["--float"], "english-parts"),
        (["--model", "bm25"], "english-parts"),
    ],
)
def test_options_that_do_not_apply_to_a_mixture_choose_bm25(capsys, options, analyzer):
    assert run([*INDEX, *options]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("n: 2 documents, ")
    assert " terms, " in streams.out
    assert streams.err == 'next: termwise search n "your question" --explain\n'
    encoder = termwise.open("n").index.manifest.encoder.json
    assert encoder["model"]["name"] == "bm25"
    assert encoder["analyzer"]["name"] == analyzer
    assert run(["inspect", "n", "--json"]) == 0
    assert "parts" not in json.loads(capsys.readouterr().out)


def test_the_words_of_a_named_mixture_have_the_given_analyzer():
    assert run([*INDEX, "--model", "instant", "--analyzer", "german"]) == 0
    mixture = termwise.open("n")
    assert [part.backend.encoder.analyzer.spec.name for part in mixture.parts] == [
        "german",
        "wordpiece-clean",
    ]


@pytest.mark.parametrize("options", [["--set", "k1=1.2"], ["--float"]])
def test_a_named_mixture_refuses_them(place, capsys, options):
    assert run([*INDEX, "--model", "instant", *options]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert f"{options[0]} does not apply to a mixture, whose parts have fixed settings" in streams.err
    assert "fix  omit it\n" in streams.err
    assert not (place / "n").exists()


@pytest.mark.parametrize("options", [["--precision", "int8"], ["--encoding", "rows"], ["--provider", "cpu"]])
def test_options_of_networks_are_refused(place, capsys, options):
    assert run([*INDEX, *options]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert f"{options[0]} does not apply to instant, which runs no network" in streams.err
    assert "--model best, or another model with a network" in streams.err
    assert sorted(path.name for path in place.iterdir()) == ["docs.jsonl"]


def test_tuned_settings_are_refused(place, capsys):
    (place / "t.json").write_text("{}")
    assert run([*INDEX, "--settings", "t.json"]) == 2
    assert "--settings applies to translation tables only" in capsys.readouterr().err
    assert not (place / "n").exists()


def test_stdout_has_one_json_object(capsys):
    assert run([*INDEX, "--json"]) == 0
    streams = capsys.readouterr()
    report = json.loads(streams.out)
    assert (report["mixture"], report["documents"]) == ("n", 2)
    assert [(part["name"], part["weight"]) for part in report["parts"]] == [("bm25", 0.4), ("table", 0.6)]
    assert streams.err.endswith(BM25_NOTE)


def test_a_missing_collection_leaves_no_folder(place, capsys):
    assert run(["index", "nowhere.jsonl", "--out", "n"]) == 3
    assert "nowhere.jsonl" in capsys.readouterr().err
    assert not (place / "n").exists()
