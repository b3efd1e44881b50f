"""Codec of manifests: JSON objects in one canonical byte form, with a checksum, and checks of their values.

A reader checks the shape of each value and raises `Misfit`. The caller, which knows the file, turns that into an error
that names it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from termwise.display.safe_text import shown

_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_SHA256 = re.compile("[0-9a-f]{64}")


class Misfit(Exception):
    """A value in a file that the format does not allow.

    Attributes
    ----------
    expected : str
        Description of the allowed values.
    seen : object
        The value.
    offset : int or None
        Its position in the file in bytes, if known.
    """

    def __init__(self, expected: str, seen: object, offset: int | None = None) -> None:
        self.expected = expected
        self.seen = seen
        self.offset = offset
        super().__init__(expected, seen)


def canonical_bytes(body: Mapping[str, Any]) -> bytes:
    r"""Serialise a JSON object in its canonical form: sorted keys, an indent of two spaces, a newline at the end.

    Raises
    ------
    ValueError
        If a number is not finite.

    Examples
    --------
    >>> canonical_bytes({"b": 1, "a": 2})
    b'{\n  "a": 2,\n  "b": 1\n}\n'
    """
    text = json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def checksum_of(body: Mapping[str, Any]) -> str:
    """Return the checksum of an object over everything but its key ``checksum``."""
    rest = {key: value for key, value in body.items() if key != "checksum"}
    return "sha256:" + hashlib.sha256(canonical_bytes(rest)).hexdigest()


def sealed(body: Mapping[str, Any]) -> bytes:
    """Serialise a JSON object with its checksum; raise the errors of `json.dumps` for other values."""
    return canonical_bytes({**body, "checksum": checksum_of(body)})


def unsealed(
    data: bytes,
    format: str,
    version: int,
    *,
    foreign: Callable[[], Exception],
    later: Callable[[int], Exception],
) -> Mapping[str, Any]:
    """Read a JSON object of a format, up to the version that is the latest known one, and check its checksum.

    `foreign` and `later` build the errors for another format and for a later version. `Misfit` is raised if the data
    are not JSON, or do not match their checksum.
    """
    try:
        body = json.loads(data.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise Misfit("UTF-8 text", "other bytes", error.start) from None
    except json.JSONDecodeError as error:
        raise Misfit("JSON", error.msg, error.pos) from None
    except (ValueError, RecursionError) as error:
        raise Misfit("JSON", error) from None
    if not isinstance(body, dict) or body.get("format") != format:
        raise foreign()
    version_seen = body.get("version")
    if type(version_seen) is int and version_seen > version:
        raise later(version_seen)
    try:
        intact = body.get("checksum") == checksum_of(body)
    except (ValueError, RecursionError):
        intact = False  # JSON that `checksum_of` cannot write, such as NaN
    if not intact:
        raise Misfit("a manifest that matches its checksum", "one that does not")
    return body


def expect_object(value: object, names: set[str], where: str) -> Mapping[str, Any]:
    """Return a JSON object with exactly these keys, or raise `Misfit`."""
    if not isinstance(value, dict) or set(value) != names:
        seen = ", ".join(sorted(map(str, value))) if isinstance(value, dict) else type(value).__name__
        raise Misfit(f"{where} with the keys {', '.join(sorted(names))}", seen)
    return value


def expect_mapping(value: object, where: str) -> Mapping[str, Any]:
    """Return a JSON object with any keys, or raise `Misfit`."""
    if not isinstance(value, dict):
        raise Misfit(f"{where} as an object", type(value).__name__)
    return value


def expect_objects(body: Mapping[str, Any], names: tuple[str, ...], prefix: str = "") -> None:
    """Raise `Misfit` unless the values of these keys are JSON objects."""
    for name in names:
        expect_mapping(body[name], f"{prefix}{name}")


def expect_list(value: object, where: str) -> list[Any]:
    """Return a JSON array, or raise `Misfit`."""
    if not isinstance(value, list):
        raise Misfit(f"{where} as an array", type(value).__name__)
    return value


def expect_flag(value: object, where: str) -> bool:
    """Return true or false, or raise `Misfit`."""
    if not isinstance(value, bool):
        raise Misfit(f"{where} as true or false", shown(value))
    return value


def expect_whole(value: object, where: str, least: int, most: float = math.inf) -> int:
    """Return a whole number between two bounds, or raise `Misfit`."""
    if type(value) is not int or not least <= value <= most:
        raise Misfit(f"{where} from {least} to {most}", shown(value))
    return value


def expect_number(value: object, where: str, least: float, most: float) -> float:
    """Return a number between two bounds, or raise `Misfit`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise Misfit(f"{where} to be a number from {least:g} to {most:g}", shown(value))
    return float(value)


def expect_text(value: object, where: str) -> str:
    """Return a non-empty string, or raise `Misfit`."""
    if not isinstance(value, str) or not value:
        raise Misfit(f"{where} as a string", shown(value))
    return value


def expect_choice(value: object, where: str, choices: tuple[str, ...]) -> str:
    """Return one of several strings, or raise `Misfit`."""
    if value not in choices:
        raise Misfit(f"{where}: one of {', '.join(choices)}", shown(value))
    return str(value)


def expect_digest(value: object, where: str) -> str:
    """Return a SHA-256 in hexadecimal digits, or raise `Misfit`."""
    digest = expect_text(value, where)
    if not _SHA256.fullmatch(digest):
        raise Misfit(f"{where} of 64 hexadecimal digits", shown(digest))
    return digest


def expect_file_name(value: object) -> str:
    """Return a file name without folders, or raise `Misfit`."""
    if not isinstance(value, str) or not _FILE.fullmatch(value):
        raise Misfit("a file name without folders", shown(value))
    return value
