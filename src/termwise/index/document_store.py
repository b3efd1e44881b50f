"""Identifiers and texts of the documents of an open index, as its files hold them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from termwise.index.container import corrupt
from termwise.index.document_chunks import DocumentChunks
from termwise.index.field_texts import SEPARATOR, joined_chunks
from termwise.index.segment import concatenated_ranges
from termwise.index.segments import Segments
from termwise.index.string_table import PackedStrings, StringTable
from termwise.index.texts import TextTable

FEW = 8
"""With fewer documents for each segment, identifiers are read one by one."""


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
            stored, firsts = [], self.segments.firsts
            for ordinal in ordinals.tolist():
                number = bisect_right(firsts, ordinal) - 1
                row, live = ordinal - firsts[number], self.segments[number].live
                stored.append(self.identifiers[number].get(row if live is None else live.rows.item(row)))
            return stored
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

        Raises
        ------
        CorruptIndexError
            If a text cannot be read, or has another number of fields than the index.
        """
        texts: list[str | None] = [None] * len(ordinals)
        for number, places, rows in self.segments.by_number(ordinals):
            table = self.tables[number]
            if table is None:
                continue
            for place, text in zip(places.tolist(), table.get_many(rows), strict=True):
                if self.fields and text.count(SEPARATOR) + 1 != self.fields:
                    seen = f"{text.count(SEPARATOR) + 1}"
                    raise corrupt(table.path, None, f"a text of {self.fields} fields, as the manifest", seen)
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
