"""Ranking given documents, whatever scores them: for one query, or for the queries of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from termwise.progress import Progress, no_progress
from termwise.records import Query, Ranking, Run
from termwise.search.searcher import TimedRun, checked_k, timed_run


class CandidateRanker(ABC):
    """Orders documents that it is given; whoever inherits says how one query is scored."""

    run_name: ClassVar[str]
    """What a run is called where nothing is said."""

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
        name: str | None = None,
        progress: Progress = no_progress,
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
            Name of the resulting run; `run_name` unless given.
        progress : callable, optional
            Called with a stage name, queries done, and their total.
        """
        checked_k(k)
        return timed_run(
            [query for query in queries if query.query_id in candidates],
            lambda query: self._rank(query, candidates[query.query_id].doc_ids, k),
            name=self.run_name if name is None else name,
            progress=progress,
        )

    @abstractmethod
    def _rank(self, query: str | Query, candidates: Sequence[str], k: int) -> tuple[Ranking, float, float]:
        """Return the ranking, and the seconds of encoding and of scoring."""


def ordered(
    candidates: Sequence[str], scores: npt.NDArray[np.float64], query_id: str, k: int | None = None
) -> Ranking:
    """Rank candidates by their scores, the best k or all; equal ones keep the given order."""
    order = np.argsort(-scores, kind="stable")[:k]
    return Ranking([candidates[i] for i in order.tolist()], scores[order], query_id)
