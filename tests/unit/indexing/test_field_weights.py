"""Indexes with weights of fields, against texts that repeat the fields."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import termwise
from termwise import BuildOptions, Document, build_index
from termwise.errors import ParameterError, UnknownNameError
from termwise.index import Index, verify
from termwise.indexing import chosen_model, encode_collection, recipes
from termwise.indexing.field_weights import number_documents, texts_to_store
from termwise.indexing.recipes import BEST, Recipe, RecipePart
from termwise.indexing.renewal import renew_index
from termwise.models import Lookup
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, write_table

WEIGHTS = {"title": 3, "text": 1, "tags": 2}
RECORDS = [
    ("a", "Merging lists", "merge two sorted lists into one", "list sort"),
    ("b", "", "shuffle a list of cards", ""),
    ("c", "Files", "read a file line by line into a list", "file"),
    ("d", "Sorted cards", "", "card card"),
    ("e", "", "", ""),
]
LATER = [
    ("f", "Zip files", "a zip archive of files", "file zip"),
    ("a", "Heaps", "a heap sorts numbers", "sort"),
]
QUERIES = ("sorted lists", "file", "cards zip", "heap of numbers", "nothing here")
COUNT_MODELS = ("bm25", "jm", "dirichlet", "ml")


def with_fields(records: list[tuple[str, ...]]) -> list[Document]:
    return [Document.of_fields(name, dict(zip(WEIGHTS, texts, strict=True))) for name, *texts in records]


def repeated(records: list[tuple[str, ...]]) -> list[Document]:
    """Return documents whose text has each field as often as its weight."""
    return [
        Document(
            name, " ".join(text for text, n in zip(texts, WEIGHTS.values(), strict=True) for _ in range(n))
        )
        for name, *texts in records
    ]


def ranked(searcher: Any) -> list[tuple[tuple[str, ...], list[float]]]:
    rankings = [searcher.rank(query, k=10) for query in QUERIES]
    return [(ranking.doc_ids, ranking.scores.tolist()) for ranking in rankings]


def test_bm25_by_hand(tmp_path: Path) -> None:
    documents = [
        Document.of_fields("a", {"title": "bees", "text": "bees and blossoms"}),
        Document.of_fields("b", {"title": "tides", "text": "sea"}),
    ]
    searcher = build_index(
        documents,
        tmp_path / "i",
        fields={"title": 3, "text": 1},
        analyzer="whitespace",
        model=chosen_model("bm25", {"k1": "0.9", "b": "0.4"}),
        options=BuildOptions(quantiser="float32"),
    )
    # tf = 3 · 1 + 1 = 4; lengths 3 · 1 + 3 = 6 and 3 · 1 + 1 = 4; N = 2, df = 1
    expected = log(1 + 1.5 / 1.5) * 4 / (4 + 0.9 * (0.6 + 0.4 * 6 / 5))
    assert searcher.rank("bees").scores == pytest.approx([expected], rel=1e-6)
    assert searcher.index.manifest.encoder.json["statistics"] == {"documents": 2, "tokens": 10, "longest": 6}
    assert searcher.index.manifest.field_weights == {"title": 3, "text": 1}


@pytest.mark.parametrize("model", COUNT_MODELS)
def test_a_weight_equals_repetition(tmp_path: Path, model: str) -> None:
    weighted = build_index(with_fields(RECORDS), tmp_path / "weighted", model=model, fields=WEIGHTS)
    plain = build_index(repeated(RECORDS), tmp_path / "plain", model=model)
    assert ranked(weighted) == ranked(plain)
    assert np.array_equal(weighted.index.floors, plain.index.floors)


def test_a_weight_equals_repetition_for_a_translation_table(tmp_path: Path) -> None:
    words = Vocabulary(["file", "list", "sorted", "zip"])
    # columns file → zip and list → sorted
    table = TranslationTable(
        words, [0, 1, 2, 2, 2], [3, 2], [0.5, 0.25], [1] * 4, make_analyzer("whitespace").spec
    )
    write_table(table, tmp_path / "table")
    documents = {
        "weighted": build_index(
            with_fields(RECORDS), tmp_path / "weighted", model=tmp_path / "table", fields=WEIGHTS
        ),
        "plain": build_index(repeated(RECORDS), tmp_path / "plain", model=tmp_path / "table"),
    }
    rankings = {name: ranked(searcher) for name, searcher in documents.items()}
    assert rankings["weighted"] == rankings["plain"]
    assert any(doc_ids for doc_ids, _ in rankings["plain"])


@pytest.mark.parametrize("model", COUNT_MODELS)
def test_a_changed_index_equals_a_changed_one_of_repeated_fields(tmp_path: Path, model: str) -> None:
    paths = tmp_path / "weighted", tmp_path / "plain"
    build_index(with_fields(RECORDS), paths[0], model=model, fields=WEIGHTS, store_text=True)
    build_index(repeated(RECORDS), paths[1], model=model, store_text=True)
    for path, later in zip(paths, (with_fields(LATER), repeated(LATER)), strict=True):
        with termwise.open_writer(path) as writer:
            assert writer.add(later) == termwise.indexing.live_writer.Added(1, 1, 0)
            writer.delete(["c"])
            writer.commit()
            writer.merge()
        assert verify(path) == []
    assert ranked(termwise.open(paths[0])) == ranked(termwise.open(paths[1]))
    index = Index.open(paths[0])
    assert index.text(index.ordinal("f")) == "Zip files\na zip archive of files\nfile zip"
    assert index.text(index.ordinal("d")) == "Sorted cards\ncard card"
    assert index.manifest.field_weights == WEIGHTS


def test_a_renewed_index_equals_a_new_build(tmp_path: Path) -> None:
    build_index(with_fields(RECORDS), tmp_path / "living", fields=WEIGHTS, store_text=True)
    with termwise.open_writer(tmp_path / "living") as writer:
        writer.add(with_fields(LATER))
    renewed = renew_index(tmp_path / "living")
    new = build_index(with_fields([*RECORDS[1:], *LATER]), tmp_path / "new", fields=WEIGHTS)
    assert ranked(renewed) == ranked(new)
    assert renewed.index.manifest.field_weights == WEIGHTS
    assert [field.occurrences for field in renewed.explain("zip", "f").contributions[0].fields] == [1, 1, 1]


def test_unchanged_documents_have_equal_fields(tmp_path: Path) -> None:
    build_index(with_fields(RECORDS), tmp_path / "i", fields=WEIGHTS, store_text=True)
    moved = [("a", "Merging", "lists merge two sorted lists into one", "list sort"), RECORDS[1]]
    with termwise.open_writer(tmp_path / "i") as writer:
        added = writer.add(with_fields(moved))
    assert (added.replaced, added.unchanged) == (1, 1)


def test_separators_in_texts(tmp_path: Path) -> None:
    documents = [Document.of_fields("a", {"title": "one\x1ftwo", "text": "three"})]
    searcher = build_index(documents, tmp_path / "i", fields={"title": 2, "text": 1}, store_text=True)
    assert searcher.index.text(0) == "one two\nthree"
    with termwise.open_writer(tmp_path / "i") as writer:
        assert writer.add(documents).unchanged == 1


@pytest.mark.parametrize(
    ("document", "named"),
    [
        (Document("x", "text"), "no fields"),
        (Document.of_fields("x", {"title": "t", "body": "b"}), "other fields"),
        (Document.of_fields("x", {"text": "t", "title": "b"}), "another order"),
        (
            Document("x", "another text", fields={"title": "t", "text": "b"}),
            "differs from that of its fields",
        ),
    ],
)
def test_documents_without_the_fields(tmp_path: Path, document: Document, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        build_index([document], tmp_path / "i", fields=WEIGHTS)
    assert not (tmp_path / "i").exists()
    build_index(with_fields(RECORDS), tmp_path / "i", fields=WEIGHTS)
    before = ranked(termwise.open(tmp_path / "i"))
    with pytest.raises(ParameterError, match=named), termwise.open_writer(tmp_path / "i") as writer:
        writer.add([*with_fields(LATER), document])
    assert ranked(termwise.open(tmp_path / "i")) == before


@pytest.mark.parametrize("weight", [0, -1, 101, 1.5, "3", True, None])
def test_weights_are_whole_numbers(tmp_path: Path, weight: Any) -> None:
    for call in (
        lambda fields: build_index(with_fields(RECORDS), tmp_path / "i", fields=fields),
        lambda fields: termwise.open_collection("python:stdlib", fields=fields),
    ):
        with pytest.raises(ParameterError, match="whole number from 1 to 100"):
            call({"title": weight, "text": 1})


def test_networks_have_no_weights(tmp_path: Path) -> None:
    for call in (
        lambda: build_index(with_fields(RECORDS), tmp_path / "i", model=Lookup(), fields=WEIGHTS),
        lambda: encode_collection(with_fields(RECORDS), tmp_path / "e", model=Lookup(), fields=WEIGHTS),
    ):
        with pytest.raises(ParameterError, match="a network reads one text") as error:
            call()
        assert ("fields", "title × 3, text × 1, tags × 2") in error.value.facts


def test_cached_counts_have_no_weights(tmp_path: Path) -> None:
    words = Vocabulary(["file", "zip"])
    table = TranslationTable(words, [0, 0, 1], [0], [0.5], [1] * 2, make_analyzer("whitespace").spec)
    write_table(table, tmp_path / "table")
    with pytest.raises(ParameterError, match="cache of term counts"):
        build_index(
            with_fields(RECORDS),
            tmp_path / "i",
            model=tmp_path / "table",
            fields=WEIGHTS,
            options=BuildOptions(encoding=tmp_path / "e"),
        )


def test_the_parts_of_a_mixture_that_count_have_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = (RecipePart("bm25", 0.5), RecipePart("jm", 0.5))
    monkeypatch.setitem(recipes.RECIPES, BEST, Recipe(parts))
    (tmp_path / "docs.jsonl").write_text('{"_id": "a", "title": "Bees", "text": "nectar"}\n')
    mixture = build_index(
        tmp_path / "docs.jsonl", tmp_path / "m", model="best", fields={"title": 3, "text": 1}, store_text=True
    )
    assert [part.index.manifest.field_weights for part in mixture.parts] == [{"title": 3, "text": 1}] * 2
    explanation = mixture.explain("bees", "a")
    assert explanation.text == "Bees\nnectar"
    assert [field.occurrences for field in explanation.contributions[0].fields] == [1, 0]
    documents = [Document.of_fields("a", {"title": "", "text": "Bees nectar"})]
    with termwise.open_writer(tmp_path / "m") as writer:
        assert writer.field_weights == {"title": 3, "text": 1}
        assert writer.add(documents).replaced == 1
    explanation = termwise.open(tmp_path / "m").explain("bees", "a")
    assert [field.occurrences for field in explanation.contributions[0].fields] == [0, 1]


def test_records_of_files(tmp_path: Path) -> None:
    (tmp_path / "docs.csv").write_text("id,title,text,price\na,Bees,nectar,3\nb,,sea,4\n")
    collection = termwise.open_collection(
        tmp_path / "docs.csv", fields={"title": 3, "text": 1}, attributes=("price",)
    )
    assert list(collection.documents()) == [
        Document("a", "Bees\nnectar", {"price": "3"}, {"title": "Bees", "text": "nectar"}, (4,)),
        Document("b", "sea", {"price": "4"}, {"title": "", "text": "sea"}),
    ]
    plain = termwise.open_collection(tmp_path / "docs.csv", fields=("title", "text"))
    assert list(plain.documents()) == [Document.of_texts("a", ["Bees", "nectar"]), Document("b", "sea")]
    with pytest.raises(UnknownNameError, match="name"):
        list(termwise.open_collection(tmp_path / "docs.csv", fields={"name": 3}).documents())


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=4)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=5), st.tuples(*[st.integers(1, 4)] * 3))
def test_counts_are_weighted_sums(rows: list[tuple[list[str], ...]], numbers: tuple[int, ...]) -> None:
    weights = dict(zip(WEIGHTS, numbers, strict=True))
    documents = [
        Document.of_fields(str(i), {name: " ".join(words) for name, words in zip(weights, row, strict=True)})
        for i, row in enumerate(rows)
    ]
    numbered = number_documents(make_analyzer("whitespace"), documents, weights)
    for row, (begin, end) in zip(rows, pairwise(numbered.indptr), strict=True):
        expected: Counter[str] = Counter()
        for words, weight in zip(row, numbers, strict=True):
            for word in words:
                expected[word] += weight
        assert Counter(numbered.tokens[number] for number in numbered.numbers[begin:end]) == expected
    stored = texts_to_store(documents, weights)
    assert [text.split("\x1f") for text in stored] == [[" ".join(words) for words in row] for row in rows]
