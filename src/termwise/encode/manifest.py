"""The manifest of an encoder folder: what the network computes, and what it takes to run it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast

from termwise.errors import CorruptModelError, ModelFormatError, ParameterError
from termwise.models.tildev2 import Counting
from termwise.sealed_json import (
    Misfit,
    canonical_bytes,
    checksum_of,
    expect_choice,
    expect_digest,
    expect_file_name,
    expect_object,
    expect_text,
    expect_whole,
    unsealed,
)
from termwise.text import AnalyzerSpec, CleanMode

NAME = "encoder.json"
FORMAT = "termwise-encoder"
VERSION = 1

Kind = Literal["tilde", "tildev2", "splade-doc"]
Precision = Literal["float32", "int8"]

KINDS: tuple[Kind, ...] = ("tilde", "tildev2", "splade-doc")
PRECISIONS: tuple[Precision, ...] = ("float32", "int8")

MAX_TERMS = (1 << 31) - 1
MAX_POSITIONS = 1 << 16

_CLEANINGS = ("paper", "repo", "none")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class TokenizerRecord:
    """The analyzer that cuts text into the pieces the network reads.

    Attributes
    ----------
    name : str
        Its registered name, ``wordpiece``.
    options : mapping
        Its settings, such as the shipped vocabulary it uses.
    files : tuple of str
        Files of the folder that it is made from: ``tokenizer.json``, or none.
    fingerprint : str
        `AnalyzerSpec.fingerprint`.
    """

    name: str
    options: Mapping[str, Any]
    files: tuple[str, ...]
    fingerprint: str

    @classmethod
    def of(cls, spec: AnalyzerSpec) -> TokenizerRecord:
        """Describe an analyzer whose files are kept in the folder under the same names."""
        return cls(spec.name, dict(spec.options), tuple(sorted(spec.files)), spec.fingerprint)

    @classmethod
    def parse(cls, value: object) -> TokenizerRecord:
        """Read a record from the JSON of a manifest.

        Raises
        ------
        Misfit
            If it is something else.
        """
        body = expect_object(value, {one.name for one in fields(cls)}, "tokenizer")
        if not isinstance(body["options"], dict):
            raise Misfit("tokenizer.options as an object", type(body["options"]).__name__)
        if not isinstance(body["files"], list):
            raise Misfit("tokenizer.files as an array", type(body["files"]).__name__)
        return cls(
            name=expect_text(body["name"], "tokenizer.name"),
            options=body["options"],
            files=tuple(expect_file_name(name) for name in body["files"]),
            fingerprint=expect_text(body["fingerprint"], "tokenizer.fingerprint"),
        )


@dataclass(frozen=True)
class SpecialIds:
    """Numbers of the pieces that stand for something other than text.

    Attributes
    ----------
    document, query : int
        Markers in position 0 of a document and of a query, for the kind tilde; for the others that is `cls`.
    cls, sep, pad : int
        Start of the input, separator, and what fills the end of shorter inputs.
    """

    document: int
    query: int
    cls: int
    sep: int
    pad: int


@dataclass(frozen=True)
class ExpansionRecord:
    """How documents of a network of kind tildev2 are expanded where nothing else is said.

    That is as passages were in training, unless another number of terms was chosen for documents since.

    Attributes
    ----------
    terms : int
        How many terms.
    counting : {"new", "raw"}
        What that number counts, see `expand`.
    length : int
        Pieces that the expanding encoder reads at once, the two special ones included.
    encoder, name : str
        `EncoderFolder.id` of the encoder that expands, and what it was called.
    """

    terms: int
    counting: Counting
    length: int
    encoder: str
    name: str


@dataclass(frozen=True)
class FileRecord:
    """A file of the folder: SHA-256, length in bytes and, for a network, the precision of its arithmetic."""

    sha256: str
    bytes: int
    precision: Precision | None = None

    @classmethod
    def of(cls, path: Path, *, precision: Precision | None = None) -> FileRecord:
        """Describe a file as it is now."""
        return cls(digest_of(path), path.stat().st_size, precision)


@dataclass(frozen=True, kw_only=True)
class EncoderManifest:
    """Everything an encoder folder says of itself.

    Attributes
    ----------
    kind : {"tilde", "tildev2", "splade-doc"}
        What the network computes.
    tokenizer : TokenizerRecord
        What cuts text for it.
    terms : int
        Size of the vocabulary.
    cleaning : {"paper", "repo", "none"}
        Terms that take part, see `clean_vocabulary`.
    special : SpecialIds
        Pieces that are not text.
    positions : int
        Most pieces that the network can read, special ones included.
    length : int
        Pieces of a window at index time where nothing else is said, the two special ones included; at most
        `positions`.
    expansion : ExpansionRecord or None
        Kind tildev2: the expansion it was trained with.
    files : mapping of str to FileRecord
        Networks and floors by name.
    trained : mapping
        What is known of the training, free JSON; never read here.
    version : int
        Version of the format.
    """

    kind: Kind
    tokenizer: TokenizerRecord
    terms: int
    cleaning: CleanMode
    special: SpecialIds
    positions: int
    length: int
    expansion: ExpansionRecord | None
    files: Mapping[str, FileRecord]
    trained: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    def to_bytes(self) -> bytes:
        """Serialise: JSON with sorted keys, an indent of two spaces and a checksum over everything else.

        Raises
        ------
        ParameterError
            If JSON cannot hold what `trained` says.
        """
        body: dict[str, Any] = {"format": FORMAT, **asdict(self)}
        try:
            return canonical_bytes({**body, "checksum": checksum_of(body)})
        except (TypeError, ValueError, RecursionError) as error:
            raise ParameterError(
                "the description of the training cannot be written as JSON", facts=[("why", error)]
            ) from None

    @classmethod
    def parse(cls, data: bytes, path: Path) -> EncoderManifest:
        """Read a manifest from its bytes, taking nothing on trust; `path` is named in errors.

        Raises
        ------
        ModelFormatError
            If it is not the manifest of an encoder, or was written by a later version.
        CorruptModelError
            If it is damaged.
        """
        try:
            body = unsealed(
                data,
                FORMAT,
                VERSION,
                foreign=lambda: ModelFormatError(
                    "this manifest does not belong to an encoder",
                    facts=[("file", path), ("expected", f'"format": "{FORMAT}"')],
                ),
                later=lambda version: ModelFormatError(
                    "this encoder was written by a later version of termwise",
                    facts=[("file", path), ("format", version), ("known here", VERSION)],
                    fixes=["pip install --upgrade termwise"],
                ),
            )
            return _manifest(body)
        except Misfit as misfit:
            raise corrupt(path, misfit.expected, misfit.seen) from None

    def networks(self) -> dict[Precision, str]:
        """Return the file of each precision there is."""
        return {record.precision: name for name, record in self.files.items() if record.precision is not None}


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            digest.update(data)
    return digest.hexdigest()


def corrupt(path: Path, expected: str, seen: object) -> CorruptModelError:
    """Build the error for a damaged manifest."""
    return CorruptModelError(
        "the manifest of the encoder is damaged",
        facts=[("file", path), ("expected", expected), ("seen", str(seen)[:200])],
        fixes=["copy the folder again, or export the encoder again"],
    )


def _manifest(body: Mapping[str, Any]) -> EncoderManifest:
    body = expect_object(
        body, {one.name for one in fields(EncoderManifest)} | {"format", "checksum"}, "manifest"
    )
    version = expect_whole(body["version"], "version", 1, VERSION)
    terms = expect_whole(body["terms"], "terms", 1, MAX_TERMS)
    positions = expect_whole(body["positions"], "positions", 3, MAX_POSITIONS)
    kind = cast(Kind, expect_choice(body["kind"], "kind", KINDS))
    for name in ("files", "trained"):
        if not isinstance(body[name], dict):
            raise Misfit(f"{name} as an object", type(body[name]).__name__)
    expansion = body["expansion"]
    if expansion is not None and kind != "tildev2":
        raise Misfit("an expansion for the kind tildev2 only", kind)
    manifest = EncoderManifest(
        kind=kind,
        tokenizer=TokenizerRecord.parse(body["tokenizer"]),
        terms=terms,
        cleaning=cast(CleanMode, expect_choice(body["cleaning"], "cleaning", _CLEANINGS)),
        special=_special(body["special"], terms),
        positions=positions,
        length=expect_whole(body["length"], "length", 3, positions),
        expansion=None if expansion is None else _expansion(expansion),
        files={
            expect_file_name(name): _file(value, f"files[{name!r}]") for name, value in body["files"].items()
        },
        trained=body["trained"],
        version=version,
    )
    precisions = [record.precision for record in manifest.files.values() if record.precision is not None]
    if not precisions or len(set(precisions)) != len(precisions):
        raise Misfit("files with one network, or one of each precision", ", ".join(precisions) or "none")
    return manifest


def _special(value: object, terms: int) -> SpecialIds:
    names = [one.name for one in fields(SpecialIds)]
    body = expect_object(value, set(names), "special")
    return SpecialIds(**{name: expect_whole(body[name], f"special.{name}", 0, terms - 1) for name in names})


def _expansion(value: object) -> ExpansionRecord:
    body = expect_object(value, {one.name for one in fields(ExpansionRecord)}, "expansion")
    return ExpansionRecord(
        terms=expect_whole(body["terms"], "expansion.terms", 1, MAX_POSITIONS),
        counting=cast(Counting, expect_choice(body["counting"], "expansion.counting", ("new", "raw"))),
        length=expect_whole(body["length"], "expansion.length", 3, MAX_POSITIONS),
        encoder=expect_text(body["encoder"], "expansion.encoder"),
        name=expect_text(body["name"], "expansion.name"),
    )


def _file(value: object, where: str) -> FileRecord:
    if isinstance(value, dict):
        value = {"precision": None, **value}
    body = expect_object(value, {one.name for one in fields(FileRecord)}, where)
    digest = expect_digest(body["sha256"], f"{where}.sha256")
    precision = body["precision"]
    if precision is not None:
        precision = expect_choice(precision, f"{where}.precision", PRECISIONS)
    size = expect_whole(body["bytes"], f"{where}.bytes", 0, (1 << 63) - 1)
    return FileRecord(digest, size, cast("Precision | None", precision))
