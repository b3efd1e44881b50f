"""Ranking, term by term.

A model weighs the terms of every document once, at index time. A query is then only tokenised and added up: search
costs what BM25 costs, and every score is a sum that can be shown term by term.

>>> import tempfile, termwise
>>> documents = [termwise.Document("a", "merge two sorted lists"), termwise.Document("b", "shuffle a list")]
>>> with tempfile.TemporaryDirectory() as folder:
...     searcher = termwise.build_index(documents, folder, store_text=True)
...     ranking = searcher.rank("merging lists", k=10)
...     explanation = searcher.explain("merging lists", "a")
>>> ranking.doc_ids
('a', 'b')
>>> [contribution.term for contribution in explanation.contributions]
['merg', 'list']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from termwise._version import __version__ as __version__

if TYPE_CHECKING:
    from termwise.collection import (
        open_collection,
        read_qrels,
        read_queries,
        read_run,
        read_seeds,
        write_run,
    )
    from termwise.errors import TermwiseError
    from termwise.explain import Explanation
    from termwise.fusion import Fusion, fuse, interpolate, reciprocal_rank_fusion
    from termwise.index import Index, IndexWriter, verify
    from termwise.indexing import build_index, encode_collection
    from termwise.models import (
        BM25,
        MaximumLikelihood,
        Model1,
        QueryLikelihoodDirichlet,
        QueryLikelihoodJM,
        SpladeDoc,
        Tilde,
        TildeV2,
        VectorModel,
    )
    from termwise.records import Document, Qrel, Query, Ranking, Run, ScoredDoc
    from termwise.scorers.protocol import TextScorer
    from termwise.search import QueryDocumentLikelihood, Searcher, StoredQueryVectors
    from termwise.search.translation_scorer import TranslationScorer
    from termwise.text import Vocabulary, make_analyzer
    from termwise.weights import TermWeights

_HOMES = {
    "BM25": "models",
    "Document": "records",
    "Explanation": "explain",
    "Fusion": "fusion",
    "Index": "index",
    "IndexWriter": "index",
    "MaximumLikelihood": "models",
    "Model1": "models",
    "Qrel": "records",
    "Query": "records",
    "QueryDocumentLikelihood": "search",
    "QueryLikelihoodDirichlet": "models",
    "QueryLikelihoodJM": "models",
    "Ranking": "records",
    "Run": "records",
    "ScoredDoc": "records",
    "Searcher": "search",
    "SpladeDoc": "models",
    "StoredQueryVectors": "search",
    "TermWeights": "weights",
    "TermwiseError": "errors",
    "TextScorer": "scorers.protocol",
    "Tilde": "models",
    "TildeV2": "models",
    "TranslationScorer": "search.translation_scorer",
    "VectorModel": "models",
    "Vocabulary": "text",
    "build_index": "indexing",
    "encode_collection": "indexing",
    "fuse": "fusion",
    "interpolate": "fusion",
    "make_analyzer": "text",
    "open_collection": "collection",
    "read_qrels": "collection",
    "read_queries": "collection",
    "read_run": "collection",
    "read_seeds": "collection",
    "reciprocal_rank_fusion": "fusion",
    "verify": "index",
    "write_run": "collection",
}

__all__ = [
    "BM25",
    "Document",
    "Explanation",
    "Fusion",
    "Index",
    "IndexWriter",
    "MaximumLikelihood",
    "Model1",
    "Qrel",
    "Query",
    "QueryDocumentLikelihood",
    "QueryLikelihoodDirichlet",
    "QueryLikelihoodJM",
    "Ranking",
    "Run",
    "ScoredDoc",
    "Searcher",
    "SpladeDoc",
    "StoredQueryVectors",
    "TermWeights",
    "TermwiseError",
    "TextScorer",
    "Tilde",
    "TildeV2",
    "TranslationScorer",
    "VectorModel",
    "Vocabulary",
    "build_index",
    "encode_collection",
    "fuse",
    "interpolate",
    "make_analyzer",
    "open_collection",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_seeds",
    "reciprocal_rank_fusion",
    "verify",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home when it is first used, so that importing costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'termwise' has no attribute {name!r}")
    return getattr(import_module(f"termwise.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([name for name in globals() if name.startswith("__")] + __all__)
