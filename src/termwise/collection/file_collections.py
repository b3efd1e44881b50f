"""Collections that are files: one record a line, as JSON or as tab-separated columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from termwise.collection.columns import names_columns
from termwise.collection.fields import BODY_FIELDS, ID_FIELDS, RecordReader, join
from termwise.collection.lines import read_json_lines, read_lines
from termwise.errors import MalformedRecordError
from termwise.records import Document

HEADER_IDS = frozenset((*ID_FIELDS, "pid"))
"""What the first column of a header is called, in a file of tab-separated documents."""

HEADER_TEXTS = frozenset(("title", *BODY_FIELDS, "passage"))
"""What at least one further column of such a header is called."""


@dataclass(frozen=True)
class JsonLinesCollection:
    """A file with one JSON object a line, such as the ``corpus.jsonl`` of a BEIR folder.

    Attributes
    ----------
    name : str
        What the collection is called.
    path : Path
        The file, plain or gzip-compressed.
    fields : tuple of str, or None
        The fields that make up the text; None for title and body (see `termwise.collection.fields`).
    length : None
        Not known without reading the file.
    """

    name: str
    path: Path
    fields: tuple[str, ...] | None = None
    length: int | None = None

    def documents(self) -> Iterator[Document]:
        """Yield the documents in the order of the file.

        Raises
        ------
        MalformedRecordError
            At the first record that cannot be read, with its line.
        UnknownNameError
            After the last record, if a chosen field is in none of them.
        """
        reader = RecordReader(self.path, id_fields=ID_FIELDS, body_fields=BODY_FIELDS, fields=self.fields)
        for number, record in read_json_lines(self.path):
            yield Document(*reader.read(number, record))
        reader.finish()


class Header(NamedTuple):
    """A first line that names columns, in a file of tab-separated documents.

    Attributes
    ----------
    line : str
        As it is written, without its line end.
    left_out : bool
        Whether it is left out. If not it is read as a document, because the identifier is not its first column.
    """

    line: str
    left_out: bool


@dataclass(frozen=True)
class TabSeparatedCollection:
    """A file with an identifier, a tab and the text on each line; further columns are joined to the text.

    There is no quoting: a tab always separates. A first line that names the columns (one of `HEADER_IDS`, and one of
    `HEADER_TEXTS` after it) is a header and left out; every other line is a document.

    Attributes
    ----------
    name : str
        What the collection is called.
    path : Path
        The file, plain or gzip-compressed.
    length : None
        Not known without reading the file.
    on_header : callable of Header to None, or None
        Called where the documents are read and the first line names columns.
    """

    name: str
    path: Path
    length: int | None = None
    on_header: Callable[[Header], None] | None = None

    def header(self) -> Header | None:
        """Return the first line where it names columns."""
        return next((_header(line) for _, line in read_lines(self.path)), None)

    def documents(self) -> Iterator[Document]:
        """Yield the documents in the order of the file.

        Raises
        ------
        MalformedRecordError
            At the first line without a tab or without an identifier.
        """
        first = True
        for number, line in read_lines(self.path):
            if first:
                first, header = False, _header(line)
                if header is not None and self.on_header is not None:
                    self.on_header(header)
                if header is not None and header.left_out:
                    continue
            doc_id, *columns = line.split("\t")
            if not columns or not doc_id:
                raise MalformedRecordError.at(
                    self.path, number, expected="an identifier, a tab and a text", seen=line
                )
            yield Document(doc_id, join(columns))


def _header(line: str) -> Header | None:
    if names_columns(line, identifiers=HEADER_IDS, texts=HEADER_TEXTS):
        return Header(line, left_out=True)
    name, *others = (column.strip().lower() for column in line.split("\t"))
    names = {*others, name} <= HEADER_IDS | HEADER_TEXTS
    misplaced = names and name not in HEADER_IDS and not HEADER_IDS.isdisjoint(others)
    return Header(line, left_out=False) if misplaced else None
