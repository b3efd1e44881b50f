"""Learning the weights of a fusion on judged queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from termwise.fusion.candidates import FusedDocuments, MissingScore, check_choice
from termwise.fusion.coordinate_ascent import ascent
from termwise.fusion.line_search import grid, sweep
from termwise.fusion.objective import objective_of, refuse_indifferent
from termwise.fusion.query_scales import QueryScales
from termwise.fusion.scaling import Scaling, deviation_of, scalings_of
from termwise.fusion.step_function import Choice
from termwise.fusion.weights_file import Fusion, Learned, Method, hash_of_queries
from termwise.progress import Progress, no_progress
from termwise.records import Qrel, Run

if TYPE_CHECKING:
    from ir_measures import Measure


def learn(
    runs: Sequence[Run],
    qrels: Iterable[Qrel],
    *,
    method: Method,
    measure: str | Measure = "nDCG@10",
    missing: MissingScore,
    scaling: Scaling | Sequence[Scaling] = "z",
    documents: FusedDocuments = "first",
    queries: QueryScales | Sequence[QueryScales | None] | None = None,
    seed: int = 0,
    restarts: int = 5,
    progress: Progress = no_progress,
) -> Fusion:
    """Choose the weights of runs so that the mean of a measure over judged queries becomes large.

    Parameters
    ----------
    runs : sequence of Run
        Two for ``grid`` and ``sweep``, two or more for ``ascent``.
    qrels : iterable of Qrel
        The judgments. The mean is over all judged queries; one that no run holds counts 0.
    method : {"grid", "sweep", "ascent"}
        ``grid``: the best share of the first run among 0, 0.1, ..., 1. ``sweep``: the best of all shares,
        exactly; for nDCG, AP, RR, P, R and Success, with a cutoff or without. ``ascent``: coordinate ascent
        from several starts, for any number of runs and any measure; weights may come out below 0.
    measure : str or ir_measures.Measure, optional
        As :func:`~termwise.evaluate.parse_measures` reads it.
    missing, scaling, documents, queries
        See `fuse`.
    seed, restarts : int, optional
        For ``ascent``: the seed of the random starts, and how many starts there are.
    progress : callable, optional
        Called with a stage name, what is done of it, and the total: queries, places on the line, or starts.

    Returns
    -------
    Fusion
        Weights, and in ``learned`` what they are worth. That value is of the queries the weights were chosen
        on; measure on others to know what they are worth elsewhere.

    Raises
    ------
    ParameterError, UnknownNameError
        If an argument has a value it cannot take, or a method does not fit the number of runs or the measure.
    DataError
        If runs and judgments share no query, or none of the documents that are fused is relevant and the measure counts
        these.
    UnknownIdError, DuplicateIdError, WeightError, MissingExtraError
        See `fuse` and :class:`termwise.evaluate.Evaluator`.

    Examples
    --------
    >>> from termwise.records import Qrel, Ranking
    >>> one = Run([Ranking(["a", "b", "c"], [3.0, 2.0, 1.0], query_id="q")], name="one")
    >>> other = Run([Ranking(["c", "b", "a"], [9.0, 8.0, 1.0], query_id="q")], name="other")
    >>> fusion = learn(
    ...     [one, other], [Qrel("q", "b", 1)], method="sweep", measure="RR", missing="drop", scaling="minmax"
    ... )
    >>> fusion.learned.value, fusion.learned.alone
    (1.0, (0.5, 0.5))
    >>> low, high = fusion.learned.low, fusion.learned.high
    >>> round(low, 4), round(high, 4), fusion.weights[0] == (low + high) / 2
    (0.2, 0.6364, True)
    """
    check_choice("method", method, Method)
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
    if method == "ascent":
        arrived = ascent(objective, seed=seed, restarts=restarts, progress=progress)
        found = _Found(arrived.weights, arrived.value, seed=seed, restarts=restarts)
    else:
        search = sweep if method == "sweep" else grid
        found = _Found.of(search(objective, progress=progress))
    refuse_indifferent(objective)
    alone = tuple(
        objective.value([float(place == run) for place in range(len(runs))]) for run in range(len(runs))
    )
    learned = Learned(
        method=method,
        measure=objective.measure,
        value=found.value,
        alone=alone,
        queries=len(objective.query_ids),
        queries_sha256=hash_of_queries(objective.query_ids),
        low=found.low,
        high=found.high,
        ties=found.ties,
        seed=found.seed,
        restarts=found.restarts,
        deviations=tuple(
            deviation_of(run) if one == "global" else None
            for run, one in zip(runs, scalings_of(scaling, len(runs)), strict=True)
        ),
    )
    return Fusion(
        [run.name for run in runs],
        found.weights,
        missing=missing,
        scaling=scaling,
        documents=documents,
        learned=learned,
    )


@dataclass(frozen=True)
class _Found:
    weights: tuple[float, ...]
    value: float
    low: float | None = None
    high: float | None = None
    ties: int | None = None
    seed: int | None = None
    restarts: int | None = None

    @classmethod
    def of(cls, choice: Choice) -> _Found:
        return cls((choice.alpha, 1 - choice.alpha), choice.value, choice.low, choice.high, choice.ties)
