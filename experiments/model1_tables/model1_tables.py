r"""The context-free rows of table 2 of the Model 1 paper: classic Model 1 beside BM25, both fused with BM25.

Question
    How much does a translation table add to BM25, beside what a second way to cut the same texts adds? Both are fused
    with BM25 over lemmas, so that *BM25 + Model 1* is held against *BM25 + BM25* over the same tokens. Where pairs are
    in domain, Model 1 was to be at least 2 % better in the mean over the collections.
Declared
    ``model1_tables.toml``: collections and splits, fields and their analyzers, the tables to choose among, systems,
    contrasts, what was to be reached. ``neural_model1.toml``: neural tables beside them, on two of the collections.
    ``msmarco.toml``: the same on MS MARCO, by the names of ir_datasets.
Order
    ::

        python experiments/model1_tables/model1_tables.py choose --work WORK --pairs PAIRS
        python experiments/model1_tables/model1_tables.py report --work WORK --pairs PAIRS

    ``choose`` trains the tables (general pairs are those of ``--pairs``, as ``shipped_models/prepare.py`` leaves them)
    and chooses on dev queries only: for BM25 the weights, for Model 1 the table, p, lambda and the weights together.
    Neural tables, trained beforehand with ``termwise train neural-model1``, are named with ``--neural
    COLLECTION=FOLDER``; they are scored with the p and lambda they were made for, and without them the row stays blank
    (``--plan neural_model1.toml``: the collections of the plan that have pairs enough to train one). The
    choices are in a file beside the plan, written after each; what is chosen of the same queries and tables is not
    chosen again. ``report`` applies them to the test queries. Tables and indexes stay in WORK; an interrupted training
    goes on where it was.
Candidates
    Those of BM25 over lemmas, as in the paper, which all systems score. Scores are scaled by z per query and added.
Departures
    BM25 is not tuned; the analyzers are those of termwise, and word pieces are without stop words; what
    `termwise train model1` and `termwise.models.Model1` do otherwise than the published code stands with them.
Result
    ``results/model1_tables.md`` and ``.json``. With ``--collections`` it is called ``model1_tables_partial``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from chosen import AGAIN, Choice, Choices, choose  # noqa: E402
from declared import BASELINE, Entry, Plan, System  # noqa: E402
from pages import collected, macro_of, page, targets  # noqa: E402
from ranked import Bench, Scored  # noqa: E402
from trained import Table, Tables, dev_of, judged_split  # noqa: E402

from termwise.errors import CheckFailedError, MissingFileError, UnknownNameError  # noqa: E402

PACKAGES = ("termwise", "numpy", "numba", "tokenizers", "spacy", "simplemma", "ir-measures", "ir-datasets")


def run_choose(plan: Plan, tables: Tables, choices: Choices, arguments: argparse.Namespace) -> None:
    """Choose on the dev queries and write the choices down."""
    systems, _ = _systems(plan, tables)
    if tables.pairs is None:
        record.say("tables of general pairs are not tried: none were named (--pairs FOLDER)")
    for entry in plan.entries(arguments.collections):
        if entry.chosen_on:
            continue
        begin = time.perf_counter()
        bench = Bench(dev_of(entry, tables.data, plan.seed), plan, tables.work, tables.threads)
        wanted = [system for system in systems if system.chosen]
        choose(bench, tables, choices, wanted, again=arguments.again)
        record.say(f"{entry.name}: chosen, {time.perf_counter() - begin:.0f} s")


def run_report(plan: Plan, tables: Tables, choices: Choices, arguments: argparse.Namespace) -> None:
    """Apply the choices to the test queries, and write the report."""
    begin = time.perf_counter()
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
            record.say(f"{entry.name}: {system.name}; {time.perf_counter() - begin:.0f} s")
        collections[entry.name], values[entry.name] = collected(plan, bench, scored)
        collections[entry.name] |= {"split": entry.test, "chosen on": plan.choosing(entry.name)}
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
        "provenance": provenance | {"seconds": round(time.perf_counter() - begin)},
    }
    record.save(result, page(result, plan), arguments.out, f"{plan.name}_partial" if partial else plan.name)


def _all(
    used: Mapping[str, Mapping[str, tuple[Choice, Table | None]]],
) -> list[tuple[Choice, Table | None]]:
    return [one for entry in used.values() for one in entry.values()]


def _systems(plan: Plan, tables: Tables) -> tuple[list[System], dict[str, str]]:
    """Return the systems that can be run, and why others cannot."""
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
        If something was not chosen, or its table cannot be had or is another one.
    """
    found: dict[str, tuple[Choice, Table | None]] = {}
    for system in systems:
        if system.name == BASELINE:
            continue
        collection = plan.choosing(entry.name)
        choice = choices.known(collection, system.index_of or system.name)
        table = None
        if choice.table:
            table = tables.named(choice.table, system, collection)
            facts = [("collection", collection), ("system", choice.system), ("table", choice.table)]
            if table is None:
                raise MissingFileError(
                    "the table that was chosen cannot be made", facts=facts, fixes=["--pairs PAIRS", AGAIN]
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
    """Read ``--neural``: folders by collection, that for all under the empty name."""
    folders = {}
    for pair in given:
        name, equals, folder = pair.partition("=")
        if equals and name not in plan.collections:
            raise UnknownNameError.of("collection", name, plan.collections)
        folders[name if equals else ""] = Path(folder if equals else pair)
    return folders


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("choose", "report"))
    parser.add_argument("--work", type=Path, required=True, help="folder for tables and indexes; kept")
    parser.add_argument("--pairs", type=Path, metavar="FOLDER", help="general training pairs")
    parser.add_argument(
        "--neural",
        action="append",
        default=[],
        metavar="[COLLECTION=]FOLDER",
        help="an exported table of neural Model 1, for one collection or for all; may be repeated",
    )
    parser.add_argument(
        "--data", type=Path, default=record.COLLECTIONS, help="folder of the judged collections"
    )
    parser.add_argument("--plan", type=Path, default=HERE / "model1_tables.toml")
    parser.add_argument("--choices", type=Path, help="by default choices_NAME.json beside this file")
    parser.add_argument("--out", type=Path, default=record.RESULTS, help="folder for the results")
    parser.add_argument("--collections", metavar="A,B", help="only these")
    parser.add_argument("--again", action="store_true", help="choose: choose anew what was chosen already")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
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
