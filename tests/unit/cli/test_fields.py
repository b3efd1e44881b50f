"""Options of fields with weights."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import termwise
from termwise.cli.main import run
from termwise.indexing import recipes
from termwise.indexing.recipes import BEST, Recipe, RecipePart

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
    assert (
        run(
            [
                "index",
                "docs.jsonl",
                "--model",
                "bm25",
                "--fields",
                "title^3,text",
                "--out",
                "i.tw",
                "--store-text",
            ]
        )
        == 0
    )
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
        (
            ["index", "docs.jsonl", "--model", "bm25", "--out", "n", "--fields", "title^1.5,text"],
            "whole number from 1 to 100",
        ),
        (
            ["index", "docs.jsonl", "--model", "bm25", "--out", "n", "--fields", "title^,text"],
            "--fields 'title^3,text^2'",
        ),
        (
            ["index", "docs.jsonl", "--model", "bm25", "--out", "n", "--fields", "title^2,title"],
            "named twice",
        ),
        (["index", "docs.jsonl", "--model", "bm25", "--out", "n", "--fields", "titel^2,text"], "title"),
        (["index", "docs.jsonl", "--out", "n", "--fields", "title^2", "--model", "tilde"], "reads one text"),
        (
            ["encode", "docs.jsonl", "--encoding", "n", "--fields", "title^2", "--model", "tilde"],
            "reads one text",
        ),
        (["index", "python:stdlib", "--model", "bm25", "--out", "n", "--fields", "title^2"], "title"),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], command: list[str], named: str) -> None:
    assert run(command) in (2, 3)
    assert named in capsys.readouterr().err
    assert not Path("n").exists()


@pytest.mark.parametrize("fields", ["title^3,text", "title,text"])
def test_documents_may_lack_some_of_the_fields_but_not_all(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, fields: str
) -> None:
    assert run(["index", "docs.jsonl", "--model", "bm25", "--fields", fields, "--out", "i.tw"]) == 0
    capsys.readouterr()
    write(tmp_path / "names.jsonl", [{"_id": "d", "name": "Moon"}])
    assert run(["add", "i.tw", "names.jsonl"]) == 3
    assert "a text: title or one of text" in capsys.readouterr().err
    write(tmp_path / "bodies.jsonl", [{"_id": "d", "text": "the moon rises"}])
    assert run(["add", "i.tw", "bodies.jsonl"]) == 0
    assert capsys.readouterr().err == "bodies: the first records lack these texts of i.tw: title\n"
    assert run(["add", "i.tw", "docs.jsonl"]) == 0
    assert "lack" not in capsys.readouterr().err
    assert termwise.open("i.tw").rank("rises").doc_ids == ("d",)
    assert run(["add", "i.tw", "docs.jsonl", "--fields", "title"]) == 2
    assert "keeps the fields of its build" in capsys.readouterr().err
    assert run(["inspect", "i.tw", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 4


def test_chosen_fields_are_those_of_documents_that_are_added(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(recipes.RECIPES, BEST, Recipe((RecipePart("bm25", 0.5), RecipePart("jm", 0.5))))
    assert (
        run(["index", "docs.jsonl", "--model", "best", "--fields", "text", "--out", "m", "--store-text"]) == 0
    )
    assert run(["add", "m", "docs.jsonl"]) == 0
    assert "0 added, 0 replaced, 3 unchanged" in capsys.readouterr().out
    for options in ([], ["--fields", "text,title"]):
        assert (
            run(
                [
                    "index",
                    "docs.jsonl",
                    "--model",
                    "bm25",
                    *options,
                    "--out",
                    "i.tw",
                    "--store-text",
                    "--overwrite",
                ]
            )
            == 0
        )
        capsys.readouterr()
        assert run(["add", "i.tw", "docs.jsonl", *options]) == 0
        assert "0 added, 0 replaced, 3 unchanged" in capsys.readouterr().out
        assert run(["add", "i.tw", "docs.jsonl"]) == 0
        assert "0 added, 0 replaced, 3 unchanged" in capsys.readouterr().out
    assert run(["add", "i.tw", "docs.jsonl", "--fields", "title,text"]) == 2
    assert "omit --fields" in capsys.readouterr().err
    assert run(["inspect", "i.tw"]) == 0
    assert re.search(r"^fields +text, title$", capsys.readouterr().out, re.MULTILINE)
    assert run(["merge", "i.tw", "--renew"]) == 0
    assert run(["inspect", "i.tw", "--json"]) == 0
    encoder = json.loads(capsys.readouterr().out.splitlines()[-1])["encoder"]
    assert encoder["fields"] == ["text", "title"]


def test_chosen_fields_are_no_attributes_unless_they_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    build = [
        "index",
        "docs.jsonl",
        "--model",
        "bm25",
        "--fields",
        "title",
        "--out",
        "i.tw",
        "--overwrite",
        "--attributes",
    ]
    assert run([*build, "all"]) == 0
    assert "--attributes all leaves out the fields of the text: title; " in capsys.readouterr().err
    assert run([*build, "title,text"]) == 0
    assert "leaves out" not in capsys.readouterr().err
    assert set(termwise.open("i.tw").schema) == {"title", "text"}
