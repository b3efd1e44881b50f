"""Parts of the JSON body of a request, checked; unknown keys are refused by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from termwise.collection import fields
from termwise.display.safe_text import shown
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.validation import is_finite_number, is_integer

SMALLEST, LARGEST = 1e-9, 1e9
"""Bounds of weights and boosts."""


def record(value: object, where: str) -> dict[str, Any]:
    """Return an object."""
    if not isinstance(value, dict):
        raise _wrong(where, value, "an object")
    return value


def known_keys(value: object, where: str, known: Collection[str]) -> dict[str, Any]:
    """Return an object that has no other keys than these."""
    checked = record(value, where)
    for name in checked:
        if name not in known:
            raise UnsupportedError.of(f"the key of {where}", name, known)
    return checked


def single(value: object, where: str) -> tuple[str, Any]:
    """Return key and value of an object with one key."""
    checked = record(value, where)
    if len(checked) != 1:
        raise _wrong(where, value, "an object with one key")
    return next(iter(checked.items()))


def only_default(value: Mapping[str, Any], where: str, **defaults: object) -> None:
    """Check that some keys are absent, or have the value that changes nothing."""
    for name, default in defaults.items():
        if value.get(name, default) != default:
            raise UnsupportedError.of(f"{name} of {where}", shown(value[name]), [shown(default)])


def text(value: object, where: str) -> str:
    """Return a string; numbers and booleans become text, as in OpenSearch."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) or is_finite_number(value):
        return str(value)
    raise _wrong(where, value, "a string")


def identifier(value: object, where: str) -> str:
    """Return an identifier, which may be a whole number."""
    found = fields.identifier(value)
    if found is None:
        raise _wrong(where, value, "a string that is not empty, or a whole number")
    return found


def texts(value: object, where: str) -> list[str]:
    """Return a string or a list of strings as a list."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _wrong(where, value, "a list of strings")
    return value


LONGEST_TAG = 100
"""Maximum length of a highlighting tag in characters."""


def tag(value: object, where: str) -> str:
    """Return a tag, or the first of a list of tags; it is written for each word of each result."""
    found = (texts(value, where) or [""])[0]
    if len(found) > LONGEST_TAG:
        raise ServiceError(
            f"a tag of {where} is too long", facts=[("characters", len(found)), ("most", LONGEST_TAG)]
        )
    return found


def several(value: object) -> Sequence[Any]:
    """Return a list, or one value as a list."""
    return value if isinstance(value, list) else [value]


def flag(value: object, where: str) -> bool:
    """Return true or false, which may be text."""
    if isinstance(value, bool):
        return value
    if value in ("true", "false", ""):
        return value != "false"
    raise _wrong(where, value, "true or false")


def whole(value: object, where: str, least: int = 0) -> int:
    """Return a whole number, which may be text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if not is_integer(value) or value < least:
        raise _wrong(where, value, f"a whole number of {least} or more")
    return int(value)


def number(value: object, where: str) -> float:
    """Return a weight or boost; refuse numbers whose products with scores would overflow or become 0."""
    if not is_finite_number(value) or not (value == 0 or SMALLEST <= value <= LARGEST):
        raise _wrong(where, value, f"0, or a number from {SMALLEST:g} to {LARGEST:g}")
    return float(value)


def _wrong(where: str, value: object, expected: str) -> ServiceError:
    return ServiceError(f"{where} is {expected}", facts=[("given", shown(value))])
