"""Writer of segments; `termwise.index.segment` reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass
from termwise.index.container import ContainerWriter, IndexFile
from termwise.index.document_order import document_order
from termwise.index.manifest_records import BLOCK_BITS
from termwise.index.quantiser import Quantiser
from termwise.index.segment import KIND, term_dtype
from termwise.index.spill import ArraySpill, RowSpill, ranges_within
from termwise.index.term_counts import SECTIONS as COUNT_SECTIONS
from termwise.index.term_counts import write_counts
from termwise.kernels.inversion import count_terms, invert
from termwise.progress import Progress

CHUNK = 1 << 20
"""Number of postings to read from the spill at a time."""

UNORDERED = 1 << 12
"""Segments of at most this many documents keep the order of the input: a search of them takes microseconds."""

LEAST_ROOM = 1 << 20
"""Lower bound for the number of postings to invert at a time."""

_INVERTED_BYTES = 40  # working memory of the inversion per posting: two keys, and up to 24 for its entry


@dataclass(frozen=True)
class SegmentPlan:
    """Consecutive rows of a spill that become one segment, and the settings for writing it.

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
    sections += COUNT_SECTIONS if plan.spill.counted else 0
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
        if plan.spill.counted:
            write_counts(writer, partial(_counts, plan), indptr)
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


def _counts(plan: SegmentPlan) -> Iterator[npt.NDArray[np.uint32]]:
    """Yield the counts of the postings, without the background term."""
    for terms, counts in plan.spill.read_counts(plan.first_row, plan.last_row, postings=CHUNK):
        yield counts if plan.background is None else counts[terms != plan.background]


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
    if plan.reorder and plan.rows > UNORDERED:
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
            inverted = invert(indptr, terms, impacts, order, first, last, BLOCK_BITS)
            entry_counts[first:last], *columns = inverted
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
