"""Mean of a measure over judged queries as a function of fusion weights.

`RankedObjective` computes common measures with kernels, and also the weights at which they change.
`MeasuredObjective` computes any other measure with :mod:`termwise.evaluate`. Both give the same values.

The mean is over all judged queries; a query that no run holds counts 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, WeightError
from termwise.evaluate import Evaluation, Evaluator, parse_measures
from termwise.evaluate.formats import shortlist
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.fusion.candidates import (
    Candidates,
    FusedDocuments,
    MissingScore,
    gather,
    tie_order,
    weighted_sum,
)
from termwise.fusion.scaling import QueryScales, Scaling
from termwise.fusion.step_function import AlphaCurve
from termwise.kernels.interpolation_metrics import AP, NDCG, RR, SUCCESS, P, R, query_steps, query_values
from termwise.progress import Progress, no_progress
from termwise.records import Qrel, Run

if TYPE_CHECKING:
    from ir_measures import Measure

RANKED_MEASURES = {"nDCG": NDCG, "AP": AP, "RR": RR, "P": P, "R": R, "Success": SUCCESS}
"""Measures that depend only on the ranks of relevant documents, with their numbers in the kernels."""

_LARGEST = 1e150
_UNLIMITED = np.iinfo(np.int32).max

Floats = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class RankedObjective:
    """Mean of a measure computed by kernels.

    Attributes
    ----------
    measure : str
        Canonical name of the measure.
    runs : int
        Number of weights.
    query_ids : tuple of str
        Judged queries.
    fused_query_ids : tuple of str of length q
        Judged queries with fused documents.
    indptr : ndarray of shape (q + 1,), int64
        Start of the documents of each query in `fused_query_ids`.
    scores : ndarray of shape (runs, n), float64
        Scaled scores of the documents of all queries.
    positions : ndarray of shape (runs, n), int32
        Position of each document in each run.
    gains : ndarray of shape (n,), float64
        Gain of each document: the grade for nDCG; 1 if relevant, else 0, for the other measures.
    norms : ndarray of shape (q,), float64
        Divisor of the sum over a query.
    kind, cutoff : int
        Number of the measure in `termwise.kernels.interpolation_metrics`, and its cutoff.
    """

    measure: str
    runs: int
    query_ids: tuple[str, ...]
    fused_query_ids: tuple[str, ...]
    indptr: npt.NDArray[np.int64]
    scores: Floats
    positions: npt.NDArray[np.int32]
    gains: Floats
    norms: Floats
    kind: int
    cutoff: int

    def value(self, weights: Sequence[float]) -> float:
        """Return the mean of the measure over the judged queries."""
        return math.fsum(self.values(weights)) / len(self.query_ids)

    def values(self, weights: Sequence[float]) -> Floats:
        """Return the measure for each query in `fused_query_ids`; shape (q,)."""
        positions = np.arange(self.scores.shape[1])
        if any(weight == 0 for weight in weights):
            for first, last in zip(self.indptr[:-1], self.indptr[1:], strict=True):
                order = tie_order(self.positions[:, first:last], weights)
                positions[first + order] = np.arange(len(order))
        return query_values(
            self.indptr,
            weighted_sum(self.scores, weights),
            positions,
            self.gains,
            self.norms,
            self.kind,
            self.cutoff,
        )

    def curve(
        self, at_one: Sequence[float], at_zero: Sequence[float], *, progress: Progress = no_progress
    ) -> AlphaCurve:
        """Return the measure on a line, where the weights at alpha are ``alpha * at_one + (1 - alpha) * at_zero``."""
        first, second = weighted_sum(self.scores, at_one), weighted_sum(self.scores, at_zero)
        if max(np.abs(first).max(initial=0), np.abs(second).max(initial=0)) > _LARGEST:
            raise WeightError(
                "scores are too large for an exact search",
                facts=[("largest", _LARGEST)],
                fixes=[Fix.use(scaling="z")],
            )
        steps = []
        for query, (begin, end) in enumerate(zip(self.indptr[:-1], self.indptr[1:], strict=True)):
            progress("sweep", query, len(self.fused_query_ids))
            steps.append(
                query_steps(
                    first[begin:end],
                    second[begin:end],
                    self.gains[begin:end],
                    self.kind,
                    self.cutoff,
                    self.norms[query],
                )
            )
        progress("sweep", len(self.fused_query_ids), len(self.fused_query_ids))
        return AlphaCurve(
            self.fused_query_ids,
            np.cumsum([0, *(len(alphas) for alphas, _ in steps)]),
            np.concatenate([np.zeros(0), *(alphas for alphas, _ in steps)]),
            np.concatenate([np.zeros(0), *(values for _, values in steps)]),
            len(self.query_ids),
        )


@final
@dataclass(frozen=True, eq=False)
class MeasuredObjective:
    """Mean of a measure computed by :mod:`termwise.evaluate`; `candidates` are judged queries with fused documents."""

    measure: str
    runs: int
    query_ids: tuple[str, ...]
    candidates: tuple[Candidates, ...]
    evaluator: Evaluator

    @property
    def fused_query_ids(self) -> tuple[str, ...]:
        """Judged queries with fused documents."""
        return tuple(query.query_id for query in self.candidates)

    def value(self, weights: Sequence[float]) -> float:
        """Return the mean of the measure over the judged queries."""
        return self._evaluated(weights).means[self.measure] or 0.0

    def values(self, weights: Sequence[float]) -> Floats:
        """Return the measure for each query in `fused_query_ids`; shape (q,)."""
        evaluation = self._evaluated(weights)
        value_of = dict(zip(evaluation.query_ids, evaluation.values[self.measure].tolist(), strict=True))
        return np.array([value_of[query_id] for query_id in self.fused_query_ids], dtype=np.float64)

    def _evaluated(self, weights: Sequence[float]) -> Evaluation:
        return self.evaluator.evaluate(Run([query.ranking(weights) for query in self.candidates]))


Objective: TypeAlias = RankedObjective | MeasuredObjective
"""Mean of a measure as a function of fusion weights."""


def objective_of(
    runs: Sequence[Run],
    qrels: Iterable[Qrel],
    measure: str | Measure,
    *,
    missing: MissingScore,
    scaling: Scaling | Sequence[Scaling] = "z",
    documents: FusedDocuments = "first",
    queries: QueryScales | Sequence[QueryScales | None] | None = None,
    progress: Progress = no_progress,
) -> Objective:
    """Return an objective: the mean of a measure as a function of the weights of several runs.

    Parameters
    ----------
    runs : sequence of Run
        One or more.
    qrels : iterable of Qrel
        The judgments.
    measure : str or ir_measures.Measure
        Measure or its name, see :func:`~termwise.evaluate.parse_measures`.
    missing, scaling, documents, queries
        See `fuse`.
    progress : callable, optional
        Called with a stage name, finished queries, and their number.

    Raises
    ------
    ParameterError
        If there is no run.
    DataError
        If runs and judgments share no query.
    UnknownNameError, MissingExtraError, UnknownIdError, DuplicateIdError, WeightError
        See `fuse` and `Evaluator`.
    """
    judgments = list(qrels)
    evaluator = Evaluator(judgments, [measure])
    judged = evaluator.query_ids
    gathered = gather(
        runs, missing=missing, scaling=scaling, documents=documents, queries=queries, only=frozenset(judged)
    )
    candidates: list[Candidates] = []
    for query in gathered:
        progress("gather", len(candidates), len(judged))
        candidates.append(query)
    progress("gather", len(judged), len(judged))
    if not candidates:
        raise DataError(
            "the runs and the judgments have no query in common",
            facts=[("runs", shortlist(list(runs[0].rankings))), ("judged queries", shortlist(judged))],
            fixes=["check that the runs and the judgments are for the same queries"],
        )
    name = evaluator.measures[0]
    parsed = parse_measures([measure])[0]
    if not _is_ranked(parsed):
        return MeasuredObjective(name, len(runs), judged, tuple(candidates), evaluator)
    grades: dict[str, dict[str, int]] = {}
    for qrel in judgments:
        grades.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
    return _ranked(parsed, name, judged, candidates, grades)


def check_relevant(objective: Objective) -> None:
    """Raise `DataError` if no ranked document is relevant, so that all weights have the same value."""
    if isinstance(objective, RankedObjective) and not objective.gains.any():
        raise DataError(
            "the runs rank no relevant document, so all weights have the same value",
            facts=[
                ("measure", objective.measure),
                ("queries", shortlist(objective.fused_query_ids)),
                ("documents", len(objective.gains)),
            ],
            fixes=["give the judgments of these queries and this collection, or deeper runs"],
        )


def _is_ranked(measure: Measure) -> bool:
    """Return whether the kernels compute this measure."""
    parameters = {key: value for key, value in measure.params.items() if (key, value) != ("dcg", "log2")}
    return measure.NAME in RANKED_MEASURES and set(parameters) <= {"cutoff", "rel"}


def _ranked(
    measure: Measure,
    name: str,
    judged: tuple[str, ...],
    candidates: Sequence[Candidates],
    grades: Mapping[str, Mapping[str, int]],
) -> RankedObjective:
    kind, cutoff = RANKED_MEASURES[str(measure.NAME)], int(measure.params.get("cutoff", _UNLIMITED))
    least = int(measure.params.get("rel", 1))
    gains: list[float] = []
    norms: list[float] = []
    for query in candidates:
        gain_of = {
            doc_id: float(grade if kind == NDCG else 1)
            for doc_id, grade in grades[query.query_id].items()
            if grade >= least
        }
        gains += [gain_of.get(doc_id, 0.0) for doc_id in query.doc_ids]
        norms.append(_norm(kind, cutoff, list(gain_of.values())))
    return RankedObjective(
        measure=name,
        runs=candidates[0].scores.shape[0],
        query_ids=judged,
        fused_query_ids=tuple(query.query_id for query in candidates),
        indptr=np.cumsum([0, *(len(query.doc_ids) for query in candidates)]),
        scores=np.concatenate([query.scores for query in candidates], axis=1),
        positions=np.concatenate([query.positions for query in candidates], axis=1),
        gains=np.array(gains, dtype=np.float64),
        norms=np.array(norms, dtype=np.float64),
        kind=kind,
        cutoff=cutoff,
    )


def _norm(kind: int, cutoff: int, gains: list[float]) -> float:
    """Return the divisor of the sum over the relevant documents of a query."""
    if kind == NDCG:
        best = sorted(gains, reverse=True)[:cutoff]
        return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, 1))
    if kind == P:
        return float(cutoff)
    return float(len(gains)) if kind in (AP, R) else 1.0
