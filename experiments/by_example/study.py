r"""Queries by example: the tables and the figure of the paper on any judged collection.

Question
    If the query is a document, how do BM25, query likelihood, TILDE, TILDEv2 and a cross-encoder rank, how much does
    interpolation with BM25 gain, and how much would the best share of each query gain?
Plan
    ``study.toml``: collections, systems, the rows of each table, targets.
Run
    ``python experiments/by_example/study.py PLAN --work WORK --models MODELS``. Networks are folders of MODELS, shipped
    encoders, or named with ``--network NAME=FOLDER``; the row of a missing network stays blank with a note. Indexes and
    encoded documents stay in WORK.
    ``scidocs.toml`` has the tables on the collections of the paper: ``--data SCIDOCS`` names the folder of SciDocs as
    published, which `scidocs.py` turns into a collection in WORK.
Choices
    k1 and b, lambda, the weights of query terms and the share of BM25 are chosen on other queries than the reported
    ones: on a separate split or, without one, in folds by paper.
Letters
    The letters of a value are those of the rows that it exceeds significantly: paired t-tests with Bonferroni's
    correction over all pairs of rows, as in the paper. The JSON also has the sign-flip test and intervals.
Oracle
    The best share of each query and measure among 0, 0.1, ..., 1: the smallest of equal ones, which the counts of the
    paper imply, and the nearest to the share for all queries. Its values are compared with those of the two systems
    by paired t-tests, with Bonferroni's correction over all interpolations.
Result
    ``results/NAME.md``, ``.json``, ``NAME_COLLECTION.svg``, without texts. ``WORK/NAME.html`` is the report with texts:
    tables, curves, each query, and the queries with the largest gains and losses with explanations of their scores.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from fold_choices import MIXED, FoldChoices, curves_of  # noqa: E402
from rankers import Bench, Tools  # noqa: E402
from scidocs import convert  # noqa: E402
from study_plan import LETTERS, Plan, System  # noqa: E402

from termwise.encode import shipped_encoders  # noqa: E402
from termwise.errors import MissingFileError  # noqa: E402
from termwise.evaluate import bonferroni  # noqa: E402
from termwise.evaluate.paired_tests import paired_t  # noqa: E402
from termwise.fusion import objective_of, oracle  # noqa: E402
from termwise.fusion.line_search import TENTHS  # noqa: E402
from termwise.records import Run  # noqa: E402

PACKAGES = (
    "termwise", "numpy", "numba", "scipy", "onnxruntime", "tokenizers", "ir-measures", "sentence-transformers"
)  # fmt: skip


def measure_all(bench: Bench, plan: Plan) -> dict[str, Any]:
    """Rank, choose and evaluate all systems on one collection."""
    choices = FoldChoices(bench)
    rows: dict[str, Any] = {}
    runs: dict[str, Run] = {}
    for name, system in plan.systems.items():
        lacking = bench.tools.lacking(plan, name)
        if lacking is not None:
            record.say(f"not run: {name}: {lacking}")
            rows[name] = {"title": system.title, "not run": lacking}
            continue
        chosen = choices.chosen(name)
        runs[name] = Run(list(chosen.run), name)
        rows[name] = {"title": system.title, "chosen": chosen.choices}
        record.say(f"  {bench.data.name}: {name}")
    tables = {}
    for table in plan.tables:
        here = [name for name in table.rows if name in runs]
        if len(here) > 1:
            tables[table.name] = lettered(bench, [runs[name] for name in here], plan.level)
    query_ids: list[str] = []
    against = contrasts(bench, list(runs.values()), plan.first)
    for name, run in runs.items():
        evaluation = bench.reported.evaluate(run, bench.measures)
        query_ids = list(evaluation.query_ids)
        rows[name]["measures"] = evaluation.means
        rows[name]["intervals"] = {
            measure: record.mean_interval(values) for measure, values in evaluation.values.items()
        }
        rows[name]["values"] = {measure: values.tolist() for measure, values in evaluation.values.items()}
        rows[name]["against"] = against.get(name, {})
    shares = {
        name: share_values(bench, choices, plan.systems[name]) for name in runs if plan.systems[name].mix
    }
    compare_oracles(plan, rows, shares, query_ids)
    return {
        "documents": len(bench.searcher(plan.systems[plan.first], {}).index),
        "queries": len(bench.reported.queries),
        "query_ids": query_ids,
        "measures": bench.measures,
        "rows": rows,
        "letters": tables,
        "shares": shares,
        "data": bench.judged.data,
    }


def lettered(bench: Bench, runs: Sequence[Run], level: float) -> dict[str, dict[str, str]]:
    """Return for each measure and run the letters of the runs that it exceeds significantly."""
    comparison = bench.reported.compare(runs, bench.measures, runs[0].name, pairs="all")
    letters = dict(zip((run.name for run in runs), LETTERS, strict=False))
    found: dict[str, dict[str, str]] = {}
    for measure in comparison.measures:
        better: dict[str, list[str]] = {run.name: [] for run in runs}
        for contrast in comparison.of(measure):
            p = contrast.p("t", "bonferroni")
            if p is not None and p < level:
                winner, loser = contrast.run, contrast.baseline
                if contrast.difference < 0:
                    winner, loser = loser, winner
                better[winner].append(letters[loser])
        found[measure] = {name: "".join(sorted(those)) for name, those in better.items()}
    return found


def contrasts(bench: Bench, runs: Sequence[Run], baseline: str) -> dict[str, Any]:
    """Compare every run with the first stage: difference, interval, p, and ratio of the means."""
    comparison = bench.reported.compare(runs, bench.measures, baseline)
    base = next(one for one in comparison.evaluations if one.run == baseline)
    found: dict[str, Any] = {}
    for contrast in comparison.contrasts:
        other = next(one for one in comparison.evaluations if one.run == contrast.run)
        values = np.stack([other.values[contrast.measure], base.values[contrast.measure]])
        drawn = record.resampled_means(values)
        usable = drawn[:, 1] > 0
        bounds = (
            np.percentile(drawn[usable, 0] / drawn[usable, 1], record.PERCENTILES)
            if usable.any()
            else [None] * 2
        )
        mean = float(values[1].mean())
        found.setdefault(contrast.run, {})[contrast.measure] = record.contrast_record(contrast) | {
            "ratio": float(values[0].mean()) / mean if mean else None,
            "ratio interval": [None if bound is None else float(bound) for bound in bounds],
        }
    return found


def share_values(bench: Bench, choices: FoldChoices, system: System) -> dict[str, Any]:
    """Return the measures at each share of the first system, and the best share of each query."""
    chosen = choices.chosen(system.name)
    one, other = (
        Run([ranking for pair in chosen.parts for ranking in pair[place]], name)
        for place, name in enumerate(system.mix)
    )
    found: dict[str, Any] = {"chosen": [choice["alpha"] for choice in chosen.choices], "measures": {}}
    for measure in bench.measures:
        objective = objective_of([one, other], bench.qrels, measure, **MIXED)
        curves = curves_of(objective, TENTHS)
        judged = len(objective.query_ids)
        entry: dict[str, Any] = {
            "alphas": TENTHS,
            "means": (np.sum(list(curves.values()), axis=0) / judged).tolist(),
        }
        for ties in ("smallest", "nearest"):
            best = oracle([one, other], bench.qrels, method="grid", ties=ties, measure=measure, **MIXED)  # type: ignore[arg-type]
            entry[ties] = best.summary()
            entry[f"{ties}, each"] = dict(zip(best.query_ids, best.alphas.tolist(), strict=True))
        entry["oracle, each"] = dict(zip(best.query_ids, best.best.tolist(), strict=True))
        entry["indifferent"] = [
            query_id
            for query_id, any_share in zip(best.query_ids, best.indifferent, strict=True)
            if any_share
        ]
        found["measures"][measure] = entry
    return found


def compare_oracles(
    plan: Plan, rows: Mapping[str, Any], shares: Mapping[str, Any], query_ids: Sequence[str]
) -> None:
    """Compare the oracle of each interpolation with its two systems, and add the result as ``over``."""
    for measure in (*plan.measures, *plan.graded):
        found: list[dict[str, Any]] = []
        for name, entry in shares.items():
            values = entry["measures"].get(measure)
            if values is None:  # a graded measure of a collection without grades
                continue
            best = np.array([values["oracle, each"].get(query_id, 0.0) for query_id in query_ids])
            for part in plan.systems[name].mix:
                own = np.array(rows[part]["values"][measure])
                p = paired_t(own, best)[1]
                found.append({"difference": float((best - own).mean()), "p_t": p})
                values.setdefault("over", {})[part] = found[-1]
        for one, p in zip(found, bonferroni([one["p_t"] for one in found]), strict=True):
            one["p_t_bonferroni"] = p
            one["exceeds"] = one["difference"] > 0 and p is not None and p < plan.level


def targets(plan: Plan, results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the targets with their results."""
    found = []
    for target in plan.targets:
        rows = results.get(target.collection, {}).get("rows", {})
        for name in target.systems:
            for measure in target.measures:
                entry = rows.get(name, {}).get("against", {}).get(measure)
                if entry is None:  # the system was not run
                    continue
                found.append(
                    {
                        "collection": target.collection,
                        "system": name,
                        "over": target.over,
                        "measure": measure,
                        "wanted": target.ratio,
                        "set_later": target.set_later,
                        "ratio": entry["ratio"],
                        "ratio interval": entry["ratio interval"],
                        "difference": entry["difference"],
                        "interval": entry["interval"],
                        "p_permutation": entry["p_permutation"],
                        "reached": entry["ratio"] is not None and entry["ratio"] >= target.ratio,
                    }
                )
    return found


def networks(arguments: argparse.Namespace) -> tuple[dict[str, str], dict[str, str]]:
    """Return networks and vocabulary files by name."""
    found = {name: name for name in shipped_encoders()}
    files: dict[str, str] = {}
    if arguments.models is not None:
        if not arguments.models.is_dir():
            raise MissingFileError(
                "the folder of networks does not exist", facts=[("folder", arguments.models)]
            )
        for folder in sorted(arguments.models.iterdir()):
            if (folder / "encoder.json").is_file() or (folder / "model.safetensors").is_file():
                found[folder.name] = str(folder)
            if folder.suffix == ".txt":
                files[folder.stem] = str(folder)
    return found | record.named_folders(arguments.network), files


def main(given: Sequence[str] | None = None) -> None:
    parser = record.parser(__doc__, "work", "collections", "only", "out", "threads")
    parser.add_argument("plan", type=Path)
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="output of train.py")
    parser.add_argument("--data", type=Path, metavar="SCIDOCS", help="SciDocs as published, for scidocs.toml")
    parser.add_argument("--network", action="append", default=[], metavar="NAME=FOLDER")
    arguments = parser.parse_args(given)
    from study_page import figure_of, page
    from study_report import write_report

    plan = Plan.read(arguments.plan)
    chosen = record.selected(
        "collection of the plan", arguments.only, [data.name for data in plan.collections]
    )
    provenance = record.provenance(PACKAGES) | {"load": os.getloadavg()}
    found, files = networks(arguments)
    tools = Tools(found, files, arguments.work, arguments.threads)
    collections = arguments.collections
    if arguments.data is not None:
        collections = arguments.work
        convert(arguments.data, collections / "scidocs")
    benches, results = {}, {}
    for data in plan.collections:
        if data.name not in chosen:
            continue
        benches[data.name] = Bench(data, plan, tools.of_collection(data.name), collections)
        results[data.name] = measure_all(benches[data.name], plan)
        record.say(f"{data.name}: {record.seconds()} s")
    needed = {one for system in plan.systems.values() for one in system.needs}
    result = {
        "experiment": plan.name,
        "config": asdict(plan),
        "networks": tools.identities(sorted(one for one in found if one.partition("@")[0] in needed)),
        "collections": results,
        "targets": targets(plan, results),
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(plan, result), arguments.out, plan.name)
    for name, entry in results.items():
        if entry["shares"]:
            drawn = arguments.out / f"{plan.name}_{name.replace(' ', '_')}.svg"
            drawn.write_bytes(figure_of(plan, entry, entry["measures"][0]))
    report = arguments.work / f"{plan.name}.html"
    write_report(report, plan, result, benches)
    record.say(f"wrote {report}")


if __name__ == "__main__":
    record.script(main)
