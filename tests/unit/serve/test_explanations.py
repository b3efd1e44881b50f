"""Explanations in answers: the parts of a score multiply and add up, and nothing empty is sent."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import pytest
from pydantic import TypeAdapter
from starlette.testclient import TestClient
from tests.unit.serve.conftest import TEAS, served

import termwise
from termwise.fusion import mix_indexes
from termwise.serve import ServiceSettings
from termwise.serve.answers import ExplainAnswer, SearchAnswer

TEXT = "green tea from Uji, grassy and fresh"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Serve a mixture, ``teas``, and its first part, ``words``, with at most 2 explanations in a request."""
    place = tmp_path_factory.mktemp("teas")
    termwise.build_index(TEAS, place / "words.tw", store_text=True)
    termwise.build_index(TEAS, place / "likelihood.tw", store_text=True, model="jm")
    mix_indexes([place / "words.tw", place / "likelihood.tw"], [0.7, 0.3], place / "teas.tw")
    settings = ServiceSettings(threads=2, max_explained=2)
    with served([str(place / "teas.tw"), str(place / "words.tw")], settings) as client:
        yield client


def _explained(client: TestClient, index: str = "teas", **request: object) -> dict[str, Any]:
    answer = client.post(f"/v1/indexes/{index}/explain", json={"doc_id": "sencha", **request})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert TypeAdapter(ExplainAnswer).validate_python(found) == found
    return found["explanation"]


def _has_nothing_empty(value: object) -> bool:
    if isinstance(value, dict):
        return all(each not in (None, "", [], {}) and _has_nothing_empty(each) for each in value.values())
    return all(map(_has_nothing_empty, value)) if isinstance(value, list) else True


def test_the_contributions_of_a_mixture_multiply_and_add_up(client: TestClient) -> None:
    found = _explained(client, query="green tea zebra", competitors=1)
    scales = {part["name"]: part["scale"] for part in found["parts"]}
    assert len(set(scales.values())) == 2
    for part in found["contributions"]:
        assert part["scale"] == scales[part["part"]]
        assert part["score"] == pytest.approx(part["query_weight"] * part["weight"] * part["scale"])
    for part in found["parts"]:
        assert part["scale"] == pytest.approx(part["weight"] / part["deviation"])
    assert found["constant"] == pytest.approx(sum(part["shift"] for part in found["parts"]))
    total = found["constant"] + sum(part["score"] for part in found["contributions"])
    assert total == pytest.approx(found["score"])
    assert found["unknown"] == [[10, 15]]
    assert _has_nothing_empty(found)


def test_texts_are_sent_on_request(client: TestClient) -> None:
    found = _explained(client, "words", query="green tea", text=True)
    assert (found["query"], found["text"]) == ("green tea", TEXT)
    spans = {part["term"]: part["spans"] for part in found["contributions"]}
    assert [TEXT[start:end] for start, end in spans["tea"]] == ["tea"]
    assert TEXT not in str(_explained(client, "words", query="green tea"))
    assert "scale" not in found["contributions"][0]


def test_results_are_explained_up_to_a_limit(client: TestClient) -> None:
    address = "/v1/indexes/teas/search"
    answer = client.post(address, json={"query": "tea", "k": 2, "offset": 1, "explain": True}).json()
    assert TypeAdapter(SearchAnswer).validate_python(answer) == answer
    assert [hit["explanation"]["score"] for hit in answer["hits"]] == [hit["score"] for hit in answer["hits"]]
    refused = client.post(address, json={"query": "tea", "k": 3, "explain": True})
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert error["message"] == "k of a search with explanations is larger than this service allows"
    assert error["facts"] == {"given": "3", "most": "2"}
    body = {"query": {"match": {"text": "tea"}}, "explain": True}
    assert client.post("/teas/_search", json={**body, "size": 3}).status_code == 400


@pytest.mark.parametrize("index", ["teas", "words"])
def test_the_details_of_opensearch_multiply_and_add_up(client: TestClient, index: str) -> None:
    query = {"multi_match": {"query": "green tea", "boost": 2}}
    body = {"query": query, "explain": True, "size": 2}
    for hit in client.post(f"/{index}/_search", json=body).json()["hits"]["hits"]:
        explanation = hit["_explanation"]
        assert explanation["value"] == pytest.approx(hit["_score"])
        assert sum(part["value"] for part in explanation["details"]) == pytest.approx(hit["_score"])
        products = [part for part in explanation["details"] if part["details"]]
        assert products
        for part in products:
            assert part["value"] == pytest.approx(prod(factor["value"] for factor in part["details"]))
            names = [factor["description"] for factor in part["details"]]
            scale = [name for name in names if name.startswith("scale of ")]
            assert names == ["weight in the query", "weight in the document", *scale, "boost"]
            assert bool(scale) == (index == "teas")


def test_the_description_of_the_api_names_the_parts(client: TestClient) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["ExplainAnswer"]["properties"]["explanation"] == {
        "$ref": "#/components/schemas/ExplanationAnswer"
    }
    contribution = schemas["ContributionAnswer"]
    assert {"term", "origin", "query_weight", "weight", "score"} == set(contribution["required"])
    assert "exact" in contribution["properties"]["origin"]["enum"]
