"""What the best share of each query by itself would be worth: the oracle, which has read the judgments.

No choice of shares does better. The oracle says how much there is to gain over one share for all queries, and where it
lies.

EqualShares
    For many queries a measure is the same for many shares, and then which of them is said to be best is a matter of
    rule, on which means and counts of shares depend; its values do not. ``nearest``: the one that is nearest to the
    share that is best for all. ``smallest`` and ``largest``: the ends, which pull the mean of the shares to one side.
    Where documents swap they tie, so that the end of a stretch lies within it, by `NARROW` at least.
    Queries for which all shares are equal, `Oracle.indifferent`, are counted by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError
from termwise.fusion.candidates import FusedDocuments, MissingScore, check_choice
from termwise.fusion.line_search import TENTHS, grid, inexact, sweep, weights_at
from termwise.fusion.objective import Objective, RankedObjective, objective_of, refuse_indifferent
from termwise.fusion.query_scales import QueryScales
from termwise.fusion.scaling import Scaling
from termwise.fusion.step_function import EQUAL, NARROW
from termwise.progress import Progress, no_progress
from termwise.records import Qrel, Run

if TYPE_CHECKING:
    from ir_measures import Measure

OracleMethod = Literal["grid", "sweep"]
"""Which shares are looked at: 0, 0.1, ..., 1, or all of them."""

EqualShares = Literal["nearest", "smallest", "largest"]
"""Which of equally good shares is taken."""

Floats = npt.NDArray[np.float64]

HUNDREDTHS = tuple(number / 100 for number in range(101))
"""Where the curve of an exact oracle is shown."""

_FIRST, _SECOND = (1.0, 0.0), (0.0, 1.0)
_QUARTILES = (25, 50, 75)


@dataclass(frozen=True, eq=False)
class Oracle:
    """The best share of the first run for each query, beside the best one for all.

    Attributes
    ----------
    measure, method, ties : str
        What was made large, where it was looked for, and which of equal shares was taken.
    alpha : float
        The share of the first run that is best for all queries together.
    query_ids : tuple of str of length q
        The judged queries for which there is something to fuse.
    judged : int
        Judged queries, by which sums are divided; those that are not in `query_ids` count 0.
    alphas : ndarray of shape (q,), float64
        The best share for each query, by the rule of `ties`.
    best, fixed : ndarray of shape (q,), float64
        The measure there, and at `alpha`. No entry of `best` is smaller than that of `fixed`.
    first, second : ndarray of shape (q,), float64
        The measure with all weight on either run, over the documents that are fused.
    indifferent : ndarray of shape (q,), bool
        Where all shares are as good as any other.
    places, means : ndarray of shape (p,), float64
        Shares from 0 to 1, tenths or hundredths, and the mean over all judged queries with that share for all.
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
        """Return the mean of values of the queries over all that are judged."""
        return float(values.sum()) / self.judged

    def summary(self) -> dict[str, Any]:
        """Return what a row of a table says.

        Returns
        -------
        dict
            JSON-like: the names of measure, method and rule, ``queries`` (judged) and ``indifferent``; means of
            ``first``, ``second``, ``fixed`` and ``oracle``, and of the shares of the oracle ``mean alpha``, the
            ``quartiles`` (three), and the counts ``at 0`` and ``at 1``, all of which depend on the rule of ties. Shares
            are of all queries in `query_ids`; ``mean alpha, others`` and ``quartiles, others`` are of those that are
            not indifferent, None where there is none, and of these ``best at 0`` and ``best at 1`` count those for
            which no share is better than 0, or 1, whatever the rule.
        """
        told = self.alphas[~self.indifferent]
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
            "mean alpha, others": float(told.mean()) if len(told) else None,
            "quartiles": [float(value) for value in np.percentile(self.alphas, _QUARTILES)],
            "quartiles, others": [float(value) for value in np.percentile(told, _QUARTILES)]
            if len(told)
            else None,
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
    """Find the best share of the first of two runs for each judged query.

    Parameters
    ----------
    runs : sequence of Run
        Two.
    qrels : iterable of Qrel
        The judgments.
    method : {"sweep", "grid"}, optional
        ``sweep``: of all shares, exactly; for nDCG, AP, RR, P, R and Success. ``grid``: of 0, 0.1, ..., 1, for any
        measure.
    ties : {"nearest", "smallest", "largest"}, optional
        Which of equally good shares is taken; see the module.
    measure, missing, scaling, documents, queries, progress
        See `learn`.

    Raises
    ------
    TermwiseError
        As `learn` does.

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
        raise ParameterError("an oracle divides between two runs", facts=[("runs", objective.runs)])
    if method == "sweep" and not isinstance(objective, RankedObjective):
        raise inexact(objective.measure, ["method='grid', or --oracle grid"])
    chosen = (sweep if method == "sweep" else grid)(objective, progress=progress)
    refuse_indifferent(objective)
    first, second = objective.values(_FIRST), objective.values(_SECOND)
    fixed = objective.values(weights_at(chosen.alpha, _FIRST, _SECOND))
    known = {0.0: second, 1.0: first, chosen.alpha: fixed}
    shown = dict(known)
    places = TENTHS if method == "grid" else HUNDREDTHS
    for alpha in places:
        if alpha not in shown:
            shown[alpha] = objective.values(weights_at(alpha, _FIRST, _SECOND))
    if method == "grid":
        known = shown
    pieces = _pieces(objective, known, inside=method == "sweep")
    picked = [_best(low, high, value, chosen.alpha, ties) for low, high, value in pieces]
    return Oracle(
        measure=objective.measure,
        method=method,
        ties=ties,
        alpha=chosen.alpha,
        query_ids=objective.held,
        judged=len(objective.query_ids),
        alphas=np.array([alpha for alpha, _ in picked]),
        best=np.array([value for _, value in picked]),
        fixed=fixed,
        first=first,
        second=second,
        indifferent=np.array([float(np.ptp(value)) <= EQUAL for _, _, value in pieces]),
        places=np.array(places),
        means=np.array([float(shown[alpha].sum()) / len(objective.query_ids) for alpha in places]),
    )


def _pieces(
    objective: Objective, known: dict[float, Floats], *, inside: bool
) -> list[tuple[Floats, Floats, Floats]]:
    """Return for each query the shares that are looked at: beginnings, ends and values, by beginning.

    Points begin where they end. Between them are, with `inside`, the intervals on which nothing changes.
    """
    points = np.array(sorted(known))
    values = np.stack([known[alpha] for alpha in points.tolist()])
    found = []
    curve = objective.curve(_FIRST, _SECOND) if inside and isinstance(objective, RankedObjective) else None
    for query in range(len(objective.held)):
        low, high, value = points, points, values[:, query]
        if curve is not None:
            steps = slice(curve.indptr[query], curve.indptr[query + 1])
            begins = curve.alphas[steps]
            ends = np.append(begins[1:], 1.0)
            wide = ends - begins > NARROW
            low = np.concatenate([low, begins[wide]])
            high = np.concatenate([high, ends[wide]])
            value = np.concatenate([value, curve.values[steps][wide]])
            order = np.lexsort((high, low))
            low, high, value = low[order], high[order], value[order]
        found.append((low, high, value))
    return found


def _best(low: Floats, high: Floats, value: Floats, wanted: float, ties: EqualShares) -> tuple[float, float]:
    """Return the best share and its value: of points themselves, of intervals what lies within."""
    inset = np.minimum(NARROW, (high - low) / 2)
    low, high = low + inset, high - inset
    equal = np.flatnonzero(value >= value.max() - EQUAL)
    if ties == "smallest":
        place = equal[int(np.argmin(low[equal]))]
        return float(low[place]), float(value[place])
    if ties == "largest":
        place = equal[int(np.argmax(high[equal]))]
        return float(high[place]), float(value[place])
    nearest = np.clip(wanted, low[equal], high[equal])
    chosen = int(np.argmin(np.abs(nearest - wanted)))
    return float(nearest[chosen]), float(value[equal[chosen]])
