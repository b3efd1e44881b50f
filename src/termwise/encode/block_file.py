"""File of a block of encoded documents: key, writer and reader.

In little-endian numbers::

    8 bytes     TWROWS01
    32 bytes    SHA-256 of everything after it
    32 bytes    SHA-256 of the fingerprint of the encoder, a line break, and the id of its vocabulary
    32 bytes    SHA-256 of the documents
    u8, u8      number n of documents and m of weights
    i8 (n + 1)  row boundaries
    i4 (m)      terms
    f4 (m)      weights

A file is renamed to its final name when it is complete. A truncated or damaged file, and one of another encoder or of
other documents, counts as missing: the block is encoded again.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from termwise.encode.document_encoder import RowEncoder
from termwise.errors import MissingFileError, WeightError
from termwise.records import Document
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular, regular_size
from termwise.validation import check_document
from termwise.weights import TermWeights

BLOCK_NAME = re.compile(r"block-\d{6,}\.rows")
"""Names of block files."""

MAX_BLOCK = 1 << 40
"""Largest size of a block file in bytes."""

_MAGIC = b"TWROWS01"
_HEAD = struct.Struct("<32s32s32sQQ")
_START = len(_MAGIC) + _HEAD.size


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
    """Cut a collection into blocks of `size` documents; the last one may be shorter.

    Raises
    ------
    ParameterError
        If the collection contains something that is not a document.
    """
    remaining = iter(documents)
    number = 0
    while block := list(islice(remaining, size)):
        for document in block:
            check_document(document)
        yield BlockKey(number, len(block), _documents_digest(block)), block
        number += 1


def block_files(folder: Path) -> list[Path]:
    """Return the files in a folder that have names of blocks, with any content; none if there is no folder."""
    try:
        return [entry for entry in folder.iterdir() if BLOCK_NAME.fullmatch(entry.name)]
    except OSError:
        return []


def write_block(folder: Path, key: BlockKey, encoder: RowEncoder, rows: TermWeights) -> None:
    """Write the rows of a block into the folder.

    Raises
    ------
    StorageError
        If the folder cannot be written.
    """
    body = b"".join(
        [
            struct.pack("<32s32sQQ", _encoder_digest(encoder), key.digest, len(rows), rows.nnz),
            rows.indptr.astype("<i8").tobytes(),
            rows.terms.astype("<i4").tobytes(),
            rows.weights.astype("<f4").tobytes(),
        ]
    )
    write_bytes_whole(folder / key.name, _MAGIC + hashlib.sha256(body).digest() + body)


def read_block(folder: Path, key: BlockKey, encoder: RowEncoder) -> TermWeights | None:
    """Return the rows of a block, or None if it must be encoded again.

    Raises
    ------
    MissingFileError
        If the file exists and cannot be read.
    """
    path = folder / key.name
    try:
        data = read_regular(path, MAX_BLOCK)
    except FileNotFoundError:
        return None
    except (OSError, Misfit) as error:
        why = f"it is {error.seen}" if isinstance(error, Misfit) else error.strerror
        raise MissingFileError(
            "a block of encoded documents cannot be read", facts=[("file", path), ("reason", why)]
        ) from error
    if len(data) < _START or not data.startswith(_MAGIC):
        return None
    checksum, encoder_digest, documents_digest, n, m = _HEAD.unpack_from(data, len(_MAGIC))
    if (encoder_digest, documents_digest, n) != (_encoder_digest(encoder), key.digest, key.documents):
        return None
    if len(data) != _file_size(n, m):
        return None
    if hashlib.sha256(memoryview(data)[len(_MAGIC) + 32 :]).digest() != checksum:
        return None
    terms_start = _file_size(n, 0)
    weights_start = terms_start + 4 * m
    try:
        rows = TermWeights(
            np.frombuffer(data[_START:terms_start], dtype="<i8"),
            np.frombuffer(data[terms_start:weights_start], dtype="<i4"),
            np.frombuffer(data[weights_start:], dtype="<f4"),
            encoder.vocabulary.id,
        )
    except WeightError:
        return None
    return rows if rows.terms.max(initial=-1) < len(encoder.vocabulary) else None


def holds_block(folder: Path, key: BlockKey, encoder: RowEncoder) -> bool:
    """Return whether `read_block` returns rows."""
    try:
        return read_block(folder, key, encoder) is not None
    except MissingFileError:
        return False


def count_blocks(folder: Path, encoder: RowEncoder) -> int:
    """Count the blocks of an encoder in a folder by their headers and file sizes.

    Rows and documents are not checked, so `read_block` may still reject some.
    """
    digest = _encoder_digest(encoder)
    return sum(_belongs(path, digest) for path in block_files(folder))


def _belongs(path: Path, digest: bytes) -> bool:
    try:
        size = regular_size(path, MAX_BLOCK)
        with path.open("rb") as file:
            head = file.read(_START)
    except (OSError, Misfit):
        return False
    if len(head) < _START or not head.startswith(_MAGIC):
        return False
    _, encoder_digest, _, n, m = _HEAD.unpack_from(head, len(_MAGIC))
    return (encoder_digest, size) == (digest, _file_size(n, m))


def _file_size(n: int, m: int) -> int:
    """Return the size of a file of n documents and m weights."""
    return _START + 8 * (n + 1) + 8 * m


def _encoder_digest(encoder: RowEncoder) -> bytes:
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
