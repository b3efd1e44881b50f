"""Value of the best interpolation weight of each query, an upper bound for any choice of weights.

For many queries a measure has the same value for an interval of weights alpha. `ties` selects the reported alpha:
``nearest`` to the best alpha for all queries, or an end of the interval, ``smallest`` or ``largest``. It does not
change values. At the ends of an interval two documents have equal scores, so the ends are moved inwards by `NARROW`.
Queries with the same value for every alpha are `Oracle.indifferent`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.fusion.candidates import FusedDocuments, MissingScore, check_choice
from termwise.fusion.line_search import TENTHS, best_share, no_exact_sweep, weights_at
from termwise.fusion.objective import Objective, RankedObjective, check_relevant, objective_of
from termwise.fusion.scaling import QueryScales, Scaling
from termwise.fusion.step_function import EQUAL, NARROW
from termwise.progress import Progress, no_progress
from termwise.records import Qrel, Run

if TYPE_CHECKING:
    from ir_measures import Measure

OracleMethod = Literal["grid", "sweep"]
"""Evaluated values of alpha: all, or 0, 0.1, ..., 1."""

EqualShares = Literal["nearest", "smallest", "largest"]
"""Reported alpha among equally good values."""

Floats = npt.NDArray[np.float64]

HUNDREDTHS = tuple(number / 100 for number in range(101))
"""Values of alpha in the curve of an exact oracle."""

_FIRST, _SECOND = (1.0, 0.0), (0.0, 1.0)
_QUARTILES = (25, 50, 75)


@dataclass(frozen=True, eq=False)
class Oracle:
    """Best interpolation weight of the first run per query, and the best one for all queries.

    Attributes
    ----------
    measure, method, ties : str
        Maximised measure, search method, and rule for equally good values of alpha.
    alpha : float
        Best interpolation weight of the first run for all queries.
    query_ids : tuple of str of length q
        Judged queries with fused documents.
    judged : int
        Number of judged queries; those that are not in `query_ids` count 0.
    alphas : ndarray of shape (q,), float64
        Best alpha of each query, by the rule of `ties`.
    best, fixed : ndarray of shape (q,), float64
        Value of the measure at the best alpha of the query, and at `alpha`.
    first, second : ndarray of shape (q,), float64
        Value of the measure for each run alone, over the fused documents.
    indifferent : ndarray of shape (q,), bool
        Whether every alpha has the same value.
    places, means : ndarray of shape (p,), float64
        Values of alpha from 0 to 1, in steps of 0.1 or 0.01, and the mean over all judged queries with this alpha.
    """

    measure: str
    method: OracleMethod
    ties: EqualShares
    alpha: float
    query_ids: tuple[str, ...]
    judged: int
    alphas: Floats
    best: Floats
    fixed: Floats
    first: Floats
    second: Floats
    indifferent: npt.NDArray[np.bool_]
    places: Floats
    means: Floats

    def mean(self, values: Floats) -> float:
        """Return the mean over all judged queries."""
        return float(values.sum()) / self.judged

    def summary(self) -> dict[str, Any]:
        """Return means and counts as JSON-like data.

        Returns
        -------
        dict
            ``measure``, ``method``, ``ties``; the numbers of ``queries`` (judged) and ``indifferent``; means of
            ``first``, ``second``, ``fixed`` and ``oracle``; and for the best alpha per query ``mean alpha``, the three
            ``quartiles``, and the counts ``at 0`` and ``at 1``, which depend on `ties`. ``mean alpha, others`` and
            ``quartiles, others`` leave out indifferent queries (None without others). ``best at 0`` and ``best at 1``
            count the other queries for which no alpha is better than 0 or 1.
        """
        others = self.alphas[~self.indifferent]
        return {
            "measure": self.measure,
            "method": self.method,
            "ties": self.ties,
            "queries": self.judged,
            "indifferent": int(self.indifferent.sum()),
            "first": self.mean(self.first),
            "second": self.mean(self.second),
            "alpha": self.alpha,
            "fixed": self.mean(self.fixed),
            "oracle": self.mean(self.best),
            "mean alpha": float(self.alphas.mean()),
            "mean alpha, others": float(others.mean()) if len(others) else None,
            "quartiles": np.percentile(self.alphas, _QUARTILES).tolist(),
            "quartiles, others": np.percentile(others, _QUARTILES).tolist() if len(others) else None,
            "best at 0": int((self.best - self.second <= EQUAL)[~self.indifferent].sum()),
            "best at 1": int((self.best - self.first <= EQUAL)[~self.indifferent].sum()),
            "at 0": int((self.alphas == 0).sum()),
            "at 1": int((self.alphas == 1).sum()),
        }


def oracle(
    runs: Sequence[Run],
    qrels: Iterable[Qrel],
    *,
    method: OracleMethod = "sweep",
    ties: EqualShares = "nearest",
    measure: str | Measure = "nDCG@10",
    missing: MissingScore,
    scaling: Scaling | Sequence[Scaling] = "z",
    documents: FusedDocuments = "first",
    queries: QueryScales | Sequence[QueryScales | None] | None = None,
    progress: Progress = no_progress,
) -> Oracle:
    """Find the best interpolation weight of the first of two runs for each judged query.

    Parameters
    ----------
    runs : sequence of Run
        Two runs.
    qrels : iterable of Qrel
        The judgments.
    method : {"sweep", "grid"}, optional
        ``sweep``: every alpha, exactly, for nDCG, AP, RR, P, R and Success. ``grid``: 0, 0.1, ..., 1, for any measure.
    ties : {"nearest", "smallest", "largest"}, optional
        Reported alpha among equally good values: the nearest to the best alpha for all queries, or an end.
    measure, missing, scaling, documents, queries, progress
        See `learn`.

    Raises
    ------
    TermwiseError
        As in `learn`.

    Examples
    --------
    >>> from termwise.records import Qrel, Ranking
    >>> one = Run([Ranking(["a", "b"], [2.0, 1.0], query_id=q) for q in ("q", "r")], name="one")
    >>> other = Run([Ranking(["b", "a"], [2.0, 1.0], query_id=q) for q in ("q", "r")], name="other")
    >>> found = oracle([one, other], [Qrel("q", "a", 1), Qrel("r", "b", 1)], measure="RR", missing="drop")
    >>> found.alphas.round(4), found.best, found.mean(found.fixed)
    (array([0.5 , 0.25]), array([1., 1.]), 0.75)
    """
    check_choice("method", method, OracleMethod)
    check_choice("ties", ties, EqualShares)
    objective = objective_of(
        runs,
        qrels,
        measure,
        missing=missing,
        scaling=scaling,
        documents=documents,
        queries=queries,
        progress=progress,
    )
    if objective.runs != 2:
        raise ParameterError("an oracle needs two runs", facts=[("runs", objective.runs)])
    if method == "sweep" and not isinstance(objective, RankedObjective):
        raise no_exact_sweep(objective.measure, [Fix.use(method="grid")])
    chosen = best_share(objective, method, progress=progress)
    check_relevant(objective)
    first, second = objective.values(_FIRST), objective.values(_SECOND)
    fixed = objective.values(weights_at(chosen.alpha, _FIRST, _SECOND))
    evaluated = {0.0: second, 1.0: first, chosen.alpha: fixed}
    grid = TENTHS if method == "grid" else HUNDREDTHS
    others = {a: objective.values(weights_at(a, _FIRST, _SECOND)) for a in grid if a not in evaluated}
    curve = evaluated | others
    intervals = _intervals(objective, curve if method == "grid" else evaluated, inside=method == "sweep")
    best_points = [_best(low, high, value, chosen.alpha, ties) for low, high, value in intervals]
    return Oracle(
        measure=objective.measure,
        method=method,
        ties=ties,
        alpha=chosen.alpha,
        query_ids=objective.fused_query_ids,
        judged=len(objective.query_ids),
        alphas=np.array([alpha for alpha, _ in best_points]),
        best=np.array([value for _, value in best_points]),
        fixed=fixed,
        first=first,
        second=second,
        indifferent=np.array([float(np.ptp(value)) <= EQUAL for _, _, value in intervals]),
        places=np.array(grid),
        means=np.array([float(curve[alpha].sum()) / len(objective.query_ids) for alpha in grid]),
    )


def _intervals(
    objective: Objective, evaluated: dict[float, Floats], *, inside: bool
) -> list[tuple[Floats, Floats, Floats]]:
    """Return per query starts, ends and values of the evaluated points and, with `inside`, of constant intervals."""
    points = np.array(sorted(evaluated))
    values = np.stack([evaluated[alpha] for alpha in points.tolist()])
    intervals = []
    curve = objective.curve(_FIRST, _SECOND) if inside and isinstance(objective, RankedObjective) else None
    for query in range(len(objective.fused_query_ids)):
        low, high, value = points, points, values[:, query]
        if curve is not None:
            steps = slice(curve.indptr[query], curve.indptr[query + 1])
            starts = curve.alphas[steps]
            ends = np.append(starts[1:], 1.0)
            wide = ends - starts > NARROW
            low = np.concatenate([low, starts[wide]])
            high = np.concatenate([high, ends[wide]])
            value = np.concatenate([value, curve.values[steps][wide]])
            order = np.lexsort((high, low))
            low, high, value = low[order], high[order], value[order]
        intervals.append((low, high, value))
    return intervals


def _best(low: Floats, high: Floats, value: Floats, target: float, ties: EqualShares) -> tuple[float, float]:
    """Return the best alpha, inside its interval, and its value."""
    inset = np.minimum(NARROW, (high - low) / 2)
    low, high = low + inset, high - inset
    equal = np.flatnonzero(value >= value.max() - EQUAL)
    if ties == "smallest":
        position = equal[int(np.argmin(low[equal]))]
        return float(low[position]), float(value[position])
    if ties == "largest":
        position = equal[int(np.argmax(high[equal]))]
        return float(high[position]), float(value[position])
    nearest = np.clip(target, low[equal], high[equal])
    chosen = int(np.argmin(np.abs(nearest - target)))
    return float(nearest[chosen]), float(value[equal[chosen]])
