"""Reciprocal rank fusion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from termwise.errors import ParameterError
from termwise.records import Ranking, Run
from termwise.validation import is_finite_number


def reciprocal_rank_fusion(runs: Sequence[Run], *, k: float = 60, name: str = "rrf") -> Run:
    """Fuse runs by the sum of reciprocal ranks.

    The score of a document is the sum of ``1 / (k + rank)`` over the runs that rank it, with ranks from 1 [1]_. The
    scores of the runs are ignored.

    Parameters
    ----------
    runs : sequence of Run
        One or more.
    k : float, optional
        At least 0; a larger value gives the first ranks less weight. The default is from the paper.
    name : str, optional
        Name of the fused run.

    Returns
    -------
    Run
        All documents and queries of all runs. Equal scores keep the order of first occurrence, run by run.

    Raises
    ------
    ParameterError
        If there is no run, or `k` is not a number of at least 0.

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
    if not is_finite_number(k) or k < 0:
        raise ParameterError("k is out of range", facts=[("k", k), ("expected", "a number of at least 0")])
    rankings = []
    for query_id in dict.fromkeys(query_id for run in runs for query_id in run.rankings):
        parts_of: dict[str, list[float]] = {}
        for run in runs:
            if query_id in run:
                for rank, doc_id in enumerate(run[query_id].doc_ids, 1):
                    parts_of.setdefault(doc_id, []).append(1 / (k + rank))
        # An exact sum does not depend on the order of the runs.
        scores = np.array([math.fsum(parts) for parts in parts_of.values()], dtype=np.float64)
        doc_ids = list(parts_of)
        order = np.argsort(-scores, kind="stable")
        rankings.append(Ranking([doc_ids[i] for i in order.tolist()], scores[order], query_id))
    return Run(rankings, name)
