"""Adding term weights up: retrieve, re-rank, explain."""

from termwise.search.by_example import Example
from termwise.search.encoding import QueryEncoder
from termwise.search.explanation import Competitor, Contribution, Explanation
from termwise.search.likelihoods import (
    QueryDocumentLikelihood,
    QueryLikelihoods,
    StoredQueryVectors,
)
from termwise.search.query_settings import QuerySettings
from termwise.search.searcher import Searcher, TimedRun

__all__ = [
    "Competitor",
    "Contribution",
    "Example",
    "Explanation",
    "QueryDocumentLikelihood",
    "QueryEncoder",
    "QueryLikelihoods",
    "QuerySettings",
    "Searcher",
    "StoredQueryVectors",
    "TimedRun",
]
