"""A block of encoded documents: its key, and the file that holds its rows.

In little-endian numbers::

    8 bytes     TWROWS01
    32 bytes    SHA-256 of everything after it
    32 bytes    SHA-256 of the fingerprint of the encoder, a line break, and the id of its vocabulary
    32 bytes    SHA-256 of the documents
    u8, u8      number n of documents and m of weights
    i8 (n + 1)  row boundaries
    i4 (m)      terms
    f4 (m)      weights

A file gets its name only when it is complete. One that is truncated, damaged, or made by another encoder or from other
documents counts as missing, and the block is encoded again.
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
    """Identifies a block of documents.

    Attributes
    ----------
    number : int
        Its position in the collection, counted from 0.
    documents : int
        How many it holds.
    digest : bytes
        SHA-256 of their identifiers and texts.
    """

    number: int
    documents: int
    digest: bytes

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"block-{self.number:06d}.rows"


def cut_blocks(documents: Iterable[Document], size: int) -> Iterator[tuple[BlockKey, list[Document]]]:
    """Cut a collection into blocks of `size` documents, the last one shorter.

    Raises
    ------
    ParameterError
        If something in it is not a document.
    """
    following = iter(documents)
    number = 0
    while block := list(islice(following, size)):
        for document in block:
            check_document(document)
        yield BlockKey(number, len(block), _digest(block)), block
        number += 1


def block_files(folder: Path) -> list[Path]:
    """Return the files in a folder that are named like blocks, whatever they hold; none if there is no folder."""
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
            struct.pack("<32s32sQQ", _settings(encoder), key.digest, len(rows), rows.nnz),
            rows.indptr.astype("<i8").tobytes(),
            rows.terms.astype("<i4").tobytes(),
            rows.weights.astype("<f4").tobytes(),
        ]
    )
    write_bytes_whole(folder / key.name, _MAGIC + hashlib.sha256(body).digest() + body)


def read_block(folder: Path, key: BlockKey, encoder: RowEncoder) -> TermWeights | None:
    """Return the rows of a block, or None if it has to be encoded again.

    Raises
    ------
    MissingFileError
        If there is a file of its name that cannot be read.
    """
    path = folder / key.name
    try:
        data = read_regular(path, MAX_BLOCK)
    except FileNotFoundError:
        return None
    except (OSError, Misfit) as error:
        why = f"it is {error.seen}" if isinstance(error, Misfit) else error.strerror
        raise MissingFileError(
            "a block of encoded documents cannot be read", facts=[("file", path), ("why", why)]
        ) from error
    if len(data) < _START or not data.startswith(_MAGIC):
        return None
    digest, settings, documents, n, m = _HEAD.unpack_from(data, len(_MAGIC))
    if (settings, documents, n) != (_settings(encoder), key.digest, key.documents):
        return None
    if len(data) != _size(n, m):
        return None
    if hashlib.sha256(memoryview(data)[len(_MAGIC) + 32 :]).digest() != digest:
        return None
    ends = _size(n, 0), _size(n, 0) + 4 * m
    try:
        rows = TermWeights(
            np.frombuffer(data[_START : ends[0]], dtype="<i8"),
            np.frombuffer(data[ends[0] : ends[1]], dtype="<i4"),
            np.frombuffer(data[ends[1] :], dtype="<f4"),
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
    """Count the blocks of an encoder in a folder by their headers and lengths.

    Rows and documents are not checked, so `read_block` may still reject some.
    """
    settings = _settings(encoder)
    return sum(_belongs(path, settings) for path in block_files(folder))


def _belongs(path: Path, settings: bytes) -> bool:
    try:
        size = regular_size(path, MAX_BLOCK)
        with path.open("rb") as file:
            head = file.read(_START)
    except (OSError, Misfit):
        return False
    if len(head) < _START or not head.startswith(_MAGIC):
        return False
    _, theirs, _, n, m = _HEAD.unpack_from(head, len(_MAGIC))
    return (theirs, size) == (settings, _size(n, m))


def _size(n: int, m: int) -> int:
    """Return the length of a file of n documents and m weights."""
    return _START + 8 * (n + 1) + 8 * m


def _settings(encoder: RowEncoder) -> bytes:
    """Return the SHA-256 of what determines the rows besides the documents."""
    text = f"{encoder.fingerprint}\n{encoder.vocabulary.id}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _digest(documents: list[Document]) -> bytes:
    """Return the SHA-256 of identifiers and texts."""
    digest = hashlib.sha256()
    for document in documents:
        for text in (document.doc_id, document.text):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
    return digest.digest()
