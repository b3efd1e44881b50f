"""Systems of the Model 1 experiment on one collection: runs and costs."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from indexes import Built, index_counts
from judged_collection import Judged, documents_folder
from model1_plan import BASELINE, Plan, System
from translation_tables import Table

from termwise.cli.translation_options import opened_scorer
from termwise.fusion import Fusion
from termwise.records import Run
from termwise.search.timed_run import TimedRun
from termwise.search.translation_scorer import TranslationScorer

WARM = 10
"""Number of warm-up queries."""

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """Costs of a system, summed over its parts.

    Attributes
    ----------
    search : float or None
        Milliseconds per query from its terms to the candidates, or to the ranking of an index that is a first stage.
    analysis : float
        Milliseconds per query from its text to terms or columns of the table.
    scoring : float or None
        Milliseconds for 1,000 candidates; None for a first stage.
    fusing : float
        Milliseconds per query to scale, add and sort.
    bytes : float
        Bytes per document that queries read: the inverted view of a first stage, the forward view of an index that
        scores candidates, and the order of the documents.
    table : int
        Bytes of a table that is read at query time.
    """

    search: float | None
    analysis: float
    scoring: float | None
    fusing: float = 0.0
    bytes: float = 0.0
    table: int = 0


@dataclass(frozen=True)
class Scored:
    """Scores of the candidates or a first-stage ranking, with the cost."""

    run: Run
    cost: Cost


@dataclass
class Bench:
    """One collection with the queries of one split.

    Attributes
    ----------
    judged : Judged
    plan : Plan
    work : Path
        Work folder of the indexes.
    threads : int
        Threads of indexing; queries run on one.
    """

    judged: Judged
    plan: Plan
    work: Path
    threads: int = 1
    _kept: dict[str, object] = field(default_factory=dict, repr=False)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return self._lexical(self.plan.systems[BASELINE]).documents

    @property
    def candidates(self) -> Run:
        """Candidates of the baseline, without seeds."""
        return self._found.run

    def scored(
        self, system: System, table: Table | None = None, settings: Mapping[str, Any] | None = None
    ) -> Scored:
        """Score the candidates with a system, or rank with a first stage; translations need a table and settings."""
        if table is None or settings is None:
            return self._rescored(self._lexical(system), system.name)
        if system.index_of:
            built = self._compiled(system, table, settings)
            return self._searched(built, system.name) if system.alone else self._rescored(built, system.name)
        scorer = self.scorer(system, table, settings)
        scorer.rank_many(self.judged.queries[:WARM], candidates=self.candidates)
        timed = scorer.timed_run(self.judged.queries, candidates=self.candidates, k=self.plan.depth)
        index = self._text_index(system)
        view = index.sizes["forward"] + index.sizes["order"]
        return Scored(Run(timed.run, system.name), self._cost(timed, view / index.documents, table.bytes))

    def scorer(self, system: System, table: Table, settings: Mapping[str, Any]) -> TranslationScorer:
        """Return the scorer with columns of a table."""
        return opened_scorer(
            self._text_index(system).searcher.index.path, table.place, {**system.settings, **_texts(settings)}
        )

    def fused(self, system: System, scored: Scored, fusion: Fusion) -> Scored:
        """Fuse the scores of a system with those of the baseline."""
        first = self._baseline
        begin = time.perf_counter()
        run = fusion.apply([Run(self.candidates, BASELINE), scored.run], name=system.name)
        fusing = 1000 * (time.perf_counter() - begin) / max(1, len(run))
        one, other = first.cost, scored.cost
        return Scored(
            run,
            Cost(
                search=_mean(self._found.scoring),
                analysis=one.analysis + other.analysis,
                scoring=(one.scoring or 0.0) + (other.scoring or 0.0),
                fusing=fusing,
                bytes=one.bytes + other.bytes,
                table=other.table,
            ),
        )

    def baseline(self) -> Scored:
        """Return the ranking of the baseline, with the cost of scoring its candidates again."""
        first = self._baseline
        return Scored(Run(self.candidates, BASELINE), replace(first.cost, search=_mean(self._found.scoring)))

    @property
    def _baseline(self) -> Scored:
        system = self.plan.systems[BASELINE]
        return self._once("baseline", lambda: self._rescored(self._lexical(system), BASELINE))

    @property
    def _found(self) -> TimedRun:
        def search() -> TimedRun:
            searcher = self._lexical(self.plan.systems[BASELINE]).searcher
            k = self.plan.depth + self.judged.deepest
            searcher.rank_many(self.judged.queries[:WARM], k=k)
            timed = searcher.timed_run(self.judged.queries, k=k)
            return replace(timed, run=self.judged.without_seeds(timed.run, self.plan.depth))

        return self._once("found", search)

    def _rescored(self, built: Built, name: str) -> Scored:
        searcher, candidates = built.searcher, self.candidates
        searcher.rank_many(self.judged.queries[:WARM], k=self.plan.depth, candidates=candidates)
        timed = searcher.timed_run(self.judged.queries, k=self.plan.depth, candidates=candidates)
        view = built.sizes["forward"] + built.sizes["order"]
        return Scored(Run(timed.run, name), self._cost(timed, view / built.documents))

    def _searched(self, built: Built, name: str) -> Scored:
        k = self.plan.depth + self.judged.deepest
        built.searcher.rank_many(self.judged.queries[:WARM], k=k)
        timed = built.searcher.timed_run(self.judged.queries, k=k)
        view = built.sizes["inverted"] or built.sizes["forward"]  # small indexes have no inverted view
        return Scored(
            Run(self.judged.without_seeds(timed.run, self.plan.depth), name),
            Cost(
                search=_mean(timed.scoring),
                analysis=_mean(timed.encoding),
                scoring=None,
                bytes=(view + built.sizes["order"]) / built.documents,
            ),
        )

    def _cost(self, timed: TimedRun, view: float, table: int = 0) -> Cost:
        candidates = sum(len(ranking) for ranking in timed.run)
        return Cost(
            search=None,
            analysis=_mean(timed.encoding),
            scoring=1e6 * float(timed.scoring.sum()) / max(1, candidates),
            bytes=view,
            table=table,
        )

    def _lexical(self, system: System) -> Built:
        return self._index("bm25", system.field, system.settings)

    def _text_index(self, system: System) -> Built:
        """Return the index of term shares, for scoring with columns of a table."""
        return self._index("ml", system.field, {}, quantiser="float32")

    def _compiled(self, system: System, table: Table, settings: Mapping[str, Any]) -> Built:
        chosen = {**system.settings, **_texts(settings), "keep": str(system.keep), "table": table.place}
        return self._index("model1", system.field, chosen)

    def _index(self, model: str, field: str, settings: Mapping[str, str], **more: Any) -> Built:
        key = json.dumps([model, self.plan.analyzers[field], settings], sort_keys=True)
        name = f"{model}-{field}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
        folder = documents_folder(self.work, self.judged.source) / re.sub("[^a-z0-9]+", "-", name)
        return self._once(
            key,
            lambda: index_counts(
                self.judged.documents,
                folder,
                model=model,
                settings=settings,
                analyzer=self.plan.analyzer(field),
                threads=self.threads,
                reuse=True,
                **more,
            ),
        )

    def _once(self, key: str, make: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])


def _texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as texts of the command line."""
    return {name: str(value).lower() for name, value in settings.items()}


def _mean(seconds: Any) -> float:
    """Return the mean in milliseconds."""
    return 1000 * float(np.mean(seconds)) if len(seconds) else 0.0
