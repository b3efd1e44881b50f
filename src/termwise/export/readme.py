"""README of an export: how to load and search, and what is exact."""

from __future__ import annotations

from termwise._version import __version__
from termwise.export.source import ExportSource
from termwise.export.target import Statement, Target


def readme(source: ExportSource, target: Target) -> str:
    """Return the README of an export as Markdown."""
    documents = source.index.documents
    unit = f"{documents:,} documents" + (f" in {len(source):,} chunks" if source.chunked else "")
    parts = [
        f"# {source.path.name} for {target.title}",
        f"Export of {unit}, generation {source.generation}, written by termwise {__version__}. "
        "export.json lists the contents and a checksum of every file.",
    ]
    if target.engine:
        parts += [
            "## Load and search",
            '```\npython client.py load\npython client.py search "your question"\n```',
            "client.py needs Python 3.11 or later, and nothing of termwise; engine.py names the library of the "
            "engine and says what --at means. The query is encoded by query_kit, which needs no library.",
        ]
    parts += ["## What is exact", _table([*target.statements(source), *_linear(source)])]
    return "\n\n".join(parts) + "\n"


def _linear(source: ExportSource) -> list[Statement]:
    if not source.is_mixture:
        return []
    scales = ", ".join(f"{part.name} {part.scale:.4g}" for part in source.parts)
    return [
        Statement(
            "the mixture",
            False,
            "the scores of each query are normalised by constants instead of mean and deviation over its "
            f"candidates, and there is no feedback; constants: {scales}",
        )
    ]


def _table(statements: list[Statement]) -> str:
    lines = ["| | exact | why |", "|---|---|---|"]
    lines += [f"| {each.what} | {'yes' if each.exact else 'no'} | {each.reason} |" for each in statements]
    return "\n".join(lines)
