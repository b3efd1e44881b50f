"""Columns of a line, headers of columns, and identifiers that fit into columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from termwise.collection.lines import read_lines
from termwise.display.safe_text import lone_surrogate
from termwise.errors import MalformedRecordError, ParameterError
from termwise.fixes import Fix


def split(line: str, widths: Iterable[int]) -> list[str]:
    r"""Split a line without its end into columns, if possible into one of the expected numbers of columns, `widths`.

    A line with tabs is split at tabs if that gives an expected number of columns, so that identifiers can have
    spaces. Any other line is split at runs of ASCII white space, as in trec_eval.

    Examples
    --------
    >>> split("q1 Q0 d1 1 2.5 bm25", [6])
    ['q1', 'Q0', 'd1', '1', '2.5', 'bm25']
    >>> split("q1\ta document\t1", [3])
    ['q1', 'a document', '1']
    """
    if "\t" in line:
        columns = line.split("\t")
        if len(columns) in widths and all(columns):
            return columns
    if line.isascii():
        return line.split()
    return [column.decode() for column in line.encode().split()]


def read_columns(path: Path, formats: Mapping[int, str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each line of a file, with line numbers; all lines have the format of the first one.

    `formats` are descriptions of the columns, for errors, by number of columns.
    """
    width = 0
    for number, line in read_lines(path):
        columns = split(line, [width] if width else formats)
        width = width or len(columns)
        if len(columns) != width or width not in formats:
            described = {width: formats[width]} if width in formats else formats
            expected = " -- or -- ".join(f"{count} columns: {names}" for count, names in described.items())
            raise MalformedRecordError.at(path, number, expected=expected, seen=line)
        yield number, columns


def names_columns(line: str, *, identifiers: Collection[str], texts: Collection[str]) -> bool:
    r"""Return whether a first line of tab-separated columns is a header.

    A header names an identifier in its first column and a text in a later column, in upper or lower case; the given
    names are in lower case.

    Examples
    --------
    >>> names_columns("ID\ttext", identifiers={"id"}, texts={"text"})
    True
    """
    first, *others = (column.strip().lower() for column in line.split("\t"))
    return first in identifiers and any(name in texts for name in others)


def unnamed_column(names: Sequence[str], identifiers: Collection[str]) -> list[str]:
    """Return the fix for a header whose first name is empty: pandas writes the index of a table there.

    Examples
    --------
    >>> unnamed_column(["", "text"], {"id"})
    ["name the first column, if it has the identifiers; in pandas: df.to_csv(FILE, index_label='id')"]
    """
    if names[0] or not any(names):
        return []
    if any(name in identifiers for name in names):
        return ["leave the first column out; in pandas: df.to_csv(FILE, index=False)"]
    return ["name the first column, if it has the identifiers; in pandas: df.to_csv(FILE, index_label='id')"]


def is_whole(text: str) -> bool:
    """Return whether a text is a whole number in ASCII digits, with or without a sign."""
    return re.fullmatch("[+-]?[0-9]+", text) is not None


def check_writable(kind: str, value: str, *, tabs: bool) -> None:
    """Raise `ParameterError` for an identifier that cannot be read back from columns, of tabs or of spaces."""
    splits = any(character in "\t\n\r" for character in value) if tabs else value.split() != [value]
    if value and not splits and not value.startswith("\ufeff") and not lone_surrogate(value):
        return
    white = "tabs and line ends" if tabs else "white space"
    fixes: tuple[str | Fix, ...] = ()
    if kind == "run name":
        fixes = ("choose a name without spaces for the run, such as fused",)
    elif not tabs:
        fixes = (
            Fix.use("use {}: termwise reads such files, but trec_eval does not", separator="tab"),
            "give the documents and queries identifiers without spaces",
        )
    raise ParameterError(
        f"a {kind} cannot be written to a file of columns",
        facts=[
            (kind, ascii(value)),
            ("expected", f"text without {white} and without a byte order mark at its start"),
        ],
        fixes=fixes,
    )
