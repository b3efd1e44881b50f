"""``termwise try`` with networks small enough to compute by hand, and rows made with them."""

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
from termwise.encode import EncoderFolder, ExpansionRecord, open_document_encoder
from termwise.encode.shipped_rows import write_rows
from termwise.indexing.recipes import RECIPES
from termwise.models import Lookup, Tilde, TildeV2
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
    """Install four small encoders as the shipped ones; the returned function ships rows of one of them."""
    monkeypatch.chdir(tmp_path)
    shipped = tmp_path / "models"
    shipped.mkdir()
    monkeypatch.setattr("termwise.encode.encoder_folder._shipped_root", lambda: shipped)
    monkeypatch.setattr("termwise.translation.table_folder._shipped_root", lambda: tmp_path / "tables")
    monkeypatch.setattr("termwise.collection.open_collection", lambda spec: Documentation())
    monkeypatch.setattr("termwise.encode.shipped_rows.shipped_rows", lambda name: found.get(name))
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
    tiny.lookup_folder(shipped / "lookup", **sizes)
    turned = tiny.np.zeros((len(tiny.PIECES), 2), dtype="float32")
    turned[[tiny.MERGE, tiny.SORT]] = (0, 2)
    turned[[tiny.CAT, tiny.DOG, tiny.LIST]] = (2, 0)
    tiny.lookup_folder(shipped / "granite", table=turned, **sizes)
    found = {}

    def ship(name, documents=DOCUMENTS):
        models = {"tilde": Tilde(), "tildev2": TildeV2(), "lookup": Lookup()}
        model = models.get(name) or Lookup(encoder=name)
        texts, encoder = [document.text for document in documents], open_document_encoder(model)
        found[name] = tmp_path / f"{name}.npz"
        write_rows(found[name], texts, encoder, encoder.encode_documents(texts))

    return ship


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def head_of(shown):
    """Return the titles of the rankings side by side."""
    return next(line for line in shown.splitlines() if line.startswith("rank ")).split()[1:]


def measured(shown):
    """Return the titles of the systems whose quality is shown."""
    return re.findall(
        r"^(\S.*), (?:measured on the \d+ judged|on the same) questions\b.*: nDCG@10 ", shown, re.MULTILINE
    )


def test_without_rows_bm25_and_the_mixture_without_a_network_are_shown(place, capsys, tmp_path):
    assert run(["try", "sort lists"]) == 0
    shown = capsys.readouterr().out
    assert "BM25, measured on the " in shown
    assert measured(shown) == ["BM25", "instant"]
    assert head_of(shown) == ["BM25", "instant"]
    names = sorted(path.name for path in tmp_path.glob("*.tw*"))
    assert names == ["python-stdlib-instant.tw", "python-stdlib.tw"]
    instant = termwise.open("python-stdlib-instant.tw")
    assert [part.name for part in instant.parts] == ["bm25", "table"]
    assert instant.index.text(0) == DOCUMENTS[0].text


def test_all_systems_are_evaluated_and_four_are_side_by_side(place, capsys, tmp_path):
    for name in ("tilde", "tildev2", "lookup", "granite"):
        place(name)
    assert run(["try", "merge lists"]) == 0
    streams = capsys.readouterr()
    assert head_of(streams.out) == ["BM25", "instant", "best", "best-large"]
    assert measured(streams.out) == ["BM25", "TILDE", "TILDEv2", "instant", "best", "best-large"]
    said = r"^TILDE, on the same questions: nDCG@10 \S+, mixed with BM25 half and half \S+$"
    assert re.search(said, streams.out, re.MULTILINE)
    for name in ("instant", "best", "best-large"):
        assert re.search(rf"^{name}, on the same questions: nDCG@10 \S+$", streams.out, re.MULTILINE)
    assert "termwise search python-stdlib-best-large.tw" in streams.err
    names = {path.name for path in tmp_path.glob("*.tw*")}
    others = {f"python-stdlib-{name}.tw" for name in ("tilde", "tildev2", "instant", "best", "best-large")}
    assert names == {"python-stdlib.tw"} | others
    assert "remembered" in (tmp_path / "python-stdlib-tilde.tw" / "manifest.json").read_text()
    searcher = termwise.open("python-stdlib-tilde.tw")
    assert searcher.rank("merge lists").doc_ids == ("heapq.merge", "list.sort")
    assert searcher.index.text(0) == DOCUMENTS[0].text


def test_the_recommended_mixture_is_shown_where_its_rows_ship(place, capsys):
    place("lookup")
    assert run(["try", "merge lists"]) == 0
    streams = capsys.readouterr()
    assert re.search(r"^best, on the same questions: nDCG@10 \S+$", streams.out, re.MULTILINE)
    assert "\n  termwise search python-stdlib-best.tw " in streams.err
    explain = "\n  termwise explain python-stdlib-best.tw 'merge lists' heapq.merge --html explanation.html\n"
    assert explain in streams.err.replace('"', "'")
    assert "\nbest\n\n1  " in streams.out
    assert "\nparts\n  weight × (score - mean) / deviation of the candidates\n  bm25" in streams.out
    mixture = termwise.open("python-stdlib-best.tw")
    assert [(part.name, part.weight) for part in mixture.parts] == [("bm25", 0.3), ("lookup", 0.7)]
    assert mixture.rank("merge lists").doc_ids[0] == "heapq.merge"
    assert run(["try", "merge lists", "--json"]) == 0
    (report,) = lines(capsys)
    assert [system["model"] for system in report["systems"]] == ["bm25", "instant", "best"]
    assert report["systems"][2]["mixed"] is None
    assert report["index"] == "python-stdlib-best.tw"
    assert [part["name"] for part in report["ranking"][0]["parts"]] == ["bm25", "lookup"]
    assert report["measures"] == report["systems"][2]["measures"]


def test_the_second_encoder_scores_the_candidates_of_the_recommended_mixture(place, capsys, tmp_path):
    place("lookup")
    place("granite")
    for _ in range(2):  # the second time, the mixture is replaced
        assert run(["try", "merge lists", "--json", "--out", "py.tw"]) == 0
        (report,) = lines(capsys)
        assert [system["model"] for system in report["systems"]] == ["bm25", "instant", "best", "best-large"]
        assert report["index"] == "py-best.tw"  # the recommended one is explained
        assert report["systems"][3] == {
            "model": "best-large",
            "index": "py-best-large.tw",
            "ranking": report["systems"][3]["ranking"],
            "measures": report["systems"][3]["measures"],
            "mixed": None,
        }
        best, large = termwise.open("py-best.tw"), termwise.open("py-best-large.tw")
        assert [(part.name, part.weight, part.retrieves) for part in large.parts] == [
            ("bm25", 0.2, True),
            ("lookup", 0.4, True),
            ("granite", 0.4, False),
        ]
        assert large.backend.feedback == best.backend.feedback == RECIPES["best-large"].feedback
        assert large.backend.depth == RECIPES["best-large"].depth
        assert [part.index.stores_text for part in large.parts] == [True, False, False]
        network = large.parts[2].index.manifest.encoder.json["network"]
        assert (network["name"], network["remembered"]) == ("granite", {"rows": len(DOCUMENTS)})
        names = {f"py{name}.tw" for name in ("", "-instant", "-best", "-best-large")}
        # Nothing of the second encoder is left beside the indexes.
        assert {path.name for path in tmp_path.iterdir()} == names | {"models", "lookup.npz", "granite.npz"}
    assert large.rank("merge lists").doc_ids[0] == report["systems"][3]["ranking"][0]


@pytest.mark.parametrize("name", ["lookup", "granite"])
def test_the_mixture_with_a_second_encoder_needs_the_rows_of_both(place, capsys, tmp_path, name):
    place(name)
    assert run(["try", "merge lists"]) == 0
    streams = capsys.readouterr()
    shown = ["BM25", "instant", *(["best"] if name == "lookup" else [])]
    assert head_of(streams.out) == measured(streams.out) == shown
    assert "best-large" not in streams.out + streams.err
    assert not (tmp_path / "python-stdlib-best-large.tw").exists()


def test_a_table_that_ships_is_compiled(place, capsys, tmp_path):
    words = Vocabulary(["merge", "combine"])
    table = TranslationTable(words, [0, 2, 2], [0, 1], [0.5, 0.25], [1, 1], make_analyzer("standard").spec)
    write_table(table, tmp_path / "tables" / "model1")
    place("tilde")
    assert run(["try", "combine lists"]) == 0
    streams = capsys.readouterr()
    shown = streams.out
    assert head_of(shown) == ["BM25", "instant"]
    assert measured(shown) == ["BM25", "Model 1", "TILDE", "instant"]
    assert "\n  termwise search python-stdlib-model1.tw " in streams.err
    assert "\n  termwise fuse-indexes python-stdlib-pieces.tw python-stdlib-model1.tw --alpha " in streams.err
    assert "\nModel 1, on the same questions: nDCG@10 " in shown
    searcher = termwise.open("python-stdlib-model1.tw")
    assert searcher.rank("combine").doc_ids == ("heapq.merge",)
    assert searcher.index.text(0) == DOCUMENTS[0].text
    assert run(["try", "combine lists", "--json"]) == 0
    (report,) = lines(capsys)
    assert [system["model"] for system in report["systems"]] == ["bm25", "model1", "tilde", "instant"]
    assert [system["mixed"] is None for system in report["systems"]] == [True, False, False, True]


def test_the_mixture_is_half_of_each():
    questions = PythonQuestions((Query("q", "any"),), (Qrel("q", "b", 1),))
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


def test_everything_is_encoded_if_the_texts_or_the_encoder_differ(place, capsys, monkeypatch, tmp_path):
    place("tilde", DOCUMENTS[:2])
    assert run(["try", "merge", "--json", "--out", "py.tw"]) == 0
    (report,) = lines(capsys)
    assert report["systems"][1]["index"] == "py-tilde.tw"
    assert report["systems"][1]["ranking"] == ["heapq.merge", "list.sort"]
    assert report["systems"][0]["measures"] == report["measures"]
    assert len(termwise.open("py-tilde.tw").index) == 3
    assert "remembered" not in (tmp_path / "py-tilde.tw" / "manifest.json").read_text()
    place("tilde")
    monkeypatch.setattr("termwise.models.tilde.DEFAULT_KEEP", 7)
    assert run(["try", "merge"]) == 0


def test_the_commands_to_go_on_with_can_be_typed_as_they_stand(place, capsys):
    question = 'what does "sort" cost in $?'
    assert run(["try", question, "--out", "my docs.tw"]) == 0
    hints = capsys.readouterr().err.partition("next:\n")[2].splitlines()
    assert [shlex.split(hint)[1:4] for hint in hints] == [
        ["search", "my docs-instant.tw", "random choice with weights"],
        ["explain", "my docs.tw", question],
        ["inspect", "my docs-instant.tw"],
    ]
    assert "list.sort" in shlex.split(hints[1])
