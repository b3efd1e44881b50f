"""An index with several languages over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.serve.conftest import served

import termwise
from termwise import Document
from termwise.serve import ServiceSettings

TEXTS = {
    "de1": ("de", "Die rote Jacke hält warm."),
    "de2": ("de", "Das Gift gegen die Motten."),
    "en1": ("en", "The red jacket keeps you warm."),
    "en2": ("en", "A gift for the winter."),
    "fr1": ("fr", "La veste rouge tient chaud."),
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    documents = [Document(name, text, {"lang": language}) for name, (language, text) in TEXTS.items()]
    termwise.build_index(documents, tmp_path / "shop", analyzer="by-attribute:lang", store_text=True)
    return tmp_path / "shop"


def test_searches_and_changes(shop: Path) -> None:
    with served([str(shop)], ServiceSettings(threads=2)) as client:

        def search(**request: Any) -> set[str]:
            answer = client.post("/v1/indexes/shop/search", json=request)
            assert answer.status_code == 200, answer.text
            return {hit["doc_id"] for hit in answer.json()["hits"]}

        assert search(query="gift") == {"de2", "en2"}
        assert search(query="gift", lang="en") == {"en2"}
        assert search(query="rote Jacken", match="all") == {"de1"}
        assert search(query="warm", must=["red jackets"]) == {"en1"}
        answer = client.post("/v1/indexes/shop/search", json={"query": "gift", "lang": "xx"})
        assert answer.status_code == 400
        assert "unknown language" in answer.text
        explained = client.post(
            "/v1/indexes/shop/explain", json={"query": "gift", "doc_id": "en2", "lang": "en"}
        ).json()["explanation"]
        assert [each["term"] for each in explained["contributions"]] == ["en:gift"]
        page = client.get("/", params={"index": "shop", "q": "Jacken"}, headers={"accept": "text/html"}).text
        assert "de1" in page

        record = {"text": "La giacca rossa", "lang": "it"}
        assert client.put("/v1/indexes/shop/documents/it1", json=record).status_code == 201
        assert search(query="giacche") == {"it1"}
        assert client.delete("/v1/indexes/shop/documents/de2").status_code == 200
        assert search(query="gift") == {"en2"}
        fused = client.post(
            "/v1/search", json={"indexes": [{"index": "shop"}], "query": "gift", "lang": "en"}
        )
        assert [hit["doc_id"] for hit in fused.json()["hits"]] == ["en2"]


def test_the_page_has_a_choice_of_the_language(shop: Path) -> None:
    with served([str(shop)], ServiceSettings(threads=2)) as client:

        def page(address: str) -> str:
            return client.get(address, headers={"accept": "text/html"}).text

        both, english = page("/?q=gift"), page("/?q=gift&lang=en")
        assert '<option value="">Any</option>\n<option>de</option>\n<option>en</option>' in both
        assert ("id=de2" in both, "id=de2" in english, "id=en2" in english) == (True, False, True)
        assert "<option selected>en</option>" in english
        assert "id=en2&amp;q=gift&amp;lang=en" in english
        assert "en:gift" in page("/indexes/shop/document?id=en2&q=gift&lang=en")
        assert "<option selected>" not in page("/?q=gift&lang=xx")


def test_opensearch_words_that_all_languages_keep_are_required(shop: Path) -> None:
    with served([str(shop)], ServiceSettings(threads=2)) as client:
        body = {"query": {"match": {"text": {"query": "the red jackets", "operator": "and"}}}}
        answer = client.post("/shop/_search", json=body)
        assert answer.status_code == 200, answer.text
        assert [hit["_id"] for hit in answer.json()["hits"]["hits"]] == ["en1"]
