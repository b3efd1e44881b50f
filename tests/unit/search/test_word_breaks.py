"""Words of a query with a blank too many or too few, by hand."""

from __future__ import annotations

from math import log

import pytest
from tests.searches import searching

import termwise
from termwise import Document, build_index
from termwise.engine.word_breaks import LONGEST_WORD, MOST_PAIRS
from termwise.fusion import mix_indexes
from termwise.search import Relevance, Search, SimilarWord, Suggestion

TEXTS = {
    "a": "rechargeable headlamp",
    "b": "headlamp",
    "c": "shower head",
    "d": "desk lamp",
    "e": "blue rain coat",
    "f": "red rain coat",
    "g": "coat hanger",
    "h": "car with a port",
}
DOCUMENTS = [Document(name, text) for name, text in TEXTS.items()]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    return build_index(DOCUMENTS, tmp_path_factory.mktemp("indexes") / "i", store_text=True)


def weights(searcher, query):
    terms, values = searching(searcher, fuzzy=True).encode(query).row(0)
    return {searcher.index.vocabulary.token(term): value for term, value in zip(terms, values, strict=True)}


def idf(searcher, term):
    documents = searcher.index.document_frequencies[searcher.index.vocabulary.number(term)]
    return log(1 + (len(searcher.index) - documents + 0.5) / (documents + 0.5))


def found(searcher, query, **options):
    return searcher.search(Search(query, fuzzy=True, **options)).ranking.doc_ids


def test_two_words_stand_for_a_joined_one(searcher):
    # One blank of nine characters; two words, two documents with the joined one and none with both.
    both = (idf(searcher, "head") + idf(searcher, "lamp")) / idf(searcher, "headlamp")
    expected = {"head": 1, "lamp": 1, "headlamp": both * 8 / 9}
    assert weights(searcher, "head lamp") == pytest.approx(expected)
    assert weights(searcher, "Head   Lamp") == pytest.approx(expected)
    assert weights(searcher, "head lamp head lamp")["headlamp"] == pytest.approx(2 * both * 8 / 9)
    for query in ("head, lamp", "lamp head", "head lamp headlamp"):
        assert weights(searcher, query).get("headlamp", 1) == 1, query
    assert "headlamp" not in weights(searcher, "desk " * (MOST_PAIRS + 1) + "head lamp")


def test_a_joined_word_shares_its_weight_with_the_documents_of_both_words(tmp_path):
    both = [*DOCUMENTS, Document("i", "lamp with a head")]
    searcher = build_index(both, tmp_path / "i")
    ratio = (idf(searcher, "head") + idf(searcher, "lamp")) / idf(searcher, "headlamp")
    assert weights(searcher, "head lamp")["headlamp"] == pytest.approx(ratio * 8 / 9 * 2 / 3)
    as_many = build_index([*both, Document("j", "lamp head")], tmp_path / "j")
    assert "headlamp" not in weights(as_many, "head lamp")
    assert as_many.did_you_mean("head lamp") == []


def test_a_word_stands_for_two(searcher):
    # One blank of eight characters; both words have half of the weight.
    assert weights(searcher, "raincoat") == pytest.approx({"rain": 7 / 16, "coat": 7 / 16})
    assert weights(searcher, "raincoats") == pytest.approx({"rain": 8 / 18, "coat": 8 / 18})
    assert weights(searcher, "carport") == {}  # the words are in a text, and not next to each other
    assert weights(searcher, "rain" * LONGEST_WORD + "coat") == {}


def test_two_words_share_the_weight_with_similar_terms(tmp_path):
    documents = [*DOCUMENTS, *(Document(name, "raincoast") for name in "xyz")]
    searcher = build_index(documents, tmp_path / "i")
    third = 7 / 8 / 5  # of five documents, two have both words, and three the term of similar spelling
    assert weights(searcher, "raincoat") == pytest.approx(
        {"rain": third, "coat": third, "raincoast": 3 * third}
    )
    # A blank is one edit, and nearer than two.
    documents = [*DOCUMENTS, Document("x", "raincaost")]
    assert set(weights(build_index(documents, tmp_path / "j"), "raincoat")) == {"rain", "coat"}


def test_without_texts_two_words_need_a_common_document(tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i")
    assert set(weights(searcher, "carport")) == {"car", "port"}
    assert weights(searcher, "deskhanger") == {}


def test_documents_match_all_words(searcher):
    assert found(searcher, "head lamp", match="all") == ("b", "a")
    assert found(searcher, "rechargeable head lamp", match="all") == ("a",)
    assert found(searcher, "blue raincoat", match="all") == ("e",)
    assert found(searcher, "raincoat")[:2] == ("e", "f")
    assert searcher.rank("raincoat").doc_ids == ()


def test_other_blanks_are_suggested(searcher):
    assert searcher.did_you_mean("head lamp") == [
        Suggestion("head lamp", (0, 9), (SimilarWord("headlamp", "headlamp", 1, 2),))
    ]
    assert searcher.did_you_mean("blue raincoat") == [
        Suggestion("raincoat", (5, 13), (SimilarWord("rain coat", "rain coat", 1, 2),))
    ]
    assert searcher.did_you_mean("rain coat") == searcher.did_you_mean("headlamp") == []
    assert [each.words[0].word for each in searcher.did_you_mean("Head Lamp HEAD LAMP")] == ["Headlamp"]
    # The words of a joined one have no suggestions of their own.
    found = searcher.search(Search("head lamp", fuzzy=True))
    (suggestion,) = found.similar_words()
    assert suggestion.words[0].word == "headlamp"
    assert found.did_you_mean() == []  # a fuzzy search has searched for it


def test_explanations_add_up(searcher):
    for query, name, term, span in (
        ("a red head lamp", "b", "headlamp", (6, 15)),
        ("raincoat", "e", "rain", (0, 8)),
    ):
        (explanation,) = searcher.search(Search(query, fuzzy=True)).explain([name])
        total = explanation.constant + sum(part.score for part in explanation.contributions)
        assert total == pytest.approx(explanation.score, abs=1e-12)
        parts = {part.term: (part.origin, part.query_spans) for part in explanation.contributions}
        assert parts[term] == ("fuzzy", (span,))
        assert explanation.unknown == ()


def test_words_that_the_index_lacks_are_joined(tmp_path):
    """No document has lap or bord; neither has a suggestion of its own, and neither is unknown."""
    documents = [Document("a", "laptop"), Document("b", "top board"), Document("c", "laptops")]
    searcher = build_index(documents, tmp_path / "i", store_text=True)
    ratio = 2 * log(1 + 2.5 / 1.5) / log(1 + 1.5 / 2.5)  # of three documents, as if one had lap
    assert weights(searcher, "lap top") == pytest.approx({"top": 1, "laptop": ratio * 6 / 7})
    (explanation,) = searcher.search(Search("lap top", fuzzy=True)).explain(["a"])
    assert explanation.unknown == ()
    assert [each.word for each in searcher.did_you_mean("lap top")] == ["lap top"]


def test_numbers_are_not_joined(tmp_path):
    documents = [Document("a", "1000 e27"), Document("b", "e 27 10 00")]
    searcher = build_index(documents, tmp_path / "i", analyzer="whitespace")
    assert set(weights(searcher, "10 00")) == {"10", "00"}
    assert weights(searcher, "e2710") == {}


def test_synonyms_are_no_typos(searcher):
    relevance = Relevance.of({"synonyms": ["head lamp => hanger", "raincoat => hanger"]})
    assert found(searcher, "head lamp", relevance=relevance) == ("g",)
    assert found(searcher, "raincoat", relevance=relevance) == ("g",)
    assert searcher.search(Search("head lamp", relevance=relevance)).did_you_mean() == []


def test_languages_have_their_own_words(tmp_path):
    shop = [
        {"id": "1", "title": "headlamp", "lang": "en"},
        {"id": "2", "title": "Headlamp", "lang": "de"},
        {"id": "3", "title": "Kopf Lampe", "lang": "de"},
        {"id": "4", "title": "head", "lang": "en"},
    ]
    searcher = build_index(
        shop, tmp_path / "i", model="bm25", analyzer="by-attribute:lang:de=german", store_text=True
    )
    assert set(found(searcher, "head lamp", match="all")) == {"1", "2"}
    assert found(searcher, "Kopflampe", match="all") == ("3",)
    assert found(searcher, "head lamp", match="all", lang="de") == ("2",)
    (suggestion,) = searcher.did_you_mean("Kopflampe")
    assert suggestion.words == (SimilarWord("Kopf lampe", "de:kopf de:lamp", 1, 1),)


def test_parts_of_pieces_read_two_words_and_keep_those_that_are_joined(tmp_path):
    build_index(DOCUMENTS, tmp_path / "words", store_text=True)
    build_index(DOCUMENTS, tmp_path / "pieces", analyzer="wordpiece")
    mix_indexes([tmp_path / "pieces", tmp_path / "words"], [0.5, 0.5], tmp_path / "mixture")
    mixture = searching(termwise.open(tmp_path / "mixture"), fuzzy=True)
    vocabulary = mixture.parts[0].index.vocabulary

    def pieces(query):
        terms, values = mixture.encode(query).row(0)
        return dict(zip(map(vocabulary.token, terms.tolist()), values.tolist(), strict=True))

    assert pieces("blue raincoat") == pytest.approx({"blue": 1, "rain": 7 / 16, "coat": 7 / 16})
    assert pieces("head lamp") == {"head": 1, "lamp": 1}
