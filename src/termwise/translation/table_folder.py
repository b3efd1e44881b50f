"""Folder of a translation table: arrays, and a manifest with their checksums.

::

    translation.json      the manifest
    indptr.npy            int64 of shape (V + 1,): boundaries of the rows
    targets.npy           uint16 of shape (nnz,), or int32 for more than 65,536 terms
    probabilities.npy     float32 or float16 of shape (nnz,): T(t|u)
    occurrences.npy       int64 of shape (V,): occurrences of each term on the source side of the bitext
    vocabulary.txt        one term per line, in UTF-8; absent if the analyzer has a closed vocabulary
    tokenizer.json        file of the analyzer, if it needs one (or vocab.txt)
    README.md             model card of a shipped table; not read

In float16 probabilities are rounded towards zero, so that the sum of a row stays at most 1.
"""

from __future__ import annotations

import io
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from termwise.display.safe_text import short_digest
from termwise.errors import (
    DuplicateIdError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.fixes import Fix
from termwise.storage.atomic_folder import AtomicFolder
from termwise.storage.file_record import record_of
from termwise.storage.model_folder import TRAINING
from termwise.storage.safe_read import folder_entries, is_file, is_folder
from termwise.text import Analyzer, Vocabulary, analyzer_from_spec
from termwise.text.analyzer_files import AnalyzerRecord, read_analyzer
from termwise.translation.table import TranslationTable
from termwise.translation.table_manifest import FOLDERS, NAME, TABLE_PRECISIONS, TableManifest, TablePrecision
from termwise.validation import check_path

INDPTR, TARGETS, PROBABILITIES, OCCURRENCES = (
    "indptr.npy",
    "targets.npy",
    "probabilities.npy",
    "occurrences.npy",
)
VOCABULARY = "vocabulary.txt"
CARD = "README.md"

_TOKENIZERS = ("tokenizer.json", "vocab.txt")
_SHORT = 1 << 16

FOLDER = AtomicFolder(
    noun="translation table",
    article="a",
    manifest=NAME,
    files=frozenset(
        {NAME, INDPTR, TARGETS, PROBABILITIES, OCCURRENCES, VOCABULARY, CARD, TRAINING, *_TOKENIZERS}
    ),
    kept=TRAINING,
)
"""Writer of table folders."""


def shipped_tables() -> tuple[str, ...]:
    """Return the names of the translation tables that ship with the package, sorted."""
    root = _shipped_root()
    if not is_folder(root):
        return ()
    return tuple(sorted(path.name for path in folder_entries(root) if is_file(path / NAME)))


def table_folder(name_or_path: str | Path) -> Path:
    """Return the folder of a table given by a name of `shipped_tables` or by path; ``./model1`` is a path."""
    check_path("the translation table", name_or_path)
    shipped = isinstance(name_or_path, str) and name_or_path in shipped_tables()
    return _shipped_root() / name_or_path if shipped else Path(name_or_path)


def open_table(name_or_path: str | Path) -> TranslationTable:
    """Read a translation table and verify its files.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a shipped table, or folder that `write_table` wrote; see `table_folder`.

    Raises
    ------
    ParameterError
        If the argument is not a path.
    MissingFileError
        If there is no such table, or one of its files cannot be read.
    ModelFormatError
        If it is not the folder of a table, was written by a later version, or holds invalid values.
    CorruptModelError
        If a file was truncated or changed.
    VocabularyMismatchError
        If the analyzer was made for another version of Unicode.
    """
    folder = table_folder(name_or_path)
    manifest = read_manifest(folder)
    analyzer = read_analyzer(FOLDERS, folder, manifest.analyzer, analyzer_from_spec)
    vocabulary = _read_vocabulary(folder, manifest, analyzer)
    short = manifest.terms <= _SHORT
    arrays = {
        name: _array(folder, manifest, name, dtype, length)
        for name, dtype, length in (
            (INDPTR, "<i8", manifest.terms + 1),
            (TARGETS, "<u2" if short else "<i4", manifest.entries),
            (PROBABILITIES, "<f2" if manifest.precision == "float16" else "<f4", manifest.entries),
            (OCCURRENCES, "<i8", manifest.terms),
        )
    }
    try:
        return TranslationTable(
            vocabulary=vocabulary,
            indptr=arrays[INDPTR],
            targets=arrays[TARGETS],
            probabilities=arrays[PROBABILITIES],
            occurrences=arrays[OCCURRENCES],
            analyzer=analyzer.spec,
            kind=manifest.kind,
            scoring=manifest.scoring,
            description=manifest.description,
        )
    except WeightError as error:
        raise ModelFormatError(
            error.message, facts=[("table", folder), *error.facts], fixes=FOLDERS.repairs
        ) from None


def read_manifest(name_or_path: str | Path) -> TableManifest:
    """Read the manifest of a translation table; see `open_table` for the errors."""
    folder = table_folder(name_or_path)
    data = FOLDERS.manifest_bytes(
        folder / NAME,
        facts=[("ship with the package", ", ".join(shipped_tables()) or "none")],
        fixes=[
            "name one that ships, or the path of a table folder",
            Fix.sentence("train one into a new folder: {}", Fix.call("train_model1")),
        ],
    )
    return TableManifest.parse(data, folder / NAME)


def write_table(table: TranslationTable, path: str | Path, *, precision: TablePrecision = "float32") -> int:
    """Write a translation table atomically; equal tables give equal bytes.

    The files are written to a hidden folder inside `path` and then moved into place, the manifest last. An existing
    table is replaced.

    Parameters
    ----------
    table : TranslationTable
    path : str or Path
        Folder; created if missing.
    precision : {"float32", "float16"}, optional
        Data type of the probabilities in their file.

    Returns
    -------
    int
        Total size in bytes.

    Raises
    ------
    ForeignFolderError
        If the folder holds other files.
    ParameterError
        If float16 cannot hold the smallest probability, or a term is empty or contains a line break.
    VocabularyMismatchError
        If analyzer and table have different vocabularies.
    StorageError
        If the folder cannot be written.
    """
    if precision not in TABLE_PRECISIONS:
        raise UnknownNameError.of("precision", str(precision), TABLE_PRECISIONS)
    out = Path(path)
    files = _files(table, precision)
    own = {name: data for name, data in files.items() if name not in table.analyzer.files}
    manifest = TableManifest(
        kind=table.kind,
        analyzer=AnalyzerRecord.of(table.analyzer),
        terms=len(table),
        vocabulary=table.vocabulary.id,
        entries=table.nnz,
        precision=precision,
        files={name: record_of(data) for name, data in own.items()},
        scoring=table.scoring,
        description=table.description,
    )
    files[NAME] = manifest.to_bytes()
    with FOLDER.stage(out) as stage:
        for name, data in files.items():
            (stage / name).write_bytes(data)
        FOLDER.publish(stage, out)
    return sum(map(len, files.values()))


def _files(table: TranslationTable, precision: TablePrecision) -> dict[str, bytes]:
    targets = table.targets.astype("<u2" if len(table) <= _SHORT else "<i4")
    probabilities = table.probabilities.astype("<f4")
    if precision == "float16":
        probabilities = _halved(table.probabilities)
    files = {
        INDPTR: _npy(table.indptr.astype("<i8")),
        TARGETS: _npy(targets),
        PROBABILITIES: _npy(probabilities),
        OCCURRENCES: _npy(table.occurrences.astype("<i8")),
        **table.analyzer.files,
    }
    closed = analyzer_from_spec(table.analyzer).vocabulary
    if closed is None:
        files[VOCABULARY] = _lines(table.vocabulary)
    elif closed != table.vocabulary:
        raise VocabularyMismatchError(
            "the translation table and its analyzer have different vocabularies",
            facts=[("terms of the table", len(table)), ("terms of the analyzer", len(closed))],
        )
    return files


def _halved(probabilities: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    """Round to float16 towards zero."""
    nearest = probabilities.astype("<f2")
    rounded = np.where(nearest > probabilities, np.nextafter(nearest, np.float16(0)), nearest)
    if rounded.size and rounded.min() <= 0:
        raise ParameterError(
            "float16 cannot hold the smallest probability of the table",
            facts=[("probability", probabilities.min()), ("smallest in float16", 2.0**-24)],
            fixes=[Fix.use("use {}, or more", least=1e-07), Fix.settings(precision="float32")],
        )
    return rounded.astype("<f2")


def _npy(values: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    npy.write_array(buffer, values, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _lines(vocabulary: Vocabulary) -> bytes:
    for token in vocabulary:
        if "\n" in token or not token:
            raise ParameterError(
                "a term of the table is empty or contains a line break", facts=[("term", repr(token))]
            )
    return "".join(f"{token}\n" for token in vocabulary).encode("utf-8", "surrogatepass")


def _shipped_root() -> Path:
    return Path(str(resources.files("termwise"))) / "assets" / "tables"


def _read(folder: Path, manifest: TableManifest, name: str) -> bytes:
    record = manifest.files.get(name)
    if record is None:
        raise ModelFormatError(
            "the translation table has no such file",
            facts=[("table", folder), ("missing", name), ("has", ", ".join(sorted(manifest.files)))],
        )
    return FOLDERS.read_recorded(folder / name, record)


def _array(folder: Path, manifest: TableManifest, name: str, dtype: str, length: int) -> npt.NDArray[Any]:
    """Return the one-dimensional array of a file, after checking its header and length."""
    buffer = io.BytesIO(_read(folder, manifest, name))
    seen: object
    try:
        if npy.read_magic(buffer) == (1, 0):
            shape, order, stored = npy.read_array_header_1_0(buffer)
            body = buffer.getbuffer()[buffer.tell() :]
            if (shape, order, stored) == ((length,), False, np.dtype(dtype)) and len(
                body
            ) == length * stored.itemsize:
                return np.frombuffer(body.toreadonly(), dtype=stored)
            seen = f"{stored} of shape {shape}"
        else:
            seen = "another version of the format"
    except ValueError as error:
        seen = error
    raise ModelFormatError(
        "an array of the translation table has the wrong type or shape",
        facts=[
            ("file", folder / name),
            ("expected", f"{np.dtype(dtype)} of shape ({length},)"),
            ("seen", seen),
        ],
        fixes=FOLDERS.repairs,
    )


def _read_vocabulary(folder: Path, manifest: TableManifest, analyzer: Analyzer) -> Vocabulary:
    vocabulary = analyzer.vocabulary
    if vocabulary is None:
        path = folder / VOCABULARY
        try:
            text = _read(folder, manifest, VOCABULARY).decode("utf-8", "surrogatepass")
            vocabulary = Vocabulary(text.split("\n")[:-1])
        except (UnicodeDecodeError, DuplicateIdError) as error:
            raise ModelFormatError(
                "the vocabulary of the translation table is invalid",
                facts=[("file", path), ("reason", error)],
                fixes=FOLDERS.repairs,
            ) from None
    if len(vocabulary) != manifest.terms or vocabulary.id != manifest.vocabulary:
        raise ModelFormatError(
            "the vocabulary of the translation table does not match its manifest",
            facts=[
                ("table", folder),
                ("terms", len(vocabulary)),
                ("expected", manifest.terms),
                ("vocabulary", short_digest(vocabulary.id)),
                ("expected", short_digest(manifest.vocabulary)),
            ],
            fixes=FOLDERS.repairs,
        )
    return vocabulary
