"""File of a block of encoded documents: key, writer and reader.

In little-endian numbers, for `TermWeights` and for `DocumentVectors`::

    8 bytes     TWROWS01                          TWVECS01
    32 bytes    SHA-256 of everything after it
    32 bytes    SHA-256 of the fingerprint of the encoder, a line break, and the id of its vocabulary
    32 bytes    SHA-256 of the documents
    u8          number n of documents
    u8          number m of weights               number m of windows
    u8                                            number k of dimensions
    i8 (n + 1)  row boundaries                    boundaries of the windows of documents
    m           i4 terms                          i1 (k) numbers
    f4 (m)      weights                           scales

A file is renamed to its final name when it is complete. A truncated or damaged file, and one of another encoder, counts
as missing: the block is encoded again. For a block of other documents, see `termwise.encode.block_encoding`.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from termwise.encode.document_encoder import EncodedRows, RowEncoder
from termwise.errors import MissingFileError, WeightError
from termwise.records import Document
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular
from termwise.validation import check_document
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

BLOCK_NAME = re.compile(r"block-\d{6,}\.rows")
"""Names of block files."""

MAX_BLOCK = 1 << 40
"""Largest size of a block file in bytes."""

CHARACTERS = 128
"""A block ends at this number of characters for each document that it may hold.

With 1,024 documents these are about 30,000 word pieces: 20 s of TILDEv2 with its expansion on a fast core, a minute on
a slow one. So an interruption loses little work. Batches of similar length hold 4,096 pieces; compared with blocks of
1,024 documents, the padding of four collections grows by 0 to 4 % of the pieces.
"""

Rows = TypeVar("Rows", bound=EncodedRows)

_DIGESTS = struct.Struct("<8s32s32s32s")
_SECTIONS: dict[bytes, tuple[str, str, str]] = {
    b"TWROWS01": ("<i8", "<i4", "<f4"),
    b"TWVECS01": ("<i8", "|i1", "<f4"),
}
_WEIGHTS, _VECTORS = _SECTIONS
_LONGEST_HEAD = _DIGESTS.size + 3 * 8


@dataclass(frozen=True)
class BlockKey:
    """Identity of a block of documents.

    Attributes
    ----------
    number : int
        Its position in the collection, counted from 0.
    documents : int
        Number of its documents.
    digest : bytes
        SHA-256 of their ids and texts.
    """

    number: int
    documents: int
    digest: bytes

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"block-{self.number:06d}.rows"


def cut_blocks(documents: Iterable[Document], size: int) -> Iterator[tuple[BlockKey, list[Document]]]:
    """Cut a collection into blocks of at most `size` documents, and of `CHARACTERS` times `size` characters.

    A block ends with the document that reaches one of these numbers.

    Raises
    ------
    ParameterError
        If the collection contains something that is not a document.
    """
    number = characters = 0
    block: list[Document] = []
    for document in documents:
        check_document(document)
        block.append(document)
        characters += len(document.text)
        if len(block) == size or characters >= CHARACTERS * size:
            yield BlockKey(number, len(block), _documents_digest(block)), block
            number, characters, block = number + 1, 0, []
    if block:
        yield BlockKey(number, len(block), _documents_digest(block)), block


def block_files(folder: Path) -> list[Path]:
    """Return the files in a folder that have names of blocks, with any content; none if there is no folder."""
    try:
        return [entry for entry in folder.iterdir() if BLOCK_NAME.fullmatch(entry.name)]
    except OSError:
        return []


def write_block(folder: Path, key: BlockKey, encoder: RowEncoder[Rows], rows: Rows) -> None:
    """Write the rows of a block into the folder.

    Raises
    ------
    StorageError
        If the folder cannot be written.
    """
    counts: tuple[int, ...]
    arrays: list[npt.NDArray[Any]]
    if isinstance(rows, DocumentVectors):
        magic, counts = _VECTORS, (len(rows), len(rows.rows), rows.dimensions)
        arrays = [rows.indptr, rows.rows, rows.scales]
    else:
        magic, counts = _WEIGHTS, (len(rows), rows.nnz)
        arrays = [rows.indptr, rows.terms, rows.weights]
    body = b"".join(
        [
            _encoder_digest(encoder),
            key.digest,
            struct.pack(f"<{len(counts)}Q", *counts),
            *(array.astype(dtype).tobytes() for array, dtype in zip(arrays, _SECTIONS[magic], strict=True)),
        ]
    )
    write_bytes_whole(folder / key.name, magic + hashlib.sha256(body).digest() + body)


def read_block(folder: Path, key: BlockKey, encoder: RowEncoder[Rows]) -> Rows | None:
    """Return the rows of a block, or None if it must be encoded again.

    Raises
    ------
    MissingFileError
        If the file exists and cannot be read.
    """
    whole = _read_whole(folder / key.name, encoder)
    if whole is None:
        return None
    head, data = whole
    if (head.documents, head.counts[0]) != (key.digest, key.documents):
        return None
    arrays = []
    start = head.start
    for dtype, count in head.sections:
        arrays.append(np.frombuffer(data, dtype, count, start))
        start += arrays[-1].nbytes
    rows: EncodedRows
    try:
        if head.magic == _VECTORS:
            rows = DocumentVectors(arrays[0], arrays[1].reshape(head.counts[1:]), arrays[2])
        else:
            rows = TermWeights(arrays[0], arrays[1], arrays[2], encoder.vocabulary.id)
            if rows.terms.max(initial=-1) >= len(encoder.vocabulary):
                return None
    except WeightError:
        return None
    return cast(Rows, rows)  # the digest says that this encoder made them


def holds_other_documents(folder: Path, key: BlockKey, encoder: RowEncoder[EncodedRows]) -> bool:
    """Return whether there is an undamaged file of this encoder for the block, with other documents.

    Raises
    ------
    MissingFileError
        If the file exists and cannot be read.
    """
    whole = _read_whole(folder / key.name, encoder)
    return whole is not None and whole[0].documents != key.digest


class _Head(NamedTuple):
    """Head of a block file.

    Attributes
    ----------
    magic, checksum, encoder, documents : bytes
    counts : tuple of int
        Documents and weights; or documents, windows and dimensions.
    """

    magic: bytes
    checksum: bytes
    encoder: bytes
    documents: bytes
    counts: tuple[int, ...]

    @classmethod
    def of(cls, data: bytes) -> _Head | None:
        """Parse the head; None if there is none."""
        if len(data) < _LONGEST_HEAD or data[:8] not in _SECTIONS:
            return None
        magic, checksum, encoder, documents = _DIGESTS.unpack_from(data)
        counts = struct.unpack_from(f"<{3 if magic == _VECTORS else 2}Q", data, _DIGESTS.size)
        return cls(magic, checksum, encoder, documents, counts)

    @property
    def start(self) -> int:
        """Position of the first section."""
        return _DIGESTS.size + 8 * len(self.counts)

    @property
    def sections(self) -> list[tuple[str, int]]:
        """Type and length of each section."""
        n, m, *dimensions = self.counts
        return list(zip(_SECTIONS[self.magic], (n + 1, m * (dimensions or [1])[0], m), strict=True))

    @property
    def size(self) -> int:
        """Size of the file."""
        return self.start + sum(np.dtype(dtype).itemsize * count for dtype, count in self.sections)


def _read_whole(path: Path, encoder: RowEncoder[EncodedRows]) -> tuple[_Head, bytes] | None:
    """Return the head and the bytes of a file; None if it is missing, damaged or of another encoder."""
    try:
        data = read_regular(path, MAX_BLOCK)
    except FileNotFoundError:
        return None
    except (OSError, Misfit) as error:
        why = f"it is {error.seen}" if isinstance(error, Misfit) else error.strerror
        raise MissingFileError(
            "a block of encoded documents cannot be read", facts=[("file", path), ("reason", why)]
        ) from error
    head = _Head.of(data)
    if head is None or (head.encoder, head.size) != (_encoder_digest(encoder), len(data)):
        return None
    if hashlib.sha256(memoryview(data)[len(head.magic) + 32 :]).digest() != head.checksum:
        return None
    return head, data


def holds_block(folder: Path, key: BlockKey, encoder: RowEncoder[EncodedRows]) -> bool:
    """Return whether `read_block` returns rows."""
    try:
        return read_block(folder, key, encoder) is not None
    except MissingFileError:
        return False


def count_blocks(folder: Path, encoder: RowEncoder[EncodedRows]) -> int:
    """Count the undamaged blocks of an encoder in a folder, of any documents."""
    return sum(_is_whole(path, encoder) for path in block_files(folder))


def _is_whole(path: Path, encoder: RowEncoder[EncodedRows]) -> bool:
    try:
        return _read_whole(path, encoder) is not None
    except MissingFileError:
        return False


def _encoder_digest(encoder: RowEncoder[EncodedRows]) -> bytes:
    """Return the SHA-256 of the fingerprint of the encoder and the id of its vocabulary."""
    text = f"{encoder.fingerprint}\n{encoder.vocabulary.id}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _documents_digest(documents: list[Document]) -> bytes:
    """Return the SHA-256 of ids and texts."""
    digest = hashlib.sha256()
    for document in documents:
        for text in (document.doc_id, document.text):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
    return digest.digest()
