"""Query vector: integer weights over the terms of an index, and the scale of their sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import short_digest
from termwise.errors import ParameterError, VocabularyMismatchError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.kernels.retrieval import max_score
from termwise.vectors import LEVELS, TermVectors
from termwise.weights import TermWeights

QUERY_LEVELS = 4095
"""Upper bound for query weights that are rounded to integers."""

MAX_DENSE_SUM = 1 << 53
"""Products of vectors are below it, so that they are exact as float64."""


@dataclass(frozen=True, eq=False)
class MovedQuery:
    """How feedback moved a query; see `termwise.engine.feedback`.

    Attributes
    ----------
    documents : ndarray of shape (m,), int64
        Positions of the documents that it was moved towards.
    weight : float
        Length of the move.
    term_unit : float
        Real score of one unit of the products of the weighted rows of the terms, which are not moved.
    """

    documents: npt.NDArray[np.int64]
    weight: float
    term_unit: float


@dataclass(frozen=True)
class QueryVector:
    """Query weights prepared for one index.

    Attributes
    ----------
    terms : ndarray of shape (q,), int32
        Distinct terms, ascending.
    weights : ndarray of shape (q,), int64 (float64 for a float index)
        Query weights in units of `query_scale`, 1 or more.
    background : int or float
        Weight of the document bias, in the same unit; 0 without a document bias.
    query_scale : float
        Real query weight of one unit: 1, or a power of two.
    unit : float
        Real score of one unit of the sums.
    constant : float
        Score that every document gets: the weighted floors of the terms.
    bound : int
        Upper bound for a sum.
    vector : ndarray of shape (dimensions,), int64, or None
        For an index with vectors, the weighted sum of the rows of the terms, see `TermVectors.combine`; or that sum
        moved by feedback.
    moved : MovedQuery or None
        How feedback moved the vector; None if it did not.
    """

    terms: npt.NDArray[np.int32]
    weights: npt.NDArray[Any]
    background: float
    query_scale: float
    unit: float
    constant: float
    bound: int
    vector: npt.NDArray[np.int64] | None = None
    moved: MovedQuery | None = None

    @property
    def term_unit(self) -> float:
        """Real score of one unit of the sum over the terms: `unit`, unless feedback moved the query."""
        return self.unit if self.moved is None else self.moved.term_unit

    @property
    def exact(self) -> bool:
        """Whether weights are real numbers, for an index with float weights."""
        return bool(self.weights.dtype == np.float64)


def query_vector(index: Index, row: TermWeights) -> QueryVector:
    """Prepare one row of query weights for an index.

    Whole-number weights are not changed. Others are rounded to multiples of a power of two such that the largest weight
    of a term is between 2048 and 4095 units; the smallest is at least one. The document bias, whose weight is the sum
    of the others, has the same unit. An index with vectors drops terms that have none, like unknown words.
    In an index that was changed, weights are first multiplied by `Index.idf`.

    Parameters
    ----------
    index : Index
        Index to search.
    row : TermWeights
        One row over the vocabulary of the index. Zero weights are dropped.

    Raises
    ------
    VocabularyMismatchError
        If the row was made for another vocabulary.
    WeightError
        If a weight is negative.
    ParameterError
        If the weights are so large that sums would not fit.
    """
    manifest = index.manifest
    if row.vocabulary != manifest.vocabulary:
        raise VocabularyMismatchError(
            "the index and the query have different vocabularies",
            facts=[
                ("index", f"{index.path}  {manifest.terms:,} terms  {short_digest(manifest.vocabulary)}"),
                ("query", short_digest(row.vocabulary)),
                ("reason", "equal numbers stand for different words, so scores would be meaningless"),
            ],
            fixes=["encode the query with the query encoder of the index"],
        )
    if len(row) != 1:
        raise WeightError("a query is one row", facts=[("rows", len(row))])
    terms, values = row.row(0)
    kept = values > 0
    if np.count_nonzero(kept) < len(kept):  # faster than kept.all()
        if (values < 0).any():
            raise WeightError("a query weight is negative", facts=[("weight", float(values.min()))])
        terms, values = terms[kept], values[kept]
    real = values.astype(np.float64)
    slots = manifest.terms + manifest.background
    if len(terms) and int(terms[-1]) >= slots:
        raise VocabularyMismatchError(
            "a query term lies outside the vocabulary", facts=[("term", int(terms[-1])), ("terms", slots)]
        )
    factors = index.query_factors(terms)
    if factors is not None:
        real = real * factors
    if index.term_vectors is not None:
        return dense_query(index.term_vectors, terms, real)
    exact = manifest.quantiser.kind == "float32"
    biased = bool(manifest.background and len(terms) and int(terms[-1]) == manifest.terms)
    limit = max_score(len(index))
    scale = 1.0 if exact else _query_scale(real, limit if biased else None, manifest.quantiser.bias_bits)
    weights: npt.NDArray[Any] = real if exact else np.maximum(1, np.rint(real / scale)).astype(np.int64)
    constant = float(index.floors[terms] @ (weights * scale)) if len(index.floors) else 0.0
    background = weights.dtype.type(0)
    if biased:
        background = weights[-1]
        terms, weights = terms[:-1], weights[:-1]
    unit = manifest.quantiser.scale * scale
    bound = 0
    if not exact:
        if manifest.background:
            # The bias has a finer unit than the impacts; convert the impacts to it.
            unit /= 2**manifest.quantiser.bias_bits
            weights = weights << manifest.quantiser.bias_bits
        bound = (int(weights.sum()) * 255 + int(background) * 65535) << index.segments.largest_shift
        if bound >= limit:
            raise _too_large(bound, limit)
    return QueryVector(terms, weights, background.item(), scale, unit, constant, bound)


def dense_query(
    table: TermVectors, terms: npt.NDArray[np.int32], real: npt.NDArray[np.float64]
) -> QueryVector:
    """Prepare query weights above 0 of distinct terms, ascending, for vectors; see `query_vector`."""
    kept = terms < len(table)  # a background term has no vector
    kept[kept] = table.rows[terms[kept]].any(axis=1)
    terms, real = terms[kept], real[kept]
    scale = _query_scale(real)
    units = np.maximum(1, np.rint(real / scale))
    largest = float(units @ np.ldexp(1.0, table.shifts[terms].astype(np.int64))) * LEVELS**2
    if largest >= MAX_DENSE_SUM:  # so the numbers of the vector fit
        raise _too_large(largest, MAX_DENSE_SUM)
    weights = units.astype(np.int64)
    vector = table.combine(terms, weights)
    bound = int(np.abs(vector).sum()) * LEVELS
    if bound >= MAX_DENSE_SUM:
        raise _too_large(bound, MAX_DENSE_SUM)
    return QueryVector(terms, weights, 0, scale, table.scale * scale, 0.0, bound, vector)


def _too_large(sum: float, limit: int) -> ParameterError:
    return ParameterError(
        "the query weights are too large for exact sums",
        facts=[("largest possible sum", sum), ("limit", limit)],
        fixes=["scale the query weights down; only their ratios matter for the ranking"],
    )


def _query_scale(weights: npt.NDArray[np.float64], limit: int | None = None, bias_bits: int = 0) -> float:
    """Return the unit of query weights; with a bias (the last weight), it keeps sums below `limit`."""
    if np.count_nonzero(weights == np.rint(weights)) == len(weights):
        return 1.0
    terms = weights[:-1] if limit is not None and len(weights) > 1 else weights
    scale = math.ldexp(1.0, math.frexp(float(terms.max()))[1] - QUERY_LEVELS.bit_length())
    if limit is not None:
        largest = (float(terms.sum()) * 255 * 2**bias_bits + float(weights[-1]) * 65535) / scale
        scale *= 2.0 ** max(0, math.ceil(math.log2(largest / limit)) + 1)
    return scale
