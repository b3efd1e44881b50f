"""The model card: README.md of an encoder folder, made of facts alone.

What a reader must know to use a model, or to leave it, is a list of facts (`FACTS`). A card is written when all of
them are there and not before: a gap that says "to be done" is read as "nothing to say".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from termwise.errors import ParameterError

FACTS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "name": (str, "what the model is called, as in --model NAME"),
    "kind": (str, "tilde, tildev2 or splade-doc"),
    "summary": (str, "what it is and does, in one paragraph"),
    "language": (str, "of its texts, as ISO 639-1: en; may be left out"),
    "license": (str, "of the weights, as SPDX: Apache-2.0"),
    "base": (dict, "the encoder training began with: name, license, seen (what it was trained on before)"),
    "data": (list, "one entry a source: name, license, pairs, origin"),
    "pairs_seen": (int, "pairs that training used, repetitions counted"),
    "settings": (dict, "all settings of the training by name"),
    "departures": (
        list,
        "one entry a departure from the published training: setting (or what else departs), published, here, reason",
    ),
    "selection": (str, "which checkpoint this is, and how it was chosen"),
    "evaluation": (dict, "columns (list of str) and rows (list of lists), or neither, and note (str)"),
    "limits": (list, "what it does badly or was not tried on, a sentence each"),
    "usage": (list, "commands of termwise, in order"),
    "files": (dict, "size in bytes of each file by name"),
}
"""Every fact of a card: its type and what it says. All but ``language`` are needed. A list may be empty only for
``departures``."""

_ENTRIES: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "data": {"name": str, "license": str, "pairs": int, "origin": str},
    "departures": {"setting": str, "published": object, "here": object, "reason": str},
}
_BASE = ("name", "license", "seen")
_MAY_BE_EMPTY = frozenset({"departures"})
_MAY_BE_MISSING = frozenset({"language"})
_UNFILLED = ("todo", "tbd", "fixme", "unknown", "n/a", "…", "...")
_KINDS = {
    "tilde": "TILDE: a likelihood of each term for a text, read at the first position",
    "tildev2": "TILDEv2: a weight for each token of a text",
    "splade-doc": "max-pooled weights over the vocabulary, for documents only",
}


def card(facts: Mapping[str, Any]) -> str:
    """Write a model card.

    Parameters
    ----------
    facts : mapping
        What `FACTS` lists, and nothing else.

    Returns
    -------
    str
        Markdown, with a YAML header of license, base model, data and tags as model hubs read it.

    Raises
    ------
    ParameterError
        Naming every fact that is missing, empty, of another type, or not known here.
    """
    wrong = list(_wrong(facts))
    if wrong:
        raise ParameterError(
            "the model card lacks facts",
            facts=[(name, reason) for name, reason in wrong],
            fixes=["give every fact; leave nothing to be filled in later"],
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
            [[one["name"], one["pairs"], one["license"], one["origin"]] for one in data],
        ),
        f"{facts['pairs_seen']:,} pairs were seen in training, repetitions counted.",
        "## Base",
        f"{base['name']} ({base['license']}). What it had seen before: {base['seen']}",
        "## Training",
        facts["selection"],
        "Departures from the published training:",
        _table(
            ["setting", "published", "here", "why"],
            [[one["setting"], one["published"], one["here"], one["reason"]] for one in facts["departures"]],
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


def _wrong(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List every fact that keeps a card from being written, with the reason."""
    wrong = [(name, "not a fact of a model card") for name in facts if name not in FACTS]
    for name, (kind, meaning) in FACTS.items():
        if name not in facts:
            wrong += [] if name in _MAY_BE_MISSING else [(name, f"missing: {meaning}")]
        elif not isinstance(facts[name], kind) or isinstance(facts[name], bool):
            wrong.append((name, f"is {type(facts[name]).__name__}, expected {meaning}"))
        elif facts[name] in ("", [], {}) and name not in _MAY_BE_EMPTY:
            wrong.append((name, f"empty: {meaning}"))
    unsound = {name for name, _ in wrong}
    for name, entry in _ENTRIES.items():
        if name not in unsound:
            wrong += _wrong_entries(name, facts[name], entry)
    if "base" not in unsound:
        wrong += [(f"base.{name}", "missing") for name in _BASE if not facts["base"].get(name)]
    if "evaluation" not in unsound:
        wrong += _wrong_table(facts["evaluation"])
    if "kind" not in unsound and facts["kind"] not in _KINDS:
        wrong.append(("kind", f"{facts['kind']!r}, expected {', '.join(_KINDS)}"))
    return wrong + [
        (place, f"not filled in: {text!r}") for place, text in _texts("", facts) if _unfilled(text)
    ]


def _wrong_entries(
    name: str, entries: Sequence[Any], expected: Mapping[str, type | tuple[type, ...]]
) -> list[tuple[str, str]]:
    wrong = []
    for number, entry in enumerate(entries):
        for key, kind in expected.items():
            value = entry.get(key) if isinstance(entry, Mapping) else None
            if value is None or value == "" or not isinstance(value, kind):
                wrong.append((f"{name}[{number}].{key}", "missing or of another type"))
    return wrong


def _wrong_table(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    needed = ("columns", "rows", "note") if table.get("columns") or table.get("rows") else ("note",)
    wrong = [(f"evaluation.{part}", "missing") for part in needed if not table.get(part)]
    if not wrong and any(len(row) != len(table["columns"]) for row in table.get("rows", ())):
        wrong.append(("evaluation.rows", "not as long as the columns"))
    return wrong


def _texts(place: str, value: object) -> list[tuple[str, str]]:
    """List every string inside, with where it stands."""
    if isinstance(value, str):
        return [(place, value)]
    if isinstance(value, Mapping):
        return [found for key, part in value.items() for found in _texts(f"{place}.{key}".lstrip("."), part)]
    if isinstance(value, Sequence):
        return [found for number, part in enumerate(value) for found in _texts(f"{place}[{number}]", part)]
    return []


def _unfilled(text: str) -> bool:
    plain = text.strip().strip("<>[]()?.!").lower()
    return text.strip().lower() in _UNFILLED or plain in _UNFILLED or plain == "" or plain.startswith("todo")


def _header(facts: Mapping[str, Any]) -> str:
    """Write the YAML header; a JSON string is a YAML string."""
    lines = [
        *([("language", [facts["language"]])] if "language" in facts else []),
        ("license", facts["license"].lower()),
        ("base_model", facts["base"]["name"]),
        ("datasets", [one["name"] for one in facts["data"]]),
        ("tags", ["termwise", facts["kind"], "learned-sparse-retrieval", "onnx"]),
    ]
    return "\n".join(
        ["---", *(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in lines), "---"]
    )


def _evaluation(evaluation: Mapping[str, Any]) -> list[str]:
    """Return the table, where something was measured, and the note."""
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
