"""Segments: postings of a part of the collection, by document and by term."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.index.attribute_columns import AttributeColumns
from termwise.index.container import Container, ContainerWriter, IndexFile, corrupt
from termwise.index.deletions import LiveRows, packed_rows
from termwise.index.document_order import document_order
from termwise.index.document_vectors import SegmentVectors
from termwise.index.manifest_records import BLOCK_BITS, SegmentRecord
from termwise.index.quantiser import Quantiser
from termwise.index.spill import ArraySpill, RowSpill, ranges_within
from termwise.kernels.addresses import address_of
from termwise.kernels.inversion import collect_postings, count_terms, cut_postings
from termwise.kernels.retrieval import VIEW
from termwise.progress import Progress

KIND = "views"

CHUNK = 1 << 20
"""Number of postings to read from the spill at a time."""

LEAST_ROOM = 1 << 20
"""Lower bound for the number of postings to invert at a time."""

_INVERTED_BYTES = 10  # working memory of the inversion per posting: 6, and up to 4 for its entry


@dataclass(frozen=True)
class SegmentPlan:
    """Input of a segment, consecutive rows of a spill, and the settings of its writer.

    With `own_terms`, the segment numbers only the terms that it contains, so that a small one has a small file.
    """

    spill: RowSpill
    first_row: int
    last_row: int
    n_terms: int
    background: int | None
    quantiser: Quantiser | None
    reorder: bool
    threads: int
    memory: int
    progress: Progress
    own_terms: npt.NDArray[np.uint32] | None = None

    @property
    def rows(self) -> int:
        """Number of documents."""
        return self.last_row - self.first_row


def term_dtype(n_terms: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest type for the numbers of `n_terms` terms."""
    return np.dtype("<u2") if n_terms <= 1 << 16 else np.dtype("<u4")


def write_segment(path: Path, plan: SegmentPlan) -> tuple[IndexFile, int]:
    """Write the views of a segment; return the file and the number of postings."""
    n_terms = plan.n_terms if plan.own_terms is None else len(plan.own_terms)
    lengths = plan.spill.lengths()[plan.first_row : plan.last_row].astype(np.int64)
    bias = np.zeros(plan.rows if plan.background is not None else 0, dtype=np.float32)
    if plan.background is not None:
        lengths = _split_bias(plan, lengths, bias)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    postings = int(indptr[-1])
    impact_type = np.dtype("<f4") if plan.quantiser is None else np.dtype("u1")
    sections = (4 if plan.quantiser is None else 14) + (plan.own_terms is not None)
    with ContainerWriter(path, KIND, sections) as writer:
        if plan.own_terms is not None:
            writer.write("views.terms", "<u4", [plan.own_terms])
        writer.write("forward.starts", "<u4", [indptr])
        writer.write("forward.terms", term_dtype(n_terms), _terms(plan))
        writer.write("forward.impacts", impact_type, _impacts(plan))
        if plan.quantiser is None:
            writer.write("forward.bias", "<f4", [bias])
        else:
            units = plan.quantiser.biases(bias)
            writer.write("forward.bias", "<u2", [units])
            terms = writer.written("forward.terms")
            impacts = writer.written("forward.impacts")
            _write_inverted(writer, replace(plan, n_terms=n_terms), indptr, terms, impacts, units)
        return writer.finish(), postings


def _pieces(plan: SegmentPlan) -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]]]:
    """Yield term numbers of the index, and weights, without the background term."""
    for _, terms, weights in plan.spill.read(plan.first_row, plan.last_row, postings=CHUNK):
        if plan.background is not None:
            kept = terms != plan.background
            terms, weights = terms[kept], weights[kept]
        yield terms, weights


def _terms(plan: SegmentPlan) -> Iterator[npt.NDArray[np.uint32]]:
    """Yield term numbers of the segment."""
    own = plan.own_terms
    if own is not None:
        numbers = np.empty(plan.n_terms, dtype=np.uint32)  # only the entries of its terms are read
        numbers[own] = np.arange(len(own), dtype=np.uint32)
    for terms, _ in _pieces(plan):
        yield terms if own is None else numbers[terms]


def distinct_terms(plan: SegmentPlan) -> npt.NDArray[np.uint32]:
    """Return the terms of the rows of a segment, ascending, without the background term."""
    found = np.zeros(plan.n_terms, dtype=np.bool_)
    for terms, _ in _pieces(plan):
        found[terms] = True
    return np.flatnonzero(found).astype(np.uint32)


def _impacts(plan: SegmentPlan) -> Iterator[npt.NDArray[np.generic]]:
    for _, weights in _pieces(plan):
        yield weights if plan.quantiser is None else plan.quantiser.impacts(weights)


def _split_bias(
    plan: SegmentPlan, lengths: npt.NDArray[np.int64], bias: npt.NDArray[np.float32]
) -> npt.NDArray[np.int64]:
    """Collect the bias of each row into `bias`; return the row lengths without it."""
    lengths = lengths.copy()
    row = 0
    for indptr, terms, weights in plan.spill.read(plan.first_row, plan.last_row, postings=CHUNK):
        positions = np.flatnonzero(terms == plan.background)
        rows = np.searchsorted(indptr, positions, side="right") - 1 + row
        bias[rows] = weights[positions]
        lengths[rows] -= 1
        row += len(indptr) - 1
    return lengths


def _write_inverted(
    writer: ContainerWriter,
    plan: SegmentPlan,
    indptr: npt.NDArray[np.int64],
    terms: npt.NDArray[np.unsignedinteger],
    impacts: npt.NDArray[np.uint8],
    bias: npt.NDArray[np.uint16],
) -> None:
    if plan.reorder and len(terms):
        order = document_order(
            indptr,
            terms,
            n_terms=plan.n_terms,
            threads=plan.threads,
            progress=lambda done, total: plan.progress("order documents", done, total),
        )
    else:
        order = np.arange(plan.rows, dtype=np.int32)
    counts = count_terms(terms, plan.n_terms)
    term_postings = np.concatenate([[0], np.cumsum(counts)])
    entry_counts = np.zeros(plan.n_terms, dtype=np.int64)
    room = max(LEAST_ROOM, plan.memory // _INVERTED_BYTES)

    types = {
        "entry.block": "<u2",
        "entry.count": "u1",
        "entry.max": "u1",
        "posting.offset": "u1",
        "posting.impact": "u1",
    }
    with ExitStack() as resources:
        parts = {
            name: resources.enter_context(closing(ArraySpill(writer.path.with_name(name), dtype)))
            for name, dtype in types.items()
        }
        for first, last in ranges_within(counts, room, plan.n_terms):
            starts = term_postings[first : last + 1] - term_postings[first]
            documents, sorted_impacts = collect_postings(indptr, terms, impacts, order, first, starts)
            entry_counts[first:last], *columns = cut_postings(starts, documents, sorted_impacts, BLOCK_BITS)
            del documents
            columns.append(sorted_impacts)
            for name, column in zip(types, columns, strict=True):
                parts[name].add(column)
            plan.progress("invert", int(term_postings[last]), int(term_postings[-1]))

        writer.write("inverted.entries", "<u4", [np.concatenate([[0], np.cumsum(entry_counts)])])
        writer.write("inverted.postings", "<u4", [term_postings])
        for name, dtype in types.items():
            writer.write(name, dtype, parts[name].pieces())
            parts[name].close()

    inner_bias = bias[order] if len(bias) else bias
    writer.write("documents.order", "<u4", [order])
    writer.write("documents.bias", "<u2", [inner_bias])
    starts = np.arange(0, len(inner_bias), 1 << BLOCK_BITS)
    block_bias = np.maximum.reduceat(inner_bias, starts) if len(inner_bias) else inner_bias
    writer.write("blocks.bias", "<u2", [block_bias])


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
