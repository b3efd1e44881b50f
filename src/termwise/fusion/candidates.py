"""Fused documents of a query, with their normalised scores in each run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError, UnknownNameError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.fusion.scaling import QueryScales, Scaler, Scaling, scalings_of
from termwise.records import Ranking, Run

MissingScore = Literal["drop", "minimum", "zero"]
"""Score of a document that a run does not rank; see `fuse`."""

FusedDocuments = Literal["first", "union"]
"""Fused documents: those of the first run, or those of all runs."""

Floats = npt.NDArray[np.float64]

UNRANKED = np.iinfo(np.int32).max
"""Position of a document in a run that does not rank it."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Fused documents of one query.

    Attributes
    ----------
    query_id : str
    doc_ids : tuple of str of length n
        Documents in the order of the first run, followed by the new documents of the second, and so on.
    scores : ndarray of shape (runs, n), float64
        Scaled scores, with missing scores filled in.
    positions : ndarray of shape (runs, n), int32
        Position of each document in each run, from 0, or `UNRANKED`.
    """

    query_id: str
    doc_ids: tuple[str, ...]
    scores: Floats
    positions: npt.NDArray[np.int32]

    def ranking(self, weights: Sequence[float]) -> Ranking:
        """Rank the documents by the weighted sum of their scores."""
        tied = tie_order(self.positions, weights)
        fused = weighted_sum(self.scores, weights)
        order = tied[np.argsort(-fused[tied], kind="stable")]
        return Ranking([self.doc_ids[i] for i in order.tolist()], fused[order], self.query_id)


def weighted_sum(scores: Floats, weights: Sequence[float]) -> Floats:
    """Return the weighted sum of the rows of `scores`, added in the order of the runs."""
    fused = np.zeros(scores.shape[1], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for weight, row in zip(weights, scores, strict=True):
            if weight != 0:
                fused += weight * row
    if not np.isfinite(fused).all():
        raise WeightError(
            "a weighted sum of scores is too large", facts=[("weights", ", ".join(map(str, weights)))]
        )
    return fused


def tie_order(positions: npt.NDArray[np.int32], weights: Sequence[float]) -> npt.NDArray[np.int64]:
    """Return the order of documents with equal scores, for the positions of `Candidates` and one weight per run.

    It is the order of the first run, followed by the new documents of the next run, and so on; runs with weight 0 come
    last.
    """
    leading = sorted(range(len(weights)), key=lambda run: weights[run] == 0)
    if leading == list(range(len(leading))):
        return np.arange(positions.shape[1])
    ordered = positions[leading]
    first = np.argmax(ordered != UNRANKED, axis=0)
    return np.lexsort((ordered[first, np.arange(ordered.shape[1])], first))


def gather(
    runs: Sequence[Run],
    *,
    missing: MissingScore,
    scaling: Scaling | Sequence[Scaling],
    documents: FusedDocuments,
    queries: QueryScales | Sequence[QueryScales | None] | None,
    only: Collection[str] | None = None,
) -> Iterator[Candidates]:
    """Yield the fused documents in the order of the queries of the first run, then the new queries of the next, etc.

    With `only`, other queries are left out, but global normalisation still uses all queries of a run. See `fuse` for
    the other parameters.
    """
    if not runs:
        raise ParameterError("there is no run to fuse", fixes=["give one or more runs"])
    check_choice("missing", missing, MissingScore)
    check_choice("documents", documents, FusedDocuments)
    each = queries if isinstance(queries, Sequence) else [queries] * len(runs)
    if len(each) != len(runs):
        raise ParameterError(
            "`queries` is one for all runs, or one per run",
            facts=[("queries", len(each)), ("runs", len(runs))],
        )
    _refuse_infinite(runs)
    scalers = [
        Scaler.of(run, run_scaling, scales)
        for run, run_scaling, scales in zip(runs, scalings_of(scaling, len(runs)), each, strict=True)
    ]
    leading = runs[:1] if documents == "first" else runs
    query_ids = dict.fromkeys(query_id for run in leading for query_id in run.rankings)
    return (
        _candidates(query_id, runs, scalers, missing, documents)
        for query_id in query_ids
        if only is None or query_id in only
    )


def _candidates(
    query_id: str,
    runs: Sequence[Run],
    scalers: Sequence[Scaler],
    missing: MissingScore,
    documents: FusedDocuments,
) -> Candidates:
    ranked = [
        {doc_id: position for position, doc_id in enumerate(run[query_id].doc_ids)} if query_id in run else {}
        for run in runs
    ]
    chosen = list(ranked[0])
    if documents == "union":
        chosen = list(dict.fromkeys(doc_id for places in ranked for doc_id in places))
    if missing == "drop":
        chosen = [doc_id for doc_id in chosen if all(doc_id in places for places in ranked)]
    positions = np.array(
        [[places.get(doc_id, UNRANKED) for doc_id in chosen] for places in ranked], dtype=np.int32
    ).reshape(len(runs), len(chosen))
    scores = np.empty(positions.shape, dtype=np.float64)
    for row, (run, scaler) in enumerate(zip(runs, scalers, strict=True)):
        known = positions[row] != UNRANKED
        scores[row, known] = run[query_id].scores[positions[row, known]] if known.any() else 0.0
        scores[row, ~known] = _missing_score(scores[row, known], known, missing, run.name, query_id)
        scores[row] = scaler.scaled(scores[row], query_id)
    return Candidates(query_id, tuple(chosen), scores, positions)


def _missing_score(
    scores: Floats, known: npt.NDArray[np.bool_], missing: MissingScore, run: str, query_id: str
) -> float:
    """Return the score of documents that the run does not rank."""
    if len(scores) == 0 or known.all():
        return 0.0  # any constant, because the run ranks none or all of the documents
    lowest = float(scores.min())
    if missing == "minimum":
        return lowest
    if lowest < 0:
        raise WeightError(
            "a missing score cannot be 0 in a run with scores below 0: the document would rank above documents of "
            "the run",
            facts=[("run", run), ("query", query_id), ("lowest", lowest)],
            fixes=[Fix.use(missing="minimum"), Fix.use(missing="drop")],
        )
    return 0.0


def _refuse_infinite(runs: Sequence[Run]) -> None:
    for run in runs:
        for ranking in run:
            infinite = np.flatnonzero(~np.isfinite(ranking.scores))
            if len(infinite):
                raise WeightError(
                    "a score is infinite, so it cannot be fused",
                    facts=[
                        ("run", run.name),
                        ("query", ranking.query_id),
                        ("document", ranking.doc_ids[int(infinite[0])]),
                    ],
                )


def check_choice(name: str, value: object, choices: object) -> None:
    """Raise `UnknownNameError` if a value is not in a `Literal`."""
    if value not in get_args(choices):
        raise UnknownNameError.of(name, str(value), get_args(choices))
