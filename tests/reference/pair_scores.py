"""Scores of single pairs of a query and a text, one term at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum


def pair_scores(
    query_indptr: Sequence[int],
    query_terms: Sequence[int],
    query_weights: Sequence[float],
    indptr: Sequence[int],
    terms: Sequence[int],
    weights: Sequence[float],
    queries: Sequence[int],
    texts: Sequence[int],
) -> list[float]:
    """Add up the products of the terms that a query and a text share; each sum is rounded once.

    Examples
    --------
    >>> pair_scores([0, 2], [1, 4], [1.0, 2.0], [0, 1, 3], [4, 1, 4], [0.5, 3.0, 0.25], [0, 0], [0, 1])
    [1.0, 3.5]
    """
    scores = []
    for query, text in zip(queries, texts, strict=True):
        row = {terms[i]: weights[i] for i in range(indptr[text], indptr[text + 1])}
        shared = (i for i in range(query_indptr[query], query_indptr[query + 1]) if query_terms[i] in row)
        scores.append(fsum(query_weights[i] * float(row[query_terms[i]]) for i in shared))
    return scores
