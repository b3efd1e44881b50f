"""Snippets: excerpts of documents with the words of a query, and completions of its last word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searches import searching
from tests.unit.search.vector_index import write_vector_index

import termwise
from termwise import Document, Query, build_index
from termwise.errors import ParameterError, UnknownIdError, UnknownNameError
from termwise.fusion import mix_indexes
from termwise.search import Completion, Search, Snippet
from termwise.text import Vocabulary, make_analyzer
from termwise.vectors import DocumentVectors, TermVectors

HEAP = "A heap is a tree.\nTo merge two sorted lists takes one pass, and merging more lists takes a heap."
DOCUMENTS = [
    Document("heap", HEAP),
    Document("empty", ""),
    Document("path", "The pathlib module has paths; unlinked files are no paths."),
    Document("list", "A list of lists."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    build_index(DOCUMENTS, folder / "words", store_text=True)
    build_index(DOCUMENTS, folder / "pieces", store_text=True, model="jm", analyzer="wordpiece")
    mix_indexes([folder / "words", folder / "pieces"], [0.6, 0.4], folder / "mixture")
    return folder


def shown(snippet: Snippet) -> list[str]:
    return [snippet.text[start:end] for start, end in snippet.spans]


def test_the_excerpt_has_the_rarest_words_of_the_query(folder):
    searcher = termwise.open(folder / "words")
    (snippet,) = searcher.search(Search("sorting lists in one pass")).snippets(["heap"], length=40)
    assert snippet.text == "sorted lists takes one pass, and"
    assert shown(snippet) == ["sorted", "lists", "one", "pass"]
    assert HEAP[snippet.before :].startswith(snippet.text)
    assert snippet.before + len(snippet.text) + snippet.after == len(HEAP)
    # "list" is in two of four documents, "heap" and "tree" in one each, so the beginning is better
    assert (
        searcher.search(Search(Query("q", "list heap tree"))).snippets(["heap"], length=20)[0].text
        == "A heap is a tree.\nTo"
    )


@pytest.mark.parametrize("analyzer", ["english-parts", "code"])
def test_a_compound_and_its_parts_are_marked_once(tmp_path, analyzer):
    searcher = build_index(
        [Document("a", "Use getUserId, user!")], tmp_path / "i", analyzer=analyzer, store_text=True
    )
    found = searcher.search(Search("getUserId"))
    assert shown(found.snippets()[0]) == ["getUserId", "user"]
    explanation = searcher.explain("getUserId", "a")
    assert sum(part.score for part in explanation.contributions) == explanation.score
    assert explanation.to_text().count("Use ") == 1


def test_texts_without_a_word_show_their_beginning(folder):
    searcher = termwise.open(folder / "words")
    assert searcher.search(Search("zebra of the")).snippets(["empty", "list", "heap"], length=20) == [
        Snippet("empty", "", (), 0, 0),
        Snippet("list", "A list of lists.", (), 0, 0),
        Snippet("heap", "A heap is a tree.\nTo", (), 0, len(HEAP) - 20),
    ]


def test_pieces_are_shown_as_words_and_not_in_other_words(folder):
    searcher = termwise.open(folder / "pieces")
    assert len(make_analyzer("wordpiece").tokens("unlinked")) > 1, "the word has several pieces"
    (snippet,) = searcher.search(Search("unlinked paths")).snippets(["path"])
    assert shown(snippet) == ["paths", "unlinked", "paths"]


def test_a_mixture_has_the_analyzer_of_its_words(folder):
    mixture = termwise.open(folder / "mixture")
    words = termwise.open(folder / "words")
    for query in ("sorting lists", "unlinked path", ""):
        assert mixture.search(Search(query)).snippets(["heap", "path"]) == words.search(
            Search(query)
        ).snippets(["heap", "path"])
    assert mixture.complete("list so") == words.complete("list so")


def test_added_words_are_shown(folder):
    searcher = searching(termwise.open(folder / "words"), fuzzy=True, prefix=True)
    assert shown(searcher.search(Search("megring li")).snippets(["heap"])[0]) == [
        "merge",
        "lists",
        "merging",
        "lists",
    ]


def test_vectors_weigh_words_by_their_lengths(tmp_path):
    vocabulary = Vocabulary(["the", "heap", "stack"])
    table = TermVectors.of(np.array([[0.5, 0], [4, 3], [0, 0]], dtype=np.float32), vocabulary.id)
    rows = DocumentVectors.of([0, 1], np.array([[1, 0]], dtype=np.float32))
    text = "the the the words of a text that is long enough for a heap and a stack"
    write_vector_index(tmp_path / "i", ["a"], rows, table, vocabulary, texts=[text])
    (snippet,) = termwise.open(tmp_path / "i").search(Search("the heap stack")).snippets(["a"], length=30)
    assert shown(snippet) == ["heap"]


def test_an_excerpt_of_one_field(tmp_path):
    books = [
        Document.of_fields("a", {"title": "Trees", "text": "A heap is a tree of numbers."}),
        Document.of_fields("b", {"title": "", "text": "Trees"}),
    ]
    searcher = build_index(books, tmp_path / "i", fields={"title": 3, "text": 1}, store_text=True)
    assert searcher.search(Search("trees")).snippets(["a", "b"], field="title") == [
        Snippet("a", "Trees", ((0, 5),), 0, 0),
        Snippet("b", "", (), 0, 0),
    ]
    (of_text,) = searcher.search(Search("trees numbers")).snippets(["a"], length=20, field="text")
    assert of_text == Snippet("a", "a tree of numbers.", ((2, 6), (10, 17)), 10, 0)
    with pytest.raises(UnknownNameError, match="abstract"):
        searcher.search(Search("trees")).snippets(["a"], field="abstract")
    alone = build_index(books, tmp_path / "alone", fields=["title"], store_text=True)
    assert alone.search(Search("trees")).snippets(["a"], field="title") == alone.search(
        Search("trees")
    ).snippets(["a"])


def test_mistakes(folder, tmp_path):
    searcher = termwise.open(folder / "words")
    with pytest.raises(UnknownIdError):
        searcher.search(Search("list")).snippets(["heap", "none"])
    for length in (19, 30.5, "40"):
        with pytest.raises(ParameterError, match="length"):
            searcher.search(Search("list")).snippets(["heap"], length=length)
    with pytest.raises(ParameterError, match="n "):
        searcher.complete("list", n=0)
    with pytest.raises(ParameterError, match="one text for a document"):
        searcher.search(Search("list")).snippets(["heap"], field="title")
    without = build_index(DOCUMENTS, tmp_path / "i")
    with pytest.raises(ParameterError, match="keeps no texts"):
        without.search(Search("list")).snippets(["heap"])


WORDS = st.sampled_from(
    ["heap", "Heaps", "sorted", "list", "a", "tree-like", "caf\u00e9", "\n", "x" * 30, "東京"]
)


@given(st.lists(WORDS, max_size=40), st.lists(WORDS, max_size=4), st.integers(20, 80))
@settings(max_examples=60, deadline=None)
def test_spans_are_the_words_of_the_excerpt(tmp_path_factory, words, query, length):
    text = " ".join(words)
    folder = tmp_path_factory.mktemp("i") / "i"
    searcher = build_index([Document("a", text), Document("b", "other")], folder, store_text=True)
    (snippet,) = searcher.search(Search(" ".join(query))).snippets(["a"], length=length)
    assert len(snippet.text) <= length
    assert text[snippet.before : len(text) - snippet.after] == snippet.text == snippet.text.strip()
    analyzer = searcher.analyzer
    analysis, wanted = analyzer.analyze(text), set(analyzer.tokens(" ".join(query)))
    expected = {
        place - snippet.before
        for token, (start, end) in zip(analysis.tokens, analysis.spans.tolist(), strict=True)
        if token in wanted
        for place in range(start, end)
        if 0 <= place - snippet.before < len(snippet.text)
    }
    assert {place for start, end in snippet.spans for place in range(start, end)} == expected
    edges = [edge for span in snippet.spans for edge in span]
    assert edges == sorted(set(edges))
    if wanted & set(analysis.tokens):
        assert snippet.spans


def test_completions_are_words_of_the_texts(folder):
    searcher = termwise.open(folder / "words")
    assert searcher.complete("a li") == [Completion("a lists", "lists", 2)]
    assert searcher.complete("merg") == [Completion("merge", "merge", 1)]
    assert [each.word for each in searcher.complete("mergi")] == ["merging"]
    assert [each.word for each in searcher.complete("pa")] == ["paths", "pathlib", "pass"]
    assert [each.word for each in searcher.complete("pa", n=1)] == ["paths"]
    for text in ("", "list ", "the", "zebra", "li!"):
        assert searcher.complete(text) == []


def test_completions_without_texts_are_terms_and_follow_changes(tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i", analyzer="standard")
    assert [(each.word, each.documents) for each in searcher.complete("L")] == [("list", 1), ("lists", 2)]
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add([Document("new", "liquid lists")])
        writer.delete(["list"])
    assert sorted((each.word, each.documents) for each in searcher.refresh().complete("li")) == [
        ("liquid", 1),
        ("lists", 2),
    ]


def test_pieces_of_words_complete_nothing(folder):
    assert termwise.open(folder / "pieces").complete("li") == []
