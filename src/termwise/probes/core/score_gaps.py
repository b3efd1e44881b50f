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
from termwise.validation import check, check_count, is_finite_number

Scores = npt.NDArray[np.float64]

TOP = 10
"""Number of best scores of a ranking between which gaps are measured."""


def top_gaps(lists: Mapping[str, Scores], *, top: int = TOP) -> dict[str, Scores]:
    """Return the gaps between the best scores of each query.

    Parameters
    ----------
    lists : mapping of str to array-like of float
        Scores of the documents of a ranking, by query, in any order.
    top : int, optional
        Number of best scores, 2 or more.

    Returns
    -------
    dict of str to ndarray of float64
        At most ``top - 1`` gaps, 0 or more, from the top. A query with a single document has none.

    Raises
    ------
    ParameterError
        If `lists` is not a mapping to vectors, or a score is not finite.

    Examples
    --------
    >>> top_gaps({"q": [1.0, 4.0, 3.5]})["q"].tolist()
    [0.5, 2.5]
    """
    check_count("top", top, least=2)
    check("lists", lists, isinstance(lists, Mapping), "scores for each query, by its id")
    gaps_by_query = {}
    for query_id, scores in lists.items():
        try:
            values = np.asarray(scores, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.full((0, 0), np.nan)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ParameterError(
                "score gaps require vectors of finite scores",
                facts=[("query", query_id), ("shape", values.shape)],
            )
        best = np.sort(values)[::-1][:top]
        with np.errstate(over="ignore"):
            gaps = best[:-1] - best[1:]
        gaps_by_query[query_id] = np.minimum(gaps, np.finfo(np.float64).max)
    return gaps_by_query


def median_gap(lists: Mapping[str, Scores], *, top: int = TOP) -> float:
    """Return the median of the gaps of all queries, in the unit of the scores; see `percentile_gap`.

    Examples
    --------
    >>> median_gap({"q": [1.0, 4.0, 3.5], "r": [2.0, 1.0]})
    1.0
    """
    return percentile_gap(lists, 50.0, top=top)


def percentile_gap(lists: Mapping[str, Scores], percentile: float, *, top: int = TOP) -> float:
    """Return a percentile, from 0 to 100, of the gaps of all queries; errors and parameters as in `pooled_gaps`."""
    in_range = is_finite_number(percentile) and 0 <= percentile <= 100
    check("percentile", percentile, in_range, "a number from 0 to 100")
    return float(np.percentile(pooled_gaps(lists, top=top), percentile))


def query_gaps(lists: Mapping[str, Scores], *, top: int = TOP) -> dict[str, float]:
    """Return the median gap of each query that has two documents or more."""
    return {
        query_id: float(np.median(gaps)) for query_id, gaps in top_gaps(lists, top=top).items() if len(gaps)
    }


def pooled_gaps(lists: Mapping[str, Scores], *, top: int = TOP) -> Scores:
    """Return the gaps of all queries in increasing order; `DataError` if no query has two documents."""
    gaps = list(top_gaps(lists, top=top).values())
    pool = np.sort(np.concatenate(gaps)) if gaps else np.empty(0)
    if not len(pool):
        raise DataError(
            "there is no gap for a threshold",
            facts=[("queries", len(lists)), ("expected", "a query with two documents or more")],
        )
    return pool
