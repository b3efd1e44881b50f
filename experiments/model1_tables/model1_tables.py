r"""Context-free rows of table 2 of the Model 1 paper: classic Model 1 and BM25, both fused with BM25.

Question
    How much does a translation table add to BM25, in comparison with a second analyzer of the same texts? Both are
    fused with BM25 over lemmas, so that *BM25 + Model 1* is compared with *BM25 + BM25* over the same tokens. With
    in-domain pairs, the target of Model 1 is a gain of 2 % in the mean over the collections.
Plans
    ``model1_tables.toml``: collections and splits, fields and their analyzers, tables to choose from, systems,
    contrasts, targets. ``neural_model1.toml``: neural tables on two of the collections. ``msmarco.toml``: the same on
    MS MARCO, by the names of ir_datasets.
Run
    ::

        python experiments/model1_tables/model1_tables.py choose --work WORK --pairs PAIRS
        python experiments/model1_tables/model1_tables.py report --work WORK --pairs PAIRS

    ``choose`` trains the tables (``--pairs`` are general pairs, the output of ``shipped_models/prepare.py``) and makes
    the choices on dev queries: for BM25 the weights, for Model 1 the table, p, lambda and the weights together.
    Neural tables of ``termwise train neural-model1`` are named with ``--neural COLLECTION=FOLDER`` (``--plan
    neural_model1.toml``); they are scored with the p and lambda of their training, and without them their row stays
    blank. The choices are written to a file beside the plan; choices with the same queries and tables are not made
    again. ``report`` applies them to the test queries. Tables and indexes stay in WORK, and training resumes.
Candidates
    All systems score the candidates of BM25 over lemmas, as in the paper. Scores are scaled by z per query and added.
Departures
    BM25 is not tuned; the analyzers are those of termwise, and word pieces have no stop words. `termwise train model1`
    and `termwise.models.Model1` document their own departures from the published code.
Result
    ``results/model1_tables.md`` and ``.json``; with ``--collections``, ``model1_tables_partial``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from model1_choices import AGAIN, Choice, Choices, choose  # noqa: E402
from model1_plan import BASELINE, Entry, Plan, System  # noqa: E402
from model1_report import collected, macro_of, page, targets  # noqa: E402
from model1_systems import Bench, Scored  # noqa: E402
from translation_tables import Table, Tables, dev_of, judged_split  # noqa: E402

from termwise.errors import CheckFailedError, MissingFileError, UnknownNameError  # noqa: E402

PACKAGES = ("termwise", "numpy", "numba", "tokenizers", "spacy", "simplemma", "ir-measures", "ir-datasets")


def run_choose(plan: Plan, tables: Tables, choices: Choices, arguments: argparse.Namespace) -> None:
    """Make the choices on the dev queries."""
    systems, _ = _systems(plan, tables)
    if tables.pairs is None:
        record.say("tables of general pairs are not tried without --pairs FOLDER")
    for entry in plan.entries(arguments.collections):
        if entry.chosen_on:
            continue
        bench = Bench(dev_of(entry, tables.data, plan.seed), plan, tables.work, tables.threads)
        wanted = [system for system in systems if system.chosen]
        choose(bench, tables, choices, wanted, again=arguments.again)
        record.say(f"{entry.name}: chosen, {record.seconds()} s")


def run_report(plan: Plan, tables: Tables, choices: Choices, arguments: argparse.Namespace) -> None:
    """Apply the choices to the test queries, and write the report."""
    provenance = record.provenance(PACKAGES) | {"load": os.getloadavg()}
    systems, skipped = _systems(plan, tables)
    entries = plan.entries(arguments.collections)
    used = {entry.name: _chosen(plan, tables, choices, systems, entry) for entry in entries}
    collections: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for entry in entries:
        bench = Bench(judged_split(entry, entry.test, tables.data), plan, tables.work, tables.threads)
        scored = {}
        for system in systems:
            scored[system.name] = _ranked(bench, system, *used[entry.name].get(system.name, (None, None)))
            record.say(f"{entry.name}: {system.name}; {record.seconds()} s")
        collections[entry.name], values[entry.name] = collected(plan, bench, scored)
        collections[entry.name] |= {"split": entry.test, "chosen on": plan.chosen_on(entry.name)}
    macro = macro_of(plan, values, [system.name for system in systems])
    partial = bool(arguments.collections)
    made = {choice.collection: {} for choice, _ in _all(used)}
    for choice, table in _all(used):
        made[choice.collection][choice.system] = asdict(choice) | (
            {
                "table, bytes": table.bytes,
                "table, entries": table.entries,
                "table, trained": table.description,
            }
            if table is not None
            else {}
        )
    result: dict[str, Any] = {
        "experiment": plan.name,
        "config": plan.source,
        "analyzers": plan.analyzers,
        "partial": partial,
        "collections": collections,
        "macro": macro,
        "targets": targets(plan, macro, partly=partial),
        "choices": made,
        "skipped": skipped,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(result, plan), arguments.out, f"{plan.name}_partial" if partial else plan.name)


def _all(
    used: Mapping[str, Mapping[str, tuple[Choice, Table | None]]],
) -> list[tuple[Choice, Table | None]]:
    return [one for entry in used.values() for one in entry.values()]


def _systems(plan: Plan, tables: Tables) -> tuple[list[System], dict[str, str]]:
    """Return the systems that can run, and the reasons of the others."""
    reasons = {name: tables.lacking(system) for name, system in plan.systems.items()}
    skipped = {name: reason for name, reason in reasons.items() if reason is not None}
    for name, reason in skipped.items():
        record.say(f"not run: {name}: {reason}")
    return [system for name, system in plan.systems.items() if name not in skipped], skipped


def _chosen(
    plan: Plan, tables: Tables, choices: Choices, systems: Sequence[System], entry: Entry
) -> dict[str, tuple[Choice, Table | None]]:
    """Return the choice and the table of each system on a collection.

    Raises
    ------
    MissingFileError, CheckFailedError
        If a choice is missing, or its table is missing or another one.
    """
    found: dict[str, tuple[Choice, Table | None]] = {}
    for system in systems:
        if system.name == BASELINE:
            continue
        collection = plan.chosen_on(entry.name)
        choice = choices.known(collection, system.index_of or system.name)
        table = None
        if choice.table:
            table = tables.named(choice.table, system, collection)
            facts = [("collection", collection), ("system", choice.system), ("table", choice.table)]
            if table is None:
                raise MissingFileError(
                    "the chosen table is not available", facts=facts, fixes=["--pairs PAIRS", AGAIN]
                )
            if table.id != choice.inputs["tables"][choice.table]:
                raise CheckFailedError("the choices were made with another table", facts=facts, fixes=[AGAIN])
        found[system.name] = (choice, table)
    return found


def _ranked(bench: Bench, system: System, choice: Choice | None, table: Table | None) -> Scored:
    """Rank the queries of a bench with a system."""
    if choice is None:
        return bench.baseline()
    scored = bench.scored(system, table, choice.settings if table is not None else None)
    return scored if system.alone else bench.fused(system, scored, choice.fusion)


def _neural(plan: Plan, given: Sequence[str]) -> dict[str, Path]:
    """Return the folders of ``--neural`` by collection; the default has the empty name."""
    folders = {}
    for pair in given:
        name, equals, folder = pair.partition("=")
        if equals and name not in plan.collections:
            raise UnknownNameError.of("collection", name, plan.collections)
        folders[name if equals else ""] = Path(folder if equals else pair)
    return folders


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "out", "threads")
    parser.add_argument("what", choices=("choose", "report"))
    parser.add_argument("--pairs", type=Path, metavar="FOLDER", help="general training pairs")
    parser.add_argument(
        "--neural",
        action="append",
        default=[],
        metavar="[COLLECTION=]FOLDER",
        help="exported table of neural Model 1, for one collection or for all; repeatable",
    )
    parser.add_argument(
        "--data", type=Path, default=record.COLLECTIONS, help="folder of the judged collections"
    )
    parser.add_argument("--plan", type=Path, default=HERE / "model1_tables.toml")
    parser.add_argument(
        "--choices", type=Path, help="file of choices (default: choices_NAME.json beside this script)"
    )
    parser.add_argument(
        "--collections", metavar="A,B", help="names of collections (default: all of the plan)"
    )
    parser.add_argument("--again", action="store_true", help="choose: make existing choices again")
    arguments = parser.parse_args(given)
    plan = Plan.read(arguments.plan)
    tables = Tables(
        plan,
        arguments.data,
        arguments.work,
        arguments.pairs,
        _neural(plan, arguments.neural),
        arguments.threads,
    )
    choices = Choices(arguments.choices or HERE / f"choices_{plan.name}.json", plan)
    {"choose": run_choose, "report": run_report}[arguments.what](plan, tables, choices, arguments)


if __name__ == "__main__":
    record.script(main)
