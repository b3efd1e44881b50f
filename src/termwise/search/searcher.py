"""The searcher: an opened index with its query side."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.engine.query_encoder import QueryEncoder, query_encoder_of
from termwise.engine.query_settings import QuerySettings, WeighedQueryEncoder, with_settings
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import candidate_ordinals, first_stage, score_documents
from termwise.errors import ParameterError
from termwise.explain.explainer import explain
from termwise.explain.explanation import Explanation
from termwise.index import Index
from termwise.progress import Progress, no_progress
from termwise.records import Excluded, Exclusion, Query, Ranking, Run
from termwise.validation import check_threads, is_integer
from termwise.weights import TermWeights


@dataclass(frozen=True)
class TimedRun:
    """A run and what each of its queries cost.

    Attributes
    ----------
    run : Run
        The rankings.
    encoding, scoring : ndarray of shape (queries,), float64
        Seconds from the text of a query to its row, and from the row to the ranking.
    """

    run: Run
    encoding: npt.NDArray[np.float64]
    scoring: npt.NDArray[np.float64]


class Searcher:
    """Ranks the documents of an index. Stateless: no call changes what a later call returns.

    Parameters
    ----------
    index : Index
        An opened index.
    encoder : QueryEncoder, optional
        What turns text into query weights; by default the one the index was built for.
    query : QuerySettings, optional
        How the terms of queries weigh, where they are whole documents.

    Raises
    ------
    ParameterError
        If `index` is none, or `query` does not go with the queries of the index.

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
    ) -> None:
        if not isinstance(index, Index):
            raise ParameterError(
                "a searcher is made of an opened index",
                facts=[("given", type(index).__name__)],
                fixes=["Searcher.open(path)"],
            )
        if not isinstance(query, QuerySettings):
            raise ParameterError(
                "how query terms weigh is said by QuerySettings",
                facts=[("given", type(query).__name__)],
                fixes=["query=QuerySettings(max_terms=30)"],
            )
        self.index = index
        self.encoder = with_settings(query_encoder_of(index) if encoder is None else encoder, index, query)

    def __repr__(self) -> str:
        model = self.index.manifest.encoder.get("model", {}).get("name", "unknown model")
        return f"Searcher({str(self.index.path)!r}, {len(self.index):,} documents, {model})"

    @classmethod
    def open(cls, path: str | Path, *, query: QuerySettings = QuerySettings()) -> Searcher:  # noqa: B008
        """Open an index folder for searching; see `Index.open` for what can go wrong."""
        return cls(Index.open(path), query=query)

    def encode(self, query: str) -> TermWeights:
        """Turn the text of a query into one row of query weights."""
        return self.encoder.encode_query(query)

    def query_of(self, doc_id: str) -> Query:
        """Return a document as a query: its text, with its identifier.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        ParameterError
            If the index keeps no texts, or the identifier is no text.
        """
        if not isinstance(doc_id, str):
            raise ParameterError(
                "a document is named by its identifier, a text", facts=[("given", type(doc_id).__name__)]
            )
        text = self.index.text(self.index.ordinal(doc_id))
        if text is None:
            raise ParameterError(
                "this index keeps no texts, so none of its documents can be the query",
                facts=[("doc_id", doc_id), ("index", self.index.path)],
                fixes=["build the index with --store-text", "give the text itself: --like-file FILE"],
            )
        return Query(doc_id, text)

    def rank_like(self, doc_id: str, *, k: int = 10) -> Ranking:
        """Rank the documents for one of them, which is no answer to itself: query by example.

        Parameters
        ----------
        doc_id : str
            A document of the index, which keeps texts.
        k : int, optional
            Documents wanted, 1 or more.

        Returns
        -------
        Ranking
            Of the identifier of the document; see `rank`.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        ParameterError
            If the index keeps no texts, or `k` is not a whole number of 1 or more.
        """
        query = self.query_of(doc_id)
        return self.for_example(doc_id).rank(query, k=k, exclude=doc_id)

    def for_example(self, doc_id: str) -> Searcher:
        """Return a searcher for queries that are the text of a document: terms that it alone has are not chosen.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        """
        ordinal = self.index.ordinal(doc_id)
        if not isinstance(self.encoder, WeighedQueryEncoder):
            return self
        return Searcher(self.index, self.encoder.of_example(ordinal))

    def rank(
        self,
        query: str | Query | TermWeights,
        *,
        k: int = 10,
        candidates: Sequence[str] | None = None,
        exclude: str | Collection[str] = (),
    ) -> Ranking:
        """Rank the documents for one query.

        Parameters
        ----------
        query : str, Query or TermWeights
            Text, text with an identifier, or one row over the vocabulary of the index.
        k : int, optional
            Documents wanted, 1 or more.
        candidates : sequence of str, optional
            Score and order these documents only. All of them are ranked, also those that share no term with
            the query, and ties keep the given order. Without candidates only documents that share a term with
            the query are results, and ties are ordered as the documents were indexed.
        exclude : str or collection of str, optional
            Documents that are no answer; what stood below them moves up. There need not be such documents.

        Returns
        -------
        Ranking
            At most `k` documents. ``rank(k=10)`` is the beginning of ``rank(k=100)``.

        Raises
        ------
        ParameterError
            If `k` is not a whole number of 1 or more.
        UnknownIdError, DuplicateIdError
            If a candidate is not in the index, or is given twice.
        """
        query_id = query.query_id if isinstance(query, Query) else ""
        row = query if isinstance(query, TermWeights) else self.encode(query_text(query))
        return self._rank_row(row, checked_k(k), candidates, query_id, _excluded(query_id, exclude))

    def rank_many(
        self,
        queries: Iterable[Query],
        *,
        k: int = 1000,
        threads: int = 1,
        candidates: Run | None = None,
        exclude: Exclusion = None,
        name: str = "termwise",
        progress: Progress = no_progress,
    ) -> TimedRun:
        """Rank the documents for many queries.

        Parameters
        ----------
        queries : iterable of Query
            With distinct identifiers.
        k : int, optional
            Documents wanted for each.
        threads : int, optional
            Threads to use, 1024 at most; results do not depend on it.
        candidates : Run, optional
            Re-rank the documents of this run instead of searching the index. Queries the run does not hold
            are left out.
        exclude : mapping of str to str or set of str, or "id", optional
            Documents that are no answer to a query, such as the one it was made of; ``"id"`` for the one with the
            identifier of the query. What stood below moves up, so that there are `k` nevertheless.
        name : str, optional
            Name of the resulting run.
        progress : callable, optional
            Called with a stage name, queries done, and their total.

        Returns
        -------
        TimedRun
            The run, in the order of the queries, with the time each query took.
        """
        checked_k(k)
        check_threads(threads)
        excluded = Excluded.of(exclude)
        given = list(queries)
        for query in given:
            if not isinstance(query, Query):
                raise ParameterError(
                    "queries are needed with their identifiers",
                    facts=[("given", f"{type(query).__name__}: {query!r}")],
                    fixes=["termwise.Query('q1', 'the question')"],
                )
        wanted = [query for query in given if candidates is None or query.query_id in candidates]

        def answer(query: Query) -> tuple[Ranking, float, float]:
            chosen = None if candidates is None else candidates[query.query_id].doc_ids
            begin = time.perf_counter()
            row = self.encode(query.text)
            middle = time.perf_counter()
            ranking = self._rank_row(row, k, chosen, query.query_id, excluded)
            return ranking, middle - begin, time.perf_counter() - middle

        rankings: list[Ranking] = []
        seconds: list[tuple[float, float]] = []
        with ThreadPoolExecutor(threads) as pool:
            for ranking, encoding, scoring in pool.map(answer, wanted):
                rankings.append(ranking)
                seconds.append((encoding, scoring))
                progress("search", len(rankings), len(wanted))
        times = np.array(seconds, dtype=np.float64).reshape(-1, 2)
        return TimedRun(Run(rankings, name), times[:, 0], times[:, 1])

    def explain(
        self,
        query: str | Query,
        doc_id: str,
        *,
        competitors: int | None = None,
        exclude: str | Collection[str] = (),
    ) -> Explanation:
        """Show the score of a document for a query as a sum over terms.

        Parameters
        ----------
        query : str or Query
            The information need.
        doc_id : str
            A document of the index.
        competitors : int, optional
            Also state the rank of the document and name this many documents above and below it. Costs a full
            ranking.
        exclude : str or collection of str, optional
            Documents that are no answer, which the ranking is without; see `rank`.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        """
        return self.explain_many(query, [doc_id], competitors=competitors, exclude=exclude)[0]

    def explain_many(
        self,
        query: str | Query,
        doc_ids: Sequence[str],
        *,
        competitors: int | None = None,
        exclude: str | Collection[str] = (),
    ) -> list[Explanation]:
        """Explain the scores of several documents for one query, which is read once; see `explain`."""
        if isinstance(doc_ids, str):
            raise ParameterError("several documents are a list of identifiers", facts=[("given", doc_ids)])
        if competitors is not None and (not is_integer(competitors) or competitors < 0):
            raise ParameterError(
                "competitors is how many documents to name, 0 or more", facts=[("competitors", competitors)]
            )
        left_out = _excluded("", exclude).of_query("")
        return explain(
            self.index, self.encoder, query_text(query), doc_ids, competitors=competitors, exclude=left_out
        )

    def _rank_row(
        self,
        row: TermWeights,
        k: int,
        candidates: Sequence[str] | None,
        query_id: str,
        excluded: Excluded,
    ) -> Ranking:
        query = query_vector(self.index, row)
        left_out = excluded.of_query(query_id)
        deeper = k + len(left_out)
        if candidates is None:
            ordinals, scores = first_stage(self.index, query, deeper)
            ranking = Ranking(self.index.doc_ids(ordinals), scores, query_id)
        else:
            ordinals = candidate_ordinals(self.index, candidates, query_id)
            scores, _ = score_documents(self.index, query, ordinals)
            order = np.argsort(-scores, kind="stable")[:deeper]
            ranking = Ranking([candidates[i] for i in order.tolist()], scores[order], query_id)
        return excluded.kept(ranking).top(k) if left_out else ranking


def timed_run(
    queries: Sequence[Query],
    rank: Callable[[Query], tuple[Ranking, float, float]],
    *,
    name: str,
    progress: Progress,
) -> TimedRun:
    """Re-rank one query after the other; `rank` gives the ranking and the seconds of encoding and of scoring."""
    rankings: list[Ranking] = []
    seconds: list[tuple[float, float]] = []
    for query in queries:
        ranking, encoding, scoring = rank(query)
        rankings.append(ranking)
        seconds.append((encoding, scoring))
        progress("re-rank", len(rankings), len(queries))
    times = np.array(seconds, dtype=np.float64).reshape(-1, 2)
    return TimedRun(Run(rankings, name), times[:, 0], times[:, 1])


def _excluded(query_id: str, given: str | Collection[str]) -> Excluded:
    return Excluded.of({query_id: given if isinstance(given, str) else frozenset(given)})


def query_text(query: str | Query) -> str:
    """Return the text of a query.

    Raises
    ------
    ParameterError
        If it is neither a text nor a `Query`.
    """
    text = query.text if isinstance(query, Query) else query
    if not isinstance(text, str):
        raise ParameterError(
            "a query is a text, a Query, or a row of TermWeights", facts=[("given", type(text).__name__)]
        )
    return text


def checked_k(k: int) -> int:
    """Return `k` if it is a whole number of 1 or more.

    Raises
    ------
    ParameterError
        If it is not.
    """
    if not is_integer(k) or k < 1:
        raise ParameterError("k is the number of documents wanted, 1 or more", facts=[("k", k)])
    return int(k)
