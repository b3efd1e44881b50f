"""Adding term weights up: retrieve, re-rank, explain; and mixing what several systems say."""

from termwise.search.encoding import QueryEncoder
from termwise.search.explanation import Competitor, Contribution, Explanation
from termwise.search.interpolation import interpolate, reciprocal_rank_fusion
from termwise.search.likelihoods import (
    QueryDocumentLikelihood,
    QueryLikelihoods,
    StoredQueryVectors,
)
from termwise.search.searcher import Searcher, TimedRun

__all__ = [
    "Competitor",
    "Contribution",
    "Explanation",
    "QueryDocumentLikelihood",
    "QueryEncoder",
    "QueryLikelihoods",
    "Searcher",
    "StoredQueryVectors",
    "TimedRun",
    "interpolate",
    "reciprocal_rank_fusion",
]
