"""Results and page of the zero-shot experiment: intervals, paired tests, ratios of macro means, costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from macro_means import macro_ratios
from measurements import Measurements
from plan import ALPHA, BASELINE, Plan, System
from systems import RRF_K

from termwise.errors import ParameterError
from termwise.evaluate import Contrast, Evaluation, compare

Floats = npt.NDArray[np.float64]


def collected(
    plan: Plan, kept: Measurements, names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Compare the measured systems on one collection.

    Returns
    -------
    dict
        JSON object: means with intervals, paired tests against the baseline, and costs of the systems.
    dict of str to ndarray of shape (queries,), float64
        The measure of choices, by system.
    """
    about = kept.about
    if about is None:
        raise ParameterError("no system was measured", facts=[("collection", kept.name)])
    evaluations = {name: kept.evaluation(name) for name in names}
    systems: dict[str, Any] = {}
    for name, evaluation in evaluations.items():
        systems[name] = {
            "measures": evaluation.means,
            "intervals": {key: record.mean_interval(column) for key, column in evaluation.values.items()},
            **kept.known(name).costs,
            "made": kept.known(name).made,
        }
    if len(names) > 1:
        for contrast in _compared(list(evaluations.values()), BASELINE):
            entry = record.contrast_record(contrast) | {"p_holm": contrast.p_permutation_holm}
            systems[contrast.run].setdefault(f"against {BASELINE}", {})[contrast.measure] = entry
    result = {
        "split": about.split,
        "queries": about.queries,
        "queries without a relevant document": about.without_relevant,
        "documents": about.documents,
        "systems": systems,
        "contrasts": [
            record.contrast_record(contrast)
            for one in plan.contrasts
            if one.system in evaluations and one.against in evaluations
            for contrast in _compared([evaluations[one.against], evaluations[one.system]], one.against)
            if contrast.measure == plan.measure
        ],
    }
    return result, {name: evaluation.values[plan.measure] for name, evaluation in evaluations.items()}


def _compared(evaluations: Sequence[Evaluation], baseline: str) -> tuple[Contrast, ...]:
    comparison = compare(evaluations, baseline=baseline, resamples=record.RESAMPLES, seed=record.SEED)
    return comparison.contrasts


def ratios(plan: Plan, values: Mapping[str, Mapping[str, Floats]], names: Sequence[str]) -> dict[str, Any]:
    """Return macro means and their ratios to the baseline, see `macro_ratios`."""
    return macro_ratios(
        values,
        names,
        BASELINE,
        counted=[name for name in values if plan.collections[name].mean],
        without=plan.without,
        contrasts=[(one.system, one.against) for one in plan.contrasts],
    )


def targets(plan: Plan, macro: Mapping[str, Any], *, partly: bool) -> list[dict[str, Any]]:
    """Compare ratios with their targets; partial runs have no verdict."""
    rows = []
    for target in plan.targets:
        entry = macro["systems"].get(target.system)
        if entry is None or "ratio" not in entry:
            continue
        below = [
            name
            for name in macro["collections"]
            if target.each is not None and (entry["each"][name]["interval"][1] or 0.0) < target.each
        ]
        reached = entry["ratio"]["ratio"] is not None and entry["ratio"]["ratio"] >= target.macro
        rows.append(
            {
                **asdict(target),
                "ratio": entry["ratio"],
                "collections below": below,
                "reached": None if partly else bool(reached and not below),
            }
        )
    return rows


def training(kept: Iterable[Measurements], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the training of the networks, see `systems.training_of`."""
    found: dict[str, dict[str, Any]] = {}
    for entry in kept:
        for name in names:
            found |= entry.known(name).costs["facts"].get("training", {})
    return found


# --- the page ---------------------------------------------------------------------------------------------------


def page(result: Mapping[str, Any], plan: Plan) -> str:
    """Write the tables."""
    names = list(result["macro"]["systems"])
    parts = [
        "# Trained models on judged collections, zero-shot" + (", in part" if result["partial"] else ""),
        "Made by `experiments/zero_shot/zero_shot.py report`; `zero_shot.toml` declares systems, collections and "
        "targets.",
        _notes(result, plan, names),
        "## Training data of the networks",
        _exposure(result, plan, names),
        f"## {plan.measure}",
        f"The 95 % interval of the paired difference of a value in bold from {BASELINE} excludes 0. Macro: mean over "
        f"all collections except for {_left_out(plan)}; ratio of macro means, with an interval by bootstrap over the "
        f"queries within collections.{_without_relevant(result)}",
        _main_table(result, plan, names),
        "## Targets",
        _target_table(result),
        *_contrasts(result, plan),
        "## Costs",
        "Means over all documents. Bytes: the data that queries read, which is the inverted view of a first stage or "
        "the forward view of a re-ranker, with the order of the documents, or vectors; in brackets all files. "
        f"Encoding: documents a second on {_threads(result)}, with the mean load of the machine; at a load above the "
        "number of threads, the network shared the processors. Latency: one query per call on one thread, from text to "
        "ranking; means over the collections of medians and 99th percentiles, with the mean load.",
        _cost_table(result, names),
        *(
            part
            for key in plan.measures
            for part in (
                f"## {key}: intervals and paired tests against {BASELINE}",
                _tests(result, names, key),
            )
        ),
        "## Choices on the dev splits",
        _choice_table(result, plan),
        record.skipped_section(result["skipped"]),
        _when(result),
        record.about(dict(result)),
    ]
    return "\n\n".join(part for part in parts if part)


def _notes(result: Mapping[str, Any], plan: Plan, names: Sequence[str]) -> str:
    lines = [
        "A document that is the query is excluded from its results.",
        "The networks of termwise encode whole documents, in windows.",
    ]
    systems = [plan.systems[name] for name in names]
    if any(system.interpolate for system in systems):
        lines.append(
            f"{', '.join(one.name for one in systems if one.interpolate)} re-rank the first {plan.depth:,} of BM25 by "
            "α z(BM25) + (1 − α) z(model), z-scores per query over these documents; α and the other choices were "
            "made on the dev splits named below."
        )
    for system in systems:
        if system.dense:
            lines.append(f"{system.name} reads the first {system.length} pieces of a text.")
        if system.fuse:
            lines.append(
                f"{system.name} is {' and '.join(system.fuse)} by reciprocal rank, 1 / ({RRF_K} + rank), of the "
                f"first {plan.depth:,} of each."
            )
        if system.mix:
            lines.append(
                f"{system.name} ranks the union of the first {plan.depth:,} of {_retrieving(system)} by the weighted "
                "sum of their z-scores over this union; the weights were chosen on the dev splits named below."
                + _feedback(system)
            )
        if system.note:
            lines.append(f"{system.name}: {system.note}.")
    return "\n".join(f"- {line}" for line in lines)


def _retrieving(system: System) -> str:
    """Return the parts that find candidates, and those that only score them."""
    found = ", ".join(name for name in system.mix if name not in system.only_scoring)
    return f"{found}, which {', '.join(system.only_scoring)} scores, too," if system.only_scoring else found


def _feedback(system: System) -> str:
    if not system.feedback:
        return ""
    return (
        " The candidates are then scored again, after queries by vectors are moved towards the first documents "
        "(feedback, chosen there, too)."
    )


def _exposure(result: Mapping[str, Any], plan: Plan, names: Sequence[str]) -> str:
    """Return the known training data of each network."""
    lines = []
    bases: dict[str, list[str]] = {}
    for name, known in result["training"].items():
        lines.append(f"- {name}: {_trained(known)}")
        if known["base"]:
            bases.setdefault(known["base"], []).append(name)
    for name in names:
        if plan.systems[name].dense:
            lines.append(f"- {name}: {result['dense']}, without further training.")
            bases.setdefault(result["dense"], []).append(name)
    for base, readers in bases.items():
        said = [one for one in plan.exposures if one.base == base]
        if not said:
            lines.append(f"- {base}, the base of {', '.join(readers)}: its training data is not known.")
            continue
        read = "; ".join(f"{one.said} ({', '.join(one.collections)})" for one in said)
        lines.append(
            f"- {base}, the base of {', '.join(readers)}: trained on {read}, according to its model card."
        )
    return "\n".join(lines) if lines else "No network was run."


def _trained(known: Mapping[str, Any]) -> str:
    if known["pairs"] is None:
        return "its folder does not state its training pairs."
    seen = "" if known["pairs_seen"] is None else f"{known['pairs_seen']:,} seen with repetitions, of "
    said = f"trained from {known['base']} on pairs: {seen}{known['pairs']:,}. "
    left = known["left_out"]
    if left is None:
        return (
            said
            + "Its folder does not state whether pairs that share text with these collections were removed."
        )
    return said + f"Of {left['pairs']:,} pairs, {left['left_out']:,} were removed: {left['rule']}."


def _left_out(plan: Plan) -> str:
    return ", ".join(name for name, entry in plan.collections.items() if not entry.mean) or "none"


def _without_relevant(result: Mapping[str, Any]) -> str:
    found = [
        f"{name} {entry['queries without a relevant document']} of {entry['queries']}"
        for name, entry in result["collections"].items()
        if entry["queries without a relevant document"]
    ]
    return (
        f" Queries without a relevant document count 0 for every system: {', '.join(found)}." if found else ""
    )


def _main_table(result: Mapping[str, Any], plan: Plan, names: Sequence[str]) -> str:
    rows = []
    for collection, entry in result["collections"].items():
        cells = [collection, str(entry["queries"])]
        for name in names:
            system = entry["systems"][name]
            text = record.number(system["measures"][plan.measure])
            contrast = system.get(f"against {BASELINE}", {}).get(plan.measure)
            cells.append(f"**{text}**" if contrast and record.excludes_zero(contrast["interval"]) else text)
        rows.append(cells)
    macro = result["macro"]["systems"]
    if result["macro"]["collections"]:
        rows += _macro_rows("macro", [macro[name] for name in names])
    if all("without" in macro[name] for name in names):
        rows += _macro_rows(
            f"macro without {', '.join(plan.without)}", [macro[name]["without"] for name in names]
        )
    return record.table(("collection", "queries", *names), rows)


def _macro_rows(title: str, entries: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [
        [f"**{title}**", "", *(record.number(entry["mean"], digits=4) for entry in entries)],
        ["ratio", "", *(record.number(entry["ratio"]["ratio"]) for entry in entries)],
        ["95 %", "", *(record.interval(entry["ratio"]["interval"]) for entry in entries)],
    ]


def _target_table(result: Mapping[str, Any]) -> str:
    rows = []
    for target in result["targets"]:
        each = (
            "" if target["each"] is None else f"no collection below {record.number(target['each'], digits=2)}"
        )
        rows.append(
            [
                target["system"],
                f"≥ {target['macro']:.2f}",
                record.number(target["ratio"]["ratio"]),
                record.interval(target["ratio"]["interval"]),
                each,
                ", ".join(target["collections below"]) or ("none" if each else ""),
                record.verdict(target["reached"], set_later=target["set_later"]),
            ]
        )
    head = ("system", "target ratio", "ratio", "95 %", "and", "collections below", "reached")
    if not rows:
        return "No system with a target was run."
    return record.target_section(result["targets"], record.table(head, rows))


def _contrasts(result: Mapping[str, Any], plan: Plan) -> list[str]:
    macro = result["macro"]["contrasts"]
    if not macro:
        return []
    rows = []
    for one in macro:
        pair = (one["system"], one["against"])
        rows.append(
            [
                " against ".join(pair),
                "**macro**",
                record.number(one["difference"], signed=True, digits=4),
                record.interval(one["interval"], signed=True),
                "",
                "",
            ]
        )
        rows += [
            [
                "",
                collection,
                *record.paired_cells(contrast),
                record.outcomes(contrast),
            ]
            for collection, entry in result["collections"].items()
            for contrast in entry["contrasts"]
            if (contrast["run"], contrast["baseline"]) == pair
        ]
    head = ("systems", "collection", "difference", "95 %", "p", "wins / ties / losses")
    return [f"## {plan.measure}: system against system", record.table(head, rows, left=2)]


def _cost_table(result: Mapping[str, Any], names: Sequence[str]) -> str:
    rows = []
    entries = list(result["collections"].values())
    weights = np.array([entry["documents"] for entry in entries], dtype=np.float64)
    for name in names:
        systems = [entry["systems"][name] for entry in entries]

        def over_documents(key: str, systems: list[dict[str, Any]] = systems) -> float:
            return float(np.average([system[key] for system in systems], weights=weights))

        latencies = [system["query latency, ms"] for system in systems]
        rows.append(
            [
                name,
                f"{over_documents('bytes a document'):,.0f} "
                f"({over_documents('bytes a document, all files'):,.0f})",
                *_encoding([effort for system in systems for effort in system["encoding"]]),
                _mean(latency["p50"] for latency in latencies),
                _mean(latency["p99"] for latency in latencies),
                f"{np.mean([system['made']['load'] for system in systems]):.1f}",
            ]
        )
    head = (
        "system",
        "bytes a document",
        "documents encoded a second",
        "load",
        "latency p50, ms",
        "p99, ms",
        "load",
    )
    return record.table(head, rows)


def _encoding(efforts: Sequence[Mapping[str, Any] | None]) -> tuple[str, str]:
    """Return documents a second and the mean load; a dash without a network."""
    if not efforts:
        return "–", ""
    known = [effort for effort in efforts if effort is not None]
    if len(known) < len(efforts):
        return "not known", ""
    seconds = sum(effort["seconds"] for effort in known)
    speed = f"{sum(effort['documents'] for effort in known) / seconds:,.1f}" if seconds else "not known"
    if any(effort["load"] is None for effort in known):
        return speed, "not known"
    weights = [max(effort["seconds"], 1e-9) for effort in known]
    return speed, f"{np.average([effort['load'] for effort in known], weights=weights):.1f}"


def _mean(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.2f}" if known else "–"


def _tests(result: Mapping[str, Any], names: Sequence[str], key: str) -> str:
    rows = []
    for collection, entry in result["collections"].items():
        for name in names:
            system = entry["systems"][name]
            cells = [
                collection if name == names[0] else "",
                name,
                record.number(system["measures"][key]),
                record.interval(system["intervals"][key]),
            ]
            contrast = system.get(f"against {BASELINE}", {}).get(key)
            if contrast is None:
                cells += [""] * 5
            else:
                cells += [
                    *record.paired_cells(contrast),
                    record.p_value(contrast["p_holm"]),
                    record.outcomes(contrast),
                ]
            rows.append(cells)
    head = (
        "collection",
        "system",
        key,
        "95 %",
        "difference",
        "95 %",
        "p",
        "p (Holm)",
        "wins / ties / losses",
    )
    return record.table(head, rows, left=2)


def _choice_table(result: Mapping[str, Any], plan: Plan) -> str:
    choices = result["choices"]
    rows = []
    for one in choices["made"]:
        best = next(entry for entry in one["tried"] if entry["value"] == one["value"])
        values = [str(entry["value"]) for entry in one["tried"]]
        rows.append(
            [
                one["system"],
                "α" if one["setting"] == ALPHA else one["setting"],
                str(one["value"]),
                f"{values[0]} … {values[-1]}" if len(values) > 5 else ", ".join(values),
                one["by"],
                ", ".join(best["collections"]),
                record.number(best["macro"], digits=4),
            ]
        )
    if not rows:
        return "None."
    networks = ", ".join(
        f"{name} {known['precision']} {known['id'][:19]}…" for name, known in choices["encoders"].items()
    )
    said = f"By macro {plan.measure} on the dev splits, for the networks of the results above: {networks}."
    head = ("system", "choice", "value", "tried", "by the mean of", "dev splits of", plan.measure)
    return f"{said}\n\n{record.table(head, rows, left=6)}"


def _threads(result: Mapping[str, Any]) -> str:
    found = {
        system["made"]["threads"]
        for entry in result["collections"].values()
        for system in entry["systems"].values()
    }
    return " or ".join(f"{threads} threads" if threads > 1 else "one thread" for threads in sorted(found))


def _when(result: Mapping[str, Any]) -> str:
    """Return the section with the dates and commits of the measurements."""
    commits: dict[str, list[str]] = {}
    for entry in result["collections"].values():
        for name, system in entry["systems"].items():
            names = commits.setdefault(f"{system['made']['date'][:10]}, {system['made']['commit'][:12]}", [])
            if name not in names:
                names.append(name)
    lines = "\n".join(f"- {when}: {', '.join(names)}" for when, names in sorted(commits.items()))
    return (
        "## Dates of the measurements\n\nA system is measured once for the same data, networks and choices; the values "
        f"of each query are in `zero_shot/`. Dates and commits:\n\n{lines}"
    )
