"""``termwise evaluate``: how good runs are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from termwise.cli.judged import exclusion, missing_rule, read_runs
from termwise.cli.options import DEFAULT_MEASURES, ExcludeSeed, JsonFlag, Measures, Missing


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run files.", show_default=False)],
    qrels: Annotated[
        str,
        typer.Option(
            "--qrels", metavar="FILE", help="Relevance judgments, or ir_datasets:ID.", show_default=False
        ),
    ],
    measures: Measures = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Also show every query.")] = False,
    missing: Missing = "zero",
    exclude_seed: ExcludeSeed = None,
    as_json: JsonFlag = False,
) -> None:
    """Evaluate runs against judgments."""
    from termwise.collection import read_qrels
    from termwise.evaluate import Evaluator, evaluation_text

    evaluator = Evaluator(
        read_qrels(qrels),
        measures or DEFAULT_MEASURES,
        missing=missing_rule(missing),
        exclude=exclusion(exclude_seed),
    )
    evaluations = [evaluator.evaluate(run) for run in read_runs(runs)]
    if as_json:
        for evaluation in evaluations:
            for line in evaluation.to_json_lines(per_query=per_query):
                print(line)
    else:
        print(evaluation_text(evaluations, per_query=per_query))
