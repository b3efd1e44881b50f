"""Streaming reader of JSON arrays, for data sets that are one array of several gigabytes."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from termwise.collection.lines import opened
from termwise.errors import MalformedRecordError

_BEFORE = re.compile("[ \\t\\r\\n\ufeff]*")
_BETWEEN = re.compile("[ \\t\\r\\n,]*")
_CHUNK = 1 << 20
_LARGEST = 1 << 26
"""Upper bound for the characters of an object; a longer one counts as damaged."""


def read_json_array(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    r"""Yield the objects of a JSON array one at a time, with their numbers from 1.

    The file is plain or gzip-compressed. In errors, ``line`` is the number of the object.

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
        position = 0
        while True:
            gap = (_BETWEEN if in_array else _BEFORE).match(buffer, position)
            position = gap.end() if gap else position
            if position == len(buffer):
                break
            start = buffer[position : position + 60]
            if not in_array:
                if start[0] != "[":
                    raise MalformedRecordError.at(path, 1, expected="a JSON array", seen=start)
                in_array, position = True, position + 1
                continue
            if start[0] == "]":
                return
            try:
                record, position = decoder.raw_decode(buffer, position)
            except (ValueError, RecursionError) as error:
                is_nested = isinstance(error, RecursionError)
                if not is_nested and not is_last and len(buffer) - position <= _LARGEST:
                    break  # the object may continue in the next chunk
                raise MalformedRecordError.at(
                    path,
                    number + 1,
                    expected="a JSON object",
                    seen=f"{start}  ({'nested too deeply' if is_nested else error})",
                    message="a JSON array is damaged or cut off",
                ) from error
            number += 1
            if not isinstance(record, dict):
                raise MalformedRecordError.at(path, number, expected="a JSON object", seen=str(record))
            yield number, record
        buffer = buffer[position:]
    raise MalformedRecordError.at(
        path,
        number + 1,
        expected="the end of the array",
        seen="the end of the file",
        message="a JSON array is damaged or cut off",
    )


def _chunks(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the text of a file in chunks, and whether a chunk is the last."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with opened(path) as stream:
        while raw := stream.read(_CHUNK):
            yield decode(raw), False
    yield decode(b"", True), True
