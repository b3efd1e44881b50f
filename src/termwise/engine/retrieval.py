"""First-stage retrieval, and scoring of given documents, over one index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.engine.allowed_documents import AllowedDocuments, AllowedRows
from termwise.engine.dense_retrieval import best_by_vectors, results_of, score_by_vectors
from termwise.engine.query_vector import QueryVector
from termwise.errors import CorruptIndexError, DuplicateIdError, UnknownIdError
from termwise.index import Index
from termwise.index.container import corrupt
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

ScoreOthers = Callable[[npt.NDArray[np.int64]], Scored]

SegmentResults = tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.float64] | None]
"""Best rows of a segment, best first; their sums; and the sums of all rows, or None if they were not computed."""

SearchSegment = Callable[[Segment, QueryVector, int, AllowedRows | None], SegmentResults]
"""Search of a segment for a number of results."""

DEEPER = 4
"""Factor of the number of chunks or documents that are searched, as long as they give too few results."""

DIRECT = 3
"""Allowed documents are scored one by one if the query has this many times as many postings as they have."""


def first_stage(index: Index, query: QueryVector, k: int) -> RankedOrdinals:
    """Return the `k` best documents that share a term with the query, fewer if fewer match; ties by input position.

    In an index with vectors, all documents with a vector match a query with a term that has a vector.

    Parameters
    ----------
    index : Index
    query : QueryVector
        Query prepared for the index.
    k : int
        Number of results, 1 or more.

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
    ordinals, scores, _ = first_stage_and_others(index, query, k)
    return ordinals, scores


def first_stage_and_others(
    index: Index,
    query: QueryVector,
    k: int,
    search: SearchSegment | None = None,
    allowed: AllowedDocuments | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], ScoreOthers]:
    """Return the results of `first_stage`, and a function that scores other documents as `score_documents` does.

    An index with vectors has computed these scores already, except for queries that it rounds. `search` replaces the
    exact search of each segment. Only documents that are `allowed` are results. Where conditions on texts are
    undecided, texts are read in the order of the ranking, until `k` documents are known to fulfil them. A document that
    is cut into chunks has the position of the first one and the score of the best one.
    """
    depth = k
    while allowed is not None and allowed.conditions is not None:
        ordinals, scores, score_others = _first_documents(index, query, depth, search, allowed)
        kept = allowed.conditions.first_fulfilled(ordinals, k)
        if len(kept) == k or len(ordinals) < depth:
            return ordinals[kept], scores[kept], score_others
        depth *= DEEPER
        allowed = allowed.limited(allowed.conditions)
    return _first_documents(index, query, k, search, allowed)


def _first_documents(
    index: Index,
    query: QueryVector,
    k: int,
    search: SearchSegment | None,
    allowed: AllowedDocuments | None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], ScoreOthers]:
    if not index.manifest.chunk:
        return _first_rows(index, query, k, search, allowed)
    depth = k
    while True:
        chunks, scores, _ = _first_rows(index, query, depth, search, allowed)
        documents, first = np.unique(index.chunks.documents_of(chunks), return_index=True)
        if len(documents) >= k or len(chunks) < depth:
            best = np.argsort(first)[:k]
            return documents[best], scores[first[best]], partial(score_documents, index, query)
        depth *= DEEPER


def _first_rows(
    index: Index,
    query: QueryVector,
    k: int,
    search: SearchSegment | None,
    allowed: AllowedDocuments | None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], ScoreOthers]:
    every: npt.NDArray[np.float64] | None = None
    if search is None and index.has_postings and not _is_direct(index, query, allowed):
        ordinals, sums = _search_postings(index, query, k, allowed)
    else:
        ordinals, sums, every = _search_segments(index, query, k, search or _search_segment, allowed)

    def score_others(ordinals: npt.NDArray[np.int64]) -> Scored:
        if every is None or allowed is not None or len(index.segments) > 1:
            return score_documents(index, query, ordinals)
        scores, matched = results_of(every[index.segments[0].rows_of(ordinals)])
        return scores * query.unit + query.constant, matched

    return ordinals, sums * query.unit + query.constant, score_others


def all_results(
    index: Index,
    query: QueryVector,
    *,
    exclude: Collection[str] = (),
    allowed: AllowedDocuments | None = None,
) -> RankedOrdinals:
    """Return all documents that `first_stage` can return and that are allowed and not excluded, best first."""
    ordinals, scores, _ = first_stage_and_others(index, query, max(1, len(index)), allowed=allowed)
    return without(index, ordinals, scores, exclude)


def documents_in_order(
    index: Index,
    query: QueryVector | None = None,
    *,
    exclude: Collection[str] = (),
    allowed: AllowedDocuments | None = None,
) -> npt.NDArray[np.int64]:
    """Return the documents that `all_results` returns, or all without a query, in the order of the index.

    Where postings tell which documents share a term with the query, no scores are computed.
    """
    if query is not None and query.vector is not None:
        return np.sort(all_results(index, query, exclude=exclude, allowed=allowed)[0])
    ordinals = index.chunks.starts
    if query is not None and len(ordinals):
        mask = np.zeros(len(index), dtype=np.bool_)
        for first, segment in zip(index.segments.firsts, index.segments, strict=True):
            present = np.zeros(segment.documents, dtype=np.bool_)
            for place in segment.places_of_terms(query.terms)[0].tolist():
                present[segment.rows_with(place)] = True
            mask[first : first + len(segment)] = segment.live_part(present)
        ordinals = ordinals[np.logical_or.reduceat(mask, ordinals) if index.manifest.chunk else mask]
    if exclude:
        ordinals = ordinals[~np.isin(ordinals, index.find_many(list(exclude)))]
    return ordinals if allowed is None else ordinals[allowed.allow(ordinals)]


def keep_candidates(
    ordinals: npt.NDArray[np.int64], index: Index, candidates: Sequence[str] | None
) -> npt.NDArray[np.int64]:
    """Return those of the documents that are candidates, in the order of the candidates; all without candidates."""
    if candidates is None:
        return ordinals
    chosen = candidate_ordinals(index, candidates, "")
    return chosen[np.isin(chosen, ordinals)]


def without(
    index: Index, ordinals: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], exclude: Collection[str]
) -> RankedOrdinals:
    """Remove documents from results by their identifiers; unknown ones are ignored."""
    if not exclude:
        return ordinals, scores
    included = ~np.isin(ordinals, index.find_many(list(exclude)))
    return ordinals[included], scores[included]


def score_documents(index: Index, query: QueryVector, ordinals: npt.NDArray[np.int64]) -> Scored:
    """Score given documents with the forward index; of a document that is cut into chunks, the best one.

    Returns
    -------
    scores : ndarray of shape (m,), float64
        Real scores, including those of documents that share no term with the query. In an index with vectors, 0 for a
        document without a vector.
    matched : ndarray of shape (m,), bool
        Whether the document shares a term with the query; in an index with vectors, whether it is a result.
    """
    _, scores, matched = best_chunks(index, query, ordinals)
    return scores, matched


def best_chunks(
    index: Index, query: QueryVector, documents: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the positions of the best chunks of documents, their scores, and whether they match the query.

    The documents are given by the positions of their first chunks. A chunk that matches is better than one that does
    not, and the first one is the best of equal ones. A document that is not cut is its only chunk.
    """
    if not index.manifest.chunk:
        return documents, *_score(index, query, documents)
    counts = index.chunks.counts(documents)
    chunks = concatenated_ranges(documents, counts)
    scores, matched = _score(index, query, chunks)
    owners = np.repeat(np.arange(len(documents)), counts)
    best = np.lexsort((-scores, ~matched, owners))[np.cumsum(counts) - counts]
    return chunks[best], scores[best], matched[best]


def _score(index: Index, query: QueryVector, ordinals: npt.NDArray[np.int64]) -> Scored:
    if len(index.segments) == 1:
        segment = index.segments[0]
        sums, matched = _score_rows(segment, query, segment.rows_of(ordinals))
        return sums * query.unit + query.constant, matched
    scores = np.empty(len(ordinals), dtype=np.float64)
    matched = np.empty(len(ordinals), dtype=np.bool_)
    for segment, positions, rows in index.segments.by_segment(ordinals):
        sums, shared = _score_rows(segment, query, rows)
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


def _search_postings(
    index: Index, query: QueryVector, k: int, allowed: AllowedDocuments | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return the ordinals and sums of the `k` best documents by the postings of all segments."""
    number = np.int32 if query.bound < 2**31 - 1 else np.int64
    views = index.segments.views if allowed is None else allowed.views
    by_document = allowed is not None and allowed.few and allowed.is_kept
    retrieve = retrieve_allowed if by_document else retrieve_segments
    ordinals, sums, corrupt_segment = retrieve(
        views, query.terms, query.weights.astype(number), number(query.background), k,
        ordinal_bits(len(index)), number(1),
    )  # fmt: skip
    if corrupt_segment != INTACT:
        raise corrupt(
            index.segments[corrupt_segment].path, 0, "postings inside their arrays", "a position outside"
        )
    return ordinals, sums


def _search_segments(
    index: Index, query: QueryVector, k: int, search: SearchSegment, allowed: AllowedDocuments | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.float64] | None]:
    """Return the ordinals and sums of the `k` best documents, and the sums of all rows of the last segment."""
    ordinals: list[npt.NDArray[np.int64]] = []
    sums: list[npt.NDArray[Any]] = []
    every: npt.NDArray[np.float64] | None = None
    for number, (first, segment) in enumerate(zip(index.segments.firsts, index.segments, strict=True)):
        rows_allowed = None if allowed is None else allowed.segments[number]
        available = len(segment) if rows_allowed is None else rows_allowed.count
        if available:
            rows, segment_sums, every = search(segment, query, min(k, available), rows_allowed)
            ordinals.append(segment.places_of(rows) + first)
            sums.append(segment_sums)
    return *((ordinals[0], sums[0]) if len(sums) == 1 else _merge(ordinals, sums, k)), every


def _search_segment(
    segment: Segment, query: QueryVector, k: int, allowed: AllowedRows | None
) -> SegmentResults:
    """Return the `k` best rows of a segment by its vectors, or by scoring all rows, or all allowed rows."""
    if segment.vectors is not None:
        return best_by_vectors(segment.vectors, query, k, rows_left_out(segment, allowed))
    rows = segment.rows_of(np.arange(len(segment))) if allowed is None else allowed.rows
    sums, matched = _score_rows(segment, query, rows)
    rows, sums = rows[matched], sums[matched]
    best = np.lexsort((rows, -sums))[:k]
    return rows[best], sums[best], None


def rows_left_out(segment: Segment, allowed: AllowedRows | None) -> npt.NDArray[np.bool_] | None:
    """Return the rows of a segment that cannot be results; None if all can."""
    if allowed is not None:
        return ~allowed.mask
    return None if segment.live is None else segment.live.deleted


def _score_rows(
    segment: Segment, query: QueryVector, rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    if segment.vectors is not None:
        return score_by_vectors(segment.vectors, query, rows)
    number = np.float64 if query.exact else np.int64
    terms, weights = _of_segment(segment, query)
    background = number(query.background) * number(1 << segment.shift)
    sums, matched, status = score_rows(
        segment.starts, segment.terms, segment.impacts, segment.bias, rows,
        terms, weights, background, _slots(segment.n_terms, len(terms)),
    )  # fmt: skip
    if status != OK:
        raise damaged_rows(segment)
    return sums, matched


def _of_segment(segment: Segment, query: QueryVector) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Return the terms of a query by the numbers of a segment, and their weights in units of its impacts."""
    terms, known = segment.places_of_terms(query.terms)
    weights = query.weights[known]
    return terms, weights << segment.shift if segment.shift else weights


def _slots(n_terms: int, n_query_terms: int) -> npt.NDArray[np.unsignedinteger]:
    """Return a look-up table of this thread, of the narrowest type and filled with 0, as the kernel leaves it."""
    dtype = np.min_scalar_type(n_query_terms)
    table: npt.NDArray[np.unsignedinteger] | None = getattr(_tables, dtype.name, None)
    if table is None or len(table) < n_terms:
        table = np.zeros(n_terms, dtype=dtype)
        setattr(_tables, dtype.name, table)
    return table


def _merge(
    ordinals: list[npt.NDArray[np.int64]], sums: list[npt.NDArray[Any]], k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    if not ordinals:
        return np.empty(0, dtype=np.int64), np.empty(0)
    merged = np.concatenate(ordinals)
    totals = np.concatenate(sums)
    best = np.lexsort((merged, -totals))[:k]
    return merged[best], totals[best]
