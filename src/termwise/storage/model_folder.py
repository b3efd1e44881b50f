"""What folders of trained models have in common: a sealed manifest, the files it vouches for, an analyzer.

Encoders, translation tables and scorers each have a module for their manifest and one for their folder. Those say what
is in it; how it is sealed, read and compared, and how damage is told, is said here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from termwise.display.safe_text import short_digest
from termwise.errors import (
    CorruptModelError,
    DataError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UsageError,
    VocabularyMismatchError,
)
from termwise.storage.folder_kind import other_kind
from termwise.storage.manifest_json import (
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
from termwise.storage.safe_read import read_regular, regular_size
from termwise.text import Analyzer, AnalyzerSpec

TRAINING = "training"
"""Folder inside the folder of a model in which its training keeps settings, log and state."""

MAX_MANIFEST = 1 << 24
"""Bytes of a manifest; what is longer is not read."""

MAX_ANALYZER = 1 << 27
"""Bytes of a file of the analyzer."""

MAX_BYTES = (1 << 63) - 1
"""Bytes of any file, as a manifest counts them."""

_CHUNK = 1 << 20

_OF_NETWORKS = (
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

_Made = TypeVar("_Made", bound=Analyzer)
_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True)
class FileRecord:
    """A file of a folder: SHA-256 and length in bytes."""

    sha256: str
    bytes: int

    @classmethod
    def of(cls, path: Path) -> FileRecord:
        """Describe a file as it is now."""
        return cls(digest_of(path), path.stat().st_size)

    @classmethod
    def parse(cls, value: object, where: str) -> FileRecord:
        """Read a record from the JSON of a manifest, or raise `Misfit`."""
        body = expect_object(value, {one.name for one in fields(FileRecord)}, where)
        return cls(
            expect_digest(body["sha256"], f"{where}.sha256"),
            expect_whole(body["bytes"], f"{where}.bytes", 0, MAX_BYTES),
        )


@dataclass(frozen=True)
class AnalyzerRecord:
    """What cuts text for a model.

    Attributes
    ----------
    name : str
        Its registered name, such as ``wordpiece``.
    options : mapping
        Its settings, such as the shipped vocabulary it uses.
    files : tuple of str
        Files of the folder that it is made from, or none.
    fingerprint : str
        `AnalyzerSpec.fingerprint`.
    """

    name: str
    options: Mapping[str, Any]
    files: tuple[str, ...]
    fingerprint: str

    @classmethod
    def of(cls, spec: AnalyzerSpec) -> AnalyzerRecord:
        """Describe an analyzer whose files are kept in the folder under the same names."""
        return cls(spec.name, dict(spec.options), tuple(sorted(spec.files)), spec.fingerprint)

    @classmethod
    def parse(cls, value: object, where: str) -> AnalyzerRecord:
        """Read a record from the JSON of a manifest, or raise `Misfit`."""
        body = expect_object(value, {one.name for one in fields(cls)}, where)
        expect_objects(body, ("options",), f"{where}.")
        if not isinstance(body["files"], list):
            raise Misfit(f"{where}.files as an array", type(body["files"]).__name__)
        return cls(
            name=expect_text(body["name"], f"{where}.name"),
            options=body["options"],
            files=tuple(expect_file_name(name) for name in body["files"]),
            fingerprint=expect_text(body["fingerprint"], f"{where}.fingerprint"),
        )


@dataclass(frozen=True)
class ModelFolders:
    """Folders of one kind of model.

    Attributes
    ----------
    an : str
        What errors call the model, with its article: ``a translation table``.
    format, version : str and int
        What its manifest says it is, and the latest version that is known.
    again : tuple of str
        What to do with a damaged folder.
    """

    an: str
    format: str
    version: int
    again: tuple[str, ...]

    @property
    def noun(self) -> str:
        """What errors call the model, without its article."""
        return self.an.partition(" ")[2]

    def sealed(self, body: Mapping[str, Any]) -> bytes:
        """Serialise a manifest: JSON with sorted keys, an indent of two spaces and a checksum over everything else.

        Raises
        ------
        ParameterError
            If JSON cannot hold what it says of itself.
        """
        body = {"format": self.format, **body}
        try:
            return canonical_bytes({**body, "checksum": checksum_of(body)})
        except (TypeError, ValueError, RecursionError) as error:
            raise ParameterError(
                f"the description of the {self.noun} cannot be written as JSON", facts=[("why", error)]
            ) from None

    def parsed(self, data: bytes, path: Path, parse: Callable[[Mapping[str, Any]], _Parsed]) -> _Parsed:
        """Read a manifest from its bytes, taking nothing on trust.

        Parameters
        ----------
        data : bytes
            What was read.
        path : Path
            Named in errors.
        parse : callable
            Makes the manifest of an object that matches its checksum, or raises `Misfit`.

        Raises
        ------
        ModelFormatError
            If it is not the manifest of such a model, or was written by a later version.
        CorruptModelError
            If it is damaged.
        """
        try:
            return parse(
                unsealed(
                    data,
                    self.format,
                    self.version,
                    foreign=lambda: ModelFormatError(
                        f"this manifest does not belong to {self.an}",
                        facts=[("file", path), ("expected", f'"format": "{self.format}"')],
                    ),
                    later=lambda version: ModelFormatError(
                        f"this {self.noun} was written by a later version of termwise",
                        facts=[("file", path), ("format", version), ("known here", self.version)],
                        fixes=["pip install --upgrade termwise"],
                    ),
                )
            )
        except Misfit as misfit:
            raise self.damaged(path, misfit.expected, misfit.seen) from None

    def manifest_bytes(
        self, path: Path, *, missing: Callable[[], MissingFileError], other: Callable[[], ModelFormatError]
    ) -> bytes:
        """Return the bytes of a manifest.

        Parameters
        ----------
        path : Path
            Of the manifest.
        missing, other : callable
            Make the error for a folder that is not there, and for one that holds neither a model nor a training.

        Raises
        ------
        MissingFileError
            If there is no such folder, or the file cannot be read.
        ModelFormatError
            If it is not the folder of such a model, or its training is not finished.
        CorruptModelError
            If the file is too long or not a regular file.
        """
        folder = path.parent
        try:
            return read_regular(path, MAX_MANIFEST)
        except Misfit as misfit:
            raise self.damaged(path, misfit.expected, misfit.seen) from None
        except FileNotFoundError:
            if not folder.exists():
                raise missing() from None
            raise other_kind(folder, path.name) or _unfinished(folder, path.name) or other() from None
        except NotADirectoryError:
            raise ModelFormatError(
                f"this is a file, {self.an} is a folder",
                facts=[("path", folder)],
                fixes=[f"name the folder that holds {path.name}"],
            ) from None
        except OSError as error:
            raise self.unreadable(path, error) from error

    def damaged(self, path: Path, expected: object, seen: object) -> CorruptModelError:
        """Build the error for a damaged file."""
        return CorruptModelError(
            f"a file of the {self.noun} is damaged",
            facts=[("file", path), ("expected", expected), ("seen", str(seen)[:200])],
            fixes=self.again,
        )

    def unreadable(self, path: Path, error: OSError) -> MissingFileError:
        """Build the error for a file that the system does not give."""
        return MissingFileError(
            f"a file of the {self.noun} cannot be read",
            facts=[("file", path), ("system says", error.strerror)],
            fixes=self.again,
        )

    def read(self, path: Path, most: int) -> bytes:
        """Return the bytes of a file, at most so many; one that is longer, or not a file, is damaged."""
        try:
            return read_regular(path, most)
        except Misfit as misfit:
            raise self.damaged(path, misfit.expected, misfit.seen) from None
        except OSError as error:
            raise self.unreadable(path, error) from error

    def read_recorded(self, path: Path, record: FileRecord) -> bytes:
        """Return the bytes of a file, compared with its record."""
        data = self.read(path, record.bytes)
        self._compare(path, record, record_of(data))
        return data

    def check_recorded(self, path: Path, record: FileRecord, most: int) -> None:
        """Compare a file with its record, a part at a time; nothing is read of one of another length."""
        try:
            size = regular_size(path, most)
            digest = digest_of(path) if size == record.bytes else ""
        except Misfit as misfit:
            raise self.damaged(path, misfit.expected, misfit.seen) from None
        except OSError as error:
            raise self.unreadable(path, error) from error
        self._compare(path, record, FileRecord(digest, size))

    def _compare(self, path: Path, record: FileRecord, found: FileRecord) -> None:
        if found.bytes != record.bytes:
            raise self.damaged(path, f"{record.bytes} bytes", f"{found.bytes} bytes")
        if found.sha256 != record.sha256:
            expected, seen = (f"sha256:{one.sha256}" for one in (record, found))
            raise self.damaged(path, short_digest(expected), short_digest(seen))

    def analyzer(self, folder: Path, record: AnalyzerRecord, make: Callable[[AnalyzerSpec], _Made]) -> _Made:
        """Make the analyzer of a folder.

        Parameters
        ----------
        folder : Path
            Where its files lie.
        record : AnalyzerRecord
            What the manifest says of it.
        make : callable
            Makes an analyzer of its specification.

        Raises
        ------
        MissingFileError, CorruptModelError
            If a file of it cannot be read, or it is another one than it was.
        ModelFormatError
            If it cannot be used.
        """
        files = {name: self.read(folder / name, MAX_ANALYZER) for name in record.files}
        spec = AnalyzerSpec(record.name, record.options, files)
        if spec.fingerprint != record.fingerprint:
            raise CorruptModelError(
                f"the analyzer of the {self.noun} was changed",
                facts=[
                    ("folder", folder),
                    ("files", ", ".join(record.files) or "none"),
                    ("fingerprint", short_digest(spec.fingerprint)),
                    ("expected", short_digest(record.fingerprint)),
                ],
                fixes=self.again,
            )
        try:
            return make(spec)
        except VocabularyMismatchError:
            raise
        except (DataError, UsageError) as error:
            raise ModelFormatError(
                f"the analyzer of the {self.noun} cannot be used",
                facts=[("folder", folder), *error.facts],
                fixes=error.fixes,
            ) from error


def _unfinished(folder: Path, manifest: str) -> ModelFormatError | None:
    """Build the error for a folder whose manifest is still to be written; None where nothing is trained in it."""
    if not (folder / TRAINING).is_dir():
        return None
    return ModelFormatError(
        "the training in this folder is not finished",
        facts=[("path", folder), ("missing", manifest)],
        fixes=["go on with it: the same command with --resume"],
    )


def record_of(data: bytes) -> FileRecord:
    """Describe a file with this content."""
    return FileRecord(hashlib.sha256(data).hexdigest(), len(data))


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            digest.update(data)
    return digest.hexdigest()


def expect_objects(body: Mapping[str, Any], names: tuple[str, ...], prefix: str = "") -> None:
    """Raise `Misfit` where a value is not a JSON object."""
    for name in names:
        if not isinstance(body[name], dict):
            raise Misfit(f"{prefix}{name} as an object", type(body[name]).__name__)


def folder_fingerprint(folder: Path, *said: object) -> str:
    """Return ``sha256:`` and a digest of a folder that keeps no manifest of ours, such as one of sentence-transformers.

    Parameters
    ----------
    folder : Path
        All its files but readmes and pictures count.
    *said : object
        What else tells one use of the folder from another.
    """
    found = hashlib.sha256(repr(said).encode())
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _OF_NETWORKS and path.is_file():
            found.update(f"{path.relative_to(folder).as_posix()}\n".encode())
            with path.open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{found.hexdigest()}"
