"""Encoding a collection block by block into a work folder, so that no finished block is ever lost.

::

    encoding.json         the encoder and its settings; other ones may not add to this folder
    block-000000.rows     rows of the first documents, and the hash of their identifiers and texts
    block-000001.rows     ...

A block file is, in little-endian numbers::

    8 bytes     TWROWS01
    32 bytes    SHA-256 of everything after it
    32 bytes    SHA-256 of the documents
    u8, u8      number n of documents and m of weights
    i8 (n + 1)  row boundaries
    i4 (m)      terms
    f4 (m)      weights

It appears under its name once it is complete. A file that is truncated, damaged or of other documents counts as not
there: the block is encoded again.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from termwise.collection.writing import written_whole
from termwise.encode.documents import DocumentEncoder
from termwise.encode.storing import write_bytes_whole
from termwise.errors import ForeignFolderError, MissingFileError, ParameterError, StorageError, WeightError
from termwise.records import Document
from termwise.text import Vocabulary
from termwise.weights import TermWeights

NAME = "encoding.json"
FORMAT = "termwise-encoding"
VERSION = 1

STAGE = "encode documents"

Progress = Callable[[str, int, int | None], None]
"""Called with the name of a stage, how much of it is done, and its total where that is known."""

_MAGIC = b"TWROWS01"
_HEAD = struct.Struct("<32s32sQQ")


def silent(stage: str, done: int, total: int | None) -> None:
    """Report no progress."""


def encoded_blocks(
    documents: Iterable[Document],
    encoder: DocumentEncoder,
    folder: str | Path,
    *,
    shard: tuple[int, int] = (1, 1),
    length: int | None = None,
    progress: Progress = silent,
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
        If there is no such part.
    ForeignFolderError
        If the folder holds the work of another encoder or of other settings, or something else.
    StorageError
        If the folder cannot be written.
    """
    part, parts = shard
    if not 1 <= part <= parts:
        raise ParameterError(
            "a shard is a part of several, counted from 1",
            facts=[("given", f"{part}/{parts}"), ("expected", "1/4, 2/4, 3/4 or 4/4, for example")],
        )
    work = Path(folder)
    _claim(work, encoder)
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
    for number, block in enumerate(_lists(documents, encoder.block)):
        if number % parts == part:
            path = folder / f"block-{number:06d}.rows"
            hashed = _hash(block)
            rows = _read(path, hashed, len(block), encoder.vocabulary)
            if rows is None:
                heard = _told(progress, before, len(block), length)
                rows = encoder.encode_documents([document.text for document in block], advance=heard)
                _write(path, hashed, rows)
            yield block, rows
        before += len(block)
        progress(STAGE, before, length)


def _lists(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    following = iter(documents)
    while block := list(islice(following, size)):
        yield block


def _told(progress: Progress, before: int, size: int, length: int | None) -> Callable[[float], None]:
    return lambda share: progress(STAGE, before + int(share * size), length)


def _hash(documents: list[Document]) -> bytes:
    """Return the SHA-256 of identifiers and texts."""
    digest = hashlib.sha256()
    for document in documents:
        for text in (document.doc_id, document.text):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
    return digest.digest()


# --- the folder -------------------------------------------------------------------------------------------------


def _claim(folder: Path, encoder: DocumentEncoder) -> None:
    """Make sure that the folder is for the rows of this encoder."""
    path = folder / NAME
    ours: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "encoder": encoder.fingerprint,
        "vocabulary": encoder.vocabulary.id,
        "block": encoder.block,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        known = path.read_text() if path.exists() else None
        others = [entry.name for entry in folder.iterdir() if not _passing(entry.name)]
    except OSError as error:
        raise StorageError(
            "the work folder cannot be used",
            facts=[("folder", folder), ("reason", error.strerror or str(error))],
            fixes=["choose another folder"],
        ) from error
    except UnicodeDecodeError:
        known, others = "", [NAME]
    if known is None:
        if others:
            raise _foreign(folder, ("holds", ", ".join(sorted(others)[:3])))
        with written_whole(path) as write:
            body = {**ours, "description": encoder.description}
            write(json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        return
    try:
        found = json.loads(known)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _foreign(folder, (NAME, "not of termwise, or damaged"))
    differing = [key for key in ours if found.get(key) != ours[key]]
    if differing:
        raise ForeignFolderError(
            "the work folder holds rows of another encoder or of other settings",
            facts=[
                ("folder", folder),
                ("differs in", ", ".join(differing)),
                ("there", _summary(found.get("encoder"), found.get("description"))),
                ("here", _summary(encoder.fingerprint, encoder.description)),
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


def _summary(fingerprint: object, description: object) -> str:
    facts = description if isinstance(description, dict) else {}
    network = facts.get("network")
    precision = network.get("precision") if isinstance(network, dict) else None
    said = [
        str(value) for value in (facts.get("name"), precision, facts.get("settings")) if value is not None
    ]
    return ", ".join([*said, str(fingerprint)])


# --- one block --------------------------------------------------------------------------------------------------


def _write(path: Path, hashed: bytes, rows: TermWeights) -> None:
    body = b"".join(
        [
            struct.pack("<32sQQ", hashed, len(rows), rows.nnz),
            rows.indptr.astype("<i8").tobytes(),
            rows.terms.astype("<i4").tobytes(),
            rows.weights.astype("<f4").tobytes(),
        ]
    )
    write_bytes_whole(path, _MAGIC + hashlib.sha256(body).digest() + body)


def _read(path: Path, hashed: bytes, documents: int, vocabulary: Vocabulary) -> TermWeights | None:
    """Return the rows of a block, or None if the file is not there, damaged, or of other documents."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MissingFileError(
            "a block of encoded documents cannot be read",
            facts=[("file", path), ("system says", error.strerror)],
        ) from error
    start = len(_MAGIC) + _HEAD.size
    if len(data) < start or not data.startswith(_MAGIC):
        return None
    digest, seen, n, m = _HEAD.unpack_from(data, len(_MAGIC))
    whole = len(data) == start + 8 * (n + 1) + 8 * m
    if not whole or n != documents or seen != hashed:
        return None
    if hashlib.sha256(memoryview(data)[len(_MAGIC) + 32 :]).digest() != digest:
        return None
    ends = start + 8 * (n + 1), start + 8 * (n + 1) + 4 * m
    try:
        rows = TermWeights(
            np.frombuffer(data[start : ends[0]], dtype="<i8"),
            np.frombuffer(data[ends[0] : ends[1]], dtype="<i4"),
            np.frombuffer(data[ends[1] :], dtype="<f4"),
            vocabulary.id,
        )
    except WeightError:
        return None
    return rows if rows.terms.max(initial=-1) < len(vocabulary) else None
