"""Haystack's document store for OpenSearch against a running service; skipped without the package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import skip_with_warning
from tests.unit.serve.conftest import running

import termwise

if find_spec("haystack_integrations") is None:
    skip_with_warning("opensearch-haystack is not installed: pip install opensearch-haystack")

haystack = import_module("haystack")
types, errors = (import_module(f"haystack.document_stores.{name}") for name in ("types", "errors"))
stores = import_module("haystack_integrations.document_stores.opensearch")
retrievers = import_module("haystack_integrations.components.retrievers.opensearch")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    first = [
        termwise.Document.of_fields(
            "sencha", {"content": "green tea from Uji"}, {"lang": "en", "year": 2024}
        ),
        termwise.Document.of_fields(
            "mate", {"content": "Mate-Tee aus Brasilien"}, {"lang": "de", "year": 2019}
        ),
    ]
    termwise.build_index(first, tmp_path / "default.tw", fields={"content": 1}, store_text=True)
    with running(tmp_path / "default.tw", "--max-results", "10000") as service:
        yield stores.OpenSearchDocumentStore(hosts=f"http://localhost:{service.port}")


def test_documents_are_written_found_and_deleted(store: Any) -> None:
    documents = [
        haystack.Document(
            id=f"d{n}", content=f"chapter {n} of the book of tea", meta={"lang": "en", "year": 2000 + n}
        )
        for n in range(20)
    ]
    assert store.write_documents(documents) == 20
    with pytest.raises(errors.DuplicateDocumentError):
        store.write_documents(documents[:1], policy=types.DuplicatePolicy.FAIL)
    assert store.write_documents(documents[:1], policy=types.DuplicatePolicy.OVERWRITE) == 1
    assert store.count_documents() == 22
    by_filter = store.filter_documents(
        {
            "operator": "AND",
            "conditions": [
                {"field": "meta.lang", "operator": "==", "value": "en"},
                {"operator": "OR", "conditions": [
                    {"field": "meta.year", "operator": "<", "value": 2002},
                    {"field": "meta.year", "operator": ">=", "value": 2019},
                ]},
            ],
        }
    )  # fmt: skip
    assert {document.id for document in by_filter} == {"d0", "d1", "d19", "sencha"}
    retriever = retrievers.OpenSearchBM25Retriever(document_store=store, top_k=2, fuzziness="AUTO")
    found = retriever.run(
        query="chaptr 7", filters={"field": "meta.year", "operator": "in", "value": [2007, 2008]}
    )["documents"]
    assert [(found[0].id, found[0].content, found[0].meta["year"])] == [
        ("d7", "chapter 7 of the book of tea", 2007)
    ]
    assert found[0].score > found[1].score
    strict = retrievers.OpenSearchBM25Retriever(
        document_store=store, top_k=30, fuzziness=0, all_terms_must_match=True
    )
    assert len(strict.run(query="tea chapter")["documents"]) == 20
    store.delete_documents([f"d{n}" for n in range(10)])
    assert store.count_documents() == 12
    german = {"field": "meta.lang", "operator": "==", "value": "de"}
    assert store.count_documents_by_filter(german) == 1
    assert store.get_metadata_fields_info()["year"]["type"] == "long"
    assert store.delete_by_filter(german, refresh=True) == 1
    store.delete_all_documents()
    assert store.count_documents() == 0
    with pytest.raises(errors.DocumentStoreError, match="_update_by_query"):
        store.update_by_filter(german, {"year": 2026})
