"""Haystack's own tests of document stores, and what they leave open."""

from __future__ import annotations

import pytest

pytest.importorskip("haystack", reason="pip install 'termwise[haystack]'")

from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.testing.document_store import DocumentStoreBaseExtendedTests
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
)

from termwise.integrations.haystack import TermwiseDocumentStore, TermwiseRetriever

pytestmark = pytest.mark.anyio


class TestDocumentStore(DocumentStoreBaseExtendedTests):
    @pytest.fixture
    def document_store(self) -> TermwiseDocumentStore:
        return TermwiseDocumentStore(model="bm25")

    def test_write_documents(self, document_store: TermwiseDocumentStore) -> None:
        """Without a policy, a document with a known identifier is refused."""
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        assert document_store.filter_documents() == [document]


class TestAsyncDocumentStore(
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
):
    @pytest.fixture
    def document_store(self) -> TermwiseDocumentStore:
        return TermwiseDocumentStore(model="bm25")

    async def test_write_documents_async(self, document_store: TermwiseDocumentStore) -> None:
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


def test_retriever() -> None:
    assert TermwiseRetriever(TermwiseDocumentStore()).run("x") == {"documents": []}
