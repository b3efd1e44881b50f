"""OpenSearch 3: one index behind an alias; weights of terms are `rank_features`. Library: opensearch-py.

LOCATION is http://HOST:PORT[,HOST:PORT...][/ALIAS]; by default http://localhost:9200 and the name of the index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bulk_engine import EXACT_FLOAT, HIGH, LOW, MOST_RESULTS, BulkEngine, Query
from opensearchpy import NotFoundError, OpenSearch

TIMEOUT = 120


class Engine(BulkEngine):  # type: ignore[misc]  # a neighbour in the export, not in the package
    """Index of an export in OpenSearch."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        super().__init__(folder, location)
        self.client = OpenSearch(self.hosts, timeout=TIMEOUT, max_retries=5, retry_on_timeout=True)
        self.is_sparse_vector = self.description["form"] == "sparse_vector"

    def ask(self, method: str, path: str, body: Any, *, lines: bool, absent: bool) -> Any:
        """Return the answer to a request; with `absent`, None if something is not there."""
        headers = {"content-type": "application/x-ndjson" if lines else "application/json"}
        sent = body if lines or body is None else json.dumps(body)
        try:
            return self.client.transport.perform_request(method, path, body=sent, headers=headers)
        except NotFoundError:
            if absent:
                return None
            raise

    def named_weights(self, part: Query) -> dict[str, float]:
        """Return the weights of a part by the names of their features, which are numbers in a `sparse_vector`."""
        return dict(part["numbers"]) if self.is_sparse_vector else super().named_weights(part)

    def sparse_clauses(self, field: str, weights: Mapping[str, float], k: int) -> list[dict[str, Any]]:
        """Return clauses whose scores are weights times values of features, for `k` results."""
        if self.is_sparse_vector:
            if not weights:
                return []
            unit = max(weights.values()) / self.description["ceiling"]
            asked = {
                "query_tokens": {name: weight / unit for name, weight in weights.items()},
                "method_parameters": {"k": k, "top_n": len(weights)},
                "boost": unit,
            }
            return [{"neural_sparse": {field: asked}}]
        return [
            {"rank_feature": {"field": f"{field}.{name}", "linear": {}, "boost": weight}}
            for name, weight in weights.items()
        ]

    def product_script(self, vectors: str) -> str:
        """Return the expression of the product of ``params.query`` and a field of vectors."""
        return f"innerProduct(params.query, doc['{vectors}'])"

    def exact(self, query: Query, body: dict[str, Any], k: int) -> tuple[list[Any], list[float]] | None:
        """Return the best documents by sums of whole numbers; see `BulkEngine.exact`."""
        (part,) = query["parts"]
        described = self.parts[part["name"]]
        if part["kind"] == "dense" or self.is_sparse_vector:
            return None
        weights = self.named_weights(part)
        if described["bias"]:
            weights |= {HIGH: part["background"], LOW: part["background"]}
        field = described["field"]
        wanted = k
        while True:
            wanted = min(MOST_RESULTS, 2 * wanted + 10)
            names = [f"{field}.{name}" for name in weights]
            asked = {key: value for key, value in body.items() if key != "stored_fields"}
            asked |= {"size": wanted, "_source": {"includes": names}}
            hits = self.hits(asked)
            floats = [float(hit["sort"][0]) for hit in hits]
            complete = len(hits) < wanted or floats[-1] < floats[k - 1] or floats[-1] < EXACT_FLOAT
            if complete or wanted == MOST_RESULTS:
                break
        sums = [
            sum(value * weights[name] for name, value in hit["_source"].get(field, {}).items())
            for hit in hits
        ]
        order = sorted(range(len(hits)), key=lambda row: (-sums[row], hits[row]["sort"][1]))[:k]
        return [hits[row] for row in order], [sums[row] for row in order]

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
