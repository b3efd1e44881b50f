"""Registry of the targets of an export."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from termwise.errors import UnknownNameError

if TYPE_CHECKING:
    from termwise.export.target import Target

TARGETS: dict[str, tuple[str, str]] = {
    "anserini": ("anserini", "Anserini"),
    "ciff": ("ciff", "Ciff"),
    "duckdb": ("duckdb", "Duckdb"),
    "elasticsearch": ("elasticsearch", "Elasticsearch"),
    "jsonl": ("jsonl", "Jsonl"),
    "milvus": ("milvus", "Milvus"),
    "numpy": ("numpy", "Numpy"),
    "opensearch": ("opensearch", "OpenSearch"),
    "pisa": ("pisa", "Pisa"),
    "postgresql": ("postgresql", "Postgresql"),
    "qdrant": ("qdrant", "Qdrant"),
    "sqlite": ("sqlite", "Sqlite"),
    "vespa": ("vespa", "Vespa"),
    "web": ("web", "Web"),
}
"""Module and class of each target by name."""


def target_class(name: str) -> type[Target]:
    """Return the class of a target.

    Raises
    ------
    UnknownNameError
        If there is no such target.
    """
    if name not in TARGETS:
        raise UnknownNameError.of("target of an export", str(name), TARGETS)
    module, kind = TARGETS[name]
    found: type[Target] = getattr(import_module(f"termwise.export.targets.{module}"), kind)
    return found
