"""Choices on the dev queries: table, p, lambda, and the weights of each fusion."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import record
from indexes import progress_lines
from model1_plan import BASELINE, Plan, System
from model1_systems import Bench
from translation_tables import Table, Tables

from termwise.errors import CheckFailedError, MissingFileError
from termwise.fusion import Fusion, Learned, learn, tune
from termwise.records import Run

AGAIN = "choose again, on the dev queries: model1_tables.py choose ..."


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Choice for a system on the dev queries of a collection.

    Attributes
    ----------
    collection, system : str
    inputs : dict
        Inputs beside the plan: hashes of ``data`` and ``queries``, and ids of the available ``tables``.
    table : str
        Chosen variant; empty for BM25.
    settings : dict
        Settings of the translation.
    weights : tuple of float
        Weights of the baseline and of the system.
    value : float
        Mean of the measure on the dev queries.
    estimate : float or None
        For translations: cross-validated mean, each part with the choices on the others.
    alone : tuple of float
        Means of the baseline and of the system alone.
    queries : int
        Number of dev queries.
    tried : list of dict
        Best result of each variant.
    """

    collection: str
    system: str
    inputs: dict[str, Any]
    table: str
    settings: dict[str, Any]
    weights: tuple[float, ...]
    value: float
    estimate: float | None
    alone: tuple[float, ...]
    queries: int
    tried: list[dict[str, Any]]

    @property
    def fusion(self) -> Fusion:
        """The fusion with the chosen weights."""
        return Fusion(
            [BASELINE, self.system],
            self.weights,
            missing="drop",
            scaling="z",
            settings=[{}, self.settings],
        )


class Choices:
    """File of all choices, written after each choice.

    Parameters
    ----------
    path : Path
        The file, which need not exist.
    plan : Plan

    Raises
    ------
    CheckFailedError
        If the layout of the file is not valid.
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self._path, self._digest = path, plan.digest
        self._made: dict[tuple[str, str], Choice] = {}
        self._stale = False
        if not path.is_file():
            return
        body = json.loads(path.read_text(encoding="utf-8"))
        try:
            self._stale = body["plan"] != self._digest
            made = [Choice(**entry) for entry in body["made"]]
        except (TypeError, KeyError) as error:
            raise CheckFailedError(
                "the layout of the file of choices is not valid",
                facts=[("file", path), ("reason", error)],
                fixes=[AGAIN],
            ) from error
        if not self._stale:
            self._made = {(one.collection, one.system): one for one in made}

    def holds(self, collection: str, system: str, inputs: Mapping[str, Any]) -> bool:
        """Return whether there is a choice with the same queries and tables."""
        known = self._made.get((collection, system))
        return known is not None and known.inputs == inputs

    def known(self, collection: str, system: str) -> Choice:
        """Return a choice.

        Raises
        ------
        MissingFileError
            If there is no such choice.
        CheckFailedError
            If the choices were made with another plan.
        """
        if self._stale:
            raise CheckFailedError(
                "the choices were made with another plan", facts=[("file", self._path)], fixes=[AGAIN]
            )
        if (collection, system) not in self._made:
            raise MissingFileError(
                "there is no choice for a system on the dev queries",
                facts=[("collection", collection), ("system", system), ("file", self._path)],
                fixes=[AGAIN],
            )
        return self._made[collection, system]

    def add(self, choice: Choice) -> None:
        """Add a choice and write the file."""
        self._made[choice.collection, choice.system] = choice
        self._stale = False
        body = {"plan": self._digest, "made": [asdict(one) for one in self._made.values()]}
        record.write_whole(self._path, json.dumps(body, indent=1, ensure_ascii=False) + "\n")


def choose(bench: Bench, tables: Tables, choices: Choices, systems: Sequence[System], *, again: bool) -> None:
    """Make the missing choices of the systems; with `again`, all of them."""
    for system in systems:
        collection = bench.judged.name
        found = {} if system.model == "bm25" else tables.of(system, collection)
        if system.model != "bm25" and not found:
            record.say(f"{collection}: {system.name}: no table is available")
            continue
        inputs = _inputs(bench, found)
        if again or not choices.holds(collection, system.name, inputs):
            choice = _chosen(bench, system, found, inputs)
            choices.add(choice)
            table = f" {choice.table}, {_shown(choice.settings)}," if choice.table else ""
            share = f"share of {BASELINE} {choice.weights[0]:.2f}"
            record.say(
                f"{collection}: {system.name}:{table} {share}, {bench.plan.measure} {choice.value:.4f}"
            )


def _inputs(bench: Bench, found: Mapping[str, Table]) -> dict[str, Any]:
    query_ids = "\n".join(sorted(query.query_id for query in bench.judged.queries))
    return {
        "data": bench.judged.data,
        "queries": hashlib.sha256(query_ids.encode("utf-8", "surrogatepass")).hexdigest(),
        "tables": {name: table.id for name, table in found.items()},
    }


def _chosen(bench: Bench, system: System, found: Mapping[str, Table], inputs: dict[str, Any]) -> Choice:
    """Choose the variant with the highest mean, the first of equal ones."""
    if system.model == "bm25":
        fusions = {"": _learned(bench, system)}
    else:
        fusions = {name: _tuned(bench, system, table) for name, table in found.items()}
    values = {name: cast(Learned, fusion.learned).value for name, fusion in fusions.items()}
    best = max(values, key=lambda name: values[name])
    fusion, learned = fusions[best], cast(Learned, fusions[best].learned)
    return Choice(
        collection=bench.judged.name,
        system=system.name,
        inputs=inputs,
        table=best,
        settings=dict(fusion.settings[1]),
        weights=fusion.weights,
        value=learned.value,
        estimate=learned.estimate,
        alone=learned.alone,
        queries=learned.queries,
        tried=[_tried(name, fusion) for name, fusion in fusions.items() if name],
    )


def _tried(name: str, fusion: Fusion) -> dict[str, Any]:
    learned = cast(Learned, fusion.learned)
    return {
        "table": name,
        "settings": dict(fusion.settings[1]),
        "share": fusion.weights[0],
        "value": learned.value,
        "estimate": learned.estimate,
        "alone": learned.alone[1],
    }


def _learned(bench: Bench, system: System) -> Fusion:
    runs = [Run(bench.candidates, BASELINE), bench.scored(system).run]
    return learn(
        runs, bench.judged.qrels, method="sweep", measure=bench.plan.measure, missing="drop", scaling="z"
    )


def _tuned(bench: Bench, system: System, table: Table) -> Fusion:
    """Choose p, lambda and the weights together, or only the weights with the p and lambda of the table."""
    plan, scorer = bench.plan, bench.scorer(system, table, {})
    fixed = system.model == "neural-model1" and not system.tuned
    tuning = tune(
        scorer,
        Run(bench.candidates, BASELINE),
        bench.judged.queries,
        bench.judged.qrels,
        measure=plan.measure,
        self_translations=[scorer.self_translation] if fixed else plan.self_translations,
        lambdas=[scorer.lambda_] if fixed else plan.lambdas,
        scaling="z",
        progress=progress_lines(f"{bench.judged.name}: {system.name}"),
    )
    best = cast(Learned, tuning.fusion.learned)
    record.say(
        f"  {bench.judged.name}: {system.name}: {Path(table.place).name} {best.value:.4f} ({best.estimate:.4f})"
    )
    return tuning.fusion


def _shown(settings: Mapping[str, Any]) -> str:
    return f"p {settings['self_translation']:g}, lambda {settings['lambda']:g}"
