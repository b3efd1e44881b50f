"""Joint tuning of the parameters of IBM Model 1 and its fusion weight.

The best self-translation probability p and the best background weight lambda differ between collections, and depend on
the first stage that Model 1 is fused with (Boytsov & Kolter, ECIR 2021, arXiv 2102.06815). For every cell of a grid of
p and lambda, the exact best interpolation weight of the first stage is computed (`AlphaCurve`), and the cell with the
best mean is selected. The sums over the words of documents depend on neither parameter and are computed once.

The value of the best cell is biased upwards, because it comes from the queries that selected the cell.
`Learned.estimate` is a cross-validated value: the selection is repeated without each fold and measured on that fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast, final

from termwise.errors import DataError, ParameterError, UnknownIdError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.fusion.line_search import no_exact_sweep
from termwise.fusion.objective import RankedObjective, check_relevant, objective_of
from termwise.fusion.scaling import QueryScales, Scaling, scalings_of
from termwise.fusion.step_function import EQUAL, AlphaCurve
from termwise.fusion.weight_learning import fold_masks, learn
from termwise.fusion.weights_file import Fusion, Learned, Settings
from termwise.progress import Progress, no_progress
from termwise.records import Qrel, Query, Ranking, Run
from termwise.search.candidates import rank_candidates
from termwise.search.translation_scorer import TranslationParts, TranslationScorer, check_share
from termwise.validation import check, is_whole_number

if TYPE_CHECKING:
    from ir_measures import Measure

SELF_TRANSLATIONS = (0.05, 0.1, 0.15, 0.25, 0.3, 0.35, 0.45, 0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.9)
LAMBDAS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.15, 0.25, 0.3, 0.35, 0.45, 0.5)
"""Default grid: the values of the published experiments."""


@final
@dataclass(frozen=True)
class Cell:
    """One cell of the grid.

    Attributes
    ----------
    self_translation, lambda_ : float
        p and lambda.
    value : float
        Mean of the measure with the best interpolation weight.
    share : float
        Best interpolation weight of the first stage.
    """

    self_translation: float
    lambda_: float
    value: float
    share: float


@final
@dataclass(frozen=True, eq=False)
class Tuning:
    """Result of tuning.

    Attributes
    ----------
    cells : tuple of Cell
        The grid in the order of p, then of lambda.
    best : Cell
        Cell with the highest value; the first if several are equal.
    fusion : Fusion
        Fusion of the first stage and the translation, with the tuned settings.
    """

    cells: tuple[Cell, ...]
    best: Cell
    fusion: Fusion

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-like data."""
        cells = [{name.rstrip("_"): value for name, value in asdict(cell).items()} for cell in self.cells]
        return {"fusion": self.fusion.to_dict(), "cells": cells}


def tune(
    scorer: TranslationScorer,
    first: Run,
    queries: Iterable[Query],
    qrels: Iterable[Qrel],
    *,
    measure: str | Measure = "nDCG@10",
    self_translations: Sequence[float] = SELF_TRANSLATIONS,
    lambdas: Sequence[float] = LAMBDAS,
    scaling: Scaling | Sequence[Scaling] = "z",
    folds: int = 5,
    progress: Progress = no_progress,
) -> Tuning:
    """Choose p, lambda and the fusion weights together.

    Parameters
    ----------
    scorer : TranslationScorer
        Documents and translation table. Its p and lambda are ignored; its other settings are used.
    first : Run
        First stage, whose documents are scored and fused.
    queries : iterable of Query
        Queries; all judged queries of the run must be among them.
    qrels : iterable of Qrel
        The judgments. The mean is over all judged queries; a query that the run does not hold counts 0.
    measure : str or ir_measures.Measure, optional
        A measure with an exact sweep: nDCG, AP, RR, P, R or Success, with or without a cutoff.
    self_translations, lambdas : sequence of float, optional
        The grid: values of p, from 0 to 1, and of lambda, from 0 to below 1.
    scaling : str or sequence of str, optional
        See `fuse`; the divisors of ``idf`` and ``query-length`` are those of the documents of `scorer`.
    folds : int, optional
        Number of folds of the cross-validated estimate, at least 2; 0 for no estimate.
    progress : callable, optional
        Called with a stage name, finished items, and their number.

    Returns
    -------
    Tuning
        The second run of its fusion, ``model1``, is that of the translation.

    Raises
    ------
    ParameterError
        If the grid is empty or a value out of range, there are fewer queries than folds, or the measure has no exact
        sweep.
    DataError
        If run and judgments share no query, the run ranks no relevant document, or no ranked document contains or
        translates a word of its query.
    UnknownIdError
        If a judged query of the run has no text, or a document of the run is not in the index.
    WeightError
        See `fuse`.
    """
    grid = _checked_grid(self_translations, lambdas)
    check("folds", folds, folds == 0 or is_whole_number(folds, least=2), "0, or a whole number of at least 2")
    judgments, queries = list(qrels), list(queries)
    gathered = _gather(scorer, first, queries, judgments, progress)
    scalings = scalings_of(scaling, 2)
    scales = QueryScales.of(scorer.documents, queries) if {"idf", "query-length"} & set(scalings) else None

    def curve_of(p: float, lambda_: float) -> AlphaCurve:
        runs = [first, _score(gathered, p, lambda_)]
        objective = objective_of(runs, judgments, measure, missing="drop", scaling=scalings, queries=scales)
        if not isinstance(objective, RankedObjective):
            raise no_exact_sweep(
                objective.measure, [Fix.use("use {}, or another of these", measure="nDCG@10")]
            )
        check_relevant(objective)
        return objective.curve((1.0, 0.0), (0.0, 1.0))

    cells: list[Cell] = []
    validation: _Validation | None = None
    for number, (p, lambda_) in enumerate(grid):
        progress("tune", number, len(grid))
        curve = curve_of(p, lambda_)
        choice = curve.best()
        cells.append(Cell(p, lambda_, choice.value, choice.alpha))
        if folds:
            validation = validation or _Validation(curve.query_ids, curve.judged, folds)
            validation.add(curve)
    progress("tune", len(grid), len(grid))
    highest = max(cell.value for cell in cells)
    best = next(cell for cell in cells if cell.value >= highest - EQUAL)
    fusion = learn(
        [first, _score(gathered, best.self_translation, best.lambda_)],
        judgments,
        method="sweep",
        measure=measure,
        missing="drop",
        scaling=scalings,
        queries=scales,
    )
    learned = cast(Learned, fusion.learned)
    if validation is not None:
        learned = replace(learned, estimate=validation.estimate(), folds=folds)
    fusion = replace(fusion, learned=learned, settings=({}, _settings(scorer, best)))
    return Tuning(tuple(cells), best, fusion)


def _checked_grid(
    self_translations: Sequence[float], lambdas: Sequence[float]
) -> tuple[tuple[float, float], ...]:
    for name, values, below_one in (
        ("self_translation", self_translations, False),
        ("lambda", lambdas, True),
    ):
        for value in values:
            check_share(name, value, below_one=below_one)
        if len(set(values)) != len(values) or not values:
            raise ParameterError(
                f"the values of {name} in a grid must differ, and there must be at least one",
                facts=[("given", ", ".join(map(str, values)) or "none")],
            )
    return tuple((float(p), float(lambda_)) for p in self_translations for lambda_ in lambdas)


def _gather(
    scorer: TranslationScorer,
    first: Run,
    queries: Iterable[Query],
    judgments: Sequence[Qrel],
    progress: Progress,
) -> list[tuple[Ranking, TranslationParts]]:
    """Return the rankings of the judged queries with the translation sums of their documents."""
    judged = {qrel.query_id for qrel in judgments}
    judged_rankings = [ranking for ranking in first if ranking.query_id in judged]
    if judged_rankings and not any(len(ranking) for ranking in judged_rankings):
        raise DataError(
            "the run ranks no document for the judged queries, so all weights have the same value",
            facts=[("run", first.name), ("judged queries in it", len(judged_rankings))],
        )
    texts = {query.query_id: query for query in queries}
    gathered = []
    for number, ranking in enumerate(judged_rankings):
        progress("gather", number, len(judged_rankings))
        if ranking.query_id not in texts:
            raise UnknownIdError(
                "a judged query of the run has no text",
                facts=[("run", first.name), ("query", ranking.query_id), ("texts", len(texts))],
                fixes=["give all queries of the run"],
            )
        gathered.append((ranking, scorer.parts(texts[ranking.query_id], ranking.doc_ids)))
    progress("gather", len(judged_rankings), len(judged_rankings))
    if gathered and not any(parts.translated.any() or parts.untranslated.any() for _, parts in gathered):
        raise DataError(
            "no document of the run contains or translates a word of its query, so all weights have the same value",
            facts=[
                ("run", first.name),
                ("queries", len(gathered)),
                ("first query", repr(texts[gathered[0][0].query_id].text)),
                ("analyzer", scorer.table.analyzer.name),
            ],
            fixes=["give queries and a table in the language of the documents"],
        )
    return gathered


def _score(gathered: Iterable[tuple[Ranking, TranslationParts]], p: float, lambda_: float) -> Run:
    rankings = (rank_candidates(r.doc_ids, parts.scores(p, lambda_), r.query_id) for r, parts in gathered)
    return Run(rankings, "model1")


def _settings(scorer: TranslationScorer, best: Cell) -> Settings:
    """Return the settings of `termwise.models.Model1` and `TranslationScorer` by name."""
    return {
        "self_translation": best.self_translation,
        "lambda": best.lambda_,
        "self_mode": scorer.self_mode,
        "renormalise": scorer.renormalise,
        "least": float(scorer.least),
        "background": scorer.background,
    }


class _Validation:
    """Cross-validation: selects the best cell without a fold, and measures it on the fold."""

    def __init__(self, query_ids: Sequence[str], judged: int, folds: int) -> None:
        self._judged = judged
        self._left_out = fold_masks(query_ids, folds)
        self._best = [-1.0] * folds
        self._sums = [0.0] * folds

    def add(self, curve: AlphaCurve) -> None:
        """Add a cell."""
        for fold, held_out in enumerate(self._left_out):
            choice = curve.only(~held_out).best()
            if choice.value > self._best[fold] + EQUAL:
                self._best[fold] = choice.value
                self._sums[fold] = float(curve.at(choice.alpha)[held_out].sum())

    def estimate(self) -> float:
        """Return the mean over all judged queries."""
        return sum(self._sums) / self._judged
