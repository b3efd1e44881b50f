"""Contributions split by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise import Document, build_index
from termwise.explain.attribution import SourceWord
from termwise.explain.field_shares import DocumentFields, FieldShare
from termwise.indexing import chosen_model
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, write_table

DOCUMENTS = [
    Document.of_fields(
        "bees", {"title": "Bees", "text": "Workers collect nectar; bees pollinate.", "tags": ""}
    ),
    Document.of_fields("tides", {"title": "", "text": "The sea rises.", "tags": "moon"}),
    Document.of_fields("moon", {"title": "Moon", "text": "The moon draws the sea.", "tags": "moon"}),
]
WEIGHTS = {"title": 3, "text": 1, "tags": 2}


@pytest.fixture
def searcher(tmp_path: Path) -> Any:
    return build_index(DOCUMENTS, tmp_path / "i", fields=WEIGHTS, store_text=True)


def test_shares_by_hand(searcher: Any) -> None:
    explanation = searcher.explain("bees nectar sea", "bees")
    fields = {part.term: part.fields for part in explanation.contributions}
    assert fields["bee"] == (
        FieldShare("title", 3, 1, 0.75),
        FieldShare("text", 1, 1, 0.25),
        FieldShare("tags", 2, 0, 0.0),
    )
    assert [field.share for field in fields["nectar"]] == [0.0, 1.0, 0.0]
    assert fields["sea"] == ()
    (moon,) = searcher.explain("moon", "moon").contributions
    assert [field.share for field in moon.fields] == [3 / 6, 1 / 6, 2 / 6]
    assert [explanation.text[start:end] for start, end in moon.spans] != []


@pytest.mark.parametrize("model", ["bm25", "jm", "dirichlet"])
@pytest.mark.parametrize("doc_id", ["bees", "tides", "moon"])
def test_fields_add_up(tmp_path: Path, model: str, doc_id: str) -> None:
    searcher = build_index(DOCUMENTS, tmp_path / "i", model=model, fields=WEIGHTS, store_text=True)
    explanation = searcher.explain("moon sea nectar bees", doc_id)
    others = sum(part.score for part in explanation.contributions if not part.fields)
    whole = sum(explanation.field_scores.values()) + others + explanation.constant
    assert whole == pytest.approx(explanation.score, abs=1e-12)
    for part in explanation.contributions:
        assert sum(field.occurrences for field in part.fields) == len(part.spans)
        assert all(explanation.text[start:end].lower().startswith(part.term) for start, end in part.spans)


def test_shares_of_translations(tmp_path: Path) -> None:
    words = Vocabulary(["film", "flick", "movie"])
    # film → movie .5, flick → movie .25
    table = TranslationTable(
        words, [0, 1, 2, 2], [2, 2], [0.5, 0.25], [1] * 3, make_analyzer("whitespace").spec
    )
    write_table(table, tmp_path / "table")
    documents = [Document.of_fields("a", {"title": "film", "text": "film flick flick"})]
    searcher = build_index(
        documents,
        tmp_path / "i",
        model=chosen_model(tmp_path / "table", {"self_translation": "0", "lambda": "0.5"}),
        fields={"title": 3, "text": 1},
        store_text=True,
    )
    (part,) = searcher.explain("movie", "a").contributions
    # weighted counts: film 3 + 1, flick 2; chances .5 · 4 and .25 · 2
    assert [(source.term, source.share) for source in part.sources] == [("film", 0.8), ("flick", 0.2)]
    assert [field.share for field in part.fields] == pytest.approx([0.8 * 3 / 4, 0.8 / 4 + 0.2])
    assert [field.occurrences for field in part.fields] == [1, 3]


def test_a_blank_field_has_no_words() -> None:
    fields = DocumentFields((("title", 3, (0, 0)), ("text", 1, (0, 9))))
    assert fields.spans(make_analyzer("whitespace"), "one three") == {"one": ((0, 3),), "three": ((4, 9),)}
    assert [field.share for field in fields.shares([(0, 3)])] == [0.0, 1.0]
    assert fields.shares([], [SourceWord("one", 0.5, 1.0, ((0, 3),))])[1].share == 1.0
    assert fields.shares([]) == ()


def test_without_texts_there_are_no_shares(tmp_path: Path) -> None:
    searcher = build_index(DOCUMENTS, tmp_path / "i", fields=WEIGHTS)
    explanation = searcher.explain("moon", "moon")
    assert explanation.field_scores == {}
    assert "by field" not in explanation.to_text()


def test_outputs(searcher: Any) -> None:
    explanation = searcher.explain("bees nectar", "bees")
    title, text = explanation.field_scores["title"], explanation.field_scores["text"]
    lines = explanation.to_text().splitlines()
    begin = lines.index("by field")
    assert lines[begin + 1].split() == ["term", "title", "×", "3", "text", "×", "1", "tags", "×", "2"]
    assert [line.split()[-3:] for line in lines[begin + 2 : begin + 5]] == [
        [f"{title:.4f}", f"{title / 3:.4f}", "–"],
        ["–", f"{explanation.contributions[1].score:.4f}", "–"],
        [f"{title:.4f}", f"{text:.4f}", "0.0000"],
    ]
    assert "‹Bees›\n  Workers collect ‹nectar›; ‹bees› pollinate." in explanation.to_text()
    page = explanation.to_html()
    assert f"<b><bdi>title × 3</bdi></b> {title:.4f}, <b><bdi>text × 1</bdi></b> {title / 3:.4f}" in page
    assert f'<li><b><bdi>text</bdi></b> <span class="num">{text:.4f}</span></li>' in page
    data = json.loads(json.dumps(explanation.to_dict()))
    assert data["contributions"][0]["fields"][0] == {
        "name": "title",
        "weight": 3,
        "occurrences": 1,
        "share": 0.75,
    }


def test_a_changed_index_is_explained_by_field(tmp_path: Path, searcher: Any) -> None:
    with termwise.open_writer(searcher.path) as writer:
        writer.add([Document.of_fields("hive", {"title": "Hive", "text": "bees", "tags": "bees"})])
    (part,) = termwise.open(searcher.path).explain("bees", "hive").contributions
    assert [field.share for field in part.fields] == [0.0, 1 / 3, 2 / 3]
