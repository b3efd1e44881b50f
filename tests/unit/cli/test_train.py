"""``termwise train`` as a pipe and a terminal see it."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.unit.train.conftest import WORDS, base, one_thread, write_jsonl  # noqa: F401

from termwise.cli.main import run
from termwise.cli.terminal import note_line

SETTINGS = ["document_length=12", "batch=4", "max_steps=4", "validate_every=2", "learning_rate=1e-3"]


@pytest.fixture
def train(base, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    pairs = [{"query": f"what {a} {b}", "passage": f"{a} of the {b}"} for a in WORDS[:6] for b in WORDS[6:12]]
    write_jsonl(tmp_path / "pairs.jsonl", *pairs)
    given = [part for setting in SETTINGS for part in ("--set", setting)]

    def train(*options, out="made"):
        return run(
            [
                *("train", "tildev2", "--data", "pairs.jsonl", "--base", str(base), "--out", out),
                *("--expand-with", "none", "--threads", "1", "--set", "negatives=1", *given, *options),
            ]
        )

    return train


def test_lines_for_a_pipe(train, base, tmp_path, capsys):  # noqa: F811
    assert train() == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("made: tildev2, 4 steps, ")
    lines = streams.err.splitlines()
    assert lines[0] == f"training tildev2 from {base.name} on 35 pairs (pairs 35): 4 steps of 4 pairs"
    assert lines[1] == "validating every 2 steps; held-out queries: 1, passages to rank: 1"
    assert lines[2].startswith("warning: few held-out queries (1)")
    steps = [line for line in lines if line.startswith("step ")]
    assert [line.partition(":")[0] for line in steps] == ["step 2 of 4", "step 4 of 4"]
    assert all(re.search(r"loss \S+, nDCG@10 \S+, RR@10 \S+, learning rate \S+, ", line) for line in steps)
    assert any(line.startswith("selected: the weights of step ") for line in lines)
    assert lines[-1] == "next: termwise index COLLECTION --model made --out DIR"
    assert all(line.isprintable() for line in lines)
    card, manifest = ((tmp_path / "made" / name).read_text() for name in ("README.md", "encoder.json"))
    for text in (card, manifest):
        assert base.name in text
        assert str(base.parent) not in text
    assert str(tmp_path) not in (tmp_path / "made" / "config.json").read_text()


def test_a_run_is_resumed_and_printed_as_json(train, capsys, tmp_path):
    assert train() == 0
    capsys.readouterr()
    last = tmp_path / "made" / "training" / "checkpoints" / "checkpoint-4"
    (last / "optimizer.pt").write_bytes(b"")
    assert train("--resume", "--json") == 0
    streams = capsys.readouterr()
    (line,) = streams.out.splitlines()
    assert json.loads(line)["steps"] == 4
    said = streams.err.splitlines()
    assert said[0].startswith("warning: made/training/checkpoints/checkpoint-4 is damaged and is skipped")
    assert "resuming at step 2 of 4" in said
    assert said[-1].startswith("made: tildev2, 4 steps")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--expansion-precision", "int8"], "--expansion-precision"),
        (["--expand-with", "tilde", "--expansion-precision", "int4"], "precision"),
        (["--expand-with", "tilde", "--expansion-counting", "old"], "--expansion-counting is new or raw"),
        (["--expand-with", "tilde", "--expansion-provider", "nowhere"], "no such execution provider"),
        (["--set", "prior_bias=true"], "prior_bias is not for this kind of network"),
    ],
)
def test_bad_options_leave_no_folder(train, options, said, tmp_path, capsys):
    assert train(*options) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_lines_stand_above_the_bar_of_a_terminal(train, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    assert train() == 0
    shown = capsys.readouterr().err
    assert re.search(r"train: loss", shown)
    assert re.search(r"\nstep 2 of 4: loss |\x1b\[2Kstep 2 of 4: loss ", shown)


def test_control_characters_of_notes_are_replaced(capsys):
    note_line("a\x1b[31mb\n")
    assert capsys.readouterr().err == "a [31mb \n"
