"""A query whose words no document has: all surfaces count, sort and page the results by meaning alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.serve.conftest import served

import termwise
from termwise.cli.main import run
from termwise.records import Document
from termwise.search import Search
from termwise.search.mixture_folder import MixtureManifest
from termwise.serve import ServiceSettings
from termwise.serve.indexes import ServedIndexes
from termwise.serve.requests import FacetsRequest
from termwise.serve.search import facets

SOFAS = [
    Document("d0", "green sofa", {"price": 5, "kind": "sofa"}),
    Document("d1", "red sofa", {"price": 3, "kind": "sofa"}),
    Document("d2", "blue sofa", {"price": 4, "kind": "sofa"}),
    Document("d3", "coffee beans", {"price": 1, "kind": "food"}),
]
COUCH = Document("c0", "a couch of oak", {"price": 9, "kind": "sofa"})
HTML = {"accept": "text/html"}
BY_PRICE = ["d1", "d2", "d0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    termwise.build_index(SOFAS, folder / "m", model="instant", store_text=True)
    termwise.build_index([COUCH], folder / "w", store_text=True)
    termwise.build_index([COUCH, SOFAS[3]], folder / "n", model="instant", store_text=True)
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with served([str(folder / name) for name in "mwn"]) as client:
        yield client


def post(client: TestClient, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(answer: Any) -> list[str]:
    return [hit["doc_id"] for hit in answer["hits"]]


def test_over_http(folder: Path, client: TestClient) -> None:
    found = termwise.open(folder / "m").search(Search("couch", sort="price", facets=["kind"]))
    assert (list(found.ranking.doc_ids), found.count(), found.matched) == (BY_PRICE, 3, "meaning")
    asked: dict[str, Any] = {"query": "couch", "sort": "price", "facets": ["kind"], "total": True}
    answer = post(client, "/v1/indexes/m/search", **asked)
    assert (ids(answer), answer["total"], answer["matched"]) == (BY_PRICE, 3, "meaning")
    assert answer["facets"] == {"kind": [{"value": "sofa", "documents": 3}]}
    assert "total_relation" not in answer
    assert {hit["matches"] for hit in answer["hits"]} == {"meaning"}
    pages = [post(client, "/v1/indexes/m/search", **asked, k=1, offset=n) for n in range(4)]
    assert [ids(page) for page in pages] == [["d1"], ["d2"], ["d0"], []]
    assert pages[3]["reasons"] == ["3 documents match, and 3 are skipped"]
    opened = ServedIndexes([str(folder / "m")])["m"].current()
    counted = facets(opened, FacetsRequest(query="couch", facets=["kind"]), ServiceSettings())
    assert (counted["facets"], counted["matched"]) == (answer["facets"], "meaning")


def test_as_opensearch(client: TestClient) -> None:
    query = {"match": {"text": "couch"}}
    asked = {"query": query, "sort": ["price"], "aggs": {"kinds": {"terms": {"field": "kind"}}}}
    answer = post(client, "/m/_search", **asked)
    assert [hit["_id"] for hit in answer["hits"]["hits"]] == BY_PRICE
    assert all(hit["fields"] == {"_matches": ["meaning"]} for hit in answer["hits"]["hits"])
    assert answer["hits"]["total"] == {"value": 3, "relation": "eq"}
    (bucket,) = answer["aggregations"]["kinds"]["buckets"]
    assert (bucket["key"], bucket["doc_count"]) == ("sofa", 3)
    pages = [post(client, "/m/_search", **asked, size=2, **{"from": first}) for first in (0, 2)]
    assert [hit["_id"] for page in pages for hit in page["hits"]["hits"]] == BY_PRICE
    assert post(client, "/m/_count", query=query)["count"] == 3
    hits = post(client, "/m/_search", query={"match": {"text": "red sofa"}}, fields=["kind"])["hits"]["hits"]
    assert hits[0]["fields"] == {"kind": ["sofa"]}
    hits = post(client, "/m/_search", query={"match": {"text": "red beans"}})["hits"]["hits"]
    assert {hit["_id"]: hit["fields"]["_matches"] for hit in hits}["d3"] == ["any"]


def test_an_explanation_of_the_only_match_by_words(client: TestClient) -> None:
    """Without it, all results would match by meaning."""
    query = {"match": {"text": {"query": "coffee beans", "minimum_should_match": "2<75%"}}}
    assert post(client, "/m/_explain/d3", query=query)["matched"]
    assert not post(client, "/m/_explain/d0", query=query)["matched"]


def test_on_the_page(client: TestClient) -> None:
    text = client.get("/?q=couch&sort=price&index=m", headers=HTML).text
    heading = " ".join(re.sub("<[^>]*>", " ", re.findall('<h2 id="found".*?</h2>', text)[0]).split())
    assert heading.startswith("1–3 of 3 results by meaning: no document contains the words of the query, ")
    filtered = client.get("/?q=coffee&index=m&is.kind=sofa&any=1", headers=HTML).text
    assert "no document with these filters contains the words of the query" in filtered
    assert re.findall('name="is.kind" value="([a-z]*)"', text) == ["sofa"]
    assert re.findall('id="result-.*?>([a-z]*) sofa<', text) == ["red", "blue", "green"]


def test_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", str(folder / "m"), "couch", "--sort", "price", "--facets", "kind", "-k", "2"]) == 0
    streams = capsys.readouterr()
    assert [line.split()[2] for line in streams.out.splitlines() if line[0].isdigit()] == BY_PRICE[:2]
    assert streams.out.splitlines()[-1] == "kind: sofa 3"
    assert "none of 4 documents contains a word of the query; 2 of 3 results by meaning\n" in streams.err
    assert run(["search", str(folder / "m"), "couch", "--json"]) == 0
    *hits, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert (len(hits), summary) == (3, {"total": 3, "matched": "meaning", "documents": 4})


def test_in_several_indexes(client: TestClient) -> None:
    """Results by meaning count, and are in sorted lists, if no index has a match by words."""
    asked: dict[str, Any] = {"query": "couch", "sort": "price", "facets": ["kind"], "total": True}
    two = post(client, "/v1/search", indexes=[{"index": "m"}, {"index": "w"}], **asked)
    assert ids(two) == ["c0"]
    assert (two["total"], [each["total"] for each in two["indexes"]]) == (1, [0, 1])
    assert two["facets"] == {"kind": [{"value": "sofa", "documents": 1}]}
    assert "matched" not in two
    asked["query"] = "settee couches"  # no index has it, and only pieces are known of settee
    asked["filter"] = "price < 9"
    by_meaning = post(client, "/v1/search", indexes=[{"index": "m"}, {"index": "w"}], **asked)
    assert (ids(by_meaning), by_meaning["total"], by_meaning["matched"]) == (BY_PRICE, 3, "meaning")
    assert by_meaning["facets"] == {"kind": [{"value": "sofa", "documents": 3}]}
    mixed = post(client, "/v1/search", indexes=[{"index": "m"}, {"index": "n"}], query="couch", total=True)
    assert mixed["total"] == 1


def test_the_total_of_a_limited_number_of_candidates(folder: Path, tmp_path: Path) -> None:
    searcher = termwise.build_index(SOFAS, tmp_path / "m", model="instant", store_text=True)
    replace(MixtureManifest.read(tmp_path / "m"), depth=2).write(tmp_path / "m")
    searcher = searcher.refresh()
    found = searcher.search(Search("couch"))
    assert (found.count(), found.count_is_exact) == (2, False)
    with served([str(tmp_path / "m")]) as client:
        answer = post(client, "/v1/indexes/m/search", query="couch", total=True)
        assert (answer["total"], answer["total_relation"]) == (2, "gte")
        fused = post(client, "/v1/search", indexes=[{"index": "m"}], query="couch", total=True)
        assert (fused["total"], fused["total_relation"]) == (2, "gte")
        total = post(client, "/m/_search", query={"match": {"text": "couch"}})["hits"]["total"]
        assert total == {"value": 2, "relation": "gte"}
        assert "1–2 of at least 2 results" in client.get("/?q=couch", headers=HTML).text
        exact = post(client, "/v1/indexes/m/search", query="sofa", total=True)
        assert (exact["total"], "total_relation" in exact) == (3, False)
