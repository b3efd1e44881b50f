"""Encoding a collection block by block into a work folder, so that no finished block is ever lost.

::

    encoding.json         the encoder and its settings; other ones may not add to this folder
    block-000000.rows     rows of the first documents, and the hash of their identifiers and texts
    block-000001.rows     ...

A block file is, in little-endian numbers::

    8 bytes     TWROWS01
    32 bytes    SHA-256 of everything after it
    32 bytes    SHA-256 of the fingerprint of the encoder, a line break, and the id of its vocabulary
    32 bytes    SHA-256 of the documents
    u8, u8      number n of documents and m of weights
    i8 (n + 1)  row boundaries
    i4 (m)      terms
    f4 (m)      weights

It appears under its name once it is complete. A file that is truncated, damaged, of another encoder or of other
documents counts as not there: the block is encoded again.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from termwise.arguments import check_document, check_documents, check_path, is_whole_number
from termwise.collection.writing import create_bytes_whole, write_bytes_whole
from termwise.encode.documents import DocumentEncoder, check_encoder
from termwise.errors import ForeignFolderError, MissingFileError, ParameterError, StorageError, WeightError
from termwise.legible import short_digest, told_apart
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.regular_files import read_regular
from termwise.sealed_json import Misfit, canonical_bytes
from termwise.weights import TermWeights

NAME = "encoding.json"
FORMAT = "termwise-encoding"
VERSION = 1

MAX_CLAIM = 1 << 24
"""Bytes of an ``encoding.json``; what is longer is not read."""

MAX_BLOCK = 1 << 40
"""Bytes of a block."""

STAGE = "encode documents"

_MAGIC = b"TWROWS01"
_HEAD = struct.Struct("<32s32s32sQQ")
_BLOCK = re.compile(r"block-\d{6,}\.rows")


@dataclass(frozen=True)
class BlockKey:
    """What a block of documents is known by.

    Attributes
    ----------
    number : int
        Its place in the collection, counted from 0.
    documents : int
        How many there are.
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


def holds_block(folder: Path, key: BlockKey, encoder: DocumentEncoder) -> bool:
    """Tell whether `encoded_blocks` would take a block from the folder: whole, of this encoder and these documents."""
    try:
        return _read(folder / key.name, key, encoder) is not None
    except MissingFileError:
        return False


def block_files(folder: Path) -> list[Path]:
    """Return the files of a folder that have the name of a block, whatever they hold; none where it does not exist."""
    try:
        return [entry for entry in folder.iterdir() if _BLOCK.fullmatch(entry.name)]
    except OSError:
        return []


def remove_blocks(folder: Path) -> None:
    """Remove a work folder that has done its service; what it should not hold stays, and so does the folder then."""
    with suppress(OSError):
        for entry in list(folder.iterdir()):
            if entry.name == NAME or _BLOCK.fullmatch(entry.name) or _passing(entry.name):
                entry.unlink()
        folder.rmdir()


def encoded_blocks(
    documents: Iterable[Document],
    encoder: DocumentEncoder,
    folder: str | Path,
    *,
    shard: tuple[int, int] = (1, 1),
    length: int | None = None,
    progress: Progress = no_progress,
) -> Iterator[tuple[list[Document], TermWeights]]:
    """Encode documents in blocks, taking from the work folder those that were encoded before.

    Parameters
    ----------
    documents : iterable of Document
        The collection, always in the same order.
    encoder : DocumentEncoder
        Makes the rows; its `block` says how many documents belong together.
    folder : str or Path
        Work folder; made where there is none. It may be shared by several machines.
    shard : (int, int), optional
        Part i of n, counted from 1: every n-th block is encoded and given, others are skipped. Blocks that any shard
        finished are found by whoever reads the folder.
    length : int, optional
        Number of documents, for `progress`, where it is known.
    progress : callable, optional
        Called with stage, documents passed, `length`.

    Returns
    -------
    iterator of (list of Document, TermWeights)
        Documents and their rows, block by block in the order of the collection.

    Raises
    ------
    ParameterError
        If there is no such part, or an argument is of the wrong type.
    ForeignFolderError
        If the folder holds the work of another encoder or of other settings, or something else.
    StorageError
        If the folder cannot be written.
    """
    check_documents(documents)
    check_encoder(encoder)
    check_path("folder", folder)
    part, parts = _checked_shard(shard)
    work = Path(folder)
    claim(work, encoder)
    return _blocks(documents, encoder, work, part - 1, parts, length, progress)


def _blocks(
    documents: Iterable[Document],
    encoder: DocumentEncoder,
    folder: Path,
    part: int,
    parts: int,
    length: int | None,
    progress: Progress,
) -> Iterator[tuple[list[Document], TermWeights]]:
    before = 0
    for key, block in cut_blocks(documents, encoder.block):
        if key.number % parts == part:
            path = folder / key.name
            rows = _read(path, key, encoder)
            if rows is None:
                heard = _told(progress, before, len(block), length)
                rows = encoder.encode_documents([document.text for document in block], advance=heard)
                _write(path, key, encoder, rows)
            yield block, rows
        before += len(block)
        progress(STAGE, before, length)


def _checked_shard(value: object) -> tuple[int, int]:
    """Return a part of several, counted from 1, or refuse what is none."""
    if (
        isinstance(value, tuple)
        and len(value) == 2
        and all(is_whole_number(number, least=1) for number in value)
    ):
        part, parts = value
        if part <= parts:
            return part, parts
    raise ParameterError(
        "a shard is a part of several, counted from 1",
        facts=[
            ("given", "/".join(map(str, value)) if isinstance(value, tuple) else repr(value)),
            ("expected", "(1, 4), (2, 4), (3, 4) or (4, 4), for example"),
        ],
    )


def _told(progress: Progress, before: int, size: int, length: int | None) -> Callable[[float], None]:
    return lambda share: progress(STAGE, before + int(share * size), length)


def _digest(documents: list[Document]) -> bytes:
    """Return the SHA-256 of identifiers and texts."""
    digest = hashlib.sha256()
    for document in documents:
        for text in (document.doc_id, document.text):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
    return digest.digest()


# --- the folder -------------------------------------------------------------------------------------------------


def claim(folder: Path, encoder: DocumentEncoder) -> None:
    """Make sure that a folder is for the rows of this encoder: make it, or compare what it says of itself.

    Raises
    ------
    ForeignFolderError, StorageError
        See `encoded_blocks`.
    """
    path = folder / NAME
    ours: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "encoder": encoder.fingerprint,
        "vocabulary": encoder.vocabulary.id,
        "block": encoder.block,
    }
    try:
        data = canonical_bytes({**ours, "description": encoder.description})
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            "what the encoder says of itself cannot be written as JSON", facts=[("why", error)]
        ) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            others = sorted(entry.name for entry in folder.iterdir() if not _passing(entry.name))
            # Blocks are written after it: where there are some, it is there by now, or they are foreign.
            if others and not path.exists():
                raise _foreign(folder, ("holds", ", ".join(others[:3])))
            create_bytes_whole(path, data)
        found = json.loads(read_regular(path, MAX_CLAIM))
    except OSError as error:
        raise StorageError(
            "the work folder cannot be used",
            facts=[("folder", folder), ("reason", error.strerror or str(error))],
            fixes=["choose another folder"],
        ) from error
    except (Misfit, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _foreign(folder, (NAME, "not of termwise, or damaged"))
    differing = [key for key in ours if found.get(key) != ours[key]]
    if differing:
        there, here = _beside(found, {**ours, "description": encoder.description})
        raise ForeignFolderError(
            "the work folder holds rows of another encoder or of other settings",
            facts=[
                ("folder", folder),
                ("differs in", ", ".join(differing)),
                ("there", there),
                ("here", here),
            ],
            fixes=["choose another folder", f"rm -r {folder}"],
        )


def _passing(name: str) -> bool:
    """Tell whether a name is that of a temporary file, which another shard may be writing."""
    return name.startswith(".") and name.endswith(".tmp")


def _foreign(folder: Path, fact: tuple[str, object]) -> ForeignFolderError:
    return ForeignFolderError(
        "the work folder holds something other than encoded documents",
        facts=[("folder", folder), fact],
        fixes=["choose another folder"],
    )


def _beside(one: Mapping[str, object], other: Mapping[str, object]) -> tuple[str, str]:
    """Describe the encoders of two folders in words: what they are called, and the settings that differ."""
    described = [_mapping(each.get("description")) for each in (one, other)]
    settings = told_apart(*(_mapping(each.get("settings")) for each in described))
    lines = []
    for folder, facts, differing in zip((one, other), described, settings, strict=True):
        said = [facts.get("name"), _mapping(facts.get("network")).get("precision"), differing]
        identity = short_digest(str(folder.get("encoder")))
        lines.append(", ".join([*(str(value) for value in said if value), identity]))
    return lines[0], lines[1]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


# --- one block --------------------------------------------------------------------------------------------------


def _settings(encoder: DocumentEncoder) -> bytes:
    """Return the SHA-256 of what decides about rows besides the documents."""
    text = f"{encoder.fingerprint}\n{encoder.vocabulary.id}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _write(path: Path, key: BlockKey, encoder: DocumentEncoder, rows: TermWeights) -> None:
    body = b"".join(
        [
            struct.pack("<32s32sQQ", _settings(encoder), key.digest, len(rows), rows.nnz),
            rows.indptr.astype("<i8").tobytes(),
            rows.terms.astype("<i4").tobytes(),
            rows.weights.astype("<f4").tobytes(),
        ]
    )
    write_bytes_whole(path, _MAGIC + hashlib.sha256(body).digest() + body)


def _read(path: Path, key: BlockKey, encoder: DocumentEncoder) -> TermWeights | None:
    """Return the rows of a block, or None if the file is not there, damaged, or of other settings or documents."""
    try:
        data = read_regular(path, MAX_BLOCK)
    except FileNotFoundError:
        return None
    except (OSError, Misfit) as error:
        why = f"it is {error.seen}" if isinstance(error, Misfit) else error.strerror
        raise MissingFileError(
            "a block of encoded documents cannot be read", facts=[("file", path), ("why", why)]
        ) from error
    start = len(_MAGIC) + _HEAD.size
    if len(data) < start or not data.startswith(_MAGIC):
        return None
    digest, settings, documents, n, m = _HEAD.unpack_from(data, len(_MAGIC))
    if (settings, documents, n) != (_settings(encoder), key.digest, key.documents):
        return None
    if len(data) != start + 8 * (n + 1) + 8 * m:
        return None
    if hashlib.sha256(memoryview(data)[len(_MAGIC) + 32 :]).digest() != digest:
        return None
    ends = start + 8 * (n + 1), start + 8 * (n + 1) + 4 * m
    try:
        rows = TermWeights(
            np.frombuffer(data[start : ends[0]], dtype="<i8"),
            np.frombuffer(data[ends[0] : ends[1]], dtype="<i4"),
            np.frombuffer(data[ends[1] :], dtype="<f4"),
            encoder.vocabulary.id,
        )
    except WeightError:
        return None
    return rows if rows.terms.max(initial=-1) < len(encoder.vocabulary) else None
