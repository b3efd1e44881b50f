"""First-stage retrieval, and scoring of given documents, over one index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.allowed_documents import AllowedDocuments, AllowedRows
from termwise.engine.dense_retrieval import best_by_vectors, score_by_vectors, without_infinity
from termwise.engine.query_vector import QueryVector
from termwise.engine.text_conditions import documents_with
from termwise.errors import CorruptIndexError, DuplicateIdError, UnknownIdError
from termwise.index import Index
from termwise.index.container import corrupt
from termwise.index.manifest_records import BLOCK_BITS
from termwise.index.segment import Segment, concatenated_ranges
from termwise.kernels.allowed_retrieval import count_postings, retrieve_allowed
from termwise.kernels.forward_index import OK, score_rows
from termwise.kernels.retrieval import INTACT, ordinal_bits, retrieve_segments
from termwise.validation import check_names

_tables = threading.local()

RankedOrdinals = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
"""Ordinals and real scores, best first."""

Scored = tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]
"""Real scores of documents, and whether each is a result; see `score_documents`."""

SegmentResults = tuple[npt.NDArray[np.int64], npt.NDArray[Any]]
"""Best rows of a segment, best first, and their sums."""

ScoredRows = tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]
"""Sums of rows of a segment, and whether each is a result."""

ScoreSegment = Callable[[Segment, QueryVector, npt.NDArray[np.int64]], ScoredRows]
"""Scoring of rows of a segment."""

SearchSegment = Callable[[Segment, QueryVector, int, AllowedRows | None], SegmentResults]
"""Search of a segment for a number of results."""

DEEPER = 4
"""Factor of the number of chunks or documents that are searched, as long as they give too few results."""

MOST_CELLS = 1 << 26
"""Largest number of pairs of a query term and a block of documents, of 8 bytes each, for retrieval by postings.

For more, as a whole book that is a query has, all documents are scored one by one.
"""

DIRECT = 3
"""Allowed documents are scored one by one if the query has this many times as many postings as they have."""

_NONE: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)


def first_stage(
    index: Index,
    query: QueryVector,
    k: int,
    *,
    left_out: npt.NDArray[np.int64] = _NONE,
    allowed: AllowedDocuments | None = None,
    search: SearchSegment | None = None,
) -> RankedOrdinals:
    """Return the `k` best documents that share a term with the query, fewer if fewer match; ties by input position.

    In an index with vectors, all documents with a vector match a query with a term that has a vector. Where conditions
    on texts are undecided, texts are read in the order of the ranking, until `k` documents are known to fulfil them. A
    document that is cut into chunks has the position of the first one and the score of the best one.

    Parameters
    ----------
    index : Index
    query : QueryVector
        Query prepared for the index.
    k : int
        Number of results, 1 or more.
    left_out : ndarray of int64, optional
        Positions of documents that are no results.
    allowed : AllowedDocuments, optional
        Documents that can be results; by default all.
    search : SearchSegment, optional
        Replaces the exact search of each segment.

    Returns
    -------
    ordinals : ndarray of shape (at most k,), int64
        Input positions, best first.
    scores : ndarray of the same shape, float64
        Real scores.

    Raises
    ------
    CorruptIndexError
        If the postings point outside their arrays.
    """
    depth = k + len(left_out)
    while True:
        spend()
        ordinals, scores = _best_rows(index, query, depth, allowed, search)
        is_last = len(ordinals) < depth
        if index.manifest.chunk:
            documents, first = np.unique(index.chunks.documents_of(ordinals), return_index=True)
            best = np.argsort(first)
            ordinals, scores = documents[best], scores[first[best]]
        if len(left_out):
            kept = ~np.isin(ordinals, left_out)
            ordinals, scores = ordinals[kept], scores[kept]
        if allowed is not None and allowed.conditions is not None:
            places = allowed.conditions.first_fulfilled(ordinals, k)
            ordinals, scores = ordinals[places], scores[places]
        if is_last or len(ordinals) >= k:
            return ordinals[:k], scores[:k]
        depth *= DEEPER
        if allowed is not None and allowed.conditions is not None:
            allowed = allowed.limited(allowed.conditions)


def _best_rows(
    index: Index,
    query: QueryVector,
    k: int,
    allowed: AllowedDocuments | None,
    search: SearchSegment | None,
) -> RankedOrdinals:
    """Return the `k` best documents, or chunks, by the postings of all segments or by searching each segment."""
    blocks = (len(index) >> BLOCK_BITS) + len(index.segments)
    is_long = len(query.terms) * blocks > MOST_CELLS
    if search is not None or not index.has_postings or is_long or _is_direct(index, query, allowed):
        ordinals, sums = _search_segments(index, query, k, search or _search_segment, allowed)
    else:
        number = np.int32 if query.bound < 2**31 - 1 else np.int64
        views = index.segments.views if allowed is None else allowed.views
        by_document = allowed is not None and allowed.few and allowed.is_kept
        retrieve = retrieve_allowed if by_document else retrieve_segments
        ordinals, sums, damaged = retrieve(
            views, query.terms, query.weights.astype(number), number(query.background), k,
            ordinal_bits(len(index)), number(1),
        )  # fmt: skip
        if damaged != INTACT:
            path = index.segments[damaged].path
            raise corrupt(path, 0, "postings inside their arrays", "a position outside")
    return ordinals, sums * query.unit + query.constant


def documents_in_order(
    index: Index,
    terms: npt.NDArray[np.int32] | None,
    *,
    left_out: npt.NDArray[np.int64],
    allowed: AllowedDocuments | None,
) -> npt.NDArray[np.int64]:
    """Return the documents with a posting of one of the terms, or all, in the order of the index, without scores."""
    ordinals = index.chunks.starts
    if terms is None:
        spend(len(index))
    else:
        ordinals = ordinals[documents_with(index, terms)[ordinals]]
    if len(left_out):
        ordinals = ordinals[~np.isin(ordinals, left_out)]
    return ordinals if allowed is None else ordinals[allowed.allow(ordinals)]


def score_documents(
    index: Index, query: QueryVector, ordinals: npt.NDArray[np.int64], score: ScoreSegment | None = None
) -> Scored:
    """Score given documents with the forward index; of a document that is cut into chunks, the best one.

    `score` replaces the exact scoring of the rows of each segment.

    Returns
    -------
    scores : ndarray of shape (m,), float64
        Real scores, including those of documents that share no term with the query. In an index with vectors, 0 for a
        document without a vector.
    matched : ndarray of shape (m,), bool
        Whether the document shares a term with the query; in an index with vectors, whether it is a result.
    """
    _, scores, matched = best_chunks(index, query, ordinals, score)
    return scores, matched


def best_chunks(
    index: Index, query: QueryVector, documents: npt.NDArray[np.int64], score: ScoreSegment | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the positions of the best chunks of documents, their scores, and whether they match the query.

    The documents are given by the positions of their first chunks. A chunk that matches is better than one that does
    not, and the first one is the best of equal ones. A document that is not cut is its only chunk.
    """
    if not index.manifest.chunk:
        return documents, *score_chunks(index, query, documents, score or _score_rows)
    counts = index.chunks.counts(documents)
    chunks = concatenated_ranges(documents, counts)
    scores, matched = score_chunks(index, query, chunks, score or _score_rows)
    owners = np.repeat(np.arange(len(documents)), counts)
    best = np.lexsort((-scores, ~matched, owners))[np.cumsum(counts) - counts]
    return chunks[best], scores[best], matched[best]


def score_chunks(
    index: Index, query: QueryVector, ordinals: npt.NDArray[np.int64], score: ScoreSegment | None = None
) -> Scored:
    """Score given documents, or chunks of documents, each on its own; see `score_documents`."""
    score = score or _score_rows
    if len(index.segments) == 1:
        segment = index.segments[0]
        sums, matched = score(segment, query, segment.rows_of(ordinals))
        return sums * query.unit + query.constant, matched
    scores = np.empty(len(ordinals), dtype=np.float64)
    matched = np.empty(len(ordinals), dtype=np.bool_)
    for segment, positions, rows in index.segments.by_segment(ordinals):
        sums, shared = score(segment, query, rows)
        scores[positions] = sums * query.unit + query.constant
        matched[positions] = shared
    return scores, matched


def damaged_rows(segment: Segment) -> CorruptIndexError:
    """Return the error for a forward index whose rows exceed its arrays."""
    return corrupt(segment.path, None, "rows inside their arrays", "a position outside")


def candidate_ordinals(
    index: Index, candidates: Sequence[str], query_id: str, *, path: Path | None = None
) -> npt.NDArray[np.int64]:
    """Return the input positions of candidates; errors name `path`, by default that of the index.

    Raises
    ------
    ParameterError
        If they are not a sequence of strings.
    UnknownIdError, DuplicateIdError
        If a candidate is not in the index, or occurs twice; the error names `query_id`.
    """
    check_names("candidates", candidates)
    ordinals = index.find_many(candidates)
    unknown = np.flatnonzero(ordinals < 0)
    if len(unknown):
        raise UnknownIdError(
            "a candidate is not in the index",
            facts=[
                ("query", query_id or "-"),
                ("doc_id", candidates[unknown[0]]),
                ("unknown", f"{len(unknown)} of {len(candidates)} candidates"),
                ("index", path or index.path),
            ],
            fixes=["re-rank with an index of the collection the run was made on"],
        )
    distinct, first = np.unique(ordinals, return_index=True)
    if len(distinct) < len(ordinals):
        repeated = np.setdiff1d(np.arange(len(ordinals)), first)[0]
        raise DuplicateIdError(
            "a candidate occurs twice", facts=[("query", query_id or "-"), ("doc_id", candidates[repeated])]
        )
    return ordinals


def _is_direct(index: Index, query: QueryVector, allowed: AllowedDocuments | None) -> bool:
    """Whether to score allowed documents one by one; see `DIRECT`."""
    if allowed is None or not allowed.few:
        return False
    return allowed.postings * DIRECT <= count_postings(index.segments.views, query.terms)


def _search_segments(
    index: Index, query: QueryVector, k: int, search: SearchSegment, allowed: AllowedDocuments | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return the ordinals and sums of the `k` best documents of all segments."""
    ordinals: list[npt.NDArray[np.int64]] = []
    sums: list[npt.NDArray[Any]] = []
    for number, (first, segment) in enumerate(zip(index.segments.firsts, index.segments, strict=True)):
        rows_allowed = None if allowed is None else allowed.segments[number]
        available = len(segment) if rows_allowed is None else rows_allowed.count
        if available:
            spend(available)
            rows, segment_sums = search(segment, query, min(k, available), rows_allowed)
            ordinals.append(segment.places_of(rows) + first)
            sums.append(segment_sums)
    if len(sums) == 1:
        return ordinals[0], sums[0]
    merged, totals = np.concatenate([_NONE, *ordinals]), np.concatenate([_NONE, *sums])
    best = np.lexsort((merged, -totals))[:k]
    return merged[best], totals[best]


def _search_segment(
    segment: Segment, query: QueryVector, k: int, allowed: AllowedRows | None
) -> SegmentResults:
    """Return the `k` best rows of a segment by its vectors, or by scoring all rows, or all allowed rows."""
    if segment.vectors is not None:
        return best_by_vectors(segment.vectors, query, k, rows_left_out(segment, allowed))[:2]
    rows = segment.rows_of(np.arange(len(segment))) if allowed is None else allowed.rows
    sums, matched = _score_rows(segment, query, rows)
    rows, sums = rows[matched], sums[matched]
    best = np.lexsort((rows, -sums))[:k]
    return rows[best], sums[best]


def rows_left_out(segment: Segment, allowed: AllowedRows | None) -> npt.NDArray[np.bool_] | None:
    """Return the rows of a segment that cannot be results; None if all can."""
    if allowed is not None:
        return ~allowed.mask
    return None if segment.live is None else segment.live.deleted


class VectorScan:
    """Exact search of segments by vectors, which keeps the scores of all rows.

    In a mixture, the documents that other indexes find then need no second scan.
    """

    def __init__(self) -> None:
        self._scores: dict[Path, npt.NDArray[np.float64]] = {}

    def search(
        self, segment: Segment, query: QueryVector, k: int, allowed: AllowedRows | None
    ) -> SegmentResults:
        """Return the `k` best rows of a segment; see `first_stage`."""
        assert segment.vectors is not None, "the index has vectors"
        left_out = rows_left_out(segment, allowed)
        rows, sums, every = best_by_vectors(segment.vectors, query, k, left_out)
        if every is not None:
            self._scores[segment.path] = every
        return rows, sums

    def score(self, segment: Segment, query: QueryVector, rows: npt.NDArray[np.int64]) -> ScoredRows:
        """Return the scores of rows that were not left out of the search; see `score_documents`."""
        every = self._scores.get(segment.path)
        return _score_rows(segment, query, rows) if every is None else without_infinity(every[rows])


def _score_rows(segment: Segment, query: QueryVector, rows: npt.NDArray[np.int64]) -> ScoredRows:
    if segment.vectors is not None:
        return score_by_vectors(segment.vectors, query, rows)
    number = np.float64 if query.exact else np.int64
    terms, weights = _of_segment(segment, query)
    background = number(query.background) * number(1 << segment.shift)
    sums, matched, status = score_rows(
        segment.starts, segment.terms, segment.impacts, segment.bias, np.ascontiguousarray(rows),
        terms, weights, background, _slots(segment.n_terms),
    )  # fmt: skip
    if status != OK:
        raise damaged_rows(segment)
    return sums, matched


def _of_segment(segment: Segment, query: QueryVector) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Return the terms of a query by the numbers of a segment, and their weights in units of its impacts."""
    terms, known = segment.places_of_terms(query.terms)
    weights = query.weights[known]
    return terms, weights << segment.shift if segment.shift else weights


def _slots(n_terms: int) -> npt.NDArray[np.uint8]:
    """Return a look-up table of this thread, filled with 0, as the kernel leaves it."""
    table: npt.NDArray[np.uint8] | None = getattr(_tables, "slots", None)
    if table is None or len(table) < n_terms:
        table = np.zeros(n_terms, dtype=np.uint8)
        _tables.slots = table
    return table
