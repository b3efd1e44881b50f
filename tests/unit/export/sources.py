"""Indexes that are exported in tests, and the comparison of an engine with them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise.collection import open_collection
from termwise.export import ExportCheck, check_export, export_index
from termwise.filters import (
    And,
    Between,
    Equals,
    Exists,
    Filter,
    Greater,
    In,
    Less,
    LessOrEqual,
    Not,
    NotEquals,
    NotIn,
    Or,
    filter_to_json,
)
from termwise.records import Document, Query

QUERIES = [
    Query("1", "sort a list"),
    Query("2", "open a file for reading, and the lines of the file"),
    Query("3", "regular expression"),
    Query("4", "zzz unknown"),
    Query("5", ""),
]

LANGUAGES = ["de", "en", "Ünicode", "it's", 'a "b"', "back\\slash", "", "line\nbreak\ttab"]


def documents(count: int = 240) -> list[Document]:
    """Documents of the shipped documentation of Python with attributes of all types, some of them missing."""
    generator = random.Random(7)
    found = []
    for number, document in enumerate(islice(open_collection("python:stdlib").documents(), count)):
        attributes: dict[str, Any] = {
            "lang": generator.choice(LANGUAGES),
            "tags": tuple(generator.sample(LANGUAGES, generator.randint(1, 3))),
            "price": round(generator.uniform(-5, 20), 2),
            "year": generator.randint(1990, 2030),
            "ok": generator.random() < 0.5,
            "day": datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=generator.randint(-90_000, 90_000)),
        }
        kept = {name: value for name, value in attributes.items() if generator.random() < 0.8}
        found.append(Document(f"d{number}/{document.doc_id}", document.text[:600], kept))
    return found


def filters(count: int) -> Iterator[Filter]:
    """Random filters on these attributes."""
    generator = random.Random(11)

    def leaf() -> Filter:
        name = generator.choice(["lang", "tags", "price", "year", "ok", "day"])
        if name == "ok":
            return generator.choice([Equals, NotEquals])(name, generator.random() < 0.5)
        if generator.random() < 0.1:
            return Exists(name)

        def value() -> Any:
            if name in ("lang", "tags"):
                return generator.choice([*LANGUAGES, "d"])
            if name == "price":
                return generator.choice([round(generator.uniform(-5, 20), 2), 3])
            if name == "year":
                return generator.choice([generator.randint(1990, 2030), 2000.5])
            return f"20{generator.randint(10, 30)}-0{generator.randint(1, 9)}-1{generator.randint(0, 9)}"

        kind = generator.choice([Equals, NotEquals, Less, LessOrEqual, Greater, In, NotIn, Between])
        if kind in (In, NotIn):
            return kind(name, (value(), value()))
        if kind is Between:
            return Between(name, *sorted((value(), value())))
        return kind(name, value())

    def tree(depth: int) -> Filter:
        if depth == 0 or generator.random() < 0.3:
            return leaf()
        kind = generator.choice([And, Or, Not])
        return Not(tree(depth - 1)) if kind is Not else kind(tree(depth - 1), tree(depth - 1))

    for _ in range(count):
        yield tree(2)


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of indexes: of counts, with a document bias, changed, of chunks, and a mixture with vectors."""
    folder = tmp_path_factory.mktemp("export")
    made = documents()
    settings: dict[str, Any] = {"attributes": "all", "store_text": True}
    for name in ("bm25", "dirichlet", "instant"):
        termwise.build_index(made, folder / name, model=name, **settings)
    termwise.build_index(made, folder / "chunks", model="bm25", chunk=40, **settings)
    termwise.build_index(made[:200], folder / "changed", model="bm25", **settings)
    with termwise.open_writer(folder / "changed") as writer:
        writer.add(made[190:])
        writer.delete([document.doc_id for document in made[:60:3]])
    return {name: folder / name for name in ("bm25", "dirichlet", "instant", "chunks", "changed")}


def check(
    index: Path, export: Path, *, at: str | None = None, k: int = 150, random_filters: int = 0
) -> ExportCheck:
    """Compare an export with its index, with and without filters; return the comparison without."""
    found = check_export(index, export, QUERIES, at=at, k=k)
    assert found.is_exact, found
    for filter in filters(random_filters):
        compared = check_export(index, export, QUERIES[:3], at=at, k=k, filter=filter_to_json(filter))
        assert compared.is_exact, (str(filter), compared)
    return found


def change(index: Path) -> None:
    """Add, replace and delete documents of an index."""
    made = documents(260)
    with termwise.open_writer(index) as writer:
        writer.add(made[240:])
        writer.add(
            [Document(made[5].doc_id, "sort a list of files, or sort a list of lists", {"price": 3.5})]
        )
        writer.add([Document(made[9].doc_id, made[9].text, {"lang": "it's", "year": 1999})])
        writer.delete([made[number].doc_id for number in (2, 30, 31, 77)])


__all__ = ["QUERIES", "change", "check", "documents", "export_index", "filters", "sources"]
