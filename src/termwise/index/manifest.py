"""The manifest: the one small file that says which files make an index, and what they hold."""

from __future__ import annotations

import errno
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from termwise.errors import MissingFileError, NewerFormatError, NotAnIndexError, ParameterError
from termwise.index.container import VERSION, closing_quietly, corrupt, open_index_file, storage_errors
from termwise.storage.manifest_json import Misfit, canonical_bytes, checksum_of, expect_object, expect_whole
from termwise.storage.model_folder import kind_of

NAME = "manifest.json"
NEW = "manifest.json.new"
FORMAT = "termwise-index"

BUILD = ".termwise-build-"
"""Start of the name of the folder in which a build keeps its files until they are published."""

FILE = re.compile(r"(?:(?:terms|segment|ids|texts)-[0-9a-f]{16}\.tw|attachment-[0-9a-f]{16}\.bin)")
"""Names of the files of an index: their kind and the beginning of their SHA-256."""

BLOCK_BITS = 8
"""Blocks of the inverted view hold 256 documents."""

MAX_DOCUMENTS = 1 << 24
"""Documents of one segment: 65,536 blocks of 256."""

MAX_POSTINGS = (1 << 32) - 1
"""Postings of one segment."""

MAX_TERMS = (1 << 31) - 1
"""Terms of an index, so that all term numbers fit a signed 32-bit integer."""

MAX_BIAS_BITS = 8
"""The document bias is at most this many bits finer than the impacts."""

MAX_MANIFEST = 256_000_000
"""Largest size of a manifest in bytes."""

MIN_SCALE, MAX_SCALE = 2.0**-160, 2.0**128
"""Bounds of the scale of a quantiser; weights are float32, so a writer stays within them."""

_BUILDING = "build an index: `build_index(out={})`"


def file_name(kind: str, sha256: str) -> str:
    """Return the name of a file of the index: its kind and the beginning of its SHA-256."""
    return f"{kind}-{sha256[:16]}.{'bin' if kind == 'attachment' else 'tw'}"


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
        Absolute difference between a term weight and what is stored, largest and mean.
    bias_error : float
        Largest absolute difference between a document bias and what is stored.
    raised : int
        Weights of at most half a unit, stored as 1 so that no posting vanishes.
    dropped : int
        Term weights of exactly 0, not stored.
    """

    kind: str
    scale: float
    bias_bits: int
    largest: float
    max_error: float
    mean_error: float
    bias_error: float
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
    version : int
        Version of the format the index was written in.
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
    version: int = VERSION
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
        body: dict[str, Any] = {"format": FORMAT, **asdict(self)}
        body["checksum"] = checksum_of(body)
        return canonical_bytes(body)

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
            with open_index_file(path, MAX_MANIFEST) as file:
                data = file.read()
        except FileNotFoundError:
            raise _no_manifest(folder) from None
        except NotADirectoryError:
            raise NotAnIndexError(
                "this is a file, an index is a folder",
                facts=[("path", folder)],
                fixes=[_BUILDING.format("DIR")],
            ) from None
        except OSError as error:
            raise MissingFileError(
                "the index cannot be read", facts=[("path", path), ("reason", error.strerror)]
            ) from error
        return cls.parse(data, path)

    @classmethod
    def parse(cls, data: bytes, path: Path) -> Manifest:
        """Read a manifest from its bytes; `path` is named in errors."""
        try:
            body = json.loads(data.decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError as error:
            raise corrupt(path, error.start, "UTF-8 text", "other bytes") from None
        except json.JSONDecodeError as error:
            raise corrupt(path, error.pos, "JSON", error.msg) from None
        except (ValueError, RecursionError) as error:
            raise corrupt(path, 0, "JSON", error) from None
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise NotAnIndexError(
                "this manifest does not belong to a termwise index",
                facts=[("file", path), ("expected", f'"format": "{FORMAT}"')],
            )
        version = body.get("version")
        if type(version) is int and version > VERSION:
            raise NewerFormatError(
                "this index was written by a later version of termwise",
                facts=[("file", path), ("format", version), ("known here", VERSION)],
                fixes=["pip install --upgrade termwise"],
            )
        try:
            intact = body.get("checksum") == checksum_of(body) and canonical_bytes(body) == data
        except (ValueError, RecursionError):
            intact = False  # numbers no manifest holds
        if not intact:
            raise corrupt(path, 0, "a manifest that matches its checksum", "one that does not")
        try:
            return _manifest(body)
        except Misfit as misfit:
            raise corrupt(path, 0, misfit.expected, misfit.seen) from None


def publish(folder: Path, manifest: Manifest) -> None:
    """Make `manifest` the current one of `folder`, in one atomic step that survives a crash."""
    temporary = folder / NEW
    with storage_errors(temporary):
        try:
            with closing_quietly(temporary.open("wb")) as file:
                file.write(manifest.to_bytes())
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(folder / NAME)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Flush the names of a folder to the disk, where the file system can."""
    with storage_errors(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(descriptor)


def json_copy(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description as it will be read back from a manifest.

    Raises
    ------
    ParameterError
        If JSON cannot hold it.
    """
    try:
        copy: dict[str, Any] = json.loads(canonical_bytes(dict(description)).decode("utf-8", "surrogatepass"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            "the description of the encoder cannot be written as JSON", facts=[("reason", error)]
        ) from None
    return copy


def _no_manifest(folder: Path) -> MissingFileError | NotAnIndexError:
    build = _BUILDING.format(folder)
    if not folder.exists():
        return MissingFileError("there is no such index", facts=[("path", folder)], fixes=[build])
    if any(folder.glob(f"{BUILD}*")):
        return NotAnIndexError(
            "an index was begun here but never finished", facts=[("path", folder)], fixes=[build]
        )
    if (kind := kind_of(folder)) is not None:
        return NotAnIndexError(
            f"this folder is {kind.noun}, not an index",
            facts=[("path", folder), ("found", kind.manifest), ("missing", NAME)],
            fixes=kind.uses,
        )
    if any(folder.glob("*")):
        build = _BUILDING.format("DIR")
    return NotAnIndexError(
        "this folder holds no index", facts=[("path", folder), ("missing", NAME)], fixes=[build]
    )


def _manifest(body: Mapping[str, Any]) -> Manifest:
    """Build a manifest from JSON, taking nothing on trust."""
    names = {one.name for one in fields(Manifest)} | {"format", "checksum"}
    body = expect_object(body, names, "manifest")
    version = expect_whole(body["version"], "version", 1, VERSION)
    if not isinstance(body["segments"], list) or not body["segments"]:
        raise Misfit("segments, at least one", body["segments"])
    segments = tuple(_segment(value, f"segments[{i}]") for i, value in enumerate(body["segments"]))
    for name in ("encoder", "attachments"):
        if not isinstance(body[name], dict):
            raise Misfit(f"{name} as an object", type(body[name]).__name__)
    return Manifest(
        documents=_sum(body, "documents", [segment.documents for segment in segments]),
        postings=_sum(body, "postings", [segment.postings for segment in segments]),
        terms=expect_whole(body["terms"], "terms", 0, MAX_TERMS),
        vocabulary=_text(body["vocabulary"], "vocabulary"),
        background=_flag(body["background"], "background"),
        encoder=body["encoder"],
        quantiser=_quantiser(body["quantiser"]),
        terms_file=_file(body["terms_file"], "terms_file", "terms"),
        segments=segments,
        attachments={
            name: _file(value, f"attachments[{name!r}]", "attachment")
            for name, value in body["attachments"].items()
        },
        version=version,
        written_by=_text(body["written_by"], "written_by"),
    )


def _segment(value: object, where: str) -> SegmentRecord:
    body = expect_object(value, {one.name for one in fields(SegmentRecord)}, where)
    return SegmentRecord(
        documents=expect_whole(body["documents"], f"{where}.documents", 1, MAX_DOCUMENTS),
        postings=expect_whole(body["postings"], f"{where}.postings", 0, MAX_POSTINGS),
        block_bits=expect_whole(body["block_bits"], f"{where}.block_bits", BLOCK_BITS, BLOCK_BITS),
        views=_file(body["views"], f"{where}.views", "segment"),
        ids=_file(body["ids"], f"{where}.ids", "ids"),
        texts=None if body["texts"] is None else _file(body["texts"], f"{where}.texts", "texts"),
    )


def _quantiser(value: object) -> QuantiserRecord:
    body = expect_object(value, {one.name for one in fields(QuantiserRecord)}, "quantiser")
    kind = _text(body["kind"], "quantiser.kind")
    if kind not in ("uint8", "float32"):
        raise Misfit("a quantiser of kind uint8 or float32", kind)
    scale = _real(body["scale"], "quantiser.scale")
    if not MIN_SCALE <= scale <= MAX_SCALE:
        raise Misfit(f"a quantiser.scale from {MIN_SCALE:g} to {MAX_SCALE:g}", scale)
    return QuantiserRecord(
        kind=kind,
        scale=scale,
        bias_bits=expect_whole(body["bias_bits"], "quantiser.bias_bits", 0, MAX_BIAS_BITS),
        largest=_real(body["largest"], "quantiser.largest"),
        max_error=_real(body["max_error"], "quantiser.max_error"),
        mean_error=_real(body["mean_error"], "quantiser.mean_error"),
        bias_error=_real(body["bias_error"], "quantiser.bias_error"),
        raised=expect_whole(body["raised"], "quantiser.raised", 0),
        dropped=expect_whole(body["dropped"], "quantiser.dropped", 0),
    )


def _file(value: object, where: str, kind: str) -> FileRecord:
    body = expect_object(value, {one.name for one in fields(FileRecord)}, where)
    digest = _text(body["sha256"], f"{where}.sha256")
    name = _text(body["name"], f"{where}.name")
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise Misfit(f"{where}.sha256 of 64 hexadecimal digits", digest)
    if name != file_name(kind, digest):
        raise Misfit(f"{where}.name {file_name(kind, digest)}", name)
    return FileRecord(name, expect_whole(body["length"], f"{where}.length", 0), digest)


def _sum(body: Mapping[str, Any], name: str, parts: list[int]) -> int:
    if type(body[name]) is not int or body[name] != sum(parts):
        raise Misfit(f"{sum(parts)} {name}, as many as the segments hold together", body[name])
    return sum(parts)


def _real(value: object, where: str) -> float:
    if type(value) is not float or not 0 <= value < math.inf:
        raise Misfit(f"{where} as a number of 0 or more", value)
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise Misfit(f"{where} as a string", value)
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise Misfit(f"{where} as true or false", value)
    return value
