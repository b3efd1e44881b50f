"""Documents that a filter and conditions on texts allow in an index, in the forms that retrieval needs.

The last filters of an index are kept, because a search box sends the same ones again and again.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from termwise.engine.text_conditions import TextConditions
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.deletions import packed_rows
from termwise.index.segment import Segment, views_of

if TYPE_CHECKING:
    from termwise.filters import Filter, Range, ValueCount
    from termwise.filters.facets import Segments

FilterLike: TypeAlias = "str | Mapping[str, Any] | Filter"
"""A filter as text, as JSON, or as an object; see `termwise.filters`."""

FEW = 8
"""At most one allowed document in this many is few: `retrieve_allowed` then takes less time than `retrieve_segments`.

The first reads all postings of the query in their order, and has a sum for each allowed document. The second leaves out
blocks by their bounds, but the fewer documents are allowed, the lower are their scores, and the more blocks it visits.
"""

KEPT = 8
"""Number of filters that are kept for an index."""

_kept: WeakKeyDictionary[Index, OrderedDict[str, AllowedDocuments]] = WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class AllowedRows:
    """Rows of a segment that are allowed and not deleted.

    Attributes
    ----------
    segment : Segment
    mask : ndarray of shape (documents,), bool
    """

    segment: Segment
    mask: npt.NDArray[np.bool_]

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """The rows, ascending."""
        return np.flatnonzero(self.mask)

    @cached_property
    def count(self) -> int:
        """Number of rows."""
        return int(np.count_nonzero(self.mask))

    @cached_property
    def words(self) -> npt.NDArray[np.uint64]:
        """Bit set of the allowed documents; the bit of a document is its internal number."""
        assert self.segment.inverted is not None, "a float index has no internal numbers"
        return packed_rows(self.mask, self.segment.inverted.order, self.segment.block_bits)

    @cached_property
    def numbered(self) -> dict[str, npt.NDArray[Any]]:
        """Bit set and internal numbers of the documents, for `retrieve_allowed`."""
        size = 1 << self.segment.block_bits
        bits = np.zeros(-(-self.segment.documents // size) * size, dtype=np.bool_)
        bits[self.segment.internal_numbers[self.rows]] = True
        counts = np.count_nonzero(bits.reshape(-1, 64), axis=1)
        return {
            "allowed": np.packbits(bits, bitorder="little").view(np.uint64),
            "ranks": np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            "members": np.flatnonzero(bits).astype(np.int32),
        }


@dataclass(frozen=True, eq=False)
class AllowedDocuments:
    """Documents of an index, such as those that a filter and conditions on texts allow.

    Attributes
    ----------
    segments : tuple of AllowedRows
        One for each segment.
    conditions : TextConditions or None
        Conditions that only texts decide, for some of the documents in `segments`.
    is_kept : bool
        Whether later searches use the documents too, so that they are numbered as the kernels read them.
    """

    segments: tuple[AllowedRows, ...]
    conditions: TextConditions | None = None
    is_kept: bool = False

    @property
    def count(self) -> int:
        """Number of documents."""
        return sum(segment.count for segment in self.segments)

    @cached_property
    def few(self) -> bool:
        """Whether the documents are few in comparison with all; see `FEW`."""
        return self.count * FEW <= sum(len(each.segment) for each in self.segments)

    @cached_property
    def postings(self) -> float:
        """Number of postings of the documents, if they have as many on average as all documents of the index."""
        rows = sum(each.segment.documents for each in self.segments)
        return self.count * sum(each.segment.postings for each in self.segments) / max(1, rows)

    @cached_property
    def views(self) -> npt.NDArray[np.void]:
        """Records of the segments: for `retrieve_allowed` if `few` and `is_kept`, else for `retrieve_segments`."""
        if not self.is_kept:  # for one search, the preparation would take longer than the search
            return views_of((each.segment, {"mask": each.mask}) for each in self.segments)
        if self.few:
            return views_of((each.segment, each.numbered) for each in self.segments)
        return views_of((each.segment, {"allowed": each.words}) for each in self.segments)

    @cached_property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Whether each document is in `segments`, by its position, shape (documents,)."""
        parts = [each.segment.live_part(each.mask) for each in self.segments]
        return np.concatenate([np.empty(0, dtype=np.bool_), *parts])

    def allow(self, ordinals: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return whether documents are allowed, by their positions."""
        allowed = self.mask[ordinals]
        if self.conditions is not None:
            allowed[allowed] = self.conditions.fulfilled(ordinals[allowed])
        return allowed

    def limited(self, conditions: TextConditions) -> AllowedDocuments:
        """Return the documents that also fulfil conditions on their texts, as far as that is known."""
        possible = self.mask & conditions.possible()
        segments = _segments((each.segment for each in self.segments), possible)
        decided = np.array_equal(possible, possible & conditions.proved())
        return AllowedDocuments(segments, None if decided else conditions)


def allowed_documents(index: Index, given: FilterLike) -> AllowedDocuments:
    """Evaluate a filter over all documents of an index.

    Raises
    ------
    ParameterError, UnknownNameError
        If the index has no attributes, or the filter does not fit them.
    CorruptIndexError
        If a column of the index is damaged.
    """
    if not index.schema:
        raise ParameterError(
            "this index has no attributes to filter by",
            facts=[("index", index.path), ("filter", str(given))],
            fixes=[Fix.build(attributes="all")],
        )
    from termwise.filters import as_filter

    filter = None if isinstance(given, str) else as_filter(given, index.schema)
    name = given if isinstance(given, str) else str(filter)
    if "now" in name:  # perhaps a date, which a filter reads in whole seconds
        name = f"{int(time.time())} {name}"
    with _lock:
        kept = _kept.setdefault(index, OrderedDict())
        if name in kept:
            kept.move_to_end(name)
            return kept[name]
    filter = as_filter(given, index.schema) if filter is None else filter
    segments = tuple(_rows(segment, filter) for segment in index.segments)
    found = AllowedDocuments(segments, is_kept=True)
    with _lock:
        kept[name] = found
        while len(kept) > KEPT:
            kept.popitem(last=False)
    return found


def allowed_for(
    index: Index, filter: FilterLike | None, conditions: TextConditions | None
) -> AllowedDocuments | None:
    """Return the documents that a filter and conditions allow; None without both. See `allowed_documents`."""
    allowed = None if filter is None else allowed_documents(index, filter)
    if conditions is None:
        return allowed
    if allowed is None:
        allowed = documents_at(index, np.ones(len(index), dtype=np.bool_))
    return allowed.limited(conditions)


def facets_at(
    index: Index,
    ordinals: npt.NDArray[np.int64],
    fields: Sequence[str],
    ranges: Mapping[str, Mapping[str, Range]],
    n: int,
) -> dict[str, list[ValueCount]]:
    """Count the values of fields in the documents at some positions of an index; see `Results.facets`."""
    from termwise.filters import facet_counts, range_counts

    segments = segments_at(index, ordinals)
    counts = {name: facet_counts(segments, name, n) for name in fields}
    return counts | {name: range_counts(segments, index.schema, name, each) for name, each in ranges.items()}


def segments_at(index: Index, ordinals: npt.NDArray[np.int64]) -> Segments:
    """Return the attributes of each segment, and which of its rows are at these positions."""
    chosen = np.zeros(len(index), dtype=np.bool_)
    chosen[ordinals] = True
    return [(each.segment.attributes, each.mask) for each in _segments(index.segments, chosen)]


def aligned(allowed: AllowedDocuments, index: Index) -> AllowedDocuments:
    """Return the same documents for another index of the same documents, whose segments may end elsewhere."""
    return documents_at(index, allowed.mask, allowed.conditions)


def documents_at(
    index: Index, mask: npt.NDArray[np.bool_], conditions: TextConditions | None = None
) -> AllowedDocuments:
    """Return the documents of an index that a mask by position marks."""
    return AllowedDocuments(_segments(index.segments, mask), conditions)


def _segments(segments: Iterable[Segment], chosen: npt.NDArray[np.bool_]) -> tuple[AllowedRows, ...]:
    """Return the rows of documents whose positions are marked."""
    allowed = []
    first = 0
    for segment in segments:
        mask = chosen[first : first + len(segment)]
        if segment.live is not None:
            by_row = np.zeros(segment.documents, dtype=np.bool_)
            by_row[segment.live.rows] = mask
            mask = by_row
        allowed.append(_frozen(segment, mask))
        first += len(segment)
    return tuple(allowed)


def _rows(segment: Segment, filter: Filter) -> AllowedRows:
    from termwise.filters import rows_allowed

    mask = rows_allowed(filter, segment.attributes, last=segment.documents)
    if segment.live is not None:
        mask = mask & ~segment.live.deleted
    return _frozen(segment, mask)


def _frozen(segment: Segment, mask: npt.NDArray[np.bool_]) -> AllowedRows:
    mask.setflags(write=False)  # kernels are compiled for read-only arrays
    return AllowedRows(segment, mask)
