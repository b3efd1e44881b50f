"""Re-ranking of given documents, for one query or for the queries of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from termwise.progress import Progress, no_progress
from termwise.records import Query, Ranking, Run
from termwise.search.request import checked_k
from termwise.search.timed_run import TimedRanking, TimedRun, timed_run


class CandidateRanker(ABC):
    """Base class of rankers that order given documents; a subclass scores them for one query."""

    run_name: ClassVar[str]
    """Default name of a run."""

    def rank(self, query: str | Query, *, candidates: Sequence[str], k: int = 10) -> Ranking:
        """Score and order given documents.

        Parameters
        ----------
        query : str or Query
            The information need.
        candidates : sequence of str
            Documents of the index. All are scored; ties keep the given order.
        k : int, optional
            Number of results, 1 or more.

        Raises
        ------
        ParameterError
            If `k` is not a whole number of 1 or more.
        UnknownIdError, DuplicateIdError
            If a candidate is not in the index, or occurs twice.
        """
        return self._rank(query, candidates, checked_k(k))[0]

    def rank_many(
        self,
        queries: Iterable[Query],
        *,
        candidates: Run,
        k: int = 1000,
        name: str | None = None,
        progress: Progress = no_progress,
    ) -> Run:
        """Re-rank the documents of a run.

        Parameters
        ----------
        queries : iterable of Query
            With distinct identifiers. Queries that are not in the run are skipped.
        candidates : Run
            Documents to score for each query.
        k : int, optional
            Number of results per query.
        name : str, optional
            Name of the resulting run; by default `run_name`.
        progress : callable, optional
            Called with a stage name, the number of finished queries, and their total.
        """
        return self.timed_run(queries, candidates=candidates, k=k, name=name, progress=progress).run

    def timed_run(
        self,
        queries: Iterable[Query],
        *,
        candidates: Run,
        k: int = 1000,
        name: str | None = None,
        progress: Progress = no_progress,
    ) -> TimedRun:
        """Re-rank the documents of a run, and measure the time of each query; see `rank_many`."""
        checked_k(k)
        return timed_run(
            [query for query in queries if query.query_id in candidates],
            lambda query: self._rank(query, candidates[query.query_id].doc_ids, k),
            stage="re-rank",
            name=self.run_name if name is None else name,
            progress=progress,
        )

    @abstractmethod
    def _rank(self, query: str | Query, candidates: Sequence[str], k: int) -> TimedRanking:
        """Return the ranking, and the seconds of encoding and of scoring."""


def rank_candidates(
    candidates: Sequence[str], scores: npt.NDArray[np.float64], query_id: str, k: int | None = None
) -> Ranking:
    """Order candidates by score and keep the best `k`, or all; ties keep the given order."""
    order = np.argsort(-scores, kind="stable")[:k]
    return Ranking([candidates[i] for i in order.tolist()], scores[order], query_id)
