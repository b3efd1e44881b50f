"""Gains and losses of inference-free ranking in behaviour: one page from reports of probes.

    termwise probe bm25 model1 tilde tildev2 bm25+tildev2,alpha=0.4 dense=BASE cross-encoder=MODELS/cross-encoder
        --suite all --limit 100 --judged dl19=DOCS,QUERIES,QRELS --candidates RUN --depth 100
        --data jfleg=DIR --data mspc=DIR … --out WORK/finding
    termwise probe … --suite "probe:*-by-*" --limit 5000 … --out WORK/matched
    python experiments/probes/behaviour.py WORK/finding WORK/matched

Matched pairs need no encoding beyond that of the judged texts, so that the second report has more of them. If several
reports have a probe, the one with most samples is used.

Rankers that were measured later are added to the published scores, which do not change. The new reports have the first
ranker too: its scores must be the published ones, which shows that the pairs are the same::

    termwise probe bm25 lookup bm25+lookup,alpha=0.3 … --out WORK/later
    python experiments/probes/behaviour.py WORK/later … --add-to experiments/results/probes_finding.csv

Results are ``results/probes_finding.md`` with all scores, ``.csv`` with all numbers and ``.svg``, the heat map; and
``probes_headline.svg`` with the rows of ``headline.toml``. They contain no texts of collections.
"""

from __future__ import annotations

import csv
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402
from share_figure import figure_bytes  # noqa: E402

from termwise.probes.report import csv_text, read_report  # noqa: E402
from termwise.probes.report.contents import correct_p_values  # noqa: E402
from termwise.probes.report.tables import (  # noqa: E402
    HEADING,
    NOT_SIGNIFICANT,
    Row,
    about_lines,
    expected_score,
    markdown_tables,
    sections,
    signed,
    significant,
    tone,
)

ROW, COLUMN = 0.19, 0.85
"""Height and width of a cell, in inches."""

LABELS = 4.6
"""Width of the names of probes, in inches."""


TEXT_COLUMNS = ("section", "probe", "texts", "title", "symmetric", "expectation", "scorer")
"""Columns of ``probes_finding.csv`` with text or a truth value; all others have numbers."""

LENGTH_COLUMNS = ("words_first", "words_second", "first_longer", "first_shorter")
"""Columns that compare the lengths of the first and second texts of a probe."""

COMPARED = ("score", "positive", "neutral", "negative", "samples", "queries")
"""Numbers that are equal in two reports if ranker and pairs are the same."""

COLOURS = {"good": (0.04, 0.38, 0.66), "bad": (0.76, 0.25, 0.05), "apart": (0.49, 0.23, 0.93)}


@dataclass(frozen=True)
class Line:
    """A row of a heat map.

    Attributes
    ----------
    title, aside : str
        Label at the left, and small print before the cells.
    row : Row
    """

    title: str
    aside: str
    row: Row


def main() -> None:
    parser = record.parser(__doc__, "out")
    parser.add_argument("reports", type=Path, nargs="+", metavar="report")
    parser.add_argument("--add-to", type=Path, metavar="CSV", help="published scores of other rankers")
    given = parser.parse_args()
    report = joined([read_report(path) for path in given.reports])
    if given.add_to is not None:
        report = with_later_rankers(published_report(given.add_to), report)
    first = headline(report, tomllib.loads((HERE / "headline.toml").read_text(encoding="utf-8")))
    everything = [
        (title, [Line(row.title, row.data, row) for row in rows]) for title, rows in sections(report)
    ]
    names = [scorer["name"] for scorer in report["scorers"]]
    given.out.mkdir(parents=True, exist_ok=True)
    for stem, lines in (("probes_headline", first), ("probes_finding", everything)):
        (given.out / f"{stem}.svg").write_bytes(figure_bytes(heat_map(lines, names), "svg"))
    (given.out / "probes_finding.csv").write_text(csv_text(report), encoding="utf-8")
    (given.out / "probes_finding.md").write_text(page(report, first), encoding="utf-8")
    record.say(f"wrote {given.out / 'probes_finding.md'}, .csv, .svg and probes_headline.svg")


def joined(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge reports on the same rankers; for each probe, the report with most samples is used."""
    names = [[(one["name"], one["effect_rule"]) for one in report["scorers"]] for report in reports]
    if any(other != names[0] for other in names):
        raise SystemExit("the reports are not about the same rankers, or their thresholds differ")
    best: dict[str, tuple[int, int]] = {}
    for place, report in enumerate(reports):
        for probe in report["probes"]:
            if probe["name"] not in best or probe["samples"] > best[probe["name"]][0]:
                best[probe["name"]] = (probe["samples"], place)
    first = reports[0]
    order = list(dict.fromkeys(probe["name"] for report in reports for probe in report["probes"]))
    probes = [{probe["name"]: probe for probe in report["probes"]} for report in reports]
    cells = [
        cell
        for place, report in enumerate(reports)
        for cell in report["cells"]
        if best[cell["probe"]][1] == place
    ]
    return {**first, "probes": [probes[best[name][1]][name] for name in order], "cells": cells}


def published_report(path: Path) -> dict[str, Any]:
    """Read ``probes_finding.csv``, and the metadata on the page beside it, as a report without example pairs."""
    probes: dict[str, dict[str, Any]] = {}
    cells = []
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        numbers = {name: _number(value) for name, value in row.items() if name not in TEXT_COLUMNS}
        lengths = [numbers.pop(name) for name in LENGTH_COLUMNS]
        probes.setdefault(
            row["probe"],
            {
                "name": row["probe"],
                "title": row["title"],
                "section": row["section"],
                "symmetric": row["symmetric"] == "True",
                "expectation": row["expectation"],
                "samples": numbers["samples"],
                "lengths": None if lengths[0] is None else dict(zip(LENGTH_COLUMNS, lengths, strict=True)),
            },
        )
        cells.append({"probe": row["probe"], "scorer": row["scorer"], **numbers})
    head, _, _ = path.with_suffix(".md").read_text(encoding="utf-8").partition("\n## ")
    about = dict(line[2:].split(": ", 1) for line in head.splitlines() if line.startswith("- "))
    scorers = [
        {"name": name, "effect_rule": {"kind": "constant", "delta": float(about.pop(f"δ of {name}"))}}
        for name in dict.fromkeys(cell["scorer"] for cell in cells)
    ]
    return {"facts": about, "scorers": scorers, "probes": list(probes.values()), "cells": cells, "spread": []}


def _number(text: str) -> int | float | None:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def with_later_rankers(report: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report with the rankers of a later report added.

    Published numbers do not change. The p-values of the added rankers are corrected for all cells of a section, old and
    new. The first ranker of the later report must be one of the earlier report, with the same numbers.
    """
    known = {(cell["probe"], cell["scorer"]): cell for cell in report["cells"]}
    common = later["scorers"][0]["name"]
    for cell in later["cells"]:
        if cell["scorer"] != common:
            continue
        before = known.get((cell["probe"], common), {})
        if any(cell[name] != before.get(name) for name in COMPARED):
            raise SystemExit(f"{cell['probe']}: the scores of {common} are not the published ones")
    names = [one["name"] for one in later["scorers"][1:]]
    new = [dict(cell) for cell in later["cells"] if cell["scorer"] in names]
    section_of = {probe["name"]: probe["section"] for probe in report["probes"]}
    correct_p_values([*(dict(cell) for cell in report["cells"]), *new], section_of)
    facts = {**report["facts"], f"added {later['facts']['made']}": ", ".join(names)}
    scorers = [*report["scorers"], *later["scorers"][1:]]
    return {**report, "facts": facts, "scorers": scorers, "cells": [*report["cells"], *new]}


def headline(report: Mapping[str, Any], plan: Mapping[str, Any]) -> list[tuple[str, list[Line]]]:
    """Return the groups of rows of a plan, without probes that the report lacks."""
    rows = {row.probe["name"]: row for _, found in sections(report) for row in found}
    return [
        (
            group["title"],
            [
                Line(one["says"], expected_score(rows[one["probe"]].probe["expectation"]), rows[one["probe"]])
                for one in group["row"]
                if one["probe"] in rows
            ],
        )
        for group in plan["group"]
    ]


def page(report: Mapping[str, Any], first: Sequence[tuple[str, Sequence[Line]]]) -> str:
    """Return the page."""
    names = [scorer["name"] for scorer in report["scorers"]]
    return "\n".join(
        [
            f"# {HEADING}",
            "",
            "Made by `termwise probe` and `experiments/probes/behaviour.py`. A score is the mean effect over pairs of "
            "texts: +1 if the first, which has the named quality or the change, is always preferred.",
            "",
            *about_lines(report),
            "",
            *headline_table(first, names),
            markdown_tables(report),
        ]
    )


def headline_table(first: Sequence[tuple[str, Sequence[Line]]], names: Sequence[str]) -> list[str]:
    """Return the lines of the headline table, with intervals."""
    lines = [
        "## Headline",
        "",
        "With 95 % intervals over queries; *wanted* is the behaviour of a good passage ranker. "
        rf"\*: {NOT_SIGNIFICANT}.",
        "",
        "| | probe | wanted | " + " | ".join(names) + " | pairs | queries |",
        "| --- | --- | --: | " + "--: | " * (len(names) + 2),
    ]
    for title, rows in first:
        for place, line in enumerate(rows):
            cells = [_with_interval(line, cell) for cell in line.row.cells]
            queries = max((cell["queries"] for cell in line.row.cells if cell is not None), default=0)
            lines.append(
                f"| {'' if place else title} | {line.title} | {line.aside} | {' | '.join(cells)} "
                f"| {line.row.probe['samples']:,} | {queries} |"
            )
    return [*lines, ""]


def _with_interval(line: Line, cell: Mapping[str, Any] | None) -> str:
    if cell is None or cell["score"] is None:
        return "–"
    write = "{:.2f}".format if line.row.probe["symmetric"] else signed
    interval = "" if cell["low"] is None else f" ({write(cell['low'])} to {write(cell['high'])})"
    return write(cell["score"]) + (r"\*" if _unsure(line, cell) else "") + interval


def heat_map(groups: Sequence[tuple[str, Sequence[Line]]], names: Sequence[str]) -> Any:
    """Draw a heat map of probes in rows and rankers in columns.

    Blue scores are as expected and orange ones are not. For probes without an expectation, blue means that the first
    text is preferred, orange that the second is, and violet a difference without direction. Scores that are not
    significant are in italics.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    grouped = [(title, [line for line in lines if line.row.probe["samples"]]) for title, lines in groups]
    grouped = [(title, lines) for title, lines in grouped if lines]
    height = ROW * (sum(len(lines) + 1 for _, lines in grouped) + 2)
    width = LABELS + COLUMN * len(names) + 0.2
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    axes.add_patch(Rectangle((0, 0), width, height, facecolor="white", lw=0, zorder=-1))
    for column, name in enumerate(names):
        axes.text(
            LABELS + COLUMN * (column + 0.5), ROW, name, ha="center", va="center", fontsize=7.5, weight="bold"
        )
    top = 2 * ROW
    for title, lines in grouped:
        axes.text(0.1, top + ROW / 2, title, va="center", fontsize=8, weight="bold")
        top += ROW
        for line in lines:
            axes.text(0.2, top + ROW / 2, line.title, va="center", fontsize=7)
            axes.text(
                LABELS - 0.1, top + ROW / 2, line.aside, ha="right", va="center", fontsize=6, color="#777777"
            )
            for column, cell in enumerate(line.row.cells):
                left = LABELS + COLUMN * column
                colour, text, ink = _shade(line, cell)
                axes.add_patch(
                    Rectangle((left + 0.02, top + 0.01), COLUMN - 0.04, ROW - 0.02, facecolor=colour, lw=0)
                )
                axes.text(
                    left + COLUMN / 2, top + ROW / 2, text, ha="center", va="center", fontsize=6.5, color=ink,
                    style="italic" if _unsure(line, cell) else "normal",
                )  # fmt: skip
            top += ROW
    return figure


def _unsure(line: Line, cell: Mapping[str, Any] | None) -> bool:
    """Return whether a score is not significant; symmetric probes have no test."""
    return (
        cell is not None
        and cell["score"] is not None
        and not line.row.probe["symmetric"]
        and not significant(cell)
    )


def _shade(line: Line, cell: Mapping[str, Any] | None) -> tuple[tuple[float, float, float], str, str]:
    """Return background colour, text and text colour of a cell."""
    if cell is None or cell["score"] is None:
        return (1.0, 1.0, 1.0), "–", "#888888"
    score = cell["score"]
    symmetric = line.row.probe["symmetric"]
    full = COLOURS[tone(line.row.probe["expectation"], score, symmetric=symmetric)]
    strength = 0.05 + 0.85 * min(1.0, abs(score)) if abs(score) >= 0.005 else 0.0
    red, green, blue = (float(one) for one in 1 - strength * (1 - np.array(full)))
    return (
        (red, green, blue),
        f"{score:.2f}" if symmetric else signed(score),
        "white" if strength > 0.55 else "#1d2024",
    )


if __name__ == "__main__":
    main()
