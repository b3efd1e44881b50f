"""Effect of a change by the grade of the changed passage.

    termwise probe … --suite probe:shuffle-words-higher --suite probe:shuffle-words-lower … --limit 300 --out GRADES
    python experiments/probes/grade_effects.py GRADES

The input is the samples of a report, of the probes that the suite ``all`` has twice, for the higher and the lower half
of the grades. Probes of one kind (`KINDS`) are pooled. For each query with samples of both halves, the difference is
the mean effect over the higher grades minus that over the lower. The mean over queries is tested by sign-flip
permutation with Holm's correction over all kinds and rankers. Result: ``results/probes_by_grades.md`` and ``.json``.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402

from termwise.evaluate.multiple_testing import holm  # noqa: E402
from termwise.evaluate.paired_tests import sign_flip_p  # noqa: E402
from termwise.probes.report import read_report  # noqa: E402
from termwise.probes.report.folder import results_at  # noqa: E402

KINDS = {
    "the order of words or sentences changed": ("shuffle-*", "reverse-*"),
    "words or sentences taken away": ("remove-*", "rem-stops-punct*"),
    "words misspelt": ("typos*", "keystrokes*"),
    "a sentence added that is not relevant": ("*-nonrelevant-sentence*",),
}
"""Kinds of changes, and the patterns of their probes; probes that also join tokens by blanks are excluded."""

HALVES = ("higher", "lower")

Effects = dict[str, dict[str, list[int]]]
"""Effects of samples, by query and half of the grades."""


def main() -> None:
    parser = record.parser(__doc__, "out")
    parser.add_argument("report", type=Path)
    given = parser.parse_args()
    about = record.provenance(["termwise", "numpy"])
    report = read_report(given.report)
    probes = {
        kind: [one["name"] for one in report["probes"] if _is_of(one["name"], patterns)]
        for kind, patterns in KINDS.items()
    }
    rows = [
        {"kind": kind, "ranker": scorer["name"]} | contrast(effects_of(given.report, names, scorer["name"]))
        for kind, names in probes.items()
        for scorer in report["scorers"]
    ]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    about["seconds"] = record.seconds()
    samples = {one["name"]: one["samples"] for one in report["probes"]}
    kept = {
        "provenance": about,
        "data": report["facts"].get("judged", {}),
        "probes": probes,
        "pairs": {kind: sum(samples[name] for name in names) for kind, names in probes.items()},
        "rows": rows,
    }
    record.save(kept, page(kept), given.out, "probes_by_grades")


def _is_of(probe: str, patterns: Sequence[str]) -> bool:
    stem = probe.partition("@")[0]
    halved = stem.endswith(tuple(f"-{half}" for half in HALVES))
    return halved and "-joined-" not in stem and any(fnmatchcase(stem, pattern) for pattern in patterns)


def _stems(probes: Sequence[str]) -> list[str]:
    """Return the distinct names of probes without texts and half."""
    return list(dict.fromkeys(name.partition("@")[0].rpartition("-")[0] for name in probes))


def effects_of(report: Path, probes: Sequence[str], scorer: str) -> Effects:
    """Read the effects of a ranker on the samples of probes."""
    found: Effects = defaultdict(lambda: {half: [] for half in HALVES})
    for probe in probes:
        half = probe.partition("@")[0].rpartition("-")[2]
        with gzip.open(results_at(report, probe, scorer), "rt", encoding="utf-8") as lines:
            for line in lines:
                sample = json.loads(line)
                if sample["kind"] == "sample":
                    found[sample["query"]][half].append(sample["effect"])
    return dict(found)


def contrast(effects: Effects) -> dict[str, Any]:
    """Return the means of both halves and of their difference, over queries that have samples of both.

    Examples
    --------
    >>> found = contrast({"a": {"higher": [-1, -1], "lower": [0]}, "b": {"higher": [0], "lower": [1, 0]}})
    >>> found["higher"], found["lower"], found["difference"]
    (-0.5, 0.25, -0.75)
    """
    both = [of for of in effects.values() if all(of[half] for half in HALVES)]
    if not both:
        return {"queries": 0} | dict.fromkeys((*HALVES, "difference", "low", "high", "p"))
    means = np.array([[np.mean(of[half]) for half in HALVES] for of in both])
    apart = means[:, 0] - means[:, 1]
    low, high = record.mean_interval(apart)
    return {
        "queries": len(both),
        **dict(zip(HALVES, map(float, means.mean(axis=0)), strict=True)),
        "difference": float(apart.mean()),
        "low": low,
        "high": high,
        "p": sign_flip_p(apart, resamples=record.RESAMPLES, seed=record.SEED),
    }


def page(kept: Mapping[str, Any]) -> str:
    """Return the page."""
    head = [
        "change",
        "ranker",
        "higher grades",
        "lower grades",
        "difference, 95 %",
        "p, Holm",
        "queries",
    ]
    rows = [
        [
            row["kind"],
            row["ranker"],
            *(record.number(row[name], digits=2, signed=True) for name in ("higher", "lower", "difference")),
            record.p_value(row["p_holm"]),
            str(row["queries"]),
        ]
        for row in kept["rows"]
    ]
    for cells, row in zip(rows, kept["rows"], strict=True):
        cells[4] += f" {record.interval((row['low'], row['high']), digits=2, signed=True)}".rstrip()
    probes = [
        f"- {kind}, {kept['pairs'][kind]:,} pairs: {', '.join(_stems(names))}"
        for kind, names in kept["probes"].items()
    ]
    judged = "; ".join(f"{name}, {facts}" for name, facts in kept["data"].items())
    return "\n".join(
        [
            "# Effect of changes by the grade of the passage",
            "",
            f"Mean effects over queries ({judged}): −1 if the original text is always preferred, +1 if the changed one "
            "is.",
            "",
            record.table(head, rows, left=2),
            "",
            "The probes, each for the higher and for the lower grades:",
            "",
            *probes,
            "",
            record.about(dict(kept)),
        ]
    )


if __name__ == "__main__":
    record.script(main)
