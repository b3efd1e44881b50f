"""Reading of plans, the TOML files that declare an experiment."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from termwise.errors import MalformedRecordError, MissingFileError, ParameterError

_Part = TypeVar("_Part")


def read_toml(path: Path) -> dict[str, Any]:
    """Read the file of a plan.

    Raises
    ------
    MissingFileError, MalformedRecordError
        If it does not exist, or is not TOML in UTF-8.
    """
    if not path.is_file():
        raise MissingFileError("the plan does not exist", facts=[("file", path)])
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise MalformedRecordError(
            "the plan cannot be read", facts=[("file", path), ("reason", error)]
        ) from error


def part(kind: type[_Part], entry: Mapping[str, Any], **more: Any) -> _Part:
    """Make a part of a plan from a table of the file; lists become tuples.

    Raises
    ------
    ParameterError
        If the table has an unknown key or lacks one.
    """
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    try:
        return kind(**more, **values)
    except TypeError as error:
        raise ParameterError(
            "a part of the plan is not valid",
            facts=[("part", kind.__name__), ("given", dict(entry)), ("reason", error)],
        ) from error


def named_parts(kind: type[_Part], tables: Mapping[str, Mapping[str, Any]]) -> dict[str, _Part]:
    """Make a part of each named table of the file."""
    return {name: part(kind, entry, name=name) for name, entry in tables.items()}


def digest_of(body: Mapping[str, Any]) -> str:
    """Return ``sha256:`` and the digest of a JSON object."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def without(entry: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a table without one of its keys."""
    return {name: value for name, value in entry.items() if name != key}
