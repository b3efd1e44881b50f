"""Learning the weights of a relevance file on judged queries: boosts, parts of a mixture, and synonyms.

Scores are linear in the weights of parts and boosts, so these are learned together, by coordinate ascent over the
candidates of each query, as the weights of a fusion: normalised scores of the parts, and shapes of the boosts. The
weights of the parts are scaled to the sum that they had; in a single index, the scores of the query have the weight 1.
In a mixture with vectors, a boost with a weight above 0 is learned on the documents that match by words, and one with a
weight below 0 on all candidates, as searches add them; the sign is that of the present weight.

Synonyms change which documents are candidates. Their weight is one number, that of all two-way lines without a weight
of their own: the candidates are found for each of `SYNONYM_WEIGHTS`, the other weights are learned for each, and the
best weight is taken, in cross-validation by the queries of the other folds. If no weights are better than the present
ones, these stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, final

from termwise.engine.synonyms import TWO_WAY
from termwise.errors import DataError, ParameterError
from termwise.evaluate import Evaluator
from termwise.fast_dataclass import dataclass
from termwise.fusion.coordinate_ascent import DEFAULT_STARTS, Starts
from termwise.fusion.step_function import EQUAL
from termwise.fusion.weight_learning import folds_of, learn
from termwise.fusion.weights_file import Fusion
from termwise.progress import Progress, no_progress
from termwise.records import Qrel, Query, Ranking, Run
from termwise.search.relevance import Relevance
from termwise.search.searcher import Searcher
from termwise.search.single_index import SingleIndex

SYNONYM_WEIGHTS = tuple(number / 10 for number in range(1, 11))
"""Weights of synonyms that are tried, besides the present one."""

SYNONYMS = "synonyms"
"""Name of the weight of synonyms in `LearnedRelevance.weights`."""


@final
@dataclass(frozen=True, eq=False)
class LearnedRelevance:
    """Learned weights of a relevance file.

    Attributes
    ----------
    body : dict
        Data of the relevance file with the learned weights, or with the present ones if these are as good.
    weights : dict of str to (float, float)
        Present and learned weight by name: of parts, of boosts (``1 sold``), and ``synonyms``.
    measure : str
    present, learned : Run
        Judged queries with the present weights, and with the learned ones.
    cross_validated : Run or None
        Judged queries, each with weights that were learned on the other folds.
    """

    body: dict[str, Any]
    weights: dict[str, tuple[float, float]]
    measure: str
    present: Run
    learned: Run
    cross_validated: Run | None


def learn_relevance(
    searcher: Searcher,
    body: Mapping[str, Any],
    queries: Sequence[Query],
    qrels: Sequence[Qrel],
    *,
    file: Path | None = None,
    measure: str = "nDCG@10",
    starts: Starts = DEFAULT_STARTS,
    folds: int = 0,
    progress: Progress = no_progress,
) -> LearnedRelevance:
    """Learn the weights of a relevance file; see the module.

    Parameters
    ----------
    searcher : Searcher
        Of an index or a mixture.
    body, file
        See `Relevance.of`.
    queries, qrels
        The judged queries, with distinct identifiers, and their judgments.
    measure, starts, progress
        See `learn`.
    folds : int, optional
        Number of folds of the cross-validation, 0 for none.

    Raises
    ------
    ParameterError
        If there are no weights to learn, or fewer judged queries than folds.
    DataError
        If the best weights do not use the scores of the query.
    TermwiseError
        Errors of `learn` and of searches.
    """
    given = Relevance.of(body, file=file)
    synonym_weight = body.get("synonym_weight", TWO_WAY)
    others = [weight for weight in SYNONYM_WEIGHTS if weight != synonym_weight]
    if _with(body, file, others[0]).synonyms == given.synonyms:
        others = []  # no line has this weight
    is_mixture = not isinstance(searcher.backend, SingleIndex)
    if not (is_mixture or given.boosts or others):
        raise ParameterError(
            "the relevance file has no weights to learn",
            facts=[
                *([] if file is None else [("file", file)]),
                ("expected", "boosts, or two-way synonyms without a weight"),
            ],
        )
    parts = {"query": 1.0}
    if is_mixture:
        parts = {part.name: part.weight for part in searcher.parts} | dict(given.parts)
    present_weights = [*parts.values(), *(boost.weight for boost in given.boosts)]
    rules: dict[str, Any] = {
        "missing": "minimum",
        "scaling": ["z" if is_mixture else "raw"] * len(parts) + ["raw"] * len(given.boosts),
        "documents": "union",
    }
    learner: Callable[..., Fusion] = partial(learn, method="ascent", measure=measure, starts=starts, **rules)
    best: tuple[float, Fusion, Run] | None = None
    best_of_folds: dict[int, tuple[float, dict[str, Ranking]]] = {}
    present = Run([])
    tried = [synonym_weight, *others]
    for place, weight in enumerate(tried, 1):
        report = partial(_report, progress, f"synonyms {place} of {len(tried)}") if others else progress
        relevance = _with(body, file, weight) if others else given
        runs = searcher.relevance_runs(queries, relevance, progress=report)
        fusion = learner(runs, qrels, progress=report)
        if weight == synonym_weight:
            names = [run.name for run in runs]
            present = Fusion(names, present_weights, **rules).apply(runs, name="present")
        if best is None or _value(fusion) > _value(best[1]) + EQUAL:
            best = weight, fusion, fusion.apply(runs, name="learned")
        if folds:
            for number, (of_fold, run) in enumerate(
                folds_of(runs, qrels, partial(learner, progress=report), folds=folds, progress=report)
            ):
                if number not in best_of_folds or _value(of_fold) > best_of_folds[number][0] + EQUAL:
                    best_of_folds[number] = _value(of_fold), dict(run.rankings)
    assert best is not None, "there is a weight of synonyms"
    chosen, fusion, learned = best
    name = measure if fusion.learned is None else fusion.learned.measure
    if _value(fusion) <= (Evaluator(qrels, [name]).evaluate(present).means[name] or 0.0) + EQUAL:
        chosen, weights, learned = synonym_weight, present_weights, Run(present, "learned")
    else:
        weights = _scaled(fusion.weights, list(parts.values()))
    changed = dict(body)
    if given.boosts:
        of_boosts = zip(body["boosts"], weights[len(parts) :], strict=True)
        changed["boosts"] = [{**boost, "weight": weight} for boost, weight in of_boosts]
    if is_mixture:
        changed["parts"] = dict(zip(parts, weights, strict=False))
    if others:
        changed["synonym_weight"] = chosen
    table = dict(zip(fusion.runs, zip(present_weights, weights, strict=True), strict=True))
    if not is_mixture:
        del table["query"]
    return LearnedRelevance(
        changed,
        table | ({SYNONYMS: (synonym_weight, chosen)} if others else {}),
        name,
        present,
        learned,
        Run([ranking for _, fold in best_of_folds.values() for ranking in fold.values()], "cross-validated")
        if folds
        else None,
    )


def _report(progress: Progress, weight: str, stage: str, done: int, total: int | None) -> None:
    """Report progress with the weight of synonyms that is tried."""
    name, _, rest = stage.partition(": ")
    progress(f"{name}: {weight}" + (f", {rest}" if rest else ""), done, total)


def _with(body: Mapping[str, Any], file: Path | None, synonym_weight: float) -> Relevance:
    return Relevance.of({**body, "synonym_weight": synonym_weight}, file=file)


def _value(fusion: Fusion) -> float:
    assert fusion.learned is not None, "the weights are learned"
    return fusion.learned.value


def _scaled(weights: Sequence[float], parts: Sequence[float]) -> list[float]:
    """Multiply learned weights, so that the absolute values of those of the parts have the sum that they had."""
    of_parts = weights[: len(parts)]
    if sum(of_parts) <= 0:
        raise DataError(
            "the best weights that were found do not use the scores of the query, so no boost can be added to them",
            facts=[("weights", ", ".join(f"{weight:.4g}" for weight in weights))],
            fixes=["judge more queries"],
        )
    factor = sum(map(abs, parts)) / sum(map(abs, of_parts))
    return [weight * factor for weight in weights]
