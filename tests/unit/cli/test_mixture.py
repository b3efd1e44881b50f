"""The commands on the folder of a mixture."""

from __future__ import annotations

import json

import pytest

from termwise import build_index, read_run
from termwise.cli.main import run
from termwise.errors import UsageError
from termwise.indexing import recipes
from termwise.indexing.recipes import BEST, Recipe, RecipePart
from termwise.rankers import ScorerContext, open_scorer
from termwise.scorers.token_statistics import Background
from termwise.search import MixtureSearcher

DOCUMENTS = """\
{"_id": "a", "text": "merge sorted lists"}
{"_id": "b", "text": "shuffle a list of cards"}
{"_id": "c", "text": "sort cards"}
{"_id": "d", "text": "merge the sorted lists and cards"}
"""


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(recipes.RECIPES, BEST, Recipe((RecipePart("bm25", 0.25), RecipePart("jm", 0.75))))
    (tmp_path / "docs.jsonl").write_text(DOCUMENTS)
    (tmp_path / "queries.tsv").write_text("q1\tsorted lists\nq2\tcards\n")
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 c 1\n")
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "m", "--store-text"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("m: 4 documents, 0.25 bm25 + 0.75 jm, ")
    assert streams.err.endswith('next: termwise search m "your question" --explain\n')
    return tmp_path


def test_index(place, capsys):
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "m"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "m", "--overwrite", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["mixture"], [part["name"] for part in report["parts"]]) == ("m", ["bm25", "jm"])
    for options in (["--set", "k1=1"], ["--analyzer", "english"], ["--float"]):
        assert run(["index", "docs.jsonl", "--model", "best", "--out", "n", *options]) == 2
        assert f"{options[0]} does not apply to a mixture" in capsys.readouterr().err


def test_search_and_explain(place, capsys):
    assert run(["search", "m", "sorted lists", "--explain"]) == 0
    streams = capsys.readouterr()
    assert "constant -" in streams.out
    assert "results from 4 documents in " in streams.err
    assert run(["search", "m", "sorted lists", "--json", "--explain", "-k", "1"]) == 0
    record = json.loads(capsys.readouterr().out)
    parts = record["explanation"]["parts"]
    assert [part["name"] for part in parts] == ["bm25", "jm"]
    total = sum(part["weight"] * (part["score"] - part["mean"]) / part["deviation"] for part in parts)
    assert total == pytest.approx(record["score"])
    assert run(["explain", "m", "sorted lists", "a"]) == 0
    shown = capsys.readouterr().out
    assert "query × doc × scale" in shown
    assert "  bm25  0.25 × (" in shown
    assert "  mean of jm" in shown
    assert run(["explain", "m", "sorted lists", "a", "--html", "page.html"]) == 0
    page = (place / "page.html").read_text()
    assert '<tr class="part"><th scope="rowgroup" colspan="6">jm</th></tr>' in page
    assert "<bdi>mean of bm25</bdi>, the same for every document" in page
    assert run(["explain", "m", "a", "sorted lists"]) == 3
    assert 'termwise explain m "sorted lists" a' in capsys.readouterr().err


def test_query_by_example(place, capsys):
    assert run(["search", "m", "--like", "a"]) == 0
    assert capsys.readouterr().out.startswith("1  ")
    (place / "file.txt").write_text("merge sorted lists")
    assert run(["search", "m", "--like-file", "file.txt"]) == 0
    assert "the text is the same: a" in capsys.readouterr().err
    assert run(["explain", "m", "--like", "a", "d"]) == 0
    assert "like a" in capsys.readouterr().out
    assert run(["search", "m", "cards cards", "--weigh", "counts=once"]) == 0
    assert run(["search", "m", "zebra"]) == 0
    assert capsys.readouterr().err.endswith("no results: not in the index: zebra\n")


def test_runs(place, capsys):
    files = ["--queries", "queries.tsv", "--output", "run.trec"]
    assert run(["search", "m", *files, "--measure-time"]) == 0
    assert "scoring" in capsys.readouterr().out
    ranked = read_run("run.trec")
    queries = [("q1", "sorted lists"), ("q2", "cards")]
    mixture = MixtureSearcher.open("m")
    assert all(ranked[name].doc_ids == mixture.rank(text, k=1000).doc_ids for name, text in queries)
    assert (
        run(["rerank", "m", "--run", "run.trec", "--queries", "queries.tsv", "--output", "again.trec"]) == 0
    )
    assert read_run("again.trec", name="run") == read_run("run.trec", name="run")
    command = [
        "rerank",
        "m",
        "--run",
        "run.trec",
        "--queries",
        "queries.tsv",
        "--output",
        "o",
        "--scorer",
        "bm25",
    ]
    assert run(command) == 0


def test_inspect_and_verify(place, capsys):
    assert run(["inspect", "m"]) == 0
    shown = capsys.readouterr().out
    assert "part            0.25 × bm25" in shown
    assert "the first 1,000 of each part" in shown
    assert run(["inspect", "m", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [part["index"] for part in facts["parts"]] == ["m/bm25", "m/jm"]
    assert run(["verify", "m"]) == 0
    assert capsys.readouterr().out == "m: intact\n"
    file = next((place / "m" / "jm").glob("ids-*.tw"))
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    assert run(["verify", "m"]) == 5
    assert f"jm/{file.name}" in capsys.readouterr().err


def test_learned_weights_of_a_mixture(place, capsys):
    learn = ["learn-weights", "m", "--qrels", "qrels.txt", "--output", "weights.json"]
    assert run([*learn, "--queries", "queries.tsv"]) == 0
    assert "next: termwise fuse-indexes m --weights weights.json --out DIR" in capsys.readouterr().err
    assert run(["fuse-indexes", "m", "--weights", "weights.json", "--out", "n"]) == 0
    weights = json.loads((place / "weights.json").read_text())["weights"]
    assert [part.weight for part in MixtureSearcher.open("n").parts] == [w for w in weights if w]
    assert run(learn) == 2
    assert "--queries FILE" in capsys.readouterr().err
    assert run([*learn, "--queries", "queries.tsv", "--missing", "drop"]) == 2
    assert "does not apply to a mixture" in capsys.readouterr().err


def test_indexes_that_cannot_be_added_are_mixed(place, capsys):
    """The refusal names one command, and that command works."""
    build_index("docs.jsonl", "english.tw", model="bm25")
    build_index("docs.jsonl", "pieces.tw", model="bm25", analyzer="wordpiece-clean")
    assert run(["fuse-indexes", "english.tw", "pieces.tw", "--alpha", "0.3", "--out", "mixed.tw"]) == 3
    error = capsys.readouterr().err
    command = "termwise fuse-indexes english.tw pieces.tw --alpha 0.5 --normalise z --out DIR"
    assert f"add their scores at search time instead: {command}\n" in error
    assert run(command.replace("DIR", "mixed.tw").split()[1:]) == 0
    assert capsys.readouterr().out.startswith("mixed.tw: 4 documents, 0.5 english + 0.5 pieces, ")
    assert run(["search", "mixed.tw", "sorting cards"]) == 0
    assert run([*command.split()[1:], "--float"]) == 2
    assert "--float does not apply to a mixture" in capsys.readouterr().err


def test_commands_that_take_no_mixture(place, capsys):
    with pytest.raises(UsageError, match="no text by itself") as caught:
        open_scorer("m", ScorerContext(Background(list)))
    assert caught.value.fixes == ("name its parts: bm25=m/bm25 jm=m/jm bm25+jm,alpha=0.25",)
    rerank = ["rerank", "m", "--run", "docs.jsonl", "--queries", "queries.tsv", "--output", "o"]
    assert run([*rerank, "--table", "model1"]) == 3
    assert "a mixture of indexes, not an index" in capsys.readouterr().err
