"""Feedback of a mixture over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.unit.search.vector_index import write_vector_index
from tests.unit.serve.conftest import TEAS, served

import termwise
from termwise.fusion import mix_indexes
from termwise.search import Feedback, Search
from termwise.serve import ServiceSettings
from termwise.text import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors

WORDS = ["green", "tea", "fresh"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, random = tmp_path_factory.mktemp("teas"), np.random.default_rng(3)
    words = termwise.build_index(TEAS, place / "words.tw", store_text=True)
    vocabulary, count = Vocabulary(WORDS), words.documents
    table = TermVectors.of(random.normal(size=(len(WORDS), 4)).astype(np.float32), vocabulary.id)
    vectors = DocumentVectors.of(np.arange(count + 1), random.normal(size=(count, 4)).astype(np.float32))
    doc_ids = words.index.doc_ids(np.arange(count))
    write_vector_index(place / "vectors.tw", doc_ids, vectors, table, vocabulary)
    parts = [place / "words.tw", place / "vectors.tw"]
    mix_indexes(parts, [0.4, 0.6], place / "teas.tw", feedback=Feedback(2, 0.5))
    return place / "teas.tw"


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with served([str(folder)], ServiceSettings(threads=2)) as client:
        yield client


@pytest.mark.parametrize("feedback", [True, False])
def test_a_search_and_an_explanation_with_and_without_feedback(
    client: TestClient, folder: Path, feedback: bool
) -> None:
    ranking = termwise.open(folder).search(Search("green tea", k=5, feedback=feedback)).ranking
    answer = client.post(
        "/v1/indexes/teas/search", json={"query": "green tea", "k": 5, "feedback": feedback, "explain": True}
    ).json()
    assert [hit["doc_id"] for hit in answer["hits"]] == list(ranking.doc_ids)
    assert [hit["score"] for hit in answer["hits"]] == pytest.approx(ranking.scores)
    doc_id = ranking.doc_ids[0]
    given = {"query": "green tea", "doc_id": doc_id, "feedback": feedback}
    explained = client.post("/v1/indexes/teas/explain", json=given).json()["explanation"]
    for found in (explained, answer["hits"][0]["explanation"]):
        assert found["score"] == pytest.approx(ranking.scores[0])
        assert ("feedback" in {each["origin"] for each in found["contributions"]}) == feedback
        total = found["constant"] + sum(each["score"] for each in found["contributions"])
        assert total == pytest.approx(found["score"])


def test_feedback_is_the_default_and_a_flag(client: TestClient) -> None:
    path, given = "/v1/indexes/teas/search", {"query": "green tea"}
    assert (
        client.post(path, json=given).json()["hits"]
        == client.post(path, json={**given, "feedback": True}).json()["hits"]
    )
    refused = client.post(path, json={**given, "feedback": 2})
    assert (refused.status_code, "feedback" in refused.text) == (400, True)
