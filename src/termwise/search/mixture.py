"""Mixture: several indexes of the same documents, ranked together by one weighted sum.

For a query, each part finds its first `depth` documents. These are the candidates; every part scores every candidate.
The scores of each part are normalised over the candidates, and the normalised scores are added:

    score(q, d) = sum over parts i of  weight_i * (score_i(q, d) - mean_i) / deviation_i

Mean and population standard deviation are those of the scores of the part over the candidates. If all candidates have
the same score in a part, for example because it knows no word of the query, the deviation is taken as 1, and the part
adds 0. A document without a vector has the smallest score of the candidates in a part with vectors.

The score of a document does not depend on the number of results. Documents with equal scores are in the order of the
input.
"""

from __future__ import annotations

import copy
import time
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, compress
from pathlib import Path
from typing import final

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.engine.allowed_documents import (
    AllowedDocuments,
    FilterLike,
    aligned,
    allowed_for,
    facets_at,
)
from termwise.engine.query_settings import QuerySettings, for_part, no_whole_words
from termwise.engine.query_vector import QueryVector, query_vector
from termwise.engine.result_order import ResultOrder
from termwise.engine.retrieval import candidate_ordinals, documents_in_order, listed, score_documents
from termwise.engine.text_conditions import TextReader, Words
from termwise.errors import (
    CorruptIndexError,
    IndexFormatError,
    MissingFileError,
    NotAnIndexError,
    ParameterError,
    UnknownIdError,
)
from termwise.explain.candidate_means import NO_TEXT, centred_explanation, mean_weights
from termwise.explain.explainer import explain, with_conditions
from termwise.explain.explanation import Competitor, Contribution, Explanation, MixturePart
from termwise.filters import Range, ValueCount
from termwise.index import Damage, Index
from termwise.index.manifest import NAME as INDEX
from termwise.index.reader import ATTEMPTS
from termwise.index.verification import damages_of
from termwise.progress import Progress, no_progress
from termwise.records import AttributeValue, Exclusion, Query, Ranking, Run
from termwise.search.candidates import rank_candidates
from termwise.search.common_words import with_common_words
from termwise.search.conditions import Conditions
from termwise.search.hits import Hit, hits_of
from termwise.search.mixture_folder import (
    DEPTH,
    MAX_DEPTH,
    MAX_PARTS,
    MAX_WEIGHT,
    NAME,
    REBUILD,
    MixtureManifest,
    is_mixture,
    is_part_name,
    part_index,
    part_manifest,
)
from termwise.search.searcher import (
    Searcher,
    check_explained,
    checked_facets,
    checked_queries,
    excluded_documents,
)
from termwise.search.snippets import Snippet, snippets_of
from termwise.search.suggestions import Completion, Suggestion
from termwise.search.timed_run import TimedRanking, TimedRun, checked_k, query_text, timed_run
from termwise.storage.safe_read import is_file
from termwise.text import Analyzer
from termwise.validation import check, check_names, check_path, check_threads, is_finite_number, is_integer
from termwise.weights import TermWeights

BATCH = 1 << 14
"""Documents per batch when identifiers are compared."""

Ordinals = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Span = tuple[int, int]


@final
@dataclass(frozen=True)
class Part:
    """One part of a mixture.

    Attributes
    ----------
    name : str
        Name in explanations.
    searcher : Searcher
        Its open index.
    weight : float
        Weight of its normalised scores; a negative weight reverses them.
    """

    name: str
    searcher: Searcher
    weight: float


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Candidates of a query, with their scores.

    Attributes
    ----------
    vectors : list of QueryVector
        Query of each part.
    ordinals : ndarray of shape (n,), int64
        Input positions, ascending.
    means, deviations : list of float
        Of the scores of each part over the candidates; the deviation is 1 if all are equal.
    filled : list of float
        Mean over the candidates of the scores that each part gives to those without a vector.
    least : list of float
        Score in each part of a document without a vector.
    scores : ndarray of shape (n,), float64
        Scores of the mixture.
    """

    vectors: list[QueryVector]
    ordinals: Ordinals
    means: list[float]
    deviations: list[float]
    least: list[float]
    filled: list[float]
    scores: Floats

    def best(self, k: int) -> tuple[Ordinals, Floats]:
        """Return the `k` best candidates, ties in the order of the input."""
        scores = self.scores
        if k < len(scores):
            least = np.partition(scores, len(scores) - k)[len(scores) - k]
            kept = np.flatnonzero(scores >= least)
            order = kept[np.argsort(-scores[kept], kind="stable")[:k]]
        else:
            order = np.argsort(-scores, kind="stable")
        return self.ordinals[order], scores[order]


@final
class MixtureSearcher:
    """Ranks documents with several indexes of the same collection. Stateless, like a `Searcher`.

    Parameters
    ----------
    parts : sequence of Part
        One or more, with distinct names, over indexes with the same documents in the same order.
    depth : int, optional
        Number of results that each part contributes to the candidates.

    Attributes
    ----------
    parts : tuple of Part
    depth : int
    path : Path or None
        Folder of the mixture; None if it was made from open indexes.
    index : Index
        For identifiers and texts of the documents: the index of the first part that stores texts, or else of the
        first part.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the parts hold different documents.

    Examples
    --------
    >>> import tempfile, termwise
    >>> documents = [termwise.Document("a", "merge two lists"), termwise.Document("b", "shuffle a list")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bm25, jm = (
    ...         termwise.build_index(documents, f"{folder}/{model}", model=model) for model in ("bm25", "jm")
    ...     )
    ...     mixture = MixtureSearcher([Part("bm25", bm25, 0.3), Part("jm", jm, 0.7)])
    ...     mixture.rank("merging lists").doc_ids
    ('a', 'b')
    """

    def __init__(self, parts: Sequence[Part], *, depth: int = DEPTH) -> None:
        checked = _checked_parts(parts)
        searchers = with_common_words([part.searcher for part in checked])
        self.parts = tuple(
            replace(part, searcher=searcher) for part, searcher in zip(checked, searchers, strict=True)
        )
        if not is_integer(depth) or not 1 <= depth <= MAX_DEPTH:
            raise ParameterError(
                "depth is the number of results of each part",
                facts=[("depth", depth), ("expected", f"a whole number from 1 to {MAX_DEPTH:,}")],
            )
        self.depth = int(depth)
        self.path: Path | None = None
        self._opened_with: tuple[MixtureManifest, QuerySettings]
        indexes = [part.searcher.index for part in self.parts]
        self.index = next((index for index in indexes if index.stores_text), indexes[0])
        for part in self.parts[1:]:
            difference = different_documents(indexes[0], part.searcher.index)
            if difference is not None:
                raise ParameterError(
                    "the parts of a mixture hold different documents, or in another order",
                    facts=[
                        ("part", f"{self.parts[0].name}, {indexes[0].path}"),
                        ("other", f"{part.name}, {part.searcher.index.path}"),
                        *difference,
                    ],
                    fixes=["build both from the same collection, in the same order", "fuse runs"],
                )

    def __len__(self) -> int:
        """Return the number of documents."""
        return self.index.documents

    def __repr__(self) -> str:
        return f"MixtureSearcher({str(self.path)!r}, {len(self):,} documents, {self.formula})"

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        query: QuerySettings = QuerySettings(),  # noqa: B008
        approximate: int | None = None,
    ) -> MixtureSearcher:
        """Open the folder of a mixture.

        Parameters
        ----------
        path : str or Path
            Folder with ``mixture.json``.
        query : QuerySettings, optional
            Weighting of query terms in every part. Similar terms are those of the parts whose terms are whole words;
            for `fuzzy`, the other parts read these words, too. See `Searcher` and `termwise.search.common_words`.
        approximate : int, optional
            Find the candidates of parts with vectors approximately; see `Searcher`.

        Raises
        ------
        ParameterError
            If `approximate` is given and no part has vectors.
        MissingFileError
            If the folder, or the folder of a part, does not exist.
        NotAnIndexError, NewerFormatError, CorruptIndexError
            If ``mixture.json`` or a part is damaged or of another kind, if a part has changed since the mixture was
            built, or if the parts hold different documents.
        """
        check_path("the mixture", path)
        folder = Path(path)
        if is_file(folder / INDEX) and not is_mixture(folder):
            raise NotAnIndexError(
                "this folder is an index, not a mixture",
                facts=[("folder", folder), ("found", INDEX), ("missing", NAME)],
                fixes=[f"open it as an index: `termwise.open({str(folder)!r})`"],
            )
        before: MixtureManifest | None = None
        for _ in range(ATTEMPTS):
            manifest = MixtureManifest.read(folder)
            try:
                return cls.of(folder, manifest, query=query, approximate=approximate)
            except (MissingFileError, IndexFormatError) as error:
                # A build may have replaced the parts since the description was read; see `Index.open`.
                if manifest == before:
                    raise
                before, failure = manifest, error
        raise failure

    @classmethod
    def of(
        cls,
        folder: Path,
        manifest: MixtureManifest,
        *,
        query: QuerySettings = QuerySettings(),  # noqa: B008
        approximate: int | None = None,
    ) -> MixtureSearcher:
        """Open the parts that a description names; see `open`."""
        parts = []
        for record in manifest.parts:
            index = part_index(folder, record)
            windows = None if index.term_vectors is None else approximate
            searcher = Searcher(index, query=for_part(query, index), approximate=windows)
            parts.append(Part(record.name, searcher, record.weight))
        if (query.fuzzy or query.prefix) and all(part.searcher.similar_terms is None for part in parts):
            raise no_whole_words(
                query, [("mixture", folder), ("parts", ", ".join(part.name for part in parts))]
            )
        if approximate is not None and all(part.searcher.approximate is None for part in parts):
            raise ParameterError(
                "only an index with vectors can be searched approximately, and no part of the mixture has them",
                facts=[("mixture", folder), ("parts", ", ".join(part.name for part in parts))],
                fixes=["omit `approximate`"],
            )
        try:
            mixture = cls(parts, depth=manifest.depth)
        except ParameterError as error:
            raise CorruptIndexError(
                error.message, facts=[("mixture", folder), *error.facts], fixes=[REBUILD]
            ) from None
        mixture.path = folder
        mixture._opened_with = manifest, query
        return mixture

    def refresh(self) -> MixtureSearcher:
        """Return a searcher for the newest generation of the mixture; this one if it is the newest."""
        if self.path is None:
            refreshed = [replace(part, searcher=part.searcher.refresh()) for part in self.parts]
            if all(new.searcher is old.searcher for new, old in zip(refreshed, self.parts, strict=True)):
                return self
            return MixtureSearcher(refreshed, depth=self.depth)
        manifest, query = self._opened_with
        folder = self.index.path.parent  # of this mixture, also after a change of the working directory
        if MixtureManifest.read(folder) == manifest:
            return self
        return MixtureSearcher.open(folder, query=query, approximate=self.approximate)

    @property
    def formula(self) -> str:
        """Weights and names of the parts as a sum, such as ``0.3 bm25 + 0.7 lookup``."""
        signed = [
            f"{'-' if part.weight < 0 else '+'} {abs(part.weight):.4g} {part.name}" for part in self.parts
        ]
        written = " ".join(signed)
        return written[2:] if written[0] == "+" else f"-{written[2:]}"

    @property
    def approximate(self) -> int | None:
        """Number of windows that the graph of a part proposes for a query; None if the search of all parts is exact."""
        numbers = [part.searcher.approximate for part in self.parts]
        return max((number for number in numbers if number is not None), default=None)

    def windows_for(self, k: int) -> int | None:
        """Return how many windows a search takes from the graph of a part; see `Searcher.windows_for`.

        The number does not depend on `k`, because each part finds `depth` documents.
        """
        checked_k(k)
        depth = min(len(self.index), self.depth)
        numbers = [part.searcher.windows_for(depth) for part in self.parts if depth]
        return max((number for number in numbers if number is not None), default=None)

    def query_of(self, doc_id: str) -> Query:
        """Return a query with the text and identifier of a document; see `Searcher.query_of`."""
        self._ordinals([doc_id])
        part = next(part for part in self.parts if part.searcher.index is self.index)
        return part.searcher.query_of(doc_id)

    def for_example(self, doc_id: str) -> MixtureSearcher:
        """Return a searcher for the text of a document as query; see `Searcher.for_example`."""
        self._ordinals([doc_id])
        return self._with_parts([replace(p, searcher=p.searcher.for_example(doc_id)) for p in self.parts])

    def rank_like(
        self,
        doc_id: str,
        *,
        k: int = 10,
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
        sort: str | None = None,
        collapse: str | None = None,
        collapse_size: int = 1,
    ) -> Ranking:
        """Rank the other documents for the text of one document; see `Searcher.rank_like`."""
        query = self.query_of(doc_id)
        conditions = Conditions.of(filter, must, must_not, phrases)
        return self.for_example(doc_id).rank(
            query,
            k=k,
            exclude=doc_id,
            sort=sort,
            collapse=collapse,
            collapse_size=collapse_size,
            **conditions.arguments,
        )

    def rank(
        self,
        query: str | Query | None,
        *,
        k: int = 10,
        candidates: Sequence[str] | None = None,
        exclude: str | Collection[str] = (),
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
        sort: str | None = None,
        collapse: str | None = None,
        collapse_size: int = 1,
    ) -> Ranking:
        """Rank the documents for one query.

        Parameters
        ----------
        query : str, Query or None
            Text, or text with an identifier; None for all documents, see `Searcher.rank`.
        k : int, optional
            Number of results, 1 or more. There are at most as many as candidates.
        candidates : sequence of str, optional
            Score and order only these documents. All of them are ranked, and ties keep the given order. Their scores
            are those that they have without this argument. A document without a vector has the smallest score of the
            candidates of the query in a part with vectors.
        exclude : str or collection of str, optional
            Documents to leave out of the candidates and results. Unknown identifiers are ignored.
        filter : str, mapping or Filter, optional
            Condition on the attributes of candidates and results; see `Searcher.rank`. The scores of the parts are
            normalised over these candidates.
        must, must_not, phrases : str or sequence of str, optional
            Words and phrases that the texts of candidates and results contain, or do not contain; see `Searcher.rank`.
            The analyzer is that of the first part whose terms are the words of the texts, such as BM25, or of the first
            part.
        sort, collapse, collapse_size : optional
            Attribute to sort the candidates by, and attribute of which each value has at most `collapse_size` results;
            see `Searcher.rank`.

        Returns
        -------
        Ranking
            At most `k` documents, in the order of their scores, or of `sort`. ``rank(k=10)`` is the beginning of
            ``rank(k=100)``.

        Raises
        ------
        ParameterError
            If `k` is not a whole number of 1 or more.
        UnknownIdError, DuplicateIdError
            If a candidate is not in the index, or occurs twice.
        """
        checked_k(k)
        if isinstance(query, TermWeights):
            raise ParameterError(
                "a mixture ranks for a text, not for a row of weights: each part has its own terms",
                fixes=["pass the text of the query"],
            )
        query_id = query.query_id if isinstance(query, Query) else ""
        excluded = excluded_documents(query_id, exclude).for_query(query_id)
        allowed = self._allowed(Conditions.of(filter, must, must_not, phrases))
        order = ResultOrder.parse(sort, collapse, collapse_size, self.schema)
        if query is None:
            found = listed(self._matches(None, exclude, allowed), self.index, candidates)
            return order.listing(self._with_attributes, found, k)
        return self._rank(self._encoded(query_text(query)), k, candidates, query_id, excluded, allowed, order)

    def rank_many(
        self,
        queries: Iterable[Query],
        *,
        k: int = 1000,
        threads: int = 1,
        candidates: Run | None = None,
        exclude: Exclusion = None,
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
        collapse: str | None = None,
        collapse_size: int = 1,
        name: str = "termwise",
        progress: Progress = no_progress,
    ) -> TimedRun:
        """Rank the documents for many queries; see `Searcher.rank_many`."""
        checked_k(k)
        check_threads(threads)
        checked, excluded = checked_queries(queries, candidates, exclude)
        allowed = self._allowed(Conditions.of(filter, must, must_not, phrases))
        order = ResultOrder.parse(None, collapse, collapse_size, self.schema)

        def rank(query: Query) -> TimedRanking:
            doc_ids = None if candidates is None else candidates[query.query_id].doc_ids
            begin = time.perf_counter()
            vectors = self._encoded(query.text)
            middle = time.perf_counter()
            left_out = excluded.for_query(query.query_id)
            ranking = self._rank(vectors, k, doc_ids, query.query_id, left_out, allowed, order)
            return ranking, middle - begin, time.perf_counter() - middle

        return timed_run(checked, rank, stage="search", name=name, progress=progress, threads=threads)

    def part_runs(
        self, queries: Iterable[Query], *, exclude: Exclusion = None, progress: Progress = no_progress
    ) -> list[Run]:
        """Return the scores of all candidates in each part, to learn the weights of the mixture.

        Parameters
        ----------
        queries : iterable of Query
            With distinct identifiers.
        exclude, progress
            See `Searcher.rank_many`.

        Returns
        -------
        list of Run
            One per part, named as the part, for `termwise.fusion.learn`. All have the same documents, the candidates of
            all parts: a search with one part alone finds other ones.
        """
        checked, excluded = checked_queries(queries, None, exclude)
        rankings: list[list[Ranking]] = [[] for _ in self.parts]
        for number, query in enumerate(checked):
            vectors = self._encoded(query.text)
            found = self._candidates(vectors, excluded.for_query(query.query_id))
            doc_ids = self.index.doc_ids(found.ordinals)
            for ranked, scores in zip(rankings, self._part_scores(found, found.ordinals), strict=True):
                ranked.append(rank_candidates(doc_ids, scores, query.query_id))
            progress("search", number + 1, len(checked))
        return [Run(ranked, part.name) for ranked, part in zip(rankings, self.parts, strict=True)]

    def explain(
        self,
        query: str | Query,
        doc_id: str,
        *,
        competitors: int | None = None,
        exclude: str | Collection[str] = (),
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
        centred: bool = False,
    ) -> Explanation:
        """Explain the score of a document for a query as a sum over the terms of all parts.

        Parameters
        ----------
        query : str or Query
            The information need.
        doc_id : str
            A document of the mixture.
        competitors : int, optional
            Number of candidates above and below it to name, together with the rank of the document.
        exclude : str or collection of str, optional
            Documents to leave out of the candidates; see `rank`.
        filter : str, mapping or Filter, optional
            Filter of that ranking; see `rank`.
        must, must_not, phrases : str or sequence of str, optional
            Conditions of that ranking; see `rank`. `Explanation.conditions` names them.
        centred : bool, optional
            Subtract from each contribution its mean over the candidates. The sum has no constant then, and says why a
            document ranks above or below the others: a term that it lacks and others have lowers its score.

        Raises
        ------
        UnknownIdError
            If there is no such document.
        """
        conditions = Conditions.of(filter, must, must_not, phrases)
        return self._explained(query, [doc_id], competitors, exclude, conditions, centred)[0]

    def explain_many(
        self,
        query: str | Query,
        doc_ids: Sequence[str],
        *,
        competitors: int | None = None,
        exclude: str | Collection[str] = (),
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
        centred: bool = False,
    ) -> list[Explanation]:
        """Explain the scores of several documents for one query; see `explain`."""
        conditions = Conditions.of(filter, must, must_not, phrases)
        return self._explained(query, doc_ids, competitors, exclude, conditions, centred)

    def _explained(
        self,
        query: str | Query,
        doc_ids: Sequence[str],
        competitors: int | None,
        exclude: str | Collection[str],
        conditions: Conditions,
        centred: bool,
    ) -> list[Explanation]:
        check_explained(doc_ids, competitors)
        text = query_text(query)
        ordinals = self._ordinals(doc_ids)
        excluded = excluded_documents("", exclude).for_query("")
        found = self._candidates(self._encoded(text), excluded, self._allowed(conditions))
        by_part = [
            explain(part.searcher.index, part.searcher.encoder, text, doc_ids, texts_of=self.index)
            for part in self.parts
        ]
        part_scores = self._part_scores(found, ordinals)
        scores = self._scores(found, part_scores)
        ranked = None if competitors is None else found.best(max(1, len(found.ordinals)))
        explanations = [
            self._mixed(
                [of_part[position] for of_part in by_part],
                [float(of_part[position]) for of_part in part_scores],
                found,
                float(scores[position]),
                None
                if ranked is None
                else self._neighbours(ranked, int(ordinals[position]), competitors or 0),
            )
            for position in range(len(doc_ids))
        ]
        if centred:
            explanations = self._centred(explanations, found)
        return with_conditions(explanations, conditions.on_texts(self._reader), self.index)

    def _centred(self, explanations: Sequence[Explanation], found: _Candidates) -> list[Explanation]:
        """Subtract the mean of each term over the candidates from its contributions."""
        means = {}
        for part, vector, filled in zip(self.parts, found.vectors, found.filled, strict=True):
            if len(found.ordinals):
                of_terms = mean_weights(part.searcher.index, vector, found.ordinals)
                means[part.name] = {**of_terms, NO_TEXT: filled}
        return [centred_explanation(explanation, means) for explanation in explanations]

    def _with_parts(self, parts: Sequence[Part]) -> MixtureSearcher:
        """Return a mixture of other searchers over the same indexes, without comparing their documents again."""
        mixture = copy.copy(self)
        mixture.parts = tuple(parts)
        return mixture

    def _ordinals(self, doc_ids: Sequence[str]) -> Ordinals:
        """Return the input positions of documents; the error for an unknown one names the mixture, not a part."""
        check_names("doc_ids", doc_ids)
        ordinals = self.index.find_many(doc_ids)
        unknown = np.flatnonzero(ordinals < 0)
        if len(unknown):
            raise UnknownIdError(
                "the mixture holds no such document",
                facts=[("doc_id", doc_ids[unknown[0]]), ("mixture", self.path or self.index.path)],
            )
        return ordinals

    def _encoded(self, text: str) -> list[QueryVector]:
        """Return the query of each part."""
        searchers = (part.searcher for part in self.parts)
        return [query_vector(searcher.index, searcher.encode(text)) for searcher in searchers]

    def _rank(
        self,
        vectors: list[QueryVector],
        k: int,
        candidates: Sequence[str] | None,
        query_id: str,
        excluded: frozenset[str],
        allowed: list[AllowedDocuments] | None,
        order: ResultOrder,
    ) -> Ranking:
        found = self._candidates(vectors, excluded, allowed)
        if candidates is None:
            return order.ranking(self._with_attributes, found.best, k, query_id)
        ordinals = candidate_ordinals(self.index, candidates, query_id, path=self.path)
        if allowed is not None:
            kept = allowed[0].allow(ordinals)
            candidates, ordinals = list(compress(candidates, kept)), ordinals[kept]
        scores = self._scores(found, self._part_scores(found, ordinals))
        ranking = excluded_documents(query_id, excluded).remove_from(
            rank_candidates(candidates, scores, query_id)
        )
        return order.of_ranking(self._with_attributes, ranking, k)

    @cached_property
    def _reader(self) -> TextReader:
        searchers = [part.searcher for part in self.parts]
        readers = [TextReader(each.index, each.encoder.analyzer, self.index) for each in searchers]
        return next((reader for reader in readers if reader.postings_are_words), readers[0])

    @property
    def _of_words(self) -> Searcher:
        """Searcher whose analyzer decides which words a text has: that of `_reader`."""
        return next(part.searcher for part in self.parts if part.searcher.index is self._reader.index)

    def _allowed(self, conditions: Conditions) -> list[AllowedDocuments] | None:
        """Return the documents that conditions allow in each part."""
        on_texts = conditions.on_texts(self._reader)
        allowed = allowed_for(self._with_attributes, conditions.filter, on_texts)
        if allowed is None:
            return None
        indexes = (part.searcher.index for part in self.parts)
        return [allowed if index is self._with_attributes else aligned(allowed, index) for index in indexes]

    @property
    def _with_attributes(self) -> Index:
        """Index of the first part with attributes, or of the first part."""
        indexes = [part.searcher.index for part in self.parts]
        return next((index for index in indexes if index.schema), indexes[0])

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer that decides which words a text has; see `rank`."""
        return self._of_words.encoder.analyzer

    def did_you_mean(self, query: str | Query) -> list[Suggestion]:
        """Return suggestions of the first part whose terms are whole words; see `Searcher.did_you_mean`.

        There are none for a word that another part has as a whole, such as a frequent word in the query table of
        lookup.
        """
        searchers = (part.searcher for part in self.parts if part.searcher.similar_terms is not None)
        return next((searcher.did_you_mean(query) for searcher in searchers), [])

    def complete(self, text: str, *, n: int = 8) -> list[Completion]:
        """Complete the last word of a text with terms of the part that makes suggestions; see `Searcher.complete`."""
        searchers = [part.searcher for part in self.parts]
        return next((each for each in searchers if each.similar_terms), searchers[0]).complete(text, n=n)

    @property
    def schema(self) -> Schema:
        """Types of the attributes, empty without any."""
        return self._with_attributes.schema

    def attributes(self, doc_ids: Sequence[str]) -> list[dict[str, AttributeValue]]:
        """Return the attributes of documents; see `Searcher.attributes`."""
        return self._attribute_part.attributes(doc_ids)

    def hits(self, ranking: Ranking, *, show: Sequence[str] | None = None, texts: bool = True) -> list[Hit]:
        """Return the results of a ranking with attributes and texts; see `Searcher.hits`."""
        return hits_of(ranking, show, attributes=self._with_attributes, texts=self.index if texts else None)

    def snippets(
        self,
        query: str | Query,
        doc_ids: Sequence[str],
        *,
        length: int = 200,
        field: str | None = None,
    ) -> list[Snippet]:
        """Return an excerpt of each document with the words of a query; see `Searcher.snippets`.

        The analyzer is that of the conditions on texts; see `rank`.
        """
        return snippets_of(
            query_text(query),
            doc_ids,
            self._ordinals(doc_ids),
            self._of_words.encoder,
            index=self._of_words.index,
            texts=self.index,
            length=length,
            field=field,
        )

    def facets(
        self,
        fields: Sequence[str] = (),
        *,
        ranges: Mapping[str, Mapping[str, Range]] | None = None,
        query: str | Query | None = None,
        exclude: str | Collection[str] = (),
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
        n: int = 10,
    ) -> dict[str, list[ValueCount]]:
        """Count the values of attributes; see `Searcher.facets`. With a query, its candidates are counted."""
        ranges = checked_facets(self._with_attributes, fields, ranges)
        allowed = self._allowed(Conditions.of(filter, must, must_not, phrases))
        return facets_at(self._with_attributes, self._matches(query, exclude, allowed), fields, ranges, n)

    def count(
        self,
        query: str | Query | None = None,
        *,
        exclude: str | Collection[str] = (),
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        phrases: Words = (),
    ) -> int:
        """Return the number of candidates of a query, or of all documents without one; see `Searcher.count`."""
        allowed = self._allowed(Conditions.of(filter, must, must_not, phrases))
        return len(self._matches(query, exclude, allowed))

    def _matches(
        self,
        query: str | Query | None,
        exclude: str | Collection[str],
        allowed: list[AllowedDocuments] | None,
    ) -> Ordinals:
        excluded = excluded_documents("", exclude).for_query("")
        if query is None:
            return documents_in_order(
                self.index, exclude=excluded, allowed=None if allowed is None else allowed[0]
            )
        return self._candidates(self._encoded(query_text(query)), excluded, allowed).ordinals

    @property
    def _attribute_part(self) -> Searcher:
        return next(part.searcher for part in self.parts if part.searcher.index is self._with_attributes)

    def _candidates(
        self,
        vectors: list[QueryVector],
        excluded: frozenset[str],
        allowed: list[AllowedDocuments] | None = None,
    ) -> _Candidates:
        """Find the candidates of a query and score them."""
        left_out = np.sort(self.index.find_many(sorted(excluded))) if excluded else None
        depth = min(len(self.index), self.depth + len(excluded))
        firsts = []
        of_parts = [None] * len(self.parts) if allowed is None else allowed
        for part, vector, of_part in zip(self.parts, vectors, of_parts, strict=True):
            ordinals, scores, score_others = part.searcher.first_stage(vector, depth, of_part)
            if left_out is not None:
                kept = ~np.isin(ordinals, left_out)
                ordinals, scores = ordinals[kept], scores[kept]
            firsts.append((ordinals[: self.depth], scores[: self.depth], score_others))
        union = np.sort(np.concatenate([ordinals for ordinals, *_ in firsts]))
        distinct = np.ones(len(union), dtype=np.bool_)
        np.not_equal(union[1:], union[:-1], out=distinct[1:])
        union = union[distinct]
        found = _Candidates(vectors, union, [], [], [], [], np.zeros(len(union)))
        for part, vector, (ordinals, own, score_others) in zip(self.parts, vectors, firsts, strict=True):
            places = np.searchsorted(union, ordinals)
            others = np.ones(len(union), dtype=np.bool_)
            others[places] = False
            scores = np.empty(len(union))
            scores[places] = own
            matched = ~others
            if len(ordinals) < len(union):
                scores[others], matched[others] = score_others(union[others])
            least = 0.0
            if vector.vector is not None and matched.any():
                least = float(scores[matched].min())
                scores[~matched] = least
            found.least.append(least)
            found.filled.append(least * float((~matched).sum()) / max(1, len(union)) if least else 0.0)
            mean, deviation = _moments(scores)
            found.means.append(mean)
            found.deviations.append(deviation)
            found.scores[:] += part.weight / deviation * (scores - mean)
        return found

    def _part_scores(self, found: _Candidates, ordinals: Ordinals) -> list[Floats]:
        """Return the scores of any documents in each part."""
        by_part = []
        for part, vector, least in zip(self.parts, found.vectors, found.least, strict=True):
            scores, matched = score_documents(part.searcher.index, vector, ordinals)
            by_part.append(scores if vector.vector is None else np.where(matched, scores, least))
        return by_part

    def _scores(self, found: _Candidates, by_part: Sequence[Floats]) -> Floats:
        """Return the sum of the scores in each part, normalised over the candidates."""
        total = np.zeros(len(by_part[0]))
        each = zip(self.parts, by_part, found.means, found.deviations, strict=True)
        for part, scores, mean, deviation in each:
            total += part.weight / deviation * (scores - mean)
        return total

    def _mixed(
        self,
        explanations: Sequence[Explanation],
        part_scores: Sequence[float],
        found: _Candidates,
        score: float,
        neighbours: tuple[int | None, tuple[Competitor, ...], int] | None,
    ) -> Explanation:
        """Join the explanations of a document in each part."""
        parts = tuple(
            MixturePart(part.name, part.weight, own, mean, deviation, explained.constant, explained.unknown)
            for part, explained, own, mean, deviation in zip(
                self.parts, explanations, part_scores, found.means, found.deviations, strict=True
            )
        )
        contributions = tuple(
            replace(contribution, score=contribution.score * part.scale, part=part.name, scale=part.scale)
            for part, explained in zip(parts, explanations, strict=True)
            for contribution in sorted(
                (*explained.contributions, *_empty(part, explained)),
                key=lambda each: -each.score * part.scale,
            )
        )
        known = [span for contribution in contributions for span in contribution.query_spans]
        unknown = {span for explained in explanations for span in explained.unknown}
        rank, competitors, results = (None, (), None) if neighbours is None else neighbours
        return Explanation(
            query=explanations[0].query,
            doc_id=explanations[0].doc_id,
            score=score,
            constant=sum(part.shift for part in parts),
            contributions=contributions,
            unknown=_outside(unknown, known),
            text=explanations[0].text,
            rank=rank,
            competitors=competitors,
            results=results,
            parts=parts,
            windows=tuple(
                replace(window, part=part.name)
                for part, explained in zip(parts, explanations, strict=True)
                for window in explained.windows
            ),
            index=self.formula if self.path is None else self.path.resolve().name,
        )

    def _neighbours(
        self, ranked: tuple[Ordinals, Floats], ordinal: int, count: int
    ) -> tuple[int | None, tuple[Competitor, ...], int]:
        """Return the rank of a document among the candidates, its neighbours, and the number of candidates."""
        ordinals, scores = ranked
        matches = np.flatnonzero(ordinals == ordinal)
        if not len(matches):
            return None, (), len(ordinals)
        position = int(matches[0])
        around = range(max(0, position - count), min(len(ordinals), position + count + 1))
        competitors = tuple(
            Competitor(i + 1, self.index.doc_id(int(ordinals[i])), float(scores[i]))
            for i in around
            if i != position
        )
        return position + 1, competitors, len(ordinals)


def open_searcher(
    path: str | Path,
    *,
    query: QuerySettings = QuerySettings(),  # noqa: B008
    approximate: int | None = None,
) -> Searcher | MixtureSearcher:
    """Open the folder of an index or of a mixture for searching.

    Parameters
    ----------
    path : str or Path
        Folder of an index, or with ``mixture.json``.
    query : QuerySettings, optional
        Weighting of query terms; see `Searcher`.
    approximate : int, optional
        Search vectors approximately; see `Searcher` and `MixtureSearcher.open`.

    Raises
    ------
    TermwiseError
        See `Index.open` and `MixtureSearcher.open`.
    """
    check_path("the index", path)
    kind = MixtureSearcher if is_mixture(path) else Searcher
    return kind.open(path, query=query, approximate=approximate)


def verify_mixture(path: str | Path, *, progress: Progress = no_progress) -> list[Damage]:
    """Check the indexes of a mixture; see `termwise.index.verify`. The files of a damage begin with the folder.

    Raises
    ------
    DataError
        If ``mixture.json`` or the manifest of an index is missing, foreign or damaged, a part has changed since the
        mixture was built, or the parts hold different documents.
    """
    check_path("the mixture", path)
    folder = Path(path)
    before: MixtureManifest | None = None
    for _ in range(ATTEMPTS):
        mixture = MixtureManifest.read(folder)
        damages: list[Damage] = []
        failure: MissingFileError | IndexFormatError | None = None
        try:
            for part in mixture.parts:
                found = damages_of(folder / part.folder, part_manifest(folder, part), progress)
                damages += [replace(damage, file=f"{part.folder}/{damage.file}") for damage in found]
            if not damages:
                MixtureSearcher.open(folder)
                return []
        except (MissingFileError, IndexFormatError) as error:
            failure = error
        if mixture == before:
            break
        before = mixture  # a change may have published the next generation meanwhile
    if failure is not None:
        raise failure
    return damages


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


def _empty(part: MixturePart, explained: Explanation) -> tuple[Contribution, ...]:
    """Return the score that a part gives a document without a vector, which has no contributions of terms."""
    given = part.score - explained.score
    return (Contribution(NO_TEXT, "empty", 1.0, given, given),) if given else ()


def _outside(spans: Iterable[Span], others: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans that overlap none of the others, in their order.

    Examples
    --------
    >>> _outside([(4, 6), (0, 2), (7, 9)], [(1, 3), (6, 7)])
    ((4, 6), (7, 9))
    """
    ordered = sorted(others)
    starts = [start for start, _ in ordered]
    ends = list(accumulate((end for _, end in ordered), max, initial=-1))
    return tuple(sorted((start, end) for start, end in spans if ends[bisect_left(starts, end)] <= start))


def _moments(scores: Floats) -> tuple[float, float]:
    """Return the mean of scores and their deviation, which is 1 if all are equal or there are none."""
    if len(scores) == 0:
        return 0.0, 1.0
    if scores.min() == scores.max():
        return float(scores[0]), 1.0
    return float(scores.mean()), float(scores.std()) or 1.0


def _checked_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    check("parts", parts, isinstance(parts, Iterable), "a sequence of Part")
    checked = tuple(parts)
    if not 0 < len(checked) <= MAX_PARTS or not all(isinstance(part, Part) for part in checked):
        raise ParameterError(
            f"a mixture has 1 to {MAX_PARTS} parts",
            facts=[("given", ", ".join(type(part).__name__ for part in checked) or "none")],
            fixes=["pass `[Part('bm25', searcher, 0.3), ...]`"],
        )
    names = [part.name for part in checked]
    if not all(map(is_part_name, names)) or len(set(names)) < len(names):
        raise ParameterError(
            "the parts of a mixture have distinct names of 1 to 128 characters", facts=[("names", names)]
        )
    for part in checked:
        if not isinstance(part.searcher, Searcher):
            raise ParameterError(
                "a part of a mixture needs a searcher",
                facts=[("part", part.name), ("given", type(part.searcher).__name__)],
                fixes=["`Searcher.open(path)`"],
            )
        if not is_finite_number(part.weight) or abs(part.weight) > MAX_WEIGHT:
            raise ParameterError(
                f"the weight of a part is a number from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}",
                facts=[("part", part.name), ("weight", part.weight)],
                fixes=["divide all weights by the same number; the ranking does not change"],
            )
    if not any(part.weight for part in checked):
        raise ParameterError("the weights of a mixture are not all 0", facts=[("parts", names)])
    return checked
