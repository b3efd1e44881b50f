"""PISA: its uncompressed inverted index, which ``compress_inverted_index`` and ``create_wand_data --quantize`` read.

Numbers are unsigned integers of 32 bits, little-endian. ``index.docs`` begins with the list [1, number of documents];
then, for each term, it has a list of document numbers, and ``index.freqs`` the list of their impacts. Each list begins
with its length. ``index.sizes`` has one list with the sum of the impacts of each document. ``index.terms`` and
``index.documents`` have one name a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, cast, final

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.errors import DataError
from termwise.export.folder import ExportFolder
from termwise.export.postings import postings_by_term
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, refuse_float, refuse_several, refuse_vectors
from termwise.export.targets.ciff import byte_order, integer_statements, no_changes
from termwise.export.targets.jsonl import no_filters
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.index.reader import ImpactRows
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
        refuse_several(self.title, source)
        refuse_vectors(self.title, source)
        refuse_float(self.title, source)

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the five files."""
        (part,) = source.parts
        ranks, order = byte_order(source)
        present = part.index.document_frequencies[order] > 0
        sizes = np.zeros(len(source), dtype=np.int64)
        biases = np.zeros(len(source), dtype=np.int64)
        with folder.piece("data/index.documents") as names:
            for batch in source.batches():
                found = cast(ImpactRows, batch.rows[0])
                sums = np.concatenate([[0], np.cumsum(found.impacts)])
                sizes[batch.positions] = sums[found.indptr[1:]] - sums[found.indptr[:-1]]
                if part.has_bias:
                    biases[batch.positions] = found.biases
                names.write("".join(f"{_line(each)}\n" for each in batch.ids).encode())
        with folder.piece("data/index.sizes") as file:
            file.write(_list(sizes + biases))
        biased = np.flatnonzero(biases)
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
                frequencies.write(_list(biases[biased]))

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
        return {"scale": source.parts[0].index.manifest.quantiser.scale}

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
