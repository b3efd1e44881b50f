"""``termwise train lookup`` as a pipe sees it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.unit.train.conftest import base, one_thread  # noqa: F401
from tests.unit.train.lookup.conftest import made_texts

from termwise.cli.main import run


@pytest.fixture
def train(base, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(made_texts(60)) + "\n")
    (tmp_path / "card.json").write_text('{"license": "MIT", "base": {"name": "toy"}}')

    def train(*options, texts="texts.txt", teacher=str(base), length="20"):
        given = ("train", "lookup", "--teacher", teacher, "--data", texts, "--out", "made")
        return run([*given, "--threads", "1", "--set", f"length={length}", *options])

    return train


def test_a_run_and_its_repetition(train, tmp_path, capsys):
    assert train("--card", "card.json") == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("made: lookup, 30 rows of 16 dimensions fitted to 59 texts, mean cosine ")
    assert streams.err.splitlines()[-1] == "next: termwise index COLLECTION --model made --out DIR"
    assert 'license: "mit"' in (tmp_path / "made" / "README.md").read_text()
    assert train() == 2
    assert "--resume" in capsys.readouterr().err
    assert train("--resume", "--json", "--set", "held_out=0") == 0
    streams = capsys.readouterr()
    facts = json.loads(streams.out)
    assert (facts["fitted"], facts["cosine"]) == (60, None)
    assert "60 vectors were in made/training/vectors" in streams.err


@pytest.mark.parametrize(
    ("options", "changes", "status", "said"),
    [
        ([], {"texts": "none.txt"}, 3, "no such file or folder: none.txt"),
        ([], {"texts": "card.json"}, 2, ".txt or .jsonl"),
        ([], {"teacher": "none"}, 3, "no encoder of that name"),
        ([], {"length": "65"}, 2, "--set length=64"),
        (["--set", "rigde=2"], {}, 2, "ridge"),
        (["--card", "none.json"], {}, 3, "none.json"),
    ],
)
def test_bad_input_leaves_no_folder(train, tmp_path, capsys, options, changes, status, said):
    assert train(*options, **changes) == status
    assert said in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
