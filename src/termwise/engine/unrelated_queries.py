"""Scores that unrelated queries reach in an index with vectors, and the relevance of a result that they give.

Every text is near every other one to some degree. How near shows what queries reach that have nothing to do with the
documents: sums of the vectors of three terms of the query table, drawn at random. The cosine of a query *q* and a
document is

    c(q, d) = score(q, d) / |q|

which is that of the best window of the document if the vectors of windows have the length 1. The relevance of a
document is the share of the unrelated queries whose best document has a smaller cosine. It is 0 for a document below
all of them, 1 for one above all, and grows with the score. It says how far a result stands out, and not how probable it
is that a person finds it relevant.

Only quantiles are kept, and the shares between them are interpolated linearly. The queries are the same for the same
table. Their vectors are rounded to small whole numbers, so that sums of products are exact in 32 bits, and quantiles do
not depend on the processor or the number of threads.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from termwise.engine.query_vector import QueryVector
from termwise.engine.retrieval import score_documents
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.vectors import LEVELS, TermVectors

QUERIES = 200
"""Number of unrelated queries."""

TERMS = 3
"""Number of terms of each."""

SEED = 0
"""Seed of the generator that draws their terms."""

STEPS = 20
"""Quantiles are stored for the shares 0, 1/20, 2/20 and so on to 1."""

LEAST_RELEVANCE = 0.9
"""Least relevance of results if no document matches by words; `experiments/results/min_relevance.md` has its choice."""

LEAST_RELEVANCE_OF_PIECES = math.inf
"""Least relevance if, in addition, the query table has no whole word of the query, apart from codes, or the query is in
another language than the table: no result reaches it. Sums of many pieces of words, of which random letters consist,
are nearer to short texts than sums of three terms are, so that their relevance says little."""

DRIFT = 0.1
"""Relative change of the number of documents after which the queries are scored again."""

LARGEST = 1e9
"""Largest absolute value of a quantile."""

DIGITS = 4
"""Decimal places of the quantiles."""

BATCH = 2048
"""Documents that are read at a time."""

_EXACT = (1 << 24) - 1
"""Sums of whole numbers up to this one are exact as float32."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class UnrelatedQueries:
    """Best cosines that unrelated queries reach in an index.

    Attributes
    ----------
    documents : int
        Number of documents of the index when they were measured.
    quantiles : tuple of float
        Quantiles of the cosines for the shares 0, 1/20, … 1, ascending.
    """

    documents: int
    quantiles: tuple[float, ...]

    @classmethod
    def measure(cls, index: Index) -> UnrelatedQueries:
        """Score the unrelated queries in an index with vectors; all quantiles are 0 if it has no windows."""
        table = index.term_vectors
        assert table is not None, "the index has vectors"
        queries = _queries(table)
        lengths = np.sqrt(np.square(queries.astype(np.float64)).sum(axis=1))
        best = np.full(len(queries), -np.inf)
        for first in range(0, len(index), BATCH):
            windows = index.document_vectors(np.arange(first, min(first + BATCH, len(index)), dtype=np.int64))
            products = windows.rows.astype(np.float32) @ queries.T
            cosines = products.astype(np.float64) * windows.scales.astype(np.float64)[:, None]
            best = np.maximum(best, cosines.max(axis=0, initial=-np.inf))
        if not len(queries) or best[0] == -np.inf:
            return cls(index.documents, (0.0,) * (STEPS + 1))
        quantiles = np.quantile(best / lengths, np.linspace(0, 1, STEPS + 1))
        kept = np.clip(np.round(quantiles, DIGITS), -LARGEST, LARGEST)
        return cls(index.documents, tuple((kept + 0.0).tolist()))

    def are_outdated(self, documents: int) -> bool:
        """Return whether an index has so many more or fewer documents that they are measured again.

        Examples
        --------
        >>> measured = UnrelatedQueries(100, (0.0,) * 21)
        >>> [measured.are_outdated(documents) for documents in (91, 100, 109, 110, 0)]
        [False, False, False, True, True]
        """
        return abs(documents - self.documents) >= max(1.0, DRIFT * self.documents)

    def relevance(self, cosines: Floats) -> Floats:
        """Return the share of the unrelated queries whose best document has a smaller cosine.

        Examples
        --------
        >>> measured = UnrelatedQueries(9, tuple(np.linspace(0.1, 0.5, 21).tolist()))
        >>> measured.relevance(np.array([0.05, 0.1, 0.2, 0.49, 0.5, 0.9])).tolist()
        [0.0, 0.0, 0.25, 0.975, 1.0, 1.0]
        """
        shares = np.interp(cosines, self.quantiles, np.linspace(0, 1, STEPS + 1))
        return np.asarray(np.round(shares, DIGITS))


def cosines(index: Index, query: QueryVector, ordinals: npt.NDArray[np.int64]) -> Floats:
    """Return the score of documents divided by the length of the query vector; -inf without a vector."""
    if query.vector is None or not query.vector.any():
        return np.full(len(ordinals), -np.inf)
    scores, matched = score_documents(index, query, ordinals)
    length = math.sqrt(float(np.square(query.vector.astype(np.float64)).sum())) * query.unit
    return np.where(matched, scores / length, -np.inf)


def no_relevance(
    min_relevance: float, facts: list[tuple[str, object]], *, is_mixture: bool
) -> ParameterError:
    """Return the error for a least relevance where none is known."""
    return ParameterError(
        "the relevance of results is not known: it is measured when a mixture with vectors is built",
        facts=[*facts, ("min_relevance", min_relevance)],
        fixes=[
            "build the mixture again" if is_mixture else "search a mixture with vectors, such as instant",
            "omit it",
        ],
    )


def _queries(table: TermVectors) -> npt.NDArray[np.float32]:
    """Return the vectors of the queries, shape (n, dimensions): whole numbers that keep products exact."""
    known = np.flatnonzero(table.known)
    dimensions = table.rows.shape[1]
    largest = max(1, min(LEVELS, _EXACT // ((LEVELS + 1) * dimensions)))
    generator = np.random.default_rng(SEED)
    vectors = []
    for _ in range(QUERIES if len(known) else 0):
        terms = np.sort(generator.choice(known, min(TERMS, len(known)), replace=False))
        vector = table.combine(terms, np.ones(len(terms), dtype=np.int64))
        if vector.any():
            vectors.append(np.rint(vector / np.abs(vector).max() * largest))
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), dimensions)
