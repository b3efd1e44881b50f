"""Documents that match by words, in an index and in a mixture: counts, order, marks, paging."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise import Document, build_index
from termwise.errors import ParameterError
from termwise.search import Boost, Relevance, Search, Searcher
from termwise.search.mixture import Mixture

TEXTS = {
    "d0": ("green sofa", 5.0),
    "d1": ("red sofa", 3.0),
    "d2": ("green tea", 1.0),
    "d3": ("coffee beans", 0.5),
    "d4": ("a green sofa and a tea table", 9.0),
}
WORDS = ["green", "red", "sofa", "tea", "table", "coffee", "zebra"]
DOCUMENTS = [Document(name, text, {"price": price}) for name, (text, price) in TEXTS.items()]


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return build_index(
        DOCUMENTS, tmp_path_factory.mktemp("shop") / "mixture", model="instant", store_text=True
    )


@pytest.fixture(scope="module")
def words(mixture: Searcher) -> Searcher:
    return Searcher(mixture.parts[0].backend)


@pytest.fixture(scope="module")
def shallow(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """Mixture of 40 documents with one candidate of each part."""
    folder = tmp_path_factory.mktemp("shallow")
    made = [
        Document(f"d{n}", " ".join(WORDS[k] for k in range(6) if (n >> k) & 1) or "plain", {"number": n % 7})
        for n in range(40)
    ]
    parts = {model: build_index(made, folder / model, model=model) for model in ("bm25", "jm")}
    return Searcher.mix(parts, [0.5, 0.5], depth=1)


@pytest.mark.parametrize(
    ("query", "match", "level", "expected"),
    [
        ("green sofa", None, "all", ["d0", "d4"]),
        ("green sofas green", "any", "any", ["d0", "d1", "d2", "d4"]),
        ("green zebra tea", None, "any", ["d0", "d2", "d4"]),
        ("green zebra tea", "most", "most", ["d2", "d4"]),  # 75 % of three words: two
        ("green zebra tea", "all", "all", []),
        ("green red sofa tea", "75%", "75%", ["d4"]),
        ("green sofa", "99%", "99%", ["d0", "d1", "d2", "d4"]),  # 1.98 words: one
        ("green zebra tea", "2", "2", ["d2", "d4"]),
        ("green sofa", "5", "5", ["d0", "d4"]),  # at most all
        ("green red sofa tea", "-1", "-1", ["d4"]),
        ("green red sofa", "-50%", "-50%", ["d0", "d1", "d4"]),  # one of three may be missing
        ("green tea", "-9", "-9", ["d0", "d2", "d4"]),  # at least one
        ("green sofa", "2<50%", "2<50%", ["d0", "d4"]),
        ("green red sofa", "2<50%", "2<50%", ["d0", "d1", "d2", "d4"]),  # 1.5 words: one
        ("the and of", None, "any", []),
        ("zebra", None, "all", []),
    ],
)
def test_matches_by_hand(
    mixture: Searcher, query: str, match: str | None, level: str, expected: list[str]
) -> None:
    found = mixture.search(Search(query, match=match, min_relevance=0))
    marks = dict(zip(found.ranking.doc_ids, found.matching(), strict=True))
    assert found.matched == (level if expected else "meaning")
    assert [name for name in sorted(marks) if marks[name] == "words"] == expected
    assert found.count() == len(expected or marks)
    assert found.count_is_exact
    assert [hit.matches for hit in found.hits()] == found.matching()
    only = mixture.search(Search(query, match=match, only_words=True))
    assert list(only.ranking.doc_ids) == [name for name in found.ranking.doc_ids if marks[name] == "words"]
    assert only.length() == only.count() == len(expected)
    assert found.length() == (5 if expected or query == "zebra" else len(marks))


@pytest.mark.parametrize(
    ("analyzer", "query", "expected"),
    [
        ("english-parts", "t-shirt red", {"hyphen", "joined", "blank", "apart"}),
        ("english-parts", "red T shirt", {"hyphen", "joined", "blank", "apart"}),
        ("english-parts", "tshirt red", {"hyphen", "joined", "blank"}),
        ("english-parts", "t-shirt red t-shirt", {"hyphen", "joined", "blank", "apart"}),
        ("english-parts", "t-skirt red", set()),
        ("code", "redShirt", {"camel", "hyphen", "joined2", "blank", "apart", "red"}),
    ],
)
def test_a_compound_is_one_word(tmp_path: Path, analyzer: str, query: str, expected: set[str]) -> None:
    texts = {
        "hyphen": "red t-shirt",
        "joined": "red tshirt",
        "blank": "T shirt in red",
        "apart": "red shirt, size T",
        "red": "red shirt",
        "green": "green t-shirt",
        "camel": "redShirt",
        "joined2": "redshirt",
    }
    index = build_index(
        [Document(*each) for each in texts.items()], tmp_path / "i", model="bm25", analyzer=analyzer
    )
    found = index.search(Search(query, match="all"))
    assert set(found.ranking.doc_ids) == expected
    half = index.search(Search("t-shirt zebra", match="50%"))  # 1 of 2 words
    assert {"hyphen", "green", "apart"} <= set(half.ranking.doc_ids)
    assert half.count() == len(half.ranking)


CODES = {
    "x": "filter AB-1200/X",
    "y": "filter AB 1200 / Y, with case X",
    "s": "filter AB-1200/S",
    "as": "drill AS-4289",
    "bx": "drill as BX-4289",
    "w": "plug WG-1412, size A",
    "wa": "plug wg1412a",
    "plate": "plate AB of 1200 x 120 mm",
    "screw": "screw M5, 40mm",
    "rope": "rope of 5 mm",
}


@pytest.mark.parametrize("model", ["bm25", "instant"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("AB-1200/X", {"x"}),
        ("ab1200y", {"y"}),
        ("AB-1200/S", {"s"}),  # not the stem AB-1200
        ("AB-1200", {"x", "y", "s"}),
        ("AB-1200/Z", set()),
        ("AB-120", set()),
        ("AS-4289", {"as"}),  # "as" is a stop word
        ("WG-1412/A", {"wa"}),  # and "a", too
        ("WG-1412", {"w", "wa"}),
        ("5mm", {"rope"}),
    ],
)
def test_parts_of_a_code_are_next_to_each_other(
    tmp_path: Path, model: str, query: str, expected: set[str]
) -> None:
    documents = [Document(*each) for each in CODES.items()]
    index = build_index(documents, tmp_path / "i", model=model, store_text=True)
    found = index.search(Search(query, match="all", only_words=model == "instant"))
    assert set(found.ranking.doc_ids) == expected
    assert found.count() == len(expected)


def test_codes_without_texts(tmp_path: Path) -> None:
    """Postings alone do not say where the parts of a code are."""
    documents = [Document(*each) for each in CODES.items()]
    index = build_index(documents, tmp_path / "i", model="bm25", store_text=False)
    assert set(index.search(Search("AB-1200/X", match="all")).ranking.doc_ids) == {"x", "y", "plate"}


def test_codes_of_many_documents(tmp_path: Path) -> None:
    """The texts of more than 300 documents are not read."""
    many = [Document(f"m{n}", "screws M 5, AB of 1200, 40mm") for n in range(301)]
    documents = [*many, Document("5", "rope 5mm"), Document("ab", "AB-1200")]
    index = build_index(documents, tmp_path / "i", model="bm25", store_text=True)
    assert index.search(Search("5mm", match="all")).count() == 1
    assert index.search(Search("AB-1200", match="all")).count() == 302


def test_codes_in_chunks(tmp_path: Path) -> None:
    documents = [
        Document("apart", "type AB. " + "words of a text. " * 40 + "Length 1200."),
        Document("next", "words of a text. " * 40 + "Type AB 1200."),
    ]
    index = build_index(documents, tmp_path / "i", model="bm25", store_text=True, chunk=20)
    found = index.search(Search("AB-1200", match="all"))
    assert (found.ranking.doc_ids, found.count()) == (("next",), 1)


def test_an_index_of_words(words: Searcher) -> None:
    assert words.search(Search("green zebra tea")).count() == 3
    assert words.search(Search("green zebra tea")).matched is None
    found = words.search(Search("green zebra tea", match="most"))
    assert sorted(found.ranking.doc_ids) == ["d2", "d4"]
    assert (found.count(), found.matched, found.matching()) == (2, "most", [None] * 2)
    assert words.search(Search("green tea", match="all", filter="price < 5")).ranking.doc_ids == ("d2",)
    assert words.search(Search("green tea", match="all", must_not="table")).ranking.doc_ids == ("d2",)
    same = words.search(Search("tea", match="all")).ranking
    assert same == words.rank("tea")
    assert words.search(Search(sort="price")).matching() == [None] * 5


def test_conditions_decide_the_level(mixture: Searcher) -> None:
    """Two documents have both words; none of them is cheap, and the phrase is in one."""
    cheap = mixture.search(Search("green sofa", filter="price < 4"))
    assert (cheap.matched, cheap.count()) == ("any", 2)
    phrase = mixture.search(Search("green sofa", must="tea table"))
    assert (phrase.matched, phrase.count()) == ("all", 1)
    without = mixture.search(Search("green sofa", exclude=["d0", "d4"]))
    assert (without.matched, without.count()) == ("any", 2)


def test_sorting_and_facets(mixture: Searcher) -> None:
    found = mixture.search(
        Search("green sofa", sort="price", ranges={"price": {"low": (None, 6), "high": (6, None)}})
    )
    assert found.ranking.doc_ids == ("d0", "d4")  # d3 is the cheapest one, but matches by meaning only
    assert found.matching() == ["words"] * 2
    assert [each.documents for each in found.facets()["price"]] == [1, 1]
    only = mixture.search(Search("green sofa", sort="-price", only_words=True))
    assert only.ranking.doc_ids == ("d4", "d0")


def test_results_by_meaning_are_the_matches_if_no_document_has_a_word(mixture: Searcher) -> None:
    """They are counted, sorted and paged as matches by words are; a condition can make them so."""
    options: dict[str, Any] = {"ranges": {"price": {"low": (None, 4), "high": (4, None)}}, "k": 1}
    found = mixture.search(Search("couch", sort="-price", **options))
    by_score = mixture.search(Search("couch", k=5))
    total = len(by_score.ranking)
    assert (found.matched, found.count(), found.length(), found.count_is_exact) == (
        "meaning",
        total,
        total,
        True,
    )
    prices = {name: price for name, (_, price) in TEXTS.items() if name in by_score.ranking.doc_ids}
    assert total >= 2
    pages = [mixture.search(Search("couch", sort="-price", k=1, offset=n)).ranking.doc_ids for n in range(6)]
    assert [name for page in pages for name in page] == sorted(prices, key=lambda name: -prices[name])
    low = sum(price < 4 for price in prices.values())
    assert [each.documents for each in found.facets()["price"]] == [low, total - low]
    assert found.statistics("price").values == total
    assert [found.is_match(name) for name in TEXTS] == [name in prices for name in TEXTS]
    few = mixture.search(Search("coffee", filter="price > 1", min_relevance=0))
    assert (few.matched, few.count(), set(few.matching())) == ("meaning", 3, {"meaning"})
    assert mixture.search(Search("coffee")).count() == 1
    assert mixture.search(Search("couch", only_words=True)).count() == 0


def test_pins_count_beside_results_by_meaning(mixture: Searcher) -> None:
    pinned = Relevance.of({"rules": [{"query": "couch", "pin": ["d3"]}]})
    found = mixture.search(Search("couch", sort="price", relevance=pinned))
    assert found.ranking.doc_ids[0] == "d3"
    assert len(found.ranking) == found.count() == found.length()


def test_the_least_number_of_matches(mixture: Searcher) -> None:
    """The count is a lower bound if all `depth` documents that a part finds are relevant enough."""
    parts = {part.name: Searcher(part.backend) for part in mixture.parts}
    for depth, exact in ((4, False), (5, True), (6, True)):
        searcher = Searcher.mix(parts, [0.4, 0.6], depth=depth)
        found = searcher.search(Search("couch"))
        assert (found.matched, found.count(), found.count_is_exact) == ("meaning", min(depth, 5), exact)
        assert searcher.search(Search("sofa")).count_is_exact
    backend = mixture.backend
    assert isinstance(backend, Mixture)
    near = mixture.search(Search("couch")).count()
    assert 1 < near < 4
    for depth in range(1, 5):  # by relevance, as soon as a part finds a document that is not near enough
        deep = Searcher(
            Mixture(backend.parts, depth=depth, feedback=backend.feedback, unrelated=backend.unrelated)
        )
        found = deep.search(Search("couch"))
        assert (found.count(), found.count_is_exact) == (min(depth, near), depth > near)
    vectors = Searcher.mix({"table": parts["table"]}, [1], depth=4)
    found = vectors.search(Search("couch", sort="_id"))
    assert (found.matched, found.count(), found.count_is_exact) == (None, 4, False)
    assert list(found.ranking.doc_ids) == sorted(found.ranking.doc_ids)
    assert parts["table"].search(Search("couch")).count_is_exact
    assert mixture.search(Search(candidates=["d0"])).count_is_exact


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_parts_of_a_compound(tmp_path: Path, model: str) -> None:
    """Without a document that has a word, those with a part of a compound match, unless it is a code."""
    texts = {"jacket": "rain jacket", "scooter": "scooter AB", "tea": "green tea"}
    index = build_index([Document(*each) for each in texts.items()], tmp_path / "i", model=model)
    expected = {"e-scooter": {"scooter"}, "rain-coat": {"jacket"}, "rain-coat tea": {"tea"}, "AB-12": set()}
    for query, names in expected.items():
        found = index.search(Search(query))
        by_words = {
            name
            for name, matches in zip(found.ranking.doc_ids, found.matching(), strict=True)
            if matches != "meaning"
        }
        if model == "instant" or query != "rain-coat tea":
            assert by_words == names
        if model == "instant" and names:
            assert (found.matched, found.count()) == ("any", 1)
    assert index.search(Search("rain-coat", match="any", only_words=model == "instant")).count() == 0


def test_similar_terms_count_as_their_word(mixture: Searcher) -> None:
    found = mixture.search(Search("green soffa", fuzzy=True))
    assert (found.matched, found.count()) == ("all", 2)
    assert mixture.search(Search("green soffa")).matched == "any"
    assert mixture.search(Search("green so", prefix=True)).count() == 2


def test_weights_of_terms(words: Searcher) -> None:
    found = words.search(Search(weights={"green": 1.0, "tea": 2.0}, match="all"))
    assert sorted(found.ranking.doc_ids) == ["d2", "d4"]


@settings(deadline=None, max_examples=40)
@given(
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    match=st.sampled_from([None, "any", "most", "all", "50%"]),
    size=st.integers(1, 7),
    options=st.sampled_from([{}, {"sort": "number"}, {"filter": "number > 2"}, {"sort": "-number"}]),
)
def test_paging_reaches_every_counted_document(
    shallow: Searcher, query: list[str], match: str | None, size: int, options: dict[str, str]
) -> None:
    text = " ".join(query)
    for only_words in (True, False):
        search = Search(text, match=match, only_words=only_words, k=100, **options)
        whole = shallow.search(search)
        paged = [
            name
            for offset in range(0, 42, size)
            for name in shallow.search(
                Search(text, match=match, only_words=only_words, k=size, offset=offset, **options)
            ).ranking.doc_ids
        ]
        assert paged == list(whole.ranking.doc_ids)
        assert len(paged) == whole.length()
        words = whole.matching().count("words")
        assert words == whole.count() or (words == 0 and len(paged) == whole.count())
        if only_words:
            assert len(paged) == whole.count()
        if "sort" in options:
            assert whole.matching() == sorted(whole.matching(), reverse=True)  # words before meaning
            numbers = [
                hit.attributes["number"] for hit in whole.hits() if words == 0 or hit.matches == "words"
            ]
            assert numbers == sorted(numbers, reverse=options["sort"] == "-number")


@pytest.mark.parametrize(
    "match",
    [
        "",
        "some",
        "0%",
        "101%",
        "7.5%",
        3,
        "0",
        "-0",
        "-101%",
        "2<",
        "<2",
        "2<75%<3",
        "2<0",
        "1 2",
        "²",
        "1<2 " * 11,
    ],
)
def test_bad_shares(match: object) -> None:
    with pytest.raises(ParameterError, match="a number of words such as 2, 75%, -1 or 2<75%"):
        Search("tea", match=match)  # type: ignore[arg-type]


def test_too_few_words_are_the_reason(words: Searcher, mixture: Searcher) -> None:
    for searcher in (words, mixture):
        search = Search("red tea", match="all", only_words=True)
        assert searcher.search(search).reasons() == ["no document contains enough words of the query, all"]
    assert words.search(Search("zebra", match="all")).reasons()[0] == "not in the index: zebra"


def test_an_index_with_vectors_has_no_words(mixture: Searcher, tmp_path: Path) -> None:
    vectors = Searcher(mixture.parts[1].backend)
    assert vectors.search(Search("tea")).matched is None
    assert set(vectors.search(Search("tea")).matching()) == {None}
    only_vectors = Searcher.mix({"table": vectors}, [1.0])
    assert only_vectors.search(Search("tea")).count() == 5  # the candidates
    for searcher in (vectors, only_vectors):
        with pytest.raises(ParameterError, match="only in an index with postings"):
            searcher.search(Search("tea", match="all"))
        with pytest.raises(ParameterError, match="only in an index with postings"):
            searcher.search(Search("tea", only_words=True))
    with pytest.raises(ParameterError, match="candidates cannot be combined with match"):
        Search("tea", candidates=["d0"], match="all")


@pytest.mark.parametrize("line", ["tv set => television", "tv set, television"])
def test_a_synonym_of_a_phrase_counts_as_all_of_its_words(tmp_path: Path, line: str) -> None:
    made = [Document("a", "a large television"), Document("b", "a tv table"), Document("c", "red television")]
    searcher = build_index(made, tmp_path / "index")
    relevance = Relevance.of({"synonyms": [line]})
    found = searcher.search(Search("tv set", match="all", relevance=relevance)).ranking
    assert set(found.doc_ids) == {"a", "c"}
    found = searcher.search(Search("red tv set", match="all", relevance=relevance)).ranking
    assert found.doc_ids == ("c",)


@pytest.mark.parametrize(
    ("query", "lines", "expected"),
    [
        ("handtuch", ["handtuch, duschtuch"], "ht dt wd"),
        ("duschtuch", ["handtuch, duschtuch"], "ht dt wd"),
        ("flashlight", ["flashlight, head torch"], "fl lt"),
        ("head torch", ["flashlight, head torch"], "fl lt"),
        ("torch", ["torch => head torch, flashlight"], "fl lt"),
        ("light-case", ["case, head torch"], "lc lt2"),
        ("USB-A4", ["USB-A4, flashlight"], "fl usb"),
        ("unknown", ["unknown => head lamp"], ""),
        ("dusch", ["handtuch, duschtuch"], "wd dt"),
    ],
)
def test_an_added_phrase_or_compound_matches_as_a_whole(
    tmp_path: Path, query: str, lines: list[str], expected: str
) -> None:
    pytest.importorskip("simplemma", reason="needs simplemma: pip install 'termwise[simplemma]'")
    texts = {
        "ht": "Handtuch",
        "wd": "Tuch für die Dusche",
        "dt": "Duschtuch",
        "hs": "Handschuhe",
        "fl": "flashlight",
        "lt": "torch for the head",
        "tt": "black torch",
        "te": "tent, head of the water",
        "lc": "light case",
        "lt2": "light head torch",
        "usb": "USB A4",
    }
    made = build_index(
        [Document(*each) for each in texts.items()],
        tmp_path / "index",
        analyzer="german-parts",
        store_text=True,
    )
    search = Search(query, match="all", relevance=Relevance.of({"synonyms": lines}))
    if query in ("flashlight", "head torch", "torch"):
        expected += " lt2"
    assert set(made.search(search).ranking.doc_ids) == set(expected.split())


def test_a_word_that_is_corrected_to_two_matches_both(tmp_path: Path) -> None:
    texts = {"both": "a water bottle", "one": "a bottle", "other": "water and a bottle", "none": "wine"}
    made = build_index([Document(*each) for each in texts.items()], tmp_path / "index", store_text=True)
    found = made.search(Search("waterbottle", match="all", fuzzy=True)).ranking
    assert set(found.doc_ids) == {"both", "other"}


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_a_query_of_codes_matches_them_as_a_whole_or_in_all_parts(tmp_path: Path, model: str) -> None:
    texts = {
        "joined": "sofa AB1200X",
        "parts": "lamp AB-1200/X",
        "other": "chair AB-1300/Y",
        "covid": "covid mask",
        "unit": "5 GHz",
    }
    made = build_index([Document(*each) for each in texts.items()], tmp_path / "index", model=model)

    def found(query: str, **options: object) -> list[str]:
        search = Search(query, min_relevance=None, **options)  # type: ignore[arg-type]
        return sorted(made.search(search).ranking.doc_ids)

    assert found("AB-1200/X") == ["joined", "parts"]
    assert found("AB-1200/X AB-1300/Y") == ["joined", "other", "parts"]
    assert found("AB-1299/X") == []
    assert found("5GHz") == ["unit"]
    assert found("ab-12", prefix=True) == ["joined", "parts"]
    assert found("AB-1200/X", candidates=["other", "joined"]) == ["joined", "other"]
    assert {"joined", "covid"} <= set(found("sofa covid-19"))
    assert "covid" in found("covid-19")  # four letters in a row
    if model == "bm25":
        assert made.search(Search("AB-1299/X")).reasons() == ["not in the index: AB-1299/X"]
        assert "other" in found("AB-1200/X", weights={"ab": 1.0})
        assert made.rank("AB-1299/X").doc_ids == ()


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_codes_with_dashes(tmp_path: Path, model: str) -> None:
    texts = {
        "dash": "Filter AB–1200/X",
        "hyphen": "filter AB-1200/X",
        "range": "screws of 5–10 mm",
        "minus": "AB − 12",
    }
    shop = build_index(
        [Document(*each) for each in texts.items()], tmp_path / "shop", model=model, store_text=True
    )
    for query in ("AB-1200/X", "ab–1200/x", "AB−1200/X", "ab1200x"):
        results = shop.search(Search(query, match="all"))
        assert (set(results.ranking.doc_ids), results.count()) == ({"dash", "hyphen"}, 2)
        assert shop.search(Search("filter", must=[query])).count() == 2
    for query in ("10 mm", "5 10mm"):
        results = shop.search(Search(query, match="all"))
        assert (results.ranking.doc_ids[0], results.count()) == ("range", 1)


@pytest.fixture(scope="module")
def sofas(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """Return a mixture in which one sofa, and much else, is on sale."""
    texts = [
        *[f"a grey sofa number {n}" for n in range(4)],
        "a couch",
        *[f"a lamp number {n}" for n in range(20)],
    ]
    shop = [
        {"id": str(n), "text": text, "sale": n == 3 or n > 4, "old": n in (0, 4)}
        for n, text in enumerate(texts)
    ]
    path = tmp_path_factory.mktemp("sofas") / "mixture"
    return build_index(shop, path, model="instant", store_text=True, attributes="all")


def test_boosts_lift_no_result_by_meaning_above_matches_by_words(sofas: Searcher) -> None:
    sale = Relevance(boosts=(Boost("sale", 100, values=[True]), Boost("old", -50, values=[True])))
    results = sofas.search(Search("sofa", k=25, relevance=sale))
    assert results.matched == "all"
    ids, plain = results.ranking.doc_ids, sofas.search(Search("sofa", k=25))
    assert ids[0] == "3"
    assert results.matching()[0] == "words"
    before = dict(zip(plain.ranking.doc_ids, plain.ranking.scores.tolist(), strict=True))
    added = {
        doc_id: score - before[doc_id] for doc_id, score in zip(ids, results.ranking.scores, strict=True)
    }
    assert added["3"] == pytest.approx(100)
    assert added["0"] == added["4"] == pytest.approx(-50)  # those below 0 count for all
    assert all(added[doc_id] == 0 for doc_id in ids if doc_id not in ("0", "3", "4"))
    for each in results.explain():
        assert sum(part.score for part in each.contributions) + each.constant == pytest.approx(each.score)
        shown = {part.term: part.shape for part in each.contributions if part.origin == "boost"}
        assert ("by meaning only" in (shown["sale"] or "")) == (each.doc_id not in {"0", "1", "2", "3"})
    among = sofas.search(Search("sofa", k=25, candidates=ids, relevance=sale)).ranking
    assert (among.doc_ids, among.scores.tolist()) == (ids, results.ranking.scores.tolist())


def test_boosts_of_results_by_meaning_if_no_document_has_a_word(sofas: Searcher) -> None:
    sale = Relevance(boosts=(Boost("sale", 100, values=[True]),))
    results = sofas.search(Search("furniture", k=25, relevance=sale, min_relevance=0))
    assert results.matched == "meaning"
    assert set(results.ranking.doc_ids[:21]) == {"3", *map(str, range(5, 25))}
