"""Searches with filters against the unfiltered ranking, from which other documents are removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import Document
from termwise.attributes import Schema
from termwise.cli.main import run
from termwise.engine.allowed_documents import KEPT, _kept
from termwise.errors import ParameterError, UnknownNameError
from termwise.filters import Equals, Less, evaluation
from termwise.fusion import mix_indexes
from termwise.index import verify
from termwise.search import Search

WORDS = [f"w{number}" for number in range(30)]
QUERIES = ["w0 w1", "w2 w2 w9", "w29", "w3 w4 w5 w6"]
FILTERS = [
    "number < 1000",
    "number < 350",
    "number between 100 and 110",
    "number = 5",
    "number > 5000",
    'lang = "de" and not archived',
    'lang in ("fr", "it") or number < 20',
    "lang is missing",
]


def documents(count: int = 700) -> list[Document]:
    random = np.random.default_rng(4)
    made = []
    for number in range(count):
        attributes: dict[str, Any] = {"number": number, "archived": bool(number % 3 == 0)}
        if number % 4:
            attributes["lang"] = ("de", "fr", "it")[number % 4 - 1]
        text = " ".join(random.choice(WORDS, size=int(random.integers(1, 9))))
        made.append(Document(f"d{number}", text, attributes))
    return made


def matches(attributes: dict[str, Any], condition: str) -> bool:
    """Evaluate a filter by hand."""
    number, lang = attributes["number"], attributes.get("lang")
    return {
        FILTERS[0]: number < 1000,
        FILTERS[1]: number < 350,
        FILTERS[2]: 100 <= number <= 110,
        FILTERS[3]: number == 5,
        FILTERS[4]: number > 5000,
        FILTERS[5]: lang == "de" and not attributes["archived"],
        FILTERS[6]: lang in ("fr", "it") or number < 20,
        FILTERS[7]: lang is None,
    }[condition]


@pytest.fixture(scope="module", params=["bm25", "float", "changed", "lookup"])
def searcher(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a searcher of the documents; `changed` has many segments and deleted documents."""
    path = tmp_path_factory.mktemp("filters") / request.param
    made = documents()
    if request.param == "bm25":
        return termwise.build_index(made, path, analyzer="english")
    if request.param == "float":
        options = termwise.BuildOptions(quantiser="float32")
        return termwise.build_index(made, path, analyzer="english", options=options)
    if request.param == "lookup":
        return termwise.build_index(made[:120], path, model="lookup")
    termwise.build_index(made[:300], path, analyzer="english")
    with termwise.open_writer(path) as writer:
        for first in (300, 500, 600, 650):
            writer.add(made[first : first + 200])
            writer.commit()
        writer.delete(f"d{number}" for number in range(0, 700, 5))
    assert verify(path) == []
    return termwise.open(path)


@pytest.mark.parametrize("condition", FILTERS)
def test_a_filter_leaves_the_other_results_with_their_scores(searcher: Any, condition: str) -> None:
    by_id = {document.doc_id: document.attributes for document in documents()}
    for query in QUERIES:
        every = searcher.rank(query, k=len(searcher.index))
        kept = [(hit.doc_id, hit.score) for hit in every if matches(dict(by_id[hit.doc_id]), condition)]
        for k in (1, 10, 1000):
            found = searcher.rank(query, k=k, filter=condition)
            assert [(hit.doc_id, hit.score) for hit in found] == kept[:k]
        candidates = [hit.doc_id for hit in every][::-3]
        ranked = searcher.rank(query, candidates=candidates, filter=condition, k=1000)
        assert set(ranked.doc_ids) == {name for name in candidates if matches(dict(by_id[name]), condition)}


@pytest.mark.usefixtures("no_counts")  # a commit keeps the rows of deleted documents
def test_a_block_of_deleted_documents_is_skipped(tmp_path: Path) -> None:
    made = documents()
    termwise.build_index(made[:10], tmp_path / "index", analyzer="english")
    with termwise.open_writer(tmp_path / "index") as writer:
        writer.add(made[10:])
        writer.delete(each.doc_id for each in made[10:266])
        writer.commit()
    searcher = termwise.open(tmp_path / "index")
    assert searcher.index.segments.views["gaps"].tolist() == [0, 1]
    for query in QUERIES:
        words = set(query.split())
        kept = {each.doc_id for each in made[:10] + made[266:] if words & set(each.text.split())}
        found = searcher.rank(query, k=1000)
        assert set(found.doc_ids) == kept
        assert searcher.rank(query, k=5).doc_ids == found.doc_ids[:5]


def test_facets_count_the_allowed_documents(searcher: Any) -> None:
    names = searcher.index.doc_ids(np.arange(len(searcher.index)))
    by_id = {document.doc_id: document.attributes for document in documents()}
    for condition in (None, FILTERS[1], FILTERS[5]):
        kept = [dict(by_id[name]) for name in names]
        kept = [each for each in kept if condition is None or matches(each, condition)]
        langs = [each["lang"] for each in kept if "lang" in each]
        expected = sorted(
            ((lang, langs.count(lang)) for lang in set(langs)), key=lambda pair: (-pair[1], pair[0])
        )
        counted = searcher.search(Search(facets=["lang", "archived"], filter=condition)).facets()
        assert [tuple(each) for each in counted["lang"]] == expected
        assert sum(each.documents for each in counted["archived"]) == len(kept)


@pytest.mark.parametrize("condition", [None, FILTERS[1], FILTERS[5], FILTERS[4]])
def test_facets_of_a_query_count_all_its_results(searcher: Any, condition: str | None) -> None:
    by_id = {document.doc_id: document.attributes for document in documents()}
    for query in (*QUERIES, "unknown"):
        every = searcher.rank(query, k=len(searcher.index), filter=condition).doc_ids
        kept = [dict(by_id[name]) for name in every]
        counted = searcher.search(Search(query, facets=["lang", "archived"], filter=condition)).facets()
        expected = {lang: sum(each.get("lang") == lang for each in kept) for lang in ("de", "fr", "it")}
        assert dict(counted["lang"]) == {lang: count for lang, count in expected.items() if count}
        assert sum(each.documents for each in counted["archived"]) == len(kept)
        ranges = {"few": (None, 10), "some": (10, 60), "many": (50, None), "none": (3, 3)}
        counted = searcher.search(
            Search(query, facets=["lang"], ranges={"number": ranges}, filter=condition)
        ).facets()
        assert (
            counted["lang"]
            == searcher.search(Search(query, facets=["lang"], filter=condition)).facets()["lang"]
        )
        numbers = [each["number"] for each in kept]
        assert counted["number"] == [
            (name, sum((low or 0) <= number < (high or 1e9) for number in numbers))
            for name, (low, high) in ranges.items()
        ]
        without = searcher.search(
            Search(query, facets=["archived"], filter=condition, exclude=every[:3])
        ).facets()
        assert sum(each.documents for each in without["archived"]) == len(kept[3:])


def test_filters_of_a_query_by_example(tmp_path: Path) -> None:
    made = documents(150)
    for name in ("bm25", "jm"):
        termwise.build_index(made, tmp_path / name, model=name, analyzer="english", store_text=True)
    mix_indexes([tmp_path / "bm25", tmp_path / "jm"], [0.4, 0.6], tmp_path / "mixture", names=["bm25", "jm"])
    by_id = {document.doc_id: document.attributes for document in made}
    for place in ("bm25", "mixture"):
        searcher = termwise.open(tmp_path / place)
        every = searcher.search(Search(like="d3", k=1000)).ranking
        kept = [doc_id for doc_id in every.doc_ids if matches(dict(by_id[doc_id]), FILTERS[5])]
        ranking = searcher.search(Search(like="d3", k=1000, filter=FILTERS[5])).ranking
        assert len(kept) > 5
        assert list(ranking.doc_ids) == kept if place == "bm25" else set(ranking.doc_ids) == set(kept)
        for example in ({"like": "d3"}, {"like_text": made[3].text}):
            found = searcher.search(Search(**example, k=3, filter=FILTERS[5], facets=["lang"]))
            explained = found.explain(competitors=1)
            assert [each.score for each in explained] == pytest.approx(found.ranking.scores.tolist())
            assert [(each.rank, each.results) for each in explained] == [(n, len(kept)) for n in (1, 2, 3)]
            assert found.facets() == {"lang": [("de", len(kept))]}


def test_attributes_are_returned_as_they_were_given(searcher: Any) -> None:
    names = searcher.index.doc_ids(np.arange(len(searcher.index)))[::7]
    by_id = {document.doc_id: document.attributes for document in documents()}
    assert searcher.attributes(names) == [dict(by_id[name]) for name in names]


def test_filters_are_given_as_text_json_or_objects(searcher: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    monkeypatch.setattr(evaluation, "check_filter", lambda given, schema: checked.append(str(given)))
    as_object = Equals("lang", "de") & Less("number", 50)
    as_json = {"and": [{"field": "lang", "=": "de"}, {"field": "number", "<": 50}]}
    rankings = [
        searcher.rank("w0 w1", filter=each) for each in (as_object, as_json, 'lang = "de" and number < 50')
    ]
    assert rankings[0].doc_ids == rankings[1].doc_ids == rankings[2].doc_ids
    assert len(checked) == 2  # once for each; the text is parsed
    for number in range(2 * KEPT):
        searcher.rank("w0", filter=f"number < {number}")
    assert len(_kept[searcher.index]) == KEPT


def test_a_mixture_normalises_over_the_allowed_candidates(tmp_path: Path) -> None:
    made = documents(150)
    for name, model in (("bm25", "bm25"), ("jm", "jm")):
        termwise.build_index(
            made,
            tmp_path / name,
            model=model,
            analyzer="english",
            attributes=None if name == "bm25" else Schema(),
        )
    mix_indexes([tmp_path / "bm25", tmp_path / "jm"], [0.4, 0.6], tmp_path / "mixture", names=["bm25", "jm"])
    mixture = termwise.open(tmp_path / "mixture")
    condition = "number < 60"
    alone = made[:60]
    ranking = mixture.rank("w0 w1 w2", filter=condition, k=100)
    assert len(ranking)
    assert set(ranking.doc_ids) <= {document.doc_id for document in alone}
    explained = mixture.search(Search("w0 w1 w2", filter=condition)).explain(ranking.doc_ids)
    assert [each.score for each in explained] == pytest.approx(ranking.scores.tolist())
    assert (
        mixture.search(Search(facets=["archived"], filter=condition)).facets()["archived"][0].documents == 40
    )
    counted = mixture.search(Search("w0 w1 w2", facets=["archived"], filter=condition)).facets()["archived"]
    assert sum(each.documents for each in counted) == len(ranking)
    assert mixture.attributes(["d1"]) == [{"number": 1, "archived": False, "lang": "de"}]


def test_an_index_without_attributes_and_unknown_fields_are_refused(tmp_path: Path) -> None:
    plain = termwise.build_index([Document("a", "text")], tmp_path / "plain")
    with pytest.raises(ParameterError, match="no attributes"):
        plain.rank("text", filter="price < 3")
    some = termwise.build_index([Document("a", "text", {"price": 2})], tmp_path / "some")
    with pytest.raises(UnknownNameError, match="prize"):
        some.rank("text", filter="prize < 3")
    with pytest.raises(UnknownNameError, match="prize"):
        some.search(Search(facets=["prize"])).facets()
    with pytest.raises(UnknownNameError):
        some.search(Search(ranges={"prize": {}})).facets()
    for wrong in (
        {"price": (0, 1)},
        {"price": {"x": 3}},
        {"price": {"x": ("a", "b")}},
        {5: {}},
        [("price", {})],
    ):
        with pytest.raises(ParameterError):
            some.search(Search(ranges=wrong)).facets()
    with pytest.raises(ParameterError, match="other fields"):
        some.search(Search(facets=["price"], ranges={"price": {"x": (0, 1)}})).facets()


def test_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"_id": "a", "text": "green tea", "price": 12.5, "tags": ["tea", "green"]},
        {"_id": "b", "text": "black tea", "price": 4, "tags": ["tea"]},
        {"_id": "c", "text": "tea pot", "price": 50, "tags": ["pot"]},
    ]
    Path("shop.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("more.jsonl").write_text(
        json.dumps({"_id": "d", "text": "white tea", "price": 9, "tags": ["tea"]}) + "\n"
    )
    assert (
        run(["index", "shop.jsonl", "--model", "bm25", "--attributes", "price,tags", "--out", "shop.tw"]) == 0
    )
    assert run(["add", "shop.tw", "more.jsonl"]) == 0
    capsys.readouterr()
    assert run(["search", "shop.tw", "tea", "--filter", "price < 20", "--show", "price", "--json"]) == 0
    *shown, _ = map(json.loads, capsys.readouterr().out.splitlines())
    assert {hit["doc_id"]: hit["attributes"]["price"] for hit in shown} == {"a": 12.5, "b": 4.0, "d": 9.0}
    assert run(["search", "shop.tw", "tea", "--facets", "tags", "--filter", "price < 20"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "tags: tea 3, green 1"
    assert run(["search", "shop.tw", "pot green", "--facets", "tags"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "tags: green 1, pot 1, tea 1"
    assert run(["search", "shop.tw", "tea", "--filter", "price < 1"]) == 0
    assert "the conditions allow no document that matches the query" in capsys.readouterr().err
    assert run(["search", "shop.tw", "tea price:4 -tags:green", "--syntax"]) == 0
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line[:1] == "1"] == ["b"]
    assert run(["explain", "shop.tw", "tea", "c", "--filter", "price < 20"]) == 0
    assert "not among the 3 results" in capsys.readouterr().out
    assert run(["delete", "shop.tw", "--filter", 'tags = "pot"', "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["deleted"] == 1
    assert run(["delete", "shop.tw"]) == 2
    assert run(["search", "shop.tw", "tea", "--show", "prize"]) == 2
