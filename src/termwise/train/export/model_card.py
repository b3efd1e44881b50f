"""Model card: the README.md of an encoder folder, generated from a complete list of facts.

A card is written only if all facts (`FACTS`) are present: readers take a placeholder for "nothing to report".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from termwise.errors import ParameterError

FACTS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "name": (str, "name of the model"),
    "kind": (str, "tilde, tildev2 or splade-doc"),
    "summary": (str, "description in one paragraph"),
    "language": (str, "language of its texts as ISO 639-1: en; optional"),
    "license": (str, "license of the weights as SPDX: Apache-2.0"),
    "base": (dict, "initial encoder: name, license, seen (its training data)"),
    "data": (list, "one entry per source: name, license, pairs, origin"),
    "pairs_seen": (int, "pairs used in training, with repetitions"),
    "settings": (dict, "all training settings by name"),
    "departures": (
        list,
        "one entry per departure from the published training: setting (or other aspect), published, here, reason",
    ),
    "selection": (str, "selected checkpoint, and how it was selected"),
    "evaluation": (dict, "columns (list of str) and rows (list of lists), or neither, and note (str)"),
    "limits": (list, "known weaknesses and untested uses, one sentence each"),
    "usage": (list, "commands of termwise, in order"),
    "files": (dict, "size in bytes of each file by name"),
}
"""Facts of a card: type and meaning. All but ``language`` are required; only the list ``departures`` may be empty."""

_ENTRIES: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "data": {"name": str, "license": str, "pairs": int, "origin": str},
    "departures": {"setting": str, "published": object, "here": object, "reason": str},
}
_BASE = ("name", "license", "seen")
_MAY_BE_EMPTY = frozenset({"departures"})
_MAY_BE_MISSING = frozenset({"language"})
_PLACEHOLDERS = ("todo", "tbd", "fixme", "unknown", "n/a", "…", "...")
_KINDS = {
    "tilde": "TILDE: a likelihood of each term for a text, read at the first position",
    "tildev2": "TILDEv2: a weight for each token of a text",
    "splade-doc": "max-pooled weights over the vocabulary, for documents only",
}


def model_card(facts: Mapping[str, Any]) -> str:
    """Return a model card as Markdown.

    Parameters
    ----------
    facts : mapping
        The facts in `FACTS`, and no others.

    Returns
    -------
    str
        Markdown, with the YAML header of model hubs: license, base model, data and tags.

    Raises
    ------
    ParameterError
        If facts are missing, empty, unknown, or of another type; it names all of them.
    """
    problems = _problems(facts)
    if problems:
        raise ParameterError(
            "facts of the model card are missing or wrong",
            facts=problems,
            fixes=["give every fact, without placeholders"],
        )
    base, data = facts["base"], facts["data"]
    parts = [
        _header(facts),
        f"# {facts['name']}",
        facts["summary"],
        f"**Kind.** {_KINDS[facts['kind']]}. Queries are only tokenised; the network runs once over each document.",
        "## Use",
        "```sh\n" + "\n".join(facts["usage"]) + "\n```",
        "## Evaluation",
        *_evaluation(facts["evaluation"]),
        "## Data",
        _table(
            ["source", "pairs", "license", "origin"],
            [[source["name"], source["pairs"], source["license"], source["origin"]] for source in data],
        ),
        f"{facts['pairs_seen']:,} pairs were seen in training, repetitions counted.",
        "## Base",
        f"{base['name']} ({base['license']}). What it had seen before: {base['seen']}",
        "## Training",
        facts["selection"],
        "Departures from the published training:",
        _table(
            ["setting", "published", "here", "why"],
            [
                [entry[key] for key in ("setting", "published", "here", "reason")]
                for entry in facts["departures"]
            ],
        )
        if facts["departures"]
        else "None.",
        "All settings:",
        _table(["setting", "value"], sorted(facts["settings"].items())),
        "## Limits",
        "\n".join(f"- {limit}" for limit in facts["limits"]),
        "## Files",
        _table(["file", "bytes"], sorted(facts["files"].items())),
    ]
    return "\n\n".join(parts) + "\n"


def _problems(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the missing or wrong facts with the reasons."""
    problems = [(name, "not a fact of a model card") for name in facts if name not in FACTS]
    for name, (kind, meaning) in FACTS.items():
        if name not in facts:
            problems += [] if name in _MAY_BE_MISSING else [(name, f"missing: {meaning}")]
        elif not isinstance(facts[name], kind) or isinstance(facts[name], bool):
            problems.append((name, f"is {type(facts[name]).__name__}, expected {meaning}"))
        elif facts[name] in ("", [], {}) and name not in _MAY_BE_EMPTY:
            problems.append((name, f"empty: {meaning}"))
    wrong = {name for name, _ in problems}
    for name, entry in _ENTRIES.items():
        if name not in wrong:
            problems += _entry_problems(name, facts[name], entry)
    if "base" not in wrong:
        problems += [(f"base.{name}", "missing") for name in _BASE if not facts["base"].get(name)]
    if "evaluation" not in wrong:
        problems += _table_problems(facts["evaluation"])
    if "kind" not in wrong and facts["kind"] not in _KINDS:
        problems.append(("kind", f"{facts['kind']!r}, expected {', '.join(_KINDS)}"))
    return problems + [
        (path, f"not filled in: {text!r}") for path, text in _texts("", facts) if _is_placeholder(text)
    ]


def _entry_problems(
    name: str, entries: Sequence[Any], expected: Mapping[str, type | tuple[type, ...]]
) -> list[tuple[str, str]]:
    problems = []
    for number, entry in enumerate(entries):
        for key, kind in expected.items():
            value = entry.get(key) if isinstance(entry, Mapping) else None
            if value is None or value == "" or not isinstance(value, kind):
                problems.append((f"{name}[{number}].{key}", "missing or of another type"))
    return problems


def _table_problems(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    required = ("columns", "rows", "note") if table.get("columns") or table.get("rows") else ("note",)
    problems = [(f"evaluation.{part}", "missing") for part in required if not table.get(part)]
    if not problems and any(len(row) != len(table["columns"]) for row in table.get("rows", ())):
        problems.append(("evaluation.rows", "not as long as the columns"))
    return problems


def _texts(path: str, value: object) -> list[tuple[str, str]]:
    """List all strings inside a value with their paths."""
    if isinstance(value, str):
        return [(path, value)]
    if isinstance(value, Mapping):
        return [text for key, part in value.items() for text in _texts(f"{path}.{key}".lstrip("."), part)]
    if isinstance(value, Sequence):
        return [text for number, part in enumerate(value) for text in _texts(f"{path}[{number}]", part)]
    return []


def _is_placeholder(text: str) -> bool:
    plain = text.strip().strip("<>[]()?.!").lower()
    return text.strip().lower() in _PLACEHOLDERS or plain in (*_PLACEHOLDERS, "") or plain.startswith("todo")


def _header(facts: Mapping[str, Any]) -> str:
    """Return the YAML header; JSON strings are YAML strings."""
    lines = [
        *([("language", [facts["language"]])] if "language" in facts else []),
        ("license", facts["license"].lower()),
        ("base_model", facts["base"]["name"]),
        ("datasets", [source["name"] for source in facts["data"]]),
        ("tags", ["termwise", facts["kind"], "learned-sparse-retrieval", "onnx"]),
    ]
    return "\n".join(
        ["---", *(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in lines), "---"]
    )


def _evaluation(evaluation: Mapping[str, Any]) -> list[str]:
    """Return the table, if there are measurements, and the note."""
    rows = evaluation.get("rows")
    return [*([_table(evaluation["columns"], rows)] if rows else []), evaluation["note"]]


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower() if value is not None else "none"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("|", "\\|").replace("\n", " ")
