"""README of an export: how to load and search, and what is exact."""

from __future__ import annotations

from termwise._version import __version__
from termwise.export.kit.query_kit import SNOWBALL
from termwise.export.query_kit import described_analyzers, needs_snowball
from termwise.export.source import ExportSource
from termwise.export.target import Statement, Target

_EXACT = {True: "yes", False: "no", None: "untested"}


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
            "engine and says what --at means. A filter is in the form of the engine, and part of the request as it is: "
            "do not take it from users.",
        ]
    parts += [
        "## Queries",
        _queries(source, target),
        "## What is exact",
        _table([*target.statements(source), *_linear(source)]),
    ]
    return "\n\n".join(parts) + "\n"


def _queries(source: ExportSource, target: Target) -> str:
    """Return who computes the weights of queries."""
    described = described_analyzers(source)
    if described is not None:
        needs = "no other package"
        if any(map(needs_snowball, described)):
            needs = f"the package snowballstemmer {SNOWBALL} for the language of the index; its JavaScript refuses it"
        return f"The folder query_kit computes the weights of queries, and needs {needs}."
    names = ", ".join(sorted({part.part.backend.encoder.analyzer.spec.name for part in source.parts}))
    scales = f", scales={source.scales}" if source.is_mixture else ""
    lines = [
        *(["from pathlib import Path", "from engine import Engine"] if target.engine else []),
        "import termwise",
        "from termwise.export import ExportSource, LinearForm",
        "",
        f'form = LinearForm(ExportSource(termwise.open("INDEX"){scales}))',
        'query = form.query("your question")',
        *(['Engine(Path(".")).search(query, 10)'] if target.engine else []),
    ]
    return (
        f"This export has no query kit, which cannot reproduce the analyzer ({names}). termwise computes the weights "
        "of queries from the index:\n\n```python\n" + "\n".join(lines) + "\n```"
    )


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
    lines += [f"| {each.what} | {_EXACT[each.exact]} | {each.reason} |" for each in statements]
    return "\n".join(lines)
