"""Making the scores of different systems comparable.

================  ========================================================================================
scaling           a score x becomes
================  ========================================================================================
``z``             ``(x - mean) / std``, the standard deviation being that of all these scores
                  (dividing by their number); 0 for all where they are equal
``minmax``        ``(x - min) / (max - min)``; 0 for all where they are equal
``global``        as ``z``, with mean and deviation of all scores that the run gives for all of its queries
``raw``           x
``idf``           x divided by the sum of the idf of the distinct terms of the query that the index knows
``query-length``  x divided by the number of words of the query
================  ========================================================================================

Mean, deviation, minimum and maximum of ``z`` and ``minmax`` are those of one query, over the documents that
are fused for it, with missing scores filled in.

Sources: z-scores, Abolghasemi, Askari & Verberne (ICTIR 2022, arXiv 2210.05512), who do not say whether they
scale query by query or over all pairs at once; both are here. Raw query likelihoods grow with the length of
the query, so that over all queries at once the differences inside a long query and a short one do not weigh
the same. ``idf`` for BM25 and ``query-length`` for Model 1 are those of Boytsov & Kolter (ECIR 2021, arXiv
2102.06815).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError, UnknownIdError, UnknownNameError, WeightError
from termwise.fusion.query_scales import QueryScales
from termwise.records import Run

Scaling = Literal["z", "minmax", "global", "raw", "idf", "query-length"]
"""How scores of different systems are made comparable."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scaler:
    """The scaling of one run, with what it needs to know beyond one query.

    Attributes
    ----------
    scaling : str
        One of `Scaling`.
    run : str
        Name of the run, for messages.
    moments : tuple of two floats or None
        For ``global``: mean and deviation; None where all scores of the run are equal.
    divisors : mapping of str to float or None
        For ``idf`` and ``query-length``: the divisor of each query.
    """

    scaling: Scaling
    run: str
    moments: tuple[float, float] | None = None
    divisors: Mapping[str, float] | None = None

    @classmethod
    def of(cls, run: Run, scaling: Scaling, queries: QueryScales | None) -> Scaler:
        """Make the scaler of a run.

        Raises
        ------
        ParameterError
            If the scaling needs the queries, and there are none.
        WeightError
            If the scores are too far apart, or too near, to be scaled.
        """
        if scaling == "global":
            return cls(scaling, run.name, moments=_moments_of_all(run))
        if scaling in ("idf", "query-length"):
            if queries is None:
                raise ParameterError(
                    f"the scaling {scaling} needs the queries and an index",
                    facts=[("run", run.name)],
                    fixes=[
                        "queries=QueryScales.of(termwise.Index.open(folder), queries)",
                        "--queries FILE --index DIR",
                    ],
                )
            return cls(scaling, run.name, divisors=queries.idf if scaling == "idf" else queries.words)
        return cls(scaling, run.name)

    def scaled(self, values: Floats, query_id: str) -> Floats:
        """Scale the scores of one query.

        Parameters
        ----------
        values : ndarray of shape (n,), float64
            One score for each fused document, missing ones filled in.
        query_id : str
            The query.
        """
        if self.scaling == "raw" or len(values) == 0:
            return values
        if self.divisors is not None:
            return self._divided(values, self.divisors, query_id)
        moments = self.moments if self.scaling == "global" else _moments(values, self.scaling == "minmax")
        return np.zeros_like(values) if moments is None else self._standardised(values, moments, query_id)

    def _standardised(self, values: Floats, moments: tuple[float, float], query_id: str) -> Floats:
        centre, spread = moments
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            scaled: Floats = (values - centre) / np.float64(spread)
        if not (math.isfinite(spread) and np.isfinite(scaled).all()):
            raise WeightError(
                "the scores are too far apart, or too near, to be scaled",
                facts=[
                    ("run", self.run),
                    ("query", query_id),
                    ("lowest", float(values.min())),
                    ("highest", float(values.max())),
                ],
            )
        return scaled

    def _divided(self, values: Floats, divisors: Mapping[str, float], query_id: str) -> Floats:
        if query_id not in divisors:
            raise UnknownIdError(
                "a query of a run is not among the queries whose texts were given",
                facts=[("run", self.run), ("query", query_id), ("texts", len(divisors))],
                fixes=["give the file of queries that the run was made of"],
            )
        divisor = divisors[query_id]
        if divisor > 0:
            return values / divisor
        if values.min() == values.max():
            return np.zeros_like(values)
        raise WeightError(
            "a run tells documents apart for a query of which the index knows no word",
            facts=[("run", self.run), ("query", query_id), ("scaling", self.scaling)],
            fixes=["give the index that the run was made with", "choose another scaling"],
        )


def _all_scores(run: Run) -> Floats:
    return np.concatenate([np.zeros(0), *(ranking.scores for ranking in run)])


def _moments_of_all(run: Run) -> tuple[float, float] | None:
    """Return mean and deviation of all scores of a run; None where all are equal."""
    moments = _moments(_all_scores(run))
    if moments is not None and not (math.isfinite(moments[1]) and moments[1] > 0):
        lowest = min((ranking for ranking in run if len(ranking)), key=lambda ranking: ranking.scores.min())
        highest = max((ranking for ranking in run if len(ranking)), key=lambda ranking: ranking.scores.max())
        raise WeightError(
            "the scores are too far apart, or too near, to be scaled",
            facts=[
                ("run", run.name),
                ("lowest", f"{float(lowest.scores.min())}, query {lowest.query_id}"),
                ("highest", f"{float(highest.scores.max())}, query {highest.query_id}"),
            ],
        )
    return moments


def deviation_of(run: Run) -> float:
    """Return the standard deviation of all scores of a run, which ``global`` divides by; 0 where all are equal."""
    moments = _moments(_all_scores(run))
    return 0.0 if moments is None else moments[1]


def _moments(values: Floats, extremes: bool = False) -> tuple[float, float] | None:
    """Return mean and deviation, or minimum and range; None where all values are equal."""
    if len(values) == 0 or values.min() == values.max():
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if extremes:
            return float(values.min()), float(values.max() - values.min())
        return float(values.mean()), float(values.std())


def scalings_of(given: Scaling | Sequence[Scaling], runs: int) -> tuple[Scaling, ...]:
    """Return one scaling for each run.

    Parameters
    ----------
    given : str or sequence of str
        One for all, or one for each.
    runs : int
        How many runs there are.

    Raises
    ------
    UnknownNameError, ParameterError
        If there is no such scaling, or another number of them than of runs.

    Examples
    --------
    >>> scalings_of("z", 2), scalings_of(["idf", "query-length"], 2)
    (('z', 'z'), ('idf', 'query-length'))
    """
    each = (given,) * runs if isinstance(given, str) else tuple(given)
    for scaling in each:
        if scaling not in get_args(Scaling):
            raise UnknownNameError.of("scaling", str(scaling), get_args(Scaling))
    if len(each) != runs:
        raise ParameterError(
            "there is one scaling for all runs, or one for each",
            facts=[("scalings", len(each)), ("runs", runs)],
        )
    return each
