"""Fusing runs: two scores mixed with a weight, or the ranks of several added up.

With s1 and s2 the scores that two runs give a document for a query, each scaled over the documents that are fused,

    score = alpha * s1 + (1 - alpha) * s2

==========  ===========================================================================
scaling     a score x of the run becomes
==========  ===========================================================================
``z``       ``(x - mean) / std``, the standard deviation being that of all these scores
            (dividing by their number); 0 for all where they are equal
``minmax``  ``(x - min) / (max - min)``; 0 for all where they are equal
``raw``     x
==========  ===========================================================================

Mean, deviation, minimum and maximum are those of one query, over the documents that are fused for it, with missing
scores filled in. The mixture of BM25 with TILDE and TILDEv2 in z-scores, alpha being the share of BM25, is that of
Abolghasemi, Askari & Verberne (ICTIR 2022, arXiv 2210.05512), who do not say whether their scores are scaled query
by query. They are here: raw query likelihoods grow with the length of the query, so that over all queries at once the
differences inside a long query and a short one would not weigh the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError, UnknownNameError, WeightError
from termwise.records import Ranking, Run

Scaling = Literal["z", "minmax", "raw"]
"""How scores of different systems are made comparable."""

Missing = Literal["drop", "minimum", "zero"]
"""What becomes of a document that one of two runs does not rank."""

Fused = Literal["first", "union"]
"""Which documents are fused: those of the first run, or those of either."""


def interpolate(
    first: Run,
    second: Run,
    *,
    alpha: float,
    missing: Missing,
    scaling: Scaling = "z",
    documents: Fused = "first",
    name: str = "interpolated",
) -> Run:
    """Mix the scores of two runs; the formula stands at the top of the module.

    Parameters
    ----------
    first, second : Run
        The runs. A query that a run does not hold is one for which it ranks nothing.
    alpha : float
        Share of the first run, from 0 to 1. At 1 its order comes out, at 0 that of the second, each over the
        documents that are fused.
    missing : {"drop", "minimum", "zero"}
        What a document gets from a run that does not rank it. ``drop``: nothing, it is not fused. ``minimum``: the
        lowest score that the run gives a fused document for this query. ``zero``: the score 0, before scaling; right
        for a run whose lowest possible score that is, while among log-probabilities it would be the best one.
        There is no default, because each is wrong for some pair of systems.
    scaling : {"z", "minmax", "raw"}, optional
        See the top of the module.
    documents : {"first", "union"}, optional
        Fuse the documents of the first run only, as when candidates are re-ranked, or those of both; the same holds
        for the queries.
    name : str, optional
        Name of the resulting run.

    Returns
    -------
    Run
        In the order of the queries of the first run, then those that only the second has. Equal scores keep the
        order of the first run, followed by what only the second ranks; at ``alpha=0`` that of the second run,
        followed by what only the first ranks.

    Raises
    ------
    ParameterError
        If `alpha` is not a number from 0 to 1.
    UnknownNameError
        If `missing`, `scaling` or `documents` has none of the values above.
    WeightError
        If a score is infinite, or too large to be scaled.

    Examples
    --------
    >>> bm25 = Run([Ranking(["a", "b", "c"], [9.0, 6.0, 3.0], query_id="q")])
    >>> tilde = Run([Ranking(["c", "a"], [-1.0, -5.0], query_id="q")])
    >>> interpolate(bm25, tilde, alpha=0.5, scaling="minmax", missing="minimum")["q"].doc_ids
    ('a', 'c', 'b')
    >>> interpolate(bm25, tilde, alpha=0.5, scaling="minmax", missing="drop")["q"].doc_ids
    ('a', 'c')
    """
    _check_alpha(alpha)
    _check("missing", missing, Missing)
    _check("scaling", scaling, Scaling)
    _check("documents", documents, Fused)
    query_ids = dict.fromkeys(first.rankings)
    if documents == "union":
        query_ids |= dict.fromkeys(second.rankings)
    rankings = []
    for query_id in query_ids:
        one, other = _scores(first, query_id), _scores(second, query_id)
        chosen = _chosen(one, other, alpha, missing, documents)
        mixed = np.zeros(len(chosen))
        for share, scores in ((alpha, one), (1 - alpha, other)):
            mixed += share * _scaled(_filled(scores, chosen, missing), scaling, query_id)
        order = np.argsort(-mixed, kind="stable")
        rankings.append(Ranking([chosen[i] for i in order.tolist()], mixed[order], query_id))
    return Run(rankings, name)


def reciprocal_rank_fusion(runs: Sequence[Run], *, k: float = 60, name: str = "rrf") -> Run:
    """Add up the reciprocal ranks that several runs give a document.

    The score of a document is the sum of ``1 / (k + rank)`` over the runs that rank it, ranks counted from 1 [1]_.
    Scores are not looked at; a run that does not rank a document adds nothing.

    Parameters
    ----------
    runs : sequence of Run
        One or more.
    k : float, optional
        At least 0; the larger, the less the first ranks stand out. The default is that of the paper.
    name : str, optional
        Name of the resulting run.

    Returns
    -------
    Run
        All documents and queries of all runs. Equal scores keep the order in which documents first appear, one run
        after the other.

    Raises
    ------
    ParameterError
        If no run is given, or `k` is not a number of at least 0.

    References
    ----------
    .. [1] G. V. Cormack, C. L. A. Clarke and S. Büttcher, *Reciprocal rank fusion outperforms Condorcet and
       individual rank learning methods*, SIGIR 2009.

    Examples
    --------
    >>> one = Run([Ranking(["a", "b"], [9.0, 6.0], query_id="q")])
    >>> other = Run([Ranking(["b", "c"], [0.5, 0.1], query_id="q")])
    >>> fused = reciprocal_rank_fusion([one, other])["q"]
    >>> fused.doc_ids, float(fused.scores[0]) == 1 / 62 + 1 / 61
    (('b', 'a', 'c'), True)
    """
    if not runs:
        raise ParameterError("there is no run to fuse", fixes=["give one or more runs"])
    if not _is_number(k) or k < 0:
        raise ParameterError("k is out of range", facts=[("k", k), ("expected", "a number of at least 0")])
    rankings = []
    for query_id in dict.fromkeys(query_id for run in runs for query_id in run.rankings):
        shares: dict[str, list[float]] = {}
        for run in runs:
            if query_id in run:
                for rank, doc_id in enumerate(run[query_id].doc_ids, 1):
                    shares.setdefault(doc_id, []).append(1 / (k + rank))
        # A sum without rounding on the way is the same for the same ranks, whichever run gave which.
        scores = np.array([math.fsum(parts) for parts in shares.values()], dtype=np.float64)
        doc_ids = list(shares)
        order = np.argsort(-scores, kind="stable")
        rankings.append(Ranking([doc_ids[i] for i in order.tolist()], scores[order], query_id))
    return Run(rankings, name)


def _scores(run: Run, query_id: str) -> dict[str, float]:
    if query_id not in run:
        return {}
    ranking = run[query_id]
    infinite = np.flatnonzero(~np.isfinite(ranking.scores))
    if len(infinite):
        place = int(infinite[0])
        raise WeightError(
            "a score is infinite, so it cannot be mixed",
            facts=[("run", run.name), ("query", query_id), ("document", ranking.doc_ids[place])],
        )
    return dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))


def _chosen(
    one: dict[str, float], other: dict[str, float], alpha: float, missing: Missing, documents: Fused
) -> list[str]:
    """Return the documents to be fused, in the order that equal scores keep."""
    leading, following = (other, one) if alpha == 0 else (one, other)
    every = [*leading, *(doc_id for doc_id in following if doc_id not in leading)]
    if missing == "drop":
        return [doc_id for doc_id in every if doc_id in one and doc_id in other]
    return every if documents == "union" else [doc_id for doc_id in every if doc_id in one]


def _filled(scores: dict[str, float], chosen: list[str], missing: Missing) -> npt.NDArray[np.float64]:
    """Return the scores of the chosen documents, with those that are missing filled in."""
    known = [scores[doc_id] for doc_id in chosen if doc_id in scores]
    # A run that ranks none of them says nothing: the same for all, whatever that is.
    instead = min(known, default=0.0) if missing == "minimum" else 0.0
    return np.array([scores.get(doc_id, instead) for doc_id in chosen], dtype=np.float64)


def _scaled(values: npt.NDArray[np.float64], scaling: Scaling, query_id: str) -> npt.NDArray[np.float64]:
    if scaling == "raw" or len(values) == 0:
        return values
    least, most = values.min(), values.max()
    if least == most:
        return np.zeros_like(values)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        centre, spread = (values.mean(), values.std()) if scaling == "z" else (least, most - least)
        scaled: npt.NDArray[np.float64] = (values - centre) / spread
    if not (math.isfinite(spread) and np.isfinite(scaled).all()):
        raise WeightError(
            "the scores are too far apart, or too near, to be scaled",
            facts=[("query", query_id), ("lowest", least), ("highest", most)],
        )
    return scaled


def _check_alpha(alpha: float) -> None:
    if not _is_number(alpha) or not 0 <= alpha <= 1:
        raise ParameterError(
            "alpha is the share of the first run",
            facts=[("alpha", alpha), ("expected", "a number from 0 to 1")],
        )


def _is_number(value: object) -> bool:
    usable = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return usable and math.isfinite(value)  # type: ignore[arg-type]


def _check(what: str, value: str, kind: object) -> None:
    if value not in get_args(kind):
        raise UnknownNameError.of(what, str(value), get_args(kind))
