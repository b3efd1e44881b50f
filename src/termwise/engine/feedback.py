"""Feedback: a query by vectors, moved towards the first documents of its ranking.

Let *q* be the vector of the query, and *e* the vector of the window of a document that has the largest product with
*q*. The first documents of a ranking give the direction

    f = u / |u|        u = mean over these documents of  e / |e|  -  mean over all windows of the index of  e / |e|

and the documents are scored again by the vector

    q' = q / |q| + weight * f

The mean of all windows is what the documents of the collection have in common. Documents without a vector give none. A
query is not moved if it has no vector, if none of the first documents has one, or if they are the mean of the index.

The numbers of *q'* are rounded to multiples of ``1 / UNIT``, so that products with windows remain sums of whole
numbers.

References
----------
J. Rocchio, *Relevance feedback in information retrieval*, 1971, with the first documents as relevant ones, and the mean
of the collection in place of the irrelevant ones.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from termwise.engine.query_vector import MovedQuery, QueryVector
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.document_vectors import directions
from termwise.index.segment import concatenated_ranges
from termwise.validation import is_finite_number, is_integer
from termwise.vectors import LEVELS

MOST_DOCUMENTS = 100
"""Largest number of first documents."""

UNIT = 1 << 14
"""Units of a moved query vector in 1, so that its numbers fit in 16 bits."""

_BITS = 24
"""Bits of the numbers of a query vector whose length is computed, so that the sum of their squares fits in 63 bits."""


@dataclass(frozen=True)
class Feedback:
    """Settings of feedback; the defaults were chosen on the development queries in docs/results.md.

    Parameters
    ----------
    documents : int, optional
        Number of first documents that the query is moved towards, 1 to 100.
    weight : float, optional
        Length of the move, above 0 and at most 1, where the query has the length 1.

    Raises
    ------
    ParameterError
        If a value is out of range.
    """

    documents: int = 2
    weight: float = 0.2

    def __post_init__(self) -> None:
        if not is_integer(self.documents) or not 1 <= self.documents <= MOST_DOCUMENTS:
            raise ParameterError(
                "feedback takes the first documents of a ranking",
                facts=[
                    ("documents", self.documents),
                    ("expected", f"a whole number from 1 to {MOST_DOCUMENTS}"),
                ],
            )
        if not is_finite_number(self.weight) or not 0 < self.weight <= 1:
            raise ParameterError(
                "the weight of feedback is the length by which it moves a query of length 1",
                facts=[("weight", self.weight), ("expected", "a number above 0, at most 1")],
            )
        object.__setattr__(self, "documents", int(self.documents))
        object.__setattr__(self, "weight", float(self.weight))


def moved_query(
    index: Index, query: QueryVector, documents: npt.NDArray[np.int64], weight: float
) -> QueryVector:
    """Move a query towards documents.

    Parameters
    ----------
    index : Index
        Index with vectors.
    query : QueryVector
        Query prepared for the index.
    documents : ndarray of shape (m,), int64
        Positions of the first documents, 1 or more; of documents that are cut into chunks, those of the first chunks.
    weight : float
        See `Feedback`.

    Returns
    -------
    QueryVector
        The query itself if it cannot be moved.
    """
    vector = query.vector
    if vector is None or not vector.any():
        return query
    chunks = documents
    counts = np.ones(len(documents), dtype=np.int64)
    if index.manifest.chunk:
        counts = index.chunks.counts(documents)
        chunks = concatenated_ranges(documents, counts)
    windows = index.document_vectors(chunks)
    products = (windows.rows.astype(np.int64) @ vector) * windows.scales.astype(np.float64)
    bounds = windows.indptr[np.concatenate([[0], np.cumsum(counts)])].tolist()
    filled = [number for number, (first, last) in enumerate(pairwise(bounds)) if first < last]
    if not filled:
        return query
    best = [
        bounds[number] + int(np.argmax(products[bounds[number] : bounds[number + 1]])) for number in filled
    ]
    mean = directions(windows.rows[best]).sum(axis=0) / len(best)
    towards = np.rint(mean - index.mean_direction)
    if not towards.any():
        return query
    excess = max(0, int(np.abs(vector).max()).bit_length() - _BITS)
    length = math.sqrt(int(np.square(vector >> excess).sum())) * 2.0**excess
    moved = vector / length + (weight / math.sqrt(float(np.square(towards).sum()))) * towards
    rounded = np.rint(moved * UNIT).astype(np.int64)
    return replace(
        query,
        unit=1.0 / UNIT,
        bound=int(np.abs(rounded).sum()) * LEVELS,
        vector=rounded,
        moved=MovedQuery(documents[filled], weight, 1.0 / length),
    )
