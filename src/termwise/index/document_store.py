"""Documents of an open index: their chunks, and identifiers and texts as the files hold them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt

from termwise.budget import TEXT, spend
from termwise.fast_dataclass import dataclass
from termwise.index.container import corrupt
from termwise.index.field_texts import SEPARATOR, joined_chunks
from termwise.index.segment import concatenated_ranges
from termwise.index.segments import Segments
from termwise.index.string_table import PackedStrings, StringTable
from termwise.index.texts import TextTable

CHUNK = "#"
"""Separator of the identifier of a document and the number of a chunk."""


FEW = 8
"""With fewer documents for each segment, identifiers are read one by one."""


def chunk_id(doc_id: str, number: int) -> str:
    """Return the identifier of a chunk of a document; the first has the number 1."""
    return f"{doc_id}{CHUNK}{number}"


@dataclass(frozen=True, eq=False)
class DocumentChunks:
    """Maps the documents of an index to their chunks; a document that is not split has one chunk.

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
        """Position of the first chunk of each document, ascending; damaged identifiers raise `CorruptIndexError`."""
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

        One that is not a first chunk raises `CorruptIndexError`: positions of another index of the same documents show
        the damage.
        """
        places = np.searchsorted(self.starts, documents)
        if not np.array_equal(self.starts[np.minimum(places, len(self.starts) - 1)], documents):
            raise corrupt(self.identifiers[0].path, None, "a first chunk of each document", "other chunks")
        counts: npt.NDArray[np.int64] = self._stops[places] - documents
        return counts


@dataclass(frozen=True, eq=False)
class DocumentStore:
    """Identifiers and texts of an index by position: of chunks, if documents are cut, and with packed fields.

    Attributes
    ----------
    segments : Segments
    chunks : DocumentChunks
    fields : int
        Number of fields that a stored text packs; 0 if texts have no fields.
    identifiers : tuple of StringTable
        Identifiers of the rows of each segment, deleted ones included.
    tables : tuple of TextTable or None
        Texts of the rows of each segment, if they are stored.
    """

    segments: Segments
    chunks: DocumentChunks
    fields: int
    identifiers: tuple[StringTable, ...]
    tables: tuple[TextTable | None, ...]

    @property
    def has_texts(self) -> bool:
        """Whether the texts are stored."""
        return all(table is not None for table in self.tables)

    def ids(self, ordinals: npt.NDArray[np.int64]) -> list[str]:
        """Return the identifiers of several rows."""
        if len(self.identifiers) == 1:
            return self.identifiers[0].get_many(self.segments[0].rows_of(ordinals))
        if len(ordinals) < FEW * len(self.segments):
            located = map(self.segments.locate, ordinals.tolist())
            return [self.identifiers[number].get(row) for number, row in located]
        doc_ids = [""] * len(ordinals)
        for number, places, rows in self.segments.by_number(ordinals):
            found = self.identifiers[number].get_many(rows)
            for place, doc_id in zip(places.tolist(), found, strict=True):
                doc_ids[place] = doc_id
        return doc_ids

    def find(self, stored_ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the positions of several rows by their identifiers, -1 for unknown ones."""
        packed = PackedStrings(stored_ids)
        ordinals = np.full(len(stored_ids), -1, dtype=np.int64)
        for first, segment, table in zip(self.segments.firsts, self.segments, self.identifiers, strict=True):
            rows = table.find_packed(packed)
            found = rows >= 0
            if segment.live is not None:
                found[found] = ~segment.live.deleted[rows[found]]
            ordinals[found] = segment.places_of(rows[found]) + first
        return ordinals

    def texts(self, ordinals: npt.NDArray[np.int64]) -> list[str | None]:
        """Return the texts of several rows, None without them; see `termwise.index.field_texts` for packed fields.

        Raises `CorruptIndexError` if a text cannot be read, or has another number of fields than the index.
        """
        texts: list[str | None] = [None] * len(ordinals)
        for number, places, rows in self.segments.by_number(ordinals):
            table = self.tables[number]
            if table is None:
                continue
            spend(TEXT * len(rows))
            for place, text in zip(places.tolist(), table.get_many(rows), strict=True):
                if self.fields and text.count(SEPARATOR) + 1 != self.fields:
                    seen = f"{text.count(SEPARATOR) + 1}"
                    raise corrupt(
                        table.path, None, f"a text of {self.fields} fields, as in encoder.field_weights", seen
                    )
                texts[place] = text
        return texts

    def document_texts(self, documents: npt.NDArray[np.int64]) -> list[str | None]:
        """Return the texts of several documents, whose chunks are joined; see `texts`."""
        if not self.chunks.words or not self.has_texts:
            return self.texts(documents)
        counts = self.chunks.counts(documents)
        pieces = (piece or "" for piece in self.texts(concatenated_ranges(documents, counts)))
        join = joined_chunks if self.fields else "".join
        return [join(list(islice(pieces, count))) for count in counts.tolist()]

    def check(self) -> None:
        """Check every identifier and text; see `StringTable.check` and `TextTable.check`."""
        for ids in self.identifiers:
            ids.check()
        for texts in self.tables:
            if texts is not None:
                texts.check()
