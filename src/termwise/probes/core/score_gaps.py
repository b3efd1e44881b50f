"""Score gaps of a scorer: differences between neighbouring scores at the top of real rankings.

Each query contributes the nine gaps between its ten best scores. The median of the gaps of all queries is the default
threshold (MacAvaney et al., TACL 2022, section 3): half of the neighbouring scores at the top of a ranking do not
differ by more.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, ParameterError
from termwise.validation import check

Scores = npt.NDArray[np.float64]

TOP = 10
"""Number of best scores of a ranking between which gaps are measured."""


def as_scores(values: object) -> Scores:
    """Return values as an array; of shape (0, 0) if they are no array of numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.empty((0, 0))


def top_gaps(lists: Mapping[str, Scores]) -> dict[str, Scores]:
    """Return the gaps between the best scores of each query.

    Parameters
    ----------
    lists : mapping of str to array-like of float
        Scores of the documents of a ranking, by query, in any order.

    Returns
    -------
    dict of str to ndarray of float64
        At most nine gaps, 0 or more, from the top. A query with a single document has none.

    Raises
    ------
    ParameterError
        If `lists` is not a mapping to vectors, or a score is not finite.

    Examples
    --------
    >>> top_gaps({"q": [1.0, 4.0, 3.5]})["q"].tolist()
    [0.5, 2.5]
    """
    check("lists", lists, isinstance(lists, Mapping), "scores for each query, by its id")
    gaps_by_query = {}
    for query_id, scores in lists.items():
        values = as_scores(scores)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ParameterError(
                "score gaps require vectors of finite scores",
                facts=[("query", query_id), ("shape", values.shape)],
            )
        best = np.sort(values)[::-1][:TOP]
        with np.errstate(over="ignore"):
            gaps = best[:-1] - best[1:]
        gaps_by_query[query_id] = np.minimum(gaps, np.finfo(np.float64).max)
    return gaps_by_query


def median_gap(lists: Mapping[str, Scores]) -> float:
    """Return the median of the gaps of all queries, in the unit of the scores; errors as in `pooled_gaps`.

    Examples
    --------
    >>> median_gap({"q": [1.0, 4.0, 3.5], "r": [2.0, 1.0]})
    1.0
    """
    return float(np.percentile(pooled_gaps(lists), 50.0))


def query_gaps(lists: Mapping[str, Scores]) -> dict[str, float]:
    """Return the median gap of each query that has two documents or more."""
    return {query_id: float(np.median(gaps)) for query_id, gaps in top_gaps(lists).items() if len(gaps)}


def pooled_gaps(lists: Mapping[str, Scores]) -> Scores:
    """Return the gaps of all queries in increasing order; `DataError` if no query has two documents."""
    gaps = list(top_gaps(lists).values())
    pool = np.sort(np.concatenate(gaps)) if gaps else np.empty(0)
    if not len(pool):
        raise DataError(
            "there is no gap for a threshold",
            facts=[("queries", len(lists)), ("expected", "a query with two documents or more")],
        )
    return pool
