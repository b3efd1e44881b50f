"""Roles of the fields of records: text, attribute or neither, from the first records."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise import BuildOptions
from termwise.attributes import Schema
from termwise.collection import open_collection
from termwise.collection.field_roles import LONGEST_VALUE, MOST_ATTRIBUTES, MOST_INNER, SAMPLE, decide_roles
from termwise.collection.fields import BODY_FIELDS, ID_FIELDS
from termwise.errors import DataError, MalformedRecordError, UnknownNameError

WORDS = [
    "walnut",
    "oak",
    "desk",
    "lamp",
    "sofa",
    "chair",
    "brass",
    "green",
    "soft",
    "linen",
    "drawer",
    "shelf",
]


def product(number: int, **fields: Any) -> dict[str, Any]:
    place = number % 12
    words = WORDS[place:] + WORDS[:place]
    return {
        "id": f"p{number}",
        "title": f"{words[0]} {words[1]} {number}",
        "description": f"A {' '.join(words[:8])}, number {number}.",
        "features": [f"{' '.join(words[3:9])} {number}", f"made of {' '.join(words[2:6])}"],
        "brand": ("Alm", "Bolt and Sons")[number % 2],
        "price": number + 0.5,
        "tags": ["new", "eco"][: number % 3],
        "image_url": f"https://shop.example/{number}.png",
        **fields,
    }


def roles(records: list[dict[str, Any]], fields: Any = None, attributes: Any = "inferred") -> Any:
    return decide_roles(
        records, id_fields=ID_FIELDS, body_fields=BODY_FIELDS, fields=fields, attributes=attributes
    )


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def built(path: Path, source: Any, **options: Any) -> tuple[Any, list[str]]:
    said: list[str] = []
    searcher = termwise.build_index(
        source, path / "index", options=BuildOptions(say=said.append), overwrite=True, **options
    )
    return searcher, said


def test_a_shop() -> None:
    found = roles([product(number) for number in range(40)])
    assert str(found) == (
        "indexed: title, description, features; attributes: brand, price, tags; neither: image_url"
    )
    assert found.fields == ("title", "description", "features")


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (["dark blue", "green", "dark blue", "red"], "attributes"),
        (["Walnut desk", "Brass lamp", "Green sofa"], "texts"),
        (["one of five words here"] * 3, "attributes"),
        (["the same text of all the variants of it"] * 3, "attributes"),
        (
            (
                ["one text of eight words for each variant"] * 9
                + ["and one text of eight words for the other"]
            ),
            "texts",
        ),
        (["one of five words here", "and five other words then"] * 2, "texts"),
        (["2024-01-31", "2024-02-01"], "attributes"),
        ([1, 2.5, None], "attributes"),
        (["AB-1200/X", "AB-1201/X"], "attributes"),
        (["AB-1200/X", "AB-1201/X"], "texts"),
        (["TN2420", "30512345"], "texts"),
        (["A1234", "A1234", "B1234"], "attributes"),
        (["山の上のホテルの朝食", "川の下の古い旅館です"], "texts"),
        (["x" * (LONGEST_VALUE + 1)], "neither"),
        (["http://a.b", "//c.d/e", "www.f.g"], "neither"),
        ([None, "", None], "neither"),
        ([{"deep": {"er": 1}}], "neither"),
        ([[1, 2]], "neither"),
        ([["new", "eco"], ["sale"]], "attributes"),
        ([["holds two heavy coats well", "oiled by hand in Jutland"]], "texts"),
        ([float("nan")], "neither"),
    ],
)
def test_the_role_of_a_field(values: list[Any], role: str) -> None:
    found = roles([{"id": n, "text": "x", "field": value} for n, value in enumerate(values)])
    names = {name.split(".")[0] for name in getattr(found, role)}
    if values == [None, "", None]:
        assert found.attributes == ("field",) or "field" in names
    else:
        assert "field" in names


@pytest.mark.parametrize(
    "values",
    [
        ["AB-1200/X", "AB-1201/X 3"],
        ["p1.png", "p22222.jpeg"],
        ["0f8fad5bd9cb469fa16570867728950e", "7c9e6679742540de944be07fc1f90ae7"],
        ["2024-01-31", "2024-02-01"],
        ["40mm", "42mm"],
        ["red", "green"],
        ["12345", "12346"],
        [["AB-1200/X"], ["AB-1201/X"]],
        [17, 240, 999_999],
        [1_700_000_000, 1_700_000_007, 1_700_000_009],
        [20260305, 20260306, 20260307],
        [100000, 100001],
        [100000, 100001, 2.5],
        ["1299.00", "2499.00", "3799.00"],
        ["1.299.000", "2.499.000"],
        ["05.03.2026", "06.03.2026"],
        ["2026/03/05", "2026/03/06"],
        [100200] * 3,
    ],
)
def test_no_codes(values: list[Any]) -> None:
    found = roles([{"id": n, "title": "x", "field": value} for n, value in enumerate(values)])
    assert "field" not in found.texts


@pytest.mark.parametrize(
    "values",
    [
        ["596.253.61", "702.611.50"],
        ["978-3-16-148410-0", "978-0-306-40615-7"],
        ["4006381333931", "4006381333948", "5012345678900"],
        [10023455, 10023468, 10023481],
        ["AB-1200", "10023455", "TN2420"],
    ],
)
def test_codes_of_digits(values: list[Any]) -> None:
    records = [{"id": n, "title": "x", "field": value} for n, value in enumerate(values)]
    found = roles(records)
    assert "field" in found.texts
    assert "field" in found.attributes
    untyped = decide_roles(
        [{name: str(value) for name, value in record.items()} for record in records],
        id_fields=ID_FIELDS,
        body_fields=BODY_FIELDS,
        fields=None,
        attributes="inferred",
        untyped=True,
    )
    assert untyped.texts == found.texts


@pytest.mark.parametrize(
    "name", ["sku", "EAN-13", "isbn_10", "partNumber", "manufacturer_part_no", "Art.-Nr.", "gtin"]
)
def test_names_of_codes(name: str) -> None:
    for values in ["blue m", "AB-12"], [12, 12], [12, "AB-12", None], [["12", "AB-12"]]:
        assert name in roles([{"id": n, "title": "x", name: value} for n, value in enumerate(values)]).texts
    for values in [1.5, 2], [True, False], [[12], [13]], ["", ""]:
        assert name not in roles([{"id": n, "title": "x", name: v} for n, v in enumerate(values)]).texts


@pytest.mark.parametrize("name", ["stock", "year", "sku_count", "cart", "article", "ocean", "order"])
def test_other_names(name: str) -> None:
    assert name not in roles([{"id": n, "title": "x", name: n} for n in range(30)]).texts


def test_codes_that_are_numbers_are_searched_and_filtered(tmp_path: Path) -> None:
    records = [product(number, artikelnr=10023455 + number) for number in range(30)]
    path = lines(tmp_path / "shop.jsonl", records)
    searcher, said = built(tmp_path, path, model="bm25")
    assert "codes, in both: artikelnr" in said[0]
    assert searcher.rank("10023458", k=2).doc_ids == ("p3",)
    assert searcher.rank("walnut", filter="artikelnr = 10023455").doc_ids == ("p0",)


def test_values_of_attributes_that_are_not_searched_are_named(tmp_path: Path) -> None:
    records = [product(number, artikelnr=10023455 + number, stock=0) for number in range(30)]
    path = lines(tmp_path / "shop.jsonl", records)
    searcher, _ = built(tmp_path, path, model="bm25", fields=("title",))
    reasons = searcher.search(termwise.Search("10023458")).reasons()
    assert reasons[0] == "not in the index: 10023458"
    assert reasons[1] == (
        "10023458 is a value of artikelnr, which is not searched: filter by artikelnr = 10023458, or build the index "
        "with artikelnr among its texts"
    )
    assert (
        "filter by brand = 'Bolt and Sons'" in searcher.search(termwise.Search("Bolt and Sons")).reasons()[1]
    )
    assert "filter by tags = 'eco'" in searcher.search(termwise.Search("zebra eco")).reasons()[1]
    assert not any("value of" in line for line in searcher.search(termwise.Search("77")).reasons())


def test_codes_are_searched_and_filtered(tmp_path: Path) -> None:
    records = [product(number, sku=f"AB-{1200 + number}/X") for number in range(30)]
    assert str(roles(records)) == (
        "indexed: title, description, features, sku; attributes: brand, price, tags, sku; codes, in both: sku; "
        "neither: image_url"
    )
    named = roles(records, fields=("title", "sku"))
    assert (named.texts, named.attributes) == (("title", "sku"), ("brand", "price", "tags", "sku"))
    assert "sku" not in roles(records, attributes="all").texts
    for attributes in ("sku", "brand"), ("brand",), Schema({"sku": "keyword"}):
        assert "sku" in roles(records, attributes=attributes).texts
    searcher = termwise.build_index(lines(tmp_path / "shop.jsonl", records), tmp_path / "i", model="bm25")
    assert searcher.rank("ab1207x", k=1).doc_ids == ("p7",)
    assert searcher.rank("walnut", filter='sku = "AB-1207/X"').doc_ids == ("p7",)


def test_codes_that_named_texts_leave_out_are_reported(tmp_path: Path) -> None:
    records = [
        {**product(number), "sku": f"AB-{1200 + number}/X", "ean": 4000000000000 + number}
        for number in range(30)
    ]
    path = lines(tmp_path / "shop.jsonl", records)
    _, said = built(tmp_path, path, model="bm25", fields=("title", "description"))
    assert said[0].endswith("; codes that are not searched, unless they are named as texts, too: sku, ean")
    named = roles(records, fields=("title", "sku"))
    assert (named.unsearched, named.codes) == (("ean",), ("sku",))
    assert roles(records, attributes="all").unsearched == ("sku", "ean")
    assert roles(records).unsearched == ()
    identified = [{"sku": f"AB-{1200 + number}/X", "title": "desk"} for number in range(30)]
    found = decide_roles(
        identified, id_fields=["sku"], body_fields=["text"], fields=("title",), attributes="inferred"
    )
    assert found.unsearched == ("sku",)


def test_a_description_that_is_repeated_is_text() -> None:
    records = [
        product(number, description="Washable at 60 °C.", note="Washable at 60 °C.") for number in range(30)
    ]
    found = roles(records)
    assert "description" in found.texts
    assert "note" in found.attributes
    assert "description" in roles([{**record, "description": "new"} for record in records]).attributes


def test_texts_that_are_the_default_name_no_fields() -> None:
    assert roles([{"id": 1, "title": "T", "text": "x"}]).fields is None
    assert roles([{"id": 1, "text": "x"}, {"id": 2, "contents": "y"}]).fields is None
    assert roles([{"id": 1, "text": "x", "abstract": "y"}]).fields == ("text", "abstract")


def test_fields_that_are_named_keep_their_roles() -> None:
    records = [product(number) for number in range(10)]
    found = roles(records, fields=("title",))
    assert (found.texts, found.neither) == (("title",), ("description", "features", "image_url"))
    found = roles(records, attributes=("brand", "description"))
    assert (found.texts, found.attributes) == (("title", "features"), ("description", "brand"))


def test_many_fields_are_bounded() -> None:
    wide = {f"f{number}": number for number in range(MOST_ATTRIBUTES + 5)}
    found = roles([{"id": 1, "text": "x", **wide, "deep": {f"k{n}": n for n in range(MOST_INNER + 1)}}])
    assert len(found.attributes) == MOST_ATTRIBUTES
    assert found.neither == (*(f"f{MOST_ATTRIBUTES + n}" for n in range(5)), "deep")


def test_an_index_of_products_without_options(tmp_path: Path) -> None:
    path = lines(tmp_path / "products.jsonl", [product(number) for number in range(30)])
    searcher, said = built(tmp_path, path)
    assert said == [
        "indexed: title, description, features; attributes: brand, price, tags; neither: image_url"
    ]
    assert searcher.index.manifest.fields == ("title", "description", "features")
    assert dict(searcher.schema) == {"brand": "keyword", "price": "float", "tags": "keywords"}
    assert searcher.rank('"made of desk lamp"', k=1).doc_ids
    assert searcher.rank("desk", filter="price < 1").doc_ids == ("p0",)
    _, said = built(tmp_path, path, fields=("title",), attributes=())
    assert said == []


def test_names_that_are_given_win(tmp_path: Path) -> None:
    path = lines(tmp_path / "products.jsonl", [product(number) for number in range(10)])
    searcher, said = built(tmp_path, path, fields=("features", "brand"), attributes=("price",))
    assert said == []
    assert searcher.index.manifest.fields == ("features", "brand")
    assert dict(searcher.schema) == {"price": "float"}


def test_title_and_text_give_the_same_files_as_before(tmp_path: Path) -> None:
    records = [{"_id": f"d{n}", "title": f"Title {n}", "text": f"text of {n}"} for n in range(5)]
    searcher, said = built(tmp_path, lines(tmp_path / "d.jsonl", records))
    documents = [termwise.Document.of_texts(r["_id"], [r["title"], r["text"]]) for r in records]
    by_hand = termwise.build_index(documents, tmp_path / "hand")
    assert searcher.index.manifest.to_bytes() == by_hand.index.manifest.to_bytes()
    assert said == []


def test_later_records_lose_nothing_silently(tmp_path: Path) -> None:
    records = [product(number, note=None) for number in range(SAMPLE)]
    records.append(product(SAMPLE, warranty="2 years", brand="x" * 300, note="late"))
    _, said = built(tmp_path, lines(tmp_path / "products.jsonl", records))
    assert said[1:] == [
        "fields that the first 1,000 records lack are not indexed: warranty (1, first in line 1,001), "
        "note (1, first in line 1,001); name them to index them",
        "values of attributes with more than 256 characters, or that cannot be stored, are left out: "
        "brand (1, first in line 1,001)",
    ]


def test_mixed_values_become_text_with_a_note(tmp_path: Path) -> None:
    records = [product(n, stock=True, size=n) for n in range(20)]
    records[7] |= {"price": "N/A", "stock": "maybe", "size": "XL"}
    path = lines(tmp_path / "products.jsonl", records)
    searcher, said = built(tmp_path, path)
    assert said[1:] == [
        "price: 1 value is read as missing, first 'N/A' in line 8",
        "size is text: 1 of 20 values is not a number, first 'XL' in line 8; without it, its type is integer",
        "stock is text: 1 of 20 values is not true or false, first 'maybe' in line 8; "
        "without it, its type is boolean",
    ]
    assert searcher.attributes(["p7", "p8"])[0]["size"] == "XL"
    assert searcher.attributes(["p8"])[0] == {
        "brand": "Alm",
        "price": 8.5,
        "size": "8",
        "stock": "true",
        "tags": ("new", "eco"),
    }
    with pytest.raises(DataError, match="different types"):
        built(tmp_path, path, attributes="all")


def test_records_without_a_text_name_their_fields(tmp_path: Path) -> None:
    path = lines(tmp_path / "d.jsonl", [{"id": 1, "price": 3, "colour": "red"}])
    with pytest.raises(MalformedRecordError) as error:
        built(tmp_path, path)
    assert dict(error.value.facts)["seen"] == "the fields id, price, colour"
    records = [product(number) for number in range(5)]
    with pytest.raises(MalformedRecordError) as error:
        built(tmp_path, lines(path, [*records, {"id": 9, "price": 3}]))
    assert dict(error.value.facts)["line"] == 6


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "products.jsonl"
    os.mkfifo(pipe)
    text = "".join(f"{json.dumps(product(number))}\n" for number in range(30))
    writer = threading.Thread(target=lambda: pipe.write_text(text))
    writer.start()
    searcher, said = built(tmp_path, pipe)
    writer.join()
    assert len(searcher.index) == 30
    assert said[0].startswith("indexed: title, description, features; attributes: brand")


def test_tables_and_folders(tmp_path: Path) -> None:
    table = tmp_path / "d.tsv"
    table.write_text("id\ttitle\tprice\na\tOak desk\t3\nb\tBrass lamp\t-\n")
    searcher, said = built(tmp_path, table)
    assert said == [
        "indexed: title; attributes: price",
        "price: 1 value is read as missing, first '-' in line 3",
    ]
    assert searcher.attributes(["a", "b"]) == [{"price": 3}, {}]
    folder = tmp_path / "parts"
    folder.mkdir()
    lines(folder / "1.jsonl", [product(number) for number in range(10)])
    lines(folder / "2.jsonl", [{"id": "x", "title": "Only a title"}])
    searcher, said = built(tmp_path, folder)
    assert said[0].startswith("indexed: title, description, features; attributes: brand, price, tags")
    assert len(searcher.index) == 11


def test_lists_are_texts_if_they_are_named(tmp_path: Path) -> None:
    path = lines(tmp_path / "d.jsonl", [{"id": "a", "title": "T", "tags": ["new oak", "", "desk"]}])
    (document,) = open_collection(path, fields=("title", "tags")).documents()
    assert document == termwise.Document.of_texts("a", ["T", "new oak", "desk"])
    (weighted,) = open_collection(path, fields={"title": 2, "tags": 1}).documents()
    assert weighted.fields == {"title": "T", "tags": "new oak\ndesk"}
    searcher, _ = built(tmp_path, path, fields=("title", "tags"))
    assert searcher.rank('"new oak"').doc_ids == ("a",)
    with pytest.raises(UnknownNameError):
        list(open_collection(path, fields=("title", "tagz")).documents())
