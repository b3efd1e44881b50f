"""Re-ranking the documents of a run with a scorer of texts: what an index has stored of them is read and scored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from termwise.errors import ParameterError
from termwise.index import Index
from termwise.records import Query, Ranking, Run
from termwise.scoring import TextScorer
from termwise.search.retrieval import candidate_ordinals
from termwise.search.searcher import TimedRun, checked_k, query_text, timed_run
from termwise.search.translation import ordered


class TextReranker:
    """Scores documents of an index by their texts.

    Stateless, like a `termwise.Searcher`: no call changes what a later call returns.

    Parameters
    ----------
    index : Index
        Of any model, with texts (``--store-text``).
    scorer : TextScorer
        What scores them.

    Raises
    ------
    ParameterError
        If the index has no texts.
    """

    def __init__(self, index: Index, scorer: TextScorer) -> None:
        if not index.stores_text:
            raise ParameterError(
                "a network reads texts, and the index has stored none",
                facts=[("index", index.path)],
                fixes=["termwise index COLLECTION --store-text --out DIR"],
            )
        self._index = index
        self._scorer = scorer

    def rank(self, query: str | Query, *, candidates: Sequence[str], k: int = 10) -> Ranking:
        """Score and order given documents.

        Parameters
        ----------
        query : str or Query
            The information need.
        candidates : sequence of str
            Documents of the index. All are scored, and ties keep the given order.
        k : int, optional
            Documents wanted, 1 or more.

        Raises
        ------
        ParameterError
            If `k` is not a whole number of 1 or more.
        UnknownIdError, DuplicateIdError
            If a candidate is not in the index, or is given twice.
        """
        return self._rank(query, candidates, checked_k(k))[0]

    def rank_many(
        self,
        queries: Iterable[Query],
        *,
        candidates: Run,
        k: int = 1000,
        name: str = "reranked",
        progress: Callable[[str, int, int | None], None] = lambda *_: None,
    ) -> TimedRun:
        """Re-rank the documents of a run.

        Parameters
        ----------
        queries : iterable of Query
            With distinct identifiers. Those the run does not hold are left out.
        candidates : Run
            The documents to be scored for each.
        k : int, optional
            Documents wanted for each.
        name : str, optional
            Name of the resulting run.
        progress : callable, optional
            Called with a stage name, queries done, and their total.
        """
        checked_k(k)
        return timed_run(
            [query for query in queries if query.query_id in candidates],
            lambda query: self._rank(query, candidates[query.query_id].doc_ids, k),
            name=name,
            progress=progress,
        )

    def _rank(self, query: str | Query, candidates: Sequence[str], k: int) -> tuple[Ranking, float, float]:
        query_id = query.query_id if isinstance(query, Query) else ""
        begin = time.perf_counter()
        ordinals = candidate_ordinals(self._index, candidates, query_id)
        texts = [self._index.text(ordinal) or "" for ordinal in ordinals.tolist()]
        middle = time.perf_counter()
        scores = self._scorer.score(query_text(query), texts)
        return ordered(candidates, scores, query_id, k), middle - begin, time.perf_counter() - middle
