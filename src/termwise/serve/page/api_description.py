"""The OpenAPI document of the service as a page: operations, parameters, fields of bodies, and example requests."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
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
                    "example": _curl(method.upper(), base, path, operation, media_type, body, index),
                }
            )
    return operations


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
    body: Mapping[str, Any],
    index: str,
) -> str:
    path = path.replace("{index}", index).replace("{doc_id}", "ID")
    parameters = {
        each["name"]: _example(each["name"], each["schema"], index)
        for each in operation["parameters"]
        if each["in"] == "query" and (each.get("required") or "examples" in each["schema"])
    }
    first = dict(list(parameters.items())[:1])
    url = f"{base.rstrip('/')}{path}{'?' + urlencode(first) if first else ''}"
    words = ["curl", *([] if method == "GET" else ["-X", method]), shlex.quote(url)]
    lines = [" ".join(words)]
    if media_type:
        content = operation["requestBody"]["content"][media_type]
        properties = body.get("properties", {})
        required = body.get("required", ())
        shown = [name for name in properties if name in required or "examples" in properties[name]]
        optional = [name for name in shown if name not in required][1:]
        example = {
            name: _example(name, properties[name], index) for name in shown if name not in optional
        } or content.get("example", {"_id": "ID", "text": "green tea from Uji"})
        lines.append(f"-H {shlex.quote(f'Content-Type: {media_type}')}")
        lines.append(f"-d {shlex.quote(json.dumps(example, ensure_ascii=False))}")
    return " \\\n  ".join(lines)


def _example(name: str, schema: Mapping[str, Any], index: str) -> Any:
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("type") == "array":
        return [{"index": index}] if name == "indexes" else []
    return {"doc_id": "ID", "integer": 1, "boolean": True}.get(
        "doc_id" if name == "doc_id" else str(schema.get("type")), "green tea"
    )
