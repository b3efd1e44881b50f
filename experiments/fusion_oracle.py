"""Value of the best interpolation share of each query, an upper bound for choosing shares per query.

Question
    One share of the first run serves all queries of an interpolation. What would the best share of each query be
    worth, chosen with the judgments?
Table
    One line per measure: the mean of each run alone, of the best share for all queries, and of the best share of each
    query; then the best shares themselves. With ``--json`` also every query, and with ``--figure`` the value of every
    share and a histogram of the best ones.
Input
    Two run files and the judgments of their queries. Nothing is stored in ``results``: the figures are those of the
    given runs.

Run it with ``python experiments/fusion_oracle.py RUN RUN --qrels FILE --missing minimum --figure shares.svg``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import record
from share_figure import FORMATS, ShareCurve, figure_bytes, shares_figure

from termwise.collection import read_qrels, read_run
from termwise.errors import UnknownNameError
from termwise.evaluate import Column, Table, to_text
from termwise.fusion import Oracle, oracle
from termwise.fusion.candidates import FusedDocuments, MissingScore
from termwise.fusion.oracle import EqualShares, OracleMethod
from termwise.fusion.scaling import Scaling

MEANS = {"first": "first run", "second": "second run", "fixed": "one share", "oracle": "per query"}
SHARES = {"alpha": "one share", "mean alpha, others": "mean"}
QUARTILES = ("25 %", "50 %", "75 %")
COUNTS = {"best at 0": "at 0", "best at 1": "at 1", "indifferent": "any"}


def main(words: Sequence[str] | None = None) -> None:
    """Print the table or JSON lines, and write the figures."""
    arguments = _arguments().parse_args(words)
    formats = {path: path.suffix.removeprefix(".") for path in arguments.figure}
    for suffix in formats.values():
        if suffix not in FORMATS:
            raise UnknownNameError.of("kind of figure", suffix, FORMATS)
    runs = [read_run(path) for path in arguments.runs]
    qrels = list(read_qrels(arguments.qrels))
    results = [
        oracle(
            runs,
            qrels,
            method=arguments.method,
            ties=arguments.ties,
            measure=measure,
            missing=arguments.missing,
            scaling=arguments.scaling,
            documents=arguments.documents,
        )
        for measure in arguments.measure or ["nDCG@10"]
    ]
    first, second = (run.name for run in runs)
    for path, suffix in formats.items():
        figure = shares_figure([ShareCurve.of(result) for result in results], first=first, second=second)
        path.write_bytes(figure_bytes(figure, suffix))
    if arguments.json:
        for result in results:
            print(json.dumps({"runs": [first, second], **as_json(result)}))
    else:
        print(as_text(results))


def as_json(result: Oracle) -> dict[str, Any]:
    """Return the summary, the mean of every share, and every query."""
    names = ("alpha", "oracle", "fixed", "first", "second", "indifferent")
    columns = (result.alphas, result.best, result.fixed, result.first, result.second, result.indifferent)
    rows = zip(result.query_ids, *(column.tolist() for column in columns), strict=True)
    return {
        **result.summary(),
        "curve": list(zip(result.places.tolist(), result.means.tolist(), strict=True)),
        "each": [{"query": query_id, **dict(zip(names, values, strict=True))} for query_id, *values in rows],
    }


def as_text(results: Sequence[Oracle]) -> str:
    """Return the tables of means and of shares, with notes."""
    rows = [result.summary() for result in results]
    means = Table(
        (Column("measure", "mean", "text"), *(Column(key, title, "measure") for key, title in MEANS.items())),
        tuple((row["measure"], *(row[key] for key in MEANS)) for row in rows),
    )
    shares = Table(
        (
            Column("measure", "share of the first run", "text"),
            *(Column(key, title, "measure") for key, title in SHARES.items()),
            *(Column(title, title, "measure") for title in QUARTILES),
            *(Column(key, title, "count") for key, title in COUNTS.items()),
        ),
        tuple(
            (
                row["measure"],
                *(row[key] for key in SHARES),
                *(row["quartiles, others"] or (None,) * len(QUARTILES)),
                *(row[key] for key in COUNTS),
            )
            for row in rows
        ),
    )
    notes = (
        f"{results[0].judged:,} judged queries. at 0, at 1: queries for which one run alone is as good as any share.",
        "any: queries with the same value for all shares; mean and quartiles are over the others.",
        f"Of equally good shares, the {results[0].ties} is reported.",
    )
    return "\n".join([to_text(means), "", to_text(shares), "", *notes])


def _arguments() -> argparse.ArgumentParser:
    parser = record.parser(__doc__)
    parser.add_argument("runs", nargs=2, type=Path, metavar="RUN")
    parser.add_argument("--qrels", required=True, help="judgments")
    parser.add_argument("--measure", action="append", help="repeatable; nDCG@10 by default")
    parser.add_argument("--method", choices=get_args(OracleMethod), default="sweep")
    parser.add_argument("--ties", choices=get_args(EqualShares), default="nearest")
    parser.add_argument("--missing", choices=get_args(MissingScore), required=True)
    parser.add_argument("--scaling", choices=get_args(Scaling), default="z")
    parser.add_argument("--documents", choices=get_args(FusedDocuments), default="first")
    parser.add_argument(
        "--figure", action="append", type=Path, default=[], help=".svg, .png or .pdf; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per measure, with every query")
    return parser


if __name__ == "__main__":
    record.script(main)
