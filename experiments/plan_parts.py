"""Reading of plans, the TOML files that declare an experiment."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

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
        If it is not a table, has an unknown key, lacks one, or a value has another type than the field of `kind`.
    """
    try:
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        made = kind(**more, **values)
        check_types(made)
    except (TypeError, AttributeError) as error:
        raise ParameterError(
            "a part of the plan is not valid",
            facts=[("part", kind.__name__), *more.items(), ("given", f"{entry!r:.200}"), ("reason", error)],
        ) from error
    return made


def check_types(instance: Any) -> None:
    """Raise `TypeError` if a field of a dataclass instance has another type than its annotation."""
    for name, hint in get_type_hints(type(instance)).items():
        value = getattr(instance, name)
        if not fits(value, hint):
            expected = getattr(hint, "__name__", hint) if get_origin(hint) is None else hint
            raise TypeError(f"{name} = {value!r:.80}, expected {expected}")


def fits(value: object, hint: Any) -> bool:
    """Return whether a value has the type of an annotation.

    Examples
    --------
    >>> fits(("a", "b"), tuple[str, ...]), fits(1, float), fits(True, int), fits(None, float | None)
    (True, True, False, True)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:  # the plans check these names themselves, and suggest the nearest one
        return type(value) in map(type, arguments)
    if origin in (UnionType, Union):
        return any(fits(value, one) for one in arguments)
    if origin in (tuple, list):
        return isinstance(value, origin) and all(fits(one, arguments[0]) for one in value)
    if origin is not None:  # a mapping
        return isinstance(value, Mapping) and all(
            fits(key, arguments[0]) and fits(one, arguments[1]) for key, one in value.items()
        )
    return type(value) in ((int, float) if hint is float else (hint,))


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
