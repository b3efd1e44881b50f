"""README of an export: how to load and search, and what is exact."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from shlex import quote

from termwise._version import __version__
from termwise.errors import ParameterError
from termwise.export.kit.query_kit import SNOWBALL
from termwise.export.query_kit import described_analyzers, needs_snowball
from termwise.export.scripts.client import DATABASES, PACKAGES
from termwise.export.source import ExportSource
from termwise.export.target import Statement, Target
from termwise.filters import Exists

_EXACT = {True: "yes", False: "no", None: "untested"}


def readme(source: ExportSource, target: Target, folder: Path) -> str:
    """Return the README of an export in a folder as Markdown."""
    documents = source.index.documents
    unit = f"{documents:,} documents" + (f" in {len(source):,} chunks" if source.chunked else "")
    parts = [
        f"# {source.path.name} for {target.title}",
        f"Export of {unit}, generation {source.generation}, written by termwise {__version__}. "
        "export.json lists the contents and a checksum of every file.",
    ]
    if target.engine:
        parts += ["## Load and search", *_client(source, target, folder)]
    parts += [
        "## Queries",
        _queries(source, target),
        "## What is exact",
        _table([*target.statements(source), *_linear(source)]),
    ]
    return "\n\n".join(parts) + "\n"


def _client(source: ExportSource, target: Target, folder: Path) -> list[str]:
    """Return how the program of the export is used."""
    engine = (folder / "engine.py").read_text(encoding="utf-8")
    title, location, *_ = (ast.get_docstring(ast.parse(engine)) or "").split("\n\n")
    packages = [name for module, name in PACKAGES.items() if re.search(rf"\b{module}\b", engine)]
    ready = any(path.name.endswith(DATABASES) for path in (folder / "data").iterdir())
    lines = [
        *([f"pip install {' '.join(dict.fromkeys(packages))}"] if packages else []),
        *([] if ready else ["python client.py load"]),
        'python client.py search "your question"',
    ]
    found = [
        "client.py needs Python 3.11 or later, and nothing of termwise. --at LOCATION names another place of the data. "
        + location,
        f"{title} {_schema(source, folder)}",
    ]
    if not any(each.what == "changes" for each in target.statements(source)):
        found.append(
            "After a change of the index, `termwise export INDEX --out FOLDER --since last` adds a folder changes/A-B "
            "here. `python client.py update changes/A-B` applies it; folders are applied once, in the order of their "
            "numbers."
        )
    if source.schema:
        found.append(_filter(source, target))
    return ["```\n" + "\n".join(lines) + "\n```", *map(_filled, found)]


def _filter(source: ExportSource, target: Target) -> str:
    """Return the filter that the README shows as an example, in the form of the engine."""
    condition = Exists(min(source.schema))
    try:
        translated = target.filter(condition, source.schema)
    except ParameterError:
        return "There are no filters."
    text = translated if isinstance(translated, str) else json.dumps(translated, ensure_ascii=False)
    return (
        f"A filter is in the form of the engine, and part of the request as it is: do not take it from users. "
        f"`termwise export-filter FOLDER {quote(str(condition))}` prints the one of "
        f'`python client.py search "your question" --filter {quote(text)}`.'
    )


def _schema(source: ExportSource, folder: Path) -> str:
    """Return the names of tables and fields, which are read from the files of the schema."""
    data = folder / "data"
    files = [
        *folder.glob("schema/tables.sql"),
        *data.glob("application/schemas/*"),
        *sorted(data.glob("*.json")),
    ]
    if not files:
        return ""
    parts = "|".join(re.escape(part.field) for part in source.parts)
    names = (
        r'(?<=")attribute(?:_|s\.)(?:[^"\\]|\\.)+(?=")|'
        rf"\b(?:documents|position|id|doc_id|text|(?:{parts})(?:_\w+)?|attribute_\w+)\b"
    )
    found = dict.fromkeys(
        name for path in files for name in re.findall(names, path.read_text(encoding="utf-8"))
    )
    listed = ", ".join(path.relative_to(folder).as_posix() for path in files)
    return f"Names of tables and fields, from {listed}: {', '.join(found)}."


def _filled(text: str) -> str:
    """Return a paragraph as one line of Markdown."""
    return " ".join(text.replace("``", "`").split())


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
