"""The OpenAPI document of the service as a page: operations, parameters, fields of bodies, and example requests."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode


class Field(NamedTuple):
    """Parameter of an address, or field of a body."""

    name: str
    type: str
    required: bool
    default: str
    description: str


def described(document: Mapping[str, Any], base: str, index: str) -> list[dict[str, Any]]:
    """Return the operations of an OpenAPI document for the template.

    Example requests have addresses that start with `base`, and the name `index`.
    """
    schemas = document["components"]["schemas"]
    operations = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            media_type, body = _content(operation.get("requestBody", {}), schemas)
            _, answer = _content(operation["responses"]["200"], schemas)
            operations.append(
                {
                    "id": operation["operationId"],
                    "method": method.upper(),
                    "path": path,
                    "summary": operation["summary"],
                    "description": operation.get("description", ""),
                    "parameters": [
                        Field(
                            each["name"],
                            _type(each["schema"]),
                            each.get("required", False),
                            _default(each["schema"]),
                            each.get("description", "") or ("part of the path" * (each["in"] == "path")),
                        )
                        for each in operation["parameters"]
                    ],
                    "body": _fields(body),
                    "media_type": media_type,
                    "answer": _fields(answer),
                    "errors": [
                        (status, each["description"])
                        for status, each in operation["responses"].items()
                        if not status.startswith("2")
                    ],
                    "example": _curl(method.upper(), base, path, operation, media_type, index),
                }
            )
    return operations


def description_text(operations: Sequence[Mapping[str, Any]]) -> str:
    """Return the operations, as `described` returns them, as text for a terminal, each with an example."""
    parts = [
        "The API of this service. For programs: /openapi.json. As a page: open this address in a browser."
    ]
    for each in operations:
        lines = [f"{each['method']} {each['path']}", each["summary"], "", each["example"]]
        for title, fields in (("parameters", each["parameters"]), ("body", each["body"])):
            if fields:
                lines += ["", f"{title}:"]
                lines += [
                    f"  {field.name} ({field.type}): {field.description}".rstrip(": ") for field in fields
                ]
        parts.append("\n".join(lines))
    return "\n\n\n".join(parts) + "\n"


def _content(part: Mapping[str, Any], schemas: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return media type and schema of the content of a request or an answer; empty without any."""
    for media_type, content in part.get("content", {}).items():
        name = str(content["schema"].get("$ref", "")).rpartition("/")[2]
        return media_type, schemas[name] if name else content["schema"]
    return "", {}


def _fields(schema: Mapping[str, Any]) -> list[Field]:
    required = schema.get("required", ())
    return [
        Field(name, _type(each), name in required, _default(each), each.get("description", ""))
        for name, each in schema.get("properties", {}).items()
    ]


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words.

    Examples
    --------
    >>> _type({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'list of string, or null'
    >>> _type({"type": "integer", "minimum": 1})
    'integer, at least 1'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return ", or ".join(map(_type, schema["anyOf"]))
    kind = str(schema.get("type", "any"))
    if kind == "array":
        kind = f"list of {_type(schema.get('items', {}))}"
    bounds = (("minimum", "at least"), ("maximum", "at most"), ("maxItems", "at most"))
    return ", ".join([kind, *(f"{words} {schema[name]}" for name, words in bounds if name in schema)])


def _default(schema: Mapping[str, Any]) -> str:
    return "" if schema.get("default") is None else json.dumps(schema["default"], ensure_ascii=False)


def _curl(
    method: str,
    base: str,
    path: str,
    operation: Mapping[str, Any],
    media_type: str,
    index: str,
) -> str:
    path = path.replace("{index}", index).replace("{doc_id}", "ID")
    parameters = {
        each["name"]: _example(each["schema"])
        for each in operation["parameters"]
        if each["in"] == "query" and (each.get("required") or "examples" in each["schema"])
    }
    first = dict(list(parameters.items())[:1])
    url = f"{base.rstrip('/')}{path}{'?' + urlencode(first) if first else ''}"
    words = ["curl", *([] if method == "GET" else ["-X", method]), shlex.quote(url)]
    lines = [" ".join(words)]
    if media_type:
        content = operation["requestBody"]["content"][media_type]
        example = content.get("example", {"_id": "ID", "text": "green tea from Uji"})
        if "indexes" in example:
            example = {**example, "indexes": [{"index": index}]}
        data = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)
        option = "--data-binary" if isinstance(example, str) else "-d"  # which keeps the ends of lines
        lines.append(f"-H {shlex.quote(f'Content-Type: {media_type}')}")
        lines.append(f"{option} {shlex.quote(data)}")
    return " \\\n  ".join(lines)


def _example(schema: Mapping[str, Any]) -> Any:
    if schema.get("examples"):
        return schema["examples"][0]
    return {"integer": 1, "boolean": True}.get(str(schema.get("type")), "green tea")
