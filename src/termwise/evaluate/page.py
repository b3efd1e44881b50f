"""Results as one self-contained HTML page: tables, intervals, per-query differences.

The page loads nothing: style, script and drawings are inline, and its content security policy forbids the
rest. All values are escaped by the template engine; the script reads the tables of the page and holds no
data. The same results give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from termwise.evaluate.compare import Comparison, Contrast, Correction, Test
from termwise.evaluate.evaluation import Evaluation
from termwise.evaluate.formats import Kind, shown
from termwise.evaluate.latex import CORRECTION_NAMES, TEST_NAMES
from termwise.evaluate.measures import is_count
from termwise.evaluate.report import (
    Table,
    check_together,
    contrast_table,
    conventions,
    latency_table,
    methods,
    significance,
    summary_table,
)
from termwise.evaluate.timing import Latency

_BARS = 400  # up to so many queries every bar of a plot is an element with a tooltip


@dataclass(frozen=True)
class _Tick:
    at: str
    label: str


@dataclass(frozen=True)
class _Axis:
    """A scale from data to pixels, and its round ticks."""

    low: float
    high: float
    start: float
    end: float
    kind: Kind

    def place(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def at(self, value: float) -> str:
        return _pixels(self.place(value))

    @property
    def ticks(self) -> tuple[_Tick, ...]:
        step = _round_step((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        sign = "+" if self.kind == "difference" else ""
        return tuple(
            _Tick(self.at(n * step), "0" if n == 0 else _minus(f"{n * step:{sign}.{decimals}f}"))
            for n in range(first, last + 1)
        )


@dataclass(frozen=True)
class _Bar:
    x: str
    y: str
    width: str
    height: str
    side: str
    title: str


@dataclass(frozen=True)
class _Plot:
    """Sorted per-query differences of one contrast; there is none where all are 0."""

    bars: tuple[_Bar, ...]
    areas: tuple[tuple[str, str], ...]
    axis: _Axis


@dataclass(frozen=True)
class _Row:
    """One contrast as the page shows it."""

    contrast: Contrast
    verdict: str
    side: str
    difference: str
    relative: str
    interval: str
    p: str
    point: str
    low: str | None
    high: str | None
    shares: tuple[tuple[str, str, str], ...]
    plot: _Plot | None


@dataclass(frozen=True)
class _Section:
    """One measure of a comparison."""

    measure: str
    baseline_mean: str
    axis: _Axis
    rows: tuple[_Row, ...]
    tests: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Spread:
    """How the per-query values of one run are distributed under one measure."""

    run: str
    mean: str
    median: str
    zeros: int
    bars: tuple[_Bar, ...]


@dataclass(frozen=True)
class _Spreads:
    measure: str
    low: str
    high: str
    rows: tuple[_Spread, ...]


@dataclass(frozen=True)
class _Cell:
    text: str
    side: str = ""
    best: bool = False
    note: str = ""


@dataclass(frozen=True)
class _QueryColumn:
    measure: str
    title: str
    is_difference: bool


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
    latencies: Mapping[str, Latency] | None = None,
) -> str:
    """Write evaluations as one HTML page: averages, distributions over queries, every query.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        At least one, with distinct names and the same measures.
    title : str, optional
        Heading of the page.
    texts : mapping of str to str, optional
        Text of the queries by id, shown beside the ids.
    latencies : mapping of str to Latency, optional
        Times by name of the run.

    Returns
    -------
    str
        The whole document, to be written as UTF-8.

    Raises
    ------
    ParameterError
        If there is no evaluation, or they cannot share a table.
    """
    check_together(evaluations)
    names = ", ".join(evaluation.run for evaluation in evaluations)
    return _render(
        title=title or f"Evaluation of {names}",
        lead=_lead(evaluations),
        summary=_summary(evaluations, {}),
        marks=None,
        sections=(),
        spreads=tuple(_spreads(measure, evaluations) for measure in evaluations[0].measures),
        columns=_query_columns(evaluations, None),
        queries=_query_rows(evaluations, None, texts or {}),
        texts=bool(texts),
        latency=_latency(latencies),
        test_titles=(),
        notes=conventions(evaluations),
    )


def comparison_html(
    comparison: Comparison,
    *,
    test: Test = "permutation",
    correction: Correction = "holm",
    level: float = 0.05,
    title: str | None = None,
    texts: Mapping[str, str] | None = None,
    latencies: Mapping[str, Latency] | None = None,
) -> str:
    """Write a comparison as one HTML page: averages, intervals, per-query differences, every test and query.

    Parameters
    ----------
    comparison : Comparison
        What to show.
    test : {"t", "permutation"}, optional
        The test whose p-values decide what is called better or worse; all are listed.
    correction : {"none", "bonferroni", "holm"}, optional
        How they are corrected.
    level : float, optional
        A corrected p below this is called significant.
    title, texts, latencies
        As in :func:`evaluation_html`.

    Returns
    -------
    str
        The whole document, to be written as UTF-8.
    """
    evaluations = comparison.evaluations
    verdicts = {
        (c.run, c.baseline, c.measure): significance(c, test=test, correction=correction, level=level)
        for c in comparison.contrasts
    }
    marks = (
        f"{TEST_NAMES[test]}, {CORRECTION_NAMES[correction]}, p < {level:g}"
        if comparison.pairs == "baseline"
        else None
    )
    against = {
        (c.run, c.measure): (c, verdicts[c.run, c.baseline, c.measure])
        for c in comparison.contrasts
        if comparison.pairs == "baseline"
    }
    how = f"{TEST_NAMES[test]}, {CORRECTION_NAMES[correction]}"
    return _render(
        title=title or "Comparison of " + ", ".join(comparison.runs),
        lead=_lead(evaluations),
        summary=_summary(evaluations, against),
        marks=marks,
        sections=tuple(
            _section(comparison, measure, verdicts, test, correction, texts or {})
            for measure in comparison.measures
        ),
        spreads=(),
        columns=_query_columns(evaluations, comparison),
        queries=_query_rows(evaluations, comparison, texts or {}),
        texts=bool(texts),
        latency=_latency(latencies),
        test_titles=_TEST_TITLES,
        notes=(
            *conventions(evaluations),
            *methods(comparison),
            f"Called better or worse: {how}, p < {level:g}; otherwise a difference was not shown.",
        ),
        baseline=comparison.baseline if comparison.pairs == "baseline" else None,
        confidence=f"{100 * comparison.confidence:g}%",
        p_title=("t-test" if test == "t" else test)
        + ("" if correction == "none" else f", {correction.capitalize()}"),
    )


def _render(**context: object) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("termwise.evaluate"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    defaults: dict[str, object] = {"baseline": None, "confidence": "", "p_title": ""}
    return environment.get_template("report.html.j2").render({**defaults, **context})


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
    evaluations: Sequence[Evaluation], against: Mapping[tuple[str, str], tuple[Contrast, int]]
) -> tuple[tuple[str, tuple[_Cell, ...], str], ...]:
    table = summary_table(evaluations)
    texts = table.shown()
    rows = []
    measures = evaluations[0].measures
    for row, evaluation in enumerate(evaluations):
        cells = []
        for place, measure in enumerate(measures, start=1):
            column = [line[place] for line in table.rows]
            known = [value for value in column if isinstance(value, float)]
            best = len(known) > 1 and texts[row][place] == shown(max(known), table.columns[place].kind)
            contrast, verdict = against.get((evaluation.run, measure), (None, 0))
            cells.append(
                _Cell(
                    texts[row][place],
                    _side(verdict),
                    best,
                    _minus(shown(contrast.difference, "difference")) if contrast else "",
                )
            )
        rows.append((evaluation.run, tuple(cells), shown(len(evaluation.query_ids), "count")))
    return tuple(rows)


def _section(
    comparison: Comparison,
    measure: str,
    verdicts: Mapping[tuple[str, str, str], int],
    test: Test,
    correction: Correction,
    texts: Mapping[str, str],
) -> _Section:
    contrasts = comparison.of(measure)
    edges = [0.0]
    for contrast in contrasts:
        edges += [x for x in (contrast.difference, contrast.ci_low, contrast.ci_high) if x is not None]
    low, high = min(edges), max(edges)
    margin = 0.06 * (high - low) or 0.01
    axis = _Axis(low - margin, high + margin, 18.0, 222.0, "difference")
    largest = max(float(np.abs(contrast.differences).max()) for contrast in contrasts) or 1.0
    heights = _Axis(-largest, largest, 132.0, 8.0, "difference")
    rows = []
    for contrast in contrasts:
        direction = verdicts[contrast.run, contrast.baseline, measure]
        interval = "–"
        if contrast.ci_low is not None and contrast.ci_high is not None:
            interval = (
                f"{_minus(shown(contrast.ci_low, 'difference'))} to "
                f"{_minus(shown(contrast.ci_high, 'difference'))}"
            )
        rows.append(
            _Row(
                contrast=contrast,
                verdict={1: "better", -1: "worse", 0: "not shown"}[direction],
                side=_side(direction),
                difference=_minus(shown(contrast.difference, "difference")),
                relative=_minus(shown(contrast.relative, "percent")),
                interval=interval,
                p=shown(contrast.p(test, correction), "p"),
                point=axis.at(contrast.difference),
                low=None if contrast.ci_low is None else axis.at(contrast.ci_low),
                high=None if contrast.ci_high is None else axis.at(contrast.ci_high),
                shares=_shares(contrast),
                plot=_plot(contrast, comparison.query_ids, heights, texts)
                if contrast.wins or contrast.losses
                else None,
            )
        )
    tests = contrast_table(contrasts).pick([key for key, _ in _TEST_COLUMNS])
    first = contrasts[0]
    return _Section(
        measure,
        shown(first.baseline_mean, "measure"),
        axis,
        tuple(rows),
        _texts(tests),
    )


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


def _texts(table: Table) -> tuple[tuple[str, ...], ...]:
    """Return the rows as written, with a typographic minus in numbers but not in names."""
    return tuple(
        tuple(
            cell if column.kind == "text" else _minus(cell)
            for cell, column in zip(row, table.columns, strict=True)
        )
        for row in table.shown()
    )


def _shares(contrast: Contrast) -> tuple[tuple[str, str, str], ...]:
    """Return start, width and side of the three parts of the bar of wins, ties and losses."""
    parts, start = [], 0.0
    for number, side in ((contrast.wins, "better"), (contrast.ties, "tie"), (contrast.losses, "worse")):
        width = 120.0 * number / contrast.queries
        if number:
            parts.append((_pixels(start), _pixels(width), side))
        start += width
    return tuple(parts)


def _plot(contrast: Contrast, query_ids: Sequence[str], axis: _Axis, texts: Mapping[str, str]) -> _Plot:
    differences = contrast.differences
    order = np.argsort(-differences, kind="stable")
    n = len(order)
    left, width = 46.0, 470.0
    step = width / n
    zero = axis.place(0.0)
    if n > _BARS:
        areas = tuple(
            (side, _area(differences[order], mask[order], left, step, axis))
            for side, mask in (("better", differences > 0), ("worse", differences < 0))
            if mask.any()
        )
        return _Plot((), areas, axis)
    bars = []
    gap = min(1.0, 0.2 * step)
    for place, query in enumerate(order.tolist()):
        value = float(differences[query])
        if value == 0:
            continue
        top = min(zero, axis.place(value))
        query_id = query_ids[query]
        text = f" {texts[query_id]}" if query_id in texts else ""
        bars.append(
            _Bar(
                _pixels(left + place * step + gap / 2),
                _pixels(top),
                _pixels(step - gap),
                _pixels(abs(axis.place(value) - zero)),
                _side(1 if value > 0 else -1),
                f"{query_id}{text}: {_minus(shown(value, 'difference'))}",
            )
        )
    return _Plot(tuple(bars), (), axis)


def _area(
    values: npt.NDArray[np.float64],
    mask: npt.NDArray[np.bool_],
    left: float,
    step: float,
    axis: _Axis,
) -> str:
    places = np.flatnonzero(mask)
    first, last = int(places[0]), int(places[-1]) + 1
    path = [f"M{_pixels(left + first * step)} {axis.at(0.0)}"]
    path += [
        f"V{axis.at(float(values[place]))}H{_pixels(left + (place + 1) * step)}"
        for place in range(first, last)
    ]
    return "".join([*path, f"V{axis.at(0.0)}Z"])


def _spreads(measure: str, evaluations: Sequence[Evaluation]) -> _Spreads:
    top = max((float(e.values[measure].max(initial=0.0)) for e in evaluations), default=0.0)
    high = top if is_count(measure) or top > 1 else 1.0
    high = high or 1.0
    counts = [np.histogram(e.values[measure], bins=20, range=(0.0, high))[0] for e in evaluations]
    tallest = max(1, *(int(c.max()) for c in counts))
    kind: Kind = "total" if is_count(measure) else "measure"
    rows = []
    for evaluation, count in zip(evaluations, counts, strict=True):
        values = evaluation.values[measure]
        bars = tuple(
            _Bar(
                _pixels(bin_ * 15.0 + 1),
                _pixels(44.0 - 42.0 * number / tallest),
                _pixels(13.0),
                _pixels(42.0 * number / tallest),
                "neutral",
                f"{number} queries from {high * bin_ / 20:.3g} to {high * (bin_ + 1) / 20:.3g}",
            )
            for bin_, number in enumerate(count.tolist())
            if number
        )
        rows.append(
            _Spread(
                evaluation.run,
                shown(evaluation.means[measure], kind),
                shown(float(np.median(values)) if len(values) else None, kind),
                int((values == 0).sum()),
                bars,
            )
        )
    return _Spreads(measure, "0", f"{high:.4g}", tuple(rows))


def _query_columns(
    evaluations: Sequence[Evaluation], comparison: Comparison | None
) -> tuple[_QueryColumn, ...]:
    columns = []
    for measure in evaluations[0].measures:
        columns += [_QueryColumn(measure, evaluation.run, False) for evaluation in evaluations]
        columns += [_QueryColumn(measure, f"Δ {c.run}", True) for c in _shown_contrasts(comparison, measure)]
    return tuple(columns)


def _shown_contrasts(comparison: Comparison | None, measure: str) -> tuple[Contrast, ...]:
    if comparison is None or comparison.pairs == "all":
        return ()
    return comparison.of(measure)


def _query_rows(
    evaluations: Sequence[Evaluation], comparison: Comparison | None, texts: Mapping[str, str]
) -> tuple[_QueryRow, ...]:
    query_ids = dict.fromkeys(query_id for e in evaluations for query_id in e.query_ids)
    columns: list[tuple[Mapping[str, float], Kind]] = []
    for measure in evaluations[0].measures:
        for evaluation in evaluations:
            values = evaluation.values[measure].tolist()
            kind: Kind = "total" if is_count(measure) else "measure"
            columns.append((dict(zip(evaluation.query_ids, values, strict=True)), kind))
        for contrast in _shown_contrasts(comparison, measure):
            values = contrast.differences.tolist()
            columns.append((dict(zip(evaluations[0].query_ids, values, strict=True)), "difference"))
    return tuple(
        _QueryRow(
            query_id,
            texts.get(query_id, ""),
            tuple(_query_cell(values.get(query_id), kind) for values, kind in columns),
        )
        for query_id in query_ids
    )


def _query_cell(value: float | None, kind: Kind) -> _Cell:
    text = _minus(shown(value, kind))
    if kind != "difference" or value is None:
        return _Cell(text)
    return _Cell(text, _side(int(np.sign(value))))


def _latency(latencies: Mapping[str, Latency] | None) -> tuple[tuple[str, ...], ...]:
    if not latencies:
        return ()
    table = latency_table(latencies)
    return (tuple(column.title for column in table.columns), *table.shown())


def _side(direction: int) -> str:
    return {1: "better", -1: "worse", 0: ""}[direction]


def _minus(text: str) -> str:
    return f"−{text[1:]}" if text.startswith("-") and text[1:2].isdigit() else text


def _pixels(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _round_step(rough: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is not below `rough`."""
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= rough), 10 * power)
