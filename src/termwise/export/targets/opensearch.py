"""OpenSearch 3: documents for ``_bulk``, with weights as ``rank_features`` and vectors as ``knn_vector``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, final

from termwise.attributes import Schema
from termwise.errors import ParameterError
from termwise.export.folder import ExportFolder
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, refuse_several, refuse_vectors, untested
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

CEILING = 16.0
"""Largest weight of a query in a `sparse_vector`; query weights are rounded to 255 steps up to it."""


@final
@dataclass(frozen=True, kw_only=True)
class OpenSearch(TypedSettings):
    """Target ``opensearch``; `meanings` describes its settings."""

    name: ClassVar[str] = "opensearch"
    title: ClassVar[str] = "OpenSearch"
    engine: ClassVar[str] = "opensearch.py"
    extra: ClassVar[str] = "opensearch"
    helpers: ClassVar[tuple[str, ...]] = ("bulk_engine.py",)
    called: ClassVar[str] = "setting of the target opensearch"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"shards": (1, 1024), "replicas": (0, 1024)}
    meanings: ClassVar[Mapping[str, str]] = {
        "shards": "number of primary shards",
        "replicas": "number of copies of each shard",
        "form": (
            "type of the fields of weights; sparse_vector is approximate in segments of a million documents "
            "or more, and takes one index without a document bias"
        ),
    }

    shards: int = 1
    replicas: int = 1
    form: Literal["rank_features", "sparse_vector"] = "rank_features"

    def check(self, source: ExportSource) -> None:
        """Refuse what a `sparse_vector` cannot hold."""
        if self.form == "sparse_vector":
            refuse_several(f"{self.title} with the form sparse_vector", source)
            refuse_vectors(f"{self.title} with the form sparse_vector", source)
            if source.parts[0].has_bias:
                raise ParameterError(
                    "a sparse_vector of OpenSearch has no bias of documents, and the index has",
                    facts=[("index", source.path)],
                    fixes=["leave out the setting form"],
                )

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write settings, mapping and documents."""
        index: dict[str, Any] = {"number_of_shards": self.shards, "number_of_replicas": self.replicas}
        weights: dict[str, Any] = {"type": self.form}
        if self.form == "sparse_vector":
            index["sparse"] = True
            ceilings = {
                "quantization_ceiling_ingest": float(source.parts[0].largest_impact),
                "quantization_ceiling_search": CEILING,
            }
            weights["method"] = {"name": "seismic", "parameters": ceilings}
        # Without the setting index.knn, a vector is stored for scripts only, and no graph is built.
        mappings = mapping(source, weights, lambda n: {"type": "knn_vector", "dimension": n})
        folder.write(
            "data/index.json",
            json.dumps({"settings": {"index": index}, "mappings": mappings}, indent=1) + "\n",
        )
        write_parts(source, folder, progress, numbered=self.form == "sparse_vector")
        if self.form == "rank_features":
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
        write_changed(rows, deleted, source, folder, at, numbered=self.form == "sparse_vector")

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return the name of the alias, and the bounds of the vectors."""
        return {
            "alias": alias_of(source),
            "longest": longest_vectors(source),
            "form": self.form,
            "ceiling": CEILING,
        }

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        if self.form == "sparse_vector":
            return [
                *statements(source, weights="sparse_vector"),
                _APPROXIMATE,
                untested(f"{self.title} with the plugin neural-search", "the form follows the documentation"),
            ]
        return [*statements(source, weights="rank_features"), _order(source), *doc_only_statements(source)]

    def filter(self, filter: Filter, schema: Schema) -> dict[str, Any]:
        """Return a filter as a query of OpenSearch."""
        return filter_query(filter, schema)


_APPROXIMATE = Statement(
    "order",
    False,
    "segments of a million documents or more are searched approximately, with weights of queries rounded to 8 bits; "
    "scores are floats of 24 significant bits",
)


def _order(source: ExportSource) -> Statement:
    if source.is_mixture or any(part.kind == "dense" for part in source.parts):
        reason = "scores are floats of 24 significant bits, so documents whose scores differ less may change places"
        return Statement("order", False, reason)
    reason = (
        "documents with equal scores are in the order of the index; scores are floats of 24 significant bits, "
        "and where a sum does not fit, engine.py adds the whole numbers of the documents again"
    )
    return Statement("order", all(part.is_exact_integer for part in source.parts), reason)
