"""Rows of the ABNIRML paper for rankers of the same kinds, published and measured here.

    python experiments/probes/train_boosting.py --judged DL20 --out MODELS/boosting
    python experiments/probes/onnx_to_t5.py …, then train_doc2query.py … --out MODELS/doc2query
    python experiments/probes/generate_queries.py --model MODELS/doc2query --judged DL19
        --kept WORK/expansions.sqlite --out WORK/queries.jsonl
    termwise probe bm25 wmd:GLOVE lightgbm=MODELS/boosting dense=BASE cross-encoder=MODELS/cross-encoder
        doc2query=doc2query:MODELS/doc2query,longest=32,length=192,kept=WORK/expansions.sqlite
        --suite paper --limit 100 --judged dl19=DL19 --candidates RUN --data mspc=DIR …
        --data append-queries=WORK/queries.jsonl --out WORK/paper
    python experiments/probes/yardsticks.py WORK/paper

The published scores are in ``yardsticks.toml``. Results are ``results/probes_yardsticks.md`` and ``.json``, or have the
name that ``--name`` gives.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scipy.stats import spearmanr

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402

from termwise.probes.report import read_report  # noqa: E402
from termwise.probes.report.tables import cell_text, signed  # noqa: E402

LEANING = 0.1
"""Least absolute score of the paper with a direction."""


def main() -> None:
    parser = record.parser(__doc__, "out")
    parser.add_argument("report", type=Path)
    parser.add_argument("--name", default="probes_yardsticks")
    given = parser.parse_args()
    about = record.provenance(["termwise", "spacy", "lightgbm", "POT", "sentence-transformers"])
    report = read_report(given.report)
    plan = tomllib.loads((HERE / "yardsticks.toml").read_text(encoding="utf-8"))
    rows = compared(report, plan)
    kept = {
        "provenance": {**about, "seconds": record.seconds()},
        "facts": report["facts"],
        "rows": rows,
    }
    record.save(kept, page(rows, plan, report), given.out, given.name)


def compared(report: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return measured and published scores by row and ranker, for the rows of the report."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    cells = {(cell["probe"], cell["scorer"]): cell for cell in report["cells"]}
    for probe, published in plan["rows"].items():
        for ranker, column in plan["rankers"].items():
            cell = cells.get((probe, ranker))
            if cell is not None and cell["score"] is not None:
                found.setdefault(probe, {})[ranker] = {
                    "score": cell["score"],
                    "interval": [cell["low"], cell["high"]],
                    "pairs": cell["samples"],
                    "published": published[column],
                }
    return found


def agreement(rows: Mapping[str, Mapping[str, Mapping[str, Any]]], ranker: str) -> dict[str, Any]:
    """Return the number of rows with the direction of the paper, and the rank correlation over all rows."""
    pairs = [(row[ranker]["score"], row[ranker]["published"]) for row in rows.values() if ranker in row]
    leaning = [(ours, theirs) for ours, theirs in pairs if abs(theirs) >= LEANING]
    same = sum(ours * theirs > 0 for ours, theirs in leaning)
    rho = spearmanr(*zip(*pairs, strict=True)).statistic if len(pairs) > 2 else None
    return {"same": same, "leaning": len(leaning), "rho": rho, "rows": len(pairs)}


def page(
    rows: Mapping[str, Mapping[str, Mapping[str, Any]]], plan: Mapping[str, Any], report: Mapping[str, Any]
) -> str:
    """Return the page."""
    names = [one["name"] for one in report["scorers"] if one["name"] in plan["rankers"]]
    titles = {one["name"]: one["title"] for one in report["probes"]}
    table = []
    for probe, row in rows.items():
        cells = [
            f"{signed(row[name]['score'])} / {signed(row[name]['published'])}" if name in row else "–"
            for name in names
        ]
        table.append(
            [
                cell_text(titles[probe]),
                probe.partition("@")[2],
                *cells,
                f"{max(one['pairs'] for one in row.values()):,}",
            ]
        )
    agreed = {name: agreement(rows, name) for name in names}
    summary = [
        [
            name,
            plan["rankers"][name],
            f"{one['same']} of {one['leaning']}",
            record.number(one["rho"], digits=2, signed=True),
            str(one["rows"]),
        ]
        for name, one in agreed.items()
    ]
    return "\n".join(
        [
            "# Rankers of the kinds in the ABNIRML paper",
            "",
            "Here / published, both with the median gap of each ranker. Networks and, for most rows, samples differ, "
            "so that only the directions can be compared.",
            "",
            record.table(["probe", "texts", *names, "pairs"], table, left=2),
            "",
            f"Rows with the same direction, of those with {LEANING} or more in the paper; rank correlation over all "
            "rows.",
            "",
            record.table(["ranker", "in the paper", "same direction", "ρ", "rows"], summary, left=2),
            "",
            f"Language: {report['facts']['language']}; candidates: {report['facts']['candidates']}.",
        ]
    )


if __name__ == "__main__":
    record.script(main)
