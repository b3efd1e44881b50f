"""Backend of a searcher over one index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
import numpy.typing as npt

from termwise.engine.allowed_documents import AllowedDocuments
from termwise.engine.query_encoder import ExplicitWeights, QueryEncoder, query_encoder_of
from termwise.engine.query_languages import QueryEncoderByLanguage
from termwise.engine.query_settings import (
    DEFAULT,
    WeightedQueryEncoder,
    check_settings,
    no_languages,
    no_whole_words,
    no_words,
)
from termwise.engine.result_order import Best
from termwise.engine.retrieval import RankedOrdinals, Scored, documents_in_order, first_stage, score_documents
from termwise.engine.text_conditions import TextReader
from termwise.engine.unrelated_queries import no_relevance
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.index import Index
from termwise.search.part_weights import has_codes_only
from termwise.search.parts import Allowed, EncodedQuery, Ordinals, Part, PartEncoding
from termwise.search.request import Search
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute, readings

if TYPE_CHECKING:
    from termwise.engine.boosts import Boost, IndexBoosts
    from termwise.engine.graph_retrieval import ApproximateRetrieval
    from termwise.engine.similar_terms import SimilarTerms, SimilarTermsByLanguage
    from termwise.engine.subwords import SimilarPieces
    from termwise.explain.explanation import Explanation
    from termwise.index.vector_graph import VectorGraph


@final
class SingleIndex:
    """One index with its query encoder.

    Parameters
    ----------
    index : Index
        An open index.
    encoder : QueryEncoder, optional
        By default the one that the index describes.

    Attributes
    ----------
    index, attribute_index : Index
        For identifiers and texts of the documents, and for their attributes.
    """

    kind: ClassVar[str] = "index"  # in errors
    scores_are_relative: ClassVar[bool] = False  # to the other candidates

    def __init__(self, index: Index, encoder: QueryEncoder | None = None) -> None:
        if not isinstance(index, Index):
            raise ParameterError(
                "a searcher needs an open index",
                facts=[("given", type(index).__name__)],
                fixes=[Fix.call("termwise.open", Code("path"))],
            )
        self.index = self.attribute_index = index
        self.kept_boosts: dict[tuple[tuple[Boost, ...], int], IndexBoosts] = {}
        self._tokens_of_synonyms: dict[str, list[tuple[str, int, int]]] = {}
        self.given_encoder = encoder
        self.encoder = query_encoder_of(index) if encoder is None else encoder

    @cached_property
    def similar_terms(self) -> SimilarTerms | SimilarTermsByLanguage | None:
        """Look-up of similar words; None if the terms of the index are pieces of words."""
        from termwise.engine.similar_terms import SimilarTerms

        return SimilarTerms.of(self.index, self.encoder.analyzer)

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
        """Index whose analyzer decides which words a text has."""
        return self

    @property
    def suggesting(self) -> SingleIndex:
        """Index whose words are suggested for those that it lacks, if its terms are whole words."""
        return self

    @cached_property
    def text_reader(self) -> TextReader:
        """Reader that finds the texts with a word or phrase."""
        return TextReader(self.index, self.encoder.analyzer)

    @cached_property
    def _graphs(self) -> dict[Path, VectorGraph]:
        from termwise.engine.graph_retrieval import open_graphs

        return open_graphs(self.index)

    def refreshed(self) -> SingleIndex:
        """Return the newest generation; the same object if it is the newest."""
        newest = self.index.newest()
        return self if newest is self.index else SingleIndex(newest, self.given_encoder)

    def encodings(self, search: Search, example: int | None = None) -> tuple[PartEncoding, ...]:
        """Return how a search encodes queries for each part.

        Parameters
        ----------
        search : Search
        example : int, optional
            Position of the document whose text is the query.

        Raises
        ------
        ParameterError
            If the weights or settings of the search do not apply.
        """
        if search.lang is not None and not isinstance(self.encoder.analyzer, AnalyzerByAttribute):
            raise no_languages(
                search.lang, [("index", self.path), ("analyzer", self.encoder.analyzer.spec.name)]
            )
        if (search.fuzzy or search.prefix) and self.similar_terms is None:
            facts = [("index", self.path), ("analyzer", self.encoder.analyzer.spec.name)]
            raise no_whole_words(bool(search.fuzzy), bool(search.prefix), facts)
        if (search.match is not None or search.only_words) and self.index.term_vectors is not None:
            raise no_words(search.match, bool(search.only_words), [("index", self.path)])
        if search.relevance is not None and search.relevance.parts:
            raise ParameterError(
                "only a mixture has parts with weights",
                facts=[("index", self.path), ("parts", ", ".join(search.relevance.parts))],
                fixes=["remove parts from the relevance"],
            )
        if search.min_relevance:
            raise no_relevance(search.min_relevance, [("index", self.path)], is_mixture=False)
        encoder: QueryEncoder
        if search.weights is None:
            encoder = self.weighted_encoder(search, example)
        else:
            encoder = ExplicitWeights.of(self.index, self.encoder_of(search).analyzer, search.weights)
        return (PartEncoding(self.index, encoder, self.graph_for(search)),)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the documents; none if all documents have the same analyzer."""
        analyzer = self.encoder.analyzer
        return analyzer.languages if isinstance(analyzer, AnalyzerByAttribute) else ()

    def language_of(self, search: Search) -> str | None:
        """Return the language of the query of a search, as the analyzer of the index names it; None for all."""
        analyzer = self.encoder.analyzer
        if search.lang is None or not isinstance(analyzer, AnalyzerByAttribute):
            return None
        return analyzer.named(search.lang)

    def encoder_of(self, search: Search) -> QueryEncoder:
        """Return the encoder for the language of a search."""
        language, encoder = self.language_of(search), self.encoder
        if language is None or not isinstance(encoder, QueryEncoderByLanguage):
            return encoder
        return replace(encoder, analyzer=encoder.analyzer.limited_to([language]))

    def weighted_encoder(
        self,
        search: Search,
        example: int | None,
        similar: SimilarPieces | None = None,
        whole: SingleIndex | None = None,
    ) -> QueryEncoder:
        """Return the encoder with the weighting of a search, with similar terms, its own or `similar`, and synonyms.

        `whole` is the index whose analyzer finds the words of synonyms in queries, by default this one.
        """
        encoder, synonyms = self.encoder_of(search), search.synonyms
        similar_terms: SimilarTerms | SimilarTermsByLanguage | SimilarPieces | None = None
        if search.fuzzy or search.prefix:
            similar_terms = similar
            if similar is None and self.similar_terms is not None:
                similar_terms = self.similar_terms.of_language(self.language_of(search))
        if search.weighting == DEFAULT and similar_terms is None and synonyms is None:
            return encoder
        check_settings(search.weighting, self.index)
        synonym_terms = None
        if synonyms is not None:
            from termwise.engine.subwords import WordsInPieces
            from termwise.engine.synonyms import SynonymTerms

            words = self if whole is None else whole
            matchers = map(synonyms.matcher, readings(words.encoder_of(search).analyzer))
            kept = self._tokens_of_synonyms if encoder is self.encoder else {}
            pieces = WordsInPieces(self.index, encoder.analyzer)
            synonym_terms = SynonymTerms(tuple(matchers), words.index, pieces, kept)
        return WeightedQueryEncoder(
            encoder,
            self.index,
            search.weighting,
            similar_terms,
            bool(search.fuzzy),
            bool(search.prefix),
            example,
            synonym_terms,
        )

    def graph_for(self, search: Search) -> ApproximateRetrieval | None:
        """Return the approximate retrieval of a search; None if it is exact."""
        if search.approximate is None:
            return None
        from termwise.engine.graph_retrieval import ApproximateRetrieval

        return ApproximateRetrieval(self._graphs, int(search.approximate))

    def allowed(self, found: AllowedDocuments | None) -> Allowed:
        """Return documents of `attribute_index` for each part."""
        return None if found is None else (found,)

    def match(
        self, query: EncodedQuery, left_out: Ordinals, allowed: Allowed, search: Search
    ) -> IndexMatches:
        """Return the documents that match a query, among those that are allowed and not left out."""
        (part,), (vector,) = query.parts, query.vectors
        among = None if allowed is None else allowed[0]
        words, level = search.match, "any"
        if words is None and vector.vector is None and search.weights is None and has_codes_only(query.text):
            words = "any"  # a part of a code is no match
        if words is not None:
            found = query.word_matches(0, words, left_out, among)
            among, level = found.as_allowed(self.index), found.level
        best = partial(first_stage, self.index, vector, left_out=left_out, allowed=among, search=part.search)
        return IndexMatches(
            self.index, query, left_out, among, best, level if vector.vector is None else None
        )

    def windows_for(self, parts: Sequence[PartEncoding], k: int) -> int | None:
        """Return how many windows a search for `k` results takes from a graph, or more; None if it is exact."""
        graph = parts[0].graph
        return None if graph is None else graph.windows_for(self.index, k)


@final
@dataclass(frozen=True, eq=False)
class IndexMatches:
    """Documents of an index that match a query.

    Attributes
    ----------
    index : Index
    query : EncodedQuery
    left_out : ndarray of int64
        Positions of documents that are no results.
    allowed : AllowedDocuments or None
    best : callable
        Returns the best matches by score, of a given number.
    level : str or None
        Number of words of the query that the documents contain, see `Search.match`; None in an index with vectors.
    """

    index: Index
    query: EncodedQuery
    left_out: Ordinals
    allowed: AllowedDocuments | None
    best: Best
    level: str | None

    count_is_exact: ClassVar[bool] = True

    @property
    def by_meaning(self) -> bool:
        """Whether the documents match by vectors."""
        return self.level is None

    def by_words(self, ordinals: Ordinals) -> npt.NDArray[np.bool_]:
        """Return which results match by their words: all, or in an index with vectors none."""
        return np.full(len(ordinals), self.level is not None)

    def ordinals(self) -> Ordinals:
        """Return the positions of all matches, in the order of the index."""
        (vector,) = self.query.vectors
        if vector.vector is not None:
            return np.sort(self.best(max(1, len(self.index)))[0])
        return documents_in_order(self.index, vector.terms, left_out=self.left_out, allowed=self.allowed)

    def scores(self, ordinals: Ordinals) -> Scored:
        """Return the scores of any documents, and in an index with vectors, whether each has a vector."""
        (vector,) = self.query.vectors
        scores, matched = score_documents(self.index, vector, ordinals)
        return scores, np.ones_like(matched) if vector.vector is None else matched

    def best_boosted(self, boosts: IndexBoosts, k: int) -> RankedOrdinals | None:
        """Return the best matches with boosts; None if this search needs another way, see `boosted_retrieval`."""
        from termwise.engine.boosted_retrieval import best_boosted

        (vector,) = self.query.vectors
        return best_boosted(self.index, vector, boosts, k, left_out=self.left_out, allowed=self.allowed)

    def is_ranked(self, ordinals: Ordinals) -> npt.NDArray[np.bool_]:
        """Return whether each document could be a result, apart from conditions."""
        return ~np.isin(ordinals, self.left_out)

    def explain(self, doc_ids: Sequence[str], ordinals: Ordinals, centred: bool) -> list[Explanation]:
        """Explain the score of each document as a sum over terms; see `Results.explain`."""
        if centred:
            raise ParameterError(
                "only the score of a mixture can be centred: the candidates of an index are not scored together",
                facts=[("index", self.index.path)],
                fixes=[Fix.omit("centred")],
            )
        from termwise.explain.explainer import explain

        (part,), (vector,) = self.query.parts, self.query.vectors
        return explain(self.index, part.encoder, vector, self.query.text, doc_ids, ordinals)
