"""Tables of results as plain text and CSV.

A :class:`Table` holds values, not strings. CSV writes numbers in full; text, LaTeX and HTML use the formats of
:mod:`termwise.evaluate.formats`. ``table.columns`` and ``table.formatted()`` serve other renderings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, final

from rich.cells import cell_len

from termwise.display.safe_text import legible_line
from termwise.errors import ParameterError, UnknownNameError
from termwise.evaluate.contrast import DEFAULT_CRITERION, Contrast, Criterion
from termwise.evaluate.formats import NumberStyle, Value, csv_lines, format_value
from termwise.evaluate.latency import Latency
from termwise.evaluate.measures import is_count
from termwise.evaluate.paired_tests import MAX_RESAMPLES
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix

if TYPE_CHECKING:
    from termwise.evaluate.comparison import Comparison
    from termwise.evaluate.evaluation import Evaluation


class Column(NamedTuple):
    """One column: its key in files, its title in reports, and the format of its values."""

    key: str
    title: str
    style: NumberStyle


@final
@dataclass(frozen=True)
class Table:
    """Rows of values under named columns.

    Parameters
    ----------
    columns : tuple of Column
        Columns with distinct keys.
    rows : tuple of tuple of str, int, float or None
        One value per column; None is undefined.

    Examples
    --------
    >>> table = Table((Column("run", "Run", "text"), Column("AP", "AP", "measure")), (("bm25", 0.25),))
    >>> print(to_text(table))
    Run       AP
    bm25  0.2500
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def formatted(self) -> tuple[tuple[str, ...], ...]:
        """Return the rows as text, each value in the style of its column."""
        return tuple(
            tuple(format_value(value, column.style) for value, column in zip(row, self.columns, strict=True))
            for row in self.rows
        )

    def pick(self, keys: Sequence[str]) -> Table:
        """Return the table with only these columns, in this order."""
        positions = {column.key: position for position, column in enumerate(self.columns)}
        for key in keys:
            if key not in positions:
                raise UnknownNameError.of("column", key, positions)
        chosen = [positions[key] for key in keys]
        return Table(
            tuple(self.columns[position] for position in chosen),
            tuple(tuple(row[position] for position in chosen) for row in self.rows),
        )


def to_text(table: Table) -> str:
    """Write a table as plain text: two spaces between columns, numbers right-aligned.

    A Chinese character counts as two columns of the terminal. There are no trailing spaces and no final newline.
    """
    lines = [tuple(column.title for column in table.columns), *table.formatted()]
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    written = []
    for line in lines:
        cells = []
        for cell, width, column in zip(line, widths, table.columns, strict=True):
            padding = " " * (width - cell_len(cell))
            cells.append(cell + padding if column.style == "text" else padding + cell)
        written.append("  ".join(cells).rstrip())
    return "\n".join(written)


def to_csv(table: Table) -> str:
    """Write a table as CSV, with the keys of the columns as header; see `termwise.evaluate.formats.csv_lines`.

    Examples
    --------
    >>> table = Table((Column("run", "Run", "text"), Column("p", "p", "p")), (("a,b", 0.0001), ("c", None)))
    >>> print(to_csv(table), end="")
    run,p
    "a,b",0.0001
    c,
    """
    return csv_lines([column.key for column in table.columns], table.rows)


def measure_style(measure: str) -> NumberStyle:
    """Return the format of the values of a measure."""
    return "total" if is_count(measure) else "measure"


def best_averages(evaluations: Sequence[Evaluation]) -> dict[str, str]:
    """Return the best average of each measure, formatted; empty for a single run."""
    best = {}
    for measure in evaluations[0].measures if len(evaluations) > 1 else ():
        known = [mean for e in evaluations if (mean := e.means[measure]) is not None]
        if known:
            best[measure] = format_value(max(known), measure_style(measure))
    return best


def _measure_columns(measures: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(name, name, measure_style(name)) for name in measures)


def summary_table(evaluations: Sequence[Evaluation]) -> Table:
    """Return one row per run: averages, and numbers of queries and documents.

    Columns: ``run``, the measures, ``queries``, ``missing``, ``unjudged``, ``without_relevant``,
    ``excluded_documents``, ``excluded_judgments``.
    """
    measures = evaluations[0].measures if evaluations else ()
    counts = [field.name for field in fields(evaluations[0].counts)] if evaluations else []
    return Table(
        (
            Column("run", "Run", "text"),
            *_measure_columns(measures),
            *(
                Column(key, "without results" if key == "missing" else key.replace("_", " "), "count")
                for key in counts
            ),
        ),
        tuple(
            (e.run, *(e.means[name] for name in measures), *(getattr(e.counts, key) for key in counts))
            for e in evaluations
        ),
    )


def query_table(evaluations: Sequence[Evaluation]) -> Table:
    """Return one row per run and query: ``run``, ``query_id`` and the measures."""
    measures = evaluations[0].measures if evaluations else ()
    return Table(
        (Column("run", "Run", "text"), Column("query_id", "Query", "text"), *_measure_columns(measures)),
        tuple(tuple(record.values()) for evaluation in evaluations for record in evaluation.rows()),
    )


_CONTRAST_COLUMNS = (
    Column("measure", "Measure", "text"),
    Column("baseline", "Baseline", "text"),
    Column("run", "Run", "text"),
    Column("queries", "n", "count"),
    Column("baseline_mean", "baseline mean", "measure"),
    Column("run_mean", "mean", "measure"),
    Column("difference", "diff", "difference"),
    Column("relative", "rel", "percent"),
    Column("ci_low", "low", "difference"),
    Column("ci_high", "high", "difference"),
    Column("t", "t", "statistic"),
    Column("p_t", "p(t)", "p"),
    Column("p_t_bonferroni", "Bonf", "p"),
    Column("p_t_holm", "Holm", "p"),
    Column("p_permutation", "p(perm)", "p"),
    Column("p_permutation_bonferroni", "Bonf", "p"),
    Column("p_permutation_holm", "Holm", "p"),
    Column("effect_size", "d_z", "statistic"),
    Column("wins", "win", "count"),
    Column("ties", "tie", "count"),
    Column("losses", "loss", "count"),
)


def contrast_table(contrasts: Sequence[Contrast]) -> Table:
    """Return one row per contrast, with the fields of :class:`~termwise.evaluate.Contrast` as columns."""
    return Table(
        _CONTRAST_COLUMNS,
        tuple(tuple(getattr(contrast, column.key) for column in _CONTRAST_COLUMNS) for contrast in contrasts),
    )


def latency_table(latencies: Mapping[str, Latency]) -> Table:
    """Return one row per run and part (encoding, scoring, total), with times in milliseconds.

    Parameters
    ----------
    latencies : mapping of str to Latency
        Latency by name of the run.
    """
    return Table(
        (
            Column("run", "Run", "text"),
            Column("part", "ms a query", "text"),
            Column("mean_ms", "mean", "ms"),
            Column("p50_ms", "p50", "ms"),
            Column("p99_ms", "p99", "ms"),
            Column("maximum_ms", "max", "ms"),
            Column("queries", "n", "count"),
        ),
        tuple(
            (name, part, summary.mean, summary.p50, summary.p99, summary.maximum, summary.n)
            for name, latency in latencies.items()
            for part, summary in (
                ("encoding", latency.encoding),
                ("scoring", latency.scoring),
                ("total", latency.total),
            )
        ),
    )


def check_comparable(evaluations: Sequence[Evaluation]) -> None:
    """Raise `ParameterError` for evaluations that cannot share a table: none, or with other measures or equal names."""
    if not evaluations:
        raise ParameterError("there is no evaluation to report", fixes=["pass at least one"])
    names = [evaluation.run for evaluation in evaluations]
    if len(set(names)) != len(names):
        raise ParameterError(
            "two evaluations in one table have the same name",
            facts=[("runs", ", ".join(names))],
            fixes=[Fix.python("Run(rankings, name=…)", "give each run a different name: {}")],
        )
    first = evaluations[0]
    for other in evaluations[1:]:
        if other.measures != first.measures:
            raise ParameterError(
                "evaluations in one table need the same measures",
                facts=[(first.run, ", ".join(first.measures)), (other.run, ", ".join(other.measures))],
            )


def conventions(evaluations: Sequence[Evaluation]) -> tuple[str, ...]:
    """Return notes on the averages: numbers of queries, rules that applied, ignored and excluded data.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        Evaluations with the same judgments and rules.

    Returns
    -------
    tuple of str
        One sentence per rule that applied.
    """
    first = evaluations[0]
    sizes = {len(evaluation.query_ids) for evaluation in evaluations}
    number = str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}"
    order = "equal scores in the order of the ranking"
    if first.ties == "trec_eval":
        order = "documents sorted as in trec_eval, by score and then by descending document id"
    notes = [f"Averages over {_counted(number, 'query', 'queries')}; {order}."]

    def listed(key: str) -> str | None:
        numbers = [getattr(evaluation.counts, key) for evaluation in evaluations]
        if not any(numbers):
            return None
        if len(set(numbers)) == 1:
            return str(numbers[0])
        return ", ".join(f"{legible_line(e.run)} {n}" for e, n in zip(evaluations, numbers, strict=True) if n)

    missing, unjudged, without_relevant = listed("missing"), listed("unjudged"), listed("without_relevant")
    if missing:
        rule = "count 0" if first.missing == "zero" else "are left out"
        notes.append(f"Judged queries without results {rule}: {missing}.")
    if without_relevant:
        notes.append(f"Queries without a relevant document stay in the average with 0: {without_relevant}.")
    if unjudged:
        notes.append(f"Queries without judgments are ignored: {unjudged}.")
    if first.exclusion != "none":
        which = "with the query's own id" if first.exclusion == "id" else "listed for a query"
        documents = listed("excluded_documents") or "0"
        judgments = listed("excluded_judgments") or "0"
        notes.append(
            f"Documents {which} are left out before any cutoff: from rankings {documents}, from judgments "
            f"{judgments}."
        )
    return tuple(notes)


def _counted(number: str, singular: str, plural: str) -> str:
    return f"{number} {singular if number == '1' else plural}"


def methods(comparison: Comparison, *, criterion: Criterion = DEFAULT_CRITERION) -> tuple[str, ...]:
    """Return notes on the statistics of a comparison: intervals, tests, corrections, verdicts.

    Parameters
    ----------
    comparison : Comparison
    criterion : Criterion, optional
        Criterion of the verdicts.
    """
    family = comparison.family
    few = len(comparison.query_ids) < 100
    baseline = legible_line(comparison.baseline)
    against = "for every pair of runs" if comparison.pairs == "all" else f"with {baseline} as the baseline"
    power, equal = power_note(comparison, criterion), _equal_differences_note(comparison)
    return (
        f"Differences are per query, {against}.",
        f"Intervals: {100 * comparison.confidence:g}% percentile bootstrap over queries, "
        f"{comparison.resamples} resamples, seed {comparison.seed}"
        + ("; for fewer than 100 queries they are somewhat too narrow." if few else "."),
        f"p(t): paired t-test; p(perm): paired sign-flip permutation test, {comparison.resamples} resamples; "
        "both two-sided.",
        f"Bonferroni and Holm over the {_counted(str(family), 'comparison', 'comparisons')} of one measure, "
        "separately for each test.",
        f"Verdict better or worse: {criterion.how}, p < {criterion.level:g}; otherwise not significant.",
        *([] if equal is None else [equal]),
        *([] if power is None else [power]),
    )


def _equal_differences_note(comparison: Comparison) -> str | None:
    """Return a note if the differences of a contrast do not vary, else None."""
    undefined = (each for each in comparison.contrasts if each.queries > 1 and each.p_t is None)
    if (first := next(undefined, None)) is None:
        return None
    return (
        f"No p(t), interval and d_z where all differences are equal, as for {legible_line(first.run)} "
        f"({first.measure}): their standard deviation is 0."
    )


def power_note(comparison: Comparison, criterion: Criterion) -> str | None:
    """Return a note if queries or resamples are too few for a significant difference, else None.

    With n queries, the permutation test has 2^n sign patterns, so that a two-sided p is at least 2 / 2^n; with sampled
    patterns it is at least 2 / (resamples + 1). Both corrections multiply the smallest p of a family by the size of the
    family. The p of a t-test has no such bound.
    """
    queries, resamples = len(comparison.query_ids), comparison.resamples
    if queries < 2:
        return "No difference can be significant: a test needs at least 2 queries."
    if criterion.test == "t":
        return None
    factor, kind = (2, "p") if criterion.correction == "none" else (2 * comparison.family, "corrected p")
    least = min(1.0, factor * 0.5**queries)
    if least >= criterion.level:
        needed = next(n for n in count(queries) if factor * 0.5**n < criterion.level)
        given, fix = f"{queries} queries", f"at least {needed} queries"
    else:
        least = min(1.0, factor / (resamples + 1))
        if least < criterion.level:
            return None
        most = factor / criterion.level
        given = f"{resamples} resamples"
        fix = f"at least {math.floor(most)}" if most <= MAX_RESAMPLES else "another test or level"
    return (
        f"No difference can be significant: with {given}, the smallest possible {kind} of the permutation test is "
        f"{least:.2g}. p < {criterion.level:g} needs {fix}."
    )


def evaluation_text(evaluations: Sequence[Evaluation], *, per_query: bool = False) -> str:
    """Write evaluations as plain text: averages and notes.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        One or more evaluations with the same measures.
    per_query : bool, optional
        Write the table of queries before the averages.
    """
    check_comparable(evaluations)
    summary = summary_table(evaluations).pick(["run", *evaluations[0].measures, "queries", "missing"])
    parts = [to_text(query_table(evaluations))] if per_query else []
    return "\n\n".join([*parts, to_text(summary), "\n".join(conventions(evaluations))])


def comparison_text(comparison: Comparison, *, criterion: Criterion = DEFAULT_CRITERION) -> str:
    """Write a comparison as plain text: averages, one table of contrasts per measure, and notes.

    If there is only one comparison per measure, the corrected p-values are left out.

    Parameters
    ----------
    comparison : Comparison
    criterion : Criterion, optional
        Criterion of the verdicts.
    """
    evaluations = comparison.evaluations
    parts = [to_text(summary_table(evaluations).pick(["run", *comparison.measures]))]
    several = comparison.family > 1
    keys = ["run"]
    keys += ["baseline"] if comparison.pairs == "all" else []
    keys += ["difference", "relative", "ci_low", "ci_high", "p_t"]
    keys += ["p_t_bonferroni", "p_t_holm"] if several else []
    keys += ["p_permutation"]
    keys += ["p_permutation_bonferroni", "p_permutation_holm"] if several else []
    keys += ["effect_size", "wins", "ties", "losses"]
    against = "" if comparison.pairs == "all" else f", against {legible_line(comparison.baseline)}"
    for measure in comparison.measures:
        contrasts = comparison.of(measure)
        numbers = contrast_table(contrasts).pick(keys)
        with_verdicts = Table(
            (*numbers.columns, Column("verdict", "verdict", "text")),
            tuple((*row, criterion.verdict(c)) for row, c in zip(numbers.rows, contrasts, strict=True)),
        )
        parts.append(f"{measure}{against}\n" + to_text(with_verdicts))
    parts.append("\n".join([*conventions(evaluations), *methods(comparison, criterion=criterion)]))
    return "\n\n".join(parts)
