"""Weighted sums of the scores of several runs.

With s_1, s_2, ... the scores that n runs give a document for a query, each scaled as
:mod:`termwise.fusion.scaling` says,

    score = w_1 * s_1 + w_2 * s_2 + ... + w_n * s_n

and for two runs, `interpolate`, with w_1 = alpha and w_2 = 1 - alpha.
"""

from __future__ import annotations

from collections.abc import Sequence

from termwise.errors import ParameterError
from termwise.fusion.candidates import FusedDocuments, MissingScore, gather
from termwise.fusion.query_scales import QueryScales
from termwise.fusion.scaling import Scaling
from termwise.records import Run
from termwise.validation import is_finite_number


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
    """Add up the scores of several runs, each with a weight.

    Parameters
    ----------
    runs : sequence of Run
        One or more. A query that a run does not hold is one for which it ranks nothing.
    weights : sequence of float
        One for each run, not all 0. A negative one ranks against its run.
    missing : {"drop", "minimum", "zero"}
        What a document gets from a run that does not rank it. ``drop``: nothing, it is not fused.
        ``minimum``: the lowest score that the run gives a fused document for this query. ``zero``: the score
        0, before scaling; for runs whose lowest possible score that is, and refused where the run gives
        scores below it, as log-probabilities are: the document would be lifted by not being there. There is
        no default, because each is wrong for some pair of systems.
    scaling : {"z", "minmax", "global", "raw", "idf", "query-length"}, or a sequence of these, optional
        One for all runs, or one for each; see :mod:`termwise.fusion.scaling`.
    documents : {"first", "union"}, optional
        Fuse the documents of the first run only, as when candidates are re-ranked, or those of all; the same
        holds for the queries.
    queries : QueryScales or a sequence of them, optional
        For the scalings ``idf`` and ``query-length``; one for all runs, or one (or None) for each.
    name : str, optional
        Name of the resulting run.

    Returns
    -------
    Run
        In the order of the queries of the first run, then those that only the second has, and so on. Equal
        scores keep the order of the first run, followed by what only the second ranks, and so on; runs of
        weight 0 come last in this. So a run whose weight alone is above 0 keeps its order.

    Raises
    ------
    ParameterError
        If there is no run, weights are not one finite number for each run, or all are 0; or if a scaling
        needs queries that are not given.
    UnknownNameError
        If `missing`, `scaling` or `documents` has none of the values above.
    UnknownIdError
        If a query of a run is not among `queries`.
    WeightError
        If a score is infinite, too large to be scaled or added, or missing cannot be 0.

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
    return Run([one.ranking(shares) for one in candidates], name)


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
    """Mix the scores of two runs: alpha times the first, 1 - alpha times the second.

    Parameters
    ----------
    first, second : Run
        The runs.
    alpha : float
        Share of the first run, from 0 to 1. At 1 its order comes out, at 0 that of the second, each over the
        documents that are fused.
    missing, scaling, documents, name
        See `fuse`, which also takes more runs, and scalings that need the queries.

    Returns
    -------
    Run
        As `fuse` returns it.

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
    """Return the weights of two runs.

    Raises
    ------
    ParameterError
        If `alpha` is not a number from 0 to 1.
    """
    if not is_finite_number(alpha) or not 0 <= alpha <= 1:
        raise ParameterError(
            "alpha is the share of the first run",
            facts=[("alpha", alpha), ("expected", "a number from 0 to 1")],
        )
    return float(alpha), 1 - float(alpha)


def checked_weights(weights: Sequence[float], runs: int) -> tuple[float, ...]:
    """Return the weights if they are one finite number for each run, and not all 0.

    Raises
    ------
    ParameterError
        If they are not.
    """
    if len(weights) != runs:
        raise ParameterError(
            "there is one weight for each run", facts=[("weights", len(weights)), ("runs", runs)]
        )
    wrong = [weight for weight in weights if not is_finite_number(weight)]
    if wrong or (weights and not any(weights)):
        raise ParameterError(
            "weights are finite numbers, not all of them 0",
            facts=[("weights", ", ".join(str(weight) for weight in weights))],
        )
    return tuple(float(weight) for weight in weights)
