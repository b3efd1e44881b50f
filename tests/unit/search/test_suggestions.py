"""Suggestions for words that an index lacks, and explanations of similar terms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searches import searching

import termwise
from termwise import Document, Query, Searcher, build_index
from termwise.engine import similar_terms
from termwise.engine.similar_terms import MOST_WORDS, SimilarTerms
from termwise.engine.term_spread import term_spreads
from termwise.errors import ParameterError
from termwise.fusion import mix_indexes
from termwise.search import Relevance, Search, SimilarWord, Suggestion
from termwise.search.suggestions import leading

DOCUMENTS = [
    Document("a", "Merging sorted lists. Sorting takes time, and merging does not."),
    Document("b", "Shuffle a Kestrel list."),
    Document("c", "A sorter of lists, sorters of cards."),
]
BOTH = {"fuzzy": True, "prefix": True}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    options = {"english": {"store_text": True}, "standard": {}, "wordpiece": {}}
    for analyzer, given_ in options.items():
        build_index(DOCUMENTS, folder / analyzer, analyzer=analyzer, **given_)
    mix_indexes([folder / "wordpiece", folder / "english"], [0.4, 0.6], folder / "mixture")
    build_index(DOCUMENTS, folder / "jm", analyzer="wordpiece", model="jm")
    mix_indexes([folder / "wordpiece", folder / "jm"], [0.5, 0.5], folder / "pieces")
    return folder


def test_words_that_the_index_lacks(folders):
    searcher = termwise.open(folders / "standard")
    assert searcher.did_you_mean("soted lists, srting Crads crads") == [
        Suggestion("soted", (0, 5), (SimilarWord("sorted", "sorted", 1, 1),)),
        Suggestion("srting", (13, 19), (SimilarWord("sorting", "sorting", 1, 1),)),
        Suggestion("Crads", (20, 25), (SimilarWord("cards", "cards", 1, 1),)),
    ]
    assert searcher.did_you_mean(Query("q", "sorted zebra")) == []
    assert searcher.did_you_mean("") == []


def test_stems_are_shown_as_a_word_of_the_texts(folders):
    searcher = termwise.open(folders / "english")
    shown = {
        suggestion.word: [(similar.word, similar.term) for similar in suggestion.words]
        for suggestion in searcher.did_you_mean("megring shuffel Kestrl kestrl")
    }
    assert shown == {
        "megring": [("merging", "merg")],
        "shuffel": [("shuffle", "shuffl")],
        "Kestrl": [("Kestrel", "kestrel")],
    }


def test_the_nearest_word_of_a_stem_is_shown(tmp_path):
    documents = [Document("a", "Drilling, drilling."), Document("b", "Drills of steel. Dry.")]
    searcher = build_index(documents, tmp_path / "i", store_text=True)
    (suggestion,) = searcher.did_you_mean("drils")
    assert [(each.word, each.term) for each in suggestion.words] == [("drills", "drill")]


def test_words_are_compared_as_typed(tmp_path):
    """The stem of cordles is nearer to that of corded than the words are."""
    documents = [Document(name, "A corded drill. The cords.") for name in "abc"]
    documents.append(Document("d", "A cordless drill. Lists."))
    searcher = build_index(documents, tmp_path / "i", store_text=True)
    (suggestion,) = searcher.did_you_mean("cordles")
    assert suggestion.words == (SimilarWord("cordless", "cordless", 1, 1),)
    fuzzy = searching(termwise.open(tmp_path / "i"), fuzzy=True)
    assert fuzzy.rank("cordles").doc_ids == ("d",)
    # A word of a stem may differ by its last character, too.
    assert [(each.word, each.distance) for each in searcher.did_you_mean("lsit")[0].words] == [("lists", 2)]


def test_stop_words_are_completed(tmp_path):
    documents = [
        Document("a", "Washed waterproof jackets."),
        Document("b", "noise, noise; being, washed; a jacket"),
        Document("c", "wasabi"),
    ]
    for number, given_ in enumerate([{"store_text": True}, {"analyzer": "german", "store_text": True}]):
        searcher = build_index(documents, tmp_path / str(number), **given_)
        found = {
            text: sorted(each.word for each in searcher.complete(text))
            for text in ("wa", "was", "no", "jackets no")
        }
        assert found == {
            "wa": ["wasabi", "washed", "waterproof"],
            "was": ["wasabi", "washed"],
            "no": ["noise"],
            "jackets no": ["noise"],
        }
    searcher = termwise.open(tmp_path / "0")
    assert searcher.complete("jackets No")[0].text == "jackets noise"
    assert [each.word for each in searcher.complete("be")] == ["being"]  # its stem is the stop word
    for text in ("no ", "no.", "the", "", "\ud800", "was \ud800"):
        assert searcher.complete(text) == []


def test_unfinished_words_are_no_mistakes(folders):
    searcher = searching(termwise.open(folders / "standard"), prefix=True)
    assert searcher.did_you_mean("sorte") == []
    assert [each.word for each in searcher.did_you_mean("sorte ")] == ["sorte"]


def test_a_mixture_answers_by_its_part_of_whole_words(folders):
    mixture = searching(termwise.open(folders / "mixture"), **BOTH)
    assert [part.backend.similar_terms is None for part in mixture.parts] == [True, False]
    assert [each.words[0].word for each in mixture.similar_words("megring lists")] == ["merging"]
    assert mixture.rank("megring").doc_ids[0] == "a"
    explanation = mixture.explain("megring lists", "a")
    assert {(part.term, part.part) for part in explanation.contributions if part.origin == "fuzzy"} == {
        ("merg", "english"),
        ("merging", "wordpiece"),
    }
    total = explanation.constant + sum(part.score for part in explanation.contributions)
    assert total == pytest.approx(explanation.score, abs=1e-9)
    assert termwise.open(folders / "pieces").did_you_mean("megring") == []
    with pytest.raises(ParameterError, match="need an index of whole words"):
        searching(termwise.open(folders / "pieces"), **BOTH)


@pytest.mark.parametrize("model", ["bm25", "jm", "lookup"])
def test_parts_of_pieces_read_similar_words(tmp_path, model):
    """Their row is that of the other words, and those of the similar words with their shares."""
    settings = {} if model == "lookup" else {"analyzer": "wordpiece"}
    pieces = build_index(DOCUMENTS, tmp_path / "pieces", model=model, store_text=True, **settings)
    build_index(DOCUMENTS, tmp_path / "words", analyzer="standard")
    mix_indexes([tmp_path / "words", tmp_path / "pieces"], [0.5, 0.5], tmp_path / "m")
    mixture = searching(termwise.open(tmp_path / "m"), **BOTH)

    def row(searcher, query, part=0):
        encoder = searching(searcher).encoder(part) if searcher is pieces else searcher.encoder(part)
        terms, weights = encoder.encode_query(query).row(0)
        vocabulary = pieces.index.vocabulary
        return {vocabulary.token(term): value for term, value in zip(terms, weights, strict=True)}

    twice = 1 + math.log(2) if model == "lookup" else 2
    # "list" and "lists" differ from "lixst" by one and two letters, "sorter" and "sorted" by one from "sorteg".
    assert row(mixture, "Merging lixst sorteg, lixst", 1) == pytest.approx(
        {"merging": 1, "list": twice * 4 / 5, "sorted": 5 / 6 / 2, "sort": 5 / 6 / 2, "##er": 5 / 6 / 2}
        | ({",": 1} if "," in row(pieces, ",") else {})
    )
    # Nothing is mistyped: "tree" and "telescope" are words, and "sorte" may be unfinished.
    for query in ("shuffle lists", "a tree", "", "telescope ", "shuffle sorte"):
        assert row(mixture, query, 1) == row(pieces, query)
    for query in ("lixst", "sorteg card lixst"):
        for explanation in mixture.search(Search(query)).explain(["a", "b", "c"]):
            total = explanation.constant + sum(part.score for part in explanation.contributions)
            assert total == pytest.approx(explanation.score, abs=1e-9)
            assert not explanation.unknown
            of_pieces = [part for part in explanation.contributions if part.part == "pieces"]
            assert {part.origin for part in of_pieces if "lixst" in query} <= {
                "fuzzy",
                "absent",
                "vector",
                "exact",
            }
            assert all(part.origin != "exact" or part.term == "card" for part in of_pieces)


def test_a_mixture_of_open_indexes_reads_similar_words(folders):
    words, pieces = termwise.open(folders / "english"), termwise.open(folders / "wordpiece")
    without = Searcher.mix({"words": words, "pieces": pieces}, [0.6, 0.4])
    mixture = searching(without, fuzzy=True)
    query = "megring lists"
    opened = searching(termwise.open(folders / "mixture"), fuzzy=True)
    assert mixture.rank(query).scores == pytest.approx(opened.rank(query).scores)
    assert without.refresh() is without
    assert searching(without).encode(query, 1) == pieces.encode(query)
    assert mixture.encode(query, 1) != pieces.encode(query)


def test_a_word_of_the_vocabulary_of_pieces_is_no_typo(tmp_path):
    for name, analyzer in {"english": "english", "wordpiece": "wordpiece"}.items():
        build_index([Document("a", "A cone. Tests.")], tmp_path / name, analyzer=analyzer)
    mix_indexes([tmp_path / "english", tmp_path / "wordpiece"], [0.4, 0.6], tmp_path / "m")
    alone = termwise.open(tmp_path / "english")
    mixture = searching(termwise.open(tmp_path / "m"), fuzzy=True)
    assert [each.word for each in alone.did_you_mean("Come tesst")] == ["Come", "tesst"]
    assert [each.word for each in mixture.similar_words("Come tesst")] == ["tesst"]
    assert mixture.rank("come").doc_ids == ()


def test_an_explanation_shows_similar_terms_by_the_word_behind_them(folders):
    searcher = searching(termwise.open(folders / "english"), **BOTH)
    explanation = searcher.explain("megring zebra sort", "a")
    assert [(part.term, part.origin, part.query_spans) for part in explanation.contributions] == [
        ("sort", "exact", ((14, 18),)),
        ("merg", "fuzzy", ((0, 7),)),
        ("sorter", "absent", ((14, 18),)),
    ]
    assert explanation.unknown == ((8, 13),)
    assert explanation.contributions[1].spans == ((0, 7), (46, 53))
    shown = explanation.to_text()
    assert "  megring (merg)  fuzzy" in shown
    assert "query ‹megring› zebra ‹sort›" in shown
    assert "not in the index: zebra" in shown
    assert "not in this document" not in shown  # sort is
    assert " + megring (merg) " in str(explanation)
    page = explanation.to_html()
    assert '>megring</mark> <span class="sub">merg</span></th>' in page
    assert "a word of similar spelling, or with a blank more or less" in page
    assert explanation.to_dict()["contributions"][1]["origin"] == "fuzzy"
    sorter = searcher.explain("card sor", "c")
    assert {part.term: part.origin for part in sorter.contributions} == {
        "card": "exact",
        "sorter": "prefix",
        "sort": "absent",
    }
    assert "sor (sorter)  prefix" in sorter.to_text()
    assert "left out" not in sorter.to_text()


def test_no_similar_term_is_in_the_document(folders):
    explanation = searching(termwise.open(folders / "english"), **BOTH).explain("megring card", "c")
    assert "not in this document: megring" in explanation.to_text()


@pytest.mark.parametrize("model", ["bm25", "dirichlet", "jm"])
def test_explanations_add_up(tmp_path_factory, model):
    searcher = build_index(DOCUMENTS, tmp_path_factory.mktemp("i") / model, model=model, store_text=True)
    searcher = searching(searcher, **BOTH)

    words = ["megring", "srted", "lists", "sortr", "crads", "zebra", "sh", "s", "Kestrl"]

    @given(st.lists(st.sampled_from(words), max_size=5))
    @settings(max_examples=40)
    def check(words):
        query = " ".join(words)
        for hit in searcher.rank(query):
            explanation = searcher.explain(query, hit.doc_id)
            total = sum(part.score for part in explanation.contributions) + explanation.constant
            assert total == pytest.approx(explanation.score, rel=1e-12)
            assert explanation.score == hit.score

    check()


def test_rank_many_and_rank_agree(folders):
    searcher = searching(termwise.open(folders / "english"), **BOTH)
    queries = [Query("1", "megring lists"), Query("2", "shuffel"), Query("3", "so")]
    run = searcher.rank_many(queries, threads=2)
    for query in queries:
        assert run[query.query_id].doc_ids == searcher.rank(query, k=1000).doc_ids


def test_added_and_deleted_words(tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i", store_text=True)
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add([Document("d", "A telescope on a hill.")])
        writer.delete(["b"])
    assert searcher.did_you_mean("telescoep") == []
    searcher = searcher.refresh()
    assert searcher.did_you_mean("telescoep shuffel") == [
        Suggestion("telescoep", (0, 9), (SimilarWord("telescope", "telescop", 1, 1),))
    ]


def test_a_long_query_has_few_suggestions(folders, monkeypatch):
    searched = []

    def nearest(similar, token, word):
        searched.append(word)
        return ()

    words = [f"crads{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(200)]
    monkeypatch.setattr(SimilarTerms, "nearest", nearest)
    assert termwise.open(folders / "standard").did_you_mean(" ".join(["lists", *words])) == []
    assert searched == words[:MOST_WORDS]
    searched.clear()
    fuzzy = searching(termwise.open(folders / "standard"), fuzzy=True)
    assert set(fuzzy.rank(" ".join(["lists", *words])).doc_ids) == {"a", "c"}
    assert set(searched) == set(words[:MOST_WORDS])


def test_compounds_and_their_parts(tmp_path):
    texts = ["Filter AB-1200/X", "A T-shirt of cotton", "Foo bar 12mm"]
    documents = [Document(str(place), text) for place, text in enumerate(texts)]
    searcher = build_index(documents, tmp_path / "i", analyzer="english-parts", store_text=True)
    for known in ("T-shirt", "tshirt", "foo-bar", "T shirt"):
        assert searcher.did_you_mean(known) == []
    assert [each.word for each in searcher.did_you_mean("t-shrit and cottn")] == ["shrit", "cottn"]
    for typed in ("AB-12", "ab12", "AB-1200/", "ab_1200"):
        assert searcher.search(Search(typed, prefix=True)).ranking.doc_ids[0] == "0", typed
    assert [each.word for each in searcher.complete("AB-12")] == ["AB-1200/X"]
    assert [each.word for each in searcher.complete("AB-1200/")] == ["AB-1200/X"]
    assert searcher.complete("AB/") == []


def test_completions_are_written_as_in_the_texts(tmp_path):
    texts = [
        "Gießkanne, Söderholm",
        "T-Shirt: tshirt tshirt",
        "TSA lock for tapes",
        "Kaffee, Kaffeemühle und Crème-brûlée-Schälchen",
        "Kaffeemaschine, Crème",
    ]
    documents = [Document(str(place), text) for place, text in enumerate(texts)]
    german = build_index(documents, tmp_path / "de", analyzer="german-parts", store_text=True)
    english = build_index(documents, tmp_path / "en", analyzer="english-parts", store_text=True)

    def completed(searcher, *typed):
        return [[each.word for each in searcher.complete(text)] for text in typed]

    assert completed(german, "gies", "Gieß", "söd", "sod") == [
        ["gießkanne"],
        ["Gießkanne"],
        ["söderholm"],
        ["söderholm"],
    ]
    assert completed(german, "kaff") == [["kaffeemaschine", "kaffeemühle", "kaffee"]]
    assert completed(english, "sod", "gies", "cre") == [
        ["söderholm"],
        ["gießkanne"],
        ["crème-brûlée-schälchen", "crème"],
    ]
    for searcher in (german, english):
        assert completed(searcher, "t-s", "t-", "tsh") == [["t-shirt"], ["t-shirt"], ["tshirt"]]
    without = build_index(documents, tmp_path / "i", analyzer="english-parts")
    assert completed(without, "sod") == [["soderholm"]]


def test_parts_of_codes_are_no_completions(tmp_path):
    texts = [
        "lamp AB-12/RD",
        "lamp AB-12/TS",
        "TS lamp",
        "tent for 2-persons, 12-pack",
        "T-shirt RTX4090",
        "5 GHz radio",
    ]
    documents = [Document(str(place), text) for place, text in enumerate(texts)]
    searcher = build_index(documents, tmp_path / "i", analyzer="english-parts", store_text=True)

    def completed(text):
        return [each.word for each in searcher.complete(text)]

    assert completed("ab") == completed("lamp a") == ["AB-12/RD", "AB-12/TS"]
    assert completed("rd") == completed("4090") == completed("gh") == []
    assert completed("r") == ["radio", "RTX4090"]
    assert sorted(completed("ts")) == ["t-shirt", "ts"]  # a text has it as a word
    assert completed("pe") == ["persons"]
    assert completed("pa") == ["pack"]
    assert completed("12") == ["12-pack"]
    # Without texts, nothing is known about the term.
    without = build_index(documents, tmp_path / "without", analyzer="english-parts")
    assert [each.word for each in without.complete("rd")] == ["rd"]


def test_words_of_titles_come_before_those_of_most_texts(tmp_path):
    kinds = ["sofa", "saw", "sofa", "shirt", "sofa", "lamp", "lamp", "pot", "pot", "pot"]
    records = [
        {"id": str(place), "title": kind, "text": "Spare parts are in stock." + " Small." * (place < 3)}
        for place, kind in enumerate(kinds)
    ]
    searcher = build_index(records, tmp_path / "i", fields={"title": 3, "text": 1}, store_text=True)
    words = [each.word for each in searcher.complete("s")]
    assert set(words[:3]) == {"sofa", "saw", "shirt"}
    assert set(words[-2:]) == {"spare", "stock"}
    assert {each.word: each.documents for each in searcher.complete("s")}["stock"] == 10
    by_number = sorted(searcher.index.vocabulary.number(term) for term in ("sofa", "stock"))
    weights = np.zeros((len(records), 2))
    for place in range(len(records)):
        terms, values = searcher.index.weights(np.array([place])).row(0)
        for column, number in enumerate(by_number):
            weights[place, column] = values[terms == number].sum()
    by_hand = ((weights - weights.mean(axis=0)) ** 2).sum(axis=0)
    assert term_spreads(searcher.index, np.array(by_number)) == pytest.approx(by_hand, abs=1e-6)


def test_completions_are_in_documents_with_the_words_before(tmp_path, monkeypatch):
    texts = ["coffee machine", "coffee mug", "wood mug mesh", "mesh and metal", "mesh"]
    documents = [Document(str(place), text) for place, text in enumerate(texts)]
    searcher = build_index(documents, tmp_path / "i", store_text=True)

    def completed(text):
        return [each.word for each in searcher.complete(text)]

    for few in (similar_terms.FEW_DOCUMENTS, 0):
        monkeypatch.setattr(similar_terms, "FEW_DOCUMENTS", few)
        assert sorted(completed("m")) == ["machine", "mesh", "metal", "mug"]
        assert completed("coffee m") == completed("the cofee coffee m") == ["machine", "mug"]
        assert sorted(completed("wood mug m")) == ["mesh", "mug"]
        assert completed("coffee wood m") == []
        assert completed("cofee m") == completed("m")  # a mistyped word
    cut = build_index(
        [Document("a", "coffee " * 30 + "machine"), Document("b", "mesh")], tmp_path / "cut", chunk=10
    )
    assert [each.word for each in cut.complete("coffee m")] == ["machin"]


def test_codes_have_suggestions_and_are_not_searched_for(tmp_path):
    texts = [
        "Filter AB-1200/X",
        "filter AB-1200/Y",
        "toner TN-2420",
        "cable of 1200 mm, 50Hz",
        "cells CR2032",
    ]
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    searcher = build_index(documents, tmp_path / "i", store_text=True)

    def suggested(query):
        return {each.word: [similar.word for similar in each.words] for each in searcher.did_you_mean(query)}

    assert suggested("filter AB-1020/X") == {"AB-1020/X": ["AB-1200/X"]}
    assert suggested("ab1020x") == {"ab1020x": ["AB-1200/X"]}
    assert sorted(suggested("AB-1200/Z")["AB-1200/Z"]) == ["AB-1200/X", "AB-1200/Y"]
    assert (
        sorted(suggested("filter AB-120")["AB-120"])
        == sorted(suggested("ab1")["ab1"])
        == ["AB-1200/X", "AB-1200/Y"]
    )
    assert suggested("CR20, tn") == {"CR20": ["CR2032"]}
    assert suggested("tooner tn2402") == {"tooner": ["toner"], "tn2402": ["TN-2420"]}
    assert suggested("CR2033, 60hz, 1300 mm, 1201") == {"CR2033": ["CR2032"]}
    assert suggested("AB-1200/X") == suggested("AB-9999/X") == suggested("A1" * 60) == {}
    assert [each.is_code for each in searcher.did_you_mean("tooner tn2402")] == [False, True]
    fuzzy = searcher.search(Search("CR2033", fuzzy=True))
    assert fuzzy.ranking.doc_ids == ()
    assert searcher.rank("cells CR2033").doc_ids == ("4",)


SHOP = [
    Document("lamp", "A desk lamp.", {"price": 30}),
    Document("torch", "A torch, and a lamp.", {"price": 15}),
    Document("chair", "A chair for the desk. Filter AB-1200/X.", {"price": 90}),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return build_index(SHOP, tmp_path_factory.mktemp("shop") / "i", store_text=True)


@pytest.mark.parametrize(
    ("options", "suggested"),
    [
        ({"query": "lmap desk tocrh"}, ["lamp", "torch"]),
        ({"query": "chiar"}, ["chair"]),
        ({"query": "chiar", "filter": "price < 50"}, []),  # no results
        ({"query": "chiar lamp", "match": "all"}, []),
        ({"query": "chiar desk", "match": "all"}, ["chair"]),
        ({"query": "chiar lamp", "relevance": Relevance.of({"search": {"match": "all"}})}, []),
        ({"query": "chiar desk", "relevance": Relevance.of({"search": {"match": "all"}})}, ["chair"]),
        ({"query": "lmap desk", "sort": "price"}, ["lamp"]),
        ({"query": "dsek chair", "k": 1}, []),  # the same result
        ({"query": "dsek chair", "k": 1, "offset": 1}, []),
        ({"query": "lmap torch", "k": 2, "offset": 2}, ["lamp"]),
        ({"query": "chiar", "fuzzy": True}, []),  # it is searched for
        ({"query": "chiar", "relevance": Relevance.of({"search": {"fuzzy": True}})}, []),
        ({"query": "AB-1020/X", "fuzzy": True}, ["AB-1200/X"]),
        ({"query": "chiar -desk", "syntax": True}, []),
        ({"query": "chiar -torch", "syntax": True}, ["chair"]),
    ],
)
def test_suggestions_lead_to_other_results(shop, options, suggested):
    results = shop.search(Search(**options))
    assert [each.words[0].word for each in results.did_you_mean()] == suggested
    assert results.did_you_mean() or results.similar_words()


def suggestion(place, *words):
    return Suggestion("x", (place, place + 1), tuple(SimilarWord(word, word, 1, 1) for word in words))


@pytest.mark.parametrize(
    ("good", "kept"),
    [
        ({"ac", "bc", "ad"}, [["a", "b"], ["c", "d"]]),
        ({"ac", "ad", "bd"}, [["a"], ["c", "d"]]),
        ({"bc", "ad"}, [["b"], ["c"]]),  # the query with the first word of each is one that was tried
        ({"bd"}, []),
    ],
)
def test_each_word_of_a_suggestion_was_tried(good, kept):
    found = leading([suggestion(0, "a", "b"), suggestion(2, "c", "d")], lambda words: "".join(words) in good)
    assert [[word.word for word in each.words] for each in found] == kept


def test_few_words_are_tried():
    tried = []
    similar = [suggestion(0, "a", *"123456"), suggestion(2, "b")]
    assert leading(similar, lambda words: bool(tried.append(words))) == []
    assert tried == [["a", "b"], ["1", "b"], ["2", "b"], ["3", "b"], ["4", "b"]]
