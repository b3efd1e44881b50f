"""Codes that are typed with blanks, and umlauts, are those of the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from termwise import Document, build_index
from termwise.search import Search, Searcher
from termwise.search.query_spellings import with_known_umlauts, with_whole_codes

TEXTS = {
    "a": "Filter AB-1200/X for pumps",
    "b": "Filter AB-1300/X for pumps",
    "c": "Plate AB of 1200 x 800 mm",
    "d": "Camera RTX4090 16 GB",
    "e": "EAN 4 006381 333931",
    "f": "Powerbank 20.000 mAh",
    "g": "Power bank 20,000mAh",
    "h": "Screws M8x60, with a drill B12",
}


@pytest.fixture(scope="module", params=["english-parts", "by-attribute:lang"])
def searcher(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    documents = [Document(key, text, attributes={"lang": "de"}) for key, text in TEXTS.items()]
    out = tmp_path_factory.mktemp("codes") / "i"
    return build_index(documents, out, analyzer=request.param, store_text=True)


def test_pieces_of_a_code_are_joined_if_the_index_has_it(searcher: Searcher) -> None:
    similar = searcher.backend.similar_terms
    assert similar is not None
    read = {
        "AB 1200 X": "AB-1200-X",
        "ab 1200 x pumps": "ab-1200-x pumps",
        "filter AB 1300 X, pumps": "filter AB-1300-X, pumps",
        "RTX 4090": "RTX-4090",
        "AB 1400 X": "AB 1400 X",  # of no document
        "AB  1200 X": "AB  1200 X",  # two blanks
        "AB-1200 X": "AB-1200-X",
        "AB 1200/X": "AB-1200/X",
        "EAN 4006381 333931": "EAN 4006381-333931",
        "EAN 4006381 333932": "EAN 4006381 333932",
        "Camera 16": "Camera 16",
        "screws m8 x 60 mm": "screws m8-x-60 mm",
        "drill B 12": "drill B 12",  # three characters
    }
    assert {text: with_whole_codes(text, similar) for text in read} == read


def test_a_code_with_blanks_finds_what_the_code_finds(searcher: Searcher) -> None:
    for query in ("AB-1200/X", "AB 1200 X", "ab1200x"):
        found = searcher.search(Search(query))
        assert found.ranking.doc_ids == ("a",)
        assert found.count() == 1
    assert searcher.rank("AB 1200 X").scores == pytest.approx(searcher.rank("AB-1200/X").scores)


@pytest.mark.parametrize("query", ["4006381333931", "4 006381 333931"])
def test_blanks_in_an_article_number(searcher: Searcher, query: str) -> None:
    assert searcher.rank(query).doc_ids == ("e",)


@pytest.mark.parametrize("query", ["20000 mAh", "20.000 mAh", "20,000 mAh", "20000mah"])
def test_thousands(searcher: Searcher, query: str) -> None:
    assert {*searcher.search(Search(query, match="all")).ranking.doc_ids} == {"f", "g"}


BRANDS = {
    "de": "Kärner Gartenschere",
    "de2": "KAERNER Hacke",
    "en": "Kaerner pruning shears",
    "fr": "Sécateur Kaerner",
    "fr2": "Sécateur Karner",
}


@pytest.mark.parametrize("query", ["Kärner", "Kaerner", "KAERNER", "KÄRNER"])
def test_umlauts_of_other_languages(tmp_path: Path, query: str) -> None:
    documents = [Document(key, text, attributes={"lang": key[:2]}) for key, text in BRANDS.items()]
    searcher = build_index(documents, tmp_path / "i", analyzer="by-attribute:lang", store_text=True)
    found = searcher.search(Search(query))
    assert {*found.ranking.doc_ids} == {"de", "de2", "en", "fr"}
    assert found.count() == 4
    marked = {hit.doc_id: snippet for hit, snippet in zip(found.hits(), found.snippets(), strict=True)}
    assert [marked["fr"].text[start:end] for start, end in marked["fr"].spans] == ["Kaerner"]
    only = searcher.search(Search(query, lang="de"))
    assert {*only.ranking.doc_ids} == {"de", "de2"}


PRODUCTS = {
    "de1": "Wüsthof Kochmesser",
    "de2": "Wuesthof Brotmesser",
    "en1": "Wüsthof knife",
    "en2": "Wüsthof bread knife",
    "en3": "blue poem on shoes in a queue",
    "en4": "Moerser lamp",
    "en5": "Mörser lamp",
    "en6": "UE-43X monitor",
    "fr1": "Couteau Wüsthof",
    "fr2": "sac à dos",
    "fr3": "sac à dos, U 43",
    "fr4": "bluray",
}


@pytest.mark.parametrize("store_text", [True, False])
@pytest.mark.parametrize("query", ["wuesthof", "Wuesthof", "WUESTHOF", "Wüsthof", "wusthof"])
def test_umlauts_that_are_spelled_out(tmp_path: Path, query: str, store_text: bool) -> None:
    documents = [Document(key, text, attributes={"lang": key[:2]}) for key, text in PRODUCTS.items()]
    searcher = build_index(documents, tmp_path / "i", analyzer="by-attribute:lang", store_text=store_text)
    found = searcher.search(Search(query))
    assert {*found.ranking.doc_ids} == {"de1", "de2", "en1", "en2", "fr1"}
    assert found.count() == 5
    assert found.did_you_mean() == []
    for each in found.explain(list(found.ranking.doc_ids)):
        assert sum(part.score for part in each.contributions) == pytest.approx(each.score)
    assert {*searcher.search(Search(query, lang="de")).ranking.doc_ids} == {"de1", "de2"}
    if query != "wusthof":
        assert {*searcher.search(Search(query, lang="fr")).ranking.doc_ids} == {"fr1"}


def test_two_vowels_that_are_no_umlaut(tmp_path: Path) -> None:
    documents = [Document(key, text, attributes={"lang": key[:2]}) for key, text in PRODUCTS.items()]
    searcher = build_index(documents, tmp_path / "i", analyzer="by-attribute:lang", store_text=True)
    similar = searcher.backend.similar_terms
    assert similar is not None
    # As many documents have Moerser as Mörser. More have dos than does, but no text writes it with an umlaut.
    for text in ("blue shoes", "poem queue", "does", "Moerser", "UE-43X", "neue", "unknown ue"):
        assert with_known_umlauts(text, similar) == text
    assert with_known_umlauts("Wuesthof-Messer, blue", similar) == "Wüsthof-Messer, blue"


def test_an_index_in_german_reads_both_spellings(tmp_path: Path) -> None:
    documents = [Document(key, text) for key, text in PRODUCTS.items()]
    searcher = build_index(documents, tmp_path / "i", analyzer="german-codes", store_text=True)
    found = searcher.search(Search("wuesthof"))
    assert found.query.text == "wuesthof"
    assert found.count() == 5


ERRORS = {
    "a": "An error of the pump",
    "b": "Error E-3 of the pump",
    "c": "Screen of 21 inch, class E",
    "d": "Error E22",
    "e": "Battery of 900 mAh",
}


def test_parts_of_a_code_that_no_document_contains_have_no_weight(tmp_path: Path) -> None:
    searcher = build_index([Document(*each) for each in ERRORS.items()], tmp_path / "i", store_text=True)
    error, unknown = searcher.search(Search("error")), searcher.search(Search("error E21"))
    assert unknown.ranking.doc_ids == error.ranking.doc_ids
    assert unknown.ranking.scores == pytest.approx(error.ranking.scores)
    assert searcher.search(Search("error E21", match="all")).ranking.doc_ids == ()
    assert searcher.search(Search("E21")).reasons()[0] == "not in the index: E21"
    assert searcher.rank("error E22").doc_ids[0] == "d"
    # Longer letters of a code say something, numbers without a code are words, and a beginning of a code is contained.
    assert set(searcher.rank("pump 700mAh").doc_ids) == {"a", "b", "e"}
    assert searcher.rank("pump 21").doc_ids[0] == "c"
    assert set(searcher.rank("battery E").doc_ids) >= {"e", "b", "c"}


def test_a_beginning_of_a_code_keeps_its_parts(searcher: Searcher) -> None:
    found = searcher.rank("pumps AB-1200").doc_ids
    assert found[:2] == ("a", "b")
    assert set(searcher.rank("pumps AB-7777").doc_ids) == {"a", "b", "c"}  # the letters ab


LAMPS = {
    "de1": "Lampe A Papier",
    "de2": "Stehlampe A",
    "en1": "table lamp",
    "en2": "die casting",
    "fr1": "lampe à poser noire",
}


def test_stop_words_of_another_language(tmp_path: Path) -> None:
    documents = [Document(key, text, attributes={"lang": key[:2]}) for key, text in LAMPS.items()]
    searcher = build_index(documents, tmp_path / "i", analyzer="by-attribute:lang")
    # French documents have lampe and poser; German ones lack poser, and have lampe alone.
    found = searcher.search(Search("lampe à poser")).ranking
    assert found.doc_ids[0] == "fr1"
    assert found.scores[found.doc_ids.index("de1")] == pytest.approx(
        searcher.search(Search("lampe poser")).ranking.scores[found.doc_ids.index("de1")]
    )
    assert set(searcher.rank("à").doc_ids) == {"de1", "de2"}  # no other words
    assert searcher.rank("die casting").doc_ids == ("en2",)  # a stop word in German, which lacks casting
