"""The searcher, query by example, and exact re-ranking of candidates."""

from typing import TYPE_CHECKING, Any

from termwise.search.by_example import Example
from termwise.search.hits import Hit
from termwise.search.mixture import MixtureSearcher, Part, open_searcher
from termwise.search.query_document_likelihood import (
    QueryDocumentLikelihood,
    QueryLikelihoods,
    StoredQueryVectors,
)
from termwise.search.query_syntax import ParsedQuery, parse_query
from termwise.search.searcher import Searcher
from termwise.search.snippets import Snippet
from termwise.search.suggestions import Completion, SimilarWord, Suggestion
from termwise.search.timed_run import TimedRun

if TYPE_CHECKING:
    from termwise.search.translation_scorer import TranslationScorer

__all__ = [
    "Completion",
    "Example",
    "Hit",
    "MixtureSearcher",
    "ParsedQuery",
    "Part",
    "QueryDocumentLikelihood",
    "QueryLikelihoods",
    "Searcher",
    "SimilarWord",
    "Snippet",
    "StoredQueryVectors",
    "Suggestion",
    "TimedRun",
    "TranslationScorer",
    "open_searcher",
    "parse_query",
]


def __getattr__(name: str) -> Any:
    """Load `TranslationScorer` when it is first used: searching an index does not need translation tables."""
    if name == "TranslationScorer":
        from termwise.search.translation_scorer import TranslationScorer

        return TranslationScorer
    raise AttributeError(f"module 'termwise.search' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
