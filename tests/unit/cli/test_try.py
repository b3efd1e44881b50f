"""``termwise try`` with networks small enough to compute by hand, and weights made with them."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from tests.unit.encode import tiny

import termwise
from termwise import Document
from termwise.cli import try_
from termwise.cli.main import run
from termwise.collection import PythonQuestions
from termwise.encode import EncoderFolder, ExpansionRecord, PrecomputedRows, open_document_encoder
from termwise.indexing import recipes
from termwise.indexing.recipes import Recipe, RecipePart
from termwise.models import Tilde, TildeV2
from termwise.records import Qrel, Query, Ranking, Run
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, write_table

DOCUMENTS = [
    Document("heapq.merge", "merge sort lists"),
    Document("list.sort", "sort the list"),
    Document("random.choice", "dog cat"),
]


class Documentation:
    name = "python:stdlib"
    length = len(DOCUMENTS)

    def documents(self):
        yield from DOCUMENTS


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Ship two small encoders, and no weights yet."""
    monkeypatch.chdir(tmp_path)
    shipped = tmp_path / "models"
    shipped.mkdir()
    monkeypatch.setattr("termwise.encode.encoder_folder._shipped_root", lambda: shipped)
    monkeypatch.setattr("termwise.translation.table_folder._shipped_root", lambda: tmp_path / "tables")
    monkeypatch.setattr("termwise.collection.open_collection", lambda spec: Documentation())
    monkeypatch.setattr(try_, "shipped_weights", lambda name: found.get(name))
    table = tiny.square(
        {
            tiny.DOC: {},
            tiny.MERGE: {tiny.MERGE: 3.0, tiny.SORT: 1.0},
            tiny.SORT: {tiny.SORT: 2.0, tiny.LIST: 0.5},
            tiny.LIST: {tiny.LIST: 1.5, tiny.MERGE: 0.0},
        }
    )
    sizes = {"positions": 64, "length": 64}
    tiny.make_folder(shipped / "tilde", "tilde", table, floors=[-3.0] * len(tiny.PIECES), **sizes)
    expansion = ExpansionRecord(2, "new", 32, EncoderFolder.open("tilde").id, "tilde")
    each = [0.5] * len(tiny.PIECES)
    tiny.make_folder(
        shipped / "tildev2", "tildev2", tiny.np.array(each, dtype="float32"), expansion=expansion, **sizes
    )
    found = {}

    def ship(name, documents):
        model = {"tilde": Tilde(), "tildev2": TildeV2()}[name]
        rows = PrecomputedRows.of([document.text for document in documents], open_document_encoder(model))
        found[name] = tmp_path / f"{name}.npz"
        rows.write(found[name])

    return ship


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_without_weights_only_bm25_is_shown(place, capsys, tmp_path):
    assert run(["try", "sort lists"]) == 0
    shown = capsys.readouterr().out
    assert "BM25, measured on the " in shown
    assert "TILDE" not in shown
    assert "Model 1" not in shown
    assert [path.name for path in tmp_path.glob("*.tw")] == ["python-stdlib.tw"]


def test_three_systems_side_by_side(place, capsys, tmp_path):
    place("tilde", DOCUMENTS)
    place("tildev2", DOCUMENTS)
    assert run(["try", "merge lists"]) == 0
    streams = capsys.readouterr()
    head = next(line for line in streams.out.splitlines() if line.startswith("rank "))
    assert head.split() == ["rank", "BM25", "TILDE", "TILDEv2"]
    said = r"^TILDE, on the same questions: nDCG@10 \S+, mixed with BM25 half and half \S+$"
    assert re.search(said, streams.out, re.MULTILINE)
    assert "\nTILDEv2, on the same questions: nDCG@10 " in streams.out
    assert "left out" not in streams.err
    assert "termwise search python-stdlib-tildev2.tw" in streams.err
    names = {path.name for path in tmp_path.glob("*.tw*")}
    assert names == {"python-stdlib.tw", "python-stdlib-tilde.tw", "python-stdlib-tildev2.tw"}
    searcher = termwise.open("python-stdlib-tilde.tw")
    assert searcher.rank("merge lists").doc_ids == ("heapq.merge", "list.sort")
    assert searcher.index.text(0) == DOCUMENTS[0].text


def test_the_recommended_mixture_is_shown_where_its_weights_ship(place, capsys, monkeypatch):
    monkeypatch.setitem(try_.WEIGHTS, "best", "tilde")
    parts = (RecipePart("bm25", 0.5), RecipePart("tilde", 0.5))
    monkeypatch.setitem(recipes.RECIPES, recipes.BEST, Recipe(parts))
    place("tilde", DOCUMENTS[:2])
    assert run(["try", "merge lists"]) == 0
    streams = capsys.readouterr()
    assert re.search(r"^BM25 \+ lookup, on the same questions: nDCG@10 \S+$", streams.out, re.MULTILINE)
    assert "\n  termwise search python-stdlib-best.tw " in streams.err
    explain = "\n  termwise explain python-stdlib-best.tw 'merge lists' heapq.merge --html explanation.html\n"
    assert explain in streams.err.replace('"', "'")
    assert "\nBM25 + lookup\n\n1  " in streams.out
    assert "\nparts\n  weight × (score - mean) / deviation of the candidates\n  bm25" in streams.out
    assert "BM25 + lookup: no weights ship for 1 of the 3 documents" in streams.err
    mixture = termwise.open("python-stdlib-best.tw")
    assert mixture.rank("merge lists").doc_ids == ("heapq.merge", "list.sort")
    assert run(["try", "merge lists", "--json"]) == 0
    (report,) = lines(capsys)
    assert [system["model"] for system in report["systems"]] == ["bm25", "tilde", "best"]
    assert report["systems"][2]["mixed"] is None
    assert report["index"] == "python-stdlib-best.tw"
    assert [part["name"] for part in report["ranking"][0]["parts"]] == ["bm25", "tilde"]
    assert report["measures"] == report["systems"][2]["measures"]


def test_a_table_that_ships_is_compiled(place, capsys, tmp_path):
    words = Vocabulary(["merge", "combine"])
    table = TranslationTable(words, [0, 2, 2], [0, 1], [0.5, 0.25], [1, 1], make_analyzer("standard").spec)
    write_table(table, tmp_path / "tables" / "model1")
    place("tilde", DOCUMENTS)
    assert run(["try", "combine lists"]) == 0
    streams = capsys.readouterr()
    shown = streams.out
    head = next(line for line in shown.splitlines() if line.startswith("rank "))
    assert head.split() == ["rank", "BM25", "Model", "1", "TILDE"]
    assert "\n  termwise search python-stdlib-model1.tw " in streams.err
    assert "\n  termwise fuse-indexes python-stdlib-pieces.tw python-stdlib-model1.tw --alpha " in streams.err
    assert "\nModel 1, on the same questions: nDCG@10 " in shown
    searcher = termwise.open("python-stdlib-model1.tw")
    assert searcher.rank("combine").doc_ids == ("heapq.merge",)
    assert searcher.index.text(0) == DOCUMENTS[0].text
    assert run(["try", "combine lists", "--json"]) == 0
    (report,) = lines(capsys)
    assert [system["model"] for system in report["systems"]] == ["bm25", "model1", "tilde"]
    assert [system["mixed"] is None for system in report["systems"]] == [True, False, False]


def test_the_mixture_is_half_of_each():
    questions = PythonQuestions((Query("q", "any"),), (Qrel("q", "b", 1),), ())
    one = Run([Ranking(["a", "b", "c"], [3.0, 2.0, 1.0], "q")], "one")
    other = Run([Ranking(["b", "c"], [9.0, 1.0], "q")], "other")
    assert try_._means(one, questions)["nDCG@10"] == pytest.approx(0.6309, abs=1e-4)
    assert try_._fused_measures([one, other], questions)["nDCG@10"] == 1


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("heapq.merge", 11, ["heapq.merge"]),
        ("unittest.util.sorted_list", 14, ["unittest.util.", "sorted_list"]),
        ("unittest.util.sorted_list", 6, ["unittest.", "util.", "sorted_", "list"]),
        ("__init__", 4, ["__", "init__"]),
        ("", 4, [""]),
    ],
)
def test_long_names_are_cut_between_their_parts(name, width, shown):
    assert try_.broken_name(name, width).split("\n") == shown


def test_documents_without_weights_are_left_out_and_counted(place, capsys):
    place("tilde", DOCUMENTS[:2])
    assert run(["try", "merge", "--json", "--out", "py.tw"]) == 0
    (report,) = lines(capsys)
    assert [(system["model"], system["left_out"]) for system in report["systems"]] == [
        ("bm25", 0),
        ("tilde", 1),
    ]
    assert report["systems"][1]["index"] == "py-tilde.tw"
    assert report["systems"][1]["ranking"] == ["heapq.merge", "list.sort"]
    assert report["systems"][0]["measures"] == report["measures"]
    assert len(termwise.open("py-tilde.tw").index) == 2
    assert run(["try", "merge"]) == 0
    said = capsys.readouterr().err
    assert "TILDE: no weights ship for 1 of the 3 documents, which are left out; --encode computes" in said


def test_encode_computes_the_rest(place, capsys):
    place("tilde", DOCUMENTS[:1])
    assert run(["try", "merge", "--encode", "--json"]) == 0
    (report,) = lines(capsys)
    assert report["systems"][1]["left_out"] == 0
    assert len(termwise.open("python-stdlib-tilde.tw").index) == 3


def test_weights_of_another_encoder_are_refused(place, capsys, monkeypatch):
    place("tilde", DOCUMENTS)
    monkeypatch.setattr("termwise.models.tilde.DEFAULT_KEEP", 7)
    assert run(["try", "merge"]) == 3
    assert "another encoder or to other settings" in capsys.readouterr().err


def test_the_commands_to_go_on_with_can_be_typed_as_they_stand(place, capsys):
    question = 'what does "sort" cost in $?'
    assert run(["try", question, "--out", "my docs.tw"]) == 0
    hints = capsys.readouterr().err.partition("next:\n")[2].splitlines()
    assert [shlex.split(hint)[1:4] for hint in hints] == [
        ["search", "my docs.tw", "random choice with weights"],
        ["explain", "my docs.tw", question],
        ["inspect", "my docs.tw"],
    ]
    assert "list.sort" in shlex.split(hints[1])
