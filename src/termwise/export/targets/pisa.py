"""PISA: its uncompressed inverted index, which ``compress_inverted_index`` and ``create_wand_data --quantize`` read.

Numbers are unsigned integers of 32 bits, little-endian. ``index.docs`` begins with the list [1, number of documents];
then, for each term, it has a list of document numbers, and ``index.freqs`` the list of their impacts. Each list begins
with its length. ``index.sizes`` has one list with the sum of the impacts of each document. ``index.terms`` and
``index.documents`` have one name a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.errors import DataError
from termwise.export.folder import ExportFolder
from termwise.export.postings import postings_by_term
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement
from termwise.export.targets.file_forms import (
    RowSums,
    byte_order,
    integer_statements,
    no_changes,
    no_filters,
    refuse_all_but_impacts,
    scale_of,
)
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.progress import Progress
from termwise.text.vocabulary import BACKGROUND


@final
@dataclass(frozen=True)
class Pisa:
    """Target ``pisa``."""

    name: ClassVar[str] = "pisa"
    title: ClassVar[str] = "PISA"
    engine: ClassVar[str] = ""
    helpers: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    def check(self, source: ExportSource) -> None:
        """Refuse vectors, mixtures and float weights."""
        refuse_all_but_impacts(self.title, source)

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the five files."""
        (part,) = source.parts
        ranks, order = byte_order(source)
        present = part.index.document_frequencies[order] > 0
        of_rows = RowSums.for_rows(len(source))
        with folder.piece("data/index.documents") as names:
            for batch in source.batches():
                of_rows.add(batch)
                names.write("".join(f"{_line(each)}\n" for each in batch.ids).encode())
        with folder.piece("data/index.sizes") as file:
            file.write(_list(of_rows.impacts + of_rows.biases))
        biased = np.flatnonzero(of_rows.biases)
        with folder.piece("data/index.terms") as file:
            tokens = [
                part.tokens[term]
                for term, is_present in zip(order, present.tolist(), strict=True)
                if is_present
            ]
            file.write("".join(f"{_line(token)}\n" for token in tokens).encode())
            file.write(f"{BACKGROUND}\n".encode() if len(biased) else b"")
        with folder.piece("data/index.docs") as documents, folder.piece("data/index.freqs") as frequencies:
            documents.write(np.array([1, len(source)], dtype="<u4").tobytes())
            for postings in postings_by_term(part, ranks=ranks, progress=progress):
                starts = np.flatnonzero(np.diff(postings.terms, prepend=-1))
                lengths = np.diff(np.append(starts, len(postings.terms)))
                documents.write(
                    np.insert(postings.positions.astype("<u4"), starts, lengths.astype("<u4")).tobytes()
                )
                frequencies.write(
                    np.insert(postings.impacts.astype("<u4"), starts, lengths.astype("<u4")).tobytes()
                )
            if len(biased):
                documents.write(_list(biased))
                frequencies.write(_list(of_rows.biases[biased]))

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Raise an error: the files are written as a whole."""
        raise no_changes(self.title)

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return the scale of the impacts."""
        return scale_of(source)

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        return integer_statements(source)

    def filter(self, filter: Filter, schema: Schema) -> Any:
        """Raise an error: the form has no filters."""
        raise no_filters(self.title)


def _list(values: npt.NDArray[np.int64]) -> bytes:
    return np.concatenate([[len(values)], values]).astype("<u4").tobytes()


def _line(name: str) -> str:
    if "\n" in name or "\r" in name:
        raise DataError("a name in PISA is one line", facts=[("name", name)])
    return name
