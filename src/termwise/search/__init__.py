"""Searches of an index or of a mixture, and exact re-ranking of candidates."""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.engine.boosts import Boost
    from termwise.engine.feedback import Feedback
    from termwise.engine.synonyms import Synonyms
    from termwise.search.hits import Hit
    from termwise.search.opening import verify
    from termwise.search.parts import Part
    from termwise.search.query_document_likelihood import (
        QueryDocumentLikelihood,
        QueryLikelihoods,
        StoredQueryVectors,
    )
    from termwise.search.query_rules import QueryRule
    from termwise.search.query_syntax import ParsedQuery, parse_query
    from termwise.search.relevance import Relevance
    from termwise.search.request import Search
    from termwise.search.results import Results
    from termwise.search.searcher import Searcher
    from termwise.search.snippets import Snippet
    from termwise.search.suggestions import Completion, SimilarWord, Suggestion
    from termwise.search.timed_run import TimedRun
    from termwise.search.translation_scorer import TranslationScorer
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "hits": "Hit",
            "mixture_folder": "Feedback",
            "opening": "verify",
            "parts": "Part",
            "query_document_likelihood": "QueryDocumentLikelihood QueryLikelihoods StoredQueryVectors",
            "query_syntax": "ParsedQuery parse_query",
            "relevance": "Boost QueryRule Relevance Synonyms",
            "request": "Search",
            "results": "Results",
            "searcher": "Searcher",
            "snippets": "Snippet",
            "suggestions": "Completion SimilarWord Suggestion",
            "timed_run": "TimedRun",
            "translation_scorer": "TranslationScorer",
        },
    )

__all__ = [
    "Boost",
    "Completion",
    "Feedback",
    "Hit",
    "ParsedQuery",
    "Part",
    "QueryDocumentLikelihood",
    "QueryLikelihoods",
    "QueryRule",
    "Relevance",
    "Results",
    "Search",
    "Searcher",
    "SimilarWord",
    "Snippet",
    "StoredQueryVectors",
    "Suggestion",
    "Synonyms",
    "TimedRun",
    "TranslationScorer",
    "parse_query",
    "verify",
]
