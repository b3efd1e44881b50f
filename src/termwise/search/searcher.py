"""The searcher: ranks the documents of an index, or of several indexes together."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from termwise.attributes import Schema
from termwise.engine.allowed_documents import FilterLike
from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.text_conditions import Words
from termwise.errors import ParameterError
from termwise.fixes import Code, Fix
from termwise.index import Index
from termwise.progress import Progress, no_progress
from termwise.records import AttributeValue, ExcludedDocuments, Exclusion, Query, Ranking, Run
from termwise.search.backend import Backend, find_documents
from termwise.search.candidates import rank_candidates
from termwise.search.hits import Hit, hits_of
from termwise.search.mixture_folder import DEPTH, check_only_scoring
from termwise.search.parts import Part
from termwise.search.request import Search, checked_k, query_text
from termwise.search.results import Results
from termwise.search.single_index import SingleIndex
from termwise.text import Analyzer
from termwise.validation import check, check_count, check_run, check_threads
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.engine.feedback import Feedback
    from termwise.explain.explanation import Explanation
    from termwise.search.mixture import MixtureMatches
    from termwise.search.relevance import Relevance
    from termwise.search.suggestions import Completion, Suggestion
    from termwise.search.timed_run import TimedRanking, TimedRun

_OF_A_RUN = (
    "query",
    "like",
    "like_text",
    "weights",
    "candidates",
    "exclude",
    "offset",
    "sort",
    "syntax",
    "facets",
    "ranges",
    "facet_values",
    "multi_select",
)
"""Options of a search that its use for many queries has no place for, or sets for each query."""


_DEFAULT = Search()


def _reopened(path: Path, kind: str) -> Searcher:
    if kind == SingleIndex.kind:
        return Searcher(SingleIndex(Index.open(path)))
    from termwise.search.mixture import Mixture

    return Searcher(Mixture.open(path))


@final
class Searcher:
    """Ranks documents for queries; `termwise.open` and `termwise.build_index` make it.

    A searcher reads one generation of an index, or of a mixture of indexes. It is stateless: no call changes what a
    later call returns. A pickled searcher opens its folder again, in the newest generation.

    Parameters
    ----------
    backend : Backend
        What is searched: see `of_index` and `mix`.

    Examples
    --------
    >>> import tempfile, termwise
    >>> documents = [
    ...     termwise.Document("a", "merge two sorted lists"), termwise.Document("b", "sort a list of words")
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     searcher = termwise.build_index(documents, folder, model="bm25")
    ...     searcher.rank("sorting words", k=1).doc_ids
    ('b',)
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @classmethod
    def of_index(cls, index: Index, encoder: QueryEncoder | None = None) -> Searcher:
        """Return a searcher for an open index.

        Parameters
        ----------
        index : Index
            An open index.
        encoder : QueryEncoder, optional
            Encoder of queries; by default the one that the index describes.

        Raises
        ------
        ParameterError
            If `index` is not an `Index`.
        """
        return cls(SingleIndex(index, encoder))

    @classmethod
    def mix(
        cls,
        searchers: Mapping[str, Searcher],
        weights: Sequence[float],
        *,
        depth: int = DEPTH,
        feedback: Feedback | None = None,
        only_scoring: Collection[str] = (),
    ) -> Searcher:
        """Return a searcher that ranks with several indexes of the same documents; see `termwise.search.mixture`.

        Parameters
        ----------
        searchers : mapping of str to Searcher
            One or more searchers of single indexes, with their names in explanations.
        weights : sequence of float
            Weight of the normalised scores of each; a negative weight reverses them.
        depth : int, optional
            Number of results that each index contributes to the candidates.
        feedback : Feedback, optional
            Settings of feedback for indexes with vectors; none by default.
        only_scoring : collection of str, optional
            Names of indexes that find no candidates, and score those of the others.

        Raises
        ------
        ParameterError
            If an argument is out of range, or the indexes hold different documents, or in another order.

        Examples
        --------
        >>> import tempfile, termwise
        >>> documents = [termwise.Document("a", "merge two lists"), termwise.Document("b", "shuffle a list")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bm25, jm = (
        ...         termwise.build_index(documents, f"{folder}/{model}", model=model) for model in ("bm25", "jm")
        ...     )
        ...     mixture = Searcher.mix({"bm25": bm25, "jm": jm}, [0.3, 0.7])
        ...     mixture.rank("merging lists").doc_ids
        ('a', 'b')
        """
        check("searchers", searchers, isinstance(searchers, Mapping), "searchers by their names")
        check(
            "weights", weights, isinstance(weights, list | tuple | np.ndarray), "a number for each searcher"
        )
        if len(searchers) != len(weights):
            raise ParameterError(
                "each part of a mixture needs a weight",
                facts=[("searchers", len(searchers)), ("weights", len(weights))],
            )
        check_only_scoring(only_scoring, list(searchers))
        parts = []
        for (name, searcher), weight in zip(searchers.items(), weights, strict=True):
            backend = getattr(searcher, "backend", None)
            if not isinstance(backend, SingleIndex):
                raise ParameterError(
                    "a part of a mixture needs the searcher of one index",
                    facts=[("part", name), ("given", type(backend or searcher).__name__)],
                    fixes=[Fix.call("termwise.open", Code("path"))],
                )
            parts.append(Part(name, backend, weight, name not in only_scoring))
        from termwise.search.mixture import Mixture

        return cls(Mixture(parts, depth=depth, feedback=feedback))

    def __reduce__(self) -> tuple[Callable[..., Searcher], tuple[object, ...]]:
        """Pickle the path: a copy in another process opens the folder, in its newest generation."""
        backend = self.backend
        if isinstance(backend, SingleIndex) and backend.given_encoder is not None:
            raise ParameterError(
                "a searcher with its own encoder of queries cannot be pickled",
                facts=[("index", backend.path)],
                fixes=["pickle the path, and make the searcher in the other process"],
            )
        if backend.path is not None:
            return _reopened, (backend.path.resolve(), backend.kind)
        only_scoring = [part.name for part in backend.parts if not part.retrieves]
        mix = partial(Searcher.mix, depth=backend.depth, feedback=backend.feedback, only_scoring=only_scoring)
        searchers = {part.name: Searcher(part.backend) for part in backend.parts}
        return mix, (searchers, [part.weight for part in backend.parts])

    def __repr__(self) -> str:
        documents = f"{self.documents:,} documents"
        return f"Searcher({str(self.path or self.index.path)!r}, {documents}, {self.backend.description})"

    def refresh(self) -> Searcher:
        """Return a searcher for the newest generation of the index or mixture; this one if it is the newest."""
        newest = self.backend.refreshed()
        return self if newest is self.backend else Searcher(newest)

    @property
    def path(self) -> Path | None:
        """Folder of the index or mixture; None for a mixture of open indexes."""
        return self.backend.path

    @property
    def index(self) -> Index:
        """The open index; of a mixture, the first one that stores texts, or the first one."""
        return self.backend.index

    @property
    def parts(self) -> tuple[Part, ...]:
        """The indexes of a mixture. A single index is its only part, with the weight 1."""
        return self.backend.parts

    @property
    def documents(self) -> int:
        """Number of documents."""
        return self.index.documents

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer of the index; of a mixture, that of the first part whose terms are words."""
        return self.backend.words.encoder.analyzer

    @property
    def schema(self) -> Schema:
        """Types of the attributes, empty without any."""
        return self.backend.attribute_index.schema

    def search(self, search: Search) -> Results:
        """Search for documents.

        Parameters
        ----------
        search : Search
            The request.

        Returns
        -------
        Results
            Ranking, counts, facets, snippets and explanations; each is computed when it is asked for.

        Raises
        ------
        ParameterError, UnknownNameError
            If the request does not fit the index: an attribute that it lacks, conditions on texts that it does not
            store, weights or similar terms that do not apply to it, a required or excluded string of which the analyzer
            removes all.
        UnknownIdError, DuplicateIdError
            If the example or a candidate is not in the index, or a candidate occurs twice.
        MissingExtraError, MissingFileError, CorruptIndexError
            For an approximate search, if usearch is not installed, or the graph is missing or damaged.

        Examples
        --------
        >>> import tempfile, termwise
        >>> from termwise.search import Search
        >>> tea = [termwise.Document("a", "green tea", {"price": 4}), termwise.Document("b", "tea", {"price": 20})]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(tea, folder)
        ...     found = searcher.search(Search("tea", sort="-price", k=1))
        ...     found.ranking.doc_ids, found.count()
        (('b',), 2)
        """
        check("search", search, isinstance(search, Search), "a Search, such as Search('green tea', k=5)")
        return Results(self.backend, search)

    def rank(
        self,
        query: str | Query | TermWeights | None = None,
        *,
        k: int = 10,
        offset: int = 0,
        candidates: Sequence[str] | None = None,
        exclude: str | Collection[str] = (),
        filter: FilterLike | None = None,
        must: Words = (),
        must_not: Words = (),
        sort: str | Sequence[str] | None = None,
        fuzzy: bool = False,
    ) -> Ranking:
        """Rank the documents for one query: the ranking of `search` with its usual options.

        Parameters
        ----------
        query : str, Query, TermWeights or None
            Text, text with an identifier, or one row over the vocabulary of a single index. None for all documents,
            each with the score 0, in the order of the index.
        k, offset, candidates, exclude, filter, must, must_not, sort, fuzzy : optional
            See `Search`.

        Returns
        -------
        Ranking
            At most `k` documents, in the order of their scores, or of `sort`. ``rank(k=10)`` is the beginning of
            ``rank(k=100)``. Documents with equal scores are in the order of the input, or of the candidates.

        Raises
        ------
        ParameterError
            If an option is out of its range or does not fit the index; see `search` for other errors.
        """
        weights = query if isinstance(query, TermWeights) else None
        search = Search(
            None if isinstance(query, TermWeights) else query,
            weights=weights,
            k=k,
            offset=offset,
            candidates=candidates,
            exclude=exclude,
            filter=filter,
            must=must,
            must_not=must_not,
            sort=sort,
            fuzzy=fuzzy,
        )
        return self.search(search).ranking

    def rank_many(
        self,
        queries: Iterable[str | Query],
        *,
        k: int = 1000,
        search: Search = Search(),  # noqa: B008
        candidates: Run | None = None,
        exclude: Exclusion = None,
        threads: int = 1,
        name: str = "termwise",
        progress: Progress = no_progress,
    ) -> Run:
        """Rank the documents for many queries.

        Parameters
        ----------
        queries : iterable of str or Query
            With distinct identifiers. That of a string is its place: ``"1"`` for the first query, ``"2"`` for the next.
        k : int, optional
            Number of results per query.
        search : Search, optional
            Conditions, collapsing and weighting of all queries; without a query, an order, and another `Search.k`.
        candidates : Run, optional
            Re-rank the documents of this run instead of searching. Queries that are not in the run are skipped.
        exclude : mapping of str to str or set of str, or "id", optional
            Documents to leave out of the results by query identifier, such as the source document of a query; ``"id"``
            for the document with the identifier of the query. The ranking still has up to `k` results.
        threads : int, optional
            Threads to use, 1024 at most; results do not depend on it.
        name : str, optional
            Name of the resulting run.
        progress : callable, optional
            Called with a stage name, the number of finished queries, and their total.

        Returns
        -------
        Run
            In the order of the queries.

        Examples
        --------
        >>> import tempfile, termwise
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index([termwise.Document("a", "green tea")], folder)
        ...     run = searcher.rank_many(["tea", "a green cup"])
        >>> [(ranking.query_id, ranking.doc_ids) for ranking in run]
        [('1', ('a',)), ('2', ('a',))]
        """
        return self.timed_run(
            queries,
            k=k,
            search=search,
            candidates=candidates,
            exclude=exclude,
            threads=threads,
            name=name,
            progress=progress,
        ).run

    def timed_run(
        self,
        queries: Iterable[str | Query],
        *,
        k: int = 1000,
        search: Search = Search(),  # noqa: B008
        candidates: Run | None = None,
        exclude: Exclusion = None,
        threads: int = 1,
        name: str = "termwise",
        progress: Progress = no_progress,
    ) -> TimedRun:
        """Rank the documents for many queries, and measure the time of each; see `rank_many`."""
        from termwise.search.timed_run import timed_run

        k = checked_k(k)
        check_threads(threads)
        checked, excluded = checked_queries(queries, candidates, exclude)
        check_search_of_run(search, k)
        results = Results(self.backend, search)

        def rank(query: Query) -> TimedRanking:
            doc_ids = None if candidates is None else candidates[query.query_id].doc_ids
            asked = results.for_query(query, k, doc_ids, excluded.for_query(query.query_id))
            begin = time.perf_counter()
            _ = asked.query  # which is encoded when it is first used
            middle = time.perf_counter()
            return asked.ranking, middle - begin, time.perf_counter() - middle

        return timed_run(checked, rank, stage="search", name=name, progress=progress, threads=threads)

    def part_runs(
        self,
        queries: Iterable[str | Query],
        *,
        relevance: Relevance | None = None,
        exclude: Exclusion = None,
        progress: Progress = no_progress,
    ) -> list[Run]:
        """Return the scores of all candidates in each part of a mixture, to learn its weights.

        Parameters
        ----------
        queries : iterable of str or Query
            See `rank_many`.
        relevance : Relevance, optional
            Its synonyms are added to the queries.
        exclude, progress
            See `rank_many`.

        Returns
        -------
        list of Run
            One per part, named as the part, for `termwise.fusion.learn`. All have the same documents, the candidates of
            all parts: a search with one part alone finds other ones.

        Raises
        ------
        ParameterError
            If this is not a mixture.
        """
        rankings: list[list[Ranking]] = [[] for _ in self.parts]
        for query_id, matches in self._matches_of_mixture(queries, relevance, exclude, progress):
            for ranked, ranking in zip(rankings, self._part_rankings(query_id, matches), strict=True):
                ranked.append(ranking)
        return [Run(ranked, part.name) for ranked, part in zip(rankings, self.parts, strict=True)]

    def _matches_of_mixture(
        self,
        queries: Iterable[str | Query],
        relevance: Relevance | None,
        exclude: Exclusion,
        progress: Progress,
    ) -> Iterator[tuple[str, MixtureMatches]]:
        """Yield the candidates of each query in a mixture, with the synonyms of a relevance and without boosts."""
        from termwise.search.mixture import MixtureMatches

        checked, excluded = checked_queries(queries, None, exclude)
        # Feedback depends on the weights.
        results = Results(self.backend, Search(feedback=False, relevance=_only_synonyms(relevance)))
        for number, query in enumerate(checked):
            left_out = excluded.for_query(query.query_id)
            matches = results.for_query(query, 1, None, left_out).matches(left_out)
            if not isinstance(matches, MixtureMatches):
                raise ParameterError(
                    "only a mixture has scores in several parts", facts=[("index", self.index.path)]
                )
            yield query.query_id, matches
            progress("search", number + 1, len(checked))

    def _part_rankings(self, query_id: str, matches: MixtureMatches) -> list[Ranking]:
        """Return the scores of the candidates in each part."""
        doc_ids = self.index.doc_ids(matches.candidates)
        by_part = matches.part_scores(matches.candidates)
        return [rank_candidates(doc_ids, scores, query_id) for scores in by_part]

    def relevance_runs(
        self,
        queries: Iterable[Query],
        relevance: Relevance,
        *,
        k: int = 1000,
        exclude: Exclusion = None,
        progress: Progress = no_progress,
    ) -> list[Run]:
        """Return the scores of documents without boosts, and the shape of each boost, to learn their weights.

        Parameters
        ----------
        queries : iterable of Query
            With distinct identifiers.
        relevance : Relevance
            The boosts, of which only the signs of their weights matter, and the synonyms; rules are ignored.
        k : int, optional
            Number of documents of each query in an index. In a mixture, they are the candidates.
        exclude, progress
            See `rank_many`.

        Returns
        -------
        list of Run
            One for the scores, named ``query``, or in a mixture those of `part_runs`; and one for each boost, named
            ``1 sold`` with its number and attribute. All have the same documents. Documents that do not get a boost,
            see `termwise.search.boosted_matches`, have the shape 0. For `termwise.fusion.learn`, the scaling is ``z``
            for parts and ``raw`` for all others.
        """
        from termwise.search.boosted_matches import documents_with_all_boosts
        from termwise.search.results import boosts_of

        boosts = boosts_of(self.backend, relevance, relevance.boosts)
        names = [part.name for part in self.parts]
        of_queries: Iterable[tuple[list[Ranking], MixtureMatches | None]]
        if isinstance(self.backend, SingleIndex):
            names, search = ["query"], Search(relevance=_only_synonyms(relevance))
            found = self.rank_many(queries, k=k, search=search, exclude=exclude, progress=progress)
            of_queries = (([ranking], None) for ranking in found)
        else:
            matched = self._matches_of_mixture(queries, relevance, exclude, progress)
            of_queries = ((self._part_rankings(query_id, matches), matches) for query_id, matches in matched)
        runs: list[list[Ranking]] = []  # of each query: those of the parts, and then those of the boosts
        for rankings, matches in of_queries:
            doc_ids, query_id = rankings[0].doc_ids, rankings[0].query_id
            ordinals = find_documents(self.backend, doc_ids)
            for boost in relevance.boosts:
                assert boosts is not None, "there are boosts"
                shapes = boosts.shapes(boost, ordinals)
                if matches is not None and boost.weight >= 0:
                    shapes = np.where(documents_with_all_boosts(matches, ordinals), shapes, 0.0)
                rankings.append(rank_candidates(doc_ids, shapes, query_id))
            runs.append(rankings)
        names += [f"{number} {boost.attribute}" for number, boost in enumerate(relevance.boosts, 1)]
        return [Run([rankings[place] for rankings in runs], name) for place, name in enumerate(names)]

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
        centred: bool = False,
    ) -> Explanation:
        """Explain the score of a document for a query as a sum over terms; in a mixture, over the terms of all parts.

        Parameters
        ----------
        query : str or Query
            The information need.
        doc_id : str
            A document of the index.
        competitors : int, optional
            Number of documents above and below it to name, together with the rank of the document. Requires a full
            ranking.
        exclude, filter, must, must_not : optional
            Conditions of that ranking, see `Search`. `Explanation.conditions` names those on texts.
        centred : bool, optional
            In a mixture, subtract from each contribution its mean over the candidates. The sum has no constant then,
            and says why a document ranks above or below the others: a term that it lacks and others have lowers its
            score.

        Raises
        ------
        ParameterError
            If an identifier is not a string, or the score of a single index is to be centred.
        UnknownIdError
            If the index holds no such document.
        """
        search = Search(query, exclude=exclude, filter=filter, must=must, must_not=must_not)
        return self.search(search).explain([doc_id], competitors=competitors, centred=centred)[0]

    def encode(self, query: str) -> TermWeights:
        """Return the row of query weights for a text; of a mixture, that of its first part."""
        return self.parts[0].backend.encoder.encode_query(query_text(query))

    def did_you_mean(self, query: str | Query) -> list[Suggestion]:
        """Return the words of a query that no document has, with the nearest words of the documents.

        Two words have the joined word if more documents have it than have both, as *headlamp* for *head lamp*, and a
        word has the two words that it stands for.

        `Results.did_you_mean` returns those that lead to other results under the options of a search. In a mixture,
        there are none for a word that another part has as a whole, such as a frequent word in the query table of
        lookup. A code such as ``AB-1020/X`` has those codes of the documents that differ by one edit.

        Parameters
        ----------
        query : str or Query
            The information need.

        Returns
        -------
        list of Suggestion
            In the order of the query, only for words with a near one. Empty if the terms of the index are pieces of
            words.

        Examples
        --------
        >>> import tempfile, termwise
        >>> lists = [termwise.Document("a", "sorting lists"), termwise.Document("b", "shuffling")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(lists, folder, analyzer="standard")
        ...     searcher.did_you_mean("sortng lists")[0].words
        (SimilarWord(word='sorting', term='sorting', distance=1, documents=1),)
        """
        return self.search(Search(query)).similar_words()

    def complete(self, text: str, *, n: int = 8) -> list[Completion]:
        """Complete the last word of a text with words of the documents, for search while a user types.

        Parameters
        ----------
        text : str
            Beginning of a query.
        n : int, optional
            Number of completions.

        Returns
        -------
        list of Completion
            At most `n`, those that separate the documents best first, see `termwise.engine.term_spread`: words of
            titles come before words of most texts. The last word itself is one if documents have it. A document
            has each together with all earlier words; words that no document has do not matter. Empty if the text does
            not end with a word, or with a hyphen or slash after one, or if the terms of the index are pieces of words.
            Words are written as in stored texts; without texts, terms are returned, such as stems. Short parts of codes
            are left out: ``ab`` has the completion ``AB-12/RD``, and ``rd`` has none.

        Examples
        --------
        >>> import tempfile, termwise
        >>> lists = [termwise.Document("a", "sorting lists"), termwise.Document("b", "sorted lists, a sorter")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(lists, folder, store_text=True)
        ...     [completion.text for completion in searcher.complete("list so")]
        ['list sorter', 'list sorting']
        """
        check("text", text, isinstance(text, str), "the beginning of a query")
        check_count("n", n)
        similar = self.backend.suggesting.similar_terms
        from termwise.search.suggestions import completions

        return [] if similar is None else completions(similar, text, n)

    def attributes(self, doc_ids: Sequence[str]) -> list[dict[str, AttributeValue]]:
        """Return the attributes of documents, without missing values; dates are `datetime` in UTC.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        """
        return self.backend.attribute_index.attributes(find_documents(self.backend, doc_ids))

    def hits(self, ranking: Ranking, *, show: Sequence[str] | None = None, texts: bool = True) -> list[Hit]:
        """Return the results of a ranking with the attributes and texts of the documents.

        Parameters
        ----------
        ranking : Ranking
            Documents of the index.
        show : sequence of str, optional
            Attributes to return, in this order; by default all.
        texts : bool, optional
            Whether to read the texts, which takes most of the time.

        Raises
        ------
        UnknownNameError
            If the index has no such attribute.
        UnknownIdError
            If the index holds no such document.

        Examples
        --------
        >>> import tempfile, termwise
        >>> teas = [termwise.Document("a", "green tea", {"price": 12}), termwise.Document("b", "tea", {"price": 4})]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(teas, folder, store_text=True)
        ...     hits = searcher.hits(searcher.rank("tea", sort="-price"), show=["price"])
        >>> [(hit.doc_id, hit.attributes, hit.text) for hit in hits]
        [('a', {'price': 12}, 'green tea'), ('b', {'price': 4}, 'tea')]
        """
        return hits_of(self.backend, ranking, show, texts)


def _only_synonyms(relevance: Relevance | None) -> Relevance | None:
    return None if relevance is None else type(relevance)(synonyms=relevance.synonyms)


def checked_queries(
    queries: Iterable[str | Query], candidates: Run | None, exclude: Exclusion
) -> tuple[list[Query], ExcludedDocuments]:
    """Return the queries to rank, those of the run if candidates are given, and the excluded documents.

    The identifier of a string is its place among the queries, from 1.
    """
    several = isinstance(queries, Iterable) and not isinstance(queries, str | Query | Mapping)
    check("queries", queries, several, "queries, such as ['green tea', termwise.Query('q2', 'black tea')]")
    if candidates is not None:
        check_run(candidates)
    excluded = ExcludedDocuments.of(exclude)
    checked: list[Query] = []
    for place, query in enumerate(queries, 1):
        if isinstance(query, str):
            query = Query(str(place), query)
        if not isinstance(query, Query) or not all(isinstance(field, str) for field in query):
            raise ParameterError(
                "each query is a string, or has an identifier and a text",
                facts=[("given", f"{type(query).__name__}: {query!r}")],
                fixes=[Fix.python("termwise.Query('q1', 'the question')")],
            )
        if candidates is None or query.query_id in candidates:
            checked.append(query)
    return checked, excluded


def check_search_of_run(search: Search, k: int) -> None:
    """Check that the search of many queries has conditions, collapsing and weighting only."""
    check("search", search, isinstance(search, Search), "a Search, such as Search(must='tea')")
    given = [name for name in _OF_A_RUN if getattr(search, name) != getattr(_DEFAULT, name)]
    given += ["k"] if search.k not in (_DEFAULT.k, k) else []
    if given:
        raise ParameterError(
            "the search of many queries has conditions, collapsing and weighting only",
            facts=[("given", ", ".join(given))],
            fixes=[Fix.omit(name) for name in given],
        )
