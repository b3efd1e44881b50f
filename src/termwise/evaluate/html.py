"""Self-contained HTML pages of evaluations and comparisons.

A page loads nothing: style, script and drawings are inline, and its content security policy forbids other sources.
The template engine escapes all values, and the script holds no data. Equal results give equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from termwise.display.html import render_page
from termwise.evaluate.charts import (
    Axis,
    Bar,
    Plot,
    Side,
    histogram,
    histogram_bars,
    shares,
    side,
    sorted_differences,
)
from termwise.evaluate.comparison import Comparison
from termwise.evaluate.contrast import Contrast
from termwise.evaluate.criterion import DEFAULT_CRITERION, Criterion, Verdict
from termwise.evaluate.evaluation import Evaluation
from termwise.evaluate.formats import NumberStyle, Value, format_value, with_minus_sign
from termwise.evaluate.measures import is_count
from termwise.evaluate.tables import (
    Table,
    check_comparable,
    contrast_table,
    conventions,
    methods,
    summary_table,
)


@dataclass(frozen=True)
class _Row:
    """One contrast, formatted."""

    contrast: Contrast
    verdict: str
    side: Side
    difference: str
    relative: str
    interval: str
    p: str
    point: str
    low: str | None
    high: str | None
    shares: tuple[Bar, ...]
    plot: Plot | None


@dataclass(frozen=True)
class _Section:
    """One measure of a comparison."""

    measure: str
    baseline_mean: str
    axis: Axis
    rows: tuple[_Row, ...]
    tests: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Spread:
    """Distribution of the per-query values of one run under one measure."""

    run: str
    mean: str
    median: str
    zeros: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class _Spreads:
    """Distributions of all runs under one measure."""

    measure: str
    low: str
    high: str
    rows: tuple[_Spread, ...]


@dataclass(frozen=True)
class _Cell:
    text: str
    side: Side = ""
    best: bool = False
    note: str = ""


@dataclass(frozen=True)
class _QueryColumn:
    measure: str
    title: str


@dataclass(frozen=True)
class _QueryRow:
    query_id: str
    text: str
    cells: tuple[_Cell, ...]


def evaluation_html(
    evaluations: Sequence[Evaluation],
    *,
    title: str | None = None,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Write evaluations as one HTML page: averages, distributions over queries, every query.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        At least one, with distinct names and the same measures.
    title : str, optional
        Heading of the page.
    texts : mapping of str to str, optional
        Texts of the queries by id.

    Returns
    -------
    str
        The whole document, to be written as UTF-8.

    Raises
    ------
    ParameterError
        If there is no evaluation, two have the same name, or their measures differ.
    """
    check_comparable(evaluations)
    names = ", ".join(evaluation.run for evaluation in evaluations)
    return render_page(
        "termwise.evaluate",
        "report.html.j2",
        title=title or f"Evaluation of {names}",
        lead=_lead(evaluations),
        summary=_summary(evaluations, {}),
        marks=None,
        sections=(),
        spreads=tuple(_spreads(measure, evaluations) for measure in evaluations[0].measures),
        columns=_query_columns(evaluations, None),
        queries=_query_rows(evaluations, None, texts or {}),
        texts=bool(texts),
        test_titles=(),
        notes=conventions(evaluations),
        baseline=None,
        confidence="",
        p_title="",
    )


def comparison_html(
    comparison: Comparison,
    *,
    criterion: Criterion = DEFAULT_CRITERION,
    title: str | None = None,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Write a comparison as one HTML page: averages, intervals, per-query differences, every test and query.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    criterion : Criterion, optional
        Criterion of the verdicts; the page lists the p-values of all tests.
    title, texts
        As in :func:`evaluation_html`.

    Returns
    -------
    str
        The whole document, to be written as UTF-8.
    """
    evaluations = comparison.evaluations
    with_baseline = comparison.pairs == "baseline"
    verdicts = {(c.run, c.measure): (c, criterion.verdict(c)) for c in comparison.contrasts if with_baseline}
    p_titles: list[str] = ["t-test" if criterion.test == "t" else criterion.test]
    if criterion.correction != "none":
        p_titles.append(criterion.correction.capitalize())
    return render_page(
        "termwise.evaluate",
        "report.html.j2",
        title=title or "Comparison of " + ", ".join(comparison.runs),
        lead=_lead(evaluations),
        summary=_summary(evaluations, verdicts),
        marks=f"{criterion.how}, p < {criterion.level:g}" if with_baseline else None,
        sections=tuple(
            _section(comparison, measure, criterion, texts or {}) for measure in comparison.measures
        ),
        spreads=(),
        columns=_query_columns(evaluations, comparison),
        queries=_query_rows(evaluations, comparison, texts or {}),
        texts=bool(texts),
        test_titles=_TEST_TITLES,
        notes=(*conventions(evaluations), *methods(comparison, criterion=criterion)),
        baseline=comparison.baseline if with_baseline else None,
        confidence=f"{100 * comparison.confidence:g}%",
        p_title=", ".join(p_titles),
    )


def _formatted(value: Value, style: NumberStyle) -> str:
    return with_minus_sign(format_value(value, style))


def _measure_style(measure: str) -> NumberStyle:
    return "total" if is_count(measure) else "measure"


def _lead(evaluations: Sequence[Evaluation]) -> str:
    sizes = sorted({len(evaluation.query_ids) for evaluation in evaluations})
    queries = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    runs = len(evaluations)
    measures = ", ".join(evaluations[0].measures)
    return (
        f"{runs} {'run' if runs == 1 else 'runs'} · {queries} {'query' if queries == '1' else 'queries'}"
        f" · {measures}"
    )


def _summary(
    evaluations: Sequence[Evaluation], verdicts: Mapping[tuple[str, str], tuple[Contrast, Verdict]]
) -> tuple[tuple[str, tuple[_Cell, ...], str], ...]:
    """Return name, averages and number of queries of each run."""
    table = summary_table(evaluations)
    formatted = table.formatted()
    best = []
    for position, column in enumerate(table.columns):
        known = [value for row in table.rows if isinstance(value := row[position], float)]
        best.append(format_value(max(known), column.style) if len(known) > 1 else None)
    rows = []
    for evaluation, cells in zip(evaluations, formatted, strict=True):
        averages = []
        for position, measure in enumerate(evaluation.measures, start=1):
            cell = _Cell(cells[position], best=cells[position] == best[position])
            if (evaluation.run, measure) in verdicts:
                contrast, verdict = verdicts[evaluation.run, measure]
                difference = _formatted(contrast.difference, "difference")
                cell = replace(cell, side=_side(verdict), note=difference)
            averages.append(cell)
        rows.append((evaluation.run, tuple(averages), format_value(len(evaluation.query_ids), "count")))
    return tuple(rows)


def _section(
    comparison: Comparison,
    measure: str,
    criterion: Criterion,
    texts: Mapping[str, str],
) -> _Section:
    contrasts = comparison.of(measure)
    edges = [0.0]
    for contrast in contrasts:
        edges += [x for x in (contrast.difference, contrast.ci_low, contrast.ci_high) if x is not None]
    low, high = min(edges), max(edges)
    margin = 0.06 * (high - low) or 0.01
    axis = Axis(low - margin, high + margin, 18.0, 222.0)
    largest = max(float(np.abs(contrast.differences).max()) for contrast in contrasts) or 1.0
    heights = Axis(-largest, largest, 132.0, 8.0)
    names = [f"{query_id} {texts.get(query_id, '')}".strip() for query_id in comparison.query_ids]
    rows = []
    for contrast in contrasts:
        verdict = criterion.verdict(contrast)
        interval = "–"
        if contrast.ci_low is not None and contrast.ci_high is not None:
            interval = (
                f"{_formatted(contrast.ci_low, 'difference')} to {_formatted(contrast.ci_high, 'difference')}"
            )
        rows.append(
            _Row(
                contrast=contrast,
                verdict=verdict,
                side=_side(verdict),
                difference=_formatted(contrast.difference, "difference"),
                relative=_formatted(contrast.relative, "percent"),
                interval=interval,
                p=format_value(contrast.p(criterion.test, criterion.correction), "p"),
                point=axis.at(contrast.difference),
                low=None if contrast.ci_low is None else axis.at(contrast.ci_low),
                high=None if contrast.ci_high is None else axis.at(contrast.ci_high),
                shares=shares(contrast.wins, contrast.ties, contrast.losses),
                plot=sorted_differences(contrast.differences, heights, names)
                if contrast.wins or contrast.losses
                else None,
            )
        )
    return _Section(
        measure,
        format_value(contrasts[0].baseline_mean, "measure"),
        axis,
        tuple(rows),
        _cells(contrast_table(contrasts).pick([key for key, _ in _TEST_COLUMNS])),
    )


def _side(verdict: Verdict) -> Side:
    return "" if verdict == "not shown" else verdict


_TEST_COLUMNS = (
    ("run", "Run"),
    ("baseline", "Against"),
    ("ci_low", "Low"),
    ("ci_high", "High"),
    ("t", "t"),
    ("p_t", "p (t)"),
    ("p_t_bonferroni", "Bonferroni"),
    ("p_t_holm", "Holm"),
    ("p_permutation", "p (permutation)"),
    ("p_permutation_bonferroni", "Bonferroni"),
    ("p_permutation_holm", "Holm"),
    ("effect_size", "Cohen’s d_z"),
)

_TEST_TITLES = tuple(title for _, title in _TEST_COLUMNS)


def _cells(table: Table) -> tuple[tuple[str, ...], ...]:
    """Return the formatted rows, with a minus sign in numbers but not in names."""
    return tuple(
        tuple(
            cell if column.style == "text" else with_minus_sign(cell)
            for cell, column in zip(row, table.columns, strict=True)
        )
        for row in table.formatted()
    )


def _spreads(measure: str, evaluations: Sequence[Evaluation]) -> _Spreads:
    top = max((float(e.values[measure].max(initial=0.0)) for e in evaluations), default=0.0)
    high = top if is_count(measure) or top > 1 else 1.0
    high = high or 1.0
    counts = [histogram(e.values[measure], high) for e in evaluations]
    tallest = max(1, *(int(c.max()) for c in counts))
    style = _measure_style(measure)
    rows = []
    for evaluation, count in zip(evaluations, counts, strict=True):
        values = evaluation.values[measure]
        rows.append(
            _Spread(
                evaluation.run,
                format_value(evaluation.means[measure], style),
                format_value(float(np.median(values)) if len(values) else None, style),
                int((values == 0).sum()),
                histogram_bars(count, high=high, tallest=tallest),
            )
        )
    return _Spreads(measure, "0", f"{high:.4g}", tuple(rows))


def _query_columns(
    evaluations: Sequence[Evaluation], comparison: Comparison | None
) -> tuple[_QueryColumn, ...]:
    columns = []
    for measure in evaluations[0].measures:
        columns += [_QueryColumn(measure, evaluation.run) for evaluation in evaluations]
        columns += [_QueryColumn(measure, f"Δ {c.run}") for c in _baseline_contrasts(comparison, measure)]
    return tuple(columns)


def _baseline_contrasts(comparison: Comparison | None, measure: str) -> tuple[Contrast, ...]:
    """Return the contrasts with columns in the table of queries: those with a baseline, not all pairs."""
    if comparison is None or comparison.pairs == "all":
        return ()
    return comparison.of(measure)


def _query_rows(
    evaluations: Sequence[Evaluation], comparison: Comparison | None, texts: Mapping[str, str]
) -> tuple[_QueryRow, ...]:
    query_ids = dict.fromkeys(query_id for e in evaluations for query_id in e.query_ids)
    columns: list[tuple[Mapping[str, float], NumberStyle]] = []
    for measure in evaluations[0].measures:
        for evaluation in evaluations:
            values = evaluation.values[measure].tolist()
            columns.append((dict(zip(evaluation.query_ids, values, strict=True)), _measure_style(measure)))
        for contrast in _baseline_contrasts(comparison, measure):
            values = contrast.differences.tolist()
            columns.append((dict(zip(evaluations[0].query_ids, values, strict=True)), "difference"))
    return tuple(
        _QueryRow(
            query_id,
            texts.get(query_id, ""),
            tuple(_query_cell(values.get(query_id), style) for values, style in columns),
        )
        for query_id in query_ids
    )


def _query_cell(value: float | None, style: NumberStyle) -> _Cell:
    text = _formatted(value, style)
    return _Cell(text) if style != "difference" or value is None else _Cell(text, side(value))
