"""Table 4 of the ABNIRML paper: how much the scores of probes differ between seeds of the training.

    python experiments/rerankers/rerankers.py --plan experiments/rerankers/seeds.toml --models MODELS
        train --pairs PAIRS --base ENCODER
    termwise probe cross-encoder@1=MODELS/cross-encoder-1 … epic@5=MODELS/epic-5
        --suite paper --limit 100 --judged dl19=DL19 --candidates RUN --data mspc=DIR … --out WORK/seeds
    python experiments/probes/seeds.py WORK/seeds

The deviation of a section is the square root of the mean variance of its probes, as in the paper. Results are
``results/probes_seeds.md`` and ``.json``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402

from termwise.probes.report import read_report  # noqa: E402
from termwise.probes.report.tables import cell_text, seeds_of  # noqa: E402

PUBLISHED = {
    "Measure and match": {"cross-encoder": 3.5, "epic": 3.6},
    "Textual manipulation": {"cross-encoder": 11.2, "epic": 17.1},
    "Dataset transfer": {"cross-encoder": 9.5, "epic": 8.9},
}
"""Table 4, standard deviation times 100; the cross-encoder of the paper is BERT-base."""


def main() -> None:
    parser = record.parser(__doc__, "out")
    parser.add_argument("report", type=Path)
    given = parser.parse_args()
    about = record.provenance(["termwise", "spacy", "torch"])
    report = read_report(given.report)
    kept = {
        "provenance": {**about, "seconds": record.seconds()},
        "facts": report["facts"],
        "seeds": report["spread"],
    }
    record.save(kept, page(report), given.out, "probes_seeds")


def page(report: Mapping[str, Any]) -> str:
    """Return the page."""
    rows, lines = [], []
    for each in seeds_of(report):
        lines += [f"- {cell_text(each.title)}. {cell_text(each.verdict)}"]
        for section, deviation, probes in each.rows:
            published = PUBLISHED.get(section, {}).get(each.model)
            rows.append(
                [
                    each.model,
                    cell_text(section),
                    "–" if published is None else f"{published:.1f}",
                    f"{100 * deviation:.1f}",
                    str(probes),
                ]
            )
    return "\n".join(
        [
            "# Differences between seeds of the training",
            "",
            "Standard deviation of the scores of probes between the seeds, times 100: the square root of the mean "
            "variance of the probes of a section, as in table 4 of S. MacAvaney et al., ABNIRML, TACL 2022. Networks, "
            "training and data differ from those of the paper: here, the training is 25 steps of 16 queries.",
            "",
            record.table(["network", "section", "published", "here", "probes"], rows, left=2),
            "",
            *lines,
            "",
            f"Language: {report['facts']['language']}; candidates: {report['facts']['candidates']}.",
        ]
    )


if __name__ == "__main__":
    record.script(main)
