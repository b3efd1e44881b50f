r"""How two scores are read: the effect of a sample, and what counts as a tie.

With D the score of the first text minus that of the second and a threshold :math:`\delta \ge 0`

    effect = +1 if D > delta,  -1 if D < -delta,  0 in between, both ends included

(MacAvaney et al., TACL 2022, section 3). A symmetric probe counts 1 where texts are told apart, whichever is preferred,
and 0 elsewhere. What a threshold is depends on the scorer, whose scores have a scale of their own:

===========  =========================================================================================================
`Constant`   one for all samples, as published: the median gap of the scorer, see `termwise.probes.core.score_gaps`
`ByQuery`    one for each query, where samples are about queries that have a ranking
`ByRank`     none: whether the two texts would swap places in a real ranking. A text has the rank that its score would
             have among those of a reference list of its query
===========  =========================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownIdError
from termwise.validation import check, is_finite_number

Scores = npt.NDArray[np.float64]
Effects = npt.NDArray[np.int8]


@runtime_checkable
class EffectRule(Protocol):
    """Turns scores into effects."""

    def effects(self, query_ids: Sequence[str], first: Scores, second: Scores) -> Effects:
        """Read the scores of samples.

        Parameters
        ----------
        query_ids : sequence of str of length n
            The query of each sample.
        first, second : ndarray of shape (n,), float64
            Scores of the two texts; no NaN.

        Returns
        -------
        ndarray of shape (n,), int8
            +1, 0 or -1.
        """
        ...

    def described(self) -> dict[str, Any]:
        """Return what a result says of it, JSON-like."""
        ...


@dataclass(frozen=True)
class Constant:
    """One threshold for all samples.

    Attributes
    ----------
    delta : float
        0 or more. There is no default: 0 reads rounding as a preference.

    Examples
    --------
    >>> Constant(0.5).effects(["q"] * 4, np.array([1.0, 0.5, 0.0, 0.0]), np.array([0.0, 0.0, 0.5, 0.6])).tolist()
    [1, 0, 0, -1]
    """

    delta: float

    def __post_init__(self) -> None:
        check_delta(self.delta)
        object.__setattr__(self, "delta", float(self.delta))

    def effects(self, query_ids: Sequence[str], first: Scores, second: Scores) -> Effects:
        """See `EffectRule`."""
        return _signs(first, second, np.full(len(first), self.delta))

    def described(self) -> dict[str, Any]:
        """See `EffectRule`."""
        return {"kind": "constant", "delta": float(self.delta)}


@dataclass(frozen=True)
class ByQuery:
    """A threshold for each query.

    Attributes
    ----------
    deltas : mapping of str to float
        By query, 0 or more.
    """

    deltas: Mapping[str, float]

    def __post_init__(self) -> None:
        check(
            "deltas", self.deltas, isinstance(self.deltas, Mapping), "a threshold for each query, by its id"
        )
        for delta in self.deltas.values():
            check_delta(delta)

    def effects(self, query_ids: Sequence[str], first: Scores, second: Scores) -> Effects:
        """See `EffectRule`.

        Raises
        ------
        UnknownIdError
            If a query has no threshold.
        """
        _check_known(query_ids, self.deltas, "threshold")
        return _signs(
            first, second, np.array([self.deltas[query_id] for query_id in query_ids], dtype=np.float64)
        )

    def described(self) -> dict[str, Any]:
        """See `EffectRule`."""
        values = list(self.deltas.values())
        return {
            "kind": "by query",
            "queries": len(values),
            "median": float(np.median(values)) if values else None,
        }


@dataclass(frozen=True, eq=False)
class ByRank:
    """Ranks in a reference list instead of a threshold.

    Attributes
    ----------
    lists : mapping of str to ndarray of float64
        Scores of the documents of a real ranking, by query, in any order. Two texts that no document stands between
        are tied.

    Examples
    --------
    >>> listed = ByRank({"q": np.array([3.0, 2.0, 1.0])})
    >>> listed.effects(["q", "q", "q"], np.array([2.5, 2.5, 0.0]), np.array([2.2, 1.5, 9.0])).tolist()
    [0, 1, -1]
    """

    lists: Mapping[str, Scores]

    def __post_init__(self) -> None:
        check("lists", self.lists, isinstance(self.lists, Mapping), "scores for each query, by its id")
        for query_id, scores in self.lists.items():
            _check_list(query_id, scores)

    def effects(self, query_ids: Sequence[str], first: Scores, second: Scores) -> Effects:
        """See `EffectRule`.

        Raises
        ------
        UnknownIdError
            If a query has no list.
        """
        _check_known(query_ids, self.lists, "reference list")
        ordered = {query_id: np.sort(self.lists[query_id]) for query_id in set(query_ids)}
        found = np.empty(len(first), dtype=np.int8)
        for place, query_id in enumerate(query_ids):
            below = np.searchsorted(ordered[query_id], (first[place], second[place]), side="left")
            found[place] = np.sign(int(below[0]) - int(below[1]))
        return found

    def described(self) -> dict[str, Any]:
        """See `EffectRule`."""
        return {"kind": "by rank", "queries": len(self.lists)}


def check_delta(delta: object) -> None:
    """Refuse a threshold that is none; one that is missing, too.

    Raises
    ------
    ParameterError
        If it is not a finite number of 0 or more.
    """
    if not is_finite_number(delta) or delta < 0 or math.isnan(delta):
        raise ParameterError(
            "a probe needs a threshold below which scores count as equal",
            facts=[("delta", delta), ("expected", "a number of 0 or more")],
            fixes=[
                "the median gap of the scorer: termwise.probes.median_gap",
                "0, where any difference counts",
            ],
        )


def _check_list(query_id: str, scores: object) -> None:
    """Refuse what is not a row of numbers; infinite ones have a rank, too."""
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.empty((0, 0))
    if values.ndim != 1 or np.isnan(values).any():
        raise ParameterError(
            "a reference list is a row of scores, none of which is NaN",
            facts=[("query", query_id), ("given", shown(scores))],
            fixes=["leave out the documents of the query that have no score"],
        )


def _signs(first: Scores, second: Scores, deltas: Scores) -> Effects:
    differences = difference(first, second)
    return (differences > deltas).astype(np.int8) - (differences < -deltas).astype(np.int8)


def difference(first: Scores, second: Scores) -> Scores:
    """Return first minus second, equal infinities being equal.

    Examples
    --------
    >>> difference(np.array([-np.inf, 1.0]), np.array([-np.inf, -np.inf])).tolist()
    [0.0, inf]
    """
    with np.errstate(invalid="ignore", over="ignore"):
        found: Scores = np.where(first == second, 0.0, first - second)
    return found


def _check_known(query_ids: Sequence[str], known: Mapping[str, Any], what: str) -> None:
    for query_id in query_ids:
        if query_id not in known:
            raise UnknownIdError(f"a query of the probe has no {what}", facts=[("query", query_id)])
