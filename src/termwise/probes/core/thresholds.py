"""From the gaps of a scorer to what counts as a tie: the rules that a run may name."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, near_names
from termwise.probes.core.effect_rule import ByQuery, ByRank, Constant, EffectRule
from termwise.probes.core.score_gaps import median_gap, query_gaps
from termwise.validation import is_finite_number

Scores = npt.NDArray[np.float64]

RULES = ("median", "by-query", "by-rank")

_WAYS = ("--delta median", "--delta 0.355")


def parse_delta(rule: str | float) -> str | float:
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
    if isinstance(rule, str) and rule in RULES:
        return rule
    number: object = rule
    if isinstance(rule, str):
        with suppress(ValueError):
            number = float(rule)
    if not is_finite_number(number) or number < 0:
        near = near_names(rule, RULES)[:1] if isinstance(rule, str) else []
        raise ParameterError(
            "a threshold is a number of 0 or more, or a rule that gives one",
            facts=[("given", shown(rule)), ("rules", ", ".join(RULES))],
            fixes=[*(f"did you mean {name}?" for name in near), *_WAYS],
        )
    return float(number)


def effect_rule_for(rule: str | float, lists: Mapping[str, Scores] | None) -> EffectRule:
    """Return how the scores of a scorer are read.

    Parameters
    ----------
    rule : {"median", "by-query", "by-rank"} or float
        ``median``: the median gap among the best ten of all queries, as published. ``by-query``: that of each query.
        ``by-rank``: none, places in the list of the query count. A number is the threshold itself.
    lists : mapping of str to ndarray of float64, or None
        Scores of candidates by query; only a number does without.

    Raises
    ------
    ParameterError
        If the rule is none of these, or there are no lists.

    Examples
    --------
    >>> effect_rule_for("median", {"q": np.array([3.0, 2.0, 0.0])})
    Constant(delta=1.5)
    """
    rule = parse_delta(rule)
    if not isinstance(rule, str):
        return Constant(rule)
    if lists is None:
        raise ParameterError(
            "this rule takes its threshold from rankings, and there are none",
            facts=[("rule", rule)],
            fixes=["--judged FOLDER, a judged collection", "--delta NUMBER, a threshold of your own"],
        )
    if rule == "median":
        return Constant(median_gap(lists))
    return ByQuery(query_gaps(lists)) if rule == "by-query" else ByRank(dict(lists))
