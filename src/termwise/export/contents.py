"""Files that exports to all targets have: ``export.json``, the query kit, and the programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from termwise.export import scripts
from termwise.export.folder import ExportFolder
from termwise.export.query_kit import described_analyzers, write_query_kit
from termwise.export.source import ExportSource
from termwise.export.target import Target

SCRIPTS = Path(scripts.__file__).parent
"""Programs that are copied into exports."""


def identity(source: ExportSource, target: Target) -> dict[str, Any]:
    """Return what the data of an export depend on."""
    return {
        "settings": vars(target),
        "source": source.identity,
        "scales": {part.name: part.scale for part in source.parts},
    }


def description(source: ExportSource, target: Target) -> dict[str, Any]:
    """Return the contents of ``export.json`` that describe the data."""
    return {
        "origin": source.origin,
        "generation": source.generation,
        "documents": source.index.documents,
        "rows": len(source),
        "chunked": source.chunked,
        "texts": source.has_texts,
        "schema": dict(source.schema),
        "parts": [
            {
                "name": part.name,
                "field": part.field,
                "kind": part.kind,
                "terms": (terms := len(part.index.vocabulary) if part.kind == "sparse" else 0),
                "vocabulary": part.vocabulary_digest(terms),
                "dimensions": part.dimensions,
                "largest_impact": part.largest_impact if part.kind == "sparse" else 0,
                "integer": part.is_exact_integer,
                "bias": part.has_bias,
                "weight": part.part.weight,
                "scale": part.scale,
            }
            for part in source.parts
        ],
        **target.describe(source),
    }


def write_programs(source: ExportSource, target: Target, folder: ExportFolder) -> None:
    """Write the query kit, if it can reproduce the analyzers, and the programs that load and search."""
    if described_analyzers(source) is not None:
        with folder.place("query_kit") as place:
            write_query_kit(source.searcher, place, scales=source.scales)
    if target.engine:
        folder.copy(SCRIPTS / "client.py", "client.py")
        folder.copy(SCRIPTS / target.engine, "engine.py")
        for helper in target.helpers:
            folder.copy(SCRIPTS / helper, helper)
