"""Elasticsearch 9: documents for ``_bulk``, with weights as ``sparse_vector`` and vectors as ``dense_vector``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, final

from termwise.attributes import Schema
from termwise.export.folder import ExportFolder
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, untested
from termwise.export.targets.bulk import (
    alias_of,
    filter_query,
    longest_vectors,
    mapping,
    statements,
    write_changed,
    write_parts,
)
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.progress import Progress
from termwise.settings import TypedSettings


@final
@dataclass(frozen=True, kw_only=True)
class Elasticsearch(TypedSettings):
    """Target ``elasticsearch``; `meanings` describes its settings."""

    name: ClassVar[str] = "elasticsearch"
    title: ClassVar[str] = "Elasticsearch"
    engine: ClassVar[str] = "elasticsearch.py"
    extra: ClassVar[str] = "elasticsearch"
    helpers: ClassVar[tuple[str, ...]] = ("bulk_engine.py",)
    called: ClassVar[str] = "setting of the target elasticsearch"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"shards": (1, 1024), "replicas": (0, 1024)}
    meanings: ClassVar[Mapping[str, str]] = {
        "shards": "number of primary shards",
        "replicas": "number of copies of each shard",
    }

    shards: int = 1
    replicas: int = 1

    def check(self, source: ExportSource) -> None:
        """Accept every source."""

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write settings, mapping and documents."""
        index = {"number_of_shards": self.shards, "number_of_replicas": self.replicas}
        # By default, Elasticsearch leaves out terms with small weights, and rounds vectors to 1 bit a dimension.
        mappings = mapping(source, {"type": "sparse_vector", "index_options": {"prune": False}}, _vector)
        folder.write(
            "data/index.json",
            json.dumps({"settings": {"index": index}, "mappings": mappings}, indent=1) + "\n",
        )
        write_parts(source, folder, progress)

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write the changes in the form of ``_bulk``."""
        write_changed(rows, deleted, source, folder, at)

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return the name of the alias, and the bounds of the vectors."""
        return {"alias": alias_of(source), "longest": longest_vectors(source)}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        checked = "the tests compare its requests with the published types of its interface"
        return [*statements(source, weights="sparse_vector"), _order(source), untested(self.title, checked)]

    def filter(self, filter: Filter, schema: Schema) -> dict[str, Any]:
        """Return a filter as a query of Elasticsearch."""
        return filter_query(filter, schema)


def _vector(dimensions: int) -> dict[str, Any]:
    return {
        "type": "dense_vector",
        "dims": dimensions,
        "index": True,
        "similarity": "max_inner_product",
        "index_options": {"type": "flat"},
    }


def _order(source: ExportSource) -> Statement:
    if source.is_mixture or any(part.kind == "dense" or part.has_bias for part in source.parts):
        reason = "scores are floats of 24 significant bits, so documents whose scores differ less may change places"
        return Statement("order", False, reason)
    reason = (
        "documents with equal scores are in the order of the index; scores are sums of whole numbers, which are exact "
        "below 16,777,216"
    )
    return Statement("order", all(part.is_exact_integer for part in source.parts), reason)
