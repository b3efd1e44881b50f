"""Files of pairs: one JSON object a line, and what data sets have beside that."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from termwise.collection import read_json_lines
from termwise.collection.lines import opened
from termwise.errors import DataError, MalformedRecordError
from termwise.probes.sources.transfer.pair import Pair

FIRST, SECOND = ("doc_a", "first"), ("doc_b", "second")
"""What the two texts may be called; the first name that is there counts."""

_FACTS = ("source", "type", "answer", "substitute", "answer_type")

Record = Mapping[str, Any]


def read_pairs(
    path: Path,
    *,
    second: Sequence[str] = SECOND,
    keep: Callable[[Record], bool] = lambda record: True,
    group: Callable[[Record], str] = lambda record: "",
) -> Iterator[Pair]:
    r"""Read pairs, one JSON object a line, plain or compressed.

    A line has ``id``, the text with the named quality as ``doc_a`` or ``first``, the other one as ``doc_b`` or
    ``second``, and may have ``query`` and ``source``.

    Parameters
    ----------
    path : Path
    second : sequence of str, optional
        Other names for the second text.
    keep : callable, optional
        Tells of a record whether it is a pair.
    group : callable, optional
        Tells of a record which others share a text with it, see `Pair`.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        If a line has no identifier or text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.jsonl"
    ...     _ = path.write_text('{"id": "1", "query": "cats", "doc_a": "A cat.", "doc_b": "A katt."}\n')
    ...     [pair.first for pair in read_pairs(path)]
    ['A cat.']
    """
    for number, record in read_json_lines(path):
        if not keep(record):
            continue
        query = record.get("query")
        yield Pair(
            pair_id=string_of(record, ("id",), path, number),
            first=string_of(record, FIRST, path, number),
            second=string_of(record, second, path, number),
            query=None if query is None else string_of(record, ("query",), path, number),
            group=group(record),
            facts={name: record[name] for name in _FACTS if name in record},
        )


def by_source(*names: str) -> Callable[[Record], str]:
    """Return what groups records by these fields of their source; records without them are in no group.

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


def string_of(record: Record, names: Sequence[str], path: Path, number: int) -> str:
    """Return the first of these fields that a record has.

    Raises
    ------
    MalformedRecordError
        If it has none, or one that is no string; identifiers may not be empty.
    """
    name = next((name for name in names if name in record), None)
    value = None if name is None else record[name]
    if not isinstance(value, str) or (name == "id" and not value):
        raise MalformedRecordError.at(
            path,
            number,
            expected=f"a string {' or '.join(map(repr, names))}",
            seen=f"fields {', '.join(record)}" if name is None else f"{name}: {value!r}",
        )
    return value


def read_table(
    path: Path, columns: Sequence[str], *, delimiter: str = ",", quoted: bool = True
) -> Iterator[tuple[int, dict[str, str]]]:
    """Read a table with a row of names.

    Parameters
    ----------
    path : Path
        Plain or compressed.
    columns : sequence of str
        Names that each row has a value for; others may be there.
    delimiter : str, optional
        What stands between values.
    quoted : bool, optional
        Whether quotes around a value are no part of it.

    Yields
    ------
    tuple of (int, dict)
        The line that a row ends in, from 1, and its values by name.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        If a row lacks one of the columns, or is none.
    """
    with opened(path) as stream:
        text = stream.read().decode("utf-8-sig", "replace")
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting)
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
    """Read files whose lines belong together; empty lines count, and lines come without white space around them.

    Yields
    ------
    tuple of (int, tuple of str)
        Line number from 0, and that line of each file.

    Raises
    ------
    DataError
        If the files have different numbers of lines.
    MalformedRecordError
        If one is not UTF-8.
    """
    files = [_lines(path) for path in paths]
    counts = [len(lines) for lines in files]
    if len(set(counts)) > 1:
        raise DataError(
            "files whose lines belong together differ in length",
            facts=[(path.name, f"{count:,} lines") for path, count in zip(paths, counts, strict=True)],
            fixes=[f"fetch the files in {paths[0].parent} again"],
        )
    yield from enumerate(zip(*files, strict=True))


def _lines(path: Path) -> list[str]:
    with opened(path) as stream:
        raw = stream.read().removeprefix(b"\xef\xbb\xbf")
    lines = raw.split(b"\n")
    if not lines[-1]:
        lines.pop()
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(line.decode("utf-8").strip())
        except UnicodeDecodeError as error:
            raise MalformedRecordError.at(
                path, number, expected="UTF-8", seen=repr(line[max(0, error.start - 20) : error.start + 20])
            ) from error
    return found


def digest_of(*texts: str) -> str:
    """Return twelve digits that stand for texts, for data that have no identifiers of their own."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:12]
