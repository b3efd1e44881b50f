"""Scores of given rows of the forward view."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels import plain
from termwise.kernels.jit import Array, compiled, compiled_for, variants

OK = 0
CORRUPT = 1

SLOTS = 255
"""Number of query terms that are looked up together in one pass over the rows."""

BATCH = 256
"""Number of rows whose postings are fetched from memory together; they fit the cache of the processor."""

AHEAD = 512
"""Largest number of postings of a row to fetch in advance."""

LONG = 32
"""Postings per query term above which a row is searched by bisection instead of read in order."""


@compiled
def _fetch(terms: Array, impacts: Array, firsts: Array, lasts: Array, start: int, stop: int) -> int:
    """Read one number from each cache line of the rows ``start:stop``, up to `AHEAD` postings per row.

    Most of the time of scoring is spent waiting for memory. These reads do not depend on each other, so the processor
    waits for many of them at once.
    """
    total = np.int64(0)
    for i in range(start, stop):
        last = min(lasts[i], firsts[i] + AHEAD)
        for position in range(firsts[i], last, 32):
            total += np.int64(terms[position])
        for position in range(firsts[i], last, 64):
            total += np.int64(impacts[position] > 0)  # a float may not fit an integer
    return int(total)


@compiled
def _search(
    terms: Array,
    impacts: Array,
    first: int,
    last: int,
    query_terms: Array,
    query_weights: Array,
    begin: int,
    end: int,
    score: Any,
) -> Any:
    """Add the products of the query terms ``begin:end`` in a row, each found by bisection.

    No branch depends on the data, so the processor runs several searches at the same time.
    """
    for i in range(begin, end):
        place: Any = first
        left: Any = last - first
        while left > 1:
            half = left // 2
            place += half * np.int64(np.int64(terms[place + half - 1]) < query_terms[i])
            left -= half
        place += np.int64(np.int64(terms[place]) < query_terms[i])
        if place < last and np.int64(terms[place]) == query_terms[i]:
            score += query_weights[i] * impacts[place]
    return score


@compiled_for(
    *variants(
        "uint32[:], {terms}[:], uint8[:], uint16[:], int64[:], int32[:], int64[:], int64, out(uint8[:])",
        terms=("uint16", "uint32"),
    ),
    *variants(
        "uint32[:], {terms}[:], float32[:], float32[:], int64[:], int32[:], float64[:], float64, out(uint8[:])",
        terms=("uint16", "uint32"),
    ),
    plain=plain.score_rows,
)
def score_rows(
    indptr: Array,
    terms: Array,
    impacts: Array,
    bias: Array,
    rows: Array,
    query_terms: Array,
    query_weights: Array,
    background_weight: Any,
    slots: Array,
) -> tuple[Array, Array, int]:
    """Score rows of a forward view for one query; agrees with `reference.score_rows`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), uint32
        Row boundaries.
    terms : ndarray of shape (nnz,), uint16 or uint32
        Term numbers, strictly increasing in a row.
    impacts : ndarray of shape (nnz,), uint8 or float32
        Impacts, or the weights of a float index.
    bias : ndarray of shape (n or 0,), uint16 or float32
        Document bias.
    rows : ndarray of shape (m,), int64
        Rows to score, each in range.
    query_terms : ndarray of shape (q,), int32
        Distinct terms, ascending.
    query_weights : ndarray of shape (q,), int64 or float64
        Their weights.
    background_weight : int64 or float64
        Weight of the document bias.
    slots : ndarray of shape (terms of the vocabulary,), uint8
        Work array, zero before and after. It numbers the terms of a query, `SLOTS` at a time.

    Returns
    -------
    scores : ndarray of shape (m,), type of `query_weights`
        Products are added in ascending order of the terms, so float sums are reproducible.
    matched : ndarray of shape (m,), bool
        Whether the row shares a term with the query.
    status : int
        `OK` or `CORRUPT`.
    """
    scores = np.zeros(len(rows), dtype=query_weights.dtype)
    matched = np.zeros(len(rows), dtype=np.bool_)
    firsts = np.empty(len(rows), dtype=np.int64)
    lasts = np.empty(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        firsts[i] = indptr[rows[i]]
        lasts[i] = indptr[rows[i] + 1]
        if firsts[i] > lasts[i] or lasts[i] > len(terms):
            return scores, matched, CORRUPT

    weights = np.zeros(SLOTS + 1, dtype=query_weights.dtype)  # slot 0: not in the query
    size = len(slots)
    most = LONG * len(query_terms)
    fetched = np.int64(0)
    status = OK
    for first in range(0, len(query_terms), SLOTS):
        count = min(len(query_terms) - first, SLOTS)
        for i in range(count):
            slots[query_terms[first + i]] = i + 1
            weights[i + 1] = query_weights[first + i]
        for start in range(0, len(rows), BATCH):
            stop = min(start + BATCH, len(rows))
            fetched += _fetch(terms, impacts, firsts, lasts, start, stop)
            for i in range(start, stop):
                score = scores[i]
                if lasts[i] - firsts[i] > most:
                    score = _search(
                        terms,
                        impacts,
                        firsts[i],
                        lasts[i],
                        query_terms,
                        query_weights,
                        first,
                        first + count,
                        score,
                    )
                else:
                    for position in range(firsts[i], lasts[i]):
                        term = np.int64(terms[position])
                        if term >= size:
                            status = CORRUPT
                            break
                        score += weights[slots[term]] * impacts[position]
                scores[i] = score
        for i in range(first, first + count):
            slots[query_terms[i]] = 0
    for i in range(len(rows)):
        matched[i] = scores[i] > 0
        if background_weight > 0:
            scores[i] += background_weight * bias[rows[i]]
    if fetched < 0:  # never true; without a use of the result, the compiler removes the reads
        status = CORRUPT
    return scores, matched, status
