r"""Effect rules: functions from the two scores of a sample to +1, 0 or -1.

With D the score of the first text minus the score of the second and a threshold :math:`\delta \ge 0`

    effect = +1 if D > delta,  -1 if D < -delta,  0 otherwise

(MacAvaney et al., TACL 2022, section 3). The effect of a symmetric probe is 1 if the texts are distinguished, else 0.
The threshold depends on the scale of a scorer. As published, it is the median gap, see
`termwise.probes.core.score_gaps`. `ByRank` has no threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownIdError, near_names
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.probes.core.score_gaps import Scores, as_scores, median_gap, query_gaps
from termwise.validation import check, is_finite_number

RULES = ("median", "by-query", "by-rank")

Effects = npt.NDArray[np.int8]


@runtime_checkable
class EffectRule(Protocol):
    """Maps scores to effects."""

    def effects(self, query_ids: Sequence[str], first: Scores, second: Scores) -> Effects:
        """Return the effects of samples.

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

    def described(self) -> dict[str, Any]:
        """Return the rule as a JSON-like object."""


@dataclass(frozen=True)
class Constant:
    """One threshold for all samples.

    Attributes
    ----------
    delta : float
        0 or more. There is no default: with 0, rounding errors count as preferences.

    Examples
    --------
    >>> Constant(0.5).effects(["q"] * 4, np.array([1.0, 0.5, 0.0, 0.0]), np.array([0.0, 0.0, 0.5, 0.6])).tolist()
    [1, 0, 0, -1]
    """

    delta: float

    def __post_init__(self) -> None:
        _check_delta(self.delta)
        object.__setattr__(self, "delta", float(self.delta))

    def effects(self, query_ids: Sequence[str], first: Scores, second: Scores) -> Effects:
        """See `EffectRule`."""
        return _effects(first, second, np.full(len(first), self.delta))

    def described(self) -> dict[str, Any]:
        """Return the rule as a JSON-like object."""
        return {"kind": "constant", "delta": float(self.delta)}


@dataclass(frozen=True)
class ByQuery:
    """One threshold for each query.

    Attributes
    ----------
    deltas : mapping of str to float
        Thresholds by query, 0 or more.
    """

    deltas: Mapping[str, float]

    def __post_init__(self) -> None:
        check(
            "deltas", self.deltas, isinstance(self.deltas, Mapping), "a threshold for each query, by its id"
        )
        for delta in self.deltas.values():
            _check_delta(delta)

    def effects(self, query_ids: Sequence[str], first: Scores, second: Scores) -> Effects:
        """Return the effects of samples; `UnknownIdError` if a query has no threshold."""
        _check_known(query_ids, self.deltas, "threshold")
        deltas = np.array([self.deltas[query_id] for query_id in query_ids], dtype=np.float64)
        return _effects(first, second, deltas)

    def described(self) -> dict[str, Any]:
        """Return the rule as a JSON-like object."""
        values = list(self.deltas.values())
        return {
            "kind": "by query",
            "queries": len(values),
            "median": float(np.median(values)) if values else None,
        }


@dataclass(frozen=True, eq=False)
class ByRank:
    """No threshold: the effect compares the ranks that the two texts would have in a real ranking of the query.

    Attributes
    ----------
    lists : mapping of str to ndarray of float64
        Scores of the documents of a real ranking, by query, in any order. Two texts are tied if no document ranks
        between them.

    Examples
    --------
    >>> rule = ByRank({"q": np.array([3.0, 2.0, 1.0])})
    >>> rule.effects(["q", "q", "q"], np.array([2.5, 2.5, 0.0]), np.array([2.2, 1.5, 9.0])).tolist()
    [0, 1, -1]
    """

    lists: Mapping[str, Scores]

    def __post_init__(self) -> None:
        check("lists", self.lists, isinstance(self.lists, Mapping), "scores for each query, by its id")
        for query_id, scores in self.lists.items():
            _check_ranking(query_id, scores)

    def effects(self, query_ids: Sequence[str], first: Scores, second: Scores) -> Effects:
        """Return the effects of samples; `UnknownIdError` if a query has no ranking."""
        _check_known(query_ids, self.lists, "reference ranking")
        ordered = {query_id: np.sort(self.lists[query_id]) for query_id in set(query_ids)}
        effects = np.empty(len(first), dtype=np.int8)
        for position, query_id in enumerate(query_ids):
            below = np.searchsorted(ordered[query_id], (first[position], second[position]), side="left")
            effects[position] = np.sign(int(below[0]) - int(below[1]))
        return effects

    def described(self) -> dict[str, Any]:
        """Return the rule as a JSON-like object."""
        return {"kind": "by rank", "queries": len(self.lists)}


def parse_delta(delta: str | float) -> str | float:
    """Return one of `RULES`, or the threshold as a number; `ParameterError` for anything else.

    Examples
    --------
    >>> parse_delta("median"), parse_delta("0.5")
    ('median', 0.5)
    """
    if isinstance(delta, str) and delta in RULES:
        return delta
    number: object = delta
    if isinstance(delta, str):
        with suppress(ValueError):
            number = float(delta)
    if not is_finite_number(number) or number < 0:
        similar = near_names(delta, RULES)[:1] if isinstance(delta, str) else []
        raise ParameterError(
            "a threshold is a number of 0 or more, or the name of a rule",
            facts=[("given", shown(delta)), ("rules", ", ".join(RULES))],
            fixes=[
                *(f"did you mean {name}?" for name in similar),
                Fix.use(delta="median"),
                Fix.use(delta=0.355),
            ],
        )
    return float(number)


def effect_rule_for(delta: str | float, rankings: Mapping[str, Scores] | None) -> EffectRule:
    """Return the effect rule of a scorer.

    Parameters
    ----------
    delta : {"median", "by-query", "by-rank"} or float
        ``median``: the median gap among the best ten of all queries, as published. ``by-query``: the median gap of
        each query. ``by-rank``: ranks in the ranking of the query. A number is the threshold itself.
    rankings : mapping of str to ndarray of float64, or None
        Scores of the scorer for candidates, by query; not required if `delta` is a number.

    Raises
    ------
    ParameterError
        If `delta` is invalid, or requires rankings and there are none.

    Examples
    --------
    >>> import numpy as np
    >>> effect_rule_for("median", {"q": np.array([3.0, 2.0, 0.0])})
    Constant(delta=1.5)
    """
    delta = parse_delta(delta)
    if not isinstance(delta, str):
        return Constant(delta)
    if rankings is None:
        raise ParameterError(
            "this rule requires reference rankings",
            facts=[("rule", delta)],
            fixes=[
                Fix.use("name a judged collection, {}", judged="FOLDER"),
                Fix.use("give a number, {}", delta=0.355),
            ],
        )
    if delta == "median":
        return Constant(median_gap(rankings))
    return ByQuery(query_gaps(rankings)) if delta == "by-query" else ByRank(dict(rankings))


def score_differences(first: Scores, second: Scores) -> Scores:
    """Return first minus second; the difference of equal infinities is 0.

    Examples
    --------
    >>> score_differences(np.array([-np.inf, 1.0]), np.array([-np.inf, -np.inf])).tolist()
    [0.0, inf]
    """
    with np.errstate(invalid="ignore", over="ignore"):
        differences: Scores = np.where(first == second, 0.0, first - second)
    return differences


def _effects(first: Scores, second: Scores, deltas: Scores) -> Effects:
    differences = score_differences(first, second)
    return (differences > deltas).astype(np.int8) - (differences < -deltas).astype(np.int8)


def _check_delta(delta: object) -> None:
    if not is_finite_number(delta) or delta < 0:
        raise ParameterError(
            "a probe needs a threshold below which scores count as equal",
            facts=[("delta", delta), ("expected", "a number of 0 or more")],
            fixes=[
                Fix.python("termwise.probes.median_gap(rankings)", "use the median gap of the scorer, {}"),
                "use 0 if every difference counts",
            ],
        )


def _check_ranking(query_id: str, scores: object) -> None:
    """Raise `ParameterError` unless scores are a vector without NaN; infinite scores are valid."""
    values = as_scores(scores)
    if values.ndim != 1 or np.isnan(values).any():
        raise ParameterError(
            "a reference ranking is a vector of scores without NaN",
            facts=[("query", query_id), ("given", shown(scores))],
            fixes=["remove the documents of the query that have no score"],
        )


def _check_known(query_ids: Sequence[str], known: Mapping[str, Any], noun: str) -> None:
    for query_id in query_ids:
        if query_id not in known:
            raise UnknownIdError(f"a query of the probe has no {noun}", facts=[("query", query_id)])
