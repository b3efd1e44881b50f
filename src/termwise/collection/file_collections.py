"""Collections in files of JSON records or of tab-separated columns without names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from termwise.collection.columns import names_columns, unnamed_column
from termwise.collection.fields import BODY_FIELDS, ID_FIELDS
from termwise.collection.json_array import read_json_array
from termwise.collection.lines import read_json_lines, read_lines
from termwise.collection.record_files import RecordFile
from termwise.errors import MalformedRecordError, TermwiseError
from termwise.records import Document
from termwise.storage.safe_read import is_file

HEADER_IDS = frozenset((*ID_FIELDS, "pid"))
"""Names of the first column in a header of tab-separated documents."""

HEADER_TEXTS = frozenset(("title", *BODY_FIELDS, "passage"))
"""Names of text columns in such a header; a header has at least one of them."""


@dataclass(frozen=True)
class JsonLinesCollection(RecordFile):
    """File with one JSON object per line, plain or gzip-compressed, such as the ``corpus.jsonl`` of a BEIR folder."""

    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        return read_json_lines(self.path)


@dataclass(frozen=True)
class JsonArrayCollection(RecordFile):
    """File with one JSON array of objects, ``[{...}, {...}]``, plain or gzip-compressed."""

    unit = "record"

    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        return read_json_array(self.path)


class Header(NamedTuple):
    """First line with names of columns in a file of tab-separated documents.

    Attributes
    ----------
    line : str
        Line without its end.
    left_out : bool
        False if the identifier is not the first column; the line is then a document.
    """

    line: str
    left_out: bool


@dataclass(frozen=True)
class TabSeparatedCollection:
    """File with an identifier, a tab and the text on each line; further columns are further fields of the text.

    There is no quoting. A first line with names of columns (one of `HEADER_IDS`, then one of `HEADER_TEXTS`) is a
    header and is skipped; every other line is a document.

    Attributes
    ----------
    name : str
        Name of the collection.
    path : Path
        File, plain or gzip-compressed.
    length : None
        Unknown without reading the file.
    on_header : callable of Header to None, or None
        Called during reading, if the first line names columns.
    """

    name: str
    path: Path
    length: int | None = None
    on_header: Callable[[Header], None] | None = None

    def header(self) -> Header | None:
        """Return the first line if it names columns."""
        return next((_header(line) for _, line in read_lines(self.path)), None)

    def documents(self) -> Iterator[Document]:
        """Yield the documents in the order of the file.

        Raises
        ------
        MalformedRecordError
            At the first line without a tab or an identifier.
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
                    self.path,
                    number,
                    expected="an identifier, a tab and a text",
                    seen=line,
                    fixes=unnamed_column([doc_id, *columns], HEADER_IDS) if number == 1 else (),
                )
            yield Document.of_texts(doc_id, columns)


def count_documents(collection: JsonLinesCollection | TabSeparatedCollection) -> int | None:
    """Count the lines of a file that are documents.

    This reads the file once, at some hundred megabytes per second, which is nothing beside a network that reads all
    documents. A count from the size of the file and its first lines would be quicker, and often wrong.

    Returns
    -------
    int or None
        None for a pipe, which can be read only once, and for a file with an error, which its reader will report.
    """
    if not is_file(collection.path):
        return None
    try:
        lines = sum(1 for _ in read_lines(collection.path))
        header = collection.header() if isinstance(collection, TabSeparatedCollection) else None
    except TermwiseError:
        return None
    return lines - (header is not None and header.left_out)


def _header(line: str) -> Header | None:
    if names_columns(line, identifiers=HEADER_IDS, texts=HEADER_TEXTS):
        return Header(line, left_out=True)
    name, *others = (column.strip().lower() for column in line.split("\t"))
    names = {*others, name} <= HEADER_IDS | HEADER_TEXTS
    misplaced = names and name not in HEADER_IDS and not HEADER_IDS.isdisjoint(others)
    return Header(line, left_out=False) if misplaced else None
