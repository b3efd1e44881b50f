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
    ],
)
def test_no_codes(values: list[Any]) -> None:
    found = roles([{"id": n, "title": "x", "field": value} for n, value in enumerate(values)])
    assert "field" not in found.texts


def test_codes_are_searched_and_filtered(tmp_path: Path) -> None:
    records = [product(number, sku=f"AB-{1200 + number}/X") for number in range(30)]
    assert str(roles(records)) == (
        "indexed: title, description, features, sku; attributes: brand, price, tags, sku; neither: image_url"
    )
    named = roles(records, fields=("title", "sku"))
    assert (named.texts, named.attributes) == (("title", "sku"), ("brand", "price", "tags", "sku"))
    for attributes in (("sku", "brand"), "all"):
        assert "sku" not in roles(records, attributes=attributes).texts
    assert "sku" in roles(records, attributes=("brand",)).texts
    searcher = termwise.build_index(lines(tmp_path / "shop.jsonl", records), tmp_path / "i", model="bm25")
    assert searcher.rank("ab1207x", k=1).doc_ids == ("p7",)
    assert searcher.rank("walnut", filter='sku = "AB-1207/X"').doc_ids == ("p7",)


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
