"""YAML as it stands there, with the place of everything, and nothing made from it but strings.

A document is read as a tree of nodes, so that no tag can build an object, keys that stand twice are seen, and every
complaint can name its line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from termwise.collection.lines import CONVERT, opened
from termwise.errors import MalformedRecordError, MissingExtraError, near_names

_STRING, _TRUTH, _WHOLE = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "bool", "int"))
_HALF = re.compile("[\ud800-\udfff]")
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_ESCAPE = re.compile(r"\\U([0-9A-Fa-f]{8})")
_TRUTHS = {"true": True, "false": False}


class Node:
    """One value of a YAML file.

    Parameters
    ----------
    path : Path
        Of the file.
    place : str
        Inside it, such as ``probes[0].title``; empty for the whole.
    raw : yaml.Node
        The value.
    """

    def __init__(self, path: Path, place: str, raw: Any) -> None:
        self.path = path
        self.place = place
        self._raw = raw

    def error(
        self, message: str, *, expected: str, seen: str | None = None, fixes: Iterable[str] = ()
    ) -> MalformedRecordError:
        """Return the error for this value: it names file, line and place."""
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

    def mapping(self, required: Iterable[str] = (), optional: Iterable[str] | None = ()) -> dict[str, Node]:
        """Return the values by key.

        Parameters
        ----------
        required, optional : iterable of str
            Keys that have to be there, and that may be; None where any may.

        Raises
        ------
        MalformedRecordError
            If this is no mapping, a key stands twice, is unknown or missing, or is no string.
        """
        if self._kind() != "mapping":
            keys = ", ".join(f"{key}:" for key in required)
            raise self.error("a mapping is needed here", expected=f"keys with values: {keys}".rstrip(": "))
        found: dict[str, Node] = {}
        for raw_key, raw_value in self._raw.value:
            key = Node(self.path, self.place, raw_key).text(empty=True)
            value = Node(self.path, f"{self.place}.{key}".lstrip("."), raw_value)
            if key in found:
                raise value.error("a key stands twice", expected="each key once", seen=repr(key))
            found[key] = value
        needed = tuple(required)
        known = None if optional is None else (*needed, *optional)
        for key, value in found.items():
            if known is not None and key not in known:
                near = near_names(key, known)
                raise value.error(
                    "an unknown key",
                    expected=", ".join(known),
                    seen=repr(key),
                    fixes=[f"did you mean {' or '.join(near)}?"] if near else [],
                )
        for key in needed:
            if key not in found:
                raise self.error("a key is missing", expected=repr(key), seen=", ".join(found) or "no key")
        return found

    def sequence(self) -> list[Node]:
        """Return the values of a list that is not empty.

        Raises
        ------
        MalformedRecordError
            If this is no list, or an empty one.
        """
        if self._kind() != "sequence":
            raise self.error("a list is needed here", expected="a list")
        if not self._raw.value:
            raise self.error("a list is empty", expected="one value or more")
        return [Node(self.path, f"{self.place}[{n}]", raw) for n, raw in enumerate(self._raw.value)]

    def text(self, *, empty: bool = False) -> str:
        """Return a string with something to see in it, unless it may be empty.

        Raises
        ------
        MalformedRecordError
            If this is something else.
        """
        if self._kind() != "scalar" or self._raw.tag != _STRING:
            written = self._raw.value if self._kind() == "scalar" else ""
            fixes = [f'put it in quotes: "{written}"'] if written or empty else []
            raise self.error("a string is needed here", expected="a string", fixes=fixes)
        if half := _HALF.search(self._raw.value):
            raise self.error(
                "a string holds half of a surrogate pair, which is not a character",
                expected="whole characters",
                seen=f"\\u{ord(half[0]):04x}",
                fixes=[r"write the character itself, or all of its code at once: \U0001F600"],
            )
        if not empty and not any(letter.isprintable() and letter != " " for letter in self._raw.value):
            raise self.error("a string is empty", expected="a string that says something")
        return str(self._raw.value)

    def truth(self) -> bool:
        """Return true or false.

        Raises
        ------
        MalformedRecordError
            If this is something else.
        """
        if self._kind() != "scalar" or self._raw.tag != _TRUTH or self._raw.value not in _TRUTHS:
            raise self.error("true or false is needed here", expected="true or false")
        return _TRUTHS[self._raw.value]

    def count(self) -> int:
        """Return a whole number of 1 or more.

        Raises
        ------
        MalformedRecordError
            If this is something else.
        """
        is_whole = self._kind() == "scalar" and self._raw.tag == _WHOLE
        if not is_whole or not re.fullmatch("[1-9][0-9]{0,17}", self._raw.value):
            raise self.error(
                "a number is needed here", expected="a whole number of 1 or more, of 18 digits at most"
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
    """Read a file with one YAML document.

    Raises
    ------
    MissingExtraError
        If PyYAML is not installed.
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        If it is not UTF-8, not YAML, or empty.
    """
    try:
        import yaml
    except ImportError as error:
        raise MissingExtraError.of("PyYAML", "probe", "reading probes from YAML") from error
    with opened(path) as stream:
        raw = stream.read()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise MalformedRecordError.at(
            path, line, expected="UTF-8", seen=f"byte 0x{raw[error.start]:02x}", fixes=[CONVERT]
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
