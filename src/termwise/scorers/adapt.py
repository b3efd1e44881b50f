"""Conversion of the return values of user-defined scorers, and scores of pairs from any scorer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import error_text, shown
from termwise.errors import DataError
from termwise.scorers.protocol import PairScorer, TextScorer


def as_scores(name: str, result: object, count: int) -> npt.NDArray[np.float64]:
    """Return scores as an array of float64.

    Parameters
    ----------
    name : str
        Name of the scorer.
    result : object
        Its return value: an array, a list, or a torch tensor on the CPU.
    count : int
        Number of texts.

    Returns
    -------
    ndarray of shape (count,), float64

    Raises
    ------
    DataError
        If the values are not real numbers in the range of float64, or their number is not `count`.

    Examples
    --------
    >>> as_scores("mine", [1, 2.5], 2)
    array([1. , 2.5])
    """
    scores, problem = _numbers(result)
    fixes = ["return a list or an array of floats, one for each text"]
    if scores is None:
        raise DataError(
            "the scorer returned scores that are not numbers",
            facts=[
                ("scorer", name),
                ("returned", f"{type(result).__name__}, {shown(result)}"),
                ("reason", problem),
            ],
            fixes=fixes,
        )
    if scores.shape != (count,):
        raise DataError(
            "the scorer did not return one score for each text",
            facts=[("scorer", name), ("texts", count), ("scores", f"shape {scores.shape}")],
            fixes=fixes,
        )
    return scores


def _numbers(result: object) -> tuple[npt.NDArray[np.float64] | None, str]:
    """Return the result as numbers, or None and the reason why it cannot be converted."""
    try:
        if np.ma.is_masked(result):
            return None, "the array has masked values"
        array = np.asarray(result)
        if array.dtype.kind in "biuf" or all(isinstance(value, int | float) for value in array.flat):
            with np.errstate(over="raise"):
                return array.astype(np.float64), ""
    except Exception as error:
        return None, error_text(error)
    return None, f"{array.dtype} is not a type of real numbers"


def score_pairs_with(
    scorer: TextScorer, queries: Sequence[str], texts: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Score pairs with any scorer: all at once if it is a `PairScorer`, else query by query.

    Returns
    -------
    ndarray of shape (n,), float64
        May contain NaN.

    Raises
    ------
    DataError
        See `as_scores`.
    """
    if isinstance(scorer, PairScorer):
        return as_scores(scorer.name, scorer.score_pairs(queries, texts), len(texts))
    positions: dict[str, list[int]] = {}
    for position, query in enumerate(queries):
        positions.setdefault(query, []).append(position)
    scores = np.empty(len(texts))
    for query, selected in positions.items():
        result = scorer.score(query, [texts[position] for position in selected])
        scores[selected] = as_scores(scorer.name, result, len(selected))
    return scores
