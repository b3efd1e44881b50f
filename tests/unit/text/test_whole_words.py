"""Words that analyzers with parts leave whole."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import termwise
from termwise import Document, build_index
from termwise.errors import ParameterError
from termwise.text import make_analyzer, make_analyzer_by_attribute
from termwise.text.registry import analyzer_from_spec
from termwise.text.token_filters import has_simplemma

needs_simplemma = pytest.mark.skipif(not has_simplemma(), reason="needs simplemma")


def test_words_are_left_whole_however_they_are_written() -> None:
    analyzer = make_analyzer("english-parts", whole=["Hi-Tek", "L'Oréal Paris", "jansport"])
    assert analyzer.tokens("HI-TEK hi‐tek HiTek") == ["hitek", "hitek", "hitek"]
    assert analyzer.tokens("L’Oréal JanSport AB-1200") == [
        "loreal",
        "jansport",
        "ab1200",
        "ab",
        "1200",
    ]
    for text in ("", " ", "!!!"):
        assert analyzer.tokens(text) == []
        assert analyzer.analyze(text).tokens == ()
    found = analyzer.analyze("Hi-Tek T-shirt")
    assert found.tokens == ("hitek", "tshirt", "t", "shirt")
    assert found.spans.tolist() == [[0, 6], [7, 14], [7, 8], [9, 14]]


def test_an_index_stores_the_words(tmp_path: Path) -> None:
    plain, analyzer = make_analyzer("english-parts"), make_analyzer("english-parts", whole=["Hi-Tek"])
    again = analyzer_from_spec(analyzer.spec)
    assert analyzer.spec.options["whole"] == ["hitek"]
    assert "whole" not in plain.spec.options
    assert again.spec.fingerprint == analyzer.spec.fingerprint != plain.spec.fingerprint
    assert pickle.loads(pickle.dumps(analyzer)).tokens("Hi-Tek") == again.tokens("Hi-Tek") == ["hitek"]
    build_index([Document("a", "Hi-Tek"), Document("b", "hi")], tmp_path / "i", analyzer=analyzer)
    searcher = termwise.open(tmp_path / "i")
    assert searcher.rank("hitek").doc_ids == ("a",)
    assert searcher.rank("hi").doc_ids == ("b",)
    assert searcher.rank("Hi-Tek").doc_ids == ("a",)


@needs_simplemma
def test_brands_are_no_compounds() -> None:
    plain = make_analyzer_by_attribute("lang")
    analyzer = make_analyzer_by_attribute("lang", whole=["Brückmann"])
    assert plain.of_language("de").tokens("Brückmann") == ["de:bruckmann", "de:bruck", "de:mann"]
    assert analyzer.of_language("de").tokens("Brückmann Winterjacke") == [
        "de:bruckmann",
        "de:winterjack",
        "de:wint",
        "de:jack",
    ]
    assert analyzer_from_spec(analyzer.spec).spec.fingerprint == analyzer.spec.fingerprint


def test_an_analyzer_without_parts_is_refused() -> None:
    with pytest.raises(ParameterError, match="only an analyzer with parts leaves words whole"):
        make_analyzer("english", whole=["Hi-Tek"])
