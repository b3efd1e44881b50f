"""LangChain's own tests of retrievers and vector stores, and what they leave open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_tests", reason="pip install 'termwise[dev]'")

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

import termwise
from termwise.integrations.langchain import TermwiseRetriever, TermwiseVectorStore

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of an index that stores texts and attributes."""
    path = tmp_path_factory.mktemp("langchain") / "tea.tw"
    teas = ["green tea from Japan", "black tea with bergamot", "a pot for tea", "tea without sugar"]
    documents = [
        termwise.Document(f"t{number}", text, {"number": number}) for number, text in enumerate(teas)
    ]
    termwise.build_index(documents, path, store_text=True)
    return str(path)


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _index(self, index: str) -> None:
        self.index = index

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return TermwiseRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"path": self.index}

    @property
    def retriever_query_example(self) -> str:
        return "tea"


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[TermwiseVectorStore]:
        yield TermwiseVectorStore()
