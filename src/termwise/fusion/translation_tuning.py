"""Tuning the two numbers of IBM Model 1 inside the fusion they are used in.

The best p, how likely a word is asked for with itself, and the best lambda, the share of the background, differ
between collections, and what is best for a translation alone is not what is best beside a first stage (Boytsov &
Kolter, ECIR 2021, arXiv 2102.06815). So every cell of a grid of p and lambda is measured where it counts: the best
share of the first stage is found for it, exactly (`AlphaCurve`), and the cell with the best mean wins. The sums over
the words of documents depend on neither number and are gathered once.

The value of the best cell is that of the very queries that chose it, which flatters. So the choice is made again on all
but one part of the queries, for each part in turn, and measured on the part left out: `Learned.estimate`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, ParameterError, UnknownIdError
from termwise.fusion.line_search import inexact
from termwise.fusion.objective import RankedObjective, objective_of, refuse_indifferent
from termwise.fusion.query_scales import QueryScales
from termwise.fusion.scaling import Scaling
from termwise.fusion.step_function import EQUAL, AlphaCurve
from termwise.fusion.weight_learning import learn
from termwise.fusion.weights_file import Fusion, Learned, Settings, TunedTable
from termwise.progress import Progress, no_progress
from termwise.records import Qrel, Query, Run
from termwise.search.candidates import rank_candidates
from termwise.search.translation_scorer import TranslationParts, TranslationScorer, check_share
from termwise.validation import check_count

if TYPE_CHECKING:
    from ir_measures import Measure

SELF_TRANSLATIONS = (0.05, 0.1, 0.15, 0.25, 0.3, 0.35, 0.45, 0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.9)
LAMBDAS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.15, 0.25, 0.3, 0.35, 0.45, 0.5)
"""The values that the published experiments tried, as one grid."""


@final
@dataclass(frozen=True)
class Cell:
    """One pair of values.

    Attributes
    ----------
    self_translation, lambda_ : float
        p and lambda.
    value : float
        The mean of the measure with the best share.
    share : float
        That share of the first stage.
    """

    self_translation: float
    lambda_: float
    value: float
    share: float


@final
@dataclass(frozen=True, eq=False)
class Tuning:
    """What tuning found.

    Attributes
    ----------
    cells : tuple of Cell
        The grid, all lambdas of the first p, then those of the second, and so on.
    best : Cell
        The cell of the highest value; of equal ones the first.
    fusion : Fusion
        Of the first stage and the translation. It keeps the settings, and in ``learned`` how the weights were found.
    """

    cells: tuple[Cell, ...]
    best: Cell
    fusion: Fusion

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, texts and numbers."""
        return {"fusion": self.fusion.to_dict(), "cells": [_plain(cell) for cell in self.cells]}


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
    scales: QueryScales | Sequence[QueryScales | None] | None = None,
    folds: int = 5,
    name: str = "model1",
    table: TunedTable | None = None,
    progress: Progress = no_progress,
) -> Tuning:
    """Choose p, lambda and the weights of a fusion together.

    Parameters
    ----------
    scorer : TranslationScorer
        The documents and the table. Its own p and lambda do not count; its other settings are kept as they are.
    first : Run
        The first stage, whose documents are scored and fused.
    queries : iterable of Query
        The texts of all queries that are judged and that the run holds; others are passed over.
    qrels : iterable of Qrel
        The judgments. The mean is over all judged queries; one that the run does not hold counts 0.
    measure : str or ir_measures.Measure, optional
        One for which the exact sweep is made: nDCG, AP, RR, P, R or Success, with a cutoff or without.
    self_translations, lambdas : sequence of float, optional
        The grid: values of p, from 0 to 1, and of lambda, from 0 to below 1.
    scaling, scales : optional
        `scaling` and `queries` of `fuse`.
    folds : int, optional
        Parts of the queries for the cross-validated estimate, 2 or more; 0 for no estimate.
    name : str, optional
        What the translation is called in the fusion.
    table : TunedTable, optional
        What the table of the scorer is called where it lies, for the fusion to keep.
    progress : callable, optional
        Called with a stage name, what is done of it, and the total.

    Returns
    -------
    Tuning

    Raises
    ------
    ParameterError
        If a value of the grid is out of range, there is none, there are fewer queries than folds, or the measure has
        no exact sweep.
    DataError
        If run and judgments share no query, the run ranks no relevant document for those they share, or none that
        says or translates a word of its query.
    UnknownIdError
        If a judged query of the run has no text, or a document of the run is not in the index.
    WeightError
        See `fuse`.
    """
    grid = _checked_grid(self_translations, lambdas)
    if folds != 0:
        check_count("folds", folds, least=2)
    judgments = list(qrels)
    gathered = _gathered(scorer, first, queries, judgments, progress)

    def curve_of(p: float, lambda_: float) -> AlphaCurve:
        runs = [first, _scored(gathered, p, lambda_, name)]
        objective = objective_of(runs, judgments, measure, missing="drop", scaling=scaling, queries=scales)
        if not isinstance(objective, RankedObjective):
            raise inexact(objective.measure, ["nDCG@10, or another one of these"])
        refuse_indifferent(objective)
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
        [first, _scored(gathered, best.self_translation, best.lambda_, name)],
        judgments,
        method="sweep",
        measure=measure,
        missing="drop",
        scaling=scaling,
        queries=scales,
    )
    learned = cast(Learned, fusion.learned)
    if validation is not None:
        learned = replace(learned, estimate=validation.estimate(), folds=folds)
    fusion = replace(fusion, learned=learned, settings=({}, _settings(scorer, best)), tables=(None, table))
    return Tuning(tuple(cells), best, fusion)


@dataclass(frozen=True)
class _Gathered:
    """The candidates of a query and what they say of its words."""

    query_id: str
    candidates: tuple[str, ...]
    parts: TranslationParts


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
                f"a grid has one or more different values of {name}",
                facts=[("given", ", ".join(map(str, values)) or "none")],
            )
    return tuple((float(p), float(lambda_)) for p in self_translations for lambda_ in lambdas)


def _gathered(
    scorer: TranslationScorer,
    first: Run,
    queries: Iterable[Query],
    judgments: Sequence[Qrel],
    progress: Progress,
) -> list[_Gathered]:
    judged = {qrel.query_id for qrel in judgments}
    wanted = [ranking for ranking in first if ranking.query_id in judged]
    if wanted and not any(len(ranking) for ranking in wanted):
        raise DataError(
            "the run ranks no document for the judged queries, so there is nothing to choose by",
            facts=[("run", first.name), ("judged queries it holds", len(wanted))],
        )
    texts = {query.query_id: query for query in queries}
    found = []
    for number, ranking in enumerate(wanted):
        progress("gather", number, len(wanted))
        if ranking.query_id not in texts:
            raise UnknownIdError(
                "a judged query of the run has no text",
                facts=[("run", first.name), ("query", ranking.query_id), ("texts", len(texts))],
                fixes=["give the file of queries that the run was made of"],
            )
        parts = scorer.parts(texts[ranking.query_id], ranking.doc_ids)
        found.append(_Gathered(ranking.query_id, ranking.doc_ids, parts))
    progress("gather", len(wanted), len(wanted))
    if found and not any(one.parts.translated.any() or one.parts.untranslated.any() for one in found):
        raise DataError(
            "no document of the run says or translates a word of its query, so there is nothing to choose by",
            facts=[
                ("run", first.name),
                ("queries", len(found)),
                ("the first", repr(texts[found[0].query_id].text)),
                ("analyzer", scorer.table.analyzer.name),
            ],
            fixes=["give queries and a table in the language of the documents"],
        )
    return found


def _scored(gathered: Sequence[_Gathered], p: float, lambda_: float, name: str) -> Run:
    return Run(
        [rank_candidates(one.candidates, one.parts.scores(p, lambda_), one.query_id) for one in gathered],
        name,
    )


def _settings(scorer: TranslationScorer, best: Cell) -> Settings:
    """Return what to give `termwise.models.Model1` or a `TranslationScorer`, by the names of the command line."""
    return {
        "self_translation": best.self_translation,
        "lambda": best.lambda_,
        "self_mode": scorer.self_mode,
        "renormalise": scorer.renormalise,
        "least": float(scorer.least),
        "background": scorer.background,
    }


class _Validation:
    """Cross-validation, cell by cell: what is best on all queries but those of a part, measured on these."""

    def __init__(self, query_ids: Sequence[str], judged: int, folds: int) -> None:
        if len(query_ids) < folds:
            raise ParameterError(
                "there are fewer judged queries with documents than parts to leave out",
                facts=[("queries", len(query_ids)), ("folds", folds)],
                fixes=["folds=0, or --folds 0, for no estimate"],
            )
        drawn = sorted(range(len(query_ids)), key=lambda place: _digest(query_ids[place]))
        part = np.empty(len(query_ids), dtype=np.int64)
        part[drawn] = np.arange(len(query_ids)) % folds
        self._judged = judged
        self._left_out: list[npt.NDArray[np.bool_]] = [part == fold for fold in range(folds)]
        self._best = [-1.0] * folds
        self._sums = [0.0] * folds

    def add(self, curve: AlphaCurve) -> None:
        """Look at a cell."""
        for fold, left_out in enumerate(self._left_out):
            choice = curve.only(~left_out).best()
            if choice.value > self._best[fold] + EQUAL:
                self._best[fold] = choice.value
                self._sums[fold] = float(curve.at(choice.alpha)[left_out].sum())

    def estimate(self) -> float:
        """Return the mean over all judged queries."""
        return sum(self._sums) / self._judged


def _plain(cell: Cell) -> dict[str, float]:
    return {name.rstrip("_"): value for name, value in asdict(cell).items()}


def _digest(query_id: str) -> bytes:
    return hashlib.sha256(query_id.encode("utf-8", "surrogatepass")).digest()
