"""Search in the shop of the tutorial: 141 queries with the products that they must find.

`queries.jsonl` has one query in each line. Identifiers are the SKUs of `docs/examples/make_shop.py`. `relevance.toml`
has the boosts, synonyms, pins and bans. The keys of a query:

``options``
    Options of the search.
``first``
    The first results, in this order.
``leading``
    The first results, in any order.
``among``
    Products among the first five results.
``every``
    Attributes of the first three results, or of the first ``top``.
``absent``
    Products that are no results.
``suggested``
    A suggestion for a mistyped word.
``reason``
    A part of the reasons why there are no results.
"""

from __future__ import annotations

import json
import runpy
from collections import Counter
from pathlib import Path
from random import Random
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import pytest

import termwise
from termwise.engine.unrelated_queries import LEAST_RELEVANCE
from termwise.search import Relevance, Search, Searcher

HERE = Path(__file__).parent
QUERIES = [
    json.loads(line) for line in (HERE / "queries.jsonl").read_text(encoding="utf-8").splitlines() if line
]
RELEVANCE = Relevance.read(HERE / "relevance.toml")
MAKE_SHOP = HERE.parents[1] / "docs" / "examples" / "make_shop.py"
ATTRIBUTES = ("sku", "lang", "brand", "category", "price", "sold", "added", "season", "stock")


@pytest.fixture(scope="module")
def products() -> list[dict[str, Any]]:
    made, _ = runpy.run_path(str(MAKE_SHOP))["shop"]()
    return [product | {"_id": product["sku"]} for product in made]


def indexed(products: list[dict[str, Any]], folder: Path, **settings: Any) -> Searcher:
    return termwise.build_index(
        products,
        folder / "shop",
        fields={"title": 3, "sku": 1, "description": 1},
        attributes=ATTRIBUTES,
        store_text=True,
        **settings,
    )


@pytest.fixture(scope="module", params=["bm25", "instant"])
def shop(
    request: pytest.FixtureRequest, products: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Searcher:
    return indexed(products, tmp_path_factory.mktemp(request.param), model=request.param)


def unmet(
    searcher: Searcher, query: dict[str, Any], relevance: Relevance | None = RELEVANCE
) -> dict[str, Any]:
    """Return what is found instead of what a query must find; empty if it finds all."""
    search = Search(query["query"], k=1000, relevance=relevance, **query.get("options", {}))
    results = searcher.search(search)
    found = list(results.ranking.doc_ids)
    wrong: dict[str, Any] = {}
    if "first" in query and found[: len(query["first"])] != query["first"]:
        wrong["first"] = found[:5]
    if "leading" in query and set(found[: len(query["leading"])]) != set(query["leading"]):
        wrong["leading"] = found[: len(query["leading"])]
    if not set(query.get("among", ())) <= set(found[:5]):
        wrong["among"] = found[:5]
    if "every" in query:
        top = query.get("top", 3)
        shown = [{name: hit.attributes.get(name) for name in query["every"]} for hit in results.hits()[:top]]
        if shown != [query["every"]] * top:
            wrong["every"] = shown
    if unwanted := set(query.get("absent", ())) & set(found):
        wrong["absent"] = unwanted
    if "suggested" in query:
        words = [similar.word for each in results.did_you_mean() for similar in each.words]
        if query["suggested"] not in words:
            wrong["suggested"] = words
    if "reason" in query and (found or query["reason"] not in "\n".join(results.reasons())):
        wrong["reason"] = found[:5] or results.reasons()
    return wrong


@pytest.mark.parametrize("query", QUERIES, ids=lambda each: f"{each['kind']}: {each['query']}")
def test_queries_of_a_shop(shop: Searcher, query: dict[str, Any]) -> None:
    if query["kind"] == "boosts" and len(shop.parts) > 1:
        pytest.skip("the weights of the boosts are in units of the scores of BM25")
    assert unmet(shop, query) == {}


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_words_of_three_languages(products: list[dict[str, Any]], tmp_path: Path, model: str) -> None:
    """With languages, the first results of a mixture are those of words in the language of the query."""
    searcher = indexed(products, tmp_path, model=model, analyzer="by-attribute:lang")
    expected = {
        "head torches": ("en", "head torches"),
        "Stirnlampen": ("de", "head torches"),
        "lampes frontales": ("fr", "head torches"),
        "Wasserkochern": ("de", "kettles"),
        "bouilloires": ("fr", "kettles"),
        "Regenjacken": ("de", "rain jackets"),
        "couteaux": ("fr", "kitchen knives"),
        "Kaffeemühlen": ("de", "coffee grinders"),
    }
    for query, (language, category) in expected.items():
        for lang in (None, language):
            found = searcher.search(Search(query, k=5, lang=lang))
            shown = [(hit.attributes["lang"], hit.attributes["category"]) for hit in found.hits()]
            assert shown == [(language, category)] * 5, query
            assert found.count() >= 5
            assert {*found.matching()} == ({"words"} if model == "instant" else {None})
    if model == "instant":
        for query, lang in (("Hose", "de"), ("flashlight", "fr"), ("Rock", "de")):
            assert searcher.search(Search(query, lang=lang)).ranking.doc_ids == ()
        found = searcher.search(Search("flashlight", sort="price", facets=["lang"]))
        assert (found.matched, found.count()) == ("meaning", found.length())
        assert [each.value for each in found.facets()["lang"]] == ["en"]
        prices = [hit.attributes["price"] for hit in found.hits()]
        assert prices == sorted(prices)


def test_codes_that_no_document_has_find_nothing(shop: Searcher) -> None:
    """A query of codes has no results by meaning, whether or not a document contains the code."""
    random = Random("codes of a shop")
    letters = [random.choices(ascii_uppercase, k=3) for _ in range(200)]
    codes = [f"{first}{second}-{random.randint(1000, 9999)}/{last}" for first, second, last in letters]
    answered = sum(len(shop.search(Search(code, k=1)).ranking) for code in codes)
    assert answered == 0
    for query in ("AB-9999/Z", "RT-43999 QX-11111", '"LP-E6NH"'):
        found = shop.search(Search(query))
        assert (found.count(), len(found.ranking)) == (0, 0)
        if len(shop.parts) > 1:
            assert "because only pieces are known" in found.reasons()[-1]
            assert len(shop.search(Search(query, min_relevance=0)).ranking) == 10
    found = shop.search(Search("AB-1200/X"))
    assert found.ranking.doc_ids[0] == "AB-1200/X"
    assert found.count() == len(found.ranking) == 1
    assert len(shop.search(Search("sofa AB-9999/Z")).ranking) == 10  # words that documents have


def test_random_letters_find_nothing(shop: Searcher) -> None:
    """By default, a mixture has no results for 300 queries of random letters; at the level of known words, for 36 %."""
    random = Random("shop 1")
    queries = []
    for _ in range(300):
        lengths = [random.randint(4, 10) for _ in range(random.randint(1, 3))]
        queries.append(" ".join("".join(random.choices(ascii_lowercase, k=length)) for length in lengths))

    def answered(least: float | None = None) -> float:
        found = [shop.search(Search(query, k=1, min_relevance=least)).ranking for query in queries]
        return sum(map(len, found)) / len(queries)

    assert answered() <= 0.01
    if len(shop.parts) > 1:
        assert answered(LEAST_RELEVANCE) > 0.3


def test_every_kind_of_query_has_several() -> None:
    kinds = Counter(query["kind"] for query in QUERIES)
    assert len(QUERIES) == 148
    assert min(kinds.values()) >= 9
    assert set(kinds) == {
        "sku",
        "accents",
        "units",
        "compounds",
        "synonyms",
        "pins",
        "boosts",
        "typos",
        "nothing",
        "partial codes",
    }


def test_the_queries_can_fail(products: list[dict[str, Any]], tmp_path: Path) -> None:
    """Without the relevance file, and with the analyzer english, many queries do not find what they must."""
    searcher = indexed(products, tmp_path, model="bm25", analyzer="english")
    failed = Counter(query["kind"] for query in QUERIES if unmet(searcher, query, None))
    assert failed == {
        "sku": 11,
        "accents": 8,
        "units": 11,
        "compounds": 6,
        "synonyms": 13,
        "pins": 6,
        "boosts": 9,
        "typos": 3,
        "nothing": 1,
        "partial codes": 7,
    }
