"""Manifest of a table folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from termwise.fast_dataclass import dataclass
from termwise.storage.file_record import FileRecord
from termwise.storage.manifest_json import (
    checksum_of,
    expect_choice,
    expect_object,
    expect_objects,
    expect_text,
    expect_whole,
)
from termwise.storage.model_folder import ModelFolders
from termwise.storage.safe_read import MAX_BYTES
from termwise.text.analyzer_files import AnalyzerRecord
from termwise.translation.table import TABLE_KINDS, TableKind

NAME = "translation.json"
VERSION = 1

FOLDERS = ModelFolders(
    noun="translation table",
    article="a",
    format="termwise-translation",
    version=VERSION,
    repairs=("copy the folder again, or train the table again",),
)

TablePrecision = Literal["float32", "float16"]

TABLE_PRECISIONS: tuple[TablePrecision, ...] = get_args(TablePrecision)

MAX_TERMS = (1 << 31) - 1


@dataclass(frozen=True, kw_only=True)
class TableManifest:
    """Description of a translation table and of its files.

    Attributes
    ----------
    kind : {"model1", "neural-model1"}
        See `TranslationTable`.
    analyzer : AnalyzerRecord
        Analyzer of documents and queries.
    terms : int
        Size of the vocabulary.
    vocabulary : str
        `Vocabulary.id`.
    entries : int
        Number of probabilities.
    precision : {"float32", "float16"}
        Data type of the probabilities in their file.
    files : mapping of str to FileRecord
        The arrays and, for an open vocabulary, ``vocabulary.txt``.
    scoring : mapping
        See `TranslationTable`. Absent from the file if empty.
    description : mapping
        Origin of the table, free JSON; not interpreted.
    version : int
        Version of the format.
    """

    kind: TableKind
    analyzer: AnalyzerRecord
    terms: int
    vocabulary: str
    entries: int
    precision: TablePrecision
    files: Mapping[str, FileRecord]
    scoring: Mapping[str, Any] = field(default_factory=dict)
    description: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    @property
    def id(self) -> str:
        """``sha256:`` and a digest of analyzer, vocabulary and arrays: equal ids mean equal tables.

        The digest does not cover path, origin and recommended values.
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
        """Return the bytes of the file; see `ModelFolders.sealed`."""
        body = asdict(self)
        if not self.scoring:
            del body["scoring"]
        return FOLDERS.sealed(body)

    @classmethod
    def parse(cls, data: bytes, path: Path) -> TableManifest:
        """Read a manifest from its bytes, see `ModelFolders.parsed`."""
        return FOLDERS.parsed(data, path, _manifest)


def _manifest(body: Mapping[str, Any]) -> TableManifest:
    body = expect_object(
        {"scoring": {}, **body},
        {field.name for field in fields(TableManifest)} | {"format", "checksum"},
        "manifest",
    )
    expect_objects(body, ("files", "scoring", "description"))
    return TableManifest(
        kind=cast(TableKind, expect_choice(body["kind"], "kind", TABLE_KINDS)),
        analyzer=AnalyzerRecord.parse(body["analyzer"], "analyzer"),
        terms=expect_whole(body["terms"], "terms", 0, MAX_TERMS),
        vocabulary=expect_text(body["vocabulary"], "vocabulary"),
        entries=expect_whole(body["entries"], "entries", 0, MAX_BYTES),
        precision=cast(TablePrecision, expect_choice(body["precision"], "precision", TABLE_PRECISIONS)),
        files=FileRecord.parse_all(body["files"]),
        scoring=body["scoring"],
        description=body["description"],
        version=expect_whole(body["version"], "version", 1, VERSION),
    )
