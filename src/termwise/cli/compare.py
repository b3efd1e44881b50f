"""``termwise compare``: paired comparisons of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

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
from termwise.errors import UsageError


def command(
    runs: Annotated[list[Path], argument("RUN", "Run files; the first is the baseline.")],
    qrels: Annotated[str, option("--qrels FILE", "Relevance judgments, or ir_datasets:ID.")],
    measures: Measures = None,
    all_pairs: Annotated[
        bool, flag("--all-pairs", "Compare all pairs of runs, not only each run with the first.")
    ] = False,
    test: Annotated[str, option("--test t|permutation", "Paired test.")] = "permutation",
    correction: Annotated[
        str,
        option("--correction none|bonferroni|holm", "Correction of p-values for the number of comparisons."),
    ] = "holm",
    level: Annotated[float, option("--level P", "Significance level of corrected p-values.")] = 0.05,
    missing: Missing = "zero",
    ties: Ties = "ranking",
    exclude_seed: ExcludeSeed = None,
    queries: Annotated[Path | None, option("--queries FILE", "Query texts, shown in the HTML page.")] = None,
    confidence: Annotated[
        float, option("--confidence SHARE", "Confidence of the intervals, between 0 and 1.")
    ] = 0.95,
    resamples: Annotated[
        int,
        option(
            "--resamples N",
            "Number of sign flips of the test, and of bootstrap samples of the intervals.",
            min=100,
        ),
    ] = 10_000,
    seed: Annotated[int, option("--seed N", "Seed of the resampling.", min=0)] = 0,
    html: Annotated[Path | None, option("--html FILE", "Write one HTML page.")] = None,
    latex: Annotated[Path | None, option("--latex FILE", "Write a LaTeX table.")] = None,
    csv: Annotated[Path | None, option("--csv FILE", "Write the comparisons as CSV.")] = None,
    per_query: Annotated[
        bool, flag("--per-query", "With --json: also print the differences of every query.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare runs with paired tests.

    Prints corrected p-values, confidence intervals, wins and losses.

    Example: termwise compare --qrels test.qrels bm25.trec tilde.trec --test t --correction bonferroni
    """
    from termwise.collection import read_qrels, read_queries
    from termwise.evaluate import (
        Criterion,
        Evaluator,
        compare,
        comparison_html,
        comparison_latex,
        comparison_text,
        contrast_table,
        to_csv,
    )
    from termwise.evaluate.tables import power_note

    if queries is not None and html is None:
        raise UsageError("--queries applies with --html only", fixes=["add --html FILE"])
    if per_query and not as_json:
        raise UsageError(
            "--per-query applies with --json only; the HTML page shows every query", fixes=["add --json"]
        )
    criterion = Criterion(test=cast(Any, test), correction=cast(Any, correction), level=level)
    refuse_overwriting([html, latex, csv], [*runs, qrels, queries])
    evaluator = Evaluator(
        read_qrels(qrels),
        measures or DEFAULT_MEASURES,
        missing=choice("--missing", missing, ("zero", "skip")),
        exclude=exclusion(exclude_seed),
        ties=tie_rule(ties),
    )
    comparison = compare(
        [evaluator.evaluate(run) for run in read_runs(runs)],
        pairs="all" if all_pairs else "baseline",
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    if html is not None:
        texts = None if queries is None else {query.query_id: query.text for query in read_queries(queries)}
        write_text(html, comparison_html(comparison, criterion=criterion, texts=texts))
    if latex is not None:
        write_text(latex, comparison_latex(comparison, criterion=criterion))
    if csv is not None:
        write_text(csv, to_csv(contrast_table(comparison.contrasts)))
    if as_json:
        for line in comparison.to_json_lines(per_query=per_query, criterion=criterion):
            print_json_text(line)
        if (power := power_note(comparison, criterion)) is not None:
            note(power)
    else:
        print_text(comparison_text(comparison, criterion=criterion))
    for path in (html, latex, csv):
        if path is not None:
            note(f"{path}: written")
