"""Numbers and tables of the zero-shot experiment: intervals, paired tests, ratios of macro means, costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from plan import BASELINE, Plan
from systems import Bench, Outcome

from termwise.evaluate import LatencySummary

Floats = npt.NDArray[np.float64]

PERCENTILES = [2.5, 97.5]
AT_ONCE = 1 << 24
"""Counts drawn at a time."""


def measure(plan: Plan, bench: Bench, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Run and measure the systems on one collection.

    Returns
    -------
    dict
        JSON-like: of each system its means with intervals, the paired test against the baseline, and its costs.
    dict of str to ndarray of shape (queries,), float64
        The measure that choices are made by, for each system and query.
    """
    outcomes = {name: bench.outcome(name) for name in names}
    runs = [outcome.run for outcome in outcomes.values()]
    others = len(runs) > 1
    comparison = bench.judged.compare(runs, plan.measures, BASELINE) if others else None
    evaluations = comparison.evaluations if comparison else (bench.judged.evaluate(runs[0], plan.measures),)
    systems: dict[str, Any] = {}
    values = {}
    for (name, outcome), evaluation in zip(outcomes.items(), evaluations, strict=True):
        values[name] = evaluation.values[plan.measure]
        systems[name] = {
            "measures": evaluation.means,
            "intervals": {key: record.mean_interval(column) for key, column in evaluation.values.items()},
            **_costs(outcome),
        }
    for contrast in comparison.contrasts if comparison else ():
        entry = record.contrast_record(contrast) | {"p_holm": contrast.p_permutation_holm}
        systems[contrast.run].setdefault(f"against {BASELINE}", {})[contrast.measure] = entry
    result = {
        "queries": len(evaluations[0].query_ids),
        "documents": bench.judged.documents.length or bench.built(BASELINE).documents,
        "systems": systems,
    }
    return result, values


def _costs(outcome: Outcome) -> dict[str, Any]:
    return {
        "bytes a document": outcome.bytes,
        "bytes a document, all files": outcome.all_bytes,
        "encoding, seconds a document": outcome.encode_seconds,
        "query latency, ms": asdict(LatencySummary.of(outcome.seconds)),
        "facts": outcome.facts,
    }


def ratios(plan: Plan, values: Mapping[str, Mapping[str, Floats]], names: Sequence[str]) -> dict[str, Any]:
    """Return macro means and their ratios to the baseline, with intervals by bootstrap within collections.

    Queries are drawn anew within each collection, the same for all systems; collections are fixed.

    Parameters
    ----------
    values : mapping of str to mapping of str to ndarray
        For each collection and system, one value a query.
    """
    counted = [name for name in values if plan.collections[name].mean]
    place = {name: number for number, name in enumerate(names)}
    drawn = {
        name: _resampled(np.stack([values[name][system] for system in names]), number)
        for number, name in enumerate(values)
    }
    means = {name: np.array([values[name][system].mean() for system in names]) for name in values}
    base = place[BASELINE]
    result: dict[str, Any] = {"collections": counted, "systems": {}}
    macro = np.mean([means[name] for name in counted], axis=0) if counted else None
    resampled = np.mean([drawn[name] for name in counted], axis=0) if counted else None
    for system in names:
        column = place[system]
        entry: dict[str, Any] = {
            "each": {name: _ratio(means[name], drawn[name], column, base) for name in values}
        }
        if macro is not None and resampled is not None:
            low, high = np.percentile(resampled[:, column], PERCENTILES)
            entry |= {"mean": float(macro[column]), "interval": [float(low), float(high)]}
            entry |= {"ratio": _ratio(macro, resampled, column, base)}
        result["systems"][system] = entry
    return result


def _ratio(means: Floats, drawn: Floats, column: int, base: int) -> dict[str, Any]:
    if means[base] == 0:
        return {"ratio": None, "interval": [None, None]}
    usable = drawn[:, base] > 0
    low, high = np.percentile(drawn[usable, column] / drawn[usable, base], PERCENTILES)
    return {"ratio": float(means[column] / means[base]), "interval": [float(low), float(high)]}


def _resampled(values: Floats, number: int) -> Floats:
    """Return means over queries drawn with replacement, shape (resamples, systems); `values` is (systems, queries)."""
    generator = np.random.default_rng((record.SEED, number))
    queries = values.shape[1]
    size = max(1, AT_ONCE // queries)
    parts = []
    for first in range(0, record.RESAMPLES, size):
        count = min(size, record.RESAMPLES - first)
        counts = generator.multinomial(queries, np.full(queries, 1 / queries), size=count)
        parts.append(counts @ values.T / queries)
    return np.concatenate(parts)


def targets(plan: Plan, macro: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Hold the ratios against what was to be reached."""
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
                "reached": bool(reached and not below),
            }
        )
    return rows


# --- the page ---------------------------------------------------------------------------------------------------


def page(result: Mapping[str, Any], plan: Plan) -> str:
    """Write the tables."""
    names = list(result["macro"]["systems"])
    depth = plan.depth
    parts = [
        "# Trained models on judged collections, zero-shot",
        "Made by `experiments/zero_shot/zero_shot.py report`; systems, collections and targets are declared in "
        "`zero_shot.toml` beside it. None of the networks was trained on queries or documents of these collections. "
        f"Mixtures re-rank the first {depth:,} of BM25 by α z(BM25) + (1 − α) z(model), z-scores per query over "
        "these documents; α and the other choices were made on the dev splits named below and frozen. A document "
        "that a query is made of is no result.",
        f"## {plan.measure}",
        f"In bold where the 95 % interval of the paired difference from {BASELINE} excludes 0. Macro: mean over "
        f"all collections but {_left_out(plan)}; the ratio of macro means, with an interval by bootstrap over the "
        "queries within collections.",
        _main_table(result, plan, names),
        "## What was to be reached",
        _target_table(result),
        "## What it costs",
        "Over all documents together. Bytes: inverted and forward view and the order of documents, or vectors; in "
        "brackets all files. Latency: one query a call on one thread (the dense encoder uses the threads of torch), "
        "from text to ranking; means over the collections of their medians and 99th percentiles.",
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
        _choice_table(result),
        _skipped(result),
        record.about(dict(result)),
    ]
    return "\n\n".join(part for part in parts if part)


def _left_out(plan: Plan) -> str:
    return ", ".join(name for name, entry in plan.collections.items() if not entry.mean) or "none"


def _main_table(result: Mapping[str, Any], plan: Plan, names: Sequence[str]) -> str:
    rows = []
    for collection, entry in result["collections"].items():
        cells = [collection, str(entry["queries"])]
        for name in names:
            system = entry["systems"][name]
            text = record.number(system["measures"][plan.measure])
            contrast = system.get(f"against {BASELINE}", {}).get(plan.measure)
            cells.append(f"**{text}**" if contrast and _apart(contrast["interval"]) else text)
        rows.append(cells)
    macro = result["macro"]["systems"]
    if result["macro"]["collections"]:
        rows.append(["**macro**", "", *(record.number(macro[name]["mean"], digits=4) for name in names)])
        rows.append(["ratio", "", *(record.number(macro[name]["ratio"]["ratio"]) for name in names)])
        rows.append(["95 %", "", *(record.interval(macro[name]["ratio"]["interval"]) for name in names)])
    return record.table(("collection", "queries", *names), rows)


def _apart(bounds: Sequence[float | None]) -> bool:
    low, high = bounds
    return low is not None and high is not None and (low > 0 or high < 0)


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
                "yes" if target["reached"] else "no",
            ]
        )
    head = ("system", "ratio wanted", "ratio", "95 %", "and", "collections below", "reached")
    return record.table(head, rows) if rows else "None of the systems with a target was run."


def _cost_table(result: Mapping[str, Any], names: Sequence[str]) -> str:
    rows = []
    entries = list(result["collections"].values())
    weights = np.array([entry["documents"] for entry in entries], dtype=np.float64)
    for name in names:
        systems = [entry["systems"][name] for entry in entries]

        def over_documents(key: str, systems: list[dict[str, Any]] = systems) -> float:
            return float(np.average([system[key] for system in systems], weights=weights))

        seconds = over_documents("encoding, seconds a document")
        latencies = [system["query latency, ms"] for system in systems]
        rows.append(
            [
                name,
                f"{over_documents('bytes a document'):,.0f} "
                f"({over_documents('bytes a document, all files'):,.0f})",
                f"{seconds * 1000:.1f}" if seconds else "–",
                _mean(latency["p50"] for latency in latencies),
                _mean(latency["p99"] for latency in latencies),
            ]
        )
    head = ("system", "bytes a document", "encoding, ms a document", "latency p50, ms", "p99, ms")
    return record.table(head, rows)


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
                    record.number(contrast["difference"], signed=True),
                    record.interval(contrast["interval"], signed=True),
                    record.p_value(contrast["p_permutation"]),
                    record.p_value(contrast["p_holm"]),
                    f"{contrast['wins']} / {contrast['ties']} / {contrast['losses']}",
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


def _choice_table(result: Mapping[str, Any]) -> str:
    choices = result["choices"]
    rows = [[name, "α", str(value)] for name, value in choices["alpha"].items()]
    rows += [
        [name, setting, str(value)]
        for name, settings in choices["settings"].items()
        for setting, value in settings.items()
    ]
    splits = sorted({f"{name}" for entry in choices["trace"] for name in entry["collections"]})
    said = f"By macro {result['config']['choose']['measure']} over the dev splits of {', '.join(splits)}."
    return f"{said}\n\n{record.table(('system', 'choice', 'value'), rows, left=2)}" if rows else "None."


def _skipped(result: Mapping[str, Any]) -> str:
    if not result["skipped"]:
        return ""
    lines = [f"- {name}: {reason}" for name, reason in result["skipped"].items()]
    return "## Not run\n\n" + "\n".join(lines)
