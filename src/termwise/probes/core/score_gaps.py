"""How far apart a scorer's scores are where it matters: the gaps between the best documents of real rankings.

Of each query the best ten scores are taken and the nine gaps between neighbours; the gaps of all queries are pooled.
The median of the pool is what counts as a tie (MacAvaney et al., TACL 2022, section 3): half of the neighbours at the
top of a ranking are no further apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, ParameterError
from termwise.validation import check, check_count, is_finite_number

Scores = npt.NDArray[np.float64]

TOP = 10
"""Documents of a ranking whose gaps are looked at."""


def top_gaps(lists: Mapping[str, Scores], *, top: int = TOP) -> dict[str, Scores]:
    """Return the gaps between the best scores of each query.

    Parameters
    ----------
    lists : mapping of str to array-like of float
        Scores of the documents of a ranking, by query, in any order.
    top : int, optional
        So many of the best, 2 or more.

    Returns
    -------
    dict of str to ndarray of float64
        At most ``top - 1`` gaps, 0 or more, from the top. A query with a single document has none.

    Raises
    ------
    ParameterError
        If these are no lists of scores by query, or a score is not a finite number.

    Examples
    --------
    >>> top_gaps({"q": [1.0, 4.0, 3.5]})["q"].tolist()
    [0.5, 2.5]
    """
    check_count("top", top, least=2)
    check("lists", lists, isinstance(lists, Mapping), "scores for each query, by its id")
    found = {}
    for query_id, scores in lists.items():
        try:
            values = np.asarray(scores, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.full((0, 0), np.nan)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ParameterError(
                "gaps are between finite scores", facts=[("query", query_id), ("shape", values.shape)]
            )
        best = np.sort(values)[::-1][:top]
        with np.errstate(over="ignore"):
            gaps = best[:-1] - best[1:]
        found[query_id] = np.minimum(gaps, np.finfo(np.float64).max)
    return found


def median_gap(lists: Mapping[str, Scores], *, top: int = TOP) -> float:
    """Return the median of the gaps of all queries together; see `top_gaps`.

    Parameters
    ----------
    lists : mapping of str to array-like of float
        Scores of the candidates of each query, in any order.
    top : int, optional
        Candidates of each query between which gaps are measured, the best ones.

    Returns
    -------
    float
        0 or more, in the unit of the scores.

    Raises
    ------
    DataError
        If no query has two documents.

    Examples
    --------
    >>> median_gap({"q": [1.0, 4.0, 3.5], "r": [2.0, 1.0]})
    1.0
    """
    return percentile_gap(lists, 50.0, top=top)


def percentile_gap(lists: Mapping[str, Scores], percentile: float, *, top: int = TOP) -> float:
    """Return a percentile of the gaps of all queries together, from 0 to 100; see `top_gaps`."""
    known = is_finite_number(percentile) and 0 <= percentile <= 100
    check("percentile", percentile, known, "a number from 0 to 100")
    return float(np.percentile(pooled_gaps(lists, top=top), percentile))


def query_gaps(lists: Mapping[str, Scores], *, top: int = TOP) -> dict[str, float]:
    """Return the median gap of each query by itself; queries with a single document are left out."""
    return {
        query_id: float(np.median(gaps)) for query_id, gaps in top_gaps(lists, top=top).items() if len(gaps)
    }


def pooled_gaps(lists: Mapping[str, Scores], *, top: int = TOP) -> Scores:
    """Return the gaps of all queries together, in increasing order.

    Raises
    ------
    DataError
        If no query has two documents.
    """
    gaps = list(top_gaps(lists, top=top).values())
    pool = np.sort(np.concatenate(gaps)) if gaps else np.empty(0)
    if not len(pool):
        raise DataError(
            "there is no gap to take a threshold from",
            facts=[("queries", len(lists)), ("expected", "a query with two documents or more")],
        )
    return pool
