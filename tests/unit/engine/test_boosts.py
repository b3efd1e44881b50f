"""Boosts: shapes by hand, their types, and rankings that they change."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import Document, Query, build_index
from termwise.engine import boosts
from termwise.engine.boosts import Boost, IndexBoosts
from termwise.errors import ParameterError, UnknownNameError
from termwise.explain.explanation_html import explanation_html
from termwise.search import Relevance, Search, Searcher
from termwise.serve.page.why import why_of

DAY = 86_400_000_000

SHOP = [
    Document("a", "green tea", {"sold": 100, "price": 20.0, "added": "1970-01-11", "tags": ("new", "bio")}),
    Document("b", "green tea", {"sold": 300, "price": 25.0, "added": "1970-01-01", "brand": "Aki"}),
    Document("c", "green tea", {"sold": -5, "price": 10.0, "added": "1970-02-01", "fair": True}),
    Document("d", "green tea", {"brand": "Bo", "tags": ("old",), "fair": False}),
    Document("e", "pot", {"sold": 10_000}),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """Return an index of two segments."""
    path: Path = tmp_path_factory.mktemp("boosts") / "shop"
    termwise.build_index(SHOP, path, store_text=True, attributes="all")
    with termwise.open_writer(path) as writer:
        writer.add([Document("f", "green tea", {"sold": 50, "brand": "Aki"})])
    return termwise.open(path)


def shapes(shop: Searcher, **options: Any) -> list[float]:
    boost = Boost(weight=1, **options)
    return IndexBoosts(shop.index, [boost], 10 * DAY).shapes(boost, np.arange(6)).tolist()


def test_a_boost_is_for_texts_that_contain_all_words_and_phrases(shop: Searcher) -> None:
    def scores(*contains: str) -> list[float]:
        relevance = Relevance((Boost("_text", 2.0, contains=contains),))
        ranking = shop.search(Search(filter="sold >= -5", relevance=relevance)).ranking
        return sorted(ranking.scores.tolist())

    assert scores("green tea") == [0, 2, 2, 2, 2]
    assert scores("tea green") == [0] * 5
    assert scores("pot") == [0, 0, 0, 0, 2]
    assert scores("pot", "tea") == [0] * 5
    with pytest.raises(ParameterError, match="_text together"):
        Boost("sold", 1.0, contains=["tea"])
    for wrong in ([], [""], "tea", [1], ["a" * 1001], ["a"] * 21):
        with pytest.raises(ParameterError, match="contains"):
            Boost("_text", 1.0, contains=wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError):
        shop.search(Search("tea", relevance=Relevance((Boost("_text", 1.0, saturation=1),))))
    many = [Boost("_text", 1.0, contains=[f"a{n}"]) for n in range(21)]
    with pytest.raises(ParameterError, match="too many words and phrases"):
        Relevance(tuple(many))


def test_shapes_by_hand(shop: Searcher) -> None:
    assert shapes(shop, attribute="sold", saturation=100) == pytest.approx(
        [1 / 2, 3 / 4, 0, 0, 100 / 101, 1 / 3]
    )
    halved = shapes(shop, attribute="added", half_life="5 days")
    assert halved == pytest.approx([1, 1 / 4, 1, 0, 0, 0])  # the third is in the future
    halved = shapes(shop, attribute="added", half_life="1 week", now="1970-01-15")
    assert halved == pytest.approx([0.5 ** (4 / 7), 1 / 4, 1, 0, 0, 0])
    for short, long in [
        ("7d", "1 week"),
        ("36h", "1.5 days"),
        ("6M", "0.5 years"),
        ("2y", "24 months"),
        ("600s", "10m"),
    ]:
        asked = {"attribute": "added", "now": "1970-01-15"}
        assert shapes(shop, half_life=short, **asked) == shapes(shop, half_life=long, **asked)
    assert shapes(shop, attribute="price", near=20, distance=5) == pytest.approx([1, 1 / 2, 1 / 4, 0, 0, 0])
    assert shapes(shop, attribute="brand", values=["Aki", "none"]) == [0, 1, 0, 0, 0, 1]
    assert shapes(shop, attribute="tags", values=["old", "bio"]) == [1, 0, 0, 1, 0, 0]
    assert shapes(shop, attribute="fair", values=[False]) == [0, 0, 0, 1, 0, 0]
    assert shapes(shop, attribute="sold", values=[100, -5.0, 0]) == [1, 0, 1, 0, 0, 0]
    assert shapes(shop, attribute="price", values=[25]) == [0, 1, 0, 0, 0, 0]
    assert shapes(shop, attribute="sold", filter='sold > 0 and brand = "Aki"') == [0, 1, 0, 0, 0, 1]
    assert shapes(shop, attribute="brand", filter="brand is missing or price = 25") == [1, 1, 1, 0, 1, 0]
    assert shapes(shop, attribute="price", near=20, distance=1e-300) == [1, 0, 0, 0, 0, 0]
    assert shapes(shop, attribute="sold", saturation=1e-300)[:3] == [1, 1, 0]


@pytest.mark.parametrize(
    ("value", "other"),
    [("Cafe\u0301", "Cafe"), ("Kaffee\u00adhaus", "Kaffee"), (2**60 + 1, 2**60), (2.5, 2), (2, 1)],
)
def test_values_are_found_as_by_a_filter(tmp_path: Path, value: str | float, other: str | float) -> None:
    documents = [Document(str(place), "tea", {"x": each}) for place, each in enumerate((value, other))]
    searcher = build_index(documents, tmp_path / "index")
    both = [Boost("x", 1, values=[value]), Boost("x", 1, filter=f"x = {json.dumps(value)}")]
    every = np.arange(2)
    assert [IndexBoosts(searcher.index, [each], 0).of(every).tolist() for each in both] == [[1, 0]] * 2


def test_boosts_by_filters_are_computed_once(shop: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """The boosts of all documents are computed at once, because a filter is evaluated for all of them anyway."""
    monkeypatch.setattr(boosts, "CALL", 0)
    of_shapes = {
        "values": Boost("brand", 1, values=["Aki"]),
        "filter": Boost("brand", 1, filter='brand = "Aki"'),
    }
    made = {name: IndexBoosts(shop.index, [each], 0) for name, each in of_shapes.items()}
    assert [each.of(np.array([1])).tolist() for each in made.values()] == [[1], [1]]
    assert [name for name, each in made.items() if each.biases() is not None] == ["filter"]


def test_rankings(shop: Searcher) -> None:
    relevance = Relevance((Boost("sold", 2, saturation=100), Boost("brand", -1, values=["Aki"])))
    found = shop.search(Search("green tea", relevance=relevance))
    assert found.ranking.doc_ids == ("a", "b", "c", "d", "f")
    assert found.count() == 5
    plain = shop.rank("green tea").scores
    assert found.ranking.scores - plain == pytest.approx([1, 0.5, 0, 0, 2 / 3 - 1])
    listed = shop.search(Search(relevance=relevance, k=3)).ranking
    assert listed.doc_ids == ("e", "a", "b")
    assert listed.scores == pytest.approx([200 / 101, 1, 0.5])
    run = shop.rank_many([Query("q", "green tea")], search=Search(relevance=relevance), k=3)
    assert run["q"].doc_ids == ("a", "b", "c")
    given = ["e", "d", "c", "a"]
    again = shop.search(Search("green tea", candidates=given, relevance=relevance)).ranking
    assert again.doc_ids == ("e", "a", "d", "c")
    assert shop.search(Search("green tea", k=2, offset=2, relevance=relevance)).ranking.doc_ids == ("c", "d")
    filtered = Search("green tea", filter="sold < 200", sort="_score,-sold", relevance=relevance)
    assert shop.search(filtered).ranking.doc_ids == ("a", "c", "f")
    collapsed = Search("green tea", collapse="brand", k=4, relevance=relevance)
    assert shop.search(collapsed).ranking.doc_ids == ("a", "b", "c", "d")


def test_explanations(shop: Searcher) -> None:
    relevance = Relevance(
        (Boost("sold", 2, saturation=100), Boost("added", 1, half_life="5 days", now="1970-01-11"))
    )
    found = shop.search(Search("green tea", relevance=relevance))
    explanations = found.explain(["b", "d"], competitors=1)
    for explanation in explanations:
        assert explanation.score == found.ranking.scores[found.ranking.doc_ids.index(explanation.doc_id)]
        total = explanation.constant + sum(part.score for part in explanation.contributions)
        assert total == explanation.score
    first, other = explanations[0].contributions[-2:]
    assert (first.origin, first.term, first.value, first.shape) == ("boost", "sold", "300", "saturation 100")
    assert (first.query_weight, first.weight, first.score) == (2, 0.75, 1.5)
    assert (other.value, other.shape, other.score) == ("1970-01-01", "half-life 5 days", 0.25)
    assert explanations[1].contributions[-1].value == ""
    assert (explanations[0].rank, explanations[0].competitors[0].doc_id) == (2, "a")
    assert "sold (300, saturation 100)" in explanations[0].to_text(width=120)
    assert "sold 1.50" in str(explanations[0])
    assert "300, saturation 100" in explanation_html(explanations[0])
    rows = {row.name: row for row in why_of(explanations[0]).rows}
    assert (rows["sold"].note, rows["sold"].origin) == ("300, saturation 100", "boost")
    assert explanations[0].to_dict()["contributions"][-2]["shape"] == "saturation 100"


def test_types_that_do_not_fit(shop: Searcher) -> None:
    for boost, said in [
        (Boost("brand", 1, saturation=1), "saturation of a boost"),
        (Boost("sold", 1, half_life="1 day"), "half_life of a boost"),
        (Boost("brand", 1, values=[True]), "boolean"),
        (Boost("fair", 1, values=["true"]), "keyword or keywords"),
        (Boost("brand", 1, values=[0]), "integer or float"),
        (Boost("sold", 1, values=["0"]), "keyword or keywords"),
        (Boost("sold", 1, filter='sold > "0"'), "another type"),
    ]:
        with pytest.raises(ParameterError, match=said):
            shop.search(Search("tea", relevance=Relevance((boost,))))
    with pytest.raises(UnknownNameError, match="did you mean sold"):
        shop.search(Search("tea", relevance=Relevance((Boost("solds", 1, saturation=1),))))


def test_errors_of_an_attribute_name_file_and_key(shop: Searcher, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    boosts = [{"attribute": name, "weight": 1, "saturation": 1} for name in ("sold", "sodl", "brand")]
    file.write_text(json.dumps({"boosts": boosts[:2]}))
    with pytest.raises(UnknownNameError, match="did you mean sold") as unknown:
        shop.search(Search("tea", relevance=Relevance.read(file)))
    assert unknown.value.facts[:3] == (("file", file), ("key", "boosts[1]"), ("given", "sodl"))
    with pytest.raises(ParameterError, match="another type") as raised:
        shop.search(Search("tea", relevance=Relevance.of({"boosts": boosts[2:]})))
    assert raised.value.facts[:2] == (("key", "boosts[0]"), ("attribute", "brand"))


@pytest.mark.parametrize("chunk", [None, 5])
def test_contributions_add_up_exactly_in_any_order(tmp_path: Path, chunk: int | None) -> None:
    random = Random(3)
    documents = [
        Document(
            str(number),
            " ".join(random.choices(["red", "green", "sofa", "chair", "oak"], k=12)),
            {"sold": random.randrange(1000), "price": random.random() * 100},
        )
        for number in range(60)
    ]
    searcher = build_index(documents, tmp_path / "i", model="bm25", store_text=True, chunk=chunk)
    boosts = (Boost("sold", 0.37, saturation=100), Boost("price", 1.1, near=20, distance=5))
    found = searcher.search(Search("red sofa oak", k=60, relevance=Relevance(boosts=boosts)))
    for one, score in zip(found.explain(found.ranking.doc_ids), found.ranking.scores, strict=True):
        parts = [each.score for each in one.contributions]
        assert sum(parts) == sum(reversed(parts)) == one.score == score
