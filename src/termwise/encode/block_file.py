"""File of a block of encoded documents: texts, writer and reader; ``docs/encoder-format.md`` has the layout.

The name of a file is a digest of its texts. A file is renamed to this name when it is complete. A truncated or damaged
file, and one of another encoder, counts as missing: its texts are encoded again.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

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

BLOCK_NAME = re.compile(r"block-[0-9a-f]{16}\.rows")
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

_DIGESTS = struct.Struct("<8s32s32s")
_DIGEST = "S16"
_SECTIONS: dict[bytes, tuple[str, str, str, str]] = {
    b"TWROWS02": (_DIGEST, "<i8", "<i4", "<f4"),
    b"TWVECS02": (_DIGEST, "<i8", "|i1", "<f4"),
}
_WEIGHTS, _VECTORS = _SECTIONS
_LONGEST_HEAD = _DIGESTS.size + 3 * 8


def cut_blocks(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    """Cut a collection into blocks of at most `size` documents, and of `CHARACTERS` times `size` characters.

    A block ends with the document that reaches one of these numbers. The documents are checked.
    """
    characters = 0
    block: list[Document] = []
    for document in documents:
        check_document(document)
        block.append(document)
        characters += len(document.text)
        if len(block) == size or characters >= CHARACTERS * size:
            yield block
            characters, block = 0, []
    if block:
        yield block


def text_digests(texts: Iterable[str]) -> npt.NDArray[np.bytes_]:
    """Return the first half of the SHA-256 of each text, shape (n,), S16."""
    digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16] for text in texts]
    return np.array(digests, dtype=_DIGEST)


def block_files(folder: Path) -> list[Path]:
    """Return the files in a folder that have names of blocks, with any content; none if there is no folder."""
    try:
        return [entry for entry in folder.iterdir() if BLOCK_NAME.fullmatch(entry.name)]
    except OSError:
        return []


def write_block(folder: Path, encoder: RowEncoder[Rows], digests: npt.NDArray[np.bytes_], rows: Rows) -> None:
    """Write a block into the folder: one row for each text, and the digests of the texts."""
    counts: tuple[int, ...]
    arrays: list[npt.NDArray[Any]]
    if isinstance(rows, DocumentVectors):
        magic, counts = _VECTORS, (len(rows), len(rows.rows), rows.dimensions)
        arrays = [digests, rows.indptr, rows.rows, rows.scales]
    else:
        magic, counts = _WEIGHTS, (len(rows), rows.nnz)
        arrays = [digests, rows.indptr, rows.terms, rows.weights]
    body = b"".join(
        [
            encoder_digest(encoder),
            struct.pack(f"<{len(counts)}Q", *counts),
            *(array.astype(dtype).tobytes() for array, dtype in zip(arrays, _SECTIONS[magic], strict=True)),
        ]
    )
    name = f"block-{hashlib.sha256(digests.tobytes()).hexdigest()[:16]}.rows"
    write_bytes_whole(folder / name, magic + hashlib.sha256(body).digest() + body)


def read_block(path: Path, encoder: RowEncoder[Rows]) -> tuple[npt.NDArray[np.bytes_], Rows] | None:
    """Return digests and rows of a block file; None if it is missing, damaged or of another encoder.

    Raise `MissingFileError` if the file exists and cannot be read.
    """
    try:
        data = read_regular(path, MAX_BLOCK)
    except FileNotFoundError:
        return None
    except (OSError, Misfit) as error:
        why = f"it is {error.seen}" if isinstance(error, Misfit) else error.strerror
        raise MissingFileError(
            "a block of encoded documents cannot be read", facts=[("file", path), ("reason", why)]
        ) from error
    if len(data) < _LONGEST_HEAD or data[:8] not in _SECTIONS:
        return None
    magic, checksum, encoded_by = _DIGESTS.unpack_from(data)
    if encoded_by != encoder_digest(encoder) or hashlib.sha256(memoryview(data)[40:]).digest() != checksum:
        return None
    return _parsed(data, magic, encoder)


def _parsed(
    data: bytes, magic: bytes, encoder: RowEncoder[Rows]
) -> tuple[npt.NDArray[np.bytes_], Rows] | None:
    """Return the content of an undamaged file; None if its rows are invalid."""
    n, m, *dimensions = struct.unpack_from(f"<{3 if magic == _VECTORS else 2}Q", data, _DIGESTS.size)
    lengths = (n, n + 1, m * (dimensions or [1])[0], m)
    start = _DIGESTS.size + 8 * (2 + len(dimensions))
    arrays = []
    rows: EncodedRows
    try:
        for dtype, length in zip(_SECTIONS[magic], lengths, strict=True):
            arrays.append(np.frombuffer(data, dtype, length, start))
            start += arrays[-1].nbytes
        digests, *content = arrays
        if magic == _VECTORS:
            rows = DocumentVectors(content[0], content[1].reshape(m, *dimensions), content[2])
        else:
            rows = TermWeights(content[0], content[1], content[2], encoder.vocabulary.id)
            if rows.terms.max(initial=-1) >= len(encoder.vocabulary):
                return None
    except (ValueError, OverflowError, WeightError):
        return None
    return digests, cast(Rows, rows)  # the digest says that this encoder made them


def encoder_digest(encoder: RowEncoder[EncodedRows]) -> bytes:
    """Return the SHA-256 of the fingerprint of the encoder and the id of its vocabulary."""
    text = f"{encoder.fingerprint}\n{encoder.vocabulary.id}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
