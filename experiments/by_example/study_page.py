"""Markdown page and figures of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import record
from share_figure import ShareCurve, figure_bytes, shares_figure
from study_plan import LETTERS, Plan, Table


def page(plan: Plan, result: Mapping[str, Any]) -> str:
    """Return the page: targets, tables of each collection, measures by share."""
    parts = [
        f"# {plan.title}",
        plan.note,
        f"After {plan.source}. Made by `experiments/by_example/study.py`. Choices are made on other queries than those "
        "of the values; the JSON lists them by part. The letters of a value are those of the rows that it exceeds "
        f"significantly: paired t-test, p < {plan.level} after Bonferroni's correction over all pairs of rows. "
        "The oracle of an interpolation is compared likewise with its two systems. "
        "Differences are paired, to the first stage; p is that of the sign-flip test, without correction.",
        _networks(result),
    ]
    if result["targets"]:
        parts += ["## Targets", _targets(result["targets"])]
    for name, entry in result["collections"].items():
        parts += [
            f"## {name}",
            f"{entry['queries']:,} queries, {entry['documents']:,} documents.",
        ]
        for table in plan.tables:
            parts += [f"### {table.title}", _table(plan, table, entry, name)]
        parts += ["### Shares of the first system", _shares(plan, entry)]
    return "\n\n".join([*(part for part in parts if part), record.about(dict(result))])


def figure_of(plan: Plan, entry: Mapping[str, Any], measure: str) -> bytes:
    """Return an SVG file with the measure by share, one panel per interpolation."""
    curves = [curve_of(plan.systems[name].title, found, measure) for name, found in entry["shares"].items()]
    return figure_bytes(shares_figure(curves, first=plan.first, second="the other"), "svg")


def curve_of(title: str, found: Mapping[str, Any], measure: str) -> ShareCurve:
    """Return the data of one panel."""
    values = found["measures"][measure]
    summary = values["smallest"]
    definite = [
        values["smallest, each"][query]
        for query in values["smallest, each"]
        if query not in values["indifferent"]
    ]
    chosen = sorted(set(found["chosen"]))
    return ShareCurve(
        title=title,
        places=np.array(values["alphas"]),
        means=np.array(values["means"]),
        oracle=summary["oracle"],
        marked=tuple((alpha, float(np.interp(alpha, values["alphas"], values["means"]))) for alpha in chosen),
        best=np.array(definite),
        indifferent=summary["indifferent"],
    )


def _networks(result: Mapping[str, Any]) -> str:
    return "\n".join(f"- network `{name}`: {identity[:19]}…" for name, identity in result["networks"].items())


def _targets(found: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            one["collection"],
            f"{one['system']} over {one['over']}",
            one["measure"],
            f"≥ {one['wanted']:.2f}",
            record.number(one["ratio"]),
            record.interval(one["ratio interval"]),
            record.number(one["difference"], signed=True),
            record.interval(one["interval"], signed=True),
            record.p_value(one["p_permutation"]),
            record.verdict(one["reached"], set_later=one["set_later"]),
        )
        for one in found
    ]
    head = (
        "collection",
        "systems",
        "measure",
        "target",
        "ratio",
        "95 %",
        "difference",
        "95 %",
        "p",
        "reached",
    )
    return record.target_section(found, record.table(head, rows, left=3))


def _table(plan: Plan, table: Table, entry: Mapping[str, Any], collection: str) -> str:
    measures = entry["measures"]
    published = {name: plan.systems[name].published.get(collection, "") for name in table.rows}
    paper = ["paper"] if any(published.values()) else []
    found = entry["letters"].get(table.name, {})
    rows = []
    letters = iter(LETTERS)
    for name in table.rows:
        row = entry["rows"][name]
        if "not run" in row:
            empty = [""] * (len(measures) + 3)
            rows.append((f"– {row['title']}: {row['not run']}", *[published[name] for _ in paper], *empty))
            continue
        cells = [published[name] for _ in paper]
        for measure in measures:
            better = found.get(measure, {}).get(name, "")
            cells.append(
                record.number(row["measures"][measure]) + (f" <sup>{better}</sup>" if better else "")
            )
        contrast = row["against"].get(measures[0])
        rows.append(
            (
                f"{next(letters)}) {row['title']}",
                *cells,
                *(("", "", "") if contrast is None else record.paired_cells(contrast)),
            )
        )
    return record.table(("row", *paper, *measures, f"{measures[0]} − {plan.first}", "95 %", "p"), rows)


def _shares(plan: Plan, entry: Mapping[str, Any]) -> str:
    rows = []
    for name, found in entry["shares"].items():
        chosen = ", ".join(f"{alpha:.2f}" for alpha in found["chosen"])
        for number, (measure, values) in enumerate(found["measures"].items()):
            smallest, nearest = values["smallest"], values["nearest"]
            rows.append(
                (
                    plan.systems[name].title if number == 0 else "",
                    measure,
                    chosen if number == 0 else "",
                    record.number(entry["rows"][name]["measures"][measure]),
                    record.number(smallest["oracle"]),
                    record.number(smallest["mean alpha"]),
                    record.number(nearest["mean alpha"]),
                    f"{smallest['at 0']:,}",
                    f"{smallest['at 1']:,}",
                    f"{smallest['indifferent']:,}",
                    record.number(smallest["quartiles"][2] - smallest["quartiles"][0]),
                    ", ".join(part for part, one in values["over"].items() if one["exceeds"]),
                )
            )
    head = (
        "systems", "measure", "chosen", "measure at it", "oracle", "mean share, smallest of equal", "nearest", "at 0",
        "at 1", "any", "inter-quartile range", "the oracle exceeds",
    )  # fmt: skip
    return record.table(head, rows, left=2)
