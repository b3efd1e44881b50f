"""Streaming reader of JSON arrays, for data sets that are one array of several gigabytes."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from termwise.collection.lines import opened
from termwise.errors import MalformedRecordError

_CHUNK = 1 << 20
_LARGEST = 1 << 26
"""Upper bound for the characters of an object; a longer one counts as damaged."""


def read_json_array(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    r"""Yield the objects of a JSON array one at a time, with their numbers from 1.

    Parameters
    ----------
    path : Path
        Plain or gzip-compressed.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        If it is no array of objects, or is cut off; the fact ``line`` is the number of the object.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.json"
    ...     _ = path.write_text('[{"a": 1},\n {"a": 2}]')
    ...     list(read_json_array(path))
    [(1, {'a': 1}), (2, {'a': 2})]
    """
    decoder = json.JSONDecoder()
    number, buffer, in_array = 0, "", False
    for chunk, is_last in _chunks(path):
        buffer += chunk
        place = 0
        while True:
            place = _skip(buffer, place, " \t\r\n," if in_array else " \t\r\n\ufeff")
            if place == len(buffer):
                break
            start = buffer[place : place + 60]
            if not in_array:
                if start[0] != "[":
                    raise MalformedRecordError.at(path, 1, expected="a JSON array", seen=start)
                in_array, place = True, place + 1
                continue
            if start[0] == "]":
                return
            try:
                record, place = decoder.raw_decode(buffer, place)
            except RecursionError as error:
                seen = f"{start}  (nested too deeply)"
                raise MalformedRecordError.at(
                    path, number + 1, expected="a JSON object", seen=seen
                ) from error
            except ValueError as error:
                if is_last or len(buffer) - place > _LARGEST:
                    raise MalformedRecordError.at(
                        path,
                        number + 1,
                        expected="a JSON object",
                        seen=f"{start}  ({error})",
                        message="a JSON array is damaged or cut off",
                    ) from error
                break
            number += 1
            if not isinstance(record, dict):
                raise MalformedRecordError.at(path, number, expected="a JSON object", seen=str(record))
            yield number, record
        buffer = buffer[place:]
    raise MalformedRecordError.at(
        path,
        number + 1,
        expected="the end of the array",
        seen="the end of the file",
        message="a JSON array is cut off",
    )


def _chunks(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the text of a file in chunks, and whether a chunk is the last."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with opened(path) as stream:
        while raw := stream.read(_CHUNK):
            yield decode(raw), False
    yield decode(b"", True), True


def _skip(text: str, place: int, characters: str) -> int:
    while place < len(text) and text[place] in characters:
        place += 1
    return place
