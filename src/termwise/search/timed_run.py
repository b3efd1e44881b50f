"""Timed runs over many queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass
from termwise.progress import Progress
from termwise.records import Query, Ranking, Run

TimedRanking = tuple[Ranking, float, float]
"""A ranking, and the seconds of encoding and of scoring."""


@dataclass(frozen=True)
class TimedRun:
    """A run and the time of each query.

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


def timed_run(
    queries: Sequence[Query],
    rank: Callable[[Query], TimedRanking],
    *,
    stage: str,
    name: str,
    progress: Progress,
    threads: int = 1,
) -> TimedRun:
    """Rank all queries, and return the run and the times in the order of the queries.

    After an error or an interruption, no further query begins.
    """
    rankings: list[Ranking] = []
    seconds: list[tuple[float, float]] = []
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads)
    try:
        results = map(rank, queries) if threads == 1 else pool.map(rank, queries)
        for ranking, encoding, scoring in results:
            rankings.append(ranking)
            seconds.append((encoding, scoring))
            progress(stage, len(rankings), len(queries))
    finally:
        pool.shutdown(cancel_futures=True)
    times = np.array(seconds, dtype=np.float64).reshape(-1, 2)
    return TimedRun(Run(rankings, name), times[:, 0], times[:, 1])
