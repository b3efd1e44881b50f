"""The OpenAPI document of the service."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from termwise._version import __version__
from termwise.serve import answers
from termwise.serve.bodies import JSON, NDJSON
from termwise.serve.operations import Operation

_REF = "#/components/schemas/{model}"
_PLACE = re.compile(r"{(\w+)(?::\w+)?}")

_ERRORS = {
    400: "The request is not as expected.",
    401: "The API key is missing or unknown.",
    403: "The role of the key does not allow this, or the service allows no changes.",
    404: "There is no such index or document.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body has another media type.",
    503: "The service has too much to do, or no answer in time.",
}
_WITHOUT_BODY = {408, 413, 415}


def openapi_document(operations: Sequence[Operation], indexes: Sequence[str] | None) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of some operations on the indexes with some names; None if these are secret."""
    kinds = [answers.ErrorAnswer, *(kind for each in operations for kind in (each.answer, each.body))]
    schemas: dict[str, Any] = {}
    for kind in dict.fromkeys(kinds):
        if isinstance(kind, type) and kind is not str:
            schema = TypeAdapter(kind).json_schema(ref_template=_REF)
            schemas |= schema.pop("$defs", {})
            schemas[kind.__name__] = schema
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = _PLACE.sub(r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _record(operation, indexes)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "termwise",
            "version": __version__,
            "description": "Search whose every score is a sum over terms.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}},
        },
    }


def _record(operation: Operation, indexes: Sequence[str] | None) -> dict[str, Any]:
    """Return the description of an operation."""
    record: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*_path_parameters(operation, indexes), *_query_parameters(operation)],
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {_media_type(operation): {"schema": _schema(operation.answer)}},
            }
        },
    }
    if operation.method == "PUT":
        record["responses"]["201"] = {**record["responses"]["200"], "description": "The document is new."}
    for status, description in _ERRORS.items():
        if status not in _WITHOUT_BODY or operation.body is not None:
            error = {"schema": _schema(answers.ErrorAnswer)}
            record["responses"][str(status)] = {"description": description, "content": {JSON: error}}
    if operation.body is not None:
        record["requestBody"] = {"required": True, "content": _content(operation, operation.body)}
    if operation.role != "none":
        record["security"] = [{"key": []}, {}]
        record["description"] = (
            f"Needs a key with the role {operation.role} or higher, if the service has keys."
        )
    return record


def _path_parameters(operation: Operation, indexes: Sequence[str] | None) -> list[dict[str, Any]]:
    schemas = {} if indexes is None else {"index": {"type": "string", "enum": list(indexes)}}
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": schemas.get(name, {"type": "string", "minLength": 1}),
        }
        for name in _PLACE.findall(operation.path)
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    given = operation.parameters
    schema = TypeAdapter(given).json_schema(ref_template=_REF) if isinstance(given, type) else given
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": {key: value for key, value in field.items() if key != "description"},
            "description": field.get("description", ""),
        }
        for name, field in schema.get("properties", {}).items()
    ]


def _content(operation: Operation, kind: Any) -> dict[str, Any]:
    """Return the description of a body; lines of JSON have no schema."""
    example = {} if operation.example is None else {"example": operation.example}
    if operation.body_lines:
        return {NDJSON: {"schema": {"type": "string"}, **example}}
    return {JSON: {"schema": _schema(kind), **example}}


def _media_type(operation: Operation) -> str:
    """Return the media type of the answer."""
    if operation.answer is str:
        return "text/plain"
    return NDJSON if operation.body_lines else JSON


def _schema(kind: Any) -> dict[str, Any]:
    if kind is str:
        return {"type": "string"}
    if not isinstance(kind, type):
        return {"type": "object", "additionalProperties": True}
    return {"$ref": _REF.format(model=kind.__name__)}
