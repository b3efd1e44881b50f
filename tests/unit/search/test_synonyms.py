"""Searches with synonyms: weights, matches, conditions, explanations, and mixtures."""

from __future__ import annotations

import pytest

from termwise import Document, build_index
from termwise.engine.query_settings import QuerySettings
from termwise.fusion import mix_indexes
from termwise.models import VectorModel
from termwise.search import Relevance, Search
from termwise.search.opening import open_searcher
from termwise.text import make_analyzer_by_attribute

DOCUMENTS = [
    Document("sofa", "red sofa"),
    Document("couch", "red couch with cushions"),
    Document("set", "television set"),
    Document("tv", "tv"),
    Document("both", "a settee, a couch"),
]
LINES = ["sofa, couch, settee", "tv, television set", "telly => tv ^0.5", "chair => stool"]


def relevance(*lines):
    return Relevance.of({"synonyms": lines or LINES})


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes") / "bm25"
    return build_index(DOCUMENTS, folder, analyzer="english", store_text=True)


def weights(searcher, query, *lines, part=0, **options):
    """Return the weights of the terms of a query."""
    encoding = searcher.backend.encodings(Search(query, relevance=relevance(*lines), **options))[part]
    terms, values = encoding.encoder.encode_query(query).row(0)
    names = [encoding.index.vocabulary.token(term) for term in terms.tolist()]
    return dict(zip(names, values.tolist(), strict=True))


def test_weights_by_hand(searcher):
    def of(query, *lines, **options):
        return pytest.approx(weights(searcher, query, *lines, **options))

    assert of("Sofas") == {"sofa": 1, "couch": 0.7, "sette": 0.7}
    assert of("sofa sofa") == {"sofa": 2, "couch": 1.4, "sette": 1.4}
    # A word of the query, or of several lines, keeps the largest of its weights.
    assert of("sofa couch") == {"sofa": 1, "couch": 1, "sette": 0.7}
    assert of("sofa", "sofa, couch ^0.2", "sofa, couch ^0.9") == {"sofa": 1, "couch": 0.9}
    # A phrase of n words: a half of 0.7 each; for a phrase of two words: two times 0.7.
    assert of("tv") == {"tv": 1, "televis": 0.35, "set": 0.35}
    assert of("television set") == {"televis": 1, "set": 1, "tv": 1.4}
    assert of("set television") == {"televis": 1, "set": 1}
    # One way: the word is replaced; nothing is added for an added word.
    assert of("telly") == {"tv": 0.5}
    assert of("red telly", "telly => telly, tv ^0.5") == {"red": 1, "tv": 0.5}
    assert of("sofa", "sofa => sofa, couch ^0.5") == {"sofa": 1, "couch": 0.5}
    assert of("tv", "tv => sofa", "sofa, couch") == {"sofa": 1}
    assert of("sofa sofa", weighting=QuerySettings(counts="once")) == {"sofa": 1, "couch": 0.7, "sette": 0.7}


def test_a_synonym_that_contains_another_one_adds_nothing(searcher):
    def of(query, *lines):
        return pytest.approx(weights(searcher, query, *lines))

    # Documents with "television set" have "television", and would count 0.7 + 0.35.
    assert of("tv", "tv, television, television set") == {"tv": 1, "televis": 0.7}
    assert of("tv", "tv, set, television set, television set tv") == {"tv": 1, "set": 0.7}
    assert of("television", "television, television set") == {"televis": 1}
    assert of("telly", "telly => television, television set") == {"televis": 1}
    # Unless it weighs more, or the typed words are replaced.
    assert of("tv", "tv, television ^0.2", "tv, television set ^0.9") == {
        "tv": 1,
        "televis": 0.45,
        "set": 0.45,
    }
    assert of("television", "television => television set") == {"televis": 0.5, "set": 0.5}
    # Equal words in another order, and words in common.
    assert of("tv", "tv, television set, set television") == {"tv": 1, "televis": 0.35, "set": 0.35}
    assert of("tv", "tv, television set, red television") == {
        "tv": 1,
        "televis": 0.35,
        "set": 0.35,
        "red": 0.35,
    }


def test_the_typed_word_is_above_compounds_that_are_synonyms(tmp_path):
    documents = [Document("wifi", "Wi-Fi box"), Document("wlan", "WLAN cable hub box")]  # of four tokens
    searcher = build_index(documents, tmp_path / "i", analyzer="english-parts", store_text=True)
    assert weights(searcher, "wlan", "wlan, wifi, wi-fi") == pytest.approx({"wlan": 1, "wifi": 0.7})
    results = searcher.search(Search("wlan", relevance=relevance("wlan, wifi, wi-fi")))
    assert results.ranking.doc_ids == ("wlan", "wifi")
    for explanation, hit in zip(results.explain(), results.ranking, strict=True):
        assert sum(part.score for part in explanation.contributions) == explanation.score == hit.score
    assert weights(searcher, "chair") == {}


def test_weights_of_other_query_weightings(tmp_path):
    (tmp_path / "idf.json").write_text('{"sofa": 3, "couch": 2}')
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "vector": {"sofa": 1}}\n{"id": "b", "vector": {"couch": 1}}\n')
    by_idf = VectorModel(query="idf", idf=str(tmp_path / "idf.json"))
    found = build_index(rows, tmp_path / "idf", model=by_idf, analyzer="whitespace")
    assert weights(found, "sofa") == pytest.approx({"sofa": 3, "couch": 0.7 * 2})
    found = build_index(
        rows, tmp_path / "once", model=VectorModel(query="occurrences"), analyzer="whitespace"
    )
    assert weights(found, "sofa sofa") == pytest.approx({"sofa": 1, "couch": 0.7})


@pytest.mark.parametrize("model", ["bm25", "jm", "dirichlet", "model1", "lookup"])
def test_scores_are_sums(tmp_path, model):
    analyzer = {} if model in ("model1", "lookup") else {"analyzer": "english"}
    searcher = build_index(DOCUMENTS, tmp_path / "i", model=model, store_text=True, **analyzer)
    results = searcher.search(Search("red sofa", relevance=relevance()))
    assert results.ranking.doc_ids[0] == "sofa"
    origins = set()
    for explanation, score in zip(results.explain(), results.ranking.scores.tolist(), strict=True):
        total = explanation.constant + sum(part.score for part in explanation.contributions)
        assert explanation.score == score
        assert total == score if model == "bm25" else total == pytest.approx(score, abs=1e-9)
        origins |= {
            (part.term, part.query_spans) for part in explanation.contributions if part.origin == "synonym"
        }
    assert ("couch", ((4, 8),)) in origins


def test_documents_with_synonyms_are_matches(searcher):
    def found(query, **options):
        return searcher.search(Search(query, relevance=relevance(), **options))

    assert set(found("settee").ranking.doc_ids) == {"sofa", "couch", "both"}
    assert found("settee").count() == 3
    assert searcher.search(Search("settee")).count() == 1
    assert found("telly").ranking.doc_ids == ("tv",)
    assert found("television sets").ranking.doc_ids == ("set", "tv")
    assert found(None, like="sofa").ranking.doc_ids == ("couch",)  # no synonyms for a document
    (snippet,) = found("telly").snippets()
    assert [snippet.text[slice(*span)] for span in snippet.spans] == ["tv"]
    (snippet,) = found("sofa").snippets(["both"])
    assert [snippet.text[slice(*span)] for span in snippet.spans] == ["settee", "couch"]


def test_required_words_and_phrases(searcher):
    def found(query, **options):
        return set(searcher.search(Search(query, relevance=relevance(), **options)).ranking.doc_ids)

    assert found("red", must="sofa") == {"sofa", "couch"}
    assert found("red", must="red settees") == {"sofa", "couch"}
    assert found('red "red settee"', syntax=True) == {"sofa", "couch"}
    assert found("red", must="couch", must_not="sofa") == {"couch"}
    assert found("set tv", must="television set") == {"set", "tv"}
    assert found("tv", must="tv") == {"set", "tv"}
    assert found("telly", must="telly") == {"tv"}
    (explanation,) = searcher.search(Search("red", must="sofa", relevance=relevance())).explain(["couch"])
    assert [each.in_text for each in explanation.conditions] == [True]


def test_required_words_without_texts(tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i", analyzer="english")
    found = searcher.search(Search("tv set", must="tv", relevance=relevance()))
    assert found.ranking.doc_ids == ("tv",)  # the index does not know where "television set" is
    found = searcher.search(Search("red", must="sofa", relevance=relevance()))
    assert set(found.ranking.doc_ids) == {"sofa", "couch"}


def test_words_with_synonyms_are_no_mistakes(tmp_path):
    documents = [Document("a", "couch"), Document("b", "soda"), Document("c", "settee")]
    searcher = build_index(documents, tmp_path / "i", store_text=True)
    without = searcher.search(Search("sofa", fuzzy=True))
    assert (without.ranking.doc_ids, without.similar_words()[0].words[0].word) == (("b",), "soda")
    found = searcher.search(Search("sofa", fuzzy=True, relevance=relevance()))
    assert (found.ranking.doc_ids, found.similar_words()) == (("a", "c"), [])
    # The synonyms of a word are not those of a similar one.
    found = searcher.search(Search("cuoch", fuzzy=True, relevance=relevance()))
    assert found.ranking.doc_ids == ("a",)
    # No document has a synonym of chair: it may be a mistake.
    searcher = build_index(
        [Document("a", "chairs"), Document("b", "choir")], tmp_path / "j", analyzer="standard"
    )
    assert searcher.search(Search("chair", fuzzy=True, relevance=relevance())).similar_words()


def test_the_words_of_a_query_that_are_replaced_and_unknown(searcher):
    (explanation,) = searcher.search(Search("red chair", relevance=relevance())).explain(["sofa"])
    assert explanation.unknown == ((4, 9),)
    (explanation,) = searcher.search(Search("red telly", relevance=relevance())).explain(["tv"])
    assert explanation.unknown == ()
    assert [(each.term, each.origin) for each in explanation.contributions if each.score] == [
        ("tv", "synonym")
    ]
    assert "telly (tv)" in explanation.to_text()


def test_chunks_and_fields(tmp_path):
    documents = [
        Document.of_fields("a", {"title": "sofa", "text": "red leather " * 20}),
        Document.of_fields("b", {"title": "couch", "text": "red leather " * 20}),
        Document.of_fields("c", {"title": "chair", "text": "red leather " * 20 + "settee"}),
    ]
    searcher = build_index(
        documents,
        tmp_path / "i",
        fields={"title": 3, "text": 1},
        chunk=8,
        store_text=True,
        analyzer="english",
    )
    results = searcher.search(Search("sofa", relevance=relevance()))
    assert set(results.ranking.doc_ids) == {"a", "b", "c"}
    for explanation in results.explain():
        assert explanation.score == sum(part.score for part in explanation.contributions)


@pytest.mark.parametrize("model", ["bm25", "lookup"])
def test_parts_of_pieces_read_synonyms(tmp_path, model):
    settings = {} if model == "lookup" else {"analyzer": "wordpiece"}
    pieces = build_index(DOCUMENTS, tmp_path / "pieces", model=model, store_text=True, **settings)
    build_index(DOCUMENTS, tmp_path / "words", analyzer="english")
    mix_indexes([tmp_path / "words", tmp_path / "pieces"], [0.5, 0.5], tmp_path / "m")
    mixture = open_searcher(tmp_path / "m")
    tokens = pieces.analyzer.tokens("settee")
    assert len(tokens) > 1
    for query in ("couch", "couches"):  # the part of whole words knows that the second is a form of the first
        found = weights(mixture, query, "couch, settee", part=1)
        assert {token: found[token] for token in tokens} == pytest.approx(dict.fromkeys(tokens, 0.7))
    found = weights(mixture, "red tv", "tv => television set", part=1)
    assert found == pytest.approx({"red": 1, "television": 0.5, "set": 0.5})
    results = mixture.search(Search("red couches", relevance=relevance(), fuzzy=True))
    assert "sofa" in results.ranking.doc_ids[:2]
    for explanation in results.explain():
        total = explanation.constant + sum(part.score for part in explanation.contributions)
        assert total == pytest.approx(explanation.score, abs=1e-9)
    (explanation,) = results.explain(["sofa"])
    parts = {each.part for each in explanation.contributions if each.origin == "synonym"}
    assert parts == {"words", "pieces"}


def test_parts_of_compounds_are_no_words_of_pieces(tmp_path):
    documents = [Document("a", "handtuch"), Document("b", "sofa")]
    build_index(documents, tmp_path / "pieces", analyzer="wordpiece")
    build_index(documents, tmp_path / "words", analyzer="english-parts")
    mix_indexes([tmp_path / "words", tmp_path / "pieces"], [0.5, 0.5], tmp_path / "m")
    found = weights(open_searcher(tmp_path / "m"), "hand-tuch", "hand-tuch, sofa", part=1)
    assert found["sofa"] == pytest.approx(0.7)  # not 3 * 0.7, for *handtuch*, *hand* and *tuch*


def test_each_language_divides_the_weight_among_its_own_parts(tmp_path):
    texts = {"de": "Hand-Tuch", "en": "towel", "fr": "gant"}
    documents = [Document(name, text, {"lang": name}) for name, text in texts.items()]
    analyzer = make_analyzer_by_attribute("lang", {"de": "german-codes", "en": "english", "fr": "french"})
    searcher = build_index(documents, tmp_path / "i", analyzer=analyzer)
    lines = ["towel, hand-tuch", "gant, hand-tuch"]
    for query in ("towel", "gant"):
        found = searcher.search(Search(query, relevance=relevance(*lines)))
        assert found.ranking.doc_ids[0] == ("en" if query == "towel" else "fr")
        (explanation,) = found.explain(["de"])
        added = {
            part.term: part.query_weight for part in explanation.contributions if part.origin == "synonym"
        }
        assert sum(added.values()) == pytest.approx(0.7, abs=1e-3)  # once for three tokens


def test_nothing_changes_without_a_match(searcher):
    asked = Search("red television", relevance=relevance())
    assert searcher.search(asked).ranking == searcher.search(Search("red television")).ranking
