"""The searcher, query by example, and exact re-ranking of candidates."""

from termwise.search.by_example import Example
from termwise.search.query_document_likelihood import (
    QueryDocumentLikelihood,
    QueryLikelihoods,
    StoredQueryVectors,
)
from termwise.search.searcher import Searcher
from termwise.search.timed_run import TimedRun
from termwise.search.translation_scorer import TranslationScorer

__all__ = [
    "Example",
    "QueryDocumentLikelihood",
    "QueryLikelihoods",
    "Searcher",
    "StoredQueryVectors",
    "TimedRun",
    "TranslationScorer",
]


def __dir__() -> list[str]:
    return __all__
