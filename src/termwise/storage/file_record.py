"""Records of files: SHA-256 and length, as manifests list them; fingerprints of texts, JSON and whole folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from termwise.fast_dataclass import dataclass
from termwise.storage.manifest_json import expect_digest, expect_file_name, expect_object, expect_whole
from termwise.storage.safe_read import MAX_BYTES

_NETWORK_SUFFIXES = (
    ".json",
    ".txt",
    ".model",
    ".metadata",
    ".safetensors",
    ".bin",
    ".pt",
    ".p",
    ".dnn",
    ".onnx",
)


@dataclass(frozen=True)
class FileRecord:
    """SHA-256 in hexadecimal digits and length in bytes of a file."""

    sha256: str
    bytes: int

    @classmethod
    def of(cls, path: Path) -> FileRecord:
        """Record a file on disk."""
        return cls(digest_of(path), path.stat().st_size)

    @classmethod
    def parse(cls, value: object, where: str) -> FileRecord:
        """Read a record from the JSON of a manifest, or raise `Misfit`."""
        body = expect_object(value, {"sha256", "bytes"}, where)
        return cls(
            expect_digest(body["sha256"], f"{where}.sha256"),
            expect_whole(body["bytes"], f"{where}.bytes", 0, MAX_BYTES),
        )

    @classmethod
    def parse_all(cls, values: Mapping[str, object], where: str = "files") -> dict[str, FileRecord]:
        """Read the records of a manifest by file name, or raise `Misfit`."""
        return {
            expect_file_name(name): cls.parse(value, f"{where}[{name!r}]") for name, value in values.items()
        }


def record_of(data: bytes) -> FileRecord:
    """Record a file with this content."""
    return FileRecord(hashlib.sha256(data).hexdigest(), len(data))


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_fingerprint(text: str) -> str:
    """Return ``sha256:`` and the digest of a text.

    Examples
    --------
    >>> text_fingerprint("")[:15]
    'sha256:e3b0c442'
    """
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def texts_fingerprint(texts: Iterable[str]) -> str:
    """Return ``sha256:`` and the digest of texts, each with its length, in order."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return f"sha256:{digest.hexdigest()}"


def json_fingerprint(value: object) -> str:
    """Return ``sha256:`` and the digest of JSON-like data with sorted keys."""
    return text_fingerprint(json.dumps(value, sort_keys=True))


def folder_fingerprint(folder: Path, *settings: object) -> str:
    """Return ``sha256:`` and a digest of a foreign folder, such as a sentence-transformers model.

    It covers all files except readmes and pictures, and the settings with which the model is used.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _NETWORK_SUFFIXES and path.is_file():
            digest.update(f"{path.relative_to(folder).as_posix()}\n".encode())
            digest.update(bytes.fromhex(digest_of(path)))
    return f"sha256:{digest.hexdigest()}"
