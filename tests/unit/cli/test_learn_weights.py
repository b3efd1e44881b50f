"""``termwise learn-weights`` from click logs, and of relevance files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise import Document, Query
from termwise.cli.main import run
from termwise.collection import read_clicks
from termwise.fusion import Fusion
from termwise.search import Relevance, Search

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
        termwise.open("teas").search(Search("green tea", relevance=relevance)).ranking.doc_ids
        for relevance in map(Relevance.read, ("boosts.json", "learned.json"))
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


def learned_file(command: list[str], *more: str) -> dict[str, Any]:
    """Learn from the clicks without folds; return the report, and check that the file has its weights."""
    assert run(["learn-weights", *command, "--clicks", "clicks.tsv", "--out", "learned.json", *more]) == 0
    return json.loads(Path("learned.json").read_text())


def test_parts_and_boosts_are_learned_together(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scores with the learned file are those of the fusion of parts and shapes with the learned weights."""
    capsys.readouterr()
    body = learned_file(["mix", "--relevance", "boosts.json"], "--folds", "0", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["present"]["weights"] == {"teas": 0.3, "jm": 0.7, "1 sold": 0.01}
    assert report["weights"] == {**body["parts"], "1 sold": body["boosts"][0]["weight"]}
    assert sum(map(abs, body["parts"].values())) == pytest.approx(1)
    relevance, mixture = Relevance.read("learned.json"), termwise.open("mix")
    queries = [Query(text, text) for text in ("green tea", "black tea")]
    runs = mixture.relevance_runs(queries, relevance)
    names, weights = [each.name for each in runs], list(report["weights"].values())
    assert names == ["teas", "jm", "1 sold"]
    fusion = Fusion(names, weights, missing="minimum", scaling=["z", "z", "raw"], documents="union")
    for ranking in fusion.apply(runs):
        found = mixture.search(Search(ranking.query_id, relevance=relevance)).ranking
        assert found.doc_ids == ranking.doc_ids
        assert found.scores.tolist() == pytest.approx(ranking.scores.tolist())
    clicked = mixture.search(Search("green tea", relevance=relevance)).ranking
    assert clicked.doc_ids[0] == "b"
    assert run(["search", "mix", "green tea", "--relevance", "learned.json", "--json"]) == 0


def test_boosts_of_results_by_meaning_are_not_learned(place: Path) -> None:
    """Documents that match by meaning only get no boost with a positive weight, in learning as in searches."""
    mixture = termwise.build_index(TEAS, "meaning", model="instant", analyzer="english")
    for weight, having_it in ((0.01, {"b"}), (-0.01, {"a", "b", "c"})):
        boost = {"attribute": "sold", "weight": weight, "saturation": 1e-6}
        *_, sold = mixture.relevance_runs([Query("q", "Japan")], Relevance.of({"boosts": [boost]}))
        shapes = dict(zip(sold["q"].doc_ids, sold["q"].scores.tolist(), strict=True))
        assert shapes.keys() == {"a", "b", "c", "d"}
        assert {doc_id for doc_id, shape in shapes.items() if shape > 0.99} == having_it


def test_the_weight_of_synonyms_is_learned(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line with a weight of its own keeps it, and so does a file without such lines."""
    (place / "lists").mkdir()
    (place / "lists" / "synonyms.txt").write_text("pot, kettle\nblack, dark ^0.9\ntv => tea\n")
    (place / "lists" / "r.toml").write_text('synonyms_file = "synonyms.txt"\n')
    # The pot of c is above the kettle of e, whose text is long, unless a synonym weighs little.
    documents = [*TEAS, Document("e", "kettle with much more text about the handle of it")]
    termwise.build_index(documents, "more")
    (place / "clicks.tsv").write_text("kettle\te\t1\t1\nkettle\tc\t2\t0\n")
    command = ["more", "--relevance", "lists/r.toml"]
    capsys.readouterr()
    body = learned_file(command, "--folds", "0", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["present"]["weights"] == {"synonyms": 0.7}
    assert report["weights"] == {"synonyms": body["synonym_weight"]}
    assert report["present"]["gain"] >= 0
    assert body["synonyms_file"] == "lists/synonyms.txt"
    lines = Relevance.read("learned.json").synonyms.lines
    assert [line.weight for line in lines] == [body["synonym_weight"], 0.9, 1.0]
    assert (
        termwise.open("more")
        .search(Search("kettle", relevance=Relevance.read("learned.json")))
        .ranking.doc_ids[0]
        == "e"
    )
    (place / "lists" / "synonyms.txt").write_text("black, dark ^0.9\n")
    assert run(["learn-weights", *command, "--clicks", "clicks.tsv"]) == 2
    assert "no weights to learn" in capsys.readouterr().err


def test_a_gain_is_cross_validated_with_the_weight_of_synonyms_of_each_fold(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "r.json").write_text(json.dumps({**BOOSTS, "synonyms": ["black, green"]}))
    body = learned_file(["teas", "--relevance", "r.json"], "--folds", "2", "--json")
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["cross_validated"]["gain"] is not None
    assert set(report["weights"]) == {"1 sold", "synonyms"}
    assert 0 < body["synonym_weight"] <= 1
    assert run(["learn-weights", "teas", "--relevance", "r.json", "--clicks", "clicks.tsv"]) == 0
    assert "fewer than 5 judged queries" in capsys.readouterr().err
    command = ["learn-weights", "teas", "--relevance", "r.json", "--clicks", "clicks.tsv", "--folds", "3"]
    assert run(command) == 2
    assert "fewer judged queries with documents than folds" in capsys.readouterr().err
