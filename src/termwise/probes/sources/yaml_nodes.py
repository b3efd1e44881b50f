"""Strict YAML reader: a tree of nodes with their lines.

Values are read from nodes, so no tag can build an object, duplicate keys are errors, and every error names its line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from termwise.collection.lines import conversion, read_bytes
from termwise.errors import MalformedRecordError, MissingExtraError, near_names

_STRING, _TRUTH, _WHOLE = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "bool", "int"))
_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_ESCAPE = re.compile(r"\\U([0-9A-Fa-f]{8})")
_TRUTHS = {"true": True, "false": False}


class Node:
    """Value in a YAML file at a place such as ``probes[0].title``, which is empty for the root."""

    def __init__(self, path: Path, place: str, raw: Any) -> None:
        self.path = path
        self.place = place
        self._raw = raw

    def error(
        self, message: str, *, expected: str, seen: str | None = None, fixes: Iterable[str] = ()
    ) -> MalformedRecordError:
        """Return an error that names file, line and place of this value."""
        return MalformedRecordError(
            message,
            facts=[
                ("file", self.path),
                ("line", self._raw.start_mark.line + 1),
                ("place", self.place or "the whole file"),
                ("expected", expected),
                ("seen", self._shown() if seen is None else seen),
            ],
            fixes=fixes,
        )

    def mapping(self, required: Sequence[str] = (), optional: Sequence[str] | None = ()) -> dict[str, Node]:
        """Return the values by key, which is a string; any key is allowed if `optional` is None."""
        if self._kind() != "mapping":
            keys = ", ".join(f"{key}:" for key in required)
            raise self.error("a mapping is required here", expected=f"keys with values: {keys}".rstrip(": "))
        nodes: dict[str, Node] = {}
        for raw_key, raw_value in self._raw.value:
            key = Node(self.path, self.place, raw_key).text(empty=True)
            value = Node(self.path, f"{self.place}.{key}".lstrip("."), raw_value)
            if key in nodes:
                raise value.error("a key is duplicate", expected="each key once", seen=repr(key))
            nodes[key] = value
        known = None if optional is None else (*required, *optional)
        for key, value in nodes.items():
            if known is not None and key not in known:
                similar = near_names(key, known)
                raise value.error(
                    "an unknown key",
                    expected=", ".join(known),
                    seen=repr(key),
                    fixes=[f"did you mean {' or '.join(similar)}?"] if similar else [],
                )
        for key in required:
            if key not in nodes:
                raise self.error("a key is missing", expected=repr(key), seen=", ".join(nodes) or "no key")
        return nodes

    def sequence(self) -> list[Node]:
        """Return the values of a non-empty list; anything else is an error."""
        if self._kind() != "sequence":
            raise self.error("a list is required here", expected="a list")
        if not self._raw.value:
            raise self.error("a list is empty", expected="one value or more")
        return [Node(self.path, f"{self.place}[{n}]", raw) for n, raw in enumerate(self._raw.value)]

    def text(self, *, empty: bool = False) -> str:
        """Return a string, which must have a visible character unless it may be empty."""
        if self._kind() != "scalar" or self._raw.tag != _STRING:
            written = self._raw.value if self._kind() == "scalar" else ""
            fixes = [f'put it in quotes: "{written}"'] if written or empty else []
            raise self.error("a string is required here", expected="a string", fixes=fixes)
        if surrogate := _SURROGATE.search(self._raw.value):
            raise self.error(
                "a string has an unpaired surrogate, which is not a character",
                expected="whole characters",
                seen=f"\\u{ord(surrogate[0]):04x}",
                fixes=[r"write the character itself, or its whole code: \U0001F600"],
            )
        if not empty and not any(letter.isprintable() and letter != " " for letter in self._raw.value):
            raise self.error("a string is empty", expected="a string with visible characters")
        return str(self._raw.value)

    def truth(self) -> bool:
        """Return a truth value; anything else is an error."""
        if self._kind() != "scalar" or self._raw.tag != _TRUTH or self._raw.value not in _TRUTHS:
            raise self.error("true or false is required here", expected="true or false")
        return _TRUTHS[self._raw.value]

    def count(self) -> int:
        """Return a whole number of 1 or more; anything else is an error."""
        is_whole = self._kind() == "scalar" and self._raw.tag == _WHOLE
        if not is_whole or not re.fullmatch("[1-9][0-9]{0,17}", self._raw.value):
            raise self.error(
                "a number is required here", expected="a whole number of 1 or more, with at most 18 digits"
            )
        return int(self._raw.value)

    def _kind(self) -> str:
        return str(self._raw.id)

    def _shown(self) -> str:
        if self._kind() == "scalar":
            kind = self._raw.tag.rpartition(":")[2]
            return f"{self._raw.value[:60]!r} ({kind})" if self._raw.value else "nothing"
        kind = "list" if self._kind() == "sequence" else "mapping"
        return f"a {kind}" if self._raw.value else f"an empty {kind}"


def read_yaml(path: Path) -> Node:
    """Read the root of a file with one YAML document; errors as in `termwise.probes.sources.yaml_probes`."""
    try:
        import yaml
    except ImportError as error:
        raise MissingExtraError.of("PyYAML", "probe", "reading probes from YAML") from error
    raw = read_bytes(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise MalformedRecordError.at(
            path, line, expected="UTF-8", seen=f"byte 0x{raw[error.start]:02x}", fixes=[conversion(path, raw)]
        ) from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = len(_BREAK.findall(text, 0, error.position)) + 1
        character = ord(text[error.position])
        raise _invalid(path, line, f"U+{character:04X}, a character that YAML does not allow") from error
    except (OverflowError, ValueError) as error:
        beyond = next((found for found in _ESCAPE.finditer(text) if int(found[1], 16) > sys.maxunicode), None)
        line = 1 if beyond is None else len(_BREAK.findall(text, 0, beyond.start())) + 1
        raise _invalid(
            path, line, "an escape that is no character" if beyond is None else beyond[0]
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or "nested too deeply"
        raise _invalid(path, mark.line + 1 if mark else 1, reason) from error
    if root is None:
        raise MalformedRecordError.at(path, 1, expected="probes:, with a list of them", seen="an empty file")
    return Node(path, "", root)


def _invalid(path: Path, line: int, seen: str) -> MalformedRecordError:
    return MalformedRecordError.at(path, line, expected="YAML", seen=seen, message="a file is not valid YAML")
