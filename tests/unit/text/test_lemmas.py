"""Lemmas by spaCy."""

import pickle
import re
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termwise
from termwise import Document, build_index
from termwise.errors import MissingExtraError, VocabularyMismatchError
from termwise.text import (
    Analyzer,
    AnalyzerSpec,
    LibraryAnalyzer,
    analyzer_from_spec,
    lemmas,
    library_analyzer,
    make_analyzer,
)

spacy = pytest.importorskip("spacy", reason="needs termwise[spacy], which scripts/setup dev installs")

analyzer = LibraryAnalyzer.installed("lemmas")


@pytest.fixture
def again():
    """Look for what is installed anew, here and after the test."""
    library_analyzer._LIBRARIES["lemmas"].cache_clear()
    yield
    library_analyzer._LIBRARIES["lemmas"].cache_clear()


def cut(text):
    return " ".join(analyzer.tokens(text))


def test_the_lemma_of_a_word_depends_on_its_sentence():
    assert isinstance(analyzer, Analyzer)
    assert cut("The mice were studying universities") == "mouse study university"
    assert cut("We meet at the meeting") == "meet meeting"


def test_stop_words_go_by_word_and_by_lemma():
    assert cut("was were is been") == ""  # were the lemma is one
    assert cut("isn't we'll they've he’d can't won't") == ""
    assert cut("the world’s best, the world's best") == "world good world good"


def test_words_of_letters_marks_numbers_and_inner_signs():
    assert cut("heap_sort in U.S.A. at 3.14") == "heap_sort u.s.a. 3.14"
    assert cut("C++ , 1,234 -- ... O'Neill https://example.org/a?b=c !") == ""
    assert cut("naïve 東京の人 हिन्दी x\u0301y") == "naïve 東京の人 हिन्दी x\u0301y"


def test_spans_are_those_of_the_words():
    text = "  Sorted\n\nmice’s  left 😀 universities"
    analysis = analyzer.analyze(text)
    assert analysis.spans.dtype == np.int32
    found = [text[start:end] for start, end in analysis.spans]
    assert found == ["Sorted", "mice", "left", "universities"]
    assert analyzer.analyze(" ").spans.shape == (0, 2)


@settings(max_examples=30, deadline=None)
@given(
    st.text(st.characters(exclude_categories=()), max_size=40)
    | st.lists(
        st.sampled_from(
            ["The", "don’t", "İ", "ΣΣ", "\ud800", "\x00", "😀", "\ufeff", " ", "_", "1,5", "x" * 130]
        )
    ).map("".join)
)
def test_any_text_can_be_analysed(text):
    analysis = analyzer.analyze(text)
    assert analyzer.tokens(text) == list(analysis.tokens)
    starts, ends = analysis.spans[:, 0], analysis.spans[:, 1]
    assert (starts < ends).all()
    assert (ends[:-1] <= starts[1:]).all()
    assert (ends <= len(text)).all()
    for token in analysis.tokens:
        assert token.encode()


def test_long_texts_are_cut_into_windows_between_words(monkeypatch):
    monkeypatch.setattr(lemmas, "_WINDOW", 30)
    monkeypatch.setattr(lemmas, "_UNBROKEN", re.compile("[^ ]{25}"))
    text = "universities and mice " * 10 + "x" * 60 + " mice"
    analysis = analyzer.analyze(text)
    assert analysis.tokens == (*("university", "mouse") * 10, "x" * 25, "x" * 25, "x" * 10, "mouse")
    assert [text[start:end] for start, end in analysis.spans[-2:]] == ["x" * 10, "mice"]
    assert list(lemmas.windows("ab " * 20)) == [(0, 30), (30, 60)]
    assert list(lemmas.windows("abcd " * 8)) == [(0, 30), (30, 40)]
    assert list(lemmas.windows("abcdefg " * 5)) == [(0, 24), (24, 40)]
    assert list(lemmas.windows("")) == []


@pytest.mark.parametrize("sign", ["'", "-", "http://", "1,"])
def test_a_long_run_of_signs_takes_limited_time(sign):
    begin = time.process_time()
    analyzer.tokens(sign * (6_000 // len(sign)))
    assert time.process_time() - begin < 10


def test_lemmas_do_not_depend_on_other_texts():
    texts = ["The left bank leaves", "It left", "meeting minutes"]
    alone = [analyzer.tokens(text) for text in texts]
    assert [analyzer.tokens(text) for text in texts * 3] == alone * 3


def test_threads_can_share_it():
    seen = [[] for _ in range(4)]
    text = "The mice were studying universities"
    threads = [
        threading.Thread(target=lambda found=found: found.extend(analyzer.tokens(text) for _ in range(20)))
        for found in seen
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [[analyzer.tokens(text)] * 20] * 4


def test_the_specification_names_spacy_and_its_pipeline():
    options = analyzer.spec.options
    assert (options["spacy"], options["pipeline"], options["version"]) == ("3.8", "en_core_web_sm", "3.8.0")
    assert len(options["sha256"]) == 64
    assert len(pickle.dumps(analyzer)) < 1000
    assert pickle.loads(pickle.dumps(analyzer)).tokens("mice") == ["mouse"]


@pytest.mark.parametrize(("option", "value"), [("spacy", "3.7"), ("version", "3.7.1"), ("sha256", "0" * 64)])
def test_another_version_is_refused(option, value):
    spec = AnalyzerSpec("lemmas", {**analyzer.spec.options, option: value})
    with pytest.raises(VocabularyMismatchError, match="another version of spaCy") as caught:
        analyzer_from_spec(spec)
    facts = dict(caught.value.facts)
    assert facts["made with"] == f"{option} {value}"
    assert facts["here"] == f"{option} {analyzer.spec.options[option]}"


def test_an_index_is_searched_with_the_pipeline_it_was_built_with(tmp_path, monkeypatch):
    documents = [Document("a", "Mice studied at universities."), Document("b", "A mouse pad.")]
    build_index(documents, tmp_path / "i", analyzer="lemmas", store_text=True)
    searcher = termwise.open(tmp_path / "i")
    assert searcher.rank("a university for a mouse").doc_ids == ("a", "b")
    places = {part.term: part.spans for part in searcher.explain("mouse", "a").contributions}
    assert places == {"mouse": ((0, 4),)}
    monkeypatch.setitem(analyzer._library.options, "version", "3.8.1")
    with pytest.raises(VocabularyMismatchError):
        termwise.open(tmp_path / "i")


def test_without_spacy_the_error_names_the_extra(monkeypatch, again):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError) as caught:
        make_analyzer("lemmas")
    assert caught.value.fixes == ("pip install 'termwise[spacy]'",)


def test_without_a_pipeline_the_error_names_it(monkeypatch, again):
    monkeypatch.setattr(lemmas, "_PACKAGES", ("no_such_pipeline",))
    with pytest.raises(MissingExtraError, match="no_such_pipeline"):
        make_analyzer("lemmas")
