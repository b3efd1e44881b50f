"""Scoring given rows of the forward view."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels.compiling import Array, compiled

OK = 0
CORRUPT = 1


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
    table: Array,
    zero: Any,
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
        Distinct terms.
    query_weights : ndarray of shape (q,), int64 or float64
        Their weights.
    background_weight : int64 or float64
        Weight of the document bias.
    table : ndarray of shape (terms of the vocabulary,), type of `zero`
        All zero; used for look-ups and left all zero.
    zero : int64 or float64 scalar
        Type of the sums.

    Returns
    -------
    scores : ndarray of shape (m,), type of `zero`
        Terms are added in ascending order of their numbers, so that float sums are reproducible.
    matched : ndarray of shape (m,), bool
        Whether the row shares a term with the query.
    status : int
        `OK` or `CORRUPT`.
    """
    scores = np.zeros(len(rows), dtype=table.dtype)
    matched = np.zeros(len(rows), dtype=np.bool_)
    status = OK
    for i in range(len(query_terms)):
        table[query_terms[i]] = query_weights[i]
    size = len(table)
    for i in range(len(rows)):
        first = np.int64(indptr[rows[i]])
        last = np.int64(indptr[rows[i] + 1])
        if first > last or last > len(terms):
            status = CORRUPT
            break
        score = zero
        if background_weight > 0:
            score += background_weight * bias[rows[i]]
        shared = False
        for position in range(first, last):
            term = np.int64(terms[position])
            if term >= size:
                status = CORRUPT
                break
            weight = table[term]
            if weight != 0:
                score += weight * impacts[position]
                shared = True
        scores[i] = score
        matched[i] = shared
    for i in range(len(query_terms)):
        table[query_terms[i]] = zero
    return scores, matched, status
