"""Learning the weights of a fusion on judged queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from termwise.fusion.candidates import FusedDocuments, MissingScore, check_choice
from termwise.fusion.coordinate_ascent import ascent
from termwise.fusion.line_search import best_share
from termwise.fusion.objective import check_relevant, objective_of
from termwise.fusion.scaling import QueryScales, Scaling, deviation_of, scalings_of
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
    """Learn the weights of runs that maximise the mean of a measure over judged queries.

    Parameters
    ----------
    runs : sequence of Run
        Two for ``grid`` and ``sweep``, two or more for ``ascent``.
    qrels : iterable of Qrel
        The judgments. The mean is over all judged queries; a query that no run holds counts 0.
    method : {"grid", "sweep", "ascent"}
        ``grid``: the best alpha among 0, 0.1, ..., 1. ``sweep``: the exact best alpha, for nDCG, AP,
        RR, P, R and Success, with or without a cutoff. ``ascent``: coordinate ascent from several starts, for any
        number of runs and any measure; weights can be negative.
    measure : str or ir_measures.Measure, optional
        Measure or its name, see :func:`~termwise.evaluate.parse_measures`.
    missing, scaling, documents, queries
        See `fuse`.
    seed, restarts : int, optional
        For ``ascent``: seed of the random starts, and number of starts.
    progress : callable, optional
        Called with a stage name, finished items and their number: queries, points or starts.

    Returns
    -------
    Fusion
        Weights, with their value on these queries in ``learned``. The value on other queries is usually lower.

    Raises
    ------
    ParameterError, UnknownNameError
        If an argument is out of range, or a method does not support the number of runs or the measure.
    DataError
        If runs and judgments share no query, or no fused document is relevant.
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
        result = ascent(objective, seed=seed, restarts=restarts, progress=progress)
        weights, value = result.weights, result.value
        origin: dict[str, Any] = {"seed": seed, "restarts": restarts}
    else:
        choice = best_share(objective, method, progress=progress)
        weights, value = (choice.alpha, 1 - choice.alpha), choice.value
        origin = {"low": choice.low, "high": choice.high, "ties": choice.ties}
    check_relevant(objective)
    alone = tuple(
        objective.value([float(position == run) for position in range(len(runs))]) for run in range(len(runs))
    )
    learned = Learned(
        method=method,
        measure=objective.measure,
        value=value,
        alone=alone,
        queries=len(objective.query_ids),
        queries_sha256=hash_of_queries(objective.query_ids),
        deviations=tuple(
            deviation_of(run) if run_scaling == "global" else None
            for run, run_scaling in zip(runs, scalings_of(scaling, len(runs)), strict=True)
        ),
        **origin,
    )
    return Fusion(
        [run.name for run in runs],
        weights,
        missing=missing,
        scaling=scaling,
        documents=documents,
        learned=learned,
    )
