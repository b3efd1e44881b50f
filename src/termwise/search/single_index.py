"""Backend of a searcher over one index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import final

import numpy as np
import numpy.typing as npt

from termwise.engine.allowed_documents import AllowedDocuments
from termwise.engine.explicit_weights import ExplicitWeights
from termwise.engine.graph_retrieval import ApproximateRetrieval, open_graphs
from termwise.engine.query_encoder import QueryEncoder, query_encoder_of
from termwise.engine.query_settings import DEFAULT, WeightedQueryEncoder, check_settings, no_whole_words
from termwise.engine.query_vector import QueryVector
from termwise.engine.result_order import Best
from termwise.engine.retrieval import (
    RankedOrdinals,
    ScoreOthers,
    documents_in_order,
    first_stage_and_others,
    score_documents,
    without,
)
from termwise.engine.similar_terms import SimilarTerms
from termwise.engine.subwords import SimilarPieces
from termwise.engine.text_conditions import TextReader
from termwise.errors import ParameterError
from termwise.explain.explainer import explain
from termwise.explain.explanation import Explanation
from termwise.fixes import Code, Fix
from termwise.index import Index
from termwise.index.vector_graph import VectorGraph
from termwise.search.backend import Allowed, EncodedQuery, Floats, Ordinals, Part, PartEncoding
from termwise.search.request import Search
from termwise.validation import check_names
from termwise.weights import TermWeights


@final
class SingleIndex:
    """One index with its query encoder; a `Backend`.

    Parameters
    ----------
    index : Index
        An open index.
    encoder : QueryEncoder, optional
        By default the one that the index describes.

    Attributes
    ----------
    similar_terms : SimilarTerms or None
        Look-up of similar words; None if the terms of the index are pieces of words.
    """

    def __init__(self, index: Index, encoder: QueryEncoder | None = None) -> None:
        if not isinstance(index, Index):
            raise ParameterError(
                "a searcher needs an open index",
                facts=[("given", type(index).__name__)],
                fixes=[Fix.call("termwise.open", Code("path"))],
            )
        self.index = self.attribute_index = index
        self._given_encoder = encoder
        self.encoder = query_encoder_of(index) if encoder is None else encoder
        self.similar_terms = SimilarTerms.of(index, self.encoder.analyzer)

    @property
    def path(self) -> Path:
        """Folder of the index."""
        return self.index.path

    @property
    def description(self) -> str:
        """Name of the model."""
        return self.index.manifest.encoder.model.name or "unknown"

    @property
    def is_exact(self) -> bool:
        """Whether every weighted term of a document occurs in its text; otherwise the model expands documents."""
        return self.index.manifest.encoder.model.exact

    @property
    def parts(self) -> tuple[Part, ...]:
        """The index as the only part."""
        return (Part(self.description, self, 1.0),)

    @property
    def words(self) -> SingleIndex:
        """The index itself."""
        return self

    @property
    def suggesting(self) -> SingleIndex:
        """The index itself."""
        return self

    @property
    def scores_are_relative(self) -> bool:
        """Always False: the score of a document does not depend on others."""
        return False

    @cached_property
    def text_reader(self) -> TextReader:
        """Reader that finds the texts with a word or phrase."""
        return TextReader(self.index, self.encoder.analyzer)

    @cached_property
    def _graphs(self) -> dict[Path, VectorGraph]:
        return open_graphs(self.index)

    def refreshed(self) -> SingleIndex:
        """Return the newest generation; the same object if it is the newest."""
        newest = self.index.newest()
        return self if newest is self.index else SingleIndex(newest, self._given_encoder)

    def encodings(self, search: Search, example: int | None = None) -> tuple[PartEncoding, ...]:
        """Return how a search encodes queries; see `Backend.encodings`."""
        if (search.fuzzy or search.prefix) and self.similar_terms is None:
            facts = [("index", self.path), ("analyzer", self.encoder.analyzer.spec.name)]
            raise no_whole_words(search.fuzzy, search.prefix, facts)
        return (PartEncoding(self.index, self._encoder_for(search, example), self.graph_for(search)),)

    def _encoder_for(self, search: Search, example: int | None) -> QueryEncoder:
        if search.weights is not None:
            analyzer = self.encoder.analyzer
            if isinstance(search.weights, TermWeights):
                return ExplicitWeights(analyzer, search.weights)
            return ExplicitWeights.of(self.index, analyzer, search.weights)
        return self.weighted_encoder(search, example)

    def weighted_encoder(
        self, search: Search, example: int | None, similar: SimilarPieces | None = None
    ) -> QueryEncoder:
        """Return the encoder with the weighting of a search, and with similar terms: its own, or `similar`."""
        added = self.similar_terms if similar is None else similar
        fuzzy, prefix = added is not None and search.fuzzy, added is not None and search.prefix
        if search.weighting == DEFAULT and not fuzzy and not prefix:
            return self.encoder
        check_settings(search.weighting, self.index)
        return WeightedQueryEncoder(self.encoder, self.index, search.weighting, added, fuzzy, prefix, example)

    def graph_for(self, search: Search) -> ApproximateRetrieval | None:
        """Return the approximate retrieval of a search; None if it is exact."""
        if search.approximate is None:
            return None
        return ApproximateRetrieval(self._graphs, int(search.approximate))

    def find(self, doc_ids: Sequence[str]) -> Ordinals:
        """Return the positions of documents; see `Backend.find`."""
        check_names("doc_ids", doc_ids)
        ordinals = self.index.find_many(doc_ids)
        for place in np.flatnonzero(ordinals < 0).tolist():
            self.index.ordinal(doc_ids[place])  # raises the error for an unknown one
        return ordinals

    def allowed(self, found: AllowedDocuments | None) -> Allowed:
        """Return the allowed documents of the index."""
        return None if found is None else (found,)

    def match(self, query: EncodedQuery, exclude: frozenset[str], allowed: Allowed) -> IndexMatches:
        """Return the documents that match a query; see `Backend.match`."""
        return IndexMatches(self.index, query, exclude, None if allowed is None else allowed[0])

    def windows_for(self, parts: Sequence[PartEncoding], k: int) -> int | None:
        """Return how many windows a search takes from the graph; see `Backend.windows_for`."""
        graph = parts[0].graph
        return None if graph is None else graph.windows_for(self.index, k)


def first_stage_of(
    part: PartEncoding, vector: QueryVector, k: int, allowed: AllowedDocuments | None
) -> tuple[Ordinals, Floats, ScoreOthers]:
    """Return the `k` best documents of an exact or approximate search; see `first_stage_and_others`."""
    search = None if part.graph is None else part.graph.search
    return first_stage_and_others(part.index, vector, k, search, allowed)


@final
@dataclass(frozen=True, eq=False)
class IndexMatches:
    """Documents of an index that match a query; `Matches`."""

    index: Index
    query: EncodedQuery
    exclude: frozenset[str]
    allowed: AllowedDocuments | None

    def ordinals(self) -> Ordinals:
        """Return the positions of all matches, in the order of the index."""
        (vector,) = self.query.vectors
        return documents_in_order(self.index, vector, exclude=self.exclude, allowed=self.allowed)

    @property
    def best(self) -> Best:
        """Function that returns the best matches by score, of a given number."""
        (part,), (vector,) = self.query.parts, self.query.vectors

        def best(k: int) -> RankedOrdinals:
            ordinals, scores, _ = first_stage_of(part, vector, k + len(self.exclude), self.allowed)
            ordinals, scores = without(self.index, ordinals, scores, self.exclude)
            return ordinals[:k], scores[:k]

        return best

    def scores(self, ordinals: Ordinals) -> tuple[Floats, npt.NDArray[np.bool_] | None]:
        """Return the scores of any documents; in an index with vectors, also whether each has a vector."""
        (vector,) = self.query.vectors
        scores, matched = score_documents(self.index, vector, ordinals)
        return scores, None if vector.vector is None else matched

    def explain(
        self, doc_ids: Sequence[str], ordinals: Ordinals, competitors: int | None, centred: bool
    ) -> list[Explanation]:
        """Explain the score of each document as a sum over terms; see `Results.explain`."""
        if centred:
            raise ParameterError(
                "only the score of a mixture can be centred: the candidates of an index are not scored together",
                facts=[("index", self.index.path)],
                fixes=[Fix.omit("centred")],
            )
        return explain(
            self.index,
            self.query.parts[0].encoder,
            self.query.text,
            doc_ids,
            competitors=competitors,
            exclude=self.exclude,
            allowed=self.allowed,
        )
