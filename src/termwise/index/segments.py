"""Segments of an open index: places of documents, frequencies of terms, and the idf of an index that was changed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass
from termwise.index.attribute_columns import KIND as ATTRIBUTES
from termwise.index.attribute_columns import AttributeColumns
from termwise.index.deletions import KIND as DELETIONS
from termwise.index.deletions import LiveRows
from termwise.index.document_vectors import KIND as VECTORS
from termwise.index.document_vectors import SegmentVectors
from termwise.index.manifest import Manifest
from termwise.index.manifest_records import IdfRecord, SegmentRecord
from termwise.index.open_files import OpenFiles
from termwise.index.segment import KIND as VIEWS
from termwise.index.segment import Segment, views_of
from termwise.kernels.weighting import lucene_idf


@final
class Segments(tuple[Segment, ...]):
    """Segments of an index, in the order of the input.

    Documents are given by their positions in the input, from 0, in range and without deleted ones.
    """

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """Position of the first document of each segment."""
        return tuple(sum(len(segment) for segment in self[:i]) for i in range(len(self)))

    @cached_property
    def documents(self) -> int:
        """Number of documents."""
        return sum(len(segment) for segment in self)

    def locate(self, ordinal: int) -> tuple[int, int]:
        """Return the number of the segment of a document, and its row there; raise `IndexError` without one."""
        if not 0 <= ordinal < self.documents:
            raise IndexError(f"document {ordinal} of {self.documents}")
        number = bisect_right(self.firsts, ordinal) - 1
        place = ordinal - self.firsts[number]
        live = self[number].live
        return number, place if live is None else int(live.rows[place])

    def by_number(
        self, ordinals: npt.NDArray[np.int64]
    ) -> Iterator[tuple[int, npt.NDArray[np.intp], npt.NDArray[np.int64]]]:
        """Yield the numbers of the segments of documents, the places of their documents in `ordinals`, and the rows."""
        owners = np.searchsorted(self.firsts, ordinals, side="right") - 1
        for number in np.flatnonzero(np.bincount(owners)).tolist():  # faster than np.unique
            places = np.flatnonzero(owners == number)
            yield number, places, self[number].rows_of(ordinals[places] - self.firsts[number])

    def by_segment(
        self, ordinals: npt.NDArray[np.int64]
    ) -> Iterator[tuple[Segment, npt.NDArray[np.intp], npt.NDArray[np.int64]]]:
        """Yield the segments of documents, the places of their documents in `ordinals`, and the rows."""
        for number, places, rows in self.by_number(ordinals):
            yield self[number], places, rows

    def frequencies_of(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return the number of documents with a weight for each of some terms, ascending, shape (n,), int64."""
        frequencies = np.zeros(len(terms), dtype=np.int64)
        for segment in self:
            places, known = segment.places_of_terms(terms)
            frequencies[known] += segment.term_counts(places)
        return frequencies

    @cached_property
    def views(self) -> npt.NDArray[np.void]:
        """Records of the segments for `termwise.kernels.retrieval.retrieve_segments`."""
        return views_of((segment, {}) for segment in self)

    @cached_property
    def largest_shift(self) -> int:
        """Largest `Segment.shift`."""
        return max((segment.shift for segment in self), default=0)


def open_segment(files: OpenFiles, manifest: Manifest, record: SegmentRecord) -> Segment:
    """Map the files of a segment."""
    vectors = live = attributes = None
    if record.vectors is not None and manifest.vectors is not None:
        container = files.container(record.vectors, VECTORS)
        vectors = SegmentVectors(container, record.documents, manifest.vectors.dimensions)
    if record.deleted is not None:
        container = files.container(record.deleted, DELETIONS)
        live = LiveRows.read(container, record.documents, record.deletions)
    if record.attributes is not None:
        attributes = AttributeColumns(files.container(record.attributes, ATTRIBUTES), record.documents)
    return Segment(
        files.container(record.views, VIEWS),
        record,
        n_terms=manifest.built_terms if record.terms is None else record.terms,
        kind=manifest.quantiser.kind,
        background=manifest.background,
        vectors=vectors,
        live=live,
        attributes=attributes,
    )


@dataclass(frozen=True, eq=False)
class IdfRatios:
    """Factors of query terms that replace the idf in stored weights by the current one; see `IdfRecord`.

    `built` has the document frequency of each term at the build. `terms` is the number of terms, without a background
    term.
    """

    record: IdfRecord
    built: npt.NDArray[np.uint32]
    segments: Segments
    terms: int

    @cached_property
    def _known(self) -> npt.NDArray[np.float64]:
        """Factors that were computed, NaN for others; 1 for a background term."""
        factors = np.full(self.terms + 1, np.nan)
        factors[-1] = 1.0
        return factors

    def of(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        """Return the factors of terms by their numbers, shape (n,); that of a background term is 1."""
        factors = self._known[terms]
        missing = np.isnan(factors)
        if missing.any():
            wanted = np.unique(terms[missing])
            self._known[wanted] = self._computed(wanted)
            factors = self._known[terms]
        return factors

    def _computed(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        stored = np.ones(len(terms), dtype=np.int64)
        built = terms < len(self.built)
        stored[built] = np.maximum(self.built[terms[built]], 1)
        documents = max(1, self.segments.documents)
        current = np.clip(self.segments.frequencies_of(terms), 1, documents)
        ratios: npt.NDArray[np.float64] = lucene_idf(current, documents) / lucene_idf(
            stored, self.record.documents
        )
        return ratios**self.record.power
