"""Collections in tables whose first line names the columns: CSV, and tab-separated files with a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Literal

from termwise.collection.columns import unnamed_column
from termwise.collection.fields import name_identifier
from termwise.collection.file_collections import COLUMN_BODIES, COLUMN_IDS, COLUMN_NAMES, RecordFile
from termwise.collection.lines import MAX_LINE, read_lines, read_raw_lines
from termwise.display.safe_text import shown
from termwise.errors import MalformedRecordError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
"""Separators of the columns of CSV files, and what they are called."""

_QUOTED = re.compile('"[^"]*"')


def _separator(line: str) -> str:
    r"""Return the separator that a first line has most often outside of quotes; in a tie, the first one.

    Examples
    --------
    >>> [_separator(line) for line in ("id,title", 'id;"a,b,c";price', "id\ttitle", "id")]
    [',', ';', '\t', ',']
    """
    bare = _QUOTED.sub("", line)
    return max(SEPARATORS, key=bare.count)


@dataclass(frozen=True)
class TableCollection(RecordFile):
    r"""Table with the names of its columns in the first line, plain or gzip-compressed; every value is text.

    Columns may be quoted, as RFC 4180 describes; in columns of a known delimiter, tabs, quotes have no meaning. The
    names of identifier, title and text may be in upper case. An empty value of an attribute is missing.

    Attributes
    ----------
    delimiter : "\t" or None
        None for commas, semicolons or tabs: the one that the first line has most often outside of quotes.
    """

    delimiter: Literal["\t"] | None = None

    id_fields = COLUMN_IDS
    body_fields = COLUMN_BODIES
    untyped = True

    def separator_note(self) -> str | None:
        """Return the note that the columns have another separator than commas; None for a pipe."""
        if self.delimiter is not None or not self.repeatable:
            return None
        _, line = next(read_raw_lines(self.path), (0, ""))
        separator = _separator(line)
        return (
            None
            if separator == ","
            else f"{self.path.name}: the columns are separated by {SEPARATORS[separator]}"
        )

    def _records(self) -> Iterator[tuple[int, Mapping[str, str]]]:
        names: list[str] | None = None
        for number, cells in self._rows():
            if names is None:
                names = self._header(number, cells)
            elif len(cells) != len(names):
                raise MalformedRecordError.at(
                    self.path,
                    number,
                    expected=f"{len(names)} columns, as in the first line",
                    seen=f"{len(cells)} columns: {', '.join(cells)}",
                )
            else:
                yield number, dict(zip(names, cells, strict=True))

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row, and the number of its first line."""
        if self.delimiter == "\t":
            for number, line in read_lines(self.path):
                yield number, line.split("\t")
            return
        if csv.field_size_limit() < MAX_LINE:
            csv.field_size_limit(MAX_LINE)  # a setting of the process; there is none for one reader
        begins = True
        raw = (line for _, line in read_raw_lines(self.path))
        first = next(raw, "")

        def lines() -> Iterator[str]:
            nonlocal begins
            for line in chain([first] if first else [], raw):
                text, begins = line.lstrip("\ufeff") if begins else line, False
                yield text

        separator = _separator(first)
        rows = csv.reader(lines(), strict=True, delimiter=separator)
        number = 1
        try:
            for cells in rows:
                if any(cells):
                    yield number, cells
                number, begins = rows.line_num + 1, True
        except csv.Error as error:
            raise MalformedRecordError.at(
                self.path, number, expected=f"columns separated by {SEPARATORS[separator]}", seen=str(error)
            ) from error

    def _header(self, number: int, cells: list[str]) -> list[str]:
        names = [name.strip() for name in cells]
        for place, name in enumerate(names):
            if name not in COLUMN_NAMES and name.lower() in COLUMN_NAMES and name.lower() not in names:
                names[place] = name.lower()
        expected = ""
        fixes: list[str | Fix] = []
        if not any(name in self.id_names for name in names):
            expected = f"names of columns, one of them an identifier: {', '.join(self.id_names)}"
            fixes = [name_identifier()]
        elif "" in names:
            expected = "a name for each column"
        elif len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            expected = f"a different name for each column, and {shown(twice)} is given twice"
        if not expected:
            return names
        raise MalformedRecordError.at(
            self.path,
            number,
            expected=expected,
            seen=", ".join(cells),
            message="the first line does not name the columns",
            fixes=unnamed_column(names, self.id_names) or fixes,
        )
