"""Reads a JSON array as a stream: some data sets are one array of several gigabytes."""

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
"""Characters that an object may have; what does not end until then is damaged."""


def read_json_array(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    r"""Yield the objects of a JSON array with their numbers from 1, one at a time.

    Parameters
    ----------
    path : Path
        Plain or gzip-compressed.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        If it is no array of objects, or ends too early; its "line" is the number of the object.

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
    number, waiting, begun = 0, "", False
    for chunk, last in _chunks(path):
        waiting += chunk
        place = 0
        while True:
            place = _after(waiting, place, " \t\r\n," if begun else " \t\r\n\ufeff")
            if place == len(waiting):
                break
            if not begun:
                if waiting[place] != "[":
                    raise MalformedRecordError.at(
                        path, 1, expected="a JSON array", seen=waiting[place : place + 60]
                    )
                begun, place = True, place + 1
                continue
            if waiting[place] == "]":
                return
            try:
                record, place = decoder.raw_decode(waiting, place)
            except RecursionError as error:
                raise MalformedRecordError.at(
                    path,
                    number + 1,
                    expected="a JSON object",
                    seen=f"{waiting[place : place + 60]}  (nested too deeply)",
                ) from error
            except ValueError as error:
                if last or len(waiting) - place > _LARGEST:
                    seen = f"{waiting[place : place + 60]}  ({error})"
                    raise MalformedRecordError.at(
                        path,
                        number + 1,
                        expected="a JSON object",
                        seen=seen,
                        message="an array is damaged or cut off",
                    ) from error
                break
            number += 1
            if not isinstance(record, dict):
                raise MalformedRecordError.at(path, number, expected="a JSON object", seen=str(record))
            yield number, record
        waiting = waiting[place:]
    raise MalformedRecordError.at(
        path,
        number + 1,
        expected="the end of the array",
        seen="the end of the file",
        message="an array is cut off",
    )


def _chunks(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the text of a file in pieces, and whether a piece is the last."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with opened(path) as stream:
        while raw := stream.read(_CHUNK):
            yield decode(raw), False
    yield decode(b"", True), True


def _after(text: str, place: int, skipped: str) -> int:
    while place < len(text) and text[place] in skipped:
        place += 1
    return place
