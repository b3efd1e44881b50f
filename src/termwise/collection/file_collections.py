"""Collections in files: records, as JSON or other formats, and tab-separated columns without names."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from termwise.attributes import Schema
from termwise.collection.columns import names_columns, unnamed_column
from termwise.collection.field_roles import (
    FieldRoles,
    FieldTally,
    choices,
    decide_roles,
    first_records,
    for_index,
    is_code_name,
    undecided,
)
from termwise.collection.fields import BODY_FIELDS, ID_FIELDS, AttributeChoice, FieldChoice, RecordReader
from termwise.collection.json_array import read_json_array
from termwise.collection.lines import FilePart, read_json_lines, read_lines
from termwise.errors import MalformedRecordError, TermwiseError
from termwise.fast_dataclass import dataclass
from termwise.records import Document
from termwise.storage.safe_read import is_file

COLUMN_IDS = (*ID_FIELDS, "pid")
"""Names of the identifier in a header of columns."""

COLUMN_BODIES = (*BODY_FIELDS, "passage")
"""Names of the main text in a header of columns."""

COLUMN_NAMES = frozenset(("title", *COLUMN_IDS, *COLUMN_BODIES))

_HEADER_LINES = 20
_NAME = re.compile(r"[^\W\d_].{1,39}")
_NUMBER = re.compile(r"\W*[0-9][0-9.,' ]*\W*")


@dataclass(frozen=True)
class RecordFile(ABC):
    """File of records with named fields, one for each document.

    Attributes
    ----------
    name : str
        Name of the collection.
    path : Path
        The file.
    fields : FieldChoice
        Fields of the text; None for title and body (see `termwise.collection.fields`).
    attributes : AttributeChoice
        Fields to keep as attributes.
    tally : FieldTally or None
        Roles of the fields that are not named, once they are decided, and counts of what is not kept.
    begun : iterable or None
        Numbered records of a pipe whose first records have decided.
    id_field : str or None
        Field with the identifier; None for the first one of known names that a record has.
    """

    name: str
    path: Path
    fields: FieldChoice = None
    attributes: AttributeChoice = None
    _: KW_ONLY
    tally: FieldTally | None = None
    begun: Iterable[tuple[int, Mapping[str, Any]]] | None = None
    id_field: str | None = None

    id_fields: ClassVar[Sequence[str]] = ID_FIELDS
    body_fields: ClassVar[Sequence[str]] = BODY_FIELDS
    untyped: ClassVar[bool] = False
    """Whether all values are text."""

    unit: ClassVar[str] = "line"
    """What is counted in the file, for errors."""

    @property
    def length(self) -> int | None:
        """Number of documents; None if it is unknown without reading the file."""
        return None

    @property
    def repeatable(self) -> bool:
        """Whether the records can be read more than once, unlike those of a pipe."""
        return is_file(self.path)

    @property
    def id_names(self) -> Sequence[str]:
        """Names of the identifier; the first one that a record has is used."""
        return self.id_fields if self.id_field is None else (self.id_field,)

    def decided(self) -> Self:
        """Return the collection with the roles of fields that are not named; errors as `documents`."""
        if not undecided(self):
            return self
        first, numbered = first_records(self.records())
        begun = None if self.repeatable else numbered
        return replace(self, **choices(self.roles(first), self.attributes), begun=begun)

    def for_index(self, fields: FieldChoice, schema: Schema) -> Self:
        """Return the decided collection for an index with these texts and attributes, and new attributes."""
        assert self.tally is not None, "a decided collection"
        return replace(self, **for_index(self.tally.roles, fields, schema))

    def in_memory(self) -> Self:
        """Return the collection, with its records in memory if they come from a pipe, which can be read only once."""
        if self.repeatable:
            return self
        return replace(self, begun=list(self._records() if self.begun is None else self.begun))

    def roles(self, first: Sequence[Mapping[str, Any]]) -> FieldRoles:
        """Return the roles of fields by the first records."""
        return decide_roles(
            first,
            id_fields=self.id_names,
            body_fields=self.body_fields,
            fields=self.fields,
            attributes=self.attributes,
            untyped=self.untyped,
        )

    def records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the number of each record, from 1, and all of its fields."""
        return replace(self, attributes="all")._records()

    def documents(self) -> Iterator[Document]:
        """Yield the documents in the order of the file.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        MalformedRecordError
            At the first invalid record; the error names its line or number.
        UnknownNameError
            After the last record, if no record has a selected field.
        """
        if undecided(self):
            yield from self.decided().documents()
            return
        reader = RecordReader(
            self.path,
            id_fields=self.id_names,
            body_fields=self.body_fields,
            fields=self.fields,
            attributes=self.attributes,
            untyped=self.untyped,
            unit=self.unit,
            tally=self.tally,
        )
        if self.part is None:
            yield from reader.documents(self._records() if self.begun is None else self.begun)
        else:  # another part may have the selected fields that this one lacks
            for number, record in self._records():
                yield reader.document(number, record)

    @property
    def part(self) -> FilePart | None:
        """Part of the file to read; None for the whole file."""
        return None

    @abstractmethod
    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the number of each record, from 1, and its fields."""


@dataclass(frozen=True)
class JsonLinesCollection(RecordFile):
    """File with one JSON object per line, plain or gzip-compressed, such as the ``corpus.jsonl`` of a BEIR folder."""

    part: FilePart | None = None

    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        return read_json_lines(self.path, self.part)


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

    @property
    def names_others(self) -> bool:
        """Whether the line is a header that names columns besides identifier and text."""
        return self.left_out and not {name.strip().lower() for name in self.line.split("\t")} <= COLUMN_NAMES


@dataclass(frozen=True)
class TabSeparatedCollection:
    """File with an identifier, a tab and the text on each line; further columns are further fields of the text.

    There is no quoting. A first line with names of columns (one of `COLUMN_IDS`, then ``title`` or one of
    `COLUMN_BODIES`) is a header and is skipped; every other line is a document.

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
        for position, (number, line) in enumerate(read_lines(self.path)):
            if position == 0:
                header = _header(line)
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
                    fixes=unnamed_column([doc_id, *columns], COLUMN_IDS) if number == 1 else (),
                )
            yield Document.of_texts(doc_id, columns)


def lacks_identifier(path: Path) -> bool:
    """Return whether the first line of tab-separated columns names them, but none as an identifier.

    It has one of the names of texts and two others, or a name of codes, or a word above numbers.
    """
    lines = islice(read_lines(path), _HEADER_LINES)
    first, *others = [[cell.strip() for cell in line.split("\t")] for _, line in lines] or [[]]
    names = {name.lower() for name in first}
    if (
        len(first) < 2
        or len(names) < len(first)
        or not all(map(_NAME.fullmatch, first))
        or names & {*COLUMN_IDS}
    ):
        return False
    if any(map(is_code_name, first)) or (len(first) > 2 and names & COLUMN_NAMES):
        return True
    columns = zip(*(cells for cells in others if len(cells) == len(first)), strict=True)
    return any(all(map(_NUMBER.fullmatch, filter(None, cells))) and any(cells) for cells in columns)


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
    if names_columns(line, identifiers=COLUMN_IDS, texts=("title", *COLUMN_BODIES)):
        return Header(line, left_out=True)
    name, *others = (column.strip().lower() for column in line.split("\t"))
    names = {*others, name} <= COLUMN_NAMES
    misplaced = names and name not in COLUMN_IDS and not set(COLUMN_IDS).isdisjoint(others)
    return Header(line, left_out=False) if misplaced else None
