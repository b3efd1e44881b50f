"""Scoring given rows of the forward view."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels.jit import Array, compiled

OK = 0
CORRUPT = 1

BATCH = 256
"""Rows whose postings are fetched from memory together: as many as stay in a processor's cache until they are read."""

AHEAD = 512
"""Postings of a row that are fetched ahead, at most; the rest of a longer row is searched, or read in order, anyway."""

LONG = 32
"""In a row with more postings than this for each term of the query, the terms are searched for instead."""


@compiled
def _fetch(terms: Array, impacts: Array, firsts: Array, lasts: Array, start: int, stop: int) -> int:
    """Read one number from every cache line of the rows ``start`` to ``stop``, up to `AHEAD` postings of each.

    Rows lie anywhere in memory, and waiting for one after the other is most of what scoring them costs. These reads
    do not depend on each other, so that the processor waits for many of them at once.
    """
    total = np.int64(0)
    for i in range(start, stop):
        last = min(lasts[i], firsts[i] + AHEAD)
        for position in range(firsts[i], last, 32):
            total += np.int64(terms[position])
        for position in range(firsts[i], last, 64):
            total += np.int64(impacts[position] > 0)  # any real number fits no integer
    return int(total)


@compiled
def _search(
    terms: Array, impacts: Array, first: int, last: int, query_terms: Array, query_weights: Array, score: Any
) -> Any:
    """Add what the terms of a query weigh in one row, halving the row for each.

    No step branches on what was read, and no search waits for another one: the processor has several under way.
    """
    for i in range(len(query_terms)):
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


@compiled
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
        Impacts, or plain weights in a float index.
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
    slots : ndarray of shape (terms of the vocabulary,), an unsigned type that can count to q
        All zero; used for look-ups and left all zero.

    Returns
    -------
    scores : ndarray of shape (m,), type of `query_weights`
        Terms are added in ascending order of their numbers, so that float sums are reproducible.
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

    status = OK
    weights = np.zeros(len(query_terms) + 1, dtype=query_weights.dtype)  # slot 0: not in the query
    for i in range(len(query_terms)):
        slots[query_terms[i]] = i + 1
        weights[i + 1] = query_weights[i]
    size = len(slots)
    most = LONG * len(query_terms)
    fetched = 0
    for start in range(0, len(rows), BATCH):
        stop = min(start + BATCH, len(rows))
        fetched += _fetch(terms, impacts, firsts, lasts, start, stop)
        for i in range(start, stop):
            score = weights[0]
            if lasts[i] - firsts[i] > most:
                score = _search(terms, impacts, firsts[i], lasts[i], query_terms, query_weights, score)
            else:
                for position in range(firsts[i], lasts[i]):
                    term = np.int64(terms[position])
                    if term >= size:
                        status = CORRUPT
                        break
                    score += weights[slots[term]] * impacts[position]
            matched[i] = score > 0
            if background_weight > 0:
                score += background_weight * bias[rows[i]]
            scores[i] = score
    for i in range(len(query_terms)):
        slots[query_terms[i]] = 0
    if fetched < 0:  # it is not; but reads whose result nobody wants would be left out
        status = CORRUPT
    return scores, matched, status
