"""LangChain's vector store for OpenSearch against a running service; skipped without the package.

The store needs vectors for all but deletions, and what needs vectors is refused by name.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.serve.conftest import TEAS, running

import termwise

REASON = "langchain-community is not installed: pip install langchain-community opensearch-py"
vectorstores = pytest.importorskip("langchain_community.vectorstores", reason=REASON)
fakes = pytest.importorskip("langchain_core.embeddings.fake", reason=REASON)
opensearchpy = pytest.importorskip("opensearchpy", reason=REASON)


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
