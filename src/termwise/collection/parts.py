"""Parts of a collection that several processes read: files of a folder, and lines or rows of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from termwise.attributes import Schema
from termwise.collection.field_roles import FieldTally, choices, first_records, undecided
from termwise.collection.fields import FieldChoice
from termwise.collection.file_collections import JsonLinesCollection
from termwise.collection.lines import GZIP_MAGIC, FilePart, opened, refuse_pipe
from termwise.collection.parquet import ParquetCollection
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.records import Document
from termwise.storage.safe_read import is_folder

FILE_SUFFIXES = (".jsonl", ".ndjson", ".parquet")
"""Endings of the files of a `FolderCollection`, the first two also with ``.gz``."""

PART_BYTES = 4 << 20
"""Bytes of a part: about 10,000 passages of 60 words, 6 minutes of a network on one core, 10 seconds on a GPU."""

PART_DOCUMENTS = 1 << 14
"""Largest number of documents of a part."""

CollectionPart = JsonLinesCollection | ParquetCollection
"""A file of documents, or a part of one."""


@dataclass(frozen=True)
class FolderCollection:
    """Folder of JSONL and Parquet files, which are read in the order of their names.

    Attributes
    ----------
    name : str
        Name of the collection.
    files : sequence of JsonLinesCollection or ParquetCollection
    """

    name: str
    files: Sequence[CollectionPart]

    @property
    def length(self) -> int | None:
        """Number of documents; None unless all files know theirs."""
        lengths = [file.length for file in self.files]
        return None if None in lengths else sum(length or 0 for length in lengths)

    @property
    def tally(self) -> FieldTally | None:
        """Roles of the fields, once they are decided, with the counts of the first file."""
        return self.files[0].tally if self.files else None

    def decided(self) -> FolderCollection:
        """Return the folder with the roles that the first records of all files decide; errors as `documents`."""
        if not self.files or not undecided(self.files[0]):
            return self
        first, _ = first_records(chain.from_iterable(file.records() for file in self.files))
        roles = self.files[0].roles(first)
        return FolderCollection(
            self.name, [replace(file, **choices(roles, file.attributes)) for file in self.files]
        )

    def for_index(self, fields: FieldChoice, schema: Schema) -> FolderCollection:
        """Return the decided folder for an index with these texts and attributes, and new attributes."""
        return FolderCollection(self.name, [file.for_index(fields, schema) for file in self.files])

    def documents(self) -> Iterator[Document]:
        """Yield the documents of all files; errors are those of the files."""
        return chain.from_iterable(file.documents() for file in self.decided().files)


def files_of_folder(folder: Path) -> list[Path]:
    """Return the JSONL and Parquet files of a folder, by name; none if there is no such folder."""
    if not is_folder(folder):
        return []
    return sorted(
        entry
        for entry in folder.iterdir()
        if entry.name.lower().removesuffix(".gz").endswith(FILE_SUFFIXES) and entry.name[0] not in "._"
    )


def collection_parts(
    collection: object, *, size: int = PART_BYTES, documents: int = PART_DOCUMENTS
) -> list[CollectionPart]:
    r"""Cut a collection in files into parts, in the order of its documents.

    The parts depend only on the files. A part is a sequence of lines or rows; it ends with the line or row with which
    it has `size` bytes, or `documents` documents. A compressed JSONL file is one part.

    Parameters
    ----------
    collection : Collection
        JSONL, Parquet, or a folder of such files.
    size, documents : int, optional
        Largest number of bytes and of documents of a part.

    Raises
    ------
    ParameterError
        If the collection is not in such files.
    MissingFileError, MalformedRecordError
        If a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "docs.jsonl"
    ...     _ = path.write_text('{"_id": "a", "text": "one"}\n{"_id": "b", "text": "two"}\n')
    ...     parts = collection_parts(JsonLinesCollection("docs", path), documents=1)
    ...     [[document.doc_id for document in part.documents()] for part in parts]
    [['a'], ['b']]
    """
    if isinstance(collection, FolderCollection):
        return [
            part
            for file in collection.decided().files
            for part in collection_parts(file, size=size, documents=documents)
        ]
    if isinstance(collection, JsonLinesCollection):
        refuse_pipe(collection.path)
        return _cut_lines(collection.decided(), size, documents)
    if isinstance(collection, ParquetCollection):
        return _cut_rows(collection.decided(), size, documents)
    raise ParameterError(
        "only a collection in JSONL or Parquet files can be read by several processes",
        facts=[("given", getattr(collection, "name", type(collection).__name__))],
        fixes=["write the documents to a JSONL or Parquet file, or to a folder of such files"],
    )


def _cut_lines(collection: JsonLinesCollection, size: int, documents: int) -> list[CollectionPart]:
    parts: list[CollectionPart] = []
    with opened(collection.path) as stream:
        with collection.path.open("rb") as raw:
            if raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
                return [collection]
        start = stop = before = lines = 0
        for line in stream:
            stop, lines = stop + len(line), lines + 1
            if stop - start >= size or lines - before >= documents:
                parts.append(replace(collection, part=FilePart(start, stop, before)))
                start, before = stop, lines
    return [*parts, replace(collection, part=FilePart(start, stop, before))] if stop > start else parts


def _cut_rows(collection: ParquetCollection, size: int, documents: int) -> list[CollectionPart]:
    parts: list[CollectionPart] = []
    first = 0
    for rows, length in collection.row_groups():
        step = max(1, min(documents, rows * size // max(length, 1)))
        for start in range(first, first + rows, step):
            part = FilePart(start, min(start + step, first + rows), start)
            parts.append(replace(collection, part=part))
        first += rows
    return parts
