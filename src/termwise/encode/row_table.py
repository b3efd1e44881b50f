"""Rows of encoded documents as Arrow tables and Parquet files; ``docs/encoder-format.md`` describes the columns.

A row of a table has the identifier of a document, the digest of its text, the identity of the encoder, and the weights
or the vectors. So rows can be filtered, joined, repartitioned and written by other programs and still be checked.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import short_digest
from termwise.encode.block_file import MAX_BLOCK, Rows, encoder_digest, text_digests
from termwise.encode.document_encoder import EncodedRows, RowEncoder
from termwise.errors import ForeignFolderError, MissingExtraError, MissingFileError, WeightError
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

VERSION = 1
"""Version of the columns; a part of the identity of an encoder in a row."""

SUFFIX = ".parquet"

ROW_GROUP = 4096
"""Rows of a row group."""

_LEVEL = 3
"""Compression level of zstd."""


def _arrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError.of(
            "pyarrow", "parquet", "reading or writing rows in Parquet files"
        ) from error
    return pyarrow


def encoder_identity(encoder: RowEncoder[EncodedRows]) -> str:
    """Return the identity of an encoder in each row: ``rows-1:`` and a digest of its fingerprint and vocabulary."""
    return f"rows-{VERSION}:{encoder_digest(encoder).hex()}"


def row_schema(*, vectors: bool) -> Any:
    """Return the Arrow schema of rows of vectors, or of term weights."""
    arrow = _arrow()
    columns = [
        arrow.field("doc_id", arrow.string(), nullable=False),
        arrow.field("text_digest", arrow.binary(), nullable=False),
        arrow.field("encoder", arrow.string(), nullable=False),
    ]
    lists = (
        [("vectors", arrow.binary()), ("scales", arrow.float32())]
        if vectors
        else [("terms", arrow.int32()), ("weights", arrow.float32())]
    )
    for name, kind in lists:
        item = arrow.field("element", kind, nullable=False)
        columns.append(arrow.field(name, arrow.list_(item), nullable=False))
    return arrow.schema(columns)


def encode_table(doc_ids: Sequence[str], texts: Sequence[str], encoder: RowEncoder[EncodedRows]) -> Any:
    """Encode documents as an Arrow table with one row for each; the columns are those of `row_schema`.

    The table depends only on the documents and the encoder.
    """
    return row_table(doc_ids, text_digests(texts), encoder.encode_documents(texts), encoder_identity(encoder))


def row_table(
    doc_ids: Sequence[str], digests: npt.NDArray[np.bytes_], rows: EncodedRows, identity: str
) -> Any:
    """Return the rows of an encoder as an Arrow table."""
    arrow = _arrow()
    schema = row_schema(vectors=isinstance(rows, DocumentVectors))
    offsets = arrow.array(rows.indptr.astype(np.int32))
    if isinstance(rows, DocumentVectors):
        width = rows.dimensions
        starts = arrow.py_buffer(np.arange(len(rows.rows) + 1, dtype=np.int32) * width)
        numbers = arrow.py_buffer(np.ascontiguousarray(rows.rows))
        binary = arrow.Array.from_buffers(arrow.binary(), len(rows.rows), [None, starts, numbers])
        values = [binary, arrow.array(rows.scales)]
    else:
        values = [arrow.array(rows.terms, arrow.int32()), arrow.array(rows.weights, arrow.float32())]
    lists = [
        arrow.ListArray.from_arrays(offsets, value, type=schema.field(place).type)
        for place, value in enumerate(values, 3)
    ]
    # The digests have trailing zeros, which numpy removes from bytes.
    keys = [digest.ljust(16, b"\0") for digest in digests.tolist()]
    heads = [
        arrow.array(doc_ids, arrow.string()),
        arrow.array(keys, arrow.binary()),
        arrow.array([identity] * len(rows), arrow.string()),
    ]
    return arrow.Table.from_arrays([*heads, *lists], schema=schema)


def table_rows(table: Any, encoder: RowEncoder[Rows]) -> tuple[npt.NDArray[np.bytes_], Rows]:
    """Return text digests and rows of a table; raise `WeightError` unless they are rows of this encoder."""
    arrow = _arrow()
    names = set(table.column_names)
    vectors = "vectors" in names
    missing = [name for name in row_schema(vectors=vectors).names if name not in names]
    if missing:
        raise WeightError(
            "a table of encoded documents lacks columns", facts=[("missing", ", ".join(missing))]
        )
    try:
        table = table.select(row_schema(vectors=vectors).names).combine_chunks()
        others = set(table.column("encoder").unique().to_pylist()) - {encoder_identity(encoder)}
        if others:
            raise WeightError(
                "a table holds rows of another encoder, of other settings or of another version",
                facts=[
                    ("rows", ", ".join(sorted(_shown(other) for other in others))),
                    ("expected", _shown(encoder_identity(encoder))),
                ],
            )
        digests = np.array(table.column("text_digest").to_pylist(), dtype="S16")
        indptr, first = _lists(table.column(3))
        second_indptr, second = _lists(table.column(4))
        if not np.array_equal(indptr, second_indptr):
            raise WeightError("the lists of a row have different lengths")
        rows: EncodedRows
        if vectors:
            values = first.cast(arrow.binary())
            joined = b"".join(values.to_pylist())
            numbers = np.frombuffer(joined, dtype=np.int8).reshape(len(values), -1) if len(values) else None
            width = getattr(getattr(encoder, "term_vectors", None), "dimensions", 1)
            rows = DocumentVectors(
                indptr, np.empty((0, width), np.int8) if numbers is None else numbers, second.to_numpy()
            )
        else:
            rows = TermWeights(indptr, first.to_numpy(), second.to_numpy(), encoder.vocabulary.id)
            if rows.terms.max(initial=-1) >= len(encoder.vocabulary):
                raise WeightError("a row has a term that the vocabulary lacks")
    except (arrow.ArrowException, ValueError, TypeError) as error:
        raise WeightError("a table holds no rows of encoded documents", facts=[("reason", error)]) from error
    return digests, cast(Rows, rows)


def _lists(column: Any) -> tuple[npt.NDArray[np.int64], Any]:
    """Return the boundaries and the values of a column of lists."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    offsets = array.offsets.to_numpy().astype(np.int64)
    if array.null_count:
        raise WeightError("a row has no list of weights or vectors")
    return offsets - offsets[0], array.flatten()


def _shown(identity: object) -> str:
    version, _, digest = str(identity).partition(":")
    return f"{version} {short_digest(f'sha256:{digest}')}"


def row_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder by name; none if there is no folder."""
    try:
        return sorted(entry for entry in folder.iterdir() if is_row_file(entry.name))
    except OSError:
        return []


def is_row_file(name: str) -> bool:
    """Return whether a file has a name of a file of rows: any Parquet file that is not hidden."""
    return name.endswith(SUFFIX) and name[0] not in "._"


def row_file_name(doc_ids: Sequence[str], digests: npt.NDArray[np.bytes_], identity: str) -> str:
    """Return the name of the file of some documents, which depends on their identifiers, texts and encoder."""
    text = json.dumps([identity, list(doc_ids)]).encode()
    return f"rows-{hashlib.sha256(text + digests.tobytes()).hexdigest()[:16]}{SUFFIX}"


def write_row_file(path: Path, table: Any) -> None:
    """Write a table as a Parquet file; equal tables give equal bytes with one version of pyarrow."""
    arrow = _arrow()
    stream = io.BytesIO()
    arrow.parquet.write_table(
        table,
        stream,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=["encoder"],
        row_group_size=ROW_GROUP,
        write_page_checksum=True,
    )
    write_bytes_whole(path, stream.getvalue())


def read_row_file(path: Path, encoder: RowEncoder[Rows]) -> tuple[npt.NDArray[np.bytes_], Rows] | None:
    """Return text digests and rows of a file; None if it is missing or damaged.

    Raises
    ------
    ForeignFolderError
        If the rows are of another encoder, of other settings or of another version.
    MissingFileError
        If the file exists and cannot be read.
    """
    arrow = _arrow()
    try:
        data = read_regular(path, MAX_BLOCK)
        table = arrow.parquet.read_table(io.BytesIO(data), page_checksum_verification=True, partitioning=None)
    except FileNotFoundError:
        return None
    except arrow.ArrowException:
        return None
    except (OSError, Misfit) as error:
        if isinstance(error, OSError) and error.errno is None:  # raised by pyarrow for a damaged page
            return None
        why = f"it is {error.seen}" if isinstance(error, Misfit) else error.strerror
        raise MissingFileError(
            "a file of encoded documents cannot be read", facts=[("file", path), ("reason", why)]
        ) from error
    try:
        return table_rows(table, encoder)
    except WeightError as error:
        raise ForeignFolderError(
            error.message,
            facts=[("file", path), *error.facts],
            fixes=[
                "move the file out of the folder",
                "choose another folder",
                "encode the documents again with one version of termwise and one model",
            ],
        ) from error


def row_file_metadata(path: Path) -> tuple[int, dict[bytes, bytes]]:
    """Return the number of rows of an undamaged file, and the metadata of its table."""
    metadata = _arrow().parquet.read_metadata(path)
    return int(metadata.num_rows), dict(metadata.metadata or {})
