"""Indexes of several hundred documents of the Python documentation, with attributes, for the tests of exports."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tests.unit.search.vector_index import write_vector_index

import termwise
from termwise import Document, Query
from termwise.collection import open_collection
from termwise.export.check import program
from termwise.filters import (
    Between,
    Equals,
    Exists,
    Filter,
    Greater,
    GreaterOrEqual,
    In,
    Less,
    LessOrEqual,
    NotEquals,
    NotIn,
    StartsWith,
)
from termwise.text import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors

QUESTIONS = (
    "read a csv file with a header",
    "kill a child process after a timeout",
    "abstract base class",
    "the name of a",
    "pickle zymurgy",
    "parse dates and times of a calendar, a calendar",
    "unknownword",
)
QUERIES = [Query(f"q{number}", text) for number, text in enumerate(QUESTIONS)]

DAY = datetime(2024, 2, 29, 12, 30, 15, 250_000, tzinfo=UTC)
ODD = "quote \" back\\slash ' é"


@cache
def documents(number: int = 200) -> tuple[Document, ...]:
    """Return documents of the Python documentation; a third of the attributes is missing."""
    numbers = random.Random(7)
    found = []
    for each in islice(open_collection("python:stdlib").documents(), number):
        words = len(each.text.split())
        attributes: dict[str, Any] = {
            "words": words,
            "share": words / 7,
            "big": words * 10**15,
            "day": DAY + timedelta(days=words * 37, microseconds=words),
            "module": ODD if words % 11 == 0 else each.doc_id.split(".")[0],
            "all parts": [*each.doc_id.split("."), *([ODD] if words % 5 == 0 else [])],
            "long": words > 30,
        }
        kept = {name: value for name, value in attributes.items() if numbers.random() < 0.67}
        found.append(Document(each.doc_id, each.text, attributes=kept))
    return tuple(found)


def build(folder: Path, model: str, chunk: int | None = None, number: int = 200) -> Path:
    """Build an index, and return its path."""
    path = folder / f"{model}-{chunk}.tw"
    termwise.build_index(documents(number), path, model=model, chunk=chunk, store_text=True)
    return path


def change(path: Path) -> None:
    """Delete, replace and add documents."""
    given = documents()
    with termwise.open_writer(path) as writer:
        writer.delete([each.doc_id for each in given[10:60:3]])
        writer.add([Document(given[1].doc_id, "a header of a csv file", attributes={"words": 6})])
        writer.add([Document("new.one", "read the header of a file", attributes={"module": "new"})])


def windows_index(folder: Path) -> Path:
    """Write an index of vectors: none, one or several windows for each of 60 documents."""
    numbers = np.random.default_rng(3)
    indptr = np.concatenate(([0], np.cumsum(numbers.integers(0, 4, 60))))
    matrix = numbers.normal(size=(indptr[-1], 8)).astype(np.float32)
    matrix[5] = matrix[9]  # two windows with equal scores
    words = ("read", "a", "file", "process")
    vocabulary = Vocabulary(words)
    table = TermVectors.of(numbers.normal(size=(len(words), 8)).astype(np.float32), vocabulary.id)
    ids = [f"d{number}" for number in range(60)]
    return write_vector_index(
        folder / "windows.tw", ids, DocumentVectors.of(indptr, matrix), table, vocabulary
    )


def kit(export: Path) -> Any:
    """Return the query kit of an export."""
    return program(export / "query_kit" / "query_kit.py").QueryKit(export / "query_kit")


def engine_of(export: Path, at: str | None) -> Any:
    """Return the engine of an export, without the errors of termwise."""
    return program(export / "engine.py").Engine(export, at)


def random_filters(number: int, *, ranges_of_strings: bool = False) -> list[Filter]:
    """Return filters on the attributes of the documents."""
    numbers = random.Random(11)
    given = documents()
    return [_filter(numbers, given, 2, ranges_of_strings) for _ in range(number)]


def _filter(numbers: random.Random, given: Sequence[Document], depth: int, ranges: bool) -> Filter:
    if depth and numbers.random() < 0.6:
        one, other = (_filter(numbers, given, depth - 1, ranges) for _ in range(2))
        return numbers.choice([one & other, one | other, ~one])
    name = numbers.choice(("words", "share", "big", "day", "module", "all parts", "long", "words", "module"))
    values = sorted(_values(numbers, given, name, 2))
    if numbers.random() < 0.1:
        return Exists(name)
    kinds: list[Any] = [Equals, NotEquals, In, NotIn]
    if name in ("words", "share", "big", "day") or (ranges and name == "module"):
        kinds += [Less, LessOrEqual, Greater, GreaterOrEqual, Between]
    if ranges and name == "module":
        kinds.append(StartsWith)
    kind = numbers.choice(kinds)
    if kind is StartsWith:
        return kind(name, values[0][: numbers.randrange(4)])
    if kind in (In, NotIn):
        return kind(name, tuple(values))
    return Between(name, *values) if kind is Between else kind(name, values[0])


def _values(numbers: random.Random, given: Sequence[Document], name: str, count: int) -> list[Any]:
    found = [each.attributes[name] for each in given if name in each.attributes]
    chosen = [numbers.choice(found) for _ in range(count)]
    if name == "day":
        return [each.isoformat() if numbers.random() < 0.5 else each.date().isoformat() for each in chosen]
    return [numbers.choice(each) if isinstance(each, list | tuple) else each for each in chosen]
