"""Readers of text pairs from JSON lines, tables and parallel files."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from termwise.collection import read_json_lines
from termwise.collection.lines import read_bytes, read_raw_lines
from termwise.errors import DataError, MalformedRecordError
from termwise.probes.sources.transfer.pairs import TextPair

MAX_FILE = 4_000_000_000
"""Largest number of bytes in a table, decompressed."""

FIRST, SECOND = ("doc_a", "first"), ("doc_b", "second")
"""Field names of the two texts; the first name in a record is used."""

_FACTS = ("source", "type", "answer", "substitute", "answer_type")

Record = Mapping[str, Any]
_Item = TypeVar("_Item")


def read_pairs(
    path: Path,
    *,
    second: Sequence[str] = SECOND,
    keep: Callable[[Record], bool] = lambda record: True,
    group: Callable[[Record], str] = lambda record: "",
) -> Iterator[TextPair]:
    r"""Read pairs from JSON lines, plain or compressed.

    A record has ``id``, the first text as ``doc_a`` or ``first``, the second as ``doc_b`` or ``second``, and may have
    ``query`` and ``source``.

    `keep` selects records; `group` returns the group of a record, see `TextPair`; `second` has the possible field names
    of the second text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.jsonl"
    ...     _ = path.write_text('{"id": "1", "query": "cats", "doc_a": "A cat.", "doc_b": "A katt."}\n')
    ...     [pair.first for pair in read_pairs(path)]
    ['A cat.']
    """
    for line, record in read_json_lines(path):
        if keep(record):
            yield TextPair(
                pair_id=string_of(record, ("id",), path, line),
                first=string_of(record, FIRST, path, line),
                second=string_of(record, second, path, line),
                query=None if record.get("query") is None else string_of(record, ("query",), path, line),
                group=group(record),
                facts={name: record[name] for name in _FACTS if name in record},
            )


def by_source(*names: str) -> Callable[[Record], str]:
    """Return a function that groups records by fields of their source; records without them have no group.

    Examples
    --------
    >>> by_source("split", "line")({"source": {"split": "dev", "line": 7, "ref": 0}})
    'dev-7'
    """

    def group(record: Record) -> str:
        source = record.get("source")
        if not isinstance(source, Mapping) or not all(name in source for name in names):
            return ""
        return "-".join(str(source[name]) for name in names)

    return group


def string_of(record: Record, names: Sequence[str], path: Path, line: int) -> str:
    """Return the first of these fields in a record, which is a string; an identifier is not empty."""
    name = next((name for name in names if name in record), None)
    value = None if name is None else record[name]
    if not isinstance(value, str) or (name == "id" and not value):
        raise MalformedRecordError.at(
            path,
            line,
            expected=f"a string {' or '.join(map(repr, names))}",
            seen=f"fields {', '.join(record)}" if name is None else f"{name}: {value!r}",
        )
    return value


def strings_of(record: Record, names: Sequence[str], path: Path, line: int) -> list[str]:
    """Return the values of all these fields; errors as in `string_of`."""
    return [string_of(record, (name,), path, line) for name in names]


def is_list(value: object, item_type: type[_Item]) -> TypeGuard[list[_Item]]:
    """Return whether a value is a list of items of one type."""
    return isinstance(value, list) and all(isinstance(item, item_type) for item in value)


def read_table(
    path: Path, columns: Sequence[str], *, tabs: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """Read a table of comma-separated values, which can be in quotes, or of tab-separated values without quotes.

    The first row has the column names; further columns are allowed. Yield the line number of the end of each row, from
    1, and its values by column.
    """
    text = read_bytes(path, most=MAX_FILE).decode("utf-8-sig", "replace")
    options: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if tabs else {}
    reader = csv.DictReader(io.StringIO(text, newline=""), **options)
    try:
        for record in reader:
            if any(record.get(name) is None for name in columns):
                raise MalformedRecordError.at(
                    path,
                    reader.line_num,
                    expected=f"columns {', '.join(columns)}",
                    seen=", ".join(str(name) for name, value in record.items() if value is not None),
                )
            yield reader.line_num, record
    except csv.Error as error:
        raise MalformedRecordError.at(
            path, reader.reader.line_num, expected="values between delimiters", seen=str(error)
        ) from error


def parallel_lines(paths: Sequence[Path]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield line n of each file, with n from 0. Lines are stripped; empty lines count."""
    files = [[line.strip() for _, line in read_raw_lines(path)] for path in paths]
    if len(set(map(len, files))) > 1:
        raise DataError(
            "parallel files have different numbers of lines",
            facts=[(path.name, f"{len(lines):,} lines") for path, lines in zip(paths, files, strict=True)],
            fixes=[f"fetch the files in {paths[0].parent} again"],
        )
    yield from enumerate(zip(*files, strict=True))


def digest_of(*texts: str) -> str:
    """Return the first 12 hexadecimal digits of a hash of texts, as an identifier for data without one."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:12]
