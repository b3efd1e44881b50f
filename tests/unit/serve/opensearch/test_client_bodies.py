"""Keys and clauses that clients of search boxes send, and that are approximated or change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.serve.conftest import TEAS, served
from tests.unit.serve.opensearch.test_search import ids, refused, search, warnings_of

import termwise
from termwise.attributes import Schema
from termwise.serve import ServiceSettings
from termwise.text import make_analyzer_by_attribute

EDITS = (
    "cannot be chosen: fuzziness replaces words that the index lacks, by at most 5 words with one edit from 4 letters "
    "on, and two from 8"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("shop") / "shop.tw"
    termwise.build_index(TEAS, folder, store_text=True)
    with served([str(folder)]) as client:
        yield client


def hits(answer: Any) -> list[tuple[str, float]]:
    return [(hit["_id"], hit["_score"]) for hit in answer["hits"]["hits"]]


@pytest.mark.parametrize(
    ("query", "same", "notes"),
    [
        ({"match": {"text": {"query": "green tea", "lenient": True, "fuzzy_transpositions": True, "prefix_length": 0,
                             "auto_generate_synonyms_phrase_query": False, "zero_terms_query": "none",
                             "max_expansions": 20}}}, {"match": {"text": "green tea"}}, []),
        ({"match": {"text": {"query": "geen", "fuzziness": "AUTO", "prefix_length": 1, "max_expansions": 10,
                             "fuzzy_transpositions": False}}},
         {"match": {"text": {"query": "geen", "fuzziness": "AUTO"}}},
         [f"[prefix_length, fuzzy_transpositions, max_expansions] of match {EDITS}"]),
        *(({"multi_match": {"query": "geen rise", "fuzziness": fuzziness}},
           {"multi_match": {"query": "geen rise", "fuzziness": "AUTO"}}, [f"[fuzziness] of multi_match {EDITS}"])
          for fuzziness in (1, 2, "1", "auto:3,6")),
        ({"multi_match": {"query": "green tea", "fields": ["title", "text"], "tie_breaker": 0.3}},
         {"match": {"text": "green tea"}},
         ["tie_breaker of multi_match changes nothing: the texts of a document have one score together"]),
        ({"match_phrase": {"text": {"query": "green tea", "zero_terms_query": "all", "analyzer": "english"}}},
         {"match_phrase": {"text": "green tea"}},
         ["the analyzer of a query is that of the index, english-parts, and not english"]),
        ({"query_string": {"query": "green tea", "analyzer": "english-parts"}}, {"match": {"text": "green tea"}}, []),
        ({"match": {"text": {"query": "the of", "zero_terms_query": "ALL"}}}, {"match_all": {}}, []),
        ({"bool": {"must": {"match": {"text": {"query": "the", "zero_terms_query": "all", "boost": 2}}},
                   "filter": {"term": {"price": 9}}}},
         {"constant_score": {"filter": {"term": {"price": 9}}, "boost": 2}}, []),
        ({"match": {"text": {"query": "the of", "zero_terms_query": "none"}}}, {"ids": {"values": []}}, []),
        ({"range": {"price": {"gt": 9, "boost": 3}}}, {"range": {"price": {"gt": 9}}},
         ["boost of range changes nothing: a condition adds nothing to scores here"]),
        ({"match": {"kind": {"query": "green", "boost": 3}}}, {"term": {"kind": "green"}},
         ["boost of match changes nothing: a condition adds nothing to scores here"]),
    ],
)  # fmt: skip
def test_keys_that_change_nothing_have_a_warning_where_they_would(
    client: TestClient, query: object, same: object, notes: list[str]
) -> None:
    answer = client.post("/shop/_search", json={"query": query})
    assert answer.status_code == 200, answer.text
    assert hits(answer.json()) == hits(search(client, same))
    assert warnings_of(answer) == notes


@pytest.mark.parametrize(
    "query",
    [
        {"bool": {"must": {"match": {"text": "green tea"}}, "should": {"term": {"price": 9}}}},
        {"query_string": {"query": "green tea"}},
        {"dis_max": {"queries": [{"match": {"text": "green tea"}}]}},
        {"function_score": {"query": {"match": {"text": "green tea"}}, "weight": 2, "boost_mode": "sum"}},
        {"bool": {"should": [{"match_all": {}}]}},
    ],
)
def test_a_boost_of_the_whole_query_multiplies_scores(client: TestClient, query: Any) -> None:
    ((kind, body),) = query.items()
    limit: Any = {"post_filter": {"range": {"price": {"gt": 7}}}, "explain": True}
    answer = search(client, {kind: {**body, "boost": 3}}, **limit)
    assert hits(answer) == [
        (each, pytest.approx(3 * score)) for each, score in hits(search(client, query, **limit))
    ]
    for hit in answer["hits"]["hits"]:
        parts = hit["_explanation"]["details"]
        assert sum(part["value"] for part in parts) == pytest.approx(hit["_score"])


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"match": {"text": {"query": "tea", "fuzziness": 3}}}, "[3]"),
        ({"match": {"text": {"query": "tea", "fuzziness": "AUTO:a"}}}, "[AUTO:A]"),
        ({"match": {"text": {"query": "tea", "prefix_length": -1}}}, "prefix_length of match"),
        ({"match": {"text": {"query": "tea", "max_expansions": 0}}}, "max_expansions of match"),
        ({"match": {"text": {"query": "tea", "lenient": "perhaps"}}}, "lenient of match"),
        ({"match": {"text": {"query": "tea", "zero_terms_query": "some"}}}, "[some]"),
        ({"match": {"text": {"query": ["tea"], "zero_terms_query": "all"}}}, "query of match"),
        ({"match": {"text": {"query": "tea", "analyzer": "german"}}}, "analyzer of the index"),
        ({"match": {"text": {"query": "tea", "analyzer": 7}}}, "[7]"),
        ({"multi_match": {"query": "tea", "tie_breaker": "much"}}, "tie_breaker of multi_match"),
        ({"bool": {"must": {"match": {"text": "tea"}}, "boost": -1}}, "boost of bool"),
        ({"term": {"kind": {"value": "green", "boost": "x"}}}, "boost of term"),
    ],
)  # fmt: skip
def test_wrong_values_of_ignored_keys_are_refused(client: TestClient, query: object, words: str) -> None:
    refused(client, {"query": query}, words)


@pytest.fixture(scope="module")
def languages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("languages") / "shop.tw"
    texts = [
        ("a", "de", "Warme Jacken aus Wolle"), ("b", "en", "A warm jacket of wool"),
        ("c", "en", "jack stand for a car"), ("d", "de", "Jack Wolfskin Rucksack"),
    ]  # fmt: skip
    records = [{"id": name, "lang": lang, "text": text} for name, lang, text in texts]
    termwise.build_index(
        records, folder, attributes=["lang"], analyzer=make_analyzer_by_attribute("lang"), store_text=True
    )
    with served([str(folder)]) as client:
        yield client


@pytest.mark.parametrize("clause", ["match", "multi_match", "query_string", "match_phrase", "bool"])
def test_an_analyzer_is_the_language_of_the_query(languages: TestClient, clause: str) -> None:
    note = "the analyzer german says the language of the words: results are documents of this language"
    german: dict[str, Any] = {"query": "jack", "analyzer": "german"}
    inside = german if clause in ("multi_match", "query_string") else {"text": german}
    query: Any = {clause: inside}
    if clause == "bool":
        others = {"match": {"text": {"query": "Wolfskin", "analyzer": "de-x", "boost": 2}}}
        query = {"bool": {"must": [{"match": {"text": german}}], "should": [others]}}
    answer = languages.post("/shop/_search", json={"query": query})
    assert set(ids(answer.json())) == {"a", "d"}
    assert note in warnings_of(answer)
    assert set(ids(search(languages, {"match": {"text": "jack"}}))) == {"a", "c", "d"}


def test_analyzers_of_no_or_several_languages_are_refused(languages: TestClient) -> None:
    refused(
        languages,
        {"query": {"match": {"text": {"query": "jack", "analyzer": "standard"}}}},
        "supported: de, en",
    )
    both = [{"match": {"text": {"query": "jack", "analyzer": each}}} for each in ("german", "english")]
    refused(languages, {"query": {"bool": {"must": both}}}, "analyzers of several languages [de, en]")


def test_modes_and_types_of_sort_keys_change_nothing(client: TestClient) -> None:
    price = {"order": "desc", "mode": "avg", "numeric_type": "double", "missing": "_last"}
    assert ids(search(client, sort=[{"price": price}])) == ids(search(client, sort=[{"price": "desc"}]))
    for wrong in (
        {"missing": "_first"},
        {"missing": 0},
        {"missing": []},
        {"mode": "first"},
        {"numeric_type": []},
    ):
        refused(client, {"sort": [{"price": wrong}]}, f"{next(iter(wrong))} of sort by price")
    refused(client, {"sort": [{"price": {"missing": "_first"}}]}, "documents without a value are last")


def buckets(client: TestClient, query: object = None, **asked: Any) -> Any:
    found = search(client, query or {"match_all": {}}, size=0, aggs={"a": asked})["aggregations"]["a"]
    return found["buckets"]


def test_each_of_several_conditions_has_a_bucket(client: TestClient) -> None:
    """Prices of green: 12 and 9; black: 7; ware: 40; herb: 5."""
    cheap, green = {"range": {"price": {"lt": 10}}}, {"term": {"kind": "green"}}
    mean = {"mean": {"avg": {"field": "price"}}}
    found = buckets(
        client, filters={"other_bucket": True, "filters": {"cheap": cheap, "green": green}}, aggs=mean
    )
    assert found == {
        "cheap": {"doc_count": 3, "mean": {"value": 7}},
        "green": {"doc_count": 2, "mean": {"value": 10.5}},
        "_other_": {"doc_count": 1, "mean": {"value": 40}},
    }
    tea = {"match": {"text": "tea"}}
    every = {"match_all": {}}
    assert buckets(client, tea, filters={"filters": [cheap, every], "other_bucket_key": "rest"}) == [
        {"doc_count": 2}, {"doc_count": 4}, {"doc_count": 0},
    ]  # fmt: skip
    assert list(buckets(client, filters={"filters": {"green": green}, "other_bucket_key": "rest"})) == [
        "green",
        "rest",
    ]
    for wrong in ({}, {"filters": {}}, {"filters": "x"}):
        refused(client, {"aggs": {"a": {"filters": wrong}}}, "an object or a list of filters")
    refused(client, {"aggs": {"a": {"filters": {"filters": [{"match": {"text": "tea"}}]}}}}, "[match]")


def test_a_global_aggregation_is_for_all_documents(client: TestClient) -> None:
    kinds = {"kinds": {"terms": {"field": "kind"}}}
    found = search(
        client, {"match": {"text": "rice"}}, size=0, aggs={"all": {"global": {}, "aggs": kinds}, **kinds}
    )
    assert found["aggregations"]["all"]["doc_count"] == 5
    assert len(found["aggregations"]["all"]["kinds"]["buckets"]) == 4
    assert len(found["aggregations"]["kinds"]["buckets"]) == 1
    refused(client, {"aggs": {"a": {"filter": {"match_all": {}}, "aggs": {"b": {"global": {}}}}}}, "[global]")
    refused(client, {"aggs": {"a": {"global": {}, "aggs": {"b": {"top_hits": {}}}}}}, "beneath global")


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ({"field": "tags", "missing": "none"}, [("none", 4), ("loose", 1)]),
        ({"field": "tags", "missing": "loose"}, [("loose", 5)]),
        ({"field": "kind", "missing": "none"}, [("green", 2), ("black", 1), ("herb", 1), ("ware", 1)]),
        ({"field": "kind", "include": ["ware", "green", "red"]}, [("green", 2), ("ware", 1)]),
        ({"field": "kind", "exclude": ["green"]}, [("black", 1), ("herb", 1), ("ware", 1)]),
        ({"field": "kind", "include": ".*r.*", "exclude": "gre.*"}, [("herb", 1), ("ware", 1)]),
        ({"field": "kind", "include": "gree"}, []),
        ({"field": "price", "include": ["9", 7], "order": {"_key": "asc"}}, [(7, 1), (9, 1)]),
        ({"field": "tags", "missing": "none", "include": ["none"]}, [("none", 4)]),
    ],
)  # fmt: skip
def test_values_are_chosen(client: TestClient, terms: Any, found: list[tuple[Any, int]]) -> None:
    inner = {"n": {"value_count": {"field": "price"}}}
    seen = buckets(client, terms=terms, aggs=inner)
    assert [(each["key"], each["doc_count"]) for each in seen] == found
    assert [each["n"]["value"] for each in seen] == [count for _, count in found]
    few = search(client, size=0, aggs={"a": {"terms": {**terms, "size": 1}}})["aggregations"]["a"]
    assert few["sum_other_doc_count"] == sum(count for _, count in found[1:])


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"field": "kind", "include": "g(re)+en"}, "a list of values"),
        ({"field": "kind", "include": "gre*"}, "a list of values"),
        ({"field": "kind", "include": {"partition": 0, "num_partitions": 3}}, "a list of values"),
        ({"field": "kind", "include": [3]}, "another type"),
        ({"field": "kind", "include": []}, "at least one"),
        ({"field": "price", "include": "9.*"}, "a list of values"),
        ({"field": "price", "missing": "none"}, "another type"),
    ],
)
def test_wrong_choices_of_values_are_refused(client: TestClient, terms: object, words: str) -> None:
    refused(client, {"aggs": {"a": {"terms": terms}}}, words)


def test_values_are_chosen_among_many(tmp_path: Path) -> None:
    """Of nine values, only the four most frequent ones are counted."""
    records = [{"id": f"{n}-{m}", "text": "tea", "kind": f"k{n}"} for n in range(9) for m in range(10 - n)]
    termwise.build_index([*records, {"id": "x", "text": "tea"}], tmp_path / "shop.tw", attributes=["kind"])
    with served([str(tmp_path / "shop.tw")], ServiceSettings(threads=2, max_results=4)) as client:

        def counted(**terms: object) -> Any:
            return [
                (each["key"], each["doc_count"]) for each in buckets(client, terms={"field": "kind", **terms})
            ]

        assert counted(exclude=["k1"], size=2) == [("k0", 10), ("k2", 8)]
        assert counted(include=["k8", "k0"]) == [("k0", 10), ("k8", 2)]
        assert counted(missing="k8", size=2) == [("k0", 10), ("k1", 9)]
        assert counted(missing="k8", include=["k8"]) == [("k8", 3)]
        refused(
            client,
            {"size": 0, "aggs": {"a": {"terms": {"field": "kind", "include": "k8"}}}},
            "a smaller size",
        )


def test_spellings_of_a_chosen_value_are_one(tmp_path: Path) -> None:
    brands = ["Bosch", "BOSCH", "Bosch", "Aki", None]
    records = [{"id": str(n), "text": "tea", "brand": brand} for n, brand in enumerate(brands)]
    schema = Schema({"brand": "keyword folded"})
    termwise.build_index(records, tmp_path / "shop.tw", attributes=schema)
    inner = {"n": {"top_hits": {}}}
    with served([str(tmp_path / "shop.tw")]) as client:
        for terms in ({"include": ["bosch"]}, {"exclude": ["aki"]}, {"include": "bo.*"}):
            assert buckets(client, terms={"field": "brand", **terms}) == [{"key": "Bosch", "doc_count": 3}]
        (found,) = buckets(client, terms={"field": "brand", "missing": "AKI", "include": ["aki"]}, aggs=inner)
        assert (found["doc_count"], found["n"]["hits"]["total"]["value"]) == (2, 2)


ADDED = "functions are added to the score, in units of the best score of the query, and do not multiply it"


def test_results_that_fulfil_a_negative_condition_lose_a_part_of_the_best_score(client: TestClient) -> None:
    positive = {"match": {"text": "green tea"}}
    negative = {"bool": {"filter": [{"term": {"kind": "green"}}, {"range": {"price": {"lt": 10}}}]}}
    query = {"boosting": {"positive": positive, "negative": negative, "negative_boost": 0.25}}
    answer = client.post("/shop/_search", json={"query": query})
    plain = dict(hits(search(client, positive)))
    plain["genmaicha"] -= 0.75 * max(plain.values())
    assert dict(hits(answer.json())) == pytest.approx(plain, abs=1e-6)
    assert ids(answer.json()) == sorted(plain, key=lambda name: -plain[name])
    (warning,) = warnings_of(answer)
    assert warning.startswith(f"boosting: {ADDED}.")
    every = {
        "boosting": {
            "positive": {"match_all": {}},
            "negative": {"term": {"kind": "green"}},
            "negative_boost": 0.5,
        }
    }
    scores = dict(hits(search(client, every)))
    assert scores == {"assam": 1, "pot": 1, "mint/fresh": 1, "sencha": 0.5, "genmaicha": 0.5}
    same = {**query["boosting"], "negative_boost": 1, "boost": 2}
    assert dict(hits(search(client, {"boosting": same}))) == {
        name: pytest.approx(2 * score) for name, score in hits(search(client, positive))
    }


def test_a_rescore_by_a_phrase_adds_to_scores(client: TestClient) -> None:
    query = {"match": {"text": "tea rice"}}
    phrase = {"match_phrase": {"text": {"query": "black tea", "boost": 2}}}
    window = {"query": {"rescore_query": phrase, "query_weight": 0.5, "rescore_query_weight": 3}}
    body = {"query": query, "rescore": [{"window_size": 50, **window}]}
    answer = client.post("/shop/_search", json=body)
    plain = dict(hits(search(client, query)))
    best = search(client, {"match": {"text": "black tea"}})["hits"]["max_score"]
    expected = {name: score / 2 + (name == "assam") * 6 * best for name, score in plain.items()}
    assert dict(hits(answer.json())) == pytest.approx(expected)
    assert "rescore adds to the scores of all results, not only of the first window_size" in warnings_of(
        answer
    )
    terms = search(client, query, rescore={"query": {"rescore_query": {"match": {"text": "clay"}}}})
    assert ids(terms)[0] == "pot"
    short = search(client, query, rescore={"query": {"rescore_query": {"multi_match": {
        "query": "black tea", "type": "phrase"}}}}, post_filter={"range": {"price": {"lt": 40}}})  # fmt: skip
    assert ids(short) == ["assam", "genmaicha", "sencha"]


@pytest.mark.parametrize(
    ("query", "same", "notes"),
    [
        ({"dis_max": {"queries": [{"match": {"text": "tea rice"}}, {"match_phrase": {"text": "tea rice"}}]}},
         {"bool": {"should": [{"match": {"text": "tea rice"}}, {"match_phrase": {"text": "tea rice"}}]}}, 1),
        ({"dis_max": {"queries": [{"match": {"text": "clay"}}, {"match": {"text": "rice"}}], "tie_breaker": 0.5}},
         {"match": {"text": "clay rice"}}, 1),
        ({"dis_max": {"queries": [{"match_phrase": {"text": "green tea"}}] * 2}},
         {"match_phrase": {"text": "green tea"}}, 0),
        ({"bool": {"must": [{"multi_match": {"query": "tea rice", "boost": 2}}, {"match": {"text": "tea rice"}}]}},
         {"match": {"text": {"query": "tea rice", "boost": 3}}}, 0),
        ({"bool": {"must": [{"match_bool_prefix": {"text": "tea ri"}}, {"match_bool_prefix": {"text": "tea ri"}}]}},
         {"match_bool_prefix": {"text": {"query": "tea ri", "boost": 2}}}, 0),
        ({"bool": {"must": {"match": {"text": "tea"}}, "should": [{"bool": {"must": [{"bool": {"should": {
            "range": {"price": {"gt": 9}}}}}]}}]}},
         {"bool": {"must": {"match": {"text": "tea"}}, "should": {"range": {"price": {"gt": 9}}}}}, 0),
        ({"bool": {"should": [{"bool": {"must": [{"match": {"text": "clay"}}]}}, {"match": {"text": "rice"}}]}},
         {"match": {"text": "clay rice"}}, 0),
        ({"bool": {"must": [{"match": {"text": "tea"}}, {"constant_score": {"filter": {"term": {"price": 9}}}}]}},
         {"bool": {"must": [{"match": {"text": "tea"}}, {"match_all": {}}], "filter": {"term": {"price": 9}}}}, 0),
    ],
)  # fmt: skip
def test_combinations_of_clauses_are_other_ones(
    client: TestClient, query: object, same: object, notes: int
) -> None:
    answer = client.post("/shop/_search", json={"query": query})
    assert answer.status_code == 200, answer.text
    assert dict(hits(answer.json())) == pytest.approx(dict(hits(search(client, same))))
    its_own = [
        note for note in warnings_of(answer) if note.startswith("dis_max adds up the scores of its queries")
    ]
    assert len(its_own) == notes


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"query": {"boosting": {"positive": {"match_all": {}}, "negative": {"match": {"text": "a"}},
                                 "negative_boost": 0.5}}}, "use must_not"),
        ({"query": {"boosting": {"positive": {"match_all": {}}, "negative": {"term": {"price": 9}}}}},
         "negative_boost"),
        ({"query": {"boosting": {"positive": {"match_all": {}}, "negative": {"term": {"price": 9}},
                                 "negative_boost": 2}}}, "a number up to 1"),
        ({"query": {"boosting": {"negative": {"term": {"price": 9}}, "negative_boost": 0.5}}}, "a query"),
        ({"query": {"boosting": {"positive": {"match_all": {}}, "negative_boost": 0.5}}}, "a query"),
        ({"rescore": {"query": {"rescore_query": {"function_score": {}}}}}, "function_score"),
        ({"rescore": {"query": {"rescore_query": {"match": {"kind": "a"}}}}}, "on the attribute [kind]"),
        ({"rescore": {"query": {"rescore_query": {"match_phrase": {"text": {"query": "a b", "slop": 2}}}}}}, "slop"),
        ({"rescore": {"query": {"rescore_query": {"match_phrase": {"text": "a b"}}, "score_mode": "max"}}},
         "score_mode"),
        ({"rescore": {"query": {"rescore_query": {"match_phrase": {"text": "a b"}}, "query_weight": 0}}}, "above 0"),
        ({"rescore": [{}, {}]}, "several [rescore]"),
        ({"rescore": {"learning_to_rank": {}}}, "[learning_to_rank]"),
        ({"rescore": {"query": {}}}, "rescore_query"),
    ],
)  # fmt: skip
def test_other_rescores_and_negatives_are_refused(client: TestClient, body: object, words: str) -> None:
    refused(client, body, words)


@pytest.mark.parametrize(
    "query",
    [
        {"match": {"title.ngram": "green tea"}},
        {
            "multi_match": {
                "query": "green tea",
                "fields": ["title^3", "title.ngram^0.5", "text", "text._2gram"],
            }
        },
        {"query_string": {"query": "green tea", "fields": ["title.ngram", "text"]}},
        {"query_string": {"query": "title.ngram:(green tea)"}},
        {
            "bool": {
                "must": {"match": {"title.ngram": "green tea"}},
                "should": {"match": {"title.ngram": "tea"}},
            }
        },
    ],
)
def test_subfields_are_read_as_their_texts(client: TestClient, query: object) -> None:
    answer = client.post("/shop/_search", json={"query": query})
    assert answer.status_code == 200, answer.text
    assert set(ids(answer.json())) == {"sencha", "genmaicha", "assam", "pot"}
    note = "the subfields [title.ngram] are read as the texts they belong to, with the analyzer of the index"
    assert note in warnings_of(answer)


def test_subfields_of_attributes_and_in_conditions_are_refused(client: TestClient) -> None:
    for name in ("kind.ngram", "title.keyword", "colour.ngram"):
        refused(client, {"query": {"match": {name: "green"}}}, "unknown field")
    refused(client, {"query": {"bool": {"filter": {"match": {"text.ngram": "tea"}}}}}, "[text.ngram]")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/shop/_search?scroll=1m", "in search_after"),
        ("/_search/scroll", "in search_after"),
        ("/_search/scroll/abc", "in search_after"),
        ("/shop/_search/point_in_time?keep_alive=1m", "in search_after"),
        ("/_search/template", "fill in the template in the client"),
        ("/shop/_search/template", "fill in the template in the client"),
        ("/_msearch/template", "to _msearch"),
        ("/_scripts/box", "a relevance file"),
        ("/_scripts/painless/_execute", "a relevance file"),
        ("/_reindex", "to _bulk"),
        ("/shop/_update_by_query", "with update"),
        ("/shop/_validate/query", "with the size 0"),
        ("/shop/_nothing", "supported: /"),
    ],
)
def test_refused_addresses_say_what_to_use_instead(client: TestClient, path: str, words: str) -> None:
    refused(client, {}, words, path)
    refused(client, {}, path.split("/")[-1].partition("?")[0].removesuffix("_search"), path)
