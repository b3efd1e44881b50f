"""Weighted sums of the scores of several runs.

For the scores s_1, ..., s_n of a document in n runs, normalised by :mod:`termwise.fusion.scaling`,

    score = w_1 * s_1 + w_2 * s_2 + ... + w_n * s_n

`interpolate` fuses two runs, with w_1 = alpha and w_2 = 1 - alpha.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from termwise.errors import ParameterError
from termwise.fusion.candidates import FusedDocuments, MissingScore, gather
from termwise.fusion.scaling import QueryScales, Scaling
from termwise.records import Run
from termwise.validation import check, is_finite_number


def fuse(
    runs: Sequence[Run],
    weights: Sequence[float],
    *,
    missing: MissingScore,
    scaling: Scaling | Sequence[Scaling] = "z",
    documents: FusedDocuments = "first",
    queries: QueryScales | Sequence[QueryScales | None] | None = None,
    name: str = "fused",
) -> Run:
    """Fuse runs by a weighted sum of their scores.

    Parameters
    ----------
    runs : sequence of Run
        One or more. A run without a query has an empty ranking for it.
    weights : sequence of float
        One per run, not all 0. A negative weight reverses the run.
    missing : {"drop", "minimum", "zero"}
        Score of a document in a run that does not rank it. ``drop``: the document is not fused. ``minimum``: the
        lowest score of the run among the fused documents of the query. ``zero``: 0, before normalisation; for runs with
        scores of at least 0, an error for others, such as log-probabilities. There is no default, because each rule
        is wrong for some pair of systems.
    scaling : {"z", "minmax", "global", "raw", "idf", "query-length"}, or a sequence of these, optional
        One for all runs, or one per run; see :mod:`termwise.fusion.scaling`.
    documents : {"first", "union"}, optional
        Fuse the documents and queries of the first run only, as in re-ranking, or those of all runs.
    queries : QueryScales or a sequence of them, optional
        Divisors for the normalisations ``idf`` and ``query-length``; one for all runs, or one (or None) per run.
    name : str, optional
        Name of the fused run.

    Returns
    -------
    Run
        Queries are in the order of the first run, followed by the new queries of the second, and so on. Documents with
        equal scores are in the order of the first run, followed by the new documents of the second, and so on; runs
        with weight 0 come last. If only one weight is above 0, the order of its run is kept.

    Raises
    ------
    ParameterError
        If there is no run, the weights are not one finite number per run or are all 0, or a normalisation needs
        `queries`.
    UnknownNameError
        If `missing`, `scaling` or `documents` has another value.
    UnknownIdError
        If a query of a run is not among `queries`.
    WeightError
        If a score is infinite or too large, or a missing score cannot be 0.

    Examples
    --------
    >>> from termwise.records import Ranking
    >>> bm25 = Run([Ranking(["a", "b", "c"], [9.0, 6.0, 3.0], query_id="q")])
    >>> tilde = Run([Ranking(["c", "a", "b"], [-1.0, -2.0, -5.0], query_id="q")])
    >>> fused = fuse([bm25, tilde], [1.0, 3.0], scaling=["raw", "minmax"], missing="drop")["q"]
    >>> fused.doc_ids, fused.scores.tolist()
    (('a', 'b', 'c'), [11.25, 6.0, 6.0])
    """
    shares = checked_weights(weights, len(runs))
    candidates = gather(runs, missing=missing, scaling=scaling, documents=documents, queries=queries)
    return Run([query.ranking(shares) for query in candidates], name)


def interpolate(
    first: Run,
    second: Run,
    *,
    alpha: float,
    missing: MissingScore,
    scaling: Scaling = "z",
    documents: FusedDocuments = "first",
    name: str = "interpolated",
) -> Run:
    """Interpolate the scores of two runs: alpha times the first plus 1 - alpha times the second.

    Parameters
    ----------
    first, second : Run
    alpha : float
        Interpolation weight of the first run, from 0 to 1. 1 gives the order of the first run, 0 the order of the
        second.
    missing, scaling, documents, name
        As in `fuse`.

    Returns
    -------
    Run
        The fused run, see `fuse`.

    Raises
    ------
    ParameterError
        If `alpha` is not a number from 0 to 1.
    UnknownNameError, WeightError
        See `fuse`.

    Examples
    --------
    >>> from termwise.records import Ranking
    >>> bm25 = Run([Ranking(["a", "b", "c"], [9.0, 6.0, 3.0], query_id="q")])
    >>> tilde = Run([Ranking(["c", "a"], [-1.0, -5.0], query_id="q")])
    >>> interpolate(bm25, tilde, alpha=0.5, scaling="minmax", missing="minimum")["q"].doc_ids
    ('a', 'c', 'b')
    >>> interpolate(bm25, tilde, alpha=0.5, scaling="minmax", missing="drop")["q"].doc_ids
    ('a', 'c')
    """
    weights = shares_of(alpha)
    return fuse([first, second], weights, missing=missing, scaling=scaling, documents=documents, name=name)


def shares_of(alpha: float) -> tuple[float, float]:
    """Return the weights alpha and 1 - alpha, after checking that alpha is a number from 0 to 1."""
    if not is_finite_number(alpha) or not 0 <= alpha <= 1:
        raise ParameterError(
            "alpha is out of range", facts=[("alpha", alpha), ("expected", "a number from 0 to 1")]
        )
    return float(alpha), 1 - float(alpha)


def checked_weights(weights: Sequence[float], runs: int) -> tuple[float, ...]:
    """Return the weights; raise `ParameterError` unless there is one finite number per run and not all are 0."""
    check("weights", weights, isinstance(weights, Iterable), "one finite number per run")
    weights = tuple(weights)
    if len(weights) != runs:
        raise ParameterError("weights are one per run", facts=[("weights", len(weights)), ("runs", runs)])
    wrong = [weight for weight in weights if not is_finite_number(weight)]
    if wrong or (weights and not any(weights)):
        raise ParameterError(
            "weights must be finite numbers, not all 0",
            facts=[("weights", ", ".join(str(weight) for weight in weights))],
        )
    return tuple(float(weight) for weight in weights)
