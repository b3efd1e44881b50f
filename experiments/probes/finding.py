"""What inference-free ranking buys and costs in behaviour: one page from a report of probes.

    termwise probe bm25 model1 tilde tildev2 bm25+tildev2,alpha=0.4 dense=BASE MODELS/cross-encoder --suite all
        --limit 200 --judged dl19=DOCS,QUERIES,QRELS --out WORK/finding
    python experiments/probes/finding.py WORK/finding

Written are ``results/probes_finding.md`` with every score, ``.csv`` with all numbers, and ``.svg``, the heat map. No
text of a collection is in them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402

from termwise.fusion.figure import figure_bytes  # noqa: E402
from termwise.probes.report import csv_text, markdown_text, read_report  # noqa: E402
from termwise.probes.report.tables import Row, sections, signed  # noqa: E402

ROW, COLUMN = 0.19, 0.85
"""Height and width of a cell, in inches."""

LABELS = 4.6
"""Room for the names of probes, in inches."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", type=Path)
    parser.add_argument("--out", type=Path, default=HERE.parent / "results")
    given = parser.parse_args()
    report = read_report(given.report)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "probes_finding.svg").write_bytes(figure_bytes(heat_map(report), "svg"))
    (given.out / "probes_finding.csv").write_text(csv_text(report), encoding="utf-8")
    (given.out / "probes_finding.md").write_text(page(report), encoding="utf-8")
    record.say(f"wrote {given.out / 'probes_finding.md'}, .csv and .svg")


def page(report: Mapping[str, Any]) -> str:
    """Write the tables, with what they were made of."""
    facts = report["facts"]
    rows = [f"- {name}: {_said(value)}" for name, value in facts.items()]
    deltas = [f"- δ of {one['name']}: {one['reading'].get('delta', '–')}" for one in report["scorers"]]
    return "\n".join(
        [
            "# What rankers respond to",
            "",
            "Made by `termwise probe` and `experiments/probes/finding.py`. A score is the mean effect over pairs of "
            "texts: +1 where the first, which has the named quality or the change, is always preferred.",
            "",
            *rows,
            *deltas,
            "",
            markdown_text(report),
        ]
    )


def heat_map(report: Mapping[str, Any]) -> Any:
    """Draw probes in rows and rankers in columns: blue where the first text is preferred, orange where the second."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    names = [scorer["name"] for scorer in report["scorers"]]
    grouped = [(title, [row for row in rows if row.probe["samples"]]) for title, rows in sections(report)]
    grouped = [(title, rows) for title, rows in grouped if rows]
    lines = sum(len(rows) + 1 for _, rows in grouped)
    width, height = LABELS + COLUMN * len(names) + 0.2, ROW * (lines + 2)
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    for column, name in enumerate(names):
        axes.text(
            LABELS + COLUMN * (column + 0.5), ROW, name, ha="center", va="center", fontsize=7.5, weight="bold"
        )
    top = 2 * ROW
    for title, rows in grouped:
        axes.text(0.1, top + ROW / 2, title, va="center", fontsize=8, weight="bold")
        top += ROW
        for row in rows:
            axes.text(0.2, top + ROW / 2, row.title, va="center", fontsize=7)
            axes.text(
                LABELS - 0.1, top + ROW / 2, row.data, ha="right", va="center", fontsize=6, color="#777777"
            )
            for column, cell in enumerate(row.cells):
                left = LABELS + COLUMN * column
                colour, text, ink = _shade(row, cell)
                axes.add_patch(
                    Rectangle((left + 0.02, top + 0.01), COLUMN - 0.04, ROW - 0.02, facecolor=colour, lw=0)
                )
                axes.text(
                    left + COLUMN / 2, top + ROW / 2, text, ha="center", va="center", fontsize=6.5, color=ink
                )
            top += ROW
    return figure


def _shade(row: Row, cell: Mapping[str, Any] | None) -> tuple[tuple[float, float, float], str, str]:
    """Return colour, text and colour of the text of a cell."""
    if cell is None or cell["score"] is None:
        return (1.0, 1.0, 1.0), "–", "#888888"
    score = cell["score"]
    symmetric = row.probe["symmetric"]
    full = (0.49, 0.23, 0.93) if symmetric else (0.04, 0.38, 0.66) if score > 0 else (0.76, 0.25, 0.05)
    strength = 0.05 + 0.85 * min(1.0, abs(score)) if abs(score) >= 0.005 else 0.0
    red, green, blue = (float(one) for one in 1 - strength * (1 - np.array(full)))
    return (
        (red, green, blue),
        f"{score:.2f}" if symmetric else signed(score),
        "white" if strength > 0.55 else "#1d2024",
    )


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}, {one}" for name, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value)) or "none"
    return str(value)


if __name__ == "__main__":
    main()
