"""Reading what a ranker of others returns as scores, and asking any ranker for those of pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import error_said, shown
from termwise.errors import DataError
from termwise.scorers.protocol import PairScorer, TextScorer


def as_scores(name: str, given: object, count: int) -> npt.NDArray[np.float64]:
    """Return scores as an array of float64.

    Parameters
    ----------
    name : str
        The ranker.
    given : object
        What it returned: an array, a list, a tensor of torch on the processor.
    count : int
        Texts that it was given.

    Returns
    -------
    ndarray of shape (count,), float64

    Raises
    ------
    DataError
        If it is not made of real numbers, one of them is larger than a float64 can be, or there is not one for each
        text.

    Examples
    --------
    >>> as_scores("mine", [1, 2.5], 2)
    array([1. , 2.5])
    """
    found, why = _numbers(given)
    if found is None:
        raise DataError(
            "the scorer gave scores that are no numbers",
            facts=[("scorer", name), ("given", f"{type(given).__name__}, {shown(given)}"), ("why", why)],
            fixes=["return a list or an array of floats, one for each text"],
        )
    if found.shape != (count,):
        raise DataError(
            "the scorer did not give one score for each text",
            facts=[("scorer", name), ("texts", count), ("scores", f"shape {found.shape}")],
            fixes=["return a list or an array of floats, one for each text"],
        )
    return found


def _numbers(given: object) -> tuple[npt.NDArray[np.float64] | None, str]:
    """Return what was given as numbers, or None and why it is none."""
    try:
        if np.ma.is_masked(given):
            return None, "numbers of it are masked"
        found = np.asarray(given)
        if found.dtype.kind in "biuf" or all(isinstance(one, int | float) for one in found.flat):
            with np.errstate(over="raise"):
                return found.astype(np.float64), ""
    except Exception as error:
        return None, error_said(error)
    return None, f"{found.dtype} is no kind of real number"


def score_pairs_with(
    scorer: TextScorer, queries: Sequence[str], texts: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Score pairs by any scorer: all at once where it can, query by query otherwise.

    Returns
    -------
    ndarray of shape (n,), float64
        NaN where the scorer gives that.

    Raises
    ------
    DataError
        If the scorer gives something else than a number for each pair.
    """
    if isinstance(scorer, PairScorer):
        return as_scores(scorer.name, scorer.score_pairs(queries, texts), len(texts))
    places: dict[str, list[int]] = {}
    for place, query in enumerate(queries):
        places.setdefault(query, []).append(place)
    found = np.empty(len(texts))
    for query, of_query in places.items():
        given = scorer.score(query, [texts[place] for place in of_query])
        found[of_query] = as_scores(scorer.name, given, len(of_query))
    return found
