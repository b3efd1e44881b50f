"""``termwise learn-weights`` from click logs, and of relevance files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import termwise
from termwise import Document
from termwise.cli.main import run
from termwise.collection import read_clicks

TEAS = [
    Document("a", "green tea", {"sold": 10, "price": 4.0}),
    Document("b", "green tea from Japan", {"sold": 500, "price": 20.0}),
    Document("c", "a pot for green tea and for black tea", {"sold": 90, "price": 30.0}),
    Document("d", "black tea", {"sold": 0, "price": 3.0}),
]

BOOSTS = {"boosts": [{"attribute": "sold", "weight": 0.01, "saturation": 100}]}

CLICKS = [
    ("green tea", "a", 1, 0),
    ("green tea", "b", 2, 1),
    ("green tea", "c", 3, 0),
    ("black tea", "d", 1, 0),
    ("black tea", "c", 2, 1),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    termwise.build_index(TEAS, "teas", attributes="all", store_text=True)
    termwise.build_index(TEAS, "jm", model="jm")
    assert (
        run(["fuse-indexes", "teas", "jm", "--weights", "0.3,0.7", "--normalise", "z", "--out", "mix"]) == 0
    )
    (tmp_path / "boosts.json").write_text(json.dumps(BOOSTS))
    lines = ["\t".join(map(str, line)) for line in CLICKS]
    (tmp_path / "clicks.tsv").write_text("\n".join(lines))
    qrels = [f"{query}\t{doc_id}\t{grade}\n" for query, doc_id, grade, _ in read_clicks("clicks.tsv")]
    (tmp_path / "qrels.tsv").write_text("".join(qrels))
    (tmp_path / "queries.tsv").write_text("green tea\tgreen tea\nblack tea\tblack tea\n")
    return tmp_path


@pytest.mark.parametrize(
    "command", [["teas", "--relevance", "boosts.json"], ["mix"]], ids=["boosts", "mixture"]
)
def test_clicks_give_what_their_judgments_give(
    place: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    learn = ["learn-weights", *command, "--folds", "0", "--json"]
    capsys.readouterr()
    assert run([*learn, "--clicks", "clicks.tsv"]) == 0
    learned = json.loads(capsys.readouterr().out)
    assert run([*learn, "--clicks", "clicks.tsv", "--queries", "queries.tsv"]) == 0
    assert json.loads(capsys.readouterr().out) == learned
    assert run([*learn, "--qrels", "qrels.tsv", "--queries", "queries.tsv"]) == 0
    assert json.loads(capsys.readouterr().out) == learned
    for missing in ([], ["--clicks", "clicks.tsv", "--qrels", "qrels.tsv"]):
        assert run([*learn, *missing, "--queries", "queries.tsv"]) == 2
        assert "from either judgments or clicks" in capsys.readouterr().err
    assert run([*learn, "--qrels", "qrels.tsv"]) == 2
    assert "add --queries FILE" in capsys.readouterr().err
    (place / "clicks.tsv").write_text("green tea\ta\tfirst\t1\n")
    assert run([*learn, "--clicks", "clicks.tsv"]) == 3
    error = capsys.readouterr().err
    assert "clicks.tsv" in error
    assert "line" in error
    assert "a rank" in error


def test_clicked_results_move_up(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learn = ["learn-weights", "teas", "--relevance", "boosts.json", "--clicks", "clicks.tsv", "--folds", "0"]
    assert run([*learn, "--out", "learned.json"]) == 0
    before, after = (
        termwise.open("teas").search(termwise.search.Search("green tea", relevance=relevance)).ranking.doc_ids
        for relevance in map(termwise.search.Relevance.read, ("boosts.json", "learned.json"))
    )
    assert before.index("b") > after.index("b") == 0


def test_clicks_of_runs_are_for_their_queries(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("teas", "jm"):
        assert (
            run(["rank", name, "--queries", "queries.tsv", "--out", f"{name}.trec", "--separator", "tab"])
            == 0
        )
    learn = ["learn-weights", "teas.trec", "jm.trec", "--missing", "minimum", "--json"]
    capsys.readouterr()
    assert run([*learn, "--clicks", "clicks.tsv"]) == 0
    learned = json.loads(capsys.readouterr().out)
    assert run([*learn, "--qrels", "qrels.tsv"]) == 0
    assert json.loads(capsys.readouterr().out) == learned
