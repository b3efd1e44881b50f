"""Tables of results, and their plain text and CSV.

A :class:`Table` holds values, not strings: CSV writes them in full, so that reading gives the same numbers;
text, LaTeX and HTML write them as :mod:`termwise.evaluate.number_format` says. Whoever wants to draw a table
another way takes ``table.columns`` and ``table.shown()``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

from rich.cells import cell_len

from termwise.errors import ParameterError, UnknownNameError
from termwise.evaluate.compare import Comparison, Contrast
from termwise.evaluate.criterion import USUAL, Criterion
from termwise.evaluate.evaluation import Evaluation
from termwise.evaluate.latency import Latency
from termwise.evaluate.measures import is_count
from termwise.evaluate.number_format import Kind, Value, shown


class Column(NamedTuple):
    """One column: its name in files, its title for people, and what its values are."""

    key: str
    title: str
    kind: Kind


@final
@dataclass(frozen=True)
class Table:
    """Rows of values under named columns.

    Parameters
    ----------
    columns : tuple of Column
        Keys are distinct.
    rows : tuple of tuple of str, int, float or None
        One value a column; None is undefined.

    Examples
    --------
    >>> table = Table((Column("run", "Run", "text"), Column("AP", "AP", "measure")), (("bm25", 0.25),))
    >>> print(to_text(table))
    Run       AP
    bm25  0.2500
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ParameterError(
                    "a row of a table has another number of values than there are columns",
                    facts=[("columns", len(self.columns)), ("values", len(row))],
                )

    def shown(self) -> tuple[tuple[str, ...], ...]:
        """Return the rows as people read them."""
        return tuple(
            tuple(shown(value, column.kind) for value, column in zip(row, self.columns, strict=True))
            for row in self.rows
        )

    def pick(self, keys: Sequence[str]) -> Table:
        """Return the same rows with only these columns, in this order."""
        places = {column.key: place for place, column in enumerate(self.columns)}
        for key in keys:
            if key not in places:
                raise UnknownNameError.of("column", key, places)
        chosen = [places[key] for key in keys]
        return Table(
            tuple(self.columns[place] for place in chosen),
            tuple(tuple(row[place] for place in chosen) for row in self.rows),
        )


def to_text(table: Table) -> str:
    """Lay a table out in plain text: two spaces between columns, numbers to the right.

    A Chinese character takes two columns of the terminal, and is given them. No trailing spaces and no final newline.
    """
    lines = [tuple(column.title for column in table.columns), *table.shown()]
    widths = [max(cell_len(line[place]) for line in lines) for place in range(len(table.columns))]
    left = [column.kind == "text" for column in table.columns]
    written = []
    for line in lines:
        cells = []
        for cell, width, is_left in zip(line, widths, left, strict=True):
            room = " " * (width - cell_len(cell))
            cells.append(cell + room if is_left else room + cell)
        written.append("  ".join(cells).rstrip())
    return "\n".join(written)


def to_csv(table: Table) -> str:
    r"""Write a table as CSV (RFC 4180 quoting, lines end in ``\n``, header of column keys).

    Floats are written in full; an undefined value is an empty field.

    Examples
    --------
    >>> table = Table((Column("run", "Run", "text"), Column("p", "p", "p")), (("a,b", 0.0001), ("c", None)))
    >>> print(to_csv(table), end="")
    run,p
    "a,b",0.0001
    c,
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    writer.writerows(
        ["" if value is None else repr(value) if isinstance(value, float) else value for value in row]
        for row in table.rows
    )
    return buffer.getvalue()


def _measure_columns(measures: Iterable[str], *, totals: bool) -> tuple[Column, ...]:
    return tuple(Column(name, name, "total" if totals and is_count(name) else "measure") for name in measures)


def summary_table(evaluations: Sequence[Evaluation]) -> Table:
    """One row a run: its averages, and how many queries they are over.

    Columns: ``run``, the measures, ``queries``, ``missing``, ``unjudged``, ``without_relevant``,
    ``excluded_documents``, ``excluded_judgments``.
    """
    counts = (
        "queries",
        "missing",
        "unjudged",
        "without_relevant",
        "excluded_documents",
        "excluded_judgments",
    )
    measures = evaluations[0].measures if evaluations else ()
    return Table(
        (
            Column("run", "Run", "text"),
            *_measure_columns(measures, totals=True),
            *(Column(key, key.replace("_", " "), "count") for key in counts),
        ),
        tuple(
            (e.run, *(e.means[name] for name in measures), *(getattr(e.counts, key) for key in counts))
            for e in evaluations
        ),
    )


def query_table(evaluations: Sequence[Evaluation]) -> Table:
    """One row a run and query: ``run``, ``query_id`` and the measures."""
    measures = evaluations[0].measures if evaluations else ()
    return Table(
        (
            Column("run", "Run", "text"),
            Column("query_id", "Query", "text"),
            *_measure_columns(measures, totals=True),
        ),
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
    """One row a contrast, one column a field of :class:`~termwise.evaluate.Contrast` in its order."""
    return Table(
        _CONTRAST_COLUMNS,
        tuple(tuple(getattr(contrast, column.key) for column in _CONTRAST_COLUMNS) for contrast in contrasts),
    )


def difference_table(comparison: Comparison) -> Table:
    """One row a contrast and query: both values and their difference.

    Columns: ``measure``, ``baseline``, ``run``, ``query_id``, ``baseline_value``, ``run_value``,
    ``difference``.
    """
    by_name = {evaluation.run: evaluation for evaluation in comparison.evaluations}
    return Table(
        (
            Column("measure", "Measure", "text"),
            Column("baseline", "Baseline", "text"),
            Column("run", "Run", "text"),
            Column("query_id", "Query", "text"),
            Column("baseline_value", "baseline", "measure"),
            Column("run_value", "run", "measure"),
            Column("difference", "diff", "difference"),
        ),
        tuple(
            (contrast.measure, contrast.baseline, contrast.run, query_id, before, after, difference)
            for contrast in comparison.contrasts
            for query_id, before, after, difference in zip(
                comparison.query_ids,
                by_name[contrast.baseline].values[contrast.measure].tolist(),
                by_name[contrast.run].values[contrast.measure].tolist(),
                contrast.differences.tolist(),
                strict=True,
            )
        ),
    )


def latency_table(latencies: Mapping[str, Latency]) -> Table:
    """One row a run and part (encoding, scoring, total) with times in milliseconds.

    Parameters
    ----------
    latencies : mapping of str to Latency
        By name of the run.
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


def check_together(evaluations: Sequence[Evaluation]) -> None:
    """Refuse evaluations that cannot share a table: none at all, or with different measures or names.

    Raises
    ------
    ParameterError
        Naming the runs at odds.
    """
    if not evaluations:
        raise ParameterError("there is no evaluation to report", fixes=["pass at least one"])
    names = [evaluation.run for evaluation in evaluations]
    if len(set(names)) != len(names):
        raise ParameterError(
            "two evaluations in one table have the same name",
            facts=[("runs", ", ".join(names))],
            fixes=["give each run a name of its own: Run(rankings, name=…)"],
        )
    first = evaluations[0]
    for other in evaluations[1:]:
        if other.measures != first.measures:
            raise ParameterError(
                "evaluations in one table need the same measures",
                facts=[(first.run, ", ".join(first.measures)), (other.run, ", ".join(other.measures))],
            )


def conventions(evaluations: Sequence[Evaluation]) -> tuple[str, ...]:
    """Say in sentences what the averages are over and what was left out or ignored.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        All made with the same judgments and rules.

    Returns
    -------
    tuple of str
        One sentence each, without those that would report nothing.
    """
    first = evaluations[0]
    sizes = {len(evaluation.query_ids) for evaluation in evaluations}
    number = str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}"
    notes = [f"Averages over {_counted(number, 'query', 'queries')}; ranks as ranked, ties included."]

    def listed(key: str) -> str | None:
        numbers = [getattr(evaluation.counts, key) for evaluation in evaluations]
        if not any(numbers):
            return None
        if len(set(numbers)) == 1:
            return str(numbers[0])
        return ", ".join(f"{e.run} {n}" for e, n in zip(evaluations, numbers, strict=True))

    missing, unjudged, barren = listed("missing"), listed("unjudged"), listed("without_relevant")
    if missing:
        rule = "count 0" if first.missing == "zero" else "are left out"
        notes.append(f"Judged queries that are not in a run {rule}: {missing}.")
    if barren:
        notes.append(f"Queries without a relevant document stay in the average with 0: {barren}.")
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


def _counted(number: str, one: str, many: str) -> str:
    return f"{number} {one if number == '1' else many}"


def methods(comparison: Comparison, *, criterion: Criterion = USUAL) -> tuple[str, ...]:
    """Say in sentences how intervals, p-values and verdicts of a comparison were made.

    Parameters
    ----------
    comparison : Comparison
        What is reported.
    criterion : Criterion, optional
        When a run is called better or worse.
    """
    family = comparison.family
    few = len(comparison.query_ids) < 100
    against = "every pair of runs" if comparison.pairs == "all" else f"{comparison.baseline} as the baseline"
    out_of_reach = unreachable(comparison, criterion)
    return (
        f"Differences are per query, {against}.",
        f"Intervals: {100 * comparison.confidence:g}% percentile bootstrap over queries, "
        f"{comparison.resamples} resamples, seed {comparison.seed}"
        + ("; over fewer than 100 queries they come out somewhat narrow." if few else "."),
        f"p(t): paired t-test; p(perm): paired sign-flip permutation test, {comparison.resamples} resamples; "
        "both two-sided.",
        f"Bonferroni and Holm over the {_counted(str(family), 'comparison', 'comparisons')} of one measure, "
        "for each test apart.",
        f"Called better or worse: {criterion.how}, p < {criterion.level:g}; otherwise a difference was not shown.",
        *([] if out_of_reach is None else [out_of_reach]),
    )


def unreachable(comparison: Comparison, criterion: Criterion) -> str | None:
    """Say that no difference could be shown, whatever the runs, where the resamples are too few; None elsewhere."""
    family, resamples = comparison.family, comparison.resamples
    least = criterion.least_p(resamples=resamples, comparisons=family)
    if least < criterion.level:
        return None
    needed = criterion.least_resamples(family)
    way = "another test or level" if needed is None else f"{needed} at least"
    return (
        f"No difference can be shown: with {resamples} resamples no corrected p is below {least:.2g}. "
        f"p < {criterion.level:g} takes {way}."
    )


def evaluation_text(evaluations: Sequence[Evaluation], *, per_query: bool = False) -> str:
    """Lay evaluations out for a terminal: averages, on request every query, and what they are about.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        At least one, all with the same measures.
    per_query : bool, optional
        Whether to put the table of queries before the averages.
    """
    check_together(evaluations)
    summary = summary_table(evaluations).pick(["run", *evaluations[0].measures, "queries", "missing"])
    parts = [to_text(query_table(evaluations))] if per_query else []
    return "\n\n".join([*parts, to_text(summary), "\n".join(conventions(evaluations))])


def comparison_text(comparison: Comparison, *, criterion: Criterion = USUAL) -> str:
    """Lay a comparison out for a terminal: averages, then one table of contrasts a measure, then the notes.

    With a single comparison a measure there is nothing to correct, and the corrected columns are left out.

    Parameters
    ----------
    comparison : Comparison
        What to show.
    criterion : Criterion, optional
        When a run is called better or worse.
    """
    evaluations = comparison.evaluations
    parts = [to_text(summary_table(evaluations).pick(["run", *comparison.measures]))]
    keys = ["run", "difference", "relative", "ci_low", "ci_high", "p_t", "p_permutation"]
    keys += ["effect_size", "wins", "ties", "losses"]
    if comparison.pairs == "all":
        keys.insert(1, "baseline")
    if comparison.family > 1:
        place = keys.index("p_t")
        keys[place + 1 : place + 1] = ["p_t_bonferroni", "p_t_holm"]
        place = keys.index("p_permutation")
        keys[place + 1 : place + 1] = ["p_permutation_bonferroni", "p_permutation_holm"]
    for measure in comparison.measures:
        against = "" if comparison.pairs == "all" else f", against {comparison.baseline}"
        contrasts = comparison.of(measure)
        numbers = contrast_table(contrasts).pick(keys)
        judged = Table(
            (*numbers.columns, Column("verdict", "verdict", "text")),
            tuple((*row, criterion.verdict(one)) for row, one in zip(numbers.rows, contrasts, strict=True)),
        )
        parts.append(f"{measure}{against}\n" + to_text(judged))
    parts.append("\n".join([*conventions(evaluations), *methods(comparison, criterion=criterion)]))
    return "\n\n".join(parts)
