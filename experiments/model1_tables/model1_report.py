"""Results and page of the Model 1 experiment: intervals, paired tests, ratios of macro means, costs, choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from macro_means import macro_ratios
from model1_plan import BASELINE, Contrast, Plan
from model1_systems import Bench, Scored

from termwise.evaluate import Evaluation, compare
from termwise.evaluate.multiple_testing import holm

Floats = npt.NDArray[np.float64]


def collected(
    plan: Plan, bench: Bench, scored: Mapping[str, Scored]
) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Evaluate and compare the systems on one collection.

    Returns
    -------
    dict
        JSON object: means with intervals and costs of the systems; differences and tests of the contrasts.
    dict of str to ndarray of shape (queries,), float64
        The measure of choices, by system.
    """
    judged = bench.judged
    evaluations = {name: judged.evaluate(one.run, plan.measures) for name, one in scored.items()}
    counts = evaluations[BASELINE].counts
    systems = {
        name: {
            "measures": evaluation.means,
            "intervals": {key: record.mean_interval(column) for key, column in evaluation.values.items()},
            "cost": asdict(scored[name].cost),
        }
        for name, evaluation in evaluations.items()
    }
    result = {
        "queries": counts.queries,
        "queries without a relevant document": counts.without_relevant,
        "documents": bench.documents,
        "candidates a query": sum(map(len, bench.candidates)) / max(1, len(bench.candidates)),
        "data": judged.data,
        "systems": systems,
        "contrasts": _contrasts(plan, evaluations),
    }
    return result, {name: evaluation.values[plan.measure] for name, evaluation in evaluations.items()}


def _contrasts(plan: Plan, evaluations: Mapping[str, Evaluation]) -> list[dict[str, Any]]:
    """Return the contrasts of the plan by every measure, with Holm's correction over those of a measure."""
    found: list[dict[str, Any]] = []
    for one in _available(plan.contrasts, evaluations):
        comparison = compare(
            [evaluations[one.against], evaluations[one.system]],
            baseline=one.against,
            resamples=record.RESAMPLES,
            seed=record.SEED,
        )
        found += [
            record.contrast_record(contrast) | {"measure": contrast.measure}
            for contrast in comparison.contrasts
        ]
    for measure in plan.measures:
        family = [entry for entry in found if entry["measure"] == measure]
        corrected = holm([entry["p_permutation"] for entry in family])
        for entry, p in zip(family, corrected, strict=True):
            entry["p_holm"] = p
    return found


def _available(contrasts: Sequence[Contrast], names: Mapping[str, Any] | Sequence[str]) -> list[Contrast]:
    return [one for one in contrasts if one.system in names and one.against in names]


def macro_of(plan: Plan, values: Mapping[str, Mapping[str, Floats]], names: Sequence[str]) -> dict[str, Any]:
    """Return macro means and their ratios to the baseline and within the contrasts; see `macro_ratios`."""
    return macro_ratios(
        values,
        names,
        BASELINE,
        counted=[name for name in values if plan.collections[name].mean],
        contrasts=[(one.system, one.against) for one in plan.contrasts],
    )


def targets(plan: Plan, macro: Mapping[str, Any], *, partly: bool) -> list[dict[str, Any]]:
    """Compare ratios with their targets; partial runs have no verdict."""
    known = {(one["system"], one["against"]): one["ratio"] for one in macro["contrasts"]}
    rows = []
    for one in plan.contrasts:
        ratio = known.get((one.system, one.against))
        if one.ratio is not None and ratio is not None:
            reached = ratio["ratio"] is not None and ratio["ratio"] >= one.ratio
            rows.append({**asdict(one), "found": ratio, "reached": None if partly else bool(reached)})
    return rows


# --- the page ---------------------------------------------------------------------------------------------------


def page(result: Mapping[str, Any], plan: Plan) -> str:
    """Write the tables."""
    parts = [
        f"# {plan.title}" + (", in part" if result["partial"] else ""),
        plan.note,
        f"Made by `experiments/model1_tables/model1_tables.py` with the plan `{plan.name}.toml`, which declares "
        "collections, systems, tables and contrasts.",
        _notes(result, plan),
        f"## {plan.measure}",
        "Macro: mean over "
        + (", ".join(result["macro"]["collections"]) or "no collection")
        + f"; ratio of macro means to {BASELINE}, with an interval by bootstrap over the queries within collections. "
        "Time: milliseconds to score 1,000 candidates on one thread, sum of all parts, mean over the collections; "
        "the paper reports the throughput of twelve threads. Published: MRR on MS MARCO, documents / passages or "
        "passages.",
        _main_table(result, plan),
        "## Targets",
        _target_table(result, plan),
        *(part for measure in plan.measures for part in _contrast_tables(result, plan, measure)),
        "## Costs",
        "Means over the collections, one thread, one query after the other. Search: milliseconds per query to retrieve "
        "the candidates, or to rank with an index that is a first stage. Analysis: milliseconds to analyse the query "
        "for all fields of the system; lemmas need a tagger. Scoring: milliseconds for 1,000 candidates. Fusing: "
        "milliseconds per query to scale, add and sort. Bytes a document: the inverted view of a first stage, the "
        "forward view of an index that scores candidates, and the order of documents. Table: megabytes of a table that "
        "is read at query time.",
        _cost_table(result, plan),
        *(
            part
            for measure in plan.measures
            for part in (f"## {measure}: means and intervals", _interval_table(result, plan, measure))
        ),
        "## Choices on the dev queries",
        "Dev: mean on the dev queries. Left out: cross-validated mean, each fifth with the choices on the others. "
        "Alone: without BM25. Tried: mean with the best p, lambda and weights of each table.",
        _choice_table(result),
        record.skipped_section(result["skipped"]),
        record.about(dict(result)),
    ]
    return "\n\n".join(part for part in parts if part)


def _notes(result: Mapping[str, Any], plan: Plan) -> str:
    fields = ", ".join(f"{field} with `{name}`" for field, name in result["analyzers"].items())
    lines = [
        f"Fields: {fields}.",
        f"{BASELINE} is BM25 over {plan.systems[BASELINE].field} and retrieves {plan.depth:,} candidates. All systems "
        "except for first stages score these candidates and are fused with it: z-scores per query, with weights chosen "
        "on dev queries.",
        "`model1` and `neural-model1` score with columns of the table; `index` is the same table compiled into an "
        "index with a limited number of one-byte weights per document, and the same weights of the fusion. The "
        "difference is the loss by pruning and rounding.",
    ]
    lines += _neural_notes(result, plan)
    for name, entry in result["collections"].items():
        collection = plan.collections[name]
        if collection.chosen_on:
            lines.append(f"{name}: choices and table of {collection.chosen_on}.")
        elif not collection.dev:
            lines.append(
                f"{name} has no dev split: {collection.dev_queries:,} of its training queries were drawn for the "
                "choices, and their pairs were not used for training."
            )
        if entry["queries without a relevant document"]:
            lines.append(
                f"{name}: {entry['queries without a relevant document']} of {entry['queries']} queries have no "
                "relevant document and count 0 for every system."
            )
    return "\n".join(f"- {line}" for line in lines)


def _neural_notes(result: Mapping[str, Any], plan: Plan) -> list[str]:
    """Return the notes on the training of neural tables."""
    notes = {}
    for name, choices in result["choices"].items():
        for system, choice in choices.items():
            trained = choice.get("table, trained", {})
            if plan.systems[system].model == "neural-model1" and "steps" in trained:
                settings = trained["settings"]
                notes[name] = (
                    f"{name} {settings['epochs']} epochs, {trained['steps']:,} steps of {settings['batch']} queries, "
                    f"least probability {settings['least']:g}, {choice['table, entries']:,} of them"
                )
    if not notes:
        return []
    return [
        f"Neural tables: {'; '.join(notes.values())}. Unless chosen, their p and lambda are those of training."
    ]


def _main_table(result: Mapping[str, Any], plan: Plan) -> str:
    collections, macro = result["collections"], result["macro"]["systems"]
    rows = []
    for name, system in plan.systems.items():
        if name in result["skipped"]:
            rows.append([name, system.published, *["–"] * (len(collections) + 4)])
            continue
        ratio = macro[name].get("ratio", {"ratio": None, "interval": [None, None]})
        rows.append(
            [
                name,
                system.published,
                *(
                    record.number(entry["systems"][name]["measures"][plan.measure])
                    for entry in collections.values()
                ),
                record.number(macro[name].get("mean"), digits=4),
                record.number(ratio["ratio"]),
                record.interval(ratio["interval"]),
                _mean(result, name, "scoring", digits=2),
            ]
        )
    head = ("system", "published", *collections, "macro", "ratio", "95 %", "time, ms")
    return record.table(head, rows)


def _target_table(result: Mapping[str, Any], plan: Plan) -> str:
    rows = [
        [
            f"{one['system']} against {one['against']}",
            f"≥ {one['ratio']:.2f}",
            record.number(one["found"]["ratio"]),
            record.interval(one["found"]["interval"]),
            record.verdict(one["reached"], set_later=one["set_later"]),
        ]
        for one in result["targets"]
    ]
    if not rows:
        return "The plan has no targets, or their systems were not run."
    head = ("systems", f"target ratio of macro {plan.measure}", "ratio", "95 %", "reached")
    return record.target_section(result["targets"], record.table(head, rows))


def _contrast_tables(result: Mapping[str, Any], plan: Plan, measure: str) -> list[str]:
    rows = []
    macro = {(one["system"], one["against"]): one for one in result["macro"]["contrasts"]}
    for one in _available(plan.contrasts, result["macro"]["systems"]):
        pair, title = (one.system, one.against), f"{one.system} against {one.against}"
        if measure == plan.measure and pair in macro:
            over = macro[pair]
            rows.append(
                [
                    title,
                    "**macro**",
                    record.number(over["difference"], signed=True, digits=4),
                    record.interval(over["interval"], signed=True, digits=4),
                    f"{record.number(over['ratio']['ratio'])} ({record.interval(over['ratio']['interval'])})",
                    *[""] * 3,
                ]
            )
            title = ""
        for collection, entry in result["collections"].items():
            for contrast in entry["contrasts"]:
                if (contrast["run"], contrast["baseline"], contrast["measure"]) == (*pair, measure):
                    difference, interval, p = record.paired_cells(contrast)
                    p_holm = record.p_value(contrast["p_holm"])
                    outcomes = record.outcomes(contrast)
                    rows.append([title, collection, difference, interval, "", p, p_holm, outcomes])
                    title = ""
    if not rows:
        return []
    head = (
        "systems",
        "collection",
        "difference",
        "95 %",
        "ratio (95 %)",
        "p",
        "p (Holm)",
        "wins / ties / losses",
    )
    return [
        f"## {measure}: system against system",
        "Paired by query; p by Holm over the contrasts of a collection.",
        record.table(head, rows, left=2),
    ]


def _cost_table(result: Mapping[str, Any], plan: Plan) -> str:
    rows = [
        [
            name,
            _mean(result, name, "search", digits=2),
            _mean(result, name, "analysis", digits=2),
            _mean(result, name, "scoring", digits=2),
            _mean(result, name, "fusing", digits=2),
            _mean(result, name, "bytes", digits=0),
            _mean(result, name, "table", digits=1, unit=1e6),
        ]
        for name in plan.systems
        if name not in result["skipped"]
    ]
    head = (
        "system",
        "search, ms",
        "analysis, ms",
        "scoring 1,000, ms",
        "fusing, ms",
        "bytes a document",
        "table, MB",
    )
    load = ", ".join(f"{value:.1f}" for value in result["provenance"]["load"])
    return (
        record.table(head, rows) + f"\n\nLoad of the machine at the start, over 1, 5 and 15 minutes: {load}."
    )


def _mean(result: Mapping[str, Any], name: str, key: str, *, digits: int, unit: float = 1.0) -> str:
    found = [entry["systems"][name]["cost"][key] for entry in result["collections"].values()]
    known = [value for value in found if value is not None]
    return f"{np.mean(known) / unit:,.{digits}f}" if known else "–"


def _interval_table(result: Mapping[str, Any], plan: Plan, measure: str) -> str:
    collections = result["collections"]
    rows = []
    for name in plan.systems:
        if name not in result["skipped"]:
            systems = [entry["systems"][name] for entry in collections.values()]
            rows.append(
                [
                    name,
                    *(
                        f"{record.number(system['measures'][measure])} "
                        f"({record.interval(system['intervals'][measure])})"
                        for system in systems
                    ),
                ]
            )
    return record.table(("system", *(_sized(name, entry) for name, entry in collections.items())), rows)


def _sized(name: str, entry: Mapping[str, Any]) -> str:
    return f"{name}, {entry['queries']:,} queries, {entry['documents']:,} documents"


def _choice_table(result: Mapping[str, Any]) -> str:
    rows = []
    for collection, systems in result["choices"].items():
        for name, choice in systems.items():
            settings = choice["settings"]
            rows.append(
                [
                    collection,
                    name,
                    choice["table"],
                    *(f"{settings[key]:g}" if settings else "" for key in ("self_translation", "lambda")),
                    f"{choice['weights'][0]:.2f}",
                    str(choice["queries"]),
                    record.number(choice["value"], digits=4),
                    record.number(choice["estimate"], digits=4) if choice["estimate"] is not None else "",
                    record.number(choice["alone"][1], digits=4),
                    "; ".join(
                        f"{one['table']} {record.number(one['value'], digits=4)}" for one in choice["tried"]
                    ),
                ]
            )
    names = (
        "collection",
        "system",
        "table",
        "p",
        "λ",
        f"share of {BASELINE}",
        "queries",
        "dev",
        "left out",
        "alone",
    )
    head = (*names, "tried")
    return record.table(head, rows, left=3)
