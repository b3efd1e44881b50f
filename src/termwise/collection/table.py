"""Collections in tables whose first line names the columns: CSV, and tab-separated files with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from typing import Literal

from termwise.collection.columns import unnamed_column
from termwise.collection.file_collections import COLUMN_BODIES, COLUMN_IDS, COLUMN_NAMES, RecordFile
from termwise.collection.lines import MAX_LINE, read_lines, read_raw_lines
from termwise.display.safe_text import shown
from termwise.errors import MalformedRecordError
from termwise.fast_dataclass import dataclass


@dataclass(frozen=True)
class TableCollection(RecordFile):
    r"""Table with the names of its columns in the first line, plain or gzip-compressed; every value is text.

    Columns of commas may be quoted, as RFC 4180 describes; in columns of tabs, quotes have no meaning. The names of
    identifier, title and text may be in upper case. An empty value of an attribute is missing.

    Attributes
    ----------
    delimiter : {",", "\t"}
    """

    delimiter: Literal[",", "\t"] = ","

    id_fields = COLUMN_IDS
    body_fields = COLUMN_BODIES
    untyped = True

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
                    seen=f"{len(cells)} columns: {self.delimiter.join(cells)}",
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

        def lines() -> Iterator[str]:
            nonlocal begins
            for _, line in read_raw_lines(self.path):
                text, begins = line.lstrip("\ufeff") if begins else line, False
                yield text

        rows = csv.reader(lines(), strict=True)
        number = 1
        try:
            for cells in rows:
                if any(cells):
                    yield number, cells
                number, begins = rows.line_num + 1, True
        except csv.Error as error:
            raise MalformedRecordError.at(
                self.path, number, expected="comma-separated values", seen=str(error)
            ) from error

    def _header(self, number: int, cells: list[str]) -> list[str]:
        names = [name.strip() for name in cells]
        for place, name in enumerate(names):
            if name not in COLUMN_NAMES and name.lower() in COLUMN_NAMES and name.lower() not in names:
                names[place] = name.lower()
        expected = ""
        if not any(name in COLUMN_IDS for name in names):
            expected = f"names of columns, one of them an identifier: {', '.join(COLUMN_IDS)}"
        elif "" in names:
            expected = "a name for each column"
        elif len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            expected = f"a different name for each column, and {shown(twice)} is given twice"
        if not expected:
            return names
        if len(cells) == 1 and ";" in cells[0]:
            fixes = ["separate the columns with commas"]
        else:
            fixes = unnamed_column(names, COLUMN_IDS)
        raise MalformedRecordError.at(
            self.path,
            number,
            expected=expected,
            seen=self.delimiter.join(cells),
            message="the first line does not name the columns",
            fixes=fixes,
        )
