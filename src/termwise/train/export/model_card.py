"""Model card: the README.md of an encoder folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_KINDS = {
    "tilde": "TILDE: a likelihood of each term for a text, read at the first position",
    "tildev2": "TILDEv2: a weight for each token of a text",
    "splade-doc": "max-pooled weights over the vocabulary, for documents only",
    "lookup": "one vector for a text, and a table with one vector for each token of a query",
}

_TAGS = {"lookup": "dense-retrieval"}


def model_card(facts: Mapping[str, Any]) -> str:
    """Return a model card as Markdown, with the YAML header of model hubs: license, base model, data and tags.

    Parameters
    ----------
    facts : mapping
        See `termwise.train.export.card_facts.card_facts`.
    """
    base, data, evaluation = facts["base"], facts["data"], facts["evaluation"]
    parts = [
        _header(facts),
        f"# {facts['name']}",
        facts["summary"],
        f"**Kind.** {_KINDS[facts['kind']]}. Queries are only tokenised; the network runs once over each document.",
        "## Use",
        "```sh\n" + "\n".join(facts["usage"]) + "\n```",
        "## Evaluation",
        *([markdown_table(evaluation["columns"], evaluation["rows"])] if evaluation.get("rows") else []),
        evaluation["note"],
        "## Data",
        markdown_table(
            ["source", facts["unit"], "license", "origin"],
            [[source["name"], source["count"], source["license"], source["origin"]] for source in data],
        ),
        facts["seen"],
        "## Base",
        f"{base['name']} ({base['license']}). Training data: {base['seen']}",
        "## Training",
        facts["selection"],
        *(_departures(facts["departures"]) if "departures" in facts else []),
        "All settings:",
        markdown_table(["setting", "value"], sorted(facts["settings"].items())),
        "## Limits",
        "\n".join(f"- {limit}" for limit in facts["limits"]),
        "## Files",
        markdown_table(["file", "bytes"], sorted(facts["files"].items())),
    ]
    return "\n\n".join(parts) + "\n"


def _departures(departures: Sequence[Mapping[str, Any]]) -> list[str]:
    columns = ["setting", "published", "here", "reason"]
    rows = [[entry[column] for column in columns] for entry in departures]
    return ["Departures from the published training:", markdown_table(columns, rows) if rows else "None."]


def _header(facts: Mapping[str, Any]) -> str:
    """Return the YAML header; JSON strings are YAML strings."""
    lines = [
        *([("language", [facts["language"]])] if "language" in facts else []),
        ("license", facts["license"].lower()),
        ("base_model", facts["base"]["name"]),
        ("datasets", [source["name"] for source in facts["data"]]),
        ("tags", ["termwise", facts["kind"], _TAGS.get(facts["kind"], "learned-sparse-retrieval"), "onnx"]),
    ]
    return "\n".join(
        ["---", *(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in lines), "---"]
    )


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower() if value is not None else "none"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("|", "\\|").replace("\n", " ")
