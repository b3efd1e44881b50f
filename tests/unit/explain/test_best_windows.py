"""The window of a long text that was compared with the query, and the excerpts from it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from tests.unit.encode import tiny
from tests.unit.explain.terminal import lines
from tests.unit.explain.test_explanation_html import written

from termwise import Document, build_index
from termwise.encode import open_document_encoder
from termwise.explain import Window, explanation_html
from termwise.explain.explanation_terminal import explanation_renderable
from termwise.explain.explanation_text import scored_window
from termwise.explain.ranking_terminal import ranking_renderable
from termwise.models import Lookup
from termwise.search import Searcher

LONG = "Merge sort, cat cat;  the dog and the dog. List list list!"
DOCUMENTS = [Document("long", LONG), Document("short", "merge dog"), Document("empty", "")]


@pytest.fixture
def model(tmp_path):
    # windows of four pieces, of which two neighbours share one
    return Lookup(encoder=str(tiny.lookup_folder(tmp_path / "lookup")), length=6, overlap=1)


@pytest.fixture
def searcher(model, tmp_path):
    return build_index(DOCUMENTS, tmp_path / "index", model=model, store_text=True)


@pytest.fixture
def mixture(searcher, tmp_path):
    words = build_index(DOCUMENTS, tmp_path / "words", model="bm25", analyzer="standard")
    return Searcher.mix({"words": words, "lookup": searcher}, [0.3, 0.7])


def test_the_range_is_the_text_of_the_best_window(searcher, model):
    encoder = open_document_encoder(model)
    stored = searcher.index.document_vectors(np.array([0]))
    for query in ("merge", "sort", "dog", "list", "dog list list"):
        explanation = searcher.explain(query, "long")
        (window,) = explanation.windows
        assert window.count == len(stored.rows)
        text = LONG[window.start : window.end]
        np.testing.assert_array_equal(
            encoder.encode_documents([text]).rows, stored.rows[window.number - 1 : window.number]
        )
    assert searcher.explain("list", "long").to_dict()["windows"] == (
        {"number": 5, "count": 5, "start": LONG.index("List"), "end": len(LONG), "part": ""},
    )
    assert scored_window(searcher.explain("list", "long")) == (
        "window 5 of 5",
        (LONG.index("List"), len(LONG)),
    )


def test_a_text_of_one_window_and_one_without(searcher):
    shown = searcher.explain("dog", "short")
    assert shown.windows == (Window(1, 1, 0, len("merge dog")),)
    assert scored_window(shown) is None
    assert searcher.explain("dog", "empty").windows == searcher.explain("zebra", "long").windows == ()


def test_without_the_text_the_range_is_not_known(model, tmp_path):
    bare = build_index(DOCUMENTS, tmp_path / "bare", model=model)
    assert bare.explain("list", "long").windows == (Window(5, 5, None, None),)


def test_documents_with_a_tokenizer_and_a_prompt_of_their_own(tmp_path):
    folder = tiny.byte_lookup_folder(tmp_path / "bytes", document_prompt="c ")
    model = Lookup(encoder=str(folder), length=5, overlap=0)
    searcher = build_index([Document("d", "ab ab c cc")], tmp_path / "index", model=model, store_text=True)
    # the prompt takes one of three pieces: (c) Ġab Ġab | (c) Ġ c | (c) c c
    windows = [searcher.explain(query, "d").windows[0] for query in ("merge", "merge sort")]
    assert {window.count for window in windows} == {4}
    spans = [(window.number, "ab ab c cc"[window.start : window.end]) for window in windows]
    assert all(text.strip() for _, text in spans)
    shutil.rmtree(folder)
    assert searcher.explain("merge", "d").windows[0].start is None


def test_a_mixture_names_the_part(mixture):
    explanation = mixture.explain("dog", "long")
    (window,) = explanation.windows
    assert window.part == "lookup"
    assert scored_window(explanation)[0] == f"window {window.number} of 5 (lookup)"


def test_a_document_without_a_text_has_the_mean_and_a_line_of_its_own(mixture):
    explanation = mixture.explain("dog", "empty")
    lookup = explanation.parts[1]
    (empty,) = [part for part in explanation.contributions if part.origin == "empty"]
    assert empty.part == "lookup"
    assert empty.weight == lookup.score
    assert lookup.shift == pytest.approx(-lookup.mean * lookup.scale)
    total = explanation.constant + sum(part.score for part in explanation.contributions)
    assert total == pytest.approx(explanation.score)
    assert all(part.origin != "empty" for part in mixture.explain("dog", "short").contributions)


@pytest.fixture
def excerpts(model, tmp_path):
    filler = "the cat and a cat. " * 60
    documents = [Document("long", f"Dog. {filler}Merge sort merge list. {filler}"), Document("other", "cat")]
    return build_index(documents, tmp_path / "excerpts", model=model, store_text=True)


def test_excerpts_are_from_the_window(excerpts):
    explanation = excerpts.explain("merge", "long")
    name, (low, high) = scored_window(explanation)
    assert "Merge sort" in explanation.text[low:high]
    shown = lines(explanation_renderable(explanation), width=60)
    assert f"text · {name}" in shown
    (excerpt,) = shown[shown.index(f"text · {name}") + 1 :]
    assert excerpt.startswith("  … ")
    assert "‹Merge› sort" in excerpt
    ranking = excerpts.rank("merge", k=1)
    with_name = lines(ranking_renderable(ranking, [explanation], explain=True), width=70)[1]
    assert with_name.strip().startswith(f"{name}: … ")
    assert "‹Merge›" in with_name
    assert lines(ranking_renderable(ranking, [explanation]), width=70)[1].strip().startswith("… ")


def test_words_outside_of_the_window_have_a_passage(excerpts):
    shown = lines(explanation_renderable(excerpts.explain("merge merge merge dog", "long")), width=60)
    (heading,) = [place for place, line in enumerate(shown) if line.startswith("text · window ")]
    assert "‹Merge›" in shown[heading + 1]
    assert shown[heading + 2].startswith("  ‹Dog›. the cat")


def test_the_page_has_the_whole_text_with_the_window(excerpts):
    explanation = excerpts.explain("merge", "long")
    name, (low, high) = scored_window(explanation)
    page = written(explanation)
    (window,) = page.all("span", id="window")
    assert window["text"] == explanation.text[low:high]
    assert page.text("div", id="document") == " ".join(explanation.text.split())
    assert f"Scored by vectors: {name}, characters {low + 1:,} to {high:,}" in page.text(
        "section", **{"aria-labelledby": "text"}
    )
    assert not written(excerpts.explain("cat", "other")).all("span", id="window")


def test_a_very_long_text_has_passages_of_the_window(excerpts, monkeypatch):
    monkeypatch.setattr(explanation_html, "WHOLE_TEXT", 500)
    explanation = excerpts.explain("merge merge merge dog", "long")
    page = written(explanation)
    shown = [
        part["text"] for part in page.all("p") if part["parents"][-1]["attributes"].get("id") == "document"
    ]
    assert "Merge sort" in shown[0]
    assert shown[-1].startswith("Dog. ")
    assert not page.all("span", id="window")
    assert "with a tinted background" not in page.text("section", **{"aria-labelledby": "text"})
