"""Collections in tables whose first line names the columns: CSV, and tab-separated files with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from termwise.collection.fields import BODY_FIELDS, ID_FIELDS, AttributeChoice, FieldChoice, RecordReader
from termwise.collection.lines import MAX_LINE, read_lines, read_raw_lines
from termwise.errors import MalformedRecordError
from termwise.records import Document

TABLE_IDS = (*ID_FIELDS, "pid")
TABLE_BODIES = (*BODY_FIELDS, "passage")

_KNOWN = frozenset(("title", *TABLE_IDS, *TABLE_BODIES))


@dataclass(frozen=True)
class TableCollection:
    r"""Table with the names of its columns in the first line; every value is text.

    Columns of commas may be quoted, as RFC 4180 describes; in columns of tabs, quotes have no meaning. The names of
    identifier, title and text may be in upper case.

    Attributes
    ----------
    name : str
        Name of the collection.
    path : Path
        File, plain or gzip-compressed.
    delimiter : {",", "\t"}
    fields : FieldChoice
        Fields of the text; None for title and body (see `termwise.collection.fields`).
    attributes : AttributeChoice
        Columns to keep as attributes; an empty value is missing.
    length : None
        Unknown without reading the file.
    """

    name: str
    path: Path
    delimiter: Literal[",", "\t"]
    fields: FieldChoice = None
    attributes: AttributeChoice = None
    length: int | None = None

    def documents(self) -> Iterator[Document]:
        """Yield the documents in the order of the file.

        Raises
        ------
        MalformedRecordError
            If the first line does not name an identifier, or at the first invalid record; the error names its line.
        UnknownNameError
            After the last record, if there is no selected column.
        """
        reader = RecordReader(
            self.path,
            id_fields=TABLE_IDS,
            body_fields=TABLE_BODIES,
            fields=self.fields,
            attributes=self.attributes,
            untyped=True,
        )
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
                yield reader.document(number, dict(zip(names, cells, strict=True)))
        reader.finish()

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row, and the number of its first line."""
        if self.delimiter == "\t":
            for number, line in read_lines(self.path):
                yield number, line.split("\t")
            return
        if csv.field_size_limit() < MAX_LINE:
            csv.field_size_limit(MAX_LINE)  # a setting of the process; there is none for one reader
        rows = csv.reader((line for _, line in read_raw_lines(self.path)), strict=True)
        number = 1
        try:
            for cells in rows:
                if any(cells):
                    yield number, cells
                number = rows.line_num + 1
        except csv.Error as error:
            raise MalformedRecordError.at(
                self.path, number, expected="comma-separated values", seen=str(error)
            ) from error

    def _header(self, number: int, cells: list[str]) -> list[str]:
        names = [name.strip() for name in cells]
        for place, name in enumerate(names):
            if name not in _KNOWN and name.lower() in _KNOWN and name.lower() not in names:
                names[place] = name.lower()
        expected = ""
        if not any(name in TABLE_IDS for name in names):
            expected = f"names of columns, one of them an identifier: {', '.join(TABLE_IDS)}"
        elif "" in names or len(set(names)) < len(names):
            expected = "a different name for each column"
        if expected:
            raise MalformedRecordError.at(
                self.path,
                number,
                expected=expected,
                seen=self.delimiter.join(cells),
                message="the first line does not name the columns",
                fixes=["separate the columns with commas"] if len(cells) == 1 and ";" in cells[0] else (),
            )
        return names
