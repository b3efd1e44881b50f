"""Results sorted and collapsed by attributes, and what a page of results shows of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise import Document, Query, Run
from termwise.attributes import Schema
from termwise.cli.main import run
from termwise.errors import ParameterError, UnknownIdError, UnknownNameError
from termwise.fusion import mix_indexes
from termwise.search import Search

SHOP = [
    Document("p1", "green tea", {"brand": "Aki", "price": 12.5, "tags": ("tea",), "sold": False}),
    Document("p2", "black tea tea", {"brand": "Bo", "price": 4.0, "sold": False}),
    Document("p3", "tea pot", {"brand": "Bo", "sold": False}),
    Document("p4", "white tea", {"brand": "Aki", "price": 20.0, "sold": True}),
    Document("p5", "mint tea", {"price": 4.0, "sold": False}),
    Document("p6", "cast iron pan", {"brand": "Bo", "price": 1.0}),
]
BY_SCORE = ("p2", "p1", "p3", "p4", "p5")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with indexes: of one segment, of several ones, of vectors, and a mixture."""
    place = tmp_path_factory.mktemp("order")
    termwise.build_index(SHOP, place / "bm25", store_text=True)
    termwise.build_index(SHOP[:2], place / "changed", store_text=True)
    with termwise.open_writer(place / "changed") as writer:
        writer.add([Document("x", "tea", {"brand": "Cy", "price": 0.5}), *SHOP[2:4]])
        writer.commit()
        writer.delete(["x"])
        writer.add(SHOP[4:])
    termwise.build_index(SHOP, place / "jm", model="jm", attributes=Schema())
    mix_indexes([place / "jm", place / "bm25"], [0.5, 0.5], place / "mixture", names=["jm", "bm25"])
    return place


@pytest.mark.parametrize(
    ("sort", "after", "facts"),
    [
        ("price,_id", [4], {"keys": "price, _id", "given": "[4]", "expected": "a list of 2 values"}),
        ("price", ["x"], {"key": "price", "given": "'x'", "expected": "a number"}),
        ("-price", [True], {"key": "price", "given": "True", "expected": "a number"}),
        ("brand", [3], {"key": "brand", "given": "3", "expected": "a string"}),
        ("brand", [[]], {"key": "brand", "given": "[]", "expected": "a string"}),
        ("sold", [1], {"key": "sold", "given": "1", "expected": "true or false"}),
        ("_score", [None], {"key": "_score", "given": "None", "expected": "a number"}),
        ("_id", [3], {"key": "_id", "given": "3", "expected": "a string"}),
        ("_doc", [0.5], {"key": "_doc", "given": "0.5", "expected": "a whole number"}),
        ("price", 7, {"given": "7", "expected": "a list with a value of each key of the sort"}),
        ("price", b"a", {"given": "b'a'", "expected": "a list with a value of each key of the sort"}),
    ],
)
def test_errors_of_after_name_what_is_given_and_expected(
    folder: Path, sort: str, after: Any, facts: dict[str, str]
) -> None:
    with pytest.raises(ParameterError) as refused:
        termwise.open(folder / "bm25").search(Search("tea", sort=sort, after=after))
    found = dict(refused.value.facts)
    assert {name: str(found[name]).partition(", or None")[0] for name in found} == facts


@pytest.mark.parametrize("name", ["bm25", "changed", "mixture"])
def test_results_by_hand(folder: Path, name: str) -> None:
    searcher = termwise.open(folder / name)
    assert searcher.rank("tea").doc_ids == BY_SCORE
    assert searcher.rank("tea", sort="price").doc_ids == ("p2", "p5", "p1", "p4", "p3")
    assert searcher.rank("tea", sort="-price").doc_ids == ("p4", "p1", "p2", "p5", "p3")
    assert searcher.rank("tea", sort="-price", k=2).doc_ids == ("p4", "p1")
    assert searcher.rank("tea", sort="-_score,price").doc_ids == ("p2", "p5", "p1", "p4", "p3")
    assert searcher.rank("tea", sort="sold,-_score").doc_ids == ("p2", "p1", "p3", "p5", "p4")
    assert searcher.rank("tea", sort="brand").doc_ids == ("p1", "p4", "p2", "p3", "p5")
    assert searcher.search(Search("tea", collapse="brand")).ranking.doc_ids == ("p2", "p1", "p5")
    assert searcher.search(Search("tea", collapse="brand", k=2)).ranking.doc_ids == ("p2", "p1")
    assert searcher.search(Search("tea", collapse="brand", collapse_size=2)).ranking.doc_ids == BY_SCORE
    two_of_each = searcher.search(Search("tea", collapse="sold", collapse_size=2)).ranking
    assert two_of_each.doc_ids == ("p2", "p1", "p4")
    assert searcher.search(Search("tea", collapse="sold", collapse_size=2, sort="price")).ranking.doc_ids == (
        "p2",
        "p5",
        "p4",
    )
    assert searcher.search(Search("tea", collapse="sold", collapse_size=2, k=2)).ranking.doc_ids == (
        "p2",
        "p1",
    )
    assert searcher.search(Search("tea", collapse="brand", sort="-price")).ranking.doc_ids == (
        "p4",
        "p2",
        "p5",
    )
    assert searcher.search(Search("tea", collapse="price", filter="price < 15")).ranking.doc_ids == (
        "p2",
        "p1",
    )
    assert searcher.search(Search("tea", collapse="brand", exclude="p2")).ranking.doc_ids == (
        "p1",
        "p3",
        "p5",
    )
    assert searcher.rank("tea", candidates=["p6", "p4", "p1"], sort="price").doc_ids == ("p6", "p1", "p4")
    assert searcher.search(
        Search("tea", candidates=["p6", "p4", "p1"], collapse="brand")
    ).ranking.doc_ids == ("p4", "p6")
    assert searcher.search(Search("unknown", sort="price", collapse="brand")).ranking.doc_ids == ()


@pytest.mark.parametrize("name", ["bm25", "changed", "mixture"])
def test_scores_stay_with_their_documents(folder: Path, name: str) -> None:
    searcher = termwise.open(folder / name)
    scores = dict(zip(BY_SCORE, searcher.rank("tea").scores, strict=True))
    ranking = searcher.rank("tea", sort="price")
    assert [scores[hit.doc_id] for hit in ranking] == ranking.scores.tolist()
    assert ranking.sorted_by == "price"
    assert ranking.top(1).sorted_by == "price"
    run = searcher.rank_many([Query("q", "tea")], search=Search(collapse="brand"))
    assert run["q"] == searcher.search(Search(Query("q", "tea"), collapse="brand")).ranking
    run = searcher.rank_many([Query("q", "tea")], search=Search(collapse="sold", collapse_size=2))
    assert run["q"].doc_ids == ("p2", "p1", "p4")
    with pytest.raises(ParameterError, match="a run is in the order of scores"):
        Run([ranking])


@pytest.mark.parametrize("name", ["bm25", "changed", "mixture"])
def test_similar_documents(folder: Path, name: str) -> None:
    searcher = termwise.open(folder / name)
    assert searcher.search(Search(like="p1", sort="-price")).ranking.doc_ids == ("p4", "p2", "p5", "p3")
    for example in ({"like": "p1"}, {"like_text": "green tea\n"}):
        found = searcher.search(Search(**example, k=2, collapse="brand", sort="price"))
        assert found.ranking.doc_ids == ("p2", "p5")
        found = searcher.search(Search(**example, k=5, collapse="sold", collapse_size=2, sort="price"))
        assert found.ranking.doc_ids == ("p2", "p5", "p4")
        assert set(found.same_text) <= {"p1"}


def test_all_documents_with_a_vector_are_sorted(tmp_path: Path) -> None:
    searcher = termwise.build_index(SHOP, tmp_path / "lookup", model="lookup")
    assert searcher.rank("tea", sort="price", k=3).doc_ids[0] == "p6"
    best = searcher.rank("tea", k=1).doc_ids
    assert searcher.search(Search("tea", collapse="brand", k=1)).ranking.doc_ids == best


@pytest.mark.parametrize("name", ["changed", "mixture"])
def test_hits(folder: Path, name: str) -> None:
    searcher = termwise.open(folder / name)
    first, *_, last = searcher.hits(searcher.rank("tea", sort="-price"), show=["price", "brand"])
    assert (first.doc_id, first.attributes, first.text) == (
        "p4",
        {"price": 20.0, "brand": "Aki"},
        "white tea",
    )
    assert list(first.attributes) == ["price", "brand"]
    assert (last.doc_id, last.attributes) == ("p3", {"brand": "Bo"})
    assert searcher.hits(searcher.rank("green"))[0].attributes == dict(SHOP[0].attributes)
    assert searcher.hits(searcher.rank("green"), show=[])[0].attributes == {}
    with pytest.raises(UnknownNameError, match="prize"):
        searcher.hits(searcher.rank("tea"), show=["prize"])
    with pytest.raises(UnknownIdError):
        searcher.hits(termwise.Ranking(["nowhere"], [1.0]))


def test_fields_without_one_value_are_refused(folder: Path) -> None:
    searcher = termwise.open(folder / "bm25")
    for wrong in ({"sort": "tags"}, {"sort": "-tags"}, {"collapse": "tags"}):
        with pytest.raises(ParameterError, match="this one is a list"):
            searcher.search(Search("tea", **wrong))
    for wrong in ({"sort": "prize"}, {"sort": "--price"}, {"collapse": "-brand"}):
        with pytest.raises(UnknownNameError):
            searcher.search(Search("tea", **wrong))


def test_wrong_numbers_of_results_of_a_value(folder: Path) -> None:
    searcher = termwise.open(folder / "bm25")
    for wrong in (0, 1.5, "2"):
        with pytest.raises(ParameterError, match="collapse_size"):
            searcher.search(Search("tea", collapse="brand", collapse_size=wrong))
    with pytest.raises(ParameterError, match="needs an attribute"):
        searcher.search(Search("tea", collapse_size=2))


def test_the_commands(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    index = str(folder / "changed")
    search = ["search", index, "tea", "--json", "--show", "price"]
    assert run([*search, "--sort", "-price", "--collapse", "brand"]) == 0
    *hits, _ = map(json.loads, capsys.readouterr().out.splitlines())
    assert [(hit["doc_id"], hit["attributes"]) for hit in hits] == [
        ("p4", {"price": 20.0}),
        ("p2", {"price": 4.0}),
        ("p5", {"price": 4.0}),
    ]
    assert run(["search", index, "--like", "p1", "--sort", "price", "-k", "1"]) == 0
    assert "p2" in capsys.readouterr().out
    Path("queries.tsv").write_text("q1\ttea\n")
    many = ["rank", index, "--queries", "queries.tsv", "--out", "run.trec"]
    assert run([*many, "--collapse", "brand"]) == 0
    assert [line.split()[2] for line in Path("run.trec").read_text().splitlines()] == ["p2", "p1", "p5"]
    assert run([*search, "--collapse", "sold", "--collapse-size", "2"]) == 0
    *hits, _ = map(json.loads, capsys.readouterr().out.splitlines())
    assert [hit["doc_id"] for hit in hits] == ["p2", "p1", "p4"]
    assert run([*search, "--collapse-size", "2"]) == 2
    assert "--collapse NAME" in capsys.readouterr().err
    assert run([*many, "--sort", "price", "--overwrite"]) == 2
    assert run([*search, "--sort", "prize"]) == 2
    capsys.readouterr()
    for given, written in {
        "price desc": "-price",
        "price:DESC": "-price",
        "price asc": "price",
        "_score:asc": "_score",
        "_score desc": "_score",
        "_id:desc": "-_id",
    }.items():
        assert run([*search, "--sort", given]) == 2
        assert f"write {written}\n" in capsys.readouterr().err
