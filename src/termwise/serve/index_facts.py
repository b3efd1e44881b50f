"""Facts about a served index: size, model, attributes, and damages of its files."""

from __future__ import annotations

from typing import Any

from termwise.search import verify
from termwise.serve.answers import IndexAnswer
from termwise.serve.indexes import ServedIndex


def index_facts(served: ServedIndex) -> IndexAnswer:
    """Return the facts about an index that a user of the service needs."""
    opened = served.current()
    searcher = opened.searcher
    return {
        "index": opened.name,
        "generation": opened.generation,
        "documents": searcher.documents,
        "model": searcher.backend.description,
        "attributes": {name: str(kind) for name, kind in searcher.schema.items()},
        "stores_text": searcher.index.stores_text,
        "parts": [
            {"name": part.name, "weight": part.weight, **_sizes(part.index)} for part in searcher.parts
        ],
    }


def _sizes(index: Any) -> dict[str, Any]:
    manifest, analyzer = index.manifest, index.manifest.encoder.analyzer
    return {
        "terms": manifest.terms,
        "postings": manifest.postings,
        "segments": len(manifest.segments),
        "deleted": sum(segment.deletions for segment in manifest.segments),
        "analyzer": "unknown" if analyzer is None else analyzer.name,
    }


def damages(served: ServedIndex) -> list[str]:
    """Return the damages of the files of an index, each with the name of the file."""
    return [f"{damage.file}: {damage.what}" for damage in verify(served.path)]
