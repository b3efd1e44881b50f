"""Learning the weights of a fusion on judged queries, and cross-validation of the learned weights."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.fusion.candidates import FusedDocuments, MissingScore, check_choice
from termwise.fusion.coordinate_ascent import DEFAULT_STARTS, Starts, ascent
from termwise.fusion.line_search import best_share
from termwise.fusion.objective import check_relevant, objective_of
from termwise.fusion.scaling import QueryScales, Scaling, deviation_of, scalings_of
from termwise.fusion.weights_file import Fusion, Learned, Method, hash_of_queries
from termwise.progress import Progress, no_progress
from termwise.records import Qrel, Ranking, Run
from termwise.validation import check_count

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
    starts: Starts = DEFAULT_STARTS,
    progress: Progress = no_progress,
) -> Fusion:
    """Learn the weights of runs that maximise the mean of a measure over judged queries.

    Parameters
    ----------
    runs : sequence of Run
        Two for ``grid`` and ``sweep``; one or more for ``ascent``, where a single run has the weight 1.
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
    starts : Starts, optional
        For ``ascent``: number of starts, and seed of the random ones.
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
        weights, value = ascent(objective, starts, progress=progress)
        origin: dict[str, Any] = {"seed": starts.seed, "restarts": starts.number}
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


def cross_validated_run(
    runs: Sequence[Run],
    qrels: Iterable[Qrel],
    learner: Callable[[Sequence[Run], Sequence[Qrel]], Fusion],
    *,
    folds: int,
    progress: Progress = no_progress,
) -> Run:
    """Fuse every judged query with weights that were learned on the queries of the other folds.

    The measure of this run is that of learned weights on other queries. It is not biased upwards, as the value on the
    queries of the learning is.

    Parameters
    ----------
    runs, qrels
        See `learn`.
    learner : callable
        Learns weights on some of the queries: `learn` with its options, by ``functools.partial``.
    folds : int
        Number of folds, at least 2. The fold of a query depends on the identifiers of all queries, not on their order.
    progress : callable, optional
        Called with a stage name, finished folds, and their number.

    Returns
    -------
    Run
        The judged queries that one of the runs holds.

    Raises
    ------
    ParameterError
        If there are fewer such queries than folds, or `folds` is out of range.
    TermwiseError
        Errors of `learner`; a `DataError` if the queries outside of a fold have no relevant document.

    Examples
    --------
    >>> from functools import partial
    >>> from termwise.records import Qrel, Ranking
    >>> queries = ["q1", "q2", "q3"]
    >>> one = Run([Ranking(["a", "b"], [3.0, 2.0], query_id=query) for query in queries], name="one")
    >>> other = Run([Ranking(["b", "a"], [9.0, 8.0], query_id=query) for query in queries], name="other")
    >>> qrels = [Qrel("q1", "b", 1), Qrel("q2", "b", 1), Qrel("q3", "a", 1)]
    >>> learner = partial(learn, method="grid", measure="RR", missing="drop")
    >>> fused = cross_validated_run([one, other], qrels, learner, folds=3)
    >>> {query: fused[query].doc_ids[0] for query in queries}
    {'q1': 'a', 'q2': 'a', 'q3': 'b'}
    """
    fused: dict[str, Ranking] = {}
    judgments = list(qrels)
    for _, run in folds_of(runs, judgments, learner, folds=folds, progress=progress):
        fused |= run.rankings
    judged = dict.fromkeys(qrel.query_id for qrel in judgments)
    return Run([fused[query_id] for query_id in judged if query_id in fused], "cross-validated")


def folds_of(
    runs: Sequence[Run],
    judgments: Sequence[Qrel],
    learner: Callable[[Sequence[Run], Sequence[Qrel]], Fusion],
    *,
    folds: int,
    progress: Progress = no_progress,
) -> Iterator[tuple[Fusion, Run]]:
    """Yield for each fold the weights learned on the queries of the others, and its queries fused with them.

    See `cross_validated_run` for parameters and errors.
    """
    check_count("folds", folds, least=2)
    query_ids = [
        query_id
        for query_id in dict.fromkeys(qrel.query_id for qrel in judgments)
        if any(query_id in run for run in runs)
    ]
    for number, mask in enumerate(fold_masks(query_ids, folds)):
        progress("cross-validate", number, folds)
        left_out = {query_id for query_id, out in zip(query_ids, mask.tolist(), strict=True) if out}
        fusion = learner(
            [_with_queries(run, set(query_ids) - left_out) for run in runs],
            [qrel for qrel in judgments if qrel.query_id not in left_out],
        )
        yield fusion, fusion.apply([_with_queries(run, left_out) for run in runs])
    progress("cross-validate", folds, folds)


def fold_masks(query_ids: Sequence[str], folds: int) -> list[npt.NDArray[np.bool_]]:
    """Return the queries of each fold as masks of shape (queries,); hashes of the identifiers shuffle them."""
    if len(query_ids) < folds:
        raise ParameterError(
            "there are fewer judged queries with documents than folds",
            facts=[("queries", len(query_ids)), ("folds", folds)],
            fixes=[Fix.use("use {} for no estimate", folds=0)],
        )
    digests = [hashlib.sha256(query_id.encode("utf-8", "surrogatepass")).digest() for query_id in query_ids]
    shuffled = sorted(range(len(query_ids)), key=lambda position: digests[position])
    part = np.empty(len(query_ids), dtype=np.int64)
    part[shuffled] = np.arange(len(query_ids)) % folds
    return [part == fold for fold in range(folds)]


def _with_queries(run: Run, query_ids: Collection[str]) -> Run:
    """Return a run with the rankings of some of its queries."""
    return Run([ranking for ranking in run if ranking.query_id in query_ids], run.name)
