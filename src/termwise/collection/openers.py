"""Opens a collection by its name: a folder, a file, ``ir_datasets:ID`` or ``python:stdlib``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from termwise.attributes import Schema
from termwise.collection.datasets import PREFIX, DatasetCollection
from termwise.collection.fields import (
    AttributeChoice,
    FieldChoice,
    checked_attributes,
    checked_fields,
    checked_id_field,
)
from termwise.collection.file_collections import (
    JsonArrayCollection,
    JsonLinesCollection,
    TabSeparatedCollection,
    lacks_identifier,
)
from termwise.collection.lines import DECOMPRESSORS, decompression, first_character
from termwise.collection.markdown import SUFFIXES as MARKDOWN_SUFFIXES
from termwise.collection.markdown import MarkdownCollection, markdown_files
from termwise.collection.parquet import ParquetCollection
from termwise.collection.parts import CollectionPart, FolderCollection, files_of_folder
from termwise.collection.python_docs import PYTHON, python_folder
from termwise.collection.table import TableCollection
from termwise.errors import MissingFileError, ParameterError, TermwiseError, UnknownNameError
from termwise.fixes import Fix
from termwise.records import Document
from termwise.storage.safe_read import is_file, is_folder, path_exists
from termwise.validation import check_path

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
TAB_SUFFIXES = (".tsv", ".tab")

KINDS = (
    "a BEIR folder, a folder of .jsonl, .parquet or .md files, a .jsonl, .json, .csv or .tsv file (or .gz), "
    "a .parquet or .md file, ir_datasets:ID, or python:stdlib"
)

_BEIR_FILES = ("corpus.jsonl", "corpus.jsonl.gz", "queries.jsonl", "queries.jsonl.gz")
"""Names by which a folder is known to be in BEIR layout."""


@runtime_checkable
class Collection(Protocol):
    """Documents that can be read in sequence any number of times.

    A reader does not check that identifiers are distinct; the index writer does.
    """

    @property
    def name(self) -> str:
        """Name in manifests and tables."""

    @property
    def length(self) -> int | None:
        """Number of documents; None if it is unknown before all are read."""

    def documents(self) -> Iterator[Document]:
        """Yield the documents; each call starts at the first."""


def open_collection(
    spec: str | Path,
    *,
    fields: Sequence[str] | Mapping[str, int] | None = None,
    attributes: Literal["all", "inferred"] | Sequence[str] | Schema | None = None,
    id_field: str | None = None,
) -> Collection:
    r"""Open a collection for reading.

    The documents are not read yet; errors in a file are raised when its documents are read.

    Parameters
    ----------
    spec : str or Path
        One of

        - a BEIR folder: its ``corpus.jsonl`` or, if that is absent, ``corpus.jsonl.gz``;
        - another folder of JSONL files (``.jsonl``, ``.ndjson``, with or without ``.gz``) and Parquet files, which are
          read in the order of their names;
        - a folder of Markdown files (``.md``), also in folders inside, or one such file: each section is a document
          with the fields ``title`` and ``text``, whose identifier is the link to its heading,
          ``guide/install.md#from-source``;
        - a file with one JSON object per line (``.jsonl``, ``.ndjson``, ``.json``, with or without ``.gz``): the
          identifier is ``_id``, ``id``, ``doc_id``, ``docid`` or ``docno``, a string or a whole number;
        - a file with one JSON array of such objects (``.json``, with or without ``.gz``);
        - a file of columns between commas, semicolons or tabs, with their names in the first line (``.csv``, with or
          without ``.gz``); the first line decides about the separator;
        - a file with an identifier, a tab and the text on each line (``.tsv``, ``.tab``, with or without ``.gz``); a
          header line that names these columns is skipped. `fields` and `attributes` need that line;
        - a Parquet file (``.parquet``; needs the extra ``parquet``);
        - ``"ir_datasets:ID"`` (needs the extra ``datasets``);
        - ``"python:stdlib"``, the shipped documentation of Python's standard library.
    fields : sequence of str or mapping of str to int, optional
        Fields of the text, in this order. With weights, documents keep the text of each field, see `build_index`. By
        default ``title``, ``text``, ``contents``, ``content``, ``body``, ``document_text``, ``abstract``, and other
        fields whose values in the first 1,000 records have several words and mostly differ; for ir_datasets the default
        text of the dataset.
    attributes : "all", "inferred", sequence of str or Schema, optional
        Fields to keep as `Document.attributes`: all fields that are neither the identifier nor a part of the text,
        those of them that have short values in the first 1,000 records, the named fields, or those of a schema, whose
        values are checked and converted. By default none. A field of a nested object is named ``OBJECT.FIELD``. Values
        in CSV and TSV files are text, unless a schema converts them.
    id_field : str, optional
        Field with the identifier of each record, for files with another name than those above.

    Returns
    -------
    Collection
        With ``name``, ``length`` (None if unknown) and ``documents()``.

    Raises
    ------
    MissingFileError
        If there is no such file or folder, or the folder has no corpus.
    UnknownNameError
        If the ending of the file, or the name after a prefix, is unknown.
    ParameterError
        If `fields` is empty, a weight is not a whole number, or the collection has no named fields.
    MissingExtraError
        If ir_datasets or pyarrow is needed and not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "docs.tsv"
    ...     _ = path.write_text("d1\tmerge sorted lists\n")
    ...     list(open_collection(path).documents())
    [Document(doc_id='d1', text='merge sorted lists')]
    """
    chosen, kept = checked_fields(fields), checked_attributes(attributes)
    checked_id_field(id_field)
    if isinstance(spec, str) and spec.startswith(PREFIX):
        if kept != "inferred":
            _refuse_attributes(kept, spec)
        _refuse_id(id_field, spec)
        return DatasetCollection(spec, chosen)
    if isinstance(spec, str) and spec.startswith("python:"):
        if spec != PYTHON:
            raise UnknownNameError.of("collection", spec, [PYTHON])
        _refuse_id(id_field, spec)
        return JsonLinesCollection(PYTHON, python_folder() / "corpus.jsonl.gz", chosen, kept)
    check_path("the collection", spec)
    path = Path(spec)
    if is_folder(path):
        files = files_of_folder(path)
        if files and not any(is_file(path / name) for name in _BEIR_FILES):
            return FolderCollection(
                path.resolve().name, [_record_file(file, chosen, kept, id_field) for file in files]
            )
        if not any(is_file(path / name) for name in _BEIR_FILES) and markdown_files(path):
            _refuse_id(id_field, spec)
            return MarkdownCollection(path.resolve().name, path, chosen, kept)
        return JsonLinesCollection(
            path.resolve().name, folder_file(path, "corpus.jsonl"), chosen, kept, id_field=id_field
        )
    if not path_exists(path):
        raise MissingFileError(
            "there is no such collection",
            facts=[("given", spec), ("expected", KINDS)],
            fixes=["check the path"],
        )
    suffix = content_suffix(path)
    name = path.name[: len(path.name.lower().removesuffix(".gz")) - len(suffix)]
    if suffix in JSON_SUFFIXES:
        is_array = suffix == ".json" and is_file(path) and first_character(path) == b"["
        return (JsonArrayCollection if is_array else JsonLinesCollection)(
            name, path, chosen, kept, id_field=id_field
        )
    if suffix == ".csv":
        return TableCollection(name, path, chosen, kept, id_field=id_field)
    if suffix == path.suffix.lower() == ".parquet":
        return ParquetCollection(name, path, chosen, kept, id_field=id_field)
    if suffix == path.suffix.lower() and suffix in MARKDOWN_SUFFIXES:
        _refuse_id(id_field, spec)
        return MarkdownCollection(name, path, chosen, kept)
    if suffix in TAB_SUFFIXES and id_field is not None:
        return TableCollection(name, path, chosen, kept, "\t", id_field=id_field)
    if suffix in TAB_SUFFIXES:
        columns = TabSeparatedCollection(name, path)
        try:
            header = columns.header() if is_file(path) else None
            unidentified = is_file(path) and header is None and lacks_identifier(path)
        except TermwiseError:
            if chosen is None and kept is None:
                return columns  # raises the error when it is read
            raise
        if unidentified:
            return TableCollection(name, path, chosen, kept, "\t")  # raises the error of the header
        if chosen is None and kept in (None, "inferred") and (header is None or not header.names_others):
            return columns
        if is_file(path) and (header is None or not header.left_out):
            _refuse_fields(chosen, spec)
            _refuse_attributes(kept, spec)
        return TableCollection(name, path, chosen, kept, "\t")
    raise UnknownNameError(
        f"unknown kind of collection file {path.name!r}",
        facts=[
            ("file", path),
            (
                "known endings",
                f"{', '.join((*JSON_SUFFIXES, *TAB_SUFFIXES))}, .csv, each also with .gz, .parquet and .md",
            ),
        ],
        fixes=[
            decompression(path, suffix)
            if suffix in DECOMPRESSORS
            else "rename the file: its ending determines its format"
        ],
    )


_HEADER = "begin a file of columns with a line that names them: an identifier, then a text"


def _record_file(
    path: Path, fields: FieldChoice, attributes: AttributeChoice, id_field: str | None
) -> CollectionPart:
    opener = ParquetCollection if path.suffix.lower() == ".parquet" else JsonLinesCollection
    return opener(path.name, path, fields, attributes, id_field=id_field)


def content_suffix(path: Path) -> str:
    """Return the ending of a file name in lower case, without ``.gz``."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def folder_file(folder: Path, name: str) -> Path:
    """Return the file `name` or else ``name.gz`` of a folder; raise `MissingFileError` if there is neither."""
    for path in (folder / name, folder / f"{name}.gz"):
        if is_file(path):
            return path
    raise MissingFileError(
        "a folder is not in BEIR layout",
        facts=[("folder", folder), ("expected", f"{name} or {name}.gz in it")],
        fixes=["name the file itself"],
    )


def _refuse_fields(fields: FieldChoice, spec: str | Path) -> None:
    if fields is not None:
        raise ParameterError(
            "this collection has no named fields to choose from",
            facts=[("collection", spec), ("fields", ", ".join(fields))],
            fixes=[Fix.omit("fields"), _HEADER],
        )


def _refuse_attributes(attributes: AttributeChoice, spec: str | Path) -> None:
    if attributes is not None:
        raise ParameterError(
            "this collection has no named fields to keep as attributes",
            facts=[("collection", spec)],
            fixes=[Fix.omit("attributes"), *([_HEADER] if path_exists(Path(spec)) else [])],
        )


def _refuse_id(id_field: str | None, spec: str | Path) -> None:
    if id_field is not None:
        raise ParameterError(
            "this collection has identifiers of its own",
            facts=[("collection", spec), ("id_field", id_field)],
            fixes=[Fix.omit("id_field")],
        )
