"""Searches of an index or of a mixture, and exact re-ranking of candidates."""

from typing import TYPE_CHECKING, Any

from termwise.search.hits import Hit
from termwise.search.opening import verify
from termwise.search.parts import Part
from termwise.search.query_document_likelihood import (
    QueryDocumentLikelihood,
    QueryLikelihoods,
    StoredQueryVectors,
)
from termwise.search.query_syntax import ParsedQuery, parse_query
from termwise.search.request import Search
from termwise.search.results import Results
from termwise.search.searcher import Searcher
from termwise.search.snippets import Snippet
from termwise.search.suggestions import Completion, SimilarWord, Suggestion
from termwise.search.timed_run import TimedRun

if TYPE_CHECKING:
    from termwise.search.translation_scorer import TranslationScorer

__all__ = [
    "Completion",
    "Hit",
    "ParsedQuery",
    "Part",
    "QueryDocumentLikelihood",
    "QueryLikelihoods",
    "Results",
    "Search",
    "Searcher",
    "SimilarWord",
    "Snippet",
    "StoredQueryVectors",
    "Suggestion",
    "TimedRun",
    "TranslationScorer",
    "parse_query",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load `TranslationScorer` when it is first used: searching an index does not need translation tables."""
    if name == "TranslationScorer":
        from termwise.search.translation_scorer import TranslationScorer

        return TranslationScorer
    raise AttributeError(f"module 'termwise.search' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
