"""Analyzers of trained models: their record in a manifest and their files in the model folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from termwise.display.safe_text import short_digest
from termwise.errors import (
    CorruptModelError,
    DataError,
    ModelFormatError,
    UsageError,
    VocabularyMismatchError,
)
from termwise.fast_dataclass import dataclass
from termwise.storage.manifest_json import (
    expect_file_name,
    expect_list,
    expect_mapping,
    expect_object,
    expect_text,
)
from termwise.storage.model_folder import ModelFolders
from termwise.text.analyzer import MAX_ANALYZER_FILE, Analyzer, AnalyzerSpec

_Analyzer = TypeVar("_Analyzer", bound=Analyzer)


@dataclass(frozen=True)
class AnalyzerRecord:
    """Analyzer of a model in its manifest: an `AnalyzerSpec` with the names of its files in the folder of the model."""

    name: str
    options: Mapping[str, Any]
    files: tuple[str, ...]
    fingerprint: str

    @classmethod
    def of(cls, spec: AnalyzerSpec) -> AnalyzerRecord:
        """Describe an analyzer whose files have the same names in the folder."""
        return cls(spec.name, dict(spec.options), tuple(sorted(spec.files)), spec.fingerprint)

    @classmethod
    def parse(cls, value: object, where: str) -> AnalyzerRecord:
        """Read a record from the JSON of a manifest, or raise `Misfit`."""
        body = expect_object(value, {field.name for field in fields(cls)}, where)
        return cls(
            name=expect_text(body["name"], f"{where}.name"),
            options=expect_mapping(body["options"], f"{where}.options"),
            files=tuple(map(expect_file_name, expect_list(body["files"], f"{where}.files"))),
            fingerprint=expect_text(body["fingerprint"], f"{where}.fingerprint"),
        )


def read_analyzer(
    folders: ModelFolders, folder: Path, record: AnalyzerRecord, make: Callable[[AnalyzerSpec], _Analyzer]
) -> _Analyzer:
    """Make the analyzer of a model from its record in the manifest and the files in the folder of the model.

    Raises
    ------
    MissingFileError, CorruptModelError
        If a file cannot be read, or was changed.
    ModelFormatError
        If the analyzer cannot be used.
    """
    files = {name: folders.read(folder / name, MAX_ANALYZER_FILE) for name in record.files}
    spec = AnalyzerSpec(record.name, record.options, files)
    if spec.fingerprint != record.fingerprint:
        raise CorruptModelError(
            f"the analyzer of the {folders.noun} was changed",
            facts=[
                ("folder", folder),
                ("files", ", ".join(record.files) or "none"),
                ("fingerprint", short_digest(spec.fingerprint)),
                ("expected", short_digest(record.fingerprint)),
            ],
            fixes=folders.repairs,
        )
    try:
        return make(spec)
    except VocabularyMismatchError:
        raise
    except (DataError, UsageError) as error:
        raise ModelFormatError(
            f"the analyzer of the {folders.noun} cannot be used",
            facts=[("folder", folder), *error.facts],
            fixes=error.fixes,
        ) from error
