"""The folder of a translation table: plain arrays, and the manifest that describes and seals them.

::

    translation.json      the manifest
    indptr.npy            int64 of shape (V + 1,): boundaries of the rows
    targets.npy           uint16 of shape (nnz,), or int32 where there are more than 65,536 terms
    probabilities.npy     float32 or float16 of shape (nnz,): T(t|u)
    occurrences.npy       int64 of shape (V,): how often each term is on the source side of the bitext
    vocabulary.txt        one term a line, in UTF-8; absent where the analyzer has a vocabulary of its own
    tokenizer.json        what the analyzer is made from, as far as it needs files (or vocab.txt)
    README.md             a card for readers, never read here; the tables that ship have one

In float16 probabilities are rounded towards zero, so that no row comes to sum to more than 1.
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
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.storage.atomic_folder import AtomicFolder
from termwise.storage.file_record import record_of
from termwise.storage.model_folder import TRAINING
from termwise.text import Analyzer, Vocabulary, analyzer_from_spec
from termwise.text.analyzer_files import AnalyzerRecord, read_analyzer
from termwise.translation.table import TranslationTable
from termwise.translation.table_manifest import FOLDERS, NAME, PRECISIONS, Precision, TableManifest
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
"""How a table folder is written."""


def shipped_tables() -> tuple[str, ...]:
    """Return the names of the translation tables that ship with the package, sorted."""
    root = _shipped_root()
    if not root.is_dir():
        return ()
    return tuple(sorted(path.name for path in root.iterdir() if (path / NAME).is_file()))


def table_folder(name_or_path: str | Path) -> Path:
    """Return where a table lies: a name of `shipped_tables`, or the path as it is; ``./model1`` is a folder.

    Raises
    ------
    ParameterError
        If this is not a path.
    """
    check_path("the translation table", name_or_path)
    shipped = isinstance(name_or_path, str) and name_or_path in shipped_tables()
    return _shipped_root() / name_or_path if shipped else Path(name_or_path)


def open_table(name_or_path: str | Path) -> TranslationTable:
    """Read a translation table, comparing every file with the manifest.

    Parameters
    ----------
    name_or_path : str or Path
        A table that ships, or a folder that `write_table` wrote; see `table_folder`.

    Raises
    ------
    ParameterError
        If this is not a path.
    MissingFileError
        If there is no such table, or a file of it cannot be read.
    ModelFormatError
        If it is not the folder of a table, was written by a later version, or holds numbers that are no
        probabilities.
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
    """Read what a translation table says of itself, without reading the table.

    Raises
    ------
    ParameterError, MissingFileError, ModelFormatError, CorruptModelError
        See `open_table`.
    """
    folder = table_folder(name_or_path)
    return TableManifest.parse(_manifest_bytes(folder), folder / NAME)


def write_table(table: TranslationTable, path: str | Path, *, precision: Precision = "float32") -> int:
    """Write a translation table, whole or not at all; equal tables give equal bytes.

    Everything is made in a hidden folder inside `path` and moved into place afterwards, the manifest last. A table that
    was there before is replaced.

    Parameters
    ----------
    table : TranslationTable
    path : str or Path
        The folder; made where there is none.
    precision : {"float32", "float16"}, optional
        Of the probabilities in their file.

    Returns
    -------
    int
        Bytes of all files together.

    Raises
    ------
    ForeignFolderError
        If the folder holds something that is not a translation table.
    ParameterError
        If float16 cannot hold the smallest probability, or a term cannot stand in a line of ``vocabulary.txt``.
    VocabularyMismatchError
        If the analyzer has another vocabulary than the table.
    StorageError
        If the folder cannot be written.
    """
    if precision not in PRECISIONS:
        raise UnknownNameError.of("precision", str(precision), PRECISIONS)
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


def _files(table: TranslationTable, precision: Precision) -> dict[str, bytes]:
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
            fixes=["--set least=1e-7, or more", "--set precision=float32"],
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
                "a term of the table cannot stand in a line of its own", facts=[("term", repr(token))]
            )
    return "".join(f"{token}\n" for token in vocabulary).encode("utf-8", "surrogatepass")


def _shipped_root() -> Path:
    return Path(str(resources.files("termwise"))) / "assets" / "tables"


def _manifest_bytes(folder: Path) -> bytes:
    return FOLDERS.manifest_bytes(
        folder / NAME,
        missing=lambda: MissingFileError(
            "there is no such translation table",
            facts=[("path", folder), ("ship with the package", ", ".join(shipped_tables()) or "none")],
            fixes=[
                "name one that ships, or the path of a table folder",
                "termwise train model1 --data DATA --out DIR",
            ],
        ),
        other=lambda: ModelFormatError(
            "this folder does not hold a translation table",
            facts=[("path", folder), ("missing", NAME)],
            fixes=[
                "name one that ships, or the path of a table folder",
                "termwise train model1 --data DATA --out DIR, with another folder",
            ],
        ),
    )


def _read(folder: Path, manifest: TableManifest, name: str) -> bytes:
    record = manifest.files.get(name)
    if record is None:
        raise ModelFormatError(
            "the translation table has no such file",
            facts=[("table", folder), ("missing", name), ("has", ", ".join(sorted(manifest.files)))],
        )
    return FOLDERS.read_recorded(folder / name, record)


def _array(folder: Path, manifest: TableManifest, name: str, dtype: str, length: int) -> npt.NDArray[Any]:
    """Return the array of one axis that a file holds; its header is compared before it is believed."""
    buffer = io.BytesIO(_read(folder, manifest, name))
    seen: object
    try:
        if npy.read_magic(buffer) == (1, 0):
            shape, order, found = npy.read_array_header_1_0(buffer)
            body = buffer.getbuffer()[buffer.tell() :]
            if (shape, order, found) == ((length,), False, np.dtype(dtype)) and len(
                body
            ) == length * found.itemsize:
                return np.frombuffer(body.toreadonly(), dtype=found)
            seen = f"{found} of shape {shape}"
        else:
            seen = "another version of the format"
    except ValueError as error:
        seen = error
    raise ModelFormatError(
        "an array of the translation table is not what it should be",
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
                "the vocabulary of the translation table cannot be used",
                facts=[("file", path), ("why", error)],
                fixes=FOLDERS.repairs,
            ) from None
    if len(vocabulary) != manifest.terms or vocabulary.id != manifest.vocabulary:
        raise ModelFormatError(
            "the vocabulary of the translation table is not the one it was trained with",
            facts=[
                ("table", folder),
                ("terms", len(vocabulary)),
                ("expected", manifest.terms),
                ("vocabulary", short_digest(vocabulary.id)),
                ("trained with", short_digest(manifest.vocabulary)),
            ],
            fixes=FOLDERS.repairs,
        )
    return vocabulary
