"""Statistics of all encoded rows of a collection, for indexes of its parts.

An index whose weights are multiplied by an idf counts its own documents. The indexes of the parts of a collection need
the counts of the whole collection, so that the scores of all parts have one scale. Each file of rows carries the counts
of its rows; they are added when all parts of the collection are encoded, so that no second pass is needed.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import short_digest
from termwise.encode.block_encoding import STATISTICS
from termwise.encode.document_encoder import EncodedRows, RowEncoder
from termwise.encode.row_table import encoder_identity, row_file_metadata
from termwise.errors import CorruptModelError, ModelFormatError, ParameterError, VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.manifest_json import Misfit, expect_text, expect_whole, sealed, unsealed
from termwise.storage.safe_read import read_input

FORMAT = "termwise-statistics"
VERSION = 1

MAX_BYTES = 1 << 26
"""Largest number of bytes of the file."""

_KEY = b"termwise.frequencies"
"""Key of the counts in the metadata of a file of rows."""


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """Number of rows of a collection, and of those that hold each term.

    Attributes
    ----------
    encoder : str
        `encoder_identity` of the encoder of the rows.
    documents : int
        Number of documents, those with an empty row included.
    frequencies : ndarray of shape (V,), int64
        Number of documents with a weight above 0 for each term; zeros for rows of vectors.
    """

    encoder: str
    documents: int
    frequencies: npt.NDArray[np.int64]

    def write(self, folder: Path) -> None:
        """Write ``statistics.json`` into a folder."""
        body = {
            "format": FORMAT,
            "version": VERSION,
            "encoder": self.encoder,
            "documents": self.documents,
            "frequencies": base64.b64encode(self.frequencies.astype("<i8").tobytes()).decode(),
        }
        write_bytes_whole(folder / STATISTICS, sealed(body))

    def check(
        self, encoder: RowEncoder[EncodedRows], documents: int, frequencies: npt.NDArray[np.int64], path: Path
    ) -> None:
        """Check that the rows of an index are a part of the collection of these statistics.

        Raises
        ------
        VocabularyMismatchError
            If the statistics are those of another encoder, of other settings or of another version.
        ParameterError
            If the index has more rows, or more rows with a term, than the collection.
        """
        if self.encoder != encoder_identity(encoder):
            raise VocabularyMismatchError(
                "the statistics are those of another encoder, of other settings or of another version",
                facts=[
                    ("file", path),
                    ("there", short_digest(self.encoder.replace("rows-1", "sha256"))),
                    ("here", short_digest(encoder_identity(encoder).replace("rows-1", "sha256"))),
                ],
                fixes=["encode the whole collection with this model, and use the statistics of its folder"],
            )
        exceeding = np.flatnonzero(frequencies > self.frequencies)
        if documents > self.documents or len(exceeding):
            raise ParameterError(
                "the statistics are not those of a collection that contains these documents",
                facts=[
                    ("file", path),
                    ("documents", f"{documents:,} in the index, {self.documents:,} in the collection"),
                    ("terms with more documents", len(exceeding)),
                ],
                fixes=["encode the whole collection, and use the statistics of its folder"],
            )


def read_row_statistics(path: Path) -> RowStatistics:
    """Read ``statistics.json``.

    Raises
    ------
    MissingFileError
        If there is no such file.
    ModelFormatError, CorruptModelError
        If it is another file, was written by a later version, or is damaged.
    """
    data = read_input(path, MAX_BYTES, "the statistics cannot be read")

    def foreign() -> ModelFormatError:
        return ModelFormatError("this file holds no statistics of encoded rows", facts=[("file", path)])

    def later(version: int) -> ModelFormatError:
        return ModelFormatError(
            "the statistics were written by a later version of termwise",
            facts=[("file", path), ("version", version), ("known", VERSION)],
        )

    try:
        body = unsealed(data, FORMAT, VERSION, foreign=foreign, later=later)
        text = expect_text(body.get("frequencies"), "frequencies")
        try:
            counts = np.frombuffer(base64.b64decode(text, validate=True), dtype="<i8").astype(np.int64)
        except ValueError as error:
            raise Misfit("frequencies: counts in base64", error) from None
        if (counts < 0).any():
            raise Misfit("frequencies: counts", int(counts.min()))
        return RowStatistics(
            expect_text(body.get("encoder"), "encoder"),
            expect_whole(body.get("documents"), "documents", 0),
            counts,
        )
    except Misfit as misfit:
        raise CorruptModelError(
            "the statistics are damaged",
            facts=[("file", path), ("expected", misfit.expected), ("seen", misfit.seen)],
            fixes=[
                "encode the collection again: finished parts are kept, and the file is written at the end"
            ],
        ) from None


def counted_table(table: Any, n_terms: int) -> Any:
    """Return a table of rows with the counts of its terms in its metadata; a table of vectors has none."""
    counts = np.zeros(n_terms, dtype="<i8")
    if "terms" in table.column_names:
        terms, weights = (
            table.column(name).combine_chunks().flatten().to_numpy() for name in ("terms", "weights")
        )
        counts += np.bincount(terms[weights > 0], minlength=n_terms)
    packed = base64.b64encode(zlib.compress(counts.tobytes()))
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: packed})


def statistics_of_files(files: Iterable[Path], identity: str) -> RowStatistics:
    """Add the counts of files of rows; the sum does not depend on their order."""
    documents, frequencies = 0, np.zeros(0, dtype=np.int64)
    for path in files:
        rows, metadata = row_file_metadata(path)
        counts = np.frombuffer(zlib.decompress(base64.b64decode(metadata[_KEY])), dtype="<i8")
        frequencies = counts.astype(np.int64) if documents == 0 else frequencies + counts
        documents += rows
    return RowStatistics(identity, documents, frequencies)
