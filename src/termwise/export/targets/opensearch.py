"""OpenSearch 3: documents for ``_bulk``, with weights as ``rank_features`` and vectors as ``knn_vector``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, final

from termwise.attributes import Schema
from termwise.export.folder import ExportFolder
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement
from termwise.export.targets.bulk import (
    alias_of,
    filter_query,
    longest_vectors,
    mapping,
    statements,
    write_changed,
    write_parts,
)
from termwise.export.targets.doc_only import doc_only_statements, write_doc_only
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.progress import Progress
from termwise.settings import TypedSettings


@final
@dataclass(frozen=True, kw_only=True)
class OpenSearch(TypedSettings):
    """Target ``opensearch``.

    Attributes
    ----------
    shards : int
        Number of primary shards.
    replicas : int
        Number of copies of each shard.
    """

    name: ClassVar[str] = "opensearch"
    title: ClassVar[str] = "OpenSearch"
    engine: ClassVar[str] = "opensearch.py"
    extra: ClassVar[str] = "opensearch"
    helpers: ClassVar[tuple[str, ...]] = ("bulk_engine.py",)
    called: ClassVar[str] = "setting of the target opensearch"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"shards": (1, 1024), "replicas": (0, 1024)}

    shards: int = 1
    replicas: int = 1

    def check(self, source: ExportSource) -> None:
        """Accept every source."""

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write settings, mapping and documents."""
        index = {"number_of_shards": self.shards, "number_of_replicas": self.replicas}
        # Without the setting index.knn, a vector is stored for scripts only, and no graph is built.
        mappings = mapping(
            source, {"type": "rank_features"}, lambda n: {"type": "knn_vector", "dimension": n}
        )
        folder.write(
            "data/index.json",
            json.dumps({"settings": {"index": index}, "mappings": mappings}, indent=1) + "\n",
        )
        write_parts(source, folder, progress)
        write_doc_only(source, folder)

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
        return [*statements(source, weights="rank_features"), _order(source), *doc_only_statements(source)]

    def filter(self, filter: Filter, schema: Schema) -> dict[str, Any]:
        """Return a filter as a query of OpenSearch."""
        return filter_query(filter, schema)


def _order(source: ExportSource) -> Statement:
    if source.is_mixture or any(part.kind == "dense" for part in source.parts):
        reason = "scores are floats of 24 significant bits, so documents whose scores differ less may change places"
        return Statement("order", False, reason)
    reason = (
        "documents with equal scores are in the order of the index; scores are floats of 24 significant bits, "
        "and where a sum does not fit, engine.py adds the whole numbers of the documents again"
    )
    return Statement("order", all(part.is_exact_integer for part in source.parts), reason)
