"""The manifest: the one small file that says which files make an index, and what they hold."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from termwise.errors import MissingFileError, NewerFormatError, NotAnIndexError
from termwise.index.container import VERSION, corrupt, storage_errors

NAME = "manifest.json"
FORMAT = "termwise-index"


@dataclass(frozen=True)
class FileRecord:
    """A file of the index: its name, length in bytes and SHA-256."""

    name: str
    length: int
    sha256: str


@dataclass(frozen=True)
class SegmentRecord:
    """One immutable part of the collection.

    Attributes
    ----------
    documents, postings : int
        Its size; the document bias is not counted as a posting.
    block_bits : int
        Blocks of the inverted view hold ``2**block_bits`` documents.
    views, ids, texts : FileRecord
        Postings in both directions; document identifiers; stored texts, where kept.
    """

    documents: int
    postings: int
    block_bits: int
    views: FileRecord
    ids: FileRecord
    texts: FileRecord | None = None


@dataclass(frozen=True)
class QuantiserRecord:
    """How weights became impacts, and what that cost.

    Attributes
    ----------
    kind : str
        ``"uint8"``: impacts 1 to 255; ``"float32"``: weights as they came, no inverted view.
    scale : float
        Weight of one impact unit.
    bias_bits : int
        The document bias is stored in units of ``scale / 2**bias_bits``.
    largest : float
        Largest weight seen.
    max_error, mean_error : float
        Absolute difference between a weight and what is stored, largest and mean.
    raised : int
        Weights below half a unit, stored as 1 so that no posting vanishes.
    dropped : int
        Weights of exactly 0, not stored.
    """

    kind: str
    scale: float
    bias_bits: int
    largest: float
    max_error: float
    mean_error: float
    raised: int
    dropped: int


@dataclass(frozen=True)
class Manifest:
    """Everything an index knows of itself.

    Attributes
    ----------
    documents, postings, terms : int
        Totals; the reserved background term is not counted among the terms.
    vocabulary : str
        `Vocabulary.id` of the terms.
    background : bool
        Whether documents carry a bias.
    encoder : mapping
        JSON-like description of model, analyzer and query side; the index stores it and never reads it.
    quantiser : QuantiserRecord
        How weights became impacts.
    terms_file : FileRecord
        Tokens and per-term numbers.
    segments : tuple of SegmentRecord
        Parts of the collection, in the order of the input.
    attachments : mapping of str to FileRecord
        Files the encoder brought along, such as a ``tokenizer.json``.
    written_by : str
        Program and version.
    """

    documents: int
    postings: int
    terms: int
    vocabulary: str
    background: bool
    encoder: Mapping[str, Any]
    quantiser: QuantiserRecord
    terms_file: FileRecord
    segments: tuple[SegmentRecord, ...]
    attachments: Mapping[str, FileRecord] = field(default_factory=dict)
    written_by: str = ""

    def files(self) -> Iterator[FileRecord]:
        """Yield all files the manifest refers to."""
        yield self.terms_file
        for segment in self.segments:
            yield segment.views
            yield segment.ids
            if segment.texts is not None:
                yield segment.texts
        yield from self.attachments.values()

    def to_bytes(self) -> bytes:
        """Serialise: sorted keys, two spaces, a checksum over everything else."""
        body: dict[str, Any] = {"format": FORMAT, "version": VERSION, **asdict(self)}
        body["checksum"] = _checksum(body)
        return _dump(body)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of an index folder.

        Raises
        ------
        MissingFileError
            If the folder does not exist or cannot be read.
        NotAnIndexError, NewerFormatError, CorruptIndexError
            If it is not an index, was written by a later version, or is damaged.
        """
        path = folder / NAME
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise _no_manifest(folder) from None
        except NotADirectoryError:
            raise NotAnIndexError(
                "this is a file, an index is a folder",
                facts=[("path", folder)],
                fixes=["termwise index COLLECTION --model bm25 --out DIR"],
            ) from None
        except OSError as error:
            raise MissingFileError(
                "the index cannot be read", facts=[("path", path), ("system says", error.strerror)]
            ) from error
        return cls.parse(data, path)

    @classmethod
    def parse(cls, data: bytes, path: Path) -> Manifest:
        """Read a manifest from its bytes; `path` is named in errors."""
        try:
            body = json.loads(data)
        except UnicodeDecodeError as error:
            raise corrupt(path, error.start, "UTF-8 text", "other bytes") from None
        except json.JSONDecodeError as error:
            raise corrupt(path, error.pos, "JSON", error.msg) from None
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise NotAnIndexError(
                "this manifest does not belong to a termwise index",
                facts=[("file", path), ("expected", f'"format": "{FORMAT}"')],
            )
        version = body.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise NewerFormatError(
                "this index was written by a later version of termwise",
                facts=[("file", path), ("format", version), ("known here", VERSION)],
                fixes=["pip install --upgrade termwise"],
            )
        if body.get("checksum") != _checksum(body) or _dump(body) != data:
            raise corrupt(path, 0, "a manifest that matches its checksum", "one that does not")
        return _from_json(body)


def publish(folder: Path, manifest: Manifest) -> None:
    """Make `manifest` the current one of `folder`, in one atomic step that survives a crash."""
    temporary = folder / f"{NAME}.new"
    with storage_errors(temporary):
        with temporary.open("wb") as file:
            file.write(manifest.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / NAME)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Flush the names of a folder to the disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with storage_errors(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _no_manifest(folder: Path) -> MissingFileError | NotAnIndexError:
    build = "termwise index COLLECTION --model bm25 --out " + str(folder)
    if not folder.exists():
        return MissingFileError("there is no such index", facts=[("path", folder)], fixes=[build])
    if any(folder.glob(".build-*")):
        return NotAnIndexError(
            "an index was begun here but never finished", facts=[("path", folder)], fixes=[build]
        )
    return NotAnIndexError(
        "this folder holds no index", facts=[("path", folder), ("missing", NAME)], fixes=[build]
    )


def _checksum(body: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in body.items() if key != "checksum"}
    return "sha256:" + hashlib.sha256(_dump(rest)).hexdigest()


def _dump(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _from_json(body: Mapping[str, Any]) -> Manifest:
    def file(value: Mapping[str, Any]) -> FileRecord:
        return FileRecord(value["name"], value["length"], value["sha256"])

    segments = tuple(
        SegmentRecord(
            documents=segment["documents"],
            postings=segment["postings"],
            block_bits=segment["block_bits"],
            views=file(segment["views"]),
            ids=file(segment["ids"]),
            texts=None if segment["texts"] is None else file(segment["texts"]),
        )
        for segment in body["segments"]
    )
    quantiser = QuantiserRecord(**body["quantiser"])
    return Manifest(
        documents=body["documents"],
        postings=body["postings"],
        terms=body["terms"],
        vocabulary=body["vocabulary"],
        background=body["background"],
        encoder=body["encoder"],
        quantiser=replace(quantiser, scale=float(quantiser.scale)),
        terms_file=file(body["terms_file"]),
        segments=segments,
        attachments={name: file(value) for name, value in body["attachments"].items()},
        written_by=body["written_by"],
    )
