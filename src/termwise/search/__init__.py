"""Adding term weights up: retrieve, re-rank, explain."""

from termwise.search.encoding import QueryEncoder
from termwise.search.explanation import Competitor, Contribution, Explanation
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
]
