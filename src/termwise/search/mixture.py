"""Mixture: several indexes of the same documents, ranked together by one weighted sum.

For a query, each part finds its first `depth` documents. These are the candidates; every part scores every candidate.
The scores of each part are normalised over the candidates, and the normalised scores are added:

    score(q, d) = sum over parts i of  weight_i(q) * (score_i(q, d) - mean_i) / deviation_i

The weights are those of the mixture, or of the relevance of the search, unless the query has an identifier; see
`termwise.search.part_weights`.

Mean and population standard deviation are those of the scores of the part over the candidates. If all candidates have
the same score in a part, for example because it knows no word of the query, the deviation is taken as 1, and the part
adds 0. A document without a vector has the smallest score of the candidates in a part with vectors.

A part may leave the search for candidates to the others, and only score those (`Part.retrieves`).

With feedback, parts with vectors score the candidates a second time, by queries that are moved towards the first
documents of this ranking; see `termwise.engine.feedback`. Normalisation and weights are the same.

The score of a document does not depend on the number of results. Documents with equal scores are in the order of the
input.

Parts of whole words find similar words, but none for a word that a part of pieces has as a whole. Parts of pieces read
these similar words in place of the mistyped ones; see `termwise.engine.subwords`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
import numpy.typing as npt

from termwise.engine.allowed_documents import AllowedDocuments, aligned
from termwise.engine.codes import has_digits
from termwise.engine.feedback import Feedback, moved_query
from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_languages import language_of_words
from termwise.engine.query_settings import no_languages, no_whole_words, no_words
from termwise.engine.query_vector import QueryVector
from termwise.engine.retrieval import RankedOrdinals, Scored, VectorScan, first_stage, score_documents
from termwise.engine.subwords import SimilarPieces, WordsInPieces
from termwise.engine.text_conditions import TextReader
from termwise.engine.unrelated_queries import (
    LEAST_RELEVANCE,
    LEAST_RELEVANCE_OF_PIECES,
    UnrelatedQueries,
    cosines,
    no_relevance,
)
from termwise.errors import (
    CorruptIndexError,
    IndexFormatError,
    MissingFileError,
    ParameterError,
    UnknownNameError,
)
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.reader import ATTEMPTS
from termwise.search.mixture_folder import (
    DEPTH,
    MAX_DEPTH,
    MAX_PARTS,
    MAX_WEIGHT,
    REBUILD,
    SMALLEST_SCALE,
    MixtureManifest,
    is_part_name,
    part_index,
)
from termwise.search.part_weights import PartWeights, has_codes_only, part_weights, without_codes
from termwise.search.parts import Allowed, EncodedQuery, Floats, Ordinals, Part, PartEncoding
from termwise.search.request import Search
from termwise.search.single_index import SingleIndex
from termwise.search.stated_options import IF_ANY
from termwise.storage.folder_path import FolderPath
from termwise.text.analyzer_by_attribute import LANGUAGE_CODES, AnalyzerByAttribute, readings
from termwise.text.wordpiece import has_english_pieces
from termwise.validation import check, is_finite_number, is_integer

if TYPE_CHECKING:
    from termwise.engine.boosts import Boost, IndexBoosts
    from termwise.engine.word_matches import WordMatches
    from termwise.explain.explanation import Explanation

_NOTHING = (np.empty(0, dtype=np.int64), np.empty(0))

SHORT_QUERY = 3
"""Number of typed words up to which documents with all words of a query come before all others."""

GAP = 0.1
"""Difference of scores between documents with all words of a query and those that match by meaning only."""

BATCH = 1 << 14
"""Documents per batch when identifiers are compared."""


@final
class Mixture:
    """Several indexes of the same documents in the same order, ranked together.

    Parameters
    ----------
    parts : sequence of Part
        One or more, with distinct names.
    depth : int, optional
        Number of results that each part contributes to the candidates.
    feedback : Feedback, optional
        Settings of feedback, for parts with vectors; none by default.
    unrelated : UnrelatedQueries, optional
        Scores that unrelated queries reach in the part at `meaning_part`. Without them, results have no relevance.

    Attributes
    ----------
    parts : tuple of Part
    depth : int
    feedback : Feedback or None
    unrelated : UnrelatedQueries or None
    index : Index
        For identifiers and texts of the documents: the index of the first part that stores texts, or else of the
        first part.
    attribute_index : Index
        The index of the first part with attributes, or of the first part.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the parts hold different documents.
    """

    kind: ClassVar[str] = "mixture"
    scores_are_relative: ClassVar[bool] = True

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        depth: int = DEPTH,
        feedback: Feedback | None = None,
        unrelated: UnrelatedQueries | None = None,
    ) -> None:
        self.parts = _with_common_words(_checked_parts(parts))
        check(
            "feedback", feedback, isinstance(feedback, Feedback | None), "a termwise.search.Feedback, or None"
        )
        self.feedback = feedback
        if feedback is not None and all(part.index.term_vectors is None for part in self.parts):
            raise ParameterError(
                "feedback moves queries by vectors, and no part of the mixture has them",
                facts=[("parts", ", ".join(part.name for part in self.parts))],
                fixes=[Fix.omit("feedback")],
            )
        if not is_integer(depth) or not 1 <= depth <= MAX_DEPTH:
            raise ParameterError(
                "depth is the number of results of each part",
                facts=[("depth", depth), ("expected", f"a whole number from 1 to {MAX_DEPTH:,}")],
            )
        self.depth = int(depth)
        self.unrelated = None if self.meaning_part is None else unrelated
        self.kept_boosts: dict[tuple[tuple[Boost, ...], int], IndexBoosts] = {}
        self._folder: FolderPath | None = None
        self._manifest: MixtureManifest | None = None
        indexes = [part.index for part in self.parts]
        self.index = next((index for index in indexes if index.stores_text), indexes[0])
        self.attribute_index = next((index for index in indexes if index.schema), indexes[0])
        for part in self.parts[1:]:
            difference = different_documents(indexes[0], part.index)
            if difference is not None:
                raise ParameterError(
                    "the parts of a mixture hold different documents, or in another order",
                    facts=[
                        ("part", f"{self.parts[0].name}, {indexes[0].path}"),
                        ("other", f"{part.name}, {part.index.path}"),
                        *difference,
                    ],
                    fixes=["build both from the same collection, in the same order", "fuse runs"],
                )

    @classmethod
    def open(cls, path: str | Path) -> Mixture:
        """Open the folder of a mixture.

        Raises
        ------
        MissingFileError
            If the folder, or the folder of a part, does not exist.
        NotAnIndexError, NewerFormatError, CorruptIndexError
            If ``mixture.json`` or a part is damaged or of another kind, if a part has changed since the mixture was
            built, or if the parts hold different documents.
        """
        return cls._newest(FolderPath.of(path))

    @classmethod
    def _newest(cls, folder: FolderPath) -> Mixture:
        before: MixtureManifest | None = None
        for _ in range(ATTEMPTS):
            manifest = MixtureManifest.read(folder.current)
            try:
                return cls.of(folder, manifest)
            except (MissingFileError, IndexFormatError) as error:
                # A build may have replaced the parts since the description was read; see `Index.open`.
                if manifest == before:
                    raise
                before, failure = manifest, error
        raise failure

    @classmethod
    def of(cls, folder: FolderPath, manifest: MixtureManifest) -> Mixture:
        """Open the parts that a description names; see `open`."""
        path = folder.current
        parts = [
            Part(
                record.name,
                SingleIndex(part_index(path, record)),
                record.weight,
                record.retrieves,
                record.scale,
            )
            for record in manifest.parts
        ]
        try:
            mixture = cls(
                parts, depth=manifest.depth, feedback=manifest.feedback, unrelated=manifest.unrelated
            )
        except ParameterError as error:
            raise CorruptIndexError(
                error.message, facts=[("mixture", path), *error.facts], fixes=[REBUILD]
            ) from None
        mixture._folder, mixture._manifest = folder, manifest
        return mixture

    @property
    def path(self) -> Path | None:
        """Folder of the mixture, see `Index.path`; None if it was made from open indexes."""
        return None if self._folder is None else self._folder.current

    @property
    def name(self) -> str:
        """Name of the folder, or `description` without one."""
        return self.description if self._folder is None else self._folder.name

    def refreshed(self) -> Mixture:
        """Return the newest generation; the same object if it is the newest."""
        if self._folder is not None:
            if MixtureManifest.read(self._folder.current) == self._manifest:
                return self
            return Mixture._newest(self._folder)
        refreshed = [replace(part, backend=part.backend.refreshed()) for part in self.parts]
        if all(new.backend is old.backend for new, old in zip(refreshed, self.parts, strict=True)):
            return self
        return Mixture(refreshed, depth=self.depth, feedback=self.feedback, unrelated=self.unrelated)

    @property
    def description(self) -> str:
        """Weights and names of the parts as a sum, such as ``0.3 bm25 + 0.7 lookup``."""
        signed = [
            f"{'-' if part.weight < 0 else '+'} {abs(part.weight):.4g} {part.name}" for part in self.parts
        ]
        written = " ".join(signed)
        return written[2:] if written[0] == "+" else f"-{written[2:]}"

    @cached_property
    def text_reader(self) -> TextReader:
        """Reader that finds the texts with a word or phrase: that of the first part whose terms are their words."""
        backends = [part.backend for part in self.parts]
        readers = [TextReader(each.index, each.encoder.analyzer, self.index) for each in backends]
        return next((reader for reader in readers if reader.postings_are_words), readers[0])

    @property
    def words(self) -> SingleIndex:
        """Part whose analyzer decides which words a text has."""
        return next(part.backend for part in self.parts if part.index is self.text_reader.index)

    @property
    def word_part(self) -> int | None:
        """Place of the part whose postings decide which documents match by words; None if all parts have vectors.

        It is the first one whose terms are the words of the texts, or else the first one with postings.
        """
        with_postings = [place for place, part in enumerate(self.parts) if part.index.term_vectors is None]
        words = self.text_reader.index
        of_words = (place for place in with_postings if self.parts[place].index is words)
        return next(of_words, with_postings[0] if with_postings else None)

    @property
    def meaning_part(self) -> int | None:
        """Place of the part whose scores give the relevance of results; None without vectors.

        It is the first one with vectors that finds candidates, or else the first one with vectors.
        """
        return meaning_part([(part.index, part.retrieves) for part in self.parts])

    def other_language(self, search: Search, text: str) -> str | None:
        """Return the language of a query if the vectors know only English, and it is another one; None otherwise.

        `Search.lang` says the language, or else the documents do: the query is in another language if documents of it
        have all words of the query that English documents have, and some more. Values that are no languages count as
        English.
        """
        place, words = self.meaning_part, self.words
        if place is None or not has_english_pieces(self.parts[place].backend.encoder.analyzer):
            return None
        language = words.language_of(search)
        if language is None and isinstance(words.encoder.analyzer, AnalyzerByAttribute):
            language = language_of_words(words.index, words.encoder.analyzer, text, "en")
        return None if language == "en" or language not in LANGUAGE_CODES else language

    @property
    def suggesting(self) -> SingleIndex:
        """First part whose terms are whole words, or the first part."""
        return _of_whole_words(self.parts) or self.parts[0].backend

    def encodings(self, search: Search, example: int | None = None) -> tuple[PartEncoding, ...]:
        """Return how a search encodes queries for each part; see `SingleIndex.encodings`."""
        facts = [("mixture", self.path or self.index.path), ("parts", ", ".join(p.name for p in self.parts))]
        if search.weights is not None:
            raise ParameterError(
                "weights of terms need an index with one model: each part of a mixture has its own terms",
                facts=facts,
                fixes=["pass the text of the query"],
            )
        whole = _of_whole_words(self.parts)
        if search.lang is not None and not any(
            isinstance(part.backend.encoder.analyzer, AnalyzerByAttribute) for part in self.parts
        ):
            raise no_languages(search.lang, facts)
        if (search.fuzzy or search.prefix) and whole is None:
            raise no_whole_words(bool(search.fuzzy), bool(search.prefix), facts)
        if (search.match is not None or search.only_words) and self.word_part is None:
            raise no_words(search.match, bool(search.only_words), facts)
        if not any(self._own_weights(search)):
            raise ParameterError("the weights of the parts are all 0", facts=facts)
        if search.min_relevance and self.unrelated is None:
            raise no_relevance(search.min_relevance, facts, is_mixture=self.meaning_part is not None)
        with_vectors = [part.index.term_vectors is not None for part in self.parts]
        scanned = [has and part.retrieves for has, part in zip(with_vectors, self.parts, strict=True)]
        if search.approximate is not None and not any(scanned):
            raise ParameterError(
                "only vectors can be searched approximately, and no part of the mixture finds candidates by them",
                facts=facts,
                fixes=[Fix.omit("approximate")],
            )
        return tuple(
            PartEncoding(
                part.index,
                self._encoder(part.backend, whole, search, example),
                part.backend.graph_for(search) if is_scanned else None,
                part.retrieves,
                self.feedback if has_vectors and search.feedback else None,
            )
            for part, has_vectors, is_scanned in zip(self.parts, with_vectors, scanned, strict=True)
        )

    def _own_weights(self, search: Search) -> tuple[float, ...]:
        """Return the weights of the parts: those of the relevance of a search, or else those of the mixture."""
        given = {} if search.relevance is None else search.relevance.parts
        for name in given.keys() - {part.name for part in self.parts}:
            raise UnknownNameError.of("part", name, [part.name for part in self.parts])
        return tuple(given.get(part.name, part.weight) for part in self.parts)

    def _encoder(
        self, backend: SingleIndex, whole: SingleIndex | None, search: Search, example: int | None
    ) -> QueryEncoder:
        """Return the encoder of a part. Parts of pieces read the similar words and the synonyms that `whole` finds."""
        if backend.similar_terms is not None or whole is None:
            return backend.weighted_encoder(search, example)
        similar = None
        if search.fuzzy:
            assert whole.similar_terms is not None, "a part has whole words"
            pieces = WordsInPieces(backend.index, backend.encoder.analyzer)
            similar = SimilarPieces(whole.similar_terms.of_language(whole.language_of(search)), pieces)
        return backend.weighted_encoder(search, example, similar, whole)

    def allowed(self, found: AllowedDocuments | None) -> Allowed:
        """Return the allowed documents in each part."""
        if found is None:
            return None
        indexes = (part.index for part in self.parts)
        return tuple(found if index is self.attribute_index else aligned(found, index) for index in indexes)

    def match(
        self, query: EncodedQuery, left_out: Ordinals, allowed: Allowed, search: Search
    ) -> MixtureMatches:
        """Find the candidates of a query and score them."""
        of_parts = [None] * len(self.parts) if allowed is None else allowed
        scans = [
            VectorScan() if part.retrieves and part.graph is None and vector.vector is not None else None
            for part, vector in zip(query.parts, query.vectors, strict=True)
        ]
        firsts = [
            first_stage(
                part.index,
                vector,
                self.depth,
                left_out=left_out,
                allowed=of_part,
                search=part.search if scan is None else scan.search,
            )
            if part.retrieves
            else _NOTHING
            for part, vector, of_part, scan in zip(query.parts, query.vectors, of_parts, scans, strict=True)
        ]
        union = np.sort(np.concatenate([ordinals for ordinals, _ in firsts]))
        union = union[np.diff(union, prepend=-1) > 0]  # faster than np.unique
        by_part = []
        for part, vector, scan, (ordinals, own) in zip(self.parts, query.vectors, scans, firsts, strict=True):
            places = np.searchsorted(union, ordinals)
            others = np.ones(len(union), dtype=np.bool_)
            others[places] = False
            scores = np.empty(len(union))
            scores[places] = own
            matched = ~others
            if len(ordinals) < len(union):
                kept = None if scan is None else scan.score
                scores[others], matched[others] = score_documents(part.index, vector, union[others], kept)
            by_part.append(_normalised(vector, scores, matched))
        place = self.word_part
        encoder = None if place is None else query.parts[place].encoder
        language = self.other_language(search, query.text)
        weights = part_weights(self.parts, self._own_weights(search), place, query.text, encoder, language)
        matches = MixtureMatches(
            self,
            query,
            union,
            self.total(by_part, weights.weights),
            tuple(n for _, n in by_part),
            weights,
            search,
            left_out,
            None if place is None else of_parts[place],
            place is not None and self.parts[place].retrieves and len(firsts[place][0]) < self.depth,
            place is not None and len(firsts[place][0]) > 0,
            None if self.meaning_part is None else query.vectors[self.meaning_part],
        )
        return matches if self.feedback is None else self._with_feedback(matches, by_part)

    def _with_feedback(
        self, matches: MixtureMatches, by_part: Sequence[tuple[Floats, Normalisation]]
    ) -> MixtureMatches:
        """Score the candidates again in parts with feedback, by queries that are moved towards the first ones."""
        assert self.feedback is not None, "the mixture has feedback"
        query, candidates = matches.query, matches.candidates
        if not len(candidates):
            return matches
        first, _ = _first(candidates, matches.totals, self.feedback.documents)
        scored, vectors = list(by_part), list(query.vectors)
        for number, (part, vector) in enumerate(zip(query.parts, query.vectors, strict=True)):
            if part.feedback is not None:
                moved = moved_query(part.index, vector, first, part.feedback.weight)
                if moved is not vector:
                    vectors[number] = moved
                    scored[number] = _normalised(moved, *score_documents(part.index, moved, candidates))
        if all(new is old for new, old in zip(vectors, query.vectors, strict=True)):
            return matches
        moved_queries = replace(query, vectors=tuple(vectors))
        return replace(
            matches,
            query=moved_queries,
            totals=self.total(scored, matches.weights.weights),
            normalisations=tuple(n for _, n in scored),
        )

    @staticmethod
    def total(by_part: Sequence[tuple[Floats, Normalisation]], weights: Sequence[float]) -> Floats:
        """Return the weighted sum of the normalised scores of all parts."""
        total = np.zeros(len(by_part[0][0]))
        for weight, (scores, scale) in zip(weights, by_part, strict=True):
            total += weight / scale.deviation * (scores - scale.mean)
        return total

    def windows_for(self, parts: Sequence[PartEncoding], k: int) -> int | None:
        """Return how many windows a search takes from the graph of a part; see `SingleIndex.windows_for`.

        The number does not depend on `k`, because each part finds `depth` documents.
        """
        depth = min(len(self.index), self.depth)
        graphs = [(part.graph, part.index) for part in parts if part.graph is not None and depth]
        numbers = [graph.windows_for(index, depth) for graph, index in graphs]
        return max((number for number in numbers if number is not None), default=None)


@final
@dataclass(frozen=True)
class Normalisation:
    """Scale of the scores of a part over the candidates of a query.

    Attributes
    ----------
    mean, deviation : float
        Of the scores; the deviation is 1 if all are equal.
    least : float
        Score of a document without a vector.
    filled : float
        Mean over the candidates of the scores that are given to those without a vector.
    """

    mean: float
    deviation: float
    least: float
    filled: float


@final
@dataclass(frozen=True, eq=False)
class MixtureMatches:
    """Candidates of a query with their scores.

    Attributes
    ----------
    mixture : Mixture
    query : EncodedQuery
    candidates : ndarray of shape (n,), int64
        Input positions, ascending.
    totals : ndarray of shape (n,), float64
        Scores of the mixture.
    normalisations : tuple of Normalisation
        One for each part.
    weights : PartWeights
        Weights of the parts for this query.
    search : Search
        The request, for `Search.match` and `Search.only_words`.
    left_out : ndarray of int64
        Positions of documents that are no results.
    allowed : AllowedDocuments or None
        Documents that conditions allow, in the part that decides which documents match by words.
    has_all : bool
        Whether all documents with a word of the query are candidates.
    has_words : bool
        Whether a candidate was found by a word of the query.
    meaning : QueryVector or None
        The query that gives the relevance of documents: that of `Mixture.meaning_part`, not moved by feedback.
    """

    mixture: Mixture
    query: EncodedQuery
    candidates: Ordinals
    totals: Floats
    normalisations: tuple[Normalisation, ...]
    weights: PartWeights
    search: Search
    left_out: Ordinals
    allowed: AllowedDocuments | None
    has_all: bool
    has_words: bool
    meaning: QueryVector | None
    _words: list[tuple[WordMatches, Ordinals]] = field(default_factory=list)  # once they are known
    _kept: list[npt.NDArray[np.bool_]] = field(default_factory=list)  # likewise
    _lead: list[float] = field(default_factory=list)  # likewise

    def _matches_by_words(self) -> tuple[WordMatches, Ordinals] | None:
        """Return the documents that match by words, and their positions; None if all parts have vectors."""
        place = self.mixture.word_part
        if place is None:
            return None
        if not self._words:
            found = self.query.word_matches(place, self.search.match, self.left_out, self.allowed)
            self._words.append((found, found.ordinals(self.mixture.index)))
        return self._words[0]

    @property
    def level(self) -> str | None:
        """Number of words of the query that documents contain that match by words; see `Search.match`."""
        found = self._matches_by_words()
        return None if found is None else found[0].level

    @property
    def by_meaning(self) -> bool:
        """Whether no document matches by words, so that all results do by meaning."""
        return not len(self._by_words())

    def by_words(self, ordinals: Ordinals) -> npt.NDArray[np.bool_]:
        """Return which results match by words."""
        found = self._matches_by_words()
        return np.zeros(len(ordinals), dtype=np.bool_) if found is None else found[0].mask[ordinals]

    def ordinals(self) -> Ordinals:
        """Return the positions of the documents that match by words, or if none does, of all results.

        They are in the order of the index.
        """
        return self._ranked_candidates()[0] if self.by_meaning else self._by_words()

    @property
    def count_is_exact(self) -> bool:
        """Whether no document beyond the candidates could be a match, too."""
        if not self.by_meaning or len(self.candidates) == self.mixture.index.documents:
            return True
        place = self.mixture.meaning_part
        by_relevance = place is not None and self.mixture.parts[place].retrieves and self.least_relevance > 0
        found = self._ranked_candidates()[0] if by_relevance else self.candidates
        return len(found) < self.mixture.depth  # otherwise, a part could have found more

    def _by_words(self) -> Ordinals:
        found = self._matches_by_words()
        return _NOTHING[0] if found is None else found[1]

    def relevance(self, ordinals: Ordinals) -> Floats | None:
        """Return the relevance of documents, see `termwise.engine.unrelated_queries`; None if it is not known."""
        mixture, place = self.mixture, self.mixture.meaning_part
        if mixture.unrelated is None or place is None or self.meaning is None:
            return None
        return mixture.unrelated.relevance(cosines(mixture.parts[place].index, self.meaning, ordinals))

    @property
    def least_relevance(self) -> float:
        """Least relevance of results that match by meaning only.

        Without `Search.min_relevance`, it is above 0 only if no document matches by words, or if the vectors know
        nothing of the query, because it has codes only, or is in another language than theirs.
        """
        if self.search.min_relevance is not None:
            return self.search.min_relevance
        if self.mixture.unrelated is None or self.level is None:
            return 0.0
        if has_codes_only(self.query.text) or self.weights.language is not None:
            return LEAST_RELEVANCE_OF_PIECES
        if self.has_words and self.search.match is None and not has_digits(self.query.text):
            return 0.0  # the words of documents that have parts of a code only are not those of the query
        if not self.by_meaning:
            return 0.0
        return LEAST_RELEVANCE if self._has_known_word() else LEAST_RELEVANCE_OF_PIECES

    def _has_known_word(self) -> bool:
        """Return whether the vectors that give the relevance have a word of the query as a whole.

        Parts of codes such as ``AB-1200/X`` do not count, even if they are words.
        """
        place = self.mixture.meaning_part
        assert place is not None, "the relevance is known"
        meaning = self.query.parts[place]
        words = readings(self.mixture.words.encoder.analyzer)
        return WordsInPieces(meaning.index, meaning.encoder.analyzer).has_word_of(
            without_codes(self.query.text), words
        )

    @property
    def left_out_by_relevance(self) -> int:
        """Number of candidates that are no results because of their relevance."""
        return 0 if self._only_words else len(self.candidates) - len(self._ranked_candidates()[0])

    @property
    def _only_words(self) -> bool:
        """Whether results that match by meaning only are left out."""
        return bool(self.search.only_words) and not (self.search.only_words == IF_ANY and self.by_meaning)

    def _ranked_candidates(self) -> tuple[Ordinals, Floats]:
        """Return the candidates that can be results, in the order of the index, and their scores."""
        if not self._kept:
            self._kept.append(self._can_be_results())
        kept, totals = self._kept[0], self._with_lead(self.candidates, self.totals)
        return (self.candidates, totals) if kept.all() else (self.candidates[kept], totals[kept])

    def _can_be_results(self) -> npt.NDArray[np.bool_]:
        if self._only_words:
            return self.by_words(self.candidates)
        least = self.least_relevance
        relevance = self.relevance(self.candidates) if least else None
        if relevance is None:
            return np.ones(len(self.candidates), dtype=np.bool_)
        return (relevance >= least) | self.by_words(self.candidates)

    def _others(self) -> Ordinals:
        """Return the documents that match by words and are no candidates, in the order of the index."""
        if self.has_all:
            return _NOTHING[0]
        return np.setdiff1d(self._by_words(), self.candidates, assume_unique=True)

    @property
    def size(self) -> int:
        """Number of results."""
        return len(self._ranked_candidates()[0]) + len(self._others())

    def best(self, k: int) -> RankedOrdinals:
        """Return the best candidates, and after all of them the other documents that match by words.

        Both are in the order of their scores, and ties in the order of the input. The score of a document that is no
        candidate is that of the last candidate at most.
        """
        candidates, scores = self._ranked_candidates()
        ordinals, totals = _first(candidates, scores, k)
        if k <= len(candidates) or not len(others := self._others()):
            return ordinals, totals
        most = totals[-1] if len(totals) else np.inf
        more = _first(others, np.minimum(self.scores(others)[0], most), k - len(candidates))
        return np.concatenate([ordinals, more[0]]), np.concatenate([totals, more[1]])

    @property
    def words_first(self) -> bool:
        """Whether documents that match by words are ranked above those that match by meaning only.

        They do if the search says how many words of the query a document contains; and for a short query, if documents
        contain all of its words (experiments/results/words_first.md has the choice of the length).
        """
        if self.search.match is not None or self.mixture.meaning_part is None:
            return self.search.match is not None
        return len(self.query.text.split()) <= SHORT_QUERY and self.level == "all"

    @property
    def lead(self) -> float:
        """What is added to the scores of documents that match by words, because of `words_first`.

        It is the least number with which their scores are `GAP` above those of the candidates that match by meaning
        only, or 0 if they are without it.
        """
        if not self._lead:
            by_words = self.by_words(self.candidates) if self.words_first else np.ones(1, dtype=np.bool_)
            lead = 0.0
            if by_words.any() and not by_words.all():
                lead = max(0.0, float(self.totals[~by_words].max() - self.totals[by_words].min()) + GAP)
            self._lead.append(lead)
        return self._lead[0]

    def _with_lead(self, ordinals: Ordinals, scores: Floats) -> Floats:
        return scores + np.where(self.by_words(ordinals), self.lead, 0.0) if self.lead else scores

    def scores(self, ordinals: Ordinals) -> Scored:
        """Return the scores of any documents, on the scale of the candidates."""
        scores = self._with_lead(ordinals, self._total(self.part_scores(ordinals)))
        return scores, np.ones(len(ordinals), dtype=np.bool_)

    def part_scores(self, ordinals: Ordinals) -> list[Floats]:
        """Return the scores of any documents in each part."""
        by_part = []
        for part, vector, scale in zip(
            self.mixture.parts, self.query.vectors, self.normalisations, strict=True
        ):
            scores, matched = score_documents(part.index, vector, ordinals)
            by_part.append(scores if vector.vector is None else np.where(matched, scores, scale.least))
        return by_part

    def _total(self, by_part: Sequence[Floats]) -> Floats:
        """Return the weighted sum of the scores in each part, on the scale of the candidates."""
        return self.mixture.total(list(zip(by_part, self.normalisations, strict=True)), self.weights.weights)

    def is_ranked(self, ordinals: Ordinals) -> npt.NDArray[np.bool_]:
        """Return whether each document is a result."""
        return np.isin(ordinals, self._ranked_candidates()[0]) | np.isin(ordinals, self._others())

    def explain(self, doc_ids: Sequence[str], ordinals: Ordinals, centred: bool) -> list[Explanation]:
        """Explain the score of each document as a sum over the terms of all parts; see `Results.explain`."""
        from termwise.explain.explainer import explain
        from termwise.explain.mixture import mixed_explanation, with_lead

        mixture = self.mixture
        by_part = [
            explain(part.index, part.encoder, vector, self.query.text, doc_ids, ordinals, mixture.index)
            for part, vector in zip(self.query.parts, self.query.vectors, strict=True)
        ]
        part_scores = self.part_scores(ordinals)
        of_parts = [
            (part.name, weight, scale.mean, scale.deviation)
            for part, weight, scale in zip(
                mixture.parts, self.weights.weights, self.normalisations, strict=True
            )
        ]
        explanations = [
            mixed_explanation(
                of_parts,
                [explained[position] for explained in by_part],
                [float(scores[position]) for scores in part_scores],
                score,
                index=mixture.name,
            )
            for position, score in enumerate(self._total(part_scores).tolist())
        ]
        relevance = self.relevance(ordinals)
        if relevance is not None:
            explanations = [
                replace(explanation, relevance=each)
                for explanation, each in zip(explanations, relevance.tolist(), strict=True)
            ]
        if self.weights.differ:
            reasons = self.weights.reasons()
            explanations = [
                replace(
                    explanation,
                    parts=tuple(
                        replace(part, reason=reason)
                        for part, reason in zip(explanation.parts, reasons, strict=True)
                    ),
                )
                for explanation in explanations
            ]
        explanations = self._centred(explanations) if centred else explanations
        if not self.lead:
            return explanations
        return [
            with_lead(explanation, self.lead) if by_words else explanation
            for explanation, by_words in zip(explanations, self.by_words(ordinals).tolist(), strict=True)
        ]

    def _centred(self, explanations: Sequence[Explanation]) -> list[Explanation]:
        """Subtract the mean of each term over the candidates from its contributions."""
        from termwise.explain.mixture import NO_TEXT, centred_explanation, mean_weights

        means = {}
        for part, vector, scale in zip(
            self.mixture.parts, self.query.vectors, self.normalisations, strict=True
        ):
            if len(self.candidates):
                of_terms = mean_weights(part.index, vector, self.candidates)
                means[part.name] = {**of_terms, NO_TEXT: scale.filled}
        return [centred_explanation(explanation, means) for explanation in explanations]


def _first(ordinals: Ordinals, scores: Floats, k: int) -> RankedOrdinals:
    """Return the documents with the largest scores, the first ones of equal ones."""
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= least)
        order = kept[np.argsort(-scores[kept], kind="stable")[:k]]
    else:
        order = np.argsort(-scores, kind="stable")
    return ordinals[order], scores[order]


def _normalised(
    vector: QueryVector, scores: Floats, matched: npt.NDArray[np.bool_]
) -> tuple[Floats, Normalisation]:
    """Return the scores of the candidates in a part, with those of documents without a vector, and their scale."""
    least = 0.0
    if vector.vector is not None and matched.any():
        least = float(scores[matched].min())
        scores[~matched] = least
    filled = least * float((~matched).sum()) / max(1, len(scores)) if least else 0.0
    return scores, Normalisation(*_moments(scores), least, filled)


def meaning_part(parts: Sequence[tuple[Index, bool]]) -> int | None:
    """Return `Mixture.meaning_part` of indexes, given with whether each finds candidates."""
    with_vectors = [place for place, (index, _) in enumerate(parts) if index.term_vectors is not None]
    return next((place for place in with_vectors if parts[place][1]), next(iter(with_vectors), None))


def _of_whole_words(parts: Sequence[Part]) -> SingleIndex | None:
    """Return the first part whose terms are whole words."""
    return next((part.backend for part in parts if part.backend.similar_terms is not None), None)


def _with_common_words(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return parts whose look-up of similar words knows the words that parts of pieces have as a whole."""
    pieces = [
        WordsInPieces(part.index, part.backend.encoder.analyzer)
        for part in parts
        if part.backend.similar_terms is None
    ]
    if not pieces or len(pieces) == len(parts):
        return tuple(parts)

    def is_word(word: str) -> bool:
        return any(each.has(word) for each in pieces)

    def shared(part: Part) -> Part:
        similar = part.backend.similar_terms
        if similar is None:
            return part
        backend = copy.copy(part.backend)
        backend.similar_terms = similar.knowing(is_word)
        return replace(part, backend=backend)

    return tuple(map(shared, parts))


def different_documents(one: Index, other: Index) -> list[tuple[str, object]] | None:
    """Return the first difference between the documents of two indexes, as facts; None if there is none.

    Segments with equal documents have equal files of identifiers and deletions, so usually only checksums are compared.
    """
    if one.manifest.chunk != other.manifest.chunk:
        return [
            ("words of a chunk", f"{one.manifest.chunk or 'not cut'} and {other.manifest.chunk or 'not cut'}")
        ]
    if one.manifest.chunk and list(one.manifest.field_weights) != list(other.manifest.field_weights):
        names = (", ".join(index.manifest.field_weights) or "none" for index in (one, other))
        return [("fields of chunks", " and ".join(names))]
    if len(one) != len(other):
        return [("documents", f"{len(one):,} and {len(other):,}")]
    if [(segment.ids, segment.deleted) for segment in one.manifest.segments] == [
        (segment.ids, segment.deleted) for segment in other.manifest.segments
    ]:
        return None
    for first in range(0, len(one), BATCH):
        ordinals = np.arange(first, min(first + BATCH, len(one)), dtype=np.int64)
        pairs = zip(one.doc_ids(ordinals), other.doc_ids(ordinals), strict=True)
        for position, (expected, seen) in enumerate(pairs, first):
            if expected != seen:
                return [("position", position + 1), ("doc_ids", f"{expected} and {seen}")]
    return None


def _moments(scores: Floats) -> tuple[float, float]:
    """Return the mean of scores and their deviation, which is 1 if all are equal or there are none."""
    if len(scores) == 0:
        return 0.0, 1.0
    if scores.min() == scores.max():
        return float(scores[0]), 1.0
    return float(scores.mean()), float(scores.std()) or 1.0


def _checked_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    check("parts", parts, isinstance(parts, Iterable), "a sequence of Part")
    checked = tuple(parts)
    if not 0 < len(checked) <= MAX_PARTS or not all(isinstance(part, Part) for part in checked):
        raise ParameterError(
            f"a mixture has 1 to {MAX_PARTS} parts",
            facts=[("given", ", ".join(type(part).__name__ for part in checked) or "none")],
            fixes=[Fix.python("Searcher.mix({'bm25': searcher, ...}, weights=[0.3, ...])")],
        )
    names = [part.name for part in checked]
    if not all(map(is_part_name, names)) or len(set(names)) < len(names):
        raise ParameterError(
            "the parts of a mixture have distinct names of 1 to 128 characters", facts=[("names", names)]
        )
    for part in checked:
        if not is_finite_number(part.weight) or abs(part.weight) > MAX_WEIGHT:
            raise ParameterError(
                f"the weight of a part is a number from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}",
                facts=[("part", part.name), ("weight", part.weight)],
                fixes=["divide all weights by the same number; the ranking does not change"],
            )
        if part.scale is not None and not (
            is_finite_number(part.scale) and SMALLEST_SCALE <= part.scale <= MAX_WEIGHT
        ):
            raise ParameterError(
                f"the scale of a part is a number from {SMALLEST_SCALE:g} to {MAX_WEIGHT:g}",
                facts=[("part", part.name), ("scale", part.scale)],
            )
    if not any(part.retrieves for part in checked):
        raise ParameterError("no part of the mixture finds candidates", facts=[("parts", names)])
    if not any(part.weight for part in checked):
        raise ParameterError("the weights of a mixture are not all 0", facts=[("parts", names)])
    return checked
