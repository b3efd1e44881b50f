"""Several languages in one index: searches, statistics of each language, explanations and changes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import Document
from termwise.attributes import Schema
from termwise.engine.subwords import WordsInPieces
from termwise.errors import ParameterError, UnknownNameError
from termwise.explain.explanation_text import Remark, remarks
from termwise.indexing import renew_index
from termwise.models import QueryLikelihoodJM
from termwise.search import QueryRule, Relevance, Search, Searcher
from termwise.text import analyzer_by_attribute, make_analyzer_by_attribute

BY_LANG = "by-attribute:lang"
TEXTS = {
    "de1": ("de", "Die rote Jacke hält im Winter warm."),
    "de2": ("de-AT", "Blaue Jacken und ein Gift gegen Motten."),
    "de3": ("de", "Ein warmer Mantel."),
    "en1": ("en", "The red jacket keeps you warm in winter."),
    "en2": ("en", "A gift: blue jackets and gloves."),
    "fr1": ("fr", "La veste rouge tient chaud en hiver."),
    "fr2": ("french", "Des vestes bleues et des gants."),
    "xx1": ("tlh", "jacke Qapla"),
    "xx2": (None, "Sofa 2000"),
}


def documents() -> list[Document]:
    return [
        Document(name, text, {} if language is None else {"lang": language})
        for name, (language, text) in TEXTS.items()
    ]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    path = tmp_path_factory.mktemp("languages") / "index"
    return termwise.build_index(
        documents(),
        path,
        analyzer=BY_LANG,
        store_text=True,
        options=termwise.BuildOptions(quantiser="float32"),
    )


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Jacken", {"de1", "de2"}),
        ("jackets", {"en1", "en2"}),
        ("vestes", {"fr1", "fr2"}),
        ("gift", {"de2", "en2"}),
        ("jacke", {"de1", "de2", "xx1"}),
        ("warm jackets", {"de1", "de3", "en1", "en2"}),
        ("the", set()),
    ],
)
def test_a_document_matches_by_the_words_of_its_language(
    searcher: Searcher, query: str, found: set[str]
) -> None:
    assert set(searcher.rank(query).doc_ids) == found


def test_a_query_in_one_language(searcher: Searcher) -> None:
    assert searcher.search(Search("gift", lang="en")).ranking.doc_ids == ("en2",)
    assert searcher.search(Search("gift", lang="German")).ranking.doc_ids == ("de2",)
    assert searcher.search(Search("gift", lang="fr")).ranking.doc_ids == ()
    assert searcher.search(Search("Sofa", lang="und")).ranking.doc_ids == ("xx2",)


def test_a_word_has_the_same_idf_in_all_languages(searcher: Searcher) -> None:
    """One of three German and one of two English documents have gift, two of three and one of two have warm."""

    def idf(frequency: int, documents: int) -> float:
        return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))

    def weights(query: str, **options: object) -> dict[str, float]:
        row = searcher.search(Search(query, **options)).query.parts[0].encoder.encode_query(query)  # type: ignore[arg-type]
        terms, values = row.row(0)
        tokens = map(searcher.index.vocabulary.token, terms.tolist())
        return dict(zip(tokens, values.tolist(), strict=True))

    gift = (idf(1, 3) + idf(1, 2)) / 2
    expected = {"de:gift": gift / idf(1, 3), "en:gift": gift / idf(1, 2)}
    assert weights("gift") == pytest.approx(expected)
    assert weights("gift Gift") == pytest.approx({term: 2 * weight for term, weight in expected.items()})
    warm = (2 * idf(2, 3) + idf(1, 2)) / 3
    assert weights("warm gift") == pytest.approx(
        expected | {"de:warm": warm / idf(2, 3), "en:warm": warm / idf(1, 2)}
    )
    # A word of one language, and a query in one language, keep the number of occurrences.
    assert weights("rote rote Jacken") == {"de:rot": 2, "de:jack": 1}
    assert weights("gift", lang="de") == {"de:gift": 1}
    # Terms that a search adds are words, too: of similar spelling, and with the last word as their prefix.
    assert weights("gyft", fuzzy=True) == pytest.approx(
        {term: 3 / 4 * weight for term, weight in expected.items()}
    )
    assert weights("gif", prefix=True) == pytest.approx(expected)


def test_equal_documents_have_equal_scores_in_languages_of_other_sizes(tmp_path: Path) -> None:
    texts = {"de": ["Anker Lampe", "Lampe rot", "Lampe blau"], "en": ["Anker lamp", *["red lamp"] * 9]}
    shop = [
        {"id": f"{lang}{number}", "text": text, "lang": lang}
        for lang, its in texts.items()
        for number, text in enumerate(its)
    ]
    searcher = termwise.build_index(
        shop,
        tmp_path / "i",
        model="bm25",
        analyzer="by-attribute:lang:de=german",
        options=termwise.BuildOptions(quantiser="float32"),
    )
    for query, fuzzy in (("Anker", False), ("unbekannt Anker", False), ("Ankre", True)):
        ranking = searcher.search(Search(query, fuzzy=fuzzy)).ranking
        assert set(ranking.doc_ids) == {"de0", "en0"}
        assert ranking.scores[0] == pytest.approx(
            ranking.scores[1], rel=1e-4
        )  # weights of queries are rounded
    alone = {lang: searcher.search(Search("Anker", lang=lang)).ranking.scores[0] for lang in texts}
    assert alone["en"] > 1.5 * alone["de"]


@pytest.mark.parametrize("before", [0, 40])
def test_words_of_added_documents_have_their_current_idf(tmp_path: Path, before: int) -> None:
    """No German document had "kettle" when the weights were computed; 15 of 1,015 documents are no drift."""
    shop = [
        {"id": f"en{n}", "text": "steel kettle" if n < 100 else f"steel pan{n}", "lang": "en"}
        for n in range(1000)
    ]
    shop += [{"id": f"de{n}", "text": f"Wurst Topf{n}", "lang": "de"} for n in range(before)]
    float32 = termwise.BuildOptions(quantiser="float32")
    analyzer = make_analyzer_by_attribute("lang", {"de": "german", "en": "english"})
    searcher = termwise.build_index(shop, tmp_path / "i", model="bm25", analyzer=analyzer, options=float32)
    added = [{"id": f"new{n}", "text": "Wurst kettle", "lang": "de"} for n in range(15)]
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add(added)
    searcher = searcher.refresh()
    assert searcher.index.manifest.encoder.statistics["documents"] == 1000 + before
    english = searcher.index.vocabulary.number("en:kettl")
    assert searcher.encode("kettle").row(0)[0].tolist().count(english) == 1
    ranking = searcher.rank("kettle", k=1000)
    assert len(ranking) == 115
    scores = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
    assert scores["new0"] == pytest.approx(scores["en0"], rel=0.05)  # mean lengths differ
    fuzzy = searcher.search(Search("ketle", k=1000, fuzzy=True)).ranking
    assert max(fuzzy.scores) / min(fuzzy.scores) < 1.05
    documents = before or 1000
    alone = searcher.search(Search("kettle", lang="de"))
    row = alone.query.parts[0].encoder.encode_query("kettle").row(0)[1].tolist()
    idf = {df: math.log(1 + (documents - df + 0.5) / (df + 0.5)) for df in (1, 15)}
    assert row == pytest.approx([idf[15] / idf[1]])
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.merge()
    merged = searcher.refresh().search(Search("kettle", lang="de"))
    assert merged.query.parts[0].encoder.encode_query("kettle").row(0)[1].tolist() == [1]


def test_a_compound_has_the_idf_of_its_terms(tmp_path: Path) -> None:
    """The German text has the compound as a whole and in parts, the English text has its parts only."""
    shop = [
        {"id": str(number), "text": text, "lang": lang}
        for number, (lang, text) in enumerate([("de", "AB-12"), ("de", "x"), ("en", "AB, 12"), ("en", "x")])
    ]
    analyzer = make_analyzer_by_attribute("lang", {"de": "english-parts"})
    searcher = termwise.build_index(shop, tmp_path / "i", model="bm25", analyzer=analyzer)
    terms, values = searcher.encode("AB-12").row(0)
    assert dict(zip(map(searcher.index.vocabulary.token, terms.tolist()), values.tolist(), strict=True)) == (
        pytest.approx(
            {f"de:{token}": 2.5 / 3 for token in ("ab12", "ab", "12")} | {"en:ab": 2.5 / 2, "en:12": 2.5 / 2}
        )
    )


def test_weights_have_the_statistics_of_the_language(searcher: Searcher) -> None:
    """Three German documents have 5, 4 and 2 tokens: rot jack halt wint warm; blau jack gift mott; warm mantel."""
    tokens = [searcher.analyzer.of_language("de").tokens(TEXTS[name][1]) for name in ("de1", "de2", "de3")]
    assert list(map(len, tokens)) == [5, 4, 2]
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))  # one of three German documents has "gift"
    weight = idf / (1 + 0.9 * (1 - 0.4 + 0.4 * 4 / (11 / 3)))
    ranking = searcher.search(Search("Gift", lang="de")).ranking
    assert ranking.doc_ids == ("de2",)
    assert float(ranking.scores[0]) == pytest.approx(weight, rel=1e-6)
    record = searcher.index.manifest.encoder.statistics
    assert {name: count for name, count in record.items() if ":" in name} == {
        "documents:de": 3,
        "documents:en": 2,
        "documents:fr": 2,
        "documents:und": 2,
    }


def test_weights_of_a_language_are_those_of_an_index_of_this_language_alone(
    searcher: Searcher, tmp_path: Path
) -> None:
    german = [each for each in documents() if each.doc_id.startswith("de")]
    options = termwise.BuildOptions(quantiser="float32")
    alone = termwise.build_index(german, tmp_path / "de", analyzer="german", options=options)
    for query in ("rote Jacke", "warmer Mantel", "Gift gegen Motten"):
        expected, found = alone.rank(query), searcher.search(Search(query, lang="de")).ranking
        assert found.doc_ids == expected.doc_ids
        assert found.scores.tolist() == expected.scores.tolist()


def test_explanations_add_up_and_name_terms_with_their_language(searcher: Searcher) -> None:
    for query in ("warm jackets", "rote Jacken", "gift"):
        results = searcher.search(Search(query))
        for explanation, score in zip(results.explain(), results.ranking.scores, strict=True):
            assert explanation.score == score
            assert sum(each.score for each in explanation.contributions) == pytest.approx(
                float(score), rel=1e-6
            )
    (first, *_) = searcher.search(Search("rote Jacken")).explain()
    matched = {each.term: each.spans for each in first.contributions if each.score}
    assert first.doc_id == "de1"
    assert matched == {"de:rot": ((4, 8),), "de:jack": ((9, 14),)}
    assert first.unknown == ()
    (explanation,) = searcher.search(Search("Qwertz Mantel")).explain()
    assert explanation.unknown == ((0, 6),)


def test_all_words_are_those_of_the_language_of_the_document(searcher: Searcher) -> None:
    def found(query: str, **options: object) -> set[str]:
        return set(searcher.search(Search(query, match="all", **options)).ranking.doc_ids)  # type: ignore[arg-type]

    assert found("rote Jacken") == {"de1"}
    assert found("the red jackets") == {"en1"}
    assert found("warm") == {"de1", "de3", "en1"}
    assert found("die Jacke", lang="de") == {"de1", "de2"}
    assert found("rote jackets") == set()


def test_phrases(searcher: Searcher) -> None:
    def found(**options: object) -> set[str]:
        return set(searcher.search(Search(**options)).ranking.doc_ids)  # type: ignore[arg-type]

    assert found(must="rote Jacken") == {"de1"}
    assert found(must="red jackets") == {"en1"}
    assert found(must="vestes bleues") == {"fr2"}
    assert found(must="gift") == {"de2", "en2"}
    assert found(query="warm", must_not="rote Jacke") == {"de3", "en1"}
    assert found(query="warm", must_not=["rote Jacke", "red jackets"]) == {"de3"}
    with pytest.raises(ParameterError, match="removes this from all texts"):
        searcher.search(Search(must=""))
    explained = searcher.search(Search("warm", must="Jacke", must_not="Gift")).explain()[0]
    assert [(each.words, each.excluded, each.in_text) for each in explained.conditions] == [
        ("Jacke", False, True),
        ("Gift", True, False),
    ]


def test_similar_words_and_suggestions(searcher: Searcher) -> None:
    assert set(searcher.search(Search("Jakcen", fuzzy=True)).ranking.doc_ids) >= {"de1", "de2"}
    assert searcher.search(Search("Jakcen", fuzzy=True, lang="fr")).ranking.doc_ids == ()
    (suggestion,) = searcher.search(Search("jakcen")).did_you_mean()
    assert suggestion.word == "jakcen"
    assert [(each.word, each.term, each.distance) for each in suggestion.words] == [("jacken", "de:jack", 1)]
    assert searcher.search(Search("vestes und")).did_you_mean() == []  # a stop word of another language
    assert searcher.search(Search("vest", prefix=True)).ranking.doc_ids == ("fr2", "fr1")
    assert [(each.text, each.documents) for each in searcher.complete("rote jac")] == [
        ("rote jacken", 2),
    ]
    assert [each.text for each in searcher.complete("jac")] == ["jacken", "jackets", "jacke"]


def test_spellings_of_german_in_documents_of_other_languages(tmp_path: Path) -> None:
    """*Kuehlschrank* is *kuhlschrank* in an English document."""
    shop = [
        {"id": "en", "title": "Kühlschrank und Lampe", "lang": "en"},
        {"id": "de", "title": "Möbel und Türen", "lang": "de"},
    ]
    searcher = termwise.build_index(
        shop, tmp_path / "i", model="bm25", analyzer="by-attribute:lang", store_text=True
    )
    assert searcher.rank("Kuehlschrank").doc_ids == ("en",)
    assert searcher.search(Search("Kuehlschrank", match="all")).ranking.doc_ids == ("en",)
    assert searcher.search(Search("Kuehlschrank")).did_you_mean() == []
    assert searcher.rank("Moebel").doc_ids == ("de",)


def test_synonyms_and_rules(searcher: Searcher) -> None:
    relevance = Relevance.of(
        {"synonyms": ["Jacke, jacket, veste"], "rules": [{"query": "gloves", "pin": ["fr2"]}]}
    )
    found = searcher.search(Search("Jacken", relevance=relevance)).ranking.doc_ids
    assert set(found) == {"de1", "de2", "en1", "en2", "fr1", "fr2"}
    assert searcher.search(Search("glove", relevance=relevance)).ranking.doc_ids[0] == "fr2"
    ban = Relevance(rules=(QueryRule("Gift", ban=["de2"]),))
    assert searcher.search(Search("gifts", relevance=ban)).ranking.doc_ids == ("en2",)


def test_a_stemmer_of_another_language_gives_no_synonyms_to_a_mistyped_word(tmp_path: Path) -> None:
    """French removes double letters, so that *waserkocher* has the stem of *wasserkocher* there."""
    texts = {
        "de": ("de", "Roter Wasserkocher"),
        "en": ("en", "Red kettle, and a mouse trap"),
        "fr": ("fr", "Bouilloire rouge"),
        "fr2": ("fr", "Couches pour chats"),
    }
    shop = [Document(name, text, {"lang": language}) for name, (language, text) in texts.items()]
    searcher = termwise.build_index(shop, tmp_path / "i", analyzer=BY_LANG, store_text=True)
    lines = ["kettle, wasserkocher, bouilloire", "couch, settee", "battery, bouilloire", "apparat, kettle"]
    relevance = Relevance.of({"synonyms": lines})

    def found(query: str | None, **options: Any) -> set[str]:
        return set(searcher.search(Search(query, relevance=relevance, **options)).ranking.doc_ids)

    assert found("waserkocher", fuzzy=True) == {"de"}
    assert found("waserkocher") == found("setee") == set()
    # Words as in a line, and their inflections, also those that no document has.
    assert found("Wasserkochern") == found("WASSERKOCHER") == {"de", "en", "fr"}
    assert found("settees") == {"fr2"}
    assert found("batteries") == {"fr"}
    assert found("Apparaten") == {"en"}
    # In one language, the analyzer alone decides.
    assert found("waserkocher", lang="fr") == {"fr"}
    assert found(None, must="Wasserkochern") == {"de", "en", "fr"}
    assert found(None, must="waserkocher") == set()


def test_synonyms_of_several_languages_are_analysed_once(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query that is read in five languages looks up each synonym once."""
    looked_up = []
    of = WordsInPieces.of
    monkeypatch.setattr(WordsInPieces, "of", lambda self, text: looked_up.append(text) or of(self, text))
    lines = ["jacket, gloves", *(f"jacket, word{number}" for number in range(500))]
    found = searcher.search(Search("jacket", relevance=Relevance.of({"synonyms": lines}))).ranking.doc_ids
    assert set(found) == {"en1", "en2"}
    assert sorted(looked_up) == sorted(["gloves", *(f"word{number}" for number in range(500))])


def test_snippets_mark_words(searcher: Searcher) -> None:
    results = searcher.search(Search("Jacken", k=1))
    (snippet,) = results.snippets()
    assert [snippet.text[start:end] for start, end in snippet.spans] in (["Jacke"], ["Jacken"])


def test_reasons_name_words_that_no_language_has(searcher: Searcher) -> None:
    reasons = searcher.search(Search("Zahnbürste Qwertz")).reasons()
    assert reasons[0] == "not in the index: Zahnbürste, Qwertz"


def test_stop_words_of_a_language_are_named_as_such(searcher: Searcher) -> None:
    """*für* is a stop word of German, and no document in another language has it."""

    def reason(query: str, lang: str | None = None) -> str:
        return searcher.search(Search(query, lang=lang)).reasons()[0]

    assert reason("für Qwertz") == "not in the index: Qwertz; left out by the analyzer: für"
    assert reason("für") == "the analyzer removes all words of the query"
    assert reason("für Qwertz", "de") == "not in the index: Qwertz"
    assert reason("für Qwertz", "en") == "not in the index: für, Qwertz"
    query = "Jacke für Qwertz"
    (explanation,) = searcher.search(Search(query)).explain(["de1"])
    assert [query[start:end] for start, end in explanation.unknown] == ["Qwertz"]
    assert Remark("left out of the query", ("für",)) in remarks(explanation)


def test_reasons_are_those_of_the_language_of_the_query(searcher: Searcher) -> None:
    assert searcher.search(Search("gift", lang="it")).reasons() == [
        "no document has the language it; the index has de, en, fr, und"
    ]
    assert searcher.search(Search("gift", lang="fr")).reasons()[0] == "not in the index: gift"


def test_the_reason_in_a_mixture_is_the_language(tmp_path: Path) -> None:
    mixture = termwise.build_index(documents(), tmp_path / "mixture", model="instant", analyzer=BY_LANG)
    reasons = mixture.search(Search("gift", lang="it", only_words=True)).reasons()
    assert reasons == ["no document has the language it; the index has de, en, fr, und"]


def test_results_by_meaning_are_those_of_queries_in_english(tmp_path: Path) -> None:
    """The vectors are English: a query that is said to be in another language has results by its words only."""
    shop = [
        Document("hose", "garden hose of rubber", {"lang": "en", "kind": "code"}),
        Document("sofa", "green sofa", {"lang": "en", "kind": "code"}),
        Document("trousers", "Hose aus Wolle", {"lang": "de", "kind": "text"}),
        Document("rain", "Regenjacke für Kinder", {"lang": "de", "kind": "text"}),
    ]
    mixture = termwise.build_index(shop, tmp_path / "m", model="instant", analyzer=BY_LANG, store_text=True)
    german = mixture.search(Search("Hose", lang="de"))
    assert (german.ranking.doc_ids, german.matching(), german.count()) == (("trousers",), ["words"], 1)
    assert len(mixture.search(Search("Hose", lang="de", min_relevance=0)).ranking) == 4
    english = mixture.search(Search("hose", lang="English"))
    assert (english.ranking.doc_ids[0], english.count(), len(english.ranking)) == ("hose", 1, 4)
    assert len(mixture.search(Search("Hose")).ranking) == 4
    none = mixture.search(Search("couch", lang="de-AT"))
    assert none.reasons() == [
        "not in the index: couch",
        "documents that are near in meaning are left out, because the vectors know English only, and the language of "
        "the query is de",
    ]
    assert (
        mixture.search(Search("couch")).matched
        == mixture.search(Search("couch", lang="en")).matched
        == "meaning"
    )
    kinds = make_analyzer_by_attribute("kind", {"code": "code", "text": "english"})
    by_kind = termwise.build_index(shop, tmp_path / "k", model="instant", analyzer=kinds)
    assert by_kind.search(Search("couch", lang="code")).matched == "meaning"  # no language


def test_vectors_of_english_have_no_weight_in_queries_of_other_languages(tmp_path: Path) -> None:
    shop = [
        {"id": f"{lang}{number}", "text": text, "lang": lang}
        for lang, texts in {
            "de": ["Küchenmesser aus Stahl, Bosch", "Schlafsack für den Winter"],
            "en": ["mess tin and measuring cup of steel, Bosch", "hammer drill", "kitchen knife"],
        }.items()
        for number, text in enumerate(texts)
    ]
    mixture = termwise.build_index(shop, tmp_path / "m", model="instant", analyzer=BY_LANG, store_text=True)

    def language(query: str, **options: object) -> str | None:
        found = mixture.search(Search(query, **options))  # type: ignore[arg-type]
        found.ranking  # noqa: B018
        return found.other_language

    assert [language(query) for query in ("Schlafsack", "Bosch Küchenmesser", "Schlafsack sleeping")] == [
        "de"
    ] * 3
    assert [
        language(query) for query in ("Bosch", "kitchen knife", "Schlafsack hammer", "unknown", "the")
    ] == [None] * 5
    assert language("knife", lang="de") == "de"
    assert language("Schlafsack", lang="en") is None
    results = mixture.search(Search("Schlafsack"))
    assert results.ranking.doc_ids == ("de1",)
    assert results.explain()[0].parts[1].weight == 0
    assert "language of the query is de" in results.explain()[0].parts[1].reason
    no_words = Relevance(parts={mixture.parts[0].name: 0})
    assert language("Schlafsack", relevance=no_words) == "de"
    assert len(mixture.search(Search("Schlafsack", relevance=no_words, min_relevance=None)).ranking) < len(
        shop
    )
    plain = mixture.search(Search("kitchen knife"))
    assert len(plain.ranking) > 1
    assert plain.explain()[0].parts[1].reason == ""


def test_codes_and_accents_are_found_in_every_language(tmp_path: Path) -> None:
    texts = {
        "de": "Filter AK-2184/Z",
        "fr": "crème brûlée d'un café, 10 mm",
        "it": "filtro AK-2184/Z dell'acqua",
        "en": "filter, 10 mm",
    }
    shop = termwise.build_index(
        [Document(lang, text, {"lang": lang}) for lang, text in texts.items()],
        tmp_path / "shop",
        analyzer=BY_LANG,
        store_text=True,
    )
    found = {
        query: set(shop.rank(query).doc_ids) for query in ("ak2184z", "creme brulee", "cafe", "10mm", "acqua")
    }
    assert found == {
        "ak2184z": {"de", "it"},
        "creme brulee": {"fr"},
        "cafe": {"fr"},
        "10mm": {"fr", "en"},
        "acqua": {"it"},
    }
    assert set(shop.search(Search("eau", lang="fr")).ranking.doc_ids) == set()


@pytest.mark.parametrize("installed", [True, False])
def test_compounds_are_split_if_simplemma_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    if installed:
        pytest.importorskip("simplemma")
    else:
        monkeypatch.setattr(analyzer_by_attribute, "has_simplemma", lambda: False)
    notes: list[str] = []
    shop = [Document("a", "Winterjacke K-12/A", {"lang": "de"}), Document("b", "Jacket", {"lang": "en"})]
    built = termwise.build_index(
        shop, tmp_path / "shop", analyzer=BY_LANG, options=termwise.BuildOptions(say=notes.append)
    )
    assert set(built.rank("Jacke").doc_ids) == ({"a"} if installed else set())
    assert set(built.rank("k12a").doc_ids) == {"a"}
    assert [note for note in notes if "Winterjacke" in note] == (
        []
        if installed
        else [
            "compounds such as Winterjacke are one word in documents in de (1): "
            "pip install 'termwise[simplemma]' and build again to split them"
        ]
    )


def test_a_language_needs_an_index_with_languages(tmp_path: Path, searcher: Searcher) -> None:
    plain = termwise.build_index(documents(), tmp_path / "plain")
    with pytest.raises(ParameterError, match="analyzer depends on an attribute"):
        plain.search(Search("gift", lang="de"))
    with pytest.raises(UnknownNameError, match="xx"):
        searcher.search(Search("gift", lang="xx"))
    with pytest.raises(ParameterError, match="lang"):
        Search("gift", lang=3)  # type: ignore[arg-type]


def test_other_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="statistics of each language"):
        termwise.build_index(documents(), tmp_path / "jm", model=QueryLikelihoodJM(), analyzer=BY_LANG)
    with pytest.raises(ParameterError, match="a network has its own analyzer"):
        termwise.build_index(documents(), tmp_path / "lookup", model="lookup", analyzer=BY_LANG)


def test_a_mixture_has_languages_in_its_words(tmp_path: Path) -> None:
    mixture = termwise.build_index(
        documents(), tmp_path / "mixture", model="instant", analyzer=BY_LANG, store_text=True
    )
    results = mixture.search(Search("Jacken", only_words=True))
    assert set(results.ranking.doc_ids) == {"de1", "de2"}
    assert set(mixture.search(Search("gift", only_words=True, lang="en")).ranking.doc_ids) == {"en2"}
    assert mixture.search(Search("Jakcen", fuzzy=True)).ranking.doc_ids[0] in ("de1", "de2")
    explanation = mixture.search(Search("Jacken")).explain()[0]
    assert sum(each.score for each in explanation.contributions) + explanation.constant == pytest.approx(
        explanation.score, abs=1e-5
    )
    plain = termwise.build_index(documents(), tmp_path / "plain", model="instant")
    with pytest.raises(ParameterError, match="analyzer depends on an attribute"):
        plain.search(Search("gift", lang="de"))


def test_changes(tmp_path: Path) -> None:
    path = tmp_path / "living"
    first, rest = documents()[:4], documents()[4:]
    searcher = termwise.build_index(first, path, analyzer=BY_LANG, store_text=True)
    with termwise.open_writer(path) as writer:
        writer.add(rest)
        writer.add([Document("it1", "La giacca rossa", {"lang": "it"})])
        writer.delete(["de2"])
    searcher = searcher.refresh()
    assert searcher.rank("giacche").doc_ids == ("it1",)
    assert searcher.rank("Jacken").doc_ids == ("de1",)
    assert set(searcher.rank("gloves gants").doc_ids) == {"en2", "fr2"}
    with termwise.open_writer(path) as writer:
        writer.merge()
    kept = [each for each in documents() if each.doc_id != "de2"]
    built = termwise.build_index(
        [*kept, Document("it1", "La giacca rossa", {"lang": "it"})],
        tmp_path / "new",
        analyzer=BY_LANG,
        store_text=True,
    )
    merged = searcher.refresh()
    for query in ("warm jackets", "rote Jacke", "giacca", "vestes"):
        assert merged.rank(query).doc_ids == built.rank(query).doc_ids
        assert np.array_equal(merged.rank(query).scores, built.rank(query).scores)


def test_a_document_gets_another_language(tmp_path: Path) -> None:
    searcher = termwise.build_index(documents(), tmp_path / "index", analyzer=BY_LANG, store_text=True)
    with termwise.open_writer(tmp_path / "index") as writer:
        writer.add([Document("de2", TEXTS["de2"][1], {"lang": "en"})])
    searcher = searcher.refresh()
    assert searcher.search(Search("Jacke", lang="de")).ranking.doc_ids == ("de1",)
    assert "de2" in searcher.search(Search("jacken", lang="en")).ranking.doc_ids


def test_fields_chunks_and_renewal(tmp_path: Path) -> None:
    shop = [
        Document.of_fields(
            "a", {"title": "Rote Jacken", "text": "Sie sind warm. Sie sind rot."}, {"lang": "de"}
        ),
        Document.of_fields(
            "b", {"title": "Red jackets", "text": "They are warm. They are red."}, {"lang": "en"}
        ),
    ]
    fields = {"title": 3, "text": 1}
    searcher = termwise.build_index(
        shop, tmp_path / "shop", analyzer=BY_LANG, fields=fields, chunk=4, store_text=True
    )
    assert searcher.rank("Jacke").doc_ids == ("a",)
    assert searcher.rank("jacket").doc_ids == ("b",)
    assert searcher.search(Search("warm", must="rote Jacke")).ranking.doc_ids == ("a",)
    renew_index(tmp_path / "shop")
    assert searcher.refresh().rank("Jacke").doc_ids == ("a",)


def test_an_empty_index_is_filled(tmp_path: Path) -> None:
    searcher = termwise.build_index([], tmp_path / "index", analyzer=BY_LANG)
    assert searcher.rank("Jacke").doc_ids == ()
    with termwise.open_writer(tmp_path / "index") as writer:
        writer.add(documents())
    assert set(searcher.refresh().rank("Jacken").doc_ids) == {"de1", "de2"}


def test_documents_without_the_attribute(tmp_path: Path) -> None:
    notes: list[str] = []
    options = termwise.BuildOptions(say=notes.append)
    termwise.build_index(documents(), tmp_path / "index", analyzer=BY_LANG, options=options)
    assert notes == [
        "2 of 9 documents have no known language in lang, and the analyzer english-parts: "
        "1 with 'tlh', 1 without a value"
    ]
    plain = [Document("a", "Eine Jacke")]
    with pytest.raises(ParameterError, match="no document has the attribute"):
        termwise.build_index(plain, tmp_path / "plain", analyzer=BY_LANG)
    assert not (tmp_path / "plain").exists()
    with pytest.raises(ParameterError, match="another value than a string"):
        termwise.build_index([Document("a", "Jacke", {"lang": 3})], tmp_path / "plain", analyzer=BY_LANG)
    with pytest.raises(ParameterError, match="has the type keyword"):
        termwise.build_index(plain, tmp_path / "p", analyzer=BY_LANG, attributes=Schema({"price": "float"}))


def test_records_keep_the_attribute(tmp_path: Path) -> None:
    records = [
        {"id": 1, "title": "Rote Jacken", "lang": "de", "price": 5},
        {"id": 2, "title": "Red jackets", "lang": "en", "price": 6},
    ]
    for number, attributes in enumerate((None, "all", ["price"])):
        searcher = termwise.build_index(
            records, tmp_path / str(number), analyzer=BY_LANG, attributes=attributes, store_text=True
        )
        assert searcher.rank("Jacke").doc_ids == ("1",)
        assert searcher.attributes(["1"])[0]["lang"] == "de"


def test_detected_languages_become_attributes(tmp_path: Path) -> None:
    pytest.importorskip("py3langid")
    plain = [Document(name, text) for name, (_, text) in TEXTS.items() if name[:2] in ("de", "en", "fr")]
    searcher = termwise.build_index(
        plain, tmp_path / "index", analyzer=make_analyzer_by_attribute("lang", detect=True), store_text=True
    )
    assert [each.get("lang") for each in searcher.attributes(["de1", "en1", "fr1"])] == ["de", "en", "fr"]
    with termwise.open_writer(tmp_path / "index") as writer:
        writer.add([Document("sv1", "En röd jacka som håller dig varm hela vintern")])
    searcher = searcher.refresh()
    assert searcher.attributes(["sv1"]) == [{"lang": "sv"}]
    assert searcher.search(Search("jackor", lang="sv")).ranking.doc_ids == ("sv1",)


def test_similar_words_share_the_documents_of_all_languages(tmp_path: Path) -> None:
    """*kettle* and *Kette* are both one edit from *kettel*; documents of both languages have the brand."""
    shop = [
        *({"id": f"e{n}", "title": "steel kettle of Steiner", "lang": "en"} for n in range(6)),
        *({"id": f"d{n}", "title": "goldene Kette von Steiner", "lang": "de"} for n in range(2)),
    ]
    searcher = termwise.build_index(
        shop, tmp_path / "i", model="bm25", analyzer="by-attribute:lang:de=german,en=english", store_text=True
    )
    similar = searcher.backend.suggesting.similar_terms
    assert similar is not None

    def shares(query: str) -> dict[str, float]:
        return {each.term: each.share for each in similar.added_to(query, fuzzy=True, prefix=False)}

    assert shares("kettel") == pytest.approx({"en:kettl": 5 / 6 * 6 / 8, "de:kett": 5 / 6 * 2 / 8})
    assert shares("stiener") == pytest.approx({"en:steiner": 6 / 7, "de:stein": 6 / 7})
    assert searcher.search(Search("kettel", fuzzy=True)).ranking.doc_ids[0] == "e0"


SHOP = {
    "de1": "Adidas Laufschuhe",
    "de2": "Vossen Handtuch",
    "de3": "Bett für die Mitte, Puppe",
    "en1": "Adidas running shoes",
    "en2": "Vossen towel",
    "en3": "giraffe made of wood",
    "en4": "battery case AD-1200",
    "fr1": "Adidas chaussures de course",
    "fr2": "Vossen serviette",
    "fr3": "girafe en bois",
}


def shop_of(
    folder: Path, languages: tuple[str, ...] = ("de", "en", "fr"), *, store_text: bool = True
) -> Searcher:
    shop = [Document(key, text, {"lang": key[:2]}) for key, text in SHOP.items() if key[:2] in languages]
    return termwise.build_index(shop, folder, model="bm25", analyzer=BY_LANG, store_text=store_text)


@pytest.mark.parametrize("store_text", [True, False])
def test_a_typo_that_a_stemmer_repairs_is_corrected_in_all_languages(
    tmp_path: Path, store_text: bool
) -> None:
    """The French stemmer replaces double letters by single ones."""
    searcher = shop_of(tmp_path / "i", store_text=store_text)
    for typed, meant in (
        ("adiddas", "adidas"),
        ("Addidas", "Adidas"),
        ("vosen", "vossen"),
        ("voseen", "vossen"),
    ):
        plain = searcher.search(Search(typed))
        assert [doc_id[:2] for doc_id in plain.ranking.doc_ids] == ["fr"]
        suggested = [word.word for each in plain.did_you_mean() for word in each.words]
        assert [word.lower() for word in suggested] == [meant.lower()]
        fuzzy = searcher.search(Search(typed, fuzzy=True))
        assert set(fuzzy.ranking.doc_ids) == set(searcher.rank(meant).doc_ids)
        assert len(fuzzy.ranking.doc_ids) == 3
        for each in fuzzy.explain(list(fuzzy.ranking.doc_ids)):
            (part,) = (part for part in each.contributions if part.score)
            assert part.score == pytest.approx(each.score)
            assert part.origin == ("exact" if each.doc_id.startswith("fr") else "fuzzy")
    for query, found in (("adiddas laufschuhe", ("de1",)), ("voseen towel", ("en2",))):
        assert searcher.search(Search(query, fuzzy=True, match="all")).ranking.doc_ids == found


@pytest.mark.parametrize("store_text", [True, False])
def test_correct_words_are_no_typos_in_other_languages(tmp_path: Path, store_text: bool) -> None:
    """Correct words are not taken for typos; *giraffe* is another spelling of the French *girafe*."""
    searcher = shop_of(tmp_path / "i", store_text=store_text)
    for query in ("batteries", "Mitte", "Puppen", "serviettes", "towels", "girafe", "the", "für", "AD-1200"):
        plain, fuzzy = searcher.search(Search(query)), searcher.search(Search(query, fuzzy=True))
        assert plain.did_you_mean() == []
        assert fuzzy.ranking.doc_ids == plain.ranking.doc_ids
        assert fuzzy.ranking.scores.tolist() == plain.ranking.scores.tolist()


def test_texts_of_correct_words_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = shop_of(tmp_path / "i")

    def fail(*args: object) -> None:
        raise AssertionError("a text is read")

    monkeypatch.setattr("termwise.engine.similar_terms.SimilarTerms.texts_with", fail)
    for query in ("adidas", "serviettes", "Mitte", "batteries", "running shoes", "Vossen Handtuch"):
        searcher.search(Search(query, fuzzy=True)).ranking  # noqa: B018
        assert searcher.did_you_mean(query) == []
    with pytest.raises(AssertionError, match="a text is read"):
        searcher.did_you_mean("adiddas")


def test_an_index_in_one_language_has_the_words_of_its_stemmer(tmp_path: Path) -> None:
    for languages in (("fr",), ("de", "en", "fr")):
        searcher = shop_of(tmp_path / "-".join(languages), languages)
        search = Search("adiddas", fuzzy=True, lang="fr")
        assert searcher.search(search).ranking.doc_ids == ("fr1",)
        assert searcher.search(search).did_you_mean() == []


@pytest.mark.parametrize("number", [1, 3])
def test_without_texts_the_spelling_of_most_documents_is_right(tmp_path: Path, number: int) -> None:
    texts = {"fr1": "girafe", "fr2": "girafe en bois", **{f"en{n}": "giraffe" for n in range(number)}}
    shop = [Document(key, text, {"lang": key[:2]}) for key, text in texts.items()]
    searcher = termwise.build_index(shop, tmp_path / "i", model="bm25", analyzer=BY_LANG)
    found = set(searcher.search(Search("girafe", fuzzy=True)).ranking.doc_ids)
    assert found == (set(texts) if number > 2 else {"fr1", "fr2"})
