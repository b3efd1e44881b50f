"""Documents that are cut into chunks: every chunk is a row of the index with an identifier of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from termwise.index.container import corrupt
from termwise.index.segments import Segments
from termwise.index.string_table import StringTable

CHUNK = "#"
"""Separator of the identifier of a document and the number of a chunk."""


def chunk_id(doc_id: str, number: int) -> str:
    """Return the identifier of a chunk of a document; the first has the number 1."""
    return f"{doc_id}{CHUNK}{number}"


@dataclass(frozen=True, eq=False)
class DocumentChunks:
    """Chunks of the documents of an index; a document that is not cut is its only chunk.

    Attributes
    ----------
    words : int
        Largest number of words of a chunk; 0 if documents are not cut.
    segments : Segments
    identifiers : sequence of StringTable
        Identifiers of the chunks, by segment.
    """

    words: int
    segments: Segments
    identifiers: Sequence[StringTable]

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Position of the first chunk of each document, ascending.

        Raises
        ------
        CorruptIndexError
            If the identifiers of the chunks are damaged.
        """
        if not self.words:
            return np.arange(self.segments.documents, dtype=np.int64)
        parts = []
        for first, segment, table in zip(self.segments.firsts, self.segments, self.identifiers, strict=True):
            rows = table.ending_with(chunk_id("", 1).encode())
            if segment.live is not None:
                rows = rows[~segment.live.deleted[rows]]
            parts.append(segment.places_of(rows) + first)
        starts = np.concatenate(parts)
        if self.segments.documents and (not len(starts) or starts[0] != 0):
            raise corrupt(self.identifiers[0].path, None, "a first chunk", "another one")
        return starts

    @cached_property
    def _stops(self) -> npt.NDArray[np.int64]:
        return np.append(self.starts[1:], self.segments.documents)

    def documents_of(self, ordinals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the position of the first chunk of the document of each chunk."""
        if not self.words:
            return ordinals
        return self.starts[np.searchsorted(self.starts, ordinals, side="right") - 1]

    def of(self, document: int) -> range:
        """Return the positions of the chunks of a document, given by that of the first."""
        count = int(self.counts(np.array([document]))[0]) if self.words else 1
        return range(document, document + count)

    def counts(self, documents: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of chunks of documents, given by the positions of their first chunks.

        Raises
        ------
        CorruptIndexError
            If one is not a first chunk: positions of another index of the same documents show the damage.
        """
        places = np.searchsorted(self.starts, documents)
        if not np.array_equal(self.starts[np.minimum(places, len(self.starts) - 1)], documents):
            raise corrupt(self.identifiers[0].path, None, "a first chunk of each document", "other chunks")
        counts: npt.NDArray[np.int64] = self._stops[places] - documents
        return counts
