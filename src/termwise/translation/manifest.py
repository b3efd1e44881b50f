"""The manifest of a table folder: what the table is, and the files it is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from termwise.errors import CorruptModelError, ModelFormatError, ParameterError
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
from termwise.text import AnalyzerSpec
from termwise.translation.table import KINDS, Kind

NAME = "translation.json"
FORMAT = "termwise-translation"
VERSION = 1

Precision = Literal["float32", "float16"]

PRECISIONS: tuple[Precision, ...] = get_args(Precision)

MAX_TERMS = (1 << 31) - 1
MAX_BYTES = (1 << 63) - 1

AGAIN = ("copy the folder again, or train the table again",)
"""What to do with a damaged folder."""


@dataclass(frozen=True)
class AnalyzerRecord:
    """How documents and queries are cut: name and options, the files kept in the folder, `AnalyzerSpec.fingerprint`."""

    name: str
    options: Mapping[str, Any]
    files: tuple[str, ...]
    fingerprint: str

    @classmethod
    def of(cls, spec: AnalyzerSpec) -> AnalyzerRecord:
        """Describe an analyzer whose files are kept in the folder under the same names."""
        return cls(spec.name, dict(spec.options), tuple(sorted(spec.files)), spec.fingerprint)


@dataclass(frozen=True)
class FileRecord:
    """A file of the folder: SHA-256 and length in bytes."""

    sha256: str
    bytes: int


def record_of(data: bytes) -> FileRecord:
    """Describe a file with this content."""
    return FileRecord(hashlib.sha256(data).hexdigest(), len(data))


@dataclass(frozen=True, kw_only=True)
class TableManifest:
    """Everything a table folder says of itself.

    Attributes
    ----------
    kind : {"model1", "neural-model1"}
        See `TranslationTable`.
    analyzer : AnalyzerRecord
        What cuts documents and queries.
    terms : int
        Size of the vocabulary.
    vocabulary : str
        `Vocabulary.id`.
    entries : int
        Probabilities.
    precision : {"float32", "float16"}
        Of the probabilities in their file.
    files : mapping of str to FileRecord
        The arrays and, where the analyzer has no vocabulary of its own, ``vocabulary.txt``.
    scoring : mapping
        See `TranslationTable`. In the file it is absent where it is empty.
    description : mapping
        Where the table comes from, free JSON; never read here.
    version : int
        Version of the format.
    """

    kind: Kind
    analyzer: AnalyzerRecord
    terms: int
    vocabulary: str
    entries: int
    precision: Precision
    files: Mapping[str, FileRecord]
    scoring: Mapping[str, Any] = field(default_factory=dict)
    description: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    @property
    def id(self) -> str:
        """``sha256:`` and a digest of all that decides about the numbers: equal ids mean equal tables.

        Where the folder lies, where the table comes from and what it recommends do not matter.
        """
        return checksum_of(
            {
                "kind": self.kind,
                "analyzer": self.analyzer.fingerprint,
                "vocabulary": self.vocabulary,
                "files": {name: record.sha256 for name, record in self.files.items()},
            }
        )

    def to_bytes(self) -> bytes:
        """Serialise: JSON with sorted keys, an indent of two spaces and a checksum over everything else.

        Raises
        ------
        ParameterError
            If JSON cannot hold the description.
        """
        body: dict[str, Any] = {"format": FORMAT, **asdict(self)}
        if not self.scoring:
            del body["scoring"]
        try:
            return canonical_bytes({**body, "checksum": checksum_of(body)})
        except (TypeError, ValueError, RecursionError) as error:
            raise ParameterError(
                "the description of the table cannot be written as JSON", facts=[("why", error)]
            ) from None

    @classmethod
    def parse(cls, data: bytes, path: Path) -> TableManifest:
        """Read a manifest from its bytes, taking nothing on trust; `path` is named in errors.

        Raises
        ------
        ModelFormatError
            If it is not the manifest of a translation table, or was written by a later version.
        CorruptModelError
            If it is damaged.
        """
        try:
            body = unsealed(
                data,
                FORMAT,
                VERSION,
                foreign=lambda: ModelFormatError(
                    "this manifest does not belong to a translation table",
                    facts=[("file", path), ("expected", f'"format": "{FORMAT}"')],
                ),
                later=lambda version: ModelFormatError(
                    "this translation table was written by a later version of termwise",
                    facts=[("file", path), ("format", version), ("known here", VERSION)],
                    fixes=["pip install --upgrade termwise"],
                ),
            )
            return _manifest(body)
        except Misfit as misfit:
            raise damaged(path, misfit.expected, misfit.seen) from None


def damaged(path: Path, expected: object, seen: object) -> CorruptModelError:
    """Build the error for a damaged file of a table folder."""
    return CorruptModelError(
        "a file of the translation table is damaged",
        facts=[("file", path), ("expected", expected), ("seen", str(seen)[:200])],
        fixes=AGAIN,
    )


def _manifest(body: Mapping[str, Any]) -> TableManifest:
    body = expect_object(
        {"scoring": {}, **body},
        {one.name for one in fields(TableManifest)} | {"format", "checksum"},
        "manifest",
    )
    for name in ("files", "scoring", "description"):
        if not isinstance(body[name], dict):
            raise Misfit(f"{name} as an object", type(body[name]).__name__)
    return TableManifest(
        kind=cast(Kind, expect_choice(body["kind"], "kind", KINDS)),
        analyzer=_analyzer(body["analyzer"]),
        terms=expect_whole(body["terms"], "terms", 0, MAX_TERMS),
        vocabulary=expect_text(body["vocabulary"], "vocabulary"),
        entries=expect_whole(body["entries"], "entries", 0, MAX_BYTES),
        precision=cast(Precision, expect_choice(body["precision"], "precision", PRECISIONS)),
        files={
            expect_file_name(name): _file(value, f"files[{name!r}]") for name, value in body["files"].items()
        },
        scoring=body["scoring"],
        description=body["description"],
        version=expect_whole(body["version"], "version", 1, VERSION),
    )


def _analyzer(value: object) -> AnalyzerRecord:
    body = expect_object(value, {one.name for one in fields(AnalyzerRecord)}, "analyzer")
    if not isinstance(body["options"], dict):
        raise Misfit("analyzer.options as an object", type(body["options"]).__name__)
    if not isinstance(body["files"], list):
        raise Misfit("analyzer.files as an array", type(body["files"]).__name__)
    return AnalyzerRecord(
        name=expect_text(body["name"], "analyzer.name"),
        options=body["options"],
        files=tuple(expect_file_name(name) for name in body["files"]),
        fingerprint=expect_text(body["fingerprint"], "analyzer.fingerprint"),
    )


def _file(value: object, where: str) -> FileRecord:
    body = expect_object(value, {one.name for one in fields(FileRecord)}, where)
    return FileRecord(
        expect_digest(body["sha256"], f"{where}.sha256"),
        expect_whole(body["bytes"], f"{where}.bytes", 0, MAX_BYTES),
    )
