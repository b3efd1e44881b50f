"""Retrieval and scoring by vectors: exact products of a query vector and the windows of documents.

The query is a vector *Q* of integers, the weighted sum of the rows of its terms. Its product with a window is a whole
number, so a score does not depend on the order of additions, on the processor, on the number of threads, or on the
digits that the kernel takes *Q* in.

Retrieval reads all vectors. If *Q* does not fit into 16 bits, this pass rounds it to 16 bits. Rounding changes no
product by more than 128 times the sum of the absolute changes, so the `k` best documents are among those whose rounded
score is at most twice this bound below the `k`-th best one. Only these are scored exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from termwise.engine.query_vector import QueryVector
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.document_vectors import SegmentVectors
from termwise.index.segment import concatenated_ranges
from termwise.kernels.dense_retrieval import LARGEST_SUM, score
from termwise.vectors import LEVELS

FEW = 8
"""Rounding pays if at most one document in this many is scored exactly afterwards."""

SAMPLE = 2048
"""Number of scores from which the `k`-th best one is estimated."""

_LARGEST = LEVELS + 1
"""Bound for a stored number; a damaged file may hold -128."""

Scores = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Digits:
    """Query vector in the form of the kernel: rows of digits, times a power of two.

    Attributes
    ----------
    rows : ndarray of shape (places, dimensions), int16
        Number *j* is the sum over the places *p* of ``rows[p, j] << (bits * p)``, times `factor`.
    bits : int
        Distance of the places.
    factor : float
        Power of two.
    """

    rows: npt.NDArray[np.int16]
    bits: int
    factor: float

    @classmethod
    def of(cls, vector: npt.NDArray[np.int64]) -> Digits:
        """Split a vector into digits.

        Examples
        --------
        >>> Digits.of(np.array([3 << 20, -1 << 20])).rows.tolist()
        [[3, -1]]
        >>> Digits.of(np.array([3 << 20, -1])).rows.tolist()
        [[0, -1], [48, 0]]
        """
        common = int(np.bitwise_or.reduce(vector))
        shift = max(0, (common & -common).bit_length() - 1)
        left = vector >> shift
        bits = min(16, (LARGEST_SUM // (_LARGEST * len(vector))).bit_length())
        if _is_digit(left):
            return cls(left[None].astype(np.int16), bits, 2.0**shift)
        half, rows = 1 << (bits - 1), []
        while left.any():
            rows.append(((left + half) & (2 * half - 1)) - half)
            left = (left - rows[-1]) >> bits
        return cls(np.array(rows, dtype=np.int16), bits, 2.0**shift)

    @classmethod
    def rounded(cls, vector: npt.NDArray[np.int64]) -> tuple[Digits, float]:
        """Round a vector to one digit; return also a bound for the change of a product, in units of `factor`.

        Examples
        --------
        >>> digits, error = Digits.rounded(np.array([(1 << 15) + 1, 0]))
        >>> digits.rows.tolist(), digits.factor, error
        ([[16385, 0]], 2.0, 64.0)
        """
        shift = max(0, int(np.abs(vector).max()).bit_length() - 15)
        while not _is_digit(near := (vector + (1 << shift >> 1)) >> shift):
            shift += 1
        error = int(np.abs(vector - (near << shift)).sum()) * _LARGEST
        return cls(near[None].astype(np.int16), 16, 2.0**shift), error / 2.0**shift


def _is_digit(vector: npt.NDArray[np.int64]) -> bool:
    """Return whether the kernel can take a vector as one row of digits."""
    low, high = np.iinfo(np.int16).min, np.iinfo(np.int16).max
    within = bool(low <= vector.min() and vector.max() <= high)
    return within and int(np.abs(vector).sum()) * _LARGEST <= LARGEST_SUM


def best_by_vectors(
    vectors: SegmentVectors, query: QueryVector, k: int, left_out: npt.NDArray[np.bool_] | None = None
) -> tuple[Rows, Scores, Scores | None]:
    """Find the best rows of a segment; those that are `left_out` are no results.

    Returns
    -------
    rows : ndarray of shape (at most k,), int64
        Best first.
    scores : ndarray of the same shape, float64
        In units of `QueryVector.unit`.
    every : ndarray of shape (rows,), float64, or None
        Scores of all rows, -inf for those that are no results; None if not all were computed exactly.
    """
    if not len(query.terms):
        return np.empty(0, dtype=np.int64), np.empty(0), None
    documents = len(vectors.starts) - 1
    exact = Digits.of(_vector_of(query))
    if len(exact.rows) > 1 and k <= documents // FEW:
        digits, error = Digits.rounded(_vector_of(query))
        rough = _score_all(vectors, digits, left_out)
        best = top_k(rough, k)
        if len(best) == k:
            # One unit more covers the rounding of the products with the scales.
            margin = 2 * (error + 1) * digits.factor * vectors.largest_scale
            rows = np.flatnonzero(rough >= rough[best[-1]] - margin)
        else:
            rows = np.sort(best)
        if len(rows) <= documents // FEW:
            scores = _score_some(vectors, exact, rows)
            best = top_k(scores, k)
            return rows[best], scores[best], None
    scores = _score_all(vectors, exact, left_out)
    best = top_k(scores, k)
    return best, scores[best], scores


def score_by_vectors(
    vectors: SegmentVectors, query: QueryVector, rows: Rows
) -> tuple[Scores, npt.NDArray[np.bool_]]:
    """Return the scores of rows of a segment in units of `QueryVector.unit`, and whether each is a result.

    Rows that are no results have the score 0.
    """
    if not len(query.terms):
        return np.zeros(len(rows)), np.zeros(len(rows), dtype=np.bool_)
    return without_infinity(_score_some(vectors, Digits.of(_vector_of(query)), rows))


def without_infinity(scores: Scores) -> tuple[Scores, npt.NDArray[np.bool_]]:
    """Replace scores of -inf, which are those of rows that are no results, by 0; return also which rows are results."""
    matched = scores > -np.inf
    return np.where(matched, scores, 0.0), matched


@dataclass(frozen=True, eq=False)
class BestWindow:
    """Window of a document with the largest score.

    Attributes
    ----------
    number : int
        Position among the windows of the document, from 0.
    count : int
        Number of these windows.
    products : ndarray of shape (terms,), int64
        Product of the vectors of each query term and of the window, in units of the scales of terms and window.
    product : int
        Product of the query vector and the window. It is the weighted sum of `products` unless feedback moved the
        query.
    scale : float
        Unit of the window.
    """

    number: int
    count: int
    products: npt.NDArray[np.int64]
    product: int
    scale: float


def best_window(index: Index, query: QueryVector, ordinal: int) -> BestWindow | None:
    """Return the best window of a document.

    Parameters
    ----------
    index : Index
    query : QueryVector
        Query prepared for the index.
    ordinal : int
        Position of the document.

    Returns
    -------
    BestWindow or None
        None for an index without vectors, a document without windows, and a query without a known term.
    """
    table = index.term_vectors
    if table is None or not len(query.terms):
        return None
    windows = index.document_vectors(np.array([ordinal]))
    if not len(windows.rows):
        return None
    rows, scales = windows.rows.astype(np.int64), windows.scales.astype(np.float64)
    totals = rows @ _vector_of(query)
    best = int(np.argmax(totals * scales))
    products = table.rows[query.terms].astype(np.int64) @ rows[best]
    products <<= table.shifts[query.terms].astype(np.int64)
    return BestWindow(best, len(rows), products, int(totals[best]), float(scales[best]))


def top_k(scores: Scores, k: int) -> Rows:
    """Return the positions of the `k` largest scores above -inf, best first; ties by position.

    Only the scores above a threshold are sorted. The threshold is a score of a sample, and is lowered until enough
    scores reach it.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
    k : int
        1 or more.

    Examples
    --------
    >>> top_k(np.array([1.0, 3.0, -np.inf, 3.0]), 2).tolist()
    [1, 3]
    """
    sample = scores[:: max(1, len(scores) // SAMPLE)]
    expected = k * len(sample) / max(1, len(scores))
    rank = int(expected + 3 * expected**0.5 + 4)
    rows = np.empty(0, dtype=np.int64)
    while len(rows) < k and rank < len(sample) // 2:
        threshold = np.partition(sample, -rank)[-rank]
        if threshold == -np.inf:
            break
        rows = np.flatnonzero(scores >= threshold)
        rank *= 4
    if len(rows) < k:
        rows = np.flatnonzero(scores > -np.inf)
    return rows[np.argsort(-scores[rows], kind="stable")[:k]]


def _vector_of(query: QueryVector) -> npt.NDArray[np.int64]:
    assert query.vector is not None, "a query of an index with vectors has a vector"
    return query.vector


def _score_all(
    vectors: SegmentVectors, digits: Digits, left_out: npt.NDArray[np.bool_] | None = None
) -> Scores:
    """Return the scores of all rows, -inf for those without windows and for those that are left out."""
    scores = np.empty(len(vectors.starts) - 1)
    score(vectors.starts, vectors.rows, vectors.scales, digits.rows, digits.bits, scores)
    if left_out is not None:
        scores[left_out] = -np.inf
    return scores * digits.factor if digits.factor != 1 else scores


def _score_some(vectors: SegmentVectors, digits: Digits, rows: Rows) -> Scores:
    """Return the scores of distinct rows, -inf without windows."""
    firsts, counts = vectors.window_bounds(rows)
    starts = np.concatenate([[0], np.cumsum(counts)])
    windows = concatenated_ranges(firsts, counts)
    scores = np.empty(len(rows))
    arrays = (starts.astype(np.uint32), vectors.rows[windows], vectors.scales[windows])
    for array in arrays:
        array.setflags(write=False)  # the kernel is compiled for read-only arrays
    score(*arrays, digits.rows, digits.bits, scores)
    return scores * digits.factor
