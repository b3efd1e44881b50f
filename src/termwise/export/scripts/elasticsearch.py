"""Elasticsearch 9: one index behind an alias; weights of terms are `sparse_vector`. Library: elasticsearch.

LOCATION is http://HOST:PORT[,HOST:PORT...][/ALIAS]; by default http://localhost:9200 and the name of the index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bulk_engine import BulkEngine
from elasticsearch import Elasticsearch, NotFoundError

TIMEOUT = 120


class Engine(BulkEngine):  # type: ignore[misc]  # a neighbour in the export, not in the package
    """Index of an export in Elasticsearch."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        super().__init__(folder, location)
        self.client = Elasticsearch(self.hosts, request_timeout=TIMEOUT, max_retries=5, retry_on_timeout=True)

    def ask(self, method: str, path: str, body: Any, *, lines: bool, absent: bool) -> Any:
        """Return the answer to a request; with `absent`, None if something is not there."""
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = "application/x-ndjson" if lines else "application/json"
        sent = body if lines or body is None else json.dumps(body)
        try:
            return self.client.perform_request(method, path, body=sent, headers=headers).body
        except NotFoundError:
            if absent:
                return None
            raise

    def sparse_clauses(self, field: str, weights: Mapping[str, float], k: int) -> list[dict[str, Any]]:
        """Return a clause whose score is the sum of weights times values of features."""
        if not weights:
            return []
        return [{"sparse_vector": {"field": field, "query_vector": dict(weights), "prune": False}}]

    def product_script(self, vectors: str) -> str:
        """Return the expression of the product of ``params.query`` and a field of vectors."""
        return f"dotProduct(params.query, '{vectors}')"

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
