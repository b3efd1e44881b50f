"""Reader of files with one JSON array of objects, in bounded memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from termwise.collection.lines import (
    DECODER,
    MAX_LINE,
    conversion,
    opened,
    refuse_surrogates,
)
from termwise.errors import MalformedRecordError

CHUNK = 1 << 16
"""Number of characters to read at a time; more for records that are longer."""

_SPACE = re.compile(r"[ \t\r\n]*")


def read_json_array(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the objects of a file with one JSON array, plain or gzip-compressed, with their numbers from 1.

    Errors are those of `read_json_lines`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "docs.json"
    ...     _ = path.write_text('[{"_id": "a"},\n {"_id": "b"}]')
    ...     list(read_json_array(path))
    [(1, {'_id': 'a'}), (2, {'_id': 'b'})]
    """
    with opened(path) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        try:
            yield from _ArrayReader(path, text).objects()
        except UnicodeDecodeError as error:
            raise MalformedRecordError(
                "a file is not UTF-8",
                facts=[
                    ("file", path),
                    ("expected", "UTF-8"),
                    ("seen", f"byte 0x{error.object[error.start]:02x}"),
                ],
                fixes=[conversion(path, error.object)],
            ) from error


class _ArrayReader:
    def __init__(self, path: Path, text: TextIO) -> None:
        self._path = path
        self._text = text
        self._buffer = ""
        self._position = 0
        self._number = 1

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        self._expect("[")
        if self._next() == "]":
            self._position += 1
        else:
            while True:
                yield self._number, self._object()
                if self._expect(",", "]") == "]":
                    break
                self._number += 1
        if rest := self._next():
            raise self._malformed("the end of the file", rest)

    def _next(self) -> str:
        """Return the next visible character, or nothing at the end of the file."""
        while True:
            match = _SPACE.match(self._buffer, self._position)
            self._position = match.end() if match else 0
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._fill():
                return ""

    def _fill(self) -> bool:
        """Read more characters, as many as are left in the buffer; return whether there are any."""
        left = self._buffer[self._position :]
        more = self._text.read(max(CHUNK, len(left)))
        self._buffer, self._position = left + more, 0
        return bool(more)

    def _expect(self, *characters: str) -> str:
        seen = self._next()
        if seen not in characters or not seen:
            raise self._malformed(" or ".join(characters), seen)
        self._position += 1
        return seen

    def _object(self) -> dict[str, Any]:
        if (seen := self._next()) != "{":
            raise self._malformed("a JSON object {...}", seen)
        while True:
            try:
                record, end = DECODER.raw_decode(self._buffer, self._position)
                break
            except json.JSONDecodeError as error:
                if len(self._buffer) - self._position > MAX_LINE:
                    raise self._malformed(f"an object of at most {MAX_LINE:,} characters", "{") from None
                if not self._fill():
                    raise self._malformed("a JSON object {...}", "{", error.msg) from error
            except (ValueError, RecursionError) as error:
                reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
                raise self._malformed("a JSON object {...}", "{", reason) from error
        source = self._buffer[self._position : end]
        refuse_surrogates(record, source, self._path, self._number, unit="record")
        self._position = end
        result: dict[str, Any] = record
        return result

    def _malformed(self, expected: str, seen: str, reason: str = "") -> MalformedRecordError:
        excerpt = self._buffer[self._position : self._position + 60] if seen else "the end of the file"
        return MalformedRecordError.at(
            self._path,
            self._number,
            unit="record",
            expected=expected,
            seen=f"{excerpt}  ({reason})" if reason else excerpt,
            message="a file is not a JSON array of objects",
        )
