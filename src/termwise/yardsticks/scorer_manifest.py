"""The manifest of a scorer folder: what the network is, and the files it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from termwise.storage.file_record import FileRecord
from termwise.storage.manifest_json import (
    expect_file_name,
    expect_object,
    expect_objects,
    expect_text,
    expect_whole,
)
from termwise.storage.model_folder import ModelFolders
from termwise.text.analyzer_files import AnalyzerRecord

NAME = "scorer.json"
VERSION = 1

FOLDERS = ModelFolders(
    noun="scorer",
    article="a",
    format="termwise-scorer",
    version=VERSION,
    repairs=("copy the folder again, or train the network again",),
)


@dataclass(frozen=True, kw_only=True)
class ScorerManifest:
    """Everything a scorer folder says of itself.

    Attributes
    ----------
    kind : str
        What the network computes, see `termwise.yardsticks.bert_model1.folder.KINDS`.
    tokenizer : AnalyzerRecord
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
    tokenizer: AnalyzerRecord
    reading: Mapping[str, Any]
    files: Mapping[str, FileRecord]
    trained: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    def to_bytes(self) -> bytes:
        """Serialise, see `ModelFolders.sealed`."""
        return FOLDERS.sealed(asdict(self))

    @classmethod
    def parse(cls, data: bytes, path: Path) -> ScorerManifest:
        """Read a manifest from its bytes, see `ModelFolders.parsed`."""
        return FOLDERS.parsed(data, path, _manifest)


def _manifest(body: Mapping[str, Any]) -> ScorerManifest:
    names = {one.name for one in fields(ScorerManifest)}
    body = expect_object(body, names | {"format", "checksum"}, "manifest")
    expect_objects(body, ("reading", "files", "trained"))
    return ScorerManifest(
        kind=expect_text(body["kind"], "kind"),
        tokenizer=AnalyzerRecord.parse(body["tokenizer"], "tokenizer"),
        reading=body["reading"],
        files={
            expect_file_name(name): FileRecord.parse(value, f"files[{name!r}]")
            for name, value in body["files"].items()
        },
        trained=body["trained"],
        version=expect_whole(body["version"], "version", 1, VERSION),
    )
