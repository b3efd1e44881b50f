"""Rows of the tables of the ABNIRML paper from all available pairs, and its figure 2.

    python experiments/probes/run_idf.py --data PROBES --idf WORK/idf.tsv
    termwise probe bm25 jm dirichlet … --suite paper --judged dl19=DOCS,QUERIES,QRELS --judged dl20=DOCS,QUERIES,QRELS
        --candidates RUN --depth 100 --idf WORK/idf.tsv --data jfleg=DIR --data mspc=DIR … --out WORK/dl
    termwise probe bm25 jm dirichlet … --suite paper --judged liveqa=DOCS,QUERIES,QRELS --out WORK/liveqa
    python experiments/probes/paper_rows.py WORK/dl WORK/liveqa

Question
    Which of the published rows hold for count models if term statistics are those of the whole collection, and no
    sample of the pairs is drawn?
Method
    ``termwise probe`` scores all pairs; RUN has the rankings of both tracks. The threshold δ is the median gap of each
    ranker. The published column has the rows of BM25 in ``published.toml``. The figure has the score of each ranker at
    the percentiles of its gaps, for the three probes of figure 2 of the paper.
Result
    ``results/probes_paper.md``, ``.csv``, and a chart for each probe of the figure. They contain no texts.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402
from charts import line_chart  # noqa: E402

from termwise.probes.report import csv_text, read_report  # noqa: E402
from termwise.probes.report.tables import NOT_SIGNIFICANT, about_lines, sections, signed, significant  # noqa: E402

NAME = "probes_paper"
FIGURE = ("relevance-by-length@dl19", "rem-stops-punct@dl19", "paraphrase@mspc")
"""Probes of figure 2 of the paper, (a) to (c)."""

STEP = 5
"""Percentiles between two scores of a sweep in a report."""

DATA = {"dl19": "DL 2019", "dl20": "DL 2020", "liveqa": "LiveQA-Med"}
"""Names of judged texts on the page."""


def main() -> None:
    parser = record.parser(__doc__, "out")
    parser.add_argument("reports", type=Path, nargs="+", metavar="report")
    given = parser.parse_args()
    reports = [read_report(path) for path in given.reports]
    published = tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))["rows"]
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = []
    for probe in FIGURE:
        lines = {name: points for report in reports for name, points in curves(report, probe).items()}
        if lines:
            title = next(
                one["title"] for report in reports for one in report["probes"] if one["name"] == probe
            )
            drawn.append(f"{NAME}_{probe.partition('@')[0]}.svg")
            record.write_whole(
                given.out / drawn[-1],
                line_chart(lines, title=f"{title}, {probe}", x="percentile of the gaps (δ)", y="score"),
            )
    first, *others = [csv_text(report) for report in reports]
    rows = [line for text in others for line in text.splitlines(keepends=True)[1:]]
    record.write_whole(given.out / f"{NAME}.csv", first + "".join(rows))
    record.write_whole(given.out / f"{NAME}.md", page(reports, published, drawn))


def curves(report: Mapping[str, Any], probe: str) -> dict[str, list[tuple[float, float]]]:
    """Return the scores of each ranker at the percentiles of its gaps."""
    return {
        cell["scorer"]: [(STEP * place, score) for place, score in enumerate(cell["sweep"])]
        for cell in report["cells"]
        if cell["probe"] == probe and cell["sweep"] is not None
    }


def page(
    reports: Sequence[Mapping[str, Any]], published: Mapping[str, Mapping[str, Any]], drawn: Sequence[str]
) -> str:
    """Return the page."""
    parts = [
        "# Rows of the ABNIRML paper, from all available pairs",
        "A score is the mean effect over pairs of texts: +1 if the first, which has the named quality or the change, "
        r"is always preferred; without a sign, the share of pairs that are not ties. \*: "
        f"{NOT_SIGNIFICANT}. *Published* is BM25 of the paper, on the same data set. Made by `termwise probe` and "
        "`experiments/probes/paper_rows.py`; all intervals are in the CSV file.",
    ]
    for report in reports:
        names = [scorer["name"] for scorer in report["scorers"]]
        for title, rows in sections(report):
            lines = []
            for row in rows:
                if not row.probe["samples"]:
                    continue
                name = row.probe["name"]
                paper = published.get(name) or published.get(name.replace("@", "-joined@"))
                cells = [written(cell, symmetric=row.probe["symmetric"]) for cell in row.cells]
                lines.append(
                    [
                        row.title.replace("|", r"\|"),
                        DATA.get(row.data, row.data),
                        f"{row.probe['samples']:,}",
                        record.number(paper and paper["score"], digits=2, signed=True),
                        *cells,
                    ]
                )
            if lines:
                parts += [
                    f"## {title}",
                    record.table(["probe", "texts", "pairs", "published", *names], lines, left=2),
                ]
        parts.append("\n".join(about_lines(report)))
    if drawn:
        parts += ["## Scores at other thresholds", *(f"![scores by percentile]({name})" for name in drawn)]
    return "\n\n".join(parts) + "\n"


def written(cell: Mapping[str, Any] | None, *, symmetric: bool) -> str:
    """Return a score, with an asterisk if it is not significant."""
    if cell is None or cell["score"] is None:
        return "–"
    if symmetric:
        return f"{cell['score']:.2f}"
    return signed(cell["score"]) + ("" if significant(cell) else r"\*")


if __name__ == "__main__":
    record.script(main)
