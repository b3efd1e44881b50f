"""LangChain's vector store for OpenSearch against a running service; skipped without the package.

The store needs vectors for all but deletions, and what needs vectors is refused by name.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.conftest import skip_with_warning
from tests.unit.serve.conftest import TEAS, running

import termwise

if find_spec("langchain_community") is None or find_spec("opensearchpy") is None:
    skip_with_warning("langchain-community is not installed: pip install langchain-community opensearch-py")

vectorstores = import_module("langchain_community.vectorstores")
fakes = import_module("langchain_core.embeddings.fake")
opensearchpy = import_module("opensearchpy")


def test_documents_are_deleted_and_vectors_refused(tmp_path: Path) -> None:
    termwise.build_index(TEAS, tmp_path / "shop.tw", store_text=True)
    with running(tmp_path / "shop.tw") as service:
        store = vectorstores.OpenSearchVectorSearch(
            f"http://localhost:{service.port}", "shop", fakes.DeterministicFakeEmbedding(size=4)
        )
        assert store.index_exists()
        store.delete(["pot"], refresh_indices=True)
        assert store.client.count(index="shop")["count"] == len(TEAS) - 1
        with pytest.raises(opensearchpy.RequestError, match="unsupported") as raised:
            store.similarity_search("tea")
        assert "not supported" in raised.value.info["error"]["reason"]
