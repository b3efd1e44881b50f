"""Self-contained HTML pages of evaluations and comparisons.

A page loads nothing: style, script and drawings are inline, and its content security policy forbids other sources.
The template engine escapes all values, and the script holds no data. Equal results give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from termwise.display.html import render_page
from termwise.evaluate.charts import BINS, Axis, Side, histogram_bars, shares, side, sorted_differences
from termwise.evaluate.contrast import DEFAULT_CRITERION, Contrast, Criterion, Verdict
from termwise.evaluate.formats import NumberStyle, Value, format_value, with_minus_sign
from termwise.evaluate.measures import is_count
from termwise.evaluate.tables import (
    Table,
    best_averages,
    check_comparable,
    contrast_table,
    conventions,
    measure_style,
    methods,
)
from termwise.fast_dataclass import dataclass

if TYPE_CHECKING:
    from termwise.evaluate.comparison import Comparison
    from termwise.evaluate.evaluation import Evaluation


@dataclass(frozen=True)
class _Cell:
    """Cell of the averages or of the table of queries; `side` is its colour."""

    text: str
    side: Side = ""
    best: bool = False
    note: str = ""


def evaluation_html(
    evaluations: Sequence[Evaluation], *, title: str | None = None, texts: Mapping[str, str] | None = None
) -> str:
    """Write evaluations as one HTML page: averages, distributions over queries, every query.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        One or more evaluations with distinct names and the same measures.
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
        summary=list(_summary(evaluations, {})),
        marks=None,
        sections=(),
        spreads=[_spreads(measure, evaluations) for measure in evaluations[0].measures],
        **_query_table(evaluations, None, texts or {}),
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
        summary=list(_summary(evaluations, verdicts)),
        marks=f"{criterion.how}, p < {criterion.level:g}" if with_baseline else None,
        sections=[_section(comparison, measure, criterion, texts or {}) for measure in comparison.measures],
        spreads=(),
        **_query_table(evaluations, comparison, texts or {}),
        test_titles=tuple(_TEST_COLUMNS.values()),
        notes=(*conventions(evaluations), *methods(comparison, criterion=criterion)),
        baseline=comparison.baseline if with_baseline else None,
        confidence=f"{100 * comparison.confidence:g}%",
        p_title=", ".join(p_titles),
    )


def _formatted(value: Value, style: NumberStyle) -> str:
    return with_minus_sign(format_value(value, style))


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
) -> Iterator[tuple[str, list[_Cell], str]]:
    """Yield name, averages and number of queries of each run."""
    best = best_averages(evaluations)
    for evaluation in evaluations:
        cells = []
        for measure, mean in evaluation.means.items():
            text = format_value(mean, measure_style(measure))
            cell = _Cell(text, best=text == best.get(measure))
            if (evaluation.run, measure) in verdicts:
                contrast, verdict = verdicts[evaluation.run, measure]
                cell = replace(cell, side=_side(verdict), note=_formatted(contrast.difference, "difference"))
            cells.append(cell)
        yield evaluation.run, cells, format_value(len(evaluation.query_ids), "count")


def _section(
    comparison: Comparison, measure: str, criterion: Criterion, texts: Mapping[str, str]
) -> dict[str, object]:
    """Return the part of the page on one measure of a comparison."""
    contrasts = comparison.of(measure)
    bounds = ((c.difference, c.ci_low, c.ci_high) for c in contrasts)
    edges = [0.0, *(edge for three in bounds for edge in three if edge is not None)]
    low, high = min(edges), max(edges)
    margin = 0.06 * (high - low) or 0.01
    axis = Axis(low - margin, high + margin, 18.0, 222.0)
    largest = max(float(np.abs(contrast.differences).max()) for contrast in contrasts) or 1.0
    heights = Axis(-largest, largest, 132.0, 8.0)
    names = [f"{query_id} {texts.get(query_id, '')}".strip() for query_id in comparison.query_ids]
    return {
        "measure": measure,
        "baseline_mean": format_value(contrasts[0].baseline_mean, "measure"),
        "axis": axis,
        "rows": [
            {
                **_interval(contrast, axis),
                "contrast": contrast,
                "verdict": criterion.verdict(contrast),
                "side": _side(criterion.verdict(contrast)),
                "relative": _formatted(contrast.relative, "percent"),
                "p": format_value(contrast.p(criterion.test, criterion.correction), "p"),
                "shares": shares(contrast.wins, contrast.ties, contrast.losses),
                "plot": sorted_differences(contrast.differences, heights, names)
                if contrast.wins or contrast.losses
                else None,
            }
            for contrast in contrasts
        ],
        "tests": _cells(contrast_table(contrasts).pick(list(_TEST_COLUMNS))),
    }


def _interval(contrast: Contrast, axis: Axis) -> dict[str, str | None]:
    """Return a mean difference and its interval, as text and as positions on the axis."""
    low, high = contrast.ci_low, contrast.ci_high
    defined = low is not None and high is not None
    return {
        "difference": _formatted(contrast.difference, "difference"),
        "interval": f"{_formatted(low, 'difference')} to {_formatted(high, 'difference')}"
        if defined
        else "–",
        "point": axis.at(contrast.difference),
        "low": None if low is None else axis.at(low),
        "high": None if high is None else axis.at(high),
    }


def _side(verdict: Verdict) -> Side:
    return "" if verdict == "not significant" else verdict


_TEST_COLUMNS = {
    "run": "Run",
    "baseline": "Against",
    "ci_low": "Low",
    "ci_high": "High",
    "t": "t",
    "p_t": "p (t)",
    "p_t_bonferroni": "Bonferroni",
    "p_t_holm": "Holm",
    "p_permutation": "p (permutation)",
    "p_permutation_bonferroni": "Bonferroni",
    "p_permutation_holm": "Holm",
    "effect_size": "Cohen’s d_z",
}


def _cells(table: Table) -> tuple[tuple[str, ...], ...]:
    """Return the formatted rows, with a minus sign in numbers but not in names."""
    return tuple(
        tuple(
            cell if column.style == "text" else with_minus_sign(cell)
            for cell, column in zip(row, table.columns, strict=True)
        )
        for row in table.formatted()
    )


def _spreads(measure: str, evaluations: Sequence[Evaluation]) -> dict[str, object]:
    """Return the distributions of the values of one measure over the queries, by run."""
    top = max((float(e.values[measure].max(initial=0.0)) for e in evaluations), default=0.0)
    high = (top if is_count(measure) or top > 1 else 1.0) or 1.0
    counts = [np.histogram(e.values[measure], bins=BINS, range=(0.0, high))[0] for e in evaluations]
    tallest = max(1, *(int(c.max()) for c in counts))
    style = measure_style(measure)
    rows = []
    for evaluation, count in zip(evaluations, counts, strict=True):
        values = evaluation.values[measure]
        rows.append(
            {
                "run": evaluation.run,
                "mean": format_value(evaluation.means[measure], style),
                "median": format_value(float(np.median(values)) if len(values) else None, style),
                "zeros": int((values == 0).sum()),
                "bars": histogram_bars(count, high=high, tallest=tallest),
            }
        )
    return {"measure": measure, "high": f"{high:.4g}", "rows": rows}


def _query_table(
    evaluations: Sequence[Evaluation], comparison: Comparison | None, texts: Mapping[str, str]
) -> dict[str, object]:
    """Return the table of queries: columns of measures and differences, each with its measure and title, and rows."""
    columns: list[tuple[tuple[str, str], Mapping[str, float], NumberStyle]] = []
    for measure in evaluations[0].measures:
        for evaluation in evaluations:
            by_query = dict(zip(evaluation.query_ids, evaluation.values[measure].tolist(), strict=True))
            columns.append(((measure, evaluation.run), by_query, measure_style(measure)))
        if comparison is not None and comparison.pairs == "baseline":
            for contrast in comparison.of(measure):
                by_query = dict(zip(comparison.query_ids, contrast.differences.tolist(), strict=True))
                columns.append(((measure, f"Δ {contrast.run}"), by_query, "difference"))
    query_ids = dict.fromkeys(query_id for e in evaluations for query_id in e.query_ids)
    return {
        "columns": [title for title, _, _ in columns],
        "queries": [
            (
                query_id,
                texts.get(query_id, ""),
                [_query_cell(values.get(query_id), style) for _, values, style in columns],
            )
            for query_id in query_ids
        ],
        "texts": bool(texts),
    }


def _query_cell(value: float | None, style: NumberStyle) -> _Cell:
    text = _formatted(value, style)
    return _Cell(text) if style != "difference" or value is None else _Cell(text, side(value))
