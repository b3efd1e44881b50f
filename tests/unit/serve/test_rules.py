"""Synonyms, pins and bans of a running service, and their changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from termwise.serve import ServiceSettings

from .conftest import served


def _write(file: Path, text: str) -> None:
    """Replace a file at once, as editors do."""
    draft = file.with_suffix(".draft")
    draft.write_text(text)
    os.replace(draft, file)


def _ids(client: TestClient, query: str, **options: Any) -> list[str]:
    answer = client.post("/v1/indexes/shop/search", json={"query": query, **options})
    assert answer.status_code == 200, answer.text
    return [hit["doc_id"] for hit in answer.json()["hits"]]


def test_files_that_change(shop: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file, words = tmp_path / "r.toml", tmp_path / "words.txt"
    file.write_text('synonyms_file = "words.txt"\n')
    words.write_text("# none yet\n")
    with served([str(shop)], ServiceSettings(threads=2, relevance=(str(file),))) as client:
        assert _ids(client, "kettle") == []
        _write(words, "kettle, pot\n")
        assert _ids(client, "kettle") == ["pot"]
        _write(words, "kettle\n")  # which is no line of synonyms
        assert _ids(client, "kettle") == ["pot"]
        assert _ids(client, "kettle") == ["pot"]
        assert sum("cannot be used" in record.message for record in caplog.records) == 1
        _write(file, '[[rules]]\nquery = "green tea"\npin = ["pot", "gone"]\nban = ["sencha"]\n')
        assert _ids(client, "kettle") == []
        assert _ids(client, "Green Tea")[0] == "pot"
        _write(file, 'synonyms_file = "new.txt"\n')
        assert _ids(client, "Green Tea")[0] == "pot"
        _write(tmp_path / "new.txt", "kettle => pot")
        assert _ids(client, "kettle") == ["pot"]
        assert _ids(client, "kettle", relevance={}) == []
        _write(file, "")
        assert _ids(client, "kettle") == []


def test_an_answer_says_what_is_pinned(client: TestClient) -> None:
    relevance = {
        "synonyms": ["kettle, pot"],
        "rules": [{"query": "kettle", "pin": ["assam", "gone"]}, {"query": "tea", "ban": ["assam"]}],
    }
    asked = {"query": "kettle", "relevance": relevance, "total": True, "explain": True}
    answer = client.post("/v1/indexes/shop/search", json=asked).json()
    assert [(hit["doc_id"], hit.get("pinned")) for hit in answer["hits"]] == [("assam", True), ("pot", None)]
    assert (answer["total"], answer["unknown_pins"]) == (2, ["gone"])
    assert answer["hits"][0]["explanation"]["pinned"] == "kettle"
    assert answer["hits"][1]["explanation"]["contributions"][0]["origin"] == "synonym"
    assert "pinned" not in answer["hits"][1]["explanation"]
    assert "assam" not in _ids(client, "tea", relevance=relevance)
    counted = client.post("/v1/indexes/shop/search", json={**asked, "k": 1, "offset": 1}).json()
    assert [(hit["rank"], hit["doc_id"], hit.get("pinned")) for hit in counted["hits"]] == [(2, "pot", None)]


def test_requests_cannot_name_files(client: TestClient) -> None:
    asked = {"query": "tea", "relevance": {"synonyms_file": "/etc/passwd"}}
    answer = client.post("/v1/indexes/shop/search", json=asked)
    assert answer.status_code == 400
    assert "synonyms_file" in answer.text
    many = {"query": "tea", "relevance": {"synonyms": ["a, b"] * 60_000}}
    answer = client.post("/v1/indexes/shop/search", json=many)
    assert answer.status_code == 413


def test_the_page_marks_pinned_results(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text('[[rules]]\nquery = "kettle"\npin = ["pot"]\n')
    with served([str(shop)], ServiceSettings(threads=2, relevance=(str(file),))) as client:
        page = client.get("/?index=shop&q=kettle", headers={"accept": "text/html"}).text
        assert '<span class="pinned">Pinned</span>' in page
        page = client.get("/?index=shop&q=tea", headers={"accept": "text/html"}).text
        assert 'class="pinned"' not in page
