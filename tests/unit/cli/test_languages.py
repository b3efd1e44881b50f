"""Several languages in one index on the command line."""

from __future__ import annotations

import json
import sys

import pytest

from termwise.cli.main import run
from termwise.text.language_compounds import _parts_of

SHOP = [
    {"id": "1", "title": "Rote Winterjacke", "lang": "de"},
    {"id": "2", "title": "Blaue Jacken und Gift", "lang": "de-AT"},
    {"id": "3", "title": "Gift card", "lang": "en"},
    {"id": "4", "title": "Veste rouge"},
]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.jsonl").write_text("".join(json.dumps(each) + "\n" for each in SHOP))
    return tmp_path


def found(capsys) -> list[str]:
    return [line.split()[2] for line in capsys.readouterr().out.splitlines() if line[:1].isdigit()]


def test_index_search_change(capsys, place):
    by_lang = ["--analyzer-by", "lang:de=german-codes"]
    assert run(["index", "shop.jsonl", *by_lang, "--out", "i", "--store-text"]) == 0
    error = capsys.readouterr().err
    assert "1 of 4 documents have no known language in lang, and the analyzer english-parts" in error
    for arguments, doc_ids in (
        (["Jacke"], ["2"]),
        (["gift"], ["2", "3"]),
        (["gift", "--lang", "en"], ["3"]),
        (["veste", "--lang", "und"], ["4"]),
    ):
        assert run(["search", "i", *arguments]) == 0
        assert sorted(found(capsys)) == doc_ids
    assert run(["explain", "i", "gift", "3", "--lang", "en"]) == 0
    assert "en:gift" in capsys.readouterr().out
    (place / "more.jsonl").write_text('{"id": "5", "title": "Giacca rossa", "lang": "it"}\n')
    assert run(["add", "i", "more.jsonl"]) == 0
    assert run(["delete", "i", "2"]) == 0
    assert run(["merge", "i"]) == 0
    assert run(["verify", "i"]) == 0
    capsys.readouterr()
    assert run(["search", "i", "giacche"]) == 0
    assert found(capsys) == ["5"]
    assert run(["inspect", "i"]) == 0
    assert (
        "by-attribute:lang: de german-codes, en english-parts, it italian-parts, other documents english-parts, "
        "34 more without documents\n"
    ) in capsys.readouterr().out


@pytest.mark.parametrize(
    "analyzer", [["--analyzer-by", "lang:de=german-parts"], ["--analyzer", "german-parts"]]
)
def test_an_index_says_that_it_needs_simplemma(capsys, monkeypatch, analyzer):
    pytest.importorskip("simplemma")
    assert run(["index", "shop.jsonl", *analyzer, "--model", "bm25", "--out", "i"]) == 0
    assert run(["inspect", "i"]) == 0
    assert "needs              the package simplemma, also in searches\n" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "simplemma", None)
    _parts_of.cache_clear()
    assert run(["search", "i", "Jacke"]) == 0  # too short for a compound
    assert run(["search", "i", "Winterhandschuhe"]) == 4
    error = capsys.readouterr().err
    assert "the analyzer german-parts needs the package simplemma, which is not installed" in error
    assert "pip install 'termwise[simplemma]'" in error
    by_lang = ["--analyzer-by", "lang:de=german-codes"]
    assert run(["index", "shop.jsonl", *by_lang, "--model", "bm25", "--out", "j"]) == 0
    assert run(["inspect", "j"]) == 0
    assert "simplemma" not in capsys.readouterr().out


def test_wrong_options(capsys):
    index = ["index", "shop.jsonl", "--out", "i"]
    assert run([*index, "--detect-language"]) == 2
    assert "--detect-language does not apply without --analyzer-by" in capsys.readouterr().err
    assert run([*index, "--analyzer-by", "lang:de"]) == 2
    assert "has another form" in capsys.readouterr().err
    assert run([*index, "--analyzer-by", "language"]) == 2
    error = capsys.readouterr().err
    assert "no document has the attribute" in error
    for line in (
        "their attributes  lang",
        "did you mean lang?",
        "keep the field as an attribute: --attributes language",
        "detect languages: --analyzer-by language --detect-language",
        "choose one analyzer for all documents: --analyzer NAME",
    ):
        assert line in error
    assert run([*index, "--analyzer-by", "lang", "--model", "jm"]) == 2
    assert "statistics of each language" in capsys.readouterr().err
    assert run([*index, "--analyzer", "english", "--model", "bm25"]) == 0
    capsys.readouterr()
    assert run(["search", "i", "gift", "--lang", "de"]) == 2
    assert "build the index with --analyzer by-attribute:lang" in capsys.readouterr().err
