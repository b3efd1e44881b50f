"""The manifest of a table folder: what the table is, and the files it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from termwise.storage.file_record import FileRecord
from termwise.storage.manifest_json import (
    checksum_of,
    expect_choice,
    expect_file_name,
    expect_object,
    expect_objects,
    expect_text,
    expect_whole,
)
from termwise.storage.model_folder import ModelFolders
from termwise.storage.safe_read import MAX_BYTES
from termwise.text.analyzer_files import AnalyzerRecord
from termwise.translation.table import KINDS, Kind

NAME = "translation.json"
VERSION = 1

FOLDERS = ModelFolders(
    noun="translation table",
    article="a",
    format="termwise-translation",
    version=VERSION,
    repairs=("copy the folder again, or train the table again",),
)

Precision = Literal["float32", "float16"]

PRECISIONS: tuple[Precision, ...] = get_args(Precision)

MAX_TERMS = (1 << 31) - 1


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
        """Serialise, see `ModelFolders.sealed`."""
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
        {one.name for one in fields(TableManifest)} | {"format", "checksum"},
        "manifest",
    )
    expect_objects(body, ("files", "scoring", "description"))
    return TableManifest(
        kind=cast(Kind, expect_choice(body["kind"], "kind", KINDS)),
        analyzer=AnalyzerRecord.parse(body["analyzer"], "analyzer"),
        terms=expect_whole(body["terms"], "terms", 0, MAX_TERMS),
        vocabulary=expect_text(body["vocabulary"], "vocabulary"),
        entries=expect_whole(body["entries"], "entries", 0, MAX_BYTES),
        precision=cast(Precision, expect_choice(body["precision"], "precision", PRECISIONS)),
        files={
            expect_file_name(name): FileRecord.parse(value, f"files[{name!r}]")
            for name, value in body["files"].items()
        },
        scoring=body["scoring"],
        description=body["description"],
        version=expect_whole(body["version"], "version", 1, VERSION),
    )
