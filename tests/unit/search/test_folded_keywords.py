"""Filters, facets, boosts, order and updates of the attribute types that fold case, spaces and dashes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.serve.conftest import served

import termwise
from termwise import Document, build_index
from termwise.attributes import Schema
from termwise.attributes.field_types import folded_keyword, stored_value
from termwise.cli.main import run
from termwise.indexing import open_writer
from termwise.search import Boost, Relevance, Search, Searcher
from termwise.serve import ServiceSettings

SCHEMA = Schema({"brand": "keyword folded", "colours": "keywords folded", "price": "float"})
BRANDS = ["BOSCH", "Bosch", "bosch ", "Bosch", "Alm", "Bosch  Siemens", "BOSCH SIEMENS", "Straße", "STRASSE"]
COLOURS = [("Red", "RED "), ("red",), ("Blue", "red")]


def products() -> list[Document]:
    return [
        Document(
            str(number),
            "drill",
            {"brand": brand, "price": number, **({"colours": COLOURS[number]} if number < 3 else {})},
        )
        for number, brand in enumerate(BRANDS)
    ]


@pytest.fixture
def shop(tmp_path: Path) -> Searcher:
    return build_index(products(), tmp_path / "shop", model="bm25", attributes=SCHEMA)


def facets(shop: Searcher, *names: str) -> dict[str, list[tuple[object, int]]]:
    counts = shop.search(Search("drill", facets=names)).facets()
    return {name: [tuple(each) for each in values] for name, values in counts.items()}


def found(shop: Searcher, filter: str) -> set[str]:
    return set(shop.search(Search("drill", filter=filter, k=100)).ranking.doc_ids)


def test_values_are_counted_together_with_the_most_frequent_spelling(shop: Searcher) -> None:
    assert facets(shop, "brand", "colours") == {
        "brand": [("Bosch", 4), ("Bosch Siemens", 2), ("Straße", 2), ("Alm", 1)],
        "colours": [("red", 3), ("Blue", 1)],
    }
    hits = shop.search(Search("drill", filter="price <= 2")).hits()
    assert {hit.attributes["brand"] for hit in hits} == {"Bosch"}
    assert [hit.attributes["colours"] for hit in hits] == [("red",), ("red",), ("Blue", "red")]
    assert dict(shop.schema) == dict(SCHEMA)


@pytest.mark.parametrize(
    ("filter", "doc_ids"),
    [
        ("brand = 'bosch'", "0123"),
        ("brand = ' BOSCH'", "0123"),
        ("brand != 'bosch'", "45678"),
        ("brand in ('bosch', 'ALM', 'x')", "01234"),
        ("brand not in ('bosch', 'ALM')", "5678"),
        ("brand = 'bosch siemens'", "56"),
        ("brand starts with 'BOS'", "012356"),
        ("brand contains 'SIEM'", "56"),
        ("brand matches 'b?SCH*siem*'", "56"),
        ("brand equals ignoring case 'strasse'", "78"),
        ("colours = 'RED'", "012"),
        ("colours in ('blue', 'green')", "2"),
        ("brand = 'other'", ""),
    ],
)
def test_filters(shop: Searcher, filter: str, doc_ids: str) -> None:
    assert found(shop, filter) == set(doc_ids)


def test_boosts_collapse_and_reasons(shop: Searcher) -> None:
    boosts = Relevance(boosts=(Boost("brand", 2.0, values=("bosch",)),))
    ranking = shop.search(Search("drill", relevance=boosts)).ranking
    assert set(ranking.doc_ids[:4]) == set("0123")
    assert shop.search(Search("drill", collapse="brand", sort="price")).ranking.doc_ids == tuple("0457")
    assert "bosch is a value of brand" in shop.search(Search("bosch")).reasons()[1]


def test_changes_keep_the_spelling_of_the_index(tmp_path: Path) -> None:
    build_index(products()[:1], tmp_path / "shop", model="bm25", attributes=SCHEMA, store_text=True)
    with open_writer(tmp_path / "shop") as writer:
        writer.add(products()[1:5])
        writer.commit()
        writer.add([Document("9", "drill", {"brand": "ALM"}), Document("10", "drill", {"brand": "New"})])
        writer.add([Document("11", "drill", {"brand": "NEW"}), Document("12", "drill", {"brand": "NEW"})])
        writer.commit()
        shop = termwise.open(tmp_path / "shop")
        assert facets(shop, "brand") == {"brand": [("BOSCH", 4), ("NEW", 3), ("Alm", 2)]}
        assert found(shop, "brand = 'bosch'") == set("0123")
        assert shop.search(Search("drill", collapse="brand", sort="_id")).ranking.doc_ids == ("0", "10", "4")
        writer.add([Document("0", "drill", {"brand": "bosch", "price": 0, "colours": ["red"]})])
        writer.merge()
        writer.commit()
    assert facets(termwise.open(tmp_path / "shop"), "brand") == {
        "brand": [("BOSCH", 4), ("NEW", 3), ("Alm", 2)]
    }


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(n), "title": "drill", "brand": brand} for n, brand in enumerate(("Bosch", "BOSCH"))]
    (tmp_path / "shop.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "schema.toml").write_text('brand = "keyword folded"\n')
    assert run(["index", "shop.jsonl", "--schema", "schema.toml", "--model", "bm25", "--out", "i"]) == 0
    assert facets(termwise.open("i"), "brand") == {"brand": [("Bosch", 2)]}
    assert run(["inspect", "i"]) == 0
    assert "brand (keyword folded)" in capsys.readouterr().out
    assert run(["verify", "i"]) == 0


def test_several_indexes_of_a_service(tmp_path: Path) -> None:
    for name, brands in (("one", ["Bosch", "Bosch"]), ("two", ["BOSCH", "Alm"])):
        shop = [Document(f"{name}{n}", "drill", {"brand": brand}) for n, brand in enumerate(brands)]
        build_index(shop, tmp_path / f"{name}.tw", model="bm25", attributes=SCHEMA)
    with served([str(tmp_path / "one.tw"), str(tmp_path / "two.tw")]) as client:
        asked = {"indexes": [{"index": "one"}, {"index": "two"}], "query": "drill", "facets": ["brand"]}
        counted = client.post("/v1/search", json=asked).json()["facets"]["brand"]
        assert counted == [{"value": "Bosch", "documents": 3}, {"value": "Alm", "documents": 1}]
        hits = client.post("/v1/search", json={**asked, "collapse": "brand"}).json()["hits"]
        assert len(hits) == 2
        filtered = client.post("/v1/indexes/two/search", json={"query": "drill", "filter": "brand = 'bosch'"})
        assert [hit["attributes"] for hit in filtered.json()["hits"]] == [{"brand": "BOSCH"}]
        mapping = {"properties": {"brand": {"type": "keyword", "normalizer": "lowercase"}}}
        assert (
            client.get("/two/_mapping").json()["two"]["mappings"]["properties"]["brand"]["normalizer"]
            == "lowercase"
        )
        assert client.put("/two/_mapping", json=mapping).status_code == 200


def test_a_normalizer_of_opensearch_folds(tmp_path: Path) -> None:
    build_index([Document("a", "drill")], tmp_path / "one.tw", model="bm25")
    settings = ServiceSettings(threads=2, create_in=tmp_path)
    with served([str(tmp_path / "one.tw")], settings) as client:
        keyword = {"type": "keyword", "normalizer": "lowercase"}
        properties = {
            "title": {"type": "text"},
            "brand": keyword,
            "sku": {"type": "text", "fields": {"keyword": keyword}},
        }
        made = client.put("/shop", json={"mappings": {"properties": properties}})
        assert made.status_code == 200, made.text
        for name, brand in (("1", "Bosch"), ("2", "BOSCH"), ("3", "Alm")):
            record = {"title": "drill", "brand": brand, "sku": f"AB-{name}"}
            client.put(f"/shop/_doc/{name}?refresh=true", json=record)
        asked = {"query": {"term": {"brand": "bosch"}}, "aggs": {"brands": {"terms": {"field": "brand"}}}}
        answer = client.post("/shop/_search", json=asked).json()
        assert {hit["_id"] for hit in answer["hits"]["hits"]} == {"1", "2"}
        assert answer["aggregations"]["brands"]["buckets"] == [{"key": "Bosch", "doc_count": 2}]
        properties["brand"] = {"type": "keyword", "normalizer": "uppercase"}
        refused = client.put("/other", json={"mappings": {"properties": properties}})
        assert refused.status_code == 400
        assert "normalizer" in refused.text


@given(st.text())
def test_folding_is_idempotent(text: str) -> None:
    folded = folded_keyword(text)
    assert folded_keyword(folded) == folded
    stored = stored_value("keyword folded", text)
    assert isinstance(stored, str)
    assert folded_keyword(stored) == folded


@pytest.mark.parametrize(
    ("equal", "other"),
    [
        (["L'Oréal", "L’Oréal", "LOreal"], "L Oréal"),
        (["Hi-Tek", "HiTek", "HI–TEK"], "Hi Tek"),
        (["Kärner", "Kaerner", "KÄRNER", "Ka\u0308rner"], "Karner"),
        (["AB-1200", "ab1200"], "ab 1200"),
        (["Straße", "STRASSE"], "Strase"),
        (["10-12"], "1012"),
        (["-5"], "5"),
        (["5'8"], "58"),
        (["й"], "и"),
    ],
)
def test_what_is_folded(equal: list[str], other: str) -> None:
    assert len({folded_keyword(text) for text in equal}) == 1
    assert folded_keyword(other) != folded_keyword(equal[0])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('brand starts with "madr-"', "ab"),
        ('brand starts with "MADR–7"', "a"),
        ('brand starts with "madr7"', "a"),
        ('brand starts with "MADR"', "abc"),
        ('brand contains "R-"', "ab"),
        ('brand contains "r7"', "a"),
        ('brand matches "madr-*"', "ab"),
        ('brand matches "madr?*"', "abc"),
    ],
)
def test_a_part_of_a_value_can_end_at_a_hyphen(tmp_path: Path, condition: str, expected: str) -> None:
    values = {"a": "MADR-75", "b": "MADR-81/X", "c": "Madrid"}
    documents = [Document(name, "drill", {"brand": brand}) for name, brand in values.items()]
    searcher = build_index(documents, tmp_path / "i", attributes=Schema({"brand": "keyword folded"}))
    assert sorted(searcher.rank("drill", filter=condition).doc_ids) == sorted(expected)
