"""Options of fields with weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from termwise.cli.main import run

DOCUMENTS = [
    {"_id": "a", "title": "Bees", "text": "workers collect nectar"},
    {"_id": "b", "title": "Tides", "text": "bees and the sea and the moon"},
    {"_id": "c", "title": "Sea", "text": "tides of the sea"},
]


def write(path: Path, records: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "docs.jsonl", DOCUMENTS)


def test_from_index_to_explanation(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["index", "docs.jsonl", "--fields", "title^3,text", "--out", "i.tw", "--store-text"]) == 0
    write(tmp_path / "more.jsonl", [{"_id": "d", "title": "Moon", "text": "the moon"}])
    assert run(["add", "i.tw", "more.jsonl"]) == 0
    capsys.readouterr()
    assert run(["search", "i.tw", "moon", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["doc_id"] == "d"
    assert run(["inspect", "i.tw"]) == 0
    assert "title × 3, text × 1: words count" in capsys.readouterr().out
    assert run(["explain", "i.tw", "moon", "d"]) == 0
    assert "by field" in capsys.readouterr().out
    assert run(["explain", "i.tw", "moon", "d", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)["contributions"][0]["fields"]
    assert [(field["name"], field["share"]) for field in fields] == [("title", 0.75), ("text", 0.25)]


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["index", "docs.jsonl", "--out", "n", "--fields", "title^1.5,text"], "whole number from 1 to 100"),
        (["index", "docs.jsonl", "--out", "n", "--fields", "title^,text"], "--fields NAME^3,NAME^2"),
        (["index", "docs.jsonl", "--out", "n", "--fields", "title^2,title"], "named twice"),
        (["index", "docs.jsonl", "--out", "n", "--fields", "titel^2,text"], "title"),
        (["index", "docs.jsonl", "--out", "n", "--fields", "title^2", "--model", "tilde"], "reads one text"),
        (
            ["encode", "docs.jsonl", "--encoding", "n", "--fields", "title^2", "--model", "tilde"],
            "reads one text",
        ),
        (["index", "python:stdlib", "--out", "n", "--fields", "title^2"], "no named fields"),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], command: list[str], named: str) -> None:
    assert run(command) in (2, 3)
    assert named in capsys.readouterr().err
    assert not Path("n").exists()


def test_documents_without_the_fields_are_not_added(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["index", "docs.jsonl", "--fields", "title^3,text", "--out", "i.tw"]) == 0
    write(tmp_path / "bodies.jsonl", [{"_id": "d", "name": "Moon", "text": "the moon"}])
    assert run(["add", "i.tw", "bodies.jsonl"]) in (2, 3)
    assert "title" in capsys.readouterr().err
    assert run(["add", "i.tw", "docs.jsonl", "--fields", "title"]) == 2
    assert "keeps its fields" in capsys.readouterr().err
    assert run(["inspect", "i.tw", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 3
