"""The manifest of a scorer folder: what the network is, and the files it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from termwise.encode.manifest import TokenizerRecord, digest_of
from termwise.errors import CorruptModelError, ModelFormatError, ParameterError
from termwise.sealed_json import (
    Misfit,
    canonical_bytes,
    checksum_of,
    expect_digest,
    expect_file_name,
    expect_object,
    expect_text,
    expect_whole,
    unsealed,
)

NAME = "scorer.json"
FORMAT = "termwise-scorer"
VERSION = 1

AGAIN = ("copy the folder again, or train the network again",)
"""What to do with a damaged folder."""


@dataclass(frozen=True)
class FileRecord:
    """A file of the folder: SHA-256 and length in bytes."""

    sha256: str
    bytes: int

    @classmethod
    def of(cls, path: Path) -> FileRecord:
        """Describe a file as it is now."""
        return cls(digest_of(path), path.stat().st_size)


@dataclass(frozen=True, kw_only=True)
class ScorerManifest:
    """Everything a scorer folder says of itself.

    Attributes
    ----------
    kind : str
        What the network computes, see `termwise.rerank.folder.KINDS`.
    tokenizer : TokenizerRecord
        What cuts texts for it.
    reading : mapping
        What the network is, and how it reads: the fields of its configuration.
    files : mapping of str to FileRecord
        Configuration and weights by name.
    trained : mapping
        What is known of the training, free JSON; never read here.
    version : int
        Version of the format.
    """

    kind: str
    tokenizer: TokenizerRecord
    reading: Mapping[str, Any]
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
    def parse(cls, data: bytes, path: Path) -> ScorerManifest:
        """Read a manifest from its bytes, taking nothing on trust; `path` is named in errors.

        Raises
        ------
        ModelFormatError
            If it is not the manifest of a scorer, or was written by a later version.
        CorruptModelError
            If it is damaged.
        """
        try:
            body = unsealed(
                data,
                FORMAT,
                VERSION,
                foreign=lambda: ModelFormatError(
                    "this manifest does not belong to a scorer",
                    facts=[("file", path), ("expected", f'"format": "{FORMAT}"')],
                ),
                later=lambda version: ModelFormatError(
                    "this scorer was written by a later version of termwise",
                    facts=[("file", path), ("format", version), ("known here", VERSION)],
                    fixes=["pip install --upgrade termwise"],
                ),
            )
            return _manifest(body)
        except Misfit as misfit:
            raise damaged(path, misfit.expected, misfit.seen) from None


def damaged(path: Path, expected: object, seen: object) -> CorruptModelError:
    """Build the error for a damaged file of a scorer folder."""
    return CorruptModelError(
        "a file of the scorer is damaged",
        facts=[("file", path), ("expected", expected), ("seen", str(seen)[:200])],
        fixes=AGAIN,
    )


def _manifest(body: Mapping[str, Any]) -> ScorerManifest:
    names = {one.name for one in fields(ScorerManifest)}
    body = expect_object(body, names | {"format", "checksum"}, "manifest")
    for name in ("reading", "files", "trained"):
        if not isinstance(body[name], dict):
            raise Misfit(f"{name} as an object", type(body[name]).__name__)
    return ScorerManifest(
        kind=expect_text(body["kind"], "kind"),
        tokenizer=TokenizerRecord.parse(body["tokenizer"]),
        reading=body["reading"],
        files={
            expect_file_name(name): _file(value, f"files[{name!r}]") for name, value in body["files"].items()
        },
        trained=body["trained"],
        version=expect_whole(body["version"], "version", 1, VERSION),
    )


def _file(value: object, where: str) -> FileRecord:
    body = expect_object(value, {one.name for one in fields(FileRecord)}, where)
    return FileRecord(
        expect_digest(body["sha256"], f"{where}.sha256"),
        expect_whole(body["bytes"], f"{where}.bytes", 0, (1 << 63) - 1),
    )
