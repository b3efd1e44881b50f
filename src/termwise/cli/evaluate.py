"""``termwise evaluate``: measures of runs against judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from termwise.cli.judged import exclusion, read_runs, tie_rule
from termwise.cli.options import (
    DEFAULT_MEASURES,
    ExcludeSeed,
    JsonFlag,
    Measures,
    Missing,
    Ties,
    argument,
    choice,
    flag,
    option,
)
from termwise.cli.terminal import note, print_json_text, print_text, refuse_overwriting, write_text


def command(
    runs: Annotated[list[Path], argument("RUN", "Run files.")],
    qrels: Annotated[str, option("--qrels FILE", "Relevance judgments, or ir_datasets:ID.")],
    measures: Measures = None,
    per_query: Annotated[bool, flag("--per-query", "Also print every query.")] = False,
    missing: Missing = "zero",
    ties: Ties = "ranking",
    exclude_seed: ExcludeSeed = None,
    html: Annotated[Path | None, option("--html FILE", "Write one HTML page.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Evaluate runs against judgments.

    For example:

    termwise evaluate bm25.trec tilde.trec --qrels test.qrels -m nDCG@10 -m R@1000
    """
    from termwise.collection import read_qrels
    from termwise.evaluate import Evaluator, evaluation_html, evaluation_text

    refuse_overwriting([html], [*runs, qrels])
    evaluator = Evaluator(
        read_qrels(qrels),
        measures or DEFAULT_MEASURES,
        missing=choice("--missing", missing, ("zero", "skip")),
        exclude=exclusion(exclude_seed),
        ties=tie_rule(ties),
    )
    evaluations = [evaluator.evaluate(run) for run in read_runs(runs)]
    if html is not None:
        write_text(html, evaluation_html(evaluations))
    if as_json:
        for evaluation in evaluations:
            for line in evaluation.to_json_lines(per_query=per_query):
                print_json_text(line)
    else:
        print_text(evaluation_text(evaluations, per_query=per_query))
    if html is not None:
        note(f"{html}: written")
