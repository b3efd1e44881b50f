"""Segments: postings of a part of the collection, by document and by term."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.index.attribute_columns import AttributeColumns
from termwise.index.container import Container, corrupt
from termwise.index.deletions import LiveRows, packed_rows
from termwise.index.document_vectors import SegmentVectors, sum_of_directions
from termwise.index.manifest_records import SegmentRecord
from termwise.index.term_counts import CODES, TermCounts
from termwise.kernels.addresses import address_of
from termwise.kernels.retrieval import VIEW

KIND = "views"


def term_dtype(n_terms: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest type for the numbers of `n_terms` terms."""
    return np.dtype("<u2") if n_terms <= 1 << 16 else np.dtype("<u4")


_ALL: npt.NDArray[np.uint64] = np.empty(0, dtype=np.uint64)

_NONE: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)


class Segment:
    """Views of a segment, mapped from its file.

    Attributes
    ----------
    documents, postings, n_terms, block_bits : int
        See the manifest.
    starts : ndarray of shape (documents + 1,), uint32
        Row boundaries of the forward view, in input order.
    terms : ndarray of shape (postings,), uint16 or uint32
        Term numbers, strictly increasing in a row.
    impacts : ndarray of shape (postings,), uint8 (float32 in a float index)
        Stored weights.
    bias : ndarray of shape (documents or 0,), uint16 (float32 in a float index)
        Document bias in input order.
    section_bytes : mapping of str to int
        Length in bytes of each section of the file.
    inverted : Inverted or None
        View by term; None in a float index.
    vectors : SegmentVectors or None
        Vectors of the documents, if the index has them.
    own_terms : ndarray of shape (n_terms,), uint32, or None
        Term numbers of the index for those of the segment; None if both are the same.
    shift : int
        Impacts and biases are in units of ``2**shift`` times those of the quantiser.
    live : LiveRows or None
        Rows that are not deleted; None if no row is deleted.
    attributes : AttributeColumns or None
        Attributes of the documents; None if none of them has any.
    counts : TermCounts or None
        Term counts of the postings, if the index keeps them.
    """

    def __init__(
        self,
        container: Container,
        record: SegmentRecord,
        *,
        n_terms: int,
        kind: str,
        background: bool,
        vectors: SegmentVectors | None = None,
        live: LiveRows | None = None,
        attributes: AttributeColumns | None = None,
    ) -> None:
        exact = kind == "float32"
        self.path = container.path
        self.documents = documents = record.documents
        self.postings = postings = record.postings
        self.n_terms = n_terms
        self.block_bits = record.block_bits
        self.starts = container.array("forward.starts", "<u4", documents + 1)
        self.terms = container.array("forward.terms", term_dtype(n_terms), postings)
        self.impacts = container.array("forward.impacts", "<f4" if exact else "u1", postings)
        self.bias = container.array("forward.bias", "<f4" if exact else "<u2", documents if background else 0)
        self._damaged = container.damaged
        self.section_bytes = container.section_bytes()
        self.inverted = None if exact else Inverted(container, self, background)
        self.vectors = vectors
        self.own_terms: npt.NDArray[np.uint32] | None = None
        if record.terms is not None:
            self.own_terms = container.array("views.terms", "<u4", n_terms)
        self.shift = record.shift
        self.live = live
        self.attributes = attributes
        self.counts = TermCounts(container, documents, postings) if CODES in container else None

    def __len__(self) -> int:
        """Return the number of documents that are not deleted."""
        return self.documents if self.live is None else len(self.live.rows)

    def rows_of(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the rows of documents by their places among those that are not deleted."""
        return places if self.live is None else self.live.rows[places]

    def live_part(self, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the values of a mask by row for the rows that are not deleted."""
        return mask if self.live is None else mask[self.live.rows]

    def places_of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the places of rows among those that are not deleted; inverse of `rows_of`."""
        return rows if self.live is None else self.live.places(rows)

    def directions(self) -> tuple[npt.NDArray[np.float64], int]:
        """Return the sum of the directions of the windows of documents that are not deleted, and their number.

        The sum has the unit of `termwise.index.document_vectors.directions`.
        """
        vectors = self.vectors
        assert vectors is not None, "the segment has vectors"
        if self.live is None:
            return vectors.sums, len(vectors.rows)
        firsts, counts = vectors.window_bounds(np.flatnonzero(self.live.deleted))
        deleted = vectors.rows[concatenated_ranges(firsts, counts)]
        return vectors.sums - sum_of_directions(deleted), len(vectors.rows) - len(deleted)

    def places_of_terms(
        self, terms: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int32], slice | npt.NDArray[Any]]:
        """Return the segment's numbers of those terms of the index that it has, and which of the terms these are.

        `terms` are ascending.
        """
        if self.own_terms is None:
            if not len(terms) or int(terms[-1]) < self.n_terms:
                return terms, slice(None)
            known = terms < self.n_terms  # terms were added after the segment was written
            return terms[known], known
        places = np.searchsorted(self.own_terms, terms.astype(self.own_terms.dtype))
        found = np.flatnonzero(places < len(self.own_terms))
        found = found[self.own_terms[places[found]] == terms[found]]
        return places[found].astype(np.int32), found

    def term_counts(self, places: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return the number of documents with each of some terms of the segment; deleted ones are not counted."""
        if self.inverted is not None:
            postings = self.inverted.term_postings
            counts = postings[places + 1].astype(np.int64) - postings[places]
        else:
            counts = np.bincount(self.terms, minlength=self.n_terms)[places]
        return counts if self.live is None else counts - self._deleted_counts[places]

    def rows_with(self, place: int) -> npt.NDArray[np.int64]:
        """Return the rows with a posting of a term of the segment, in any order; deleted ones too.

        Raises `CorruptIndexError` if the postings point outside their arrays.
        """
        rows: npt.NDArray[np.int64]
        view = self.inverted
        if view is None:
            positions = np.flatnonzero(self.terms == place)
            rows = np.searchsorted(self.starts, positions, side="right").astype(np.int64) - 1
        else:
            entries = slice(int(view.term_entries[place]), int(view.term_entries[place + 1]))
            postings = slice(int(view.term_postings[place]), int(view.term_postings[place + 1]))
            counts = view.entry_count[entries].astype(np.int64) + 1
            offsets = view.posting_offset[postings]
            if int(counts.sum()) != len(offsets):
                raise corrupt(self.path, None, f"{len(offsets)} postings of a term", int(counts.sum()))
            firsts = view.entry_block[entries].astype(np.int64) << self.block_bits
            numbers = np.repeat(firsts, counts) + offsets
            if numbers.max(initial=0) >= self.documents:
                raise corrupt(self.path, None, f"documents below {self.documents}", int(numbers.max()))
            rows = view.order[numbers].astype(np.int64)
        if rows.min(initial=0) < 0 or rows.max(initial=0) >= self.documents:
            raise corrupt(self.path, None, f"rows below {self.documents}", "another row")
        return rows

    @cached_property
    def _deleted_counts(self) -> npt.NDArray[np.int64]:
        assert self.live is not None, "some rows are deleted"
        firsts, lengths = self.row_bounds(np.flatnonzero(self.live.deleted))
        return np.bincount(self.terms[concatenated_ranges(firsts, lengths)], minlength=self.n_terms)

    def index_terms(self, terms: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.int32]:
        """Return the term numbers of the index for those of the segment; others raise `CorruptIndexError`."""
        if len(terms) and int(terms.max()) >= self.n_terms:
            raise corrupt(self.path, None, f"terms below {self.n_terms}", f"term {int(terms.max())}")
        numbers = terms if self.own_terms is None else self.own_terms[terms]
        return numbers.astype(np.int32)

    @cached_property
    def posting_terms(self) -> npt.NDArray[np.unsignedinteger]:
        """Term numbers of the index for the postings of all rows, shape (postings,)."""
        return self.terms if self.own_terms is None else self.index_terms(self.terms).view(np.uint32)

    @cached_property
    def allowed(self) -> npt.NDArray[np.uint64]:
        """Documents that are not deleted, as bits by internal number; empty if none is deleted."""
        if self.live is None or self.inverted is None:
            return _ALL
        return packed_rows(~self.live.deleted, self.inverted.order, self.block_bits)

    def view(self, first: int, limits: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.void]:
        """Return the record of this segment for the kernels of retrieval, shape (1,), VIEW.

        Parameters
        ----------
        first : int
            Position of the first document in the index.
        limits : mapping of str to ndarray
            Arrays of `VIEW` that tell which documents are allowed; by default, all that are not deleted. The caller
            keeps them in memory.
        """
        assert self.inverted is not None, "a float index has no view by term"
        arrays = {
            **vars(self.inverted),
            "own_terms": _NONE if self.own_terms is None else self.own_terms,
            "places": _NONE if self.live is None else self.live.place_of_row,
            "allowed": self.allowed,
            **limits,
        }
        view = np.zeros(1, dtype=VIEW)
        for name, array in arrays.items():
            view[f"{name}_at"] = address_of(array)
        lengths = {
            "documents": self.documents,
            "block_bits": self.block_bits,
            "shift": self.shift,
            "first": first,
            "terms": self.n_terms,
            "entries": len(self.inverted.entry_block),
            "postings": self.postings,
            "own_terms": len(arrays["own_terms"]),
            "biases": len(self.inverted.bias),
            "block_biases": len(self.inverted.block_bias),
            "words": len(arrays["allowed"]),
            "gaps": not arrays["allowed"].reshape(-1, (1 << self.block_bits) // 64).any(axis=1).all(),
            "masked": len(limits.get("mask", ())),
            "members": len(limits.get("members", ())),
        }
        for name, length in lengths.items():
            view[name] = length
        return view

    @cached_property
    def internal_numbers(self) -> npt.NDArray[np.int32]:
        """Internal number of each row, shape (documents,); raises `CorruptIndexError`."""
        assert self.inverted is not None, "a float index has no internal numbers"
        order = self.inverted.order
        if len(order) and int(order.max()) >= self.documents:
            raise corrupt(self.path, None, f"rows below {self.documents}", int(order.max()))
        numbers = np.zeros(self.documents, dtype=np.int32)  # all in range, also if a row occurs twice
        numbers[order] = np.arange(self.documents, dtype=np.int32)
        return numbers

    def row_bounds(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the first posting of each row, and its number of postings; raises `CorruptIndexError`."""
        starts, stops = self.starts[rows].astype(np.int64), self.starts[rows + 1].astype(np.int64)
        wrong = np.flatnonzero((starts > stops) | (stops > len(self.terms)))
        if len(wrong):
            row = int(rows[wrong[0]])
            seen = f"row {row} from {starts[wrong[0]]} to {stops[wrong[0]]}"
            raise self._damaged("forward.starts", "rows in order", seen, row)
        return starts, stops - starts


def views_of(
    parts: Iterable[tuple[Segment, Mapping[str, npt.NDArray[Any]]]],
) -> npt.NDArray[np.void]:
    """Return the records of the segments of an index, each given with its allowed documents; see `Segment.view`."""
    views, first = [np.empty(0, dtype=VIEW)], 0
    for segment, limits in parts:
        views.append(segment.view(first, limits))
        first += len(segment)
    return np.concatenate(views)


def concatenated_ranges(
    firsts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the concatenation of ``range(first, first + count)`` over all pairs."""
    before = np.cumsum(counts) - counts
    return np.repeat(firsts - before, counts) + np.arange(int(counts.sum()))


class Inverted:
    """Postings by term; see `termwise.kernels.retrieval.VIEW` for the arrays."""

    def __init__(self, container: Container, segment: Segment, background: bool) -> None:
        postings, documents = segment.postings, segment.documents
        self.term_entries = container.array("inverted.entries", "<u4", segment.n_terms + 1)
        self.term_postings = container.array("inverted.postings", "<u4", segment.n_terms + 1)
        self.entry_block = container.array("entry.block", "<u2")
        self.entry_count = container.array("entry.count", "u1", len(self.entry_block))
        self.entry_max = container.array("entry.max", "u1", len(self.entry_block))
        self.posting_offset = container.array("posting.offset", "u1", postings)
        self.posting_impact = container.array("posting.impact", "u1", postings)
        self.order = container.array("documents.order", "<u4", documents)
        self.bias = container.array("documents.bias", "<u2", documents if background else 0)
        blocks = (documents + (1 << segment.block_bits) - 1) >> segment.block_bits
        self.block_bias = container.array("blocks.bias", "<u2", blocks if background else 0)
