"""Choices of variants of systems and of shares of BM25, for each part of the queries on the others.

The variant of a system is the one with the largest mean of the measure, the first of equal ones. For an interpolation,
the variant of its second system and the share are chosen together. Scores are interpolated as z-scores of each query
over the documents of the first system, which the second system has scored, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rankers import Bench
from study_plan import System

from termwise.fusion import interpolate, objective_of
from termwise.fusion.objective import Objective
from termwise.records import Run

Floats = npt.NDArray[np.float64]

MIXED = {"missing": "minimum", "scaling": "z", "documents": "first"}
"""Rules of the interpolation; no document is missing."""


@dataclass(frozen=True)
class Chosen:
    """Run of a system on the reported queries, with the choices that other queries made.

    Attributes
    ----------
    run : Run
        Rankings of the reported queries.
    choices : list of dict
        For each part the numbers of queries, the ``variant`` and, for interpolations, ``alpha``.
    parts : list of (Run, Run)
        For interpolations, the two runs of each part.
    """

    run: Run
    choices: list[dict[str, Any]]
    parts: list[tuple[Run, Run]]


class FoldChoices:
    """Choices for the systems of a bench."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._measure = bench.measures[0]
        self._shares = np.linspace(0.0, 1.0, bench.plan.shares).tolist()
        self._means: dict[tuple[str, int, str], dict[str, float]] = {}
        self._kept: dict[str, Chosen] = {}

    def chosen(self, name: str) -> Chosen:
        """Return the run and the choices of a system."""
        if name not in self._kept:
            system = self._bench.plan.systems[name]
            self._kept[name] = self._mixed(system) if system.mix else self._single(system)
        return self._kept[name]

    def variant(self, name: str, part: int) -> Mapping[str, Any]:
        """Return the variant that was chosen for a part."""
        variant: Mapping[str, Any] = self.chosen(name).choices[part]["variant"]
        return variant

    def _single(self, system: System) -> Chosen:
        rankings, choices = [], []
        for part in self._bench.parts:
            number = self._best_variant(system, part.choosing, self._by(system))
            run = self._bench.run(system, system.variants[number])
            rankings += [run[query_id] for query_id in part.reported if query_id in run]
            choices.append(self._counts(part) | {"variant": dict(system.variants[number])})
        return Chosen(Run(rankings, system.name), choices, [])

    def _by(self, system: System) -> str:
        return system.by or self._measure

    def _best_variant(self, system: System, choosing: Sequence[str], measure: str) -> int:
        if len(system.variants) == 1:
            return 0
        means = []
        for number, variant in enumerate(system.variants):
            key = (system.name, number, measure)
            if key not in self._means:
                run = self._bench.run(system, variant)
                evaluation = self._bench.judged.evaluate(run, [measure])
                values = evaluation.values[measure].tolist()
                self._means[key] = dict(zip(evaluation.query_ids, values, strict=True))
            means.append(np.mean([self._means[key][query_id] for query_id in choosing]))
        return int(np.argmax(means))

    def _mixed(self, system: System) -> Chosen:
        first, second = (self._bench.plan.systems[name] for name in system.mix)
        curves: dict[tuple[int, int], dict[str, Floats]] = {}
        rankings, choices, parts = [], [], []
        for part in self._bench.parts:
            own = self._best_variant(first, part.choosing, self._by(system))
            best: tuple[float, int, float] | None = None
            for number, variant in enumerate(second.variants):
                key = (own, number)
                if key not in curves:
                    runs = [self._bench.run(first, first.variants[own]), self._bench.run(second, variant)]
                    objective = objective_of(runs, self._bench.all_qrels, self._by(system), **MIXED)
                    curves[key] = curves_of(objective, self._shares)
                values = np.mean(
                    [curves[key].get(query_id, np.zeros(len(self._shares))) for query_id in part.choosing],
                    axis=0,
                )
                place = int(np.argmax(values))
                if best is None or values[place] > best[0] + 1e-12:
                    best = (float(values[place]), number, self._shares[place])
            assert best is not None
            _, number, alpha = best
            runs = [
                self._bench.run(first, first.variants[own]),
                self._bench.run(second, second.variants[number]),
            ]
            one, other = (Run([run[q] for q in part.reported if q in run], run.name) for run in runs)
            rankings += list(interpolate(one, other, alpha=alpha, **MIXED))
            parts.append((one, other))
            choices.append(self._counts(part) | {"variant": dict(second.variants[number]), "alpha": alpha})
        return Chosen(Run(rankings, system.name), choices, parts)

    def _counts(self, part: Any) -> dict[str, Any]:
        return {"reported": len(part.reported), "choosing": len(part.choosing)}


def curves_of(objective: Objective, shares: Sequence[float]) -> dict[str, Floats]:
    """Return the measure of each query at each share of the first run."""
    values = np.stack([objective.values((share, 1 - share)) for share in shares], axis=1)
    return dict(zip(objective.fused_query_ids, values, strict=True))
