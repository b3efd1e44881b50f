"""Choice of the effect rule of a scorer from the argument ``delta``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, near_names
from termwise.probes.core.effect_rule import ByQuery, ByRank, Constant, EffectRule, Scores
from termwise.probes.core.score_gaps import median_gap, query_gaps
from termwise.validation import is_finite_number

RULES = ("median", "by-query", "by-rank")


def parse_delta(delta: str | float) -> str | float:
    """Return one of `RULES`, or the threshold as a number.

    Raises
    ------
    ParameterError
        If it is neither.

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
        near = near_names(delta, RULES)[:1] if isinstance(delta, str) else []
        raise ParameterError(
            "a threshold is a number of 0 or more, or the name of a rule",
            facts=[("given", shown(delta)), ("rules", ", ".join(RULES))],
            fixes=[*(f"did you mean {name}?" for name in near), "`delta='median'`", "`delta=0.355`"],
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
            fixes=["name a judged collection, `judged='FOLDER'`", "give a number, `delta=0.355`"],
        )
    if delta == "median":
        return Constant(median_gap(rankings))
    return ByQuery(query_gaps(rankings)) if delta == "by-query" else ByRank(dict(rankings))
