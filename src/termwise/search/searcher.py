"""The searcher: an open index with its query encoder."""

from __future__ import annotations

import copy
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.engine.allowed_documents import (
    AllowedDocuments,
    FilterLike,
    allowed_for,
    facets_at,
)
from termwise.engine.graph_retrieval import ApproximateRetrieval
from termwise.engine.query_encoder import QueryEncoder, query_encoder_of
from termwise.engine.query_settings import QuerySettings, WeighedQueryEncoder, with_settings
from termwise.engine.query_vector import QueryVector, query_vector
from termwise.engine.result_order import ResultOrder
from termwise.engine.retrieval import (
    RankedOrdinals,
    ScoreOthers,
    candidate_ordinals,
    documents_in_order,
    first_stage_and_others,
    listed,
    score_documents,
    without,
)
from termwise.engine.similar_terms import SimilarTerms
from termwise.engine.text_conditions import TextReader, Words
from termwise.errors import ParameterError
from termwise.explain.explainer import explain, with_conditions
from termwise.explain.explanation import Explanation
from termwise.filters import Range, ValueCount
from termwise.index import Index
from termwise.progress import Progress, no_progress
from termwise.records import AttributeValue, ExcludedDocuments, Exclusion, Query, Ranking, Run
from termwise.search.candidates import rank_candidates
from termwise.search.conditions import Conditions
from termwise.search.hits import Hit, hits_of
from termwise.search.snippets import Snippet, snippets_of
from termwise.search.suggestions import Completion, Suggestion, completions, suggestions
from termwise.search.timed_run import TimedRanking, TimedRun, checked_k, query_text, timed_run
from termwise.text import Analyzer
from termwise.validation import check, check_count, check_names, check_run, check_threads, is_integer
from termwise.weights import TermWeights


class Searcher:
    """Ranks the documents of an index. Stateless: no call changes what a later call returns.

    Parameters
    ----------
    index : Index
        An open index.
    encoder : QueryEncoder, optional
        Encoder of queries; by default the one that the index describes.
    query : QuerySettings, optional
        Weighting of query terms, for queries that are whole documents, and terms to add for mistyped or unfinished
        words.
    approximate : int, optional
        Search an index with vectors approximately: its graph (`termwise.indexing.build_graph`) proposes this many
        windows for a query, and only their documents are scored, exactly. Some of the best documents can be missing. By
        default all vectors are read.

    Raises
    ------
    ParameterError
        If `index` is not an `Index`, or `query` or `approximate` does not apply to it.
    MissingExtraError, MissingFileError, CorruptIndexError
        For `approximate`, if usearch is not installed, or the graph is missing or damaged.

    Examples
    --------
    >>> import tempfile, termwise
    >>> from termwise.records import Document
    >>> documents = [Document("a", "merge two sorted lists"), Document("b", "sort a list of words")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     searcher = termwise.build_index(documents, folder, model="bm25")
    ...     searcher.rank("sorting words", k=1).doc_ids
    ('b',)
    """

    def __init__(
        self,
        index: Index,
        encoder: QueryEncoder | None = None,
        *,
        query: QuerySettings = QuerySettings(),  # noqa: B008
        approximate: int | None = None,
    ) -> None:
        if not isinstance(index, Index):
            raise ParameterError(
                "a searcher needs an open index",
                facts=[("given", type(index).__name__)],
                fixes=["`Searcher.open(path)`"],
            )
        if not isinstance(query, QuerySettings):
            raise ParameterError(
                "the weighting of query terms is a QuerySettings",
                facts=[("given", type(query).__name__)],
                fixes=["pass `QuerySettings(max_terms=30)`"],
            )
        self.index = index
        self._made_with = encoder, query
        encoder = query_encoder_of(index) if encoder is None else encoder
        self.similar_terms = SimilarTerms.of(index, encoder.analyzer)
        self.encoder = with_settings(encoder, index, query, self.similar_terms)
        self._retrieval = None if approximate is None else ApproximateRetrieval.open(index, approximate)

    def __repr__(self) -> str:
        model = self.index.manifest.encoder.model.name or "unknown model"
        approximate = "" if self.approximate is None else f", approximate={self.approximate}"
        return f"Searcher({str(self.index.path)!r}, {self.index.documents:,} documents, {model}{approximate})"

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        query: QuerySettings = QuerySettings(),  # noqa: B008
        approximate: int | None = None,
    ) -> Searcher:
        """Open an index folder for searching; see `Searcher` and `Index.open` for the errors."""
        return cls(Index.open(path), query=query, approximate=approximate)

    def refresh(self) -> Searcher:
        """Return a searcher for the newest generation of the index; this one if it is the newest."""
        index = self.index.newest()
        if index is self.index:
            return self
        encoder, query = self._made_with
        return Searcher(index, encoder, query=query, approximate=self.approximate)

    @property
    def approximate(self) -> int | None:
        """Number of windows that the graph proposes for a query; None if the search is exact."""
        return None if self._retrieval is None else self._retrieval.windows

    def windows_for(self, k: int) -> int | None:
        """Return how many windows an approximate search for `k` results takes from the graph, or more.

        Parameters
        ----------
        k : int
            Number of results.

        Returns
        -------
        int or None
            `approximate`, or `k` if that is larger. None if the search is exact: `approximate` was not given, or all
            vectors are read, because there are not more windows, or not more documents than `k`.
        """
        return None if self._retrieval is None else self._retrieval.windows_for(self.index, checked_k(k))

    @property
    def path(self) -> Path:
        """Folder of the index."""
        return self.index.path

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer that decides which words a text has."""
        return self.encoder.analyzer

    def encode(self, query: str) -> TermWeights:
        """Return the row of query weights for a text."""
        return self.encoder.encode_query(query_text(query))

    def query_of(self, doc_id: str) -> Query:
        """Return a query with the text and identifier of a document.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        ParameterError
            If the index keeps no texts, or the identifier is not a string.
        """
        (text,) = self.index.document_texts(np.array([self._ordinal(doc_id)], dtype=np.int64))
        if text is None:
            raise ParameterError(
                "the index keeps no texts, which query by example needs",
                facts=[("doc_id", doc_id), ("index", self.index.path)],
                fixes=["build the index with `store_text=True`", "pass the text itself: `like_file=FILE`"],
            )
        return Query(doc_id, text)

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
        """Rank the other documents for the text of one document: query by example.

        Parameters
        ----------
        doc_id : str
            A document of an index with texts.
        k : int, optional
            Number of results, 1 or more.
        filter : str, mapping or Filter, optional
            Condition on the attributes of results; see `rank`.
        must, must_not, phrases : str or sequence of str, optional
            Conditions on the texts of results; see `rank`.
        sort, collapse, collapse_size : optional
            Attribute to sort results by, and attribute of which each value has at most `collapse_size` results; see
            `rank`.

        Returns
        -------
        Ranking
            With the identifier of the document as query identifier; see `rank`.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        ParameterError
            If the index keeps no texts, or `k` is not a whole number of 1 or more.
        """
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

    def _ordinal(self, doc_id: str) -> int:
        if not isinstance(doc_id, str):
            raise ParameterError(
                "the identifier of a document is a string", facts=[("given", type(doc_id).__name__)]
            )
        return self.index.ordinal(doc_id)

    def _ordinals(self, doc_ids: Sequence[str]) -> npt.NDArray[np.int64]:
        check_names("doc_ids", doc_ids)
        ordinals = self.index.find_many(doc_ids)
        for doc_id in compress(doc_ids, ordinals < 0):
            self._ordinal(doc_id)  # which raises the error for an unknown one
        return ordinals

    def for_example(self, doc_id: str) -> Searcher:
        """Return a searcher for the text of a document as query.

        `QuerySettings.max_terms` then skips terms that no other document contains; `fuzzy` and `prefix` do not apply.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        """
        ordinal = self._ordinal(doc_id)
        if not isinstance(self.encoder, WeighedQueryEncoder):
            return self
        searcher = copy.copy(self)
        searcher.encoder = replace(self.encoder, example=ordinal, similar=None)
        return searcher

    def rank(
        self,
        query: str | Query | TermWeights | None,
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
        query : str, Query, TermWeights or None
            Text, text with an identifier, or one row over the vocabulary of the index. None for all documents, each
            with the score 0, in the order of the index.
        k : int, optional
            Number of results, 1 or more.
        candidates : sequence of str, optional
            Score and order only these documents. All of them are ranked, including those that share no term with the
            query, and ties keep the given order. In an index with vectors, documents without a vector are last, with
            the smallest score of the others. Without candidates, only documents that share a term with the query are
            results, and ties are ordered by input position.
        exclude : str or collection of str, optional
            Documents to leave out of the results; lower ones move up. Unknown identifiers are ignored.
        filter : str, mapping or Filter, optional
            Condition on the attributes of results, such as ``'lang = "de" and price < 20'``; see `termwise.filters`.
            Scores are those that the documents have without a filter.
        must, must_not, phrases : str or sequence of str, optional
            Words and phrases that the texts of results contain, or do not contain. The analyzer of the index splits
            each string into tokens; a text contains it if it has these tokens in sequence, see
            `termwise.engine.text_conditions`. They limit the results as a filter does, and are no part of the query.
            `phrases` are required like `must`.
        sort : str, optional
            Attribute to sort by, such as ``price``, or ``-price`` for the largest values first. The results are the
            first `k` of all documents that match the query, not of the best ones. Documents with equal values are in
            the order of their scores, and those without a value are last. By default, the order is that of the scores.
        collapse : str, optional
            Attribute of which each value has at most `collapse_size` results: the first ones in the order of the
            results. There are `k` results if so many documents remain. Documents without a value are all results.
        collapse_size : int, optional
            Number of results of each value of `collapse`, 1 or more.

        Returns
        -------
        Ranking
            At most `k` documents, in the order of their scores, or of `sort`. ``rank(k=10)`` is the beginning of
            ``rank(k=100)``.

        Raises
        ------
        ParameterError
            If `k` or `collapse_size` is not a whole number of 1 or more, `candidates` or `exclude` are not strings, or
            `sort` or `collapse` is an attribute whose values are lists. If the analyzer removes all of a required or
            excluded string, or needs texts that the index does not store.
        UnknownNameError
            If the index has no such attribute.
        UnknownIdError, DuplicateIdError
            If a candidate is not in the index, or occurs twice.
        """
        query_id = query.query_id if isinstance(query, Query) else ""
        allowed = self._allowed(Conditions.of(filter, must, must_not, phrases))
        excluded = excluded_documents(query_id, exclude)
        order = ResultOrder.parse(sort, collapse, collapse_size, self.schema)
        if query is None:
            found = listed(self._matches(None, exclude, allowed), self.index, candidates)
            return order.listing(self.index, found, checked_k(k))
        row = query if isinstance(query, TermWeights) else self.encode(query_text(query))
        return self._rank_row(row, checked_k(k), candidates, query_id, excluded, allowed, order)

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
        """Rank the documents for many queries.

        Parameters
        ----------
        queries : iterable of Query
            With distinct identifiers.
        k : int, optional
            Number of results per query.
        threads : int, optional
            Threads to use, 1024 at most; results do not depend on it.
        candidates : Run, optional
            Re-rank the documents of this run instead of searching the index. Queries that are not in the run are
            skipped.
        exclude : mapping of str to str or set of str, or "id", optional
            Documents to leave out of the results by query identifier, such as the source document of a query; ``"id"``
            for the document with the identifier of the query. The ranking still has up to `k` results.
        filter : str, mapping or Filter, optional
            Condition on the attributes of the results of all queries; see `rank`.
        must, must_not, phrases : str or sequence of str, optional
            Conditions on the texts of the results of all queries; see `rank`.
        collapse, collapse_size : optional
            Attribute of which each value has at most `collapse_size` results for each query; see `rank`.
        name : str, optional
            Name of the resulting run.
        progress : callable, optional
            Called with a stage name, the number of finished queries, and their total.

        Returns
        -------
        TimedRun
            The run, in the order of the queries, with the time of each query.
        """
        k = checked_k(k)
        check_threads(threads)
        checked, excluded = checked_queries(queries, candidates, exclude)
        allowed = self._allowed(Conditions.of(filter, must, must_not, phrases))
        order = ResultOrder.parse(None, collapse, collapse_size, self.schema)

        def rank(query: Query) -> TimedRanking:
            doc_ids = None if candidates is None else candidates[query.query_id].doc_ids
            begin = time.perf_counter()
            row = self.encode(query.text)
            middle = time.perf_counter()
            ranking = self._rank_row(row, k, doc_ids, query.query_id, excluded, allowed, order)
            return ranking, middle - begin, time.perf_counter() - middle

        return timed_run(checked, rank, stage="search", name=name, progress=progress, threads=threads)

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
    ) -> Explanation:
        """Explain the score of a document for a query as a sum over terms.

        Parameters
        ----------
        query : str or Query
            The information need.
        doc_id : str
            A document of the index.
        competitors : int, optional
            Number of documents above and below it to name, together with the rank of the document. Requires a full
            ranking.
        exclude : str or collection of str, optional
            Documents to leave out of that ranking; see `rank`.
        filter : str, mapping or Filter, optional
            Filter of that ranking; see `rank`.
        must, must_not, phrases : str or sequence of str, optional
            Conditions of that ranking; see `rank`. `Explanation.conditions` names them.

        Raises
        ------
        ParameterError
            If an identifier is not a string.
        UnknownIdError
            If the index holds no such document.
        """
        conditions = Conditions.of(filter, must, must_not, phrases)
        return self._explained(query, [doc_id], competitors, exclude, conditions)[0]

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
    ) -> list[Explanation]:
        """Explain the scores of several documents for one query; see `explain`."""
        conditions = Conditions.of(filter, must, must_not, phrases)
        return self._explained(query, doc_ids, competitors, exclude, conditions)

    def _explained(
        self,
        query: str | Query,
        doc_ids: Sequence[str],
        competitors: int | None,
        exclude: str | Collection[str],
        conditions: Conditions,
    ) -> list[Explanation]:
        check_explained(doc_ids, competitors)
        explanations = explain(
            self.index,
            self.encoder,
            query_text(query),
            doc_ids,
            competitors=competitors,
            exclude=excluded_documents("", exclude).for_query(""),
            allowed=self._allowed(conditions),
        )
        return with_conditions(explanations, conditions.on_texts(self._reader), self.index)

    def _allowed(self, conditions: Conditions) -> AllowedDocuments | None:
        return allowed_for(self.index, conditions.filter, conditions.on_texts(self._reader))

    @cached_property
    def _reader(self) -> TextReader:
        return TextReader(self.index, self.encoder.analyzer)

    def did_you_mean(self, query: str | Query) -> list[Suggestion]:
        """Return the words of a query that no document has, with the nearest words of the documents.

        Parameters
        ----------
        query : str or Query
            The information need.

        Returns
        -------
        list of Suggestion
            In the order of the query, for at most 50 words, without those that no word of the index resembles. Empty
            if the terms of the index are pieces of words, which make up every word. With `QuerySettings.prefix`, the
            last word is left out if terms of the index begin with it.

        Examples
        --------
        >>> import tempfile, termwise
        >>> lists = [termwise.Document("a", "sorting lists"), termwise.Document("b", "shuffling")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(lists, folder, analyzer="standard")
        ...     searcher.did_you_mean("sortng lists")[0].words
        (SimilarWord(word='sorting', term='sorting', distance=1, documents=1),)
        """
        text = query_text(query)
        return [] if self.similar_terms is None else suggestions(self.similar_terms, self.encoder, text)

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
            At most `n`, those in the most documents first; the last word itself is one if documents have it. Empty if
            the text does not end with a word, or if the terms of the index are pieces of words. Earlier words do not
            matter. If the terms are stems, words are looked for in stored texts; without texts, stems are returned.

        Examples
        --------
        >>> import tempfile, termwise
        >>> lists = [termwise.Document("a", "sorting lists"), termwise.Document("b", "sorted lists, a sorter")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(lists, folder, store_text=True)
        ...     [completion.text for completion in searcher.complete("list so")]
        ['list sorting', 'list sorter']
        """
        check("text", text, isinstance(text, str), "the beginning of a query")
        check_count("n", n)
        return [] if self.similar_terms is None else completions(self.similar_terms, text, n)

    @property
    def schema(self) -> Schema:
        """Types of the attributes, empty without any."""
        return self.index.schema

    def attributes(self, doc_ids: Sequence[str]) -> list[dict[str, AttributeValue]]:
        """Return the attributes of documents, without missing values; dates are `datetime` in UTC.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        """
        return self.index.attributes(self._ordinals(doc_ids))

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
        return hits_of(ranking, show, attributes=self.index, texts=self.index if texts else None)

    def snippets(
        self,
        query: str | Query,
        doc_ids: Sequence[str],
        *,
        length: int = 200,
        field: str | None = None,
    ) -> list[Snippet]:
        """Return an excerpt of each document with the words of a query, without explaining scores.

        An excerpt has the largest sum of the weights of different words of the query, where rare words weigh more. The
        beginning of the text is preferred if it has four fifths of this sum; it is the excerpt of a text without these
        words. Words that `QuerySettings` add for mistyped or unfinished words count as well.

        Parameters
        ----------
        query : str or Query
            The information need.
        doc_ids : sequence of str
            Documents of the index, such as ``ranking.doc_ids``.
        length : int, optional
            Largest number of characters of an excerpt, 20 or more. Excerpts begin and end between words if possible.
        field : str, optional
            Field of which excerpts are taken, in an index with weights of fields; by default, the texts of all fields,
            joined.

        Returns
        -------
        list of Snippet
            In the order of `doc_ids`. Words are looked for in the first 100,000 characters of a text.

        Raises
        ------
        ParameterError
            If the index keeps no texts, or not those of the fields, or an argument is out of range.
        UnknownNameError
            If the index has no such field.
        UnknownIdError
            If the index holds no such document.

        Examples
        --------
        >>> import tempfile, termwise
        >>> documents = [termwise.Document("a", "A heap is a tree. To merge two sorted lists takes one pass.")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(documents, folder, store_text=True)
        ...     (found,) = searcher.snippets("sorting lists", ["a"], length=30)
        >>> found.text, [found.text[start:end] for start, end in found.spans], found.before
        ('sorted lists takes one pass.', ['sorted', 'lists'], 31)
        """
        return snippets_of(
            query_text(query),
            doc_ids,
            self._ordinals(doc_ids),
            self.encoder,
            index=self.index,
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
        """Count how many documents have each value of some attributes.

        Parameters
        ----------
        fields : sequence of str
            Fields of type keyword, keywords, boolean or integer.
        ranges : mapping of str to mapping of str to (low, high), optional
            Ranges to count by their names, for each of some fields of type integer, float or date. A document counts
            for a range if ``low <= value < high``, as in a filter. None stands for no limit. Ranges may overlap.
        query : str or Query, optional
            Count only the documents that match this query: those that share a term with it, and in an index with
            vectors all documents with a vector. By default, documents are counted whatever their text.
        exclude : str or collection of str, optional
            Documents that do not match the query; see `rank`.
        filter : str, mapping or Filter, optional
            Count only documents with these attributes; see `rank`.
        must, must_not, phrases : str or sequence of str, optional
            Count only documents that fulfil these conditions; see `rank`.
        n : int, optional
            Number of values of each field in `fields`, the most frequent ones.

        Returns
        -------
        dict of str to list of ValueCount
            For each of the `fields`, the most frequent values, those of equal frequency in ascending order; for each of
            the `ranges`, the number of documents in each range, with its name as value, in the order of the names.

        Raises
        ------
        UnknownNameError, ParameterError
            If there is no such field, or it has another type.

        Examples
        --------
        >>> import tempfile, termwise
        >>> tea = [
        ...     termwise.Document("a", "green tea", {"kind": "tea", "price": 4}),
        ...     termwise.Document("b", "pot", {"kind": "pot", "price": 20}),
        ... ]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(tea, folder)
        ...     searcher.facets(["kind"])
        ...     searcher.facets(["kind"], query="green")
        ...     searcher.facets(ranges={"price": {"to 10": (None, 10), "from 10": (10, None)}})
        {'kind': [ValueCount(value='pot', documents=1), ValueCount(value='tea', documents=1)]}
        {'kind': [ValueCount(value='tea', documents=1)]}
        {'price': [ValueCount(value='to 10', documents=1), ValueCount(value='from 10', documents=1)]}
        """
        ranges = checked_facets(self.index, fields, ranges)
        allowed = self._allowed(Conditions.of(filter, must, must_not, phrases))
        return facets_at(self.index, self._matches(query, exclude, allowed), fields, ranges, n)

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
        """Return the number of documents that match a query and conditions; see `facets` for the arguments.

        Examples
        --------
        >>> import tempfile, termwise
        >>> tea = [termwise.Document("a", "green tea", {"kind": "tea"}), termwise.Document("b", "pot", {"kind": "pot"})]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(tea, folder)
        ...     searcher.count("green pot"), searcher.count(filter='kind = "pot"')
        (2, 1)
        """
        allowed = self._allowed(Conditions.of(filter, must, must_not, phrases))
        return len(self._matches(query, exclude, allowed))

    def _matches(
        self, query: str | Query | None, exclude: str | Collection[str], allowed: AllowedDocuments | None
    ) -> npt.NDArray[np.int64]:
        """Return the documents that match a query, or all without one, among those that are allowed."""
        vector = None if query is None else query_vector(self.index, self.encode(query_text(query)))
        excluded = excluded_documents("", exclude).for_query("")
        return documents_in_order(self.index, vector, exclude=excluded, allowed=allowed)

    def first_stage(
        self, query: QueryVector, k: int, allowed: AllowedDocuments | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], ScoreOthers]:
        """Return the `k` best documents of an exact or approximate search; see `first_stage_and_others`."""
        search = None if self._retrieval is None else self._retrieval.search
        return first_stage_and_others(self.index, query, k, search, allowed)

    def _rank_row(
        self,
        row: TermWeights,
        k: int,
        candidates: Sequence[str] | None,
        query_id: str,
        excluded: ExcludedDocuments,
        allowed: AllowedDocuments | None,
        order: ResultOrder,
    ) -> Ranking:
        query = query_vector(self.index, row)
        excluded_ids = excluded.for_query(query_id)
        if candidates is None:

            def best(k: int) -> RankedOrdinals:
                ordinals, scores, _ = self.first_stage(query, k + len(excluded_ids), allowed)
                ordinals, scores = without(self.index, ordinals, scores, excluded_ids)
                return ordinals[:k], scores[:k]

            return order.ranking(self.index, best, k, query_id)
        ordinals = candidate_ordinals(self.index, candidates, query_id)
        if allowed is not None:
            kept = allowed.allow(ordinals)
            candidates, ordinals = list(compress(candidates, kept)), ordinals[kept]
        scores, matched = score_documents(self.index, query, ordinals)
        scored = None if query.vector is None else matched
        depth = k + len(excluded_ids) if order.by_score else None
        ranking = excluded.remove_from(rank_candidates(candidates, scores, query_id, depth, scored=scored))
        return order.of_ranking(self.index, ranking, k)


def check_explained(doc_ids: Sequence[str], competitors: int | None) -> None:
    """Check the documents to explain, and the number of competitors to name."""
    check_names("doc_ids", doc_ids)
    if competitors is not None and (not is_integer(competitors) or competitors < 0):
        raise ParameterError(
            "competitors is the number of documents to name, 0 or more",
            facts=[("competitors", competitors)],
        )


def checked_facets(
    index: Index, fields: Sequence[str], ranges: Mapping[str, Mapping[str, Range]] | None
) -> Mapping[str, Mapping[str, Range]]:
    """Check the fields whose values are counted, and return the ranges."""
    check_names("fields", fields)
    ranges = {} if ranges is None else ranges
    holds = isinstance(ranges, Mapping) and all(
        isinstance(name, str) and isinstance(each, Mapping) for name, each in ranges.items()
    )
    check("ranges", ranges, holds, "named ranges of fields, such as {'price': {'cheap': (None, 10)}}")
    check("ranges", ranges, ranges.keys().isdisjoint(fields), "other fields than those of `fields`")
    for name in (*fields, *ranges):
        index.schema.check_name(name)
    return ranges


def excluded_documents(query_id: str, given: str | Collection[str]) -> ExcludedDocuments:
    """Return the documents that are excluded for one query."""
    return ExcludedDocuments.of({query_id: given})


def checked_queries(
    queries: Iterable[Query], candidates: Run | None, exclude: Exclusion
) -> tuple[list[Query], ExcludedDocuments]:
    """Return the queries to rank, those of the run if candidates are given, and the excluded documents."""
    check("queries", queries, isinstance(queries, Iterable), "an iterable of Query")
    if candidates is not None:
        check_run(candidates)
    excluded = ExcludedDocuments.of(exclude)
    checked: list[Query] = []
    for query in queries:
        if not isinstance(query, Query) or not all(isinstance(field, str) for field in query):
            raise ParameterError(
                "each query needs an identifier and a text",
                facts=[("given", f"{type(query).__name__}: {query!r}")],
                fixes=["`termwise.Query('q1', 'the question')`"],
            )
        if candidates is None or query.query_id in candidates:
            checked.append(query)
    return checked, excluded
