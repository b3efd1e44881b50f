"""A report as one page that loads nothing: heat map, sweeps, and for every cell the samples that say most."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from termwise.evaluate.formats import shown
from termwise.pages import render_page
from termwise.probes.report.tables import (
    NOT_SIGNIFICANT,
    UNDEFINED,
    Row,
    by_rankers,
    sections,
    signed,
    significant,
)

TERMS = 10
"""Terms of a sample that are shown: those whose contributions differ most."""

_WIDTH, _HEIGHT, _LEFT, _TOP = 360.0, 150.0, 34.0, 8.0
"""Of the plotted part of a sweep, and where it begins."""

_COLOURS = ("#0a62a9", "#c2410c", "#15803d", "#7e22ce", "#b45309", "#0f766e", "#be185d", "#475569")
_DASHES = ("", "6 3", "2 3", "8 3 2 3")

_VERDICTS = {1: "the first is preferred", -1: "the second is preferred", 0: "too close to count"}

OPEN_ROWS = 10
"""Probes of a comparison that are seen at once; the others are folded away."""

Kind = Literal["same", "only"]


@dataclass(frozen=True)
class _Ranker:
    name: str
    threshold: str
    colour: str
    dash: str
    skipped: str


@dataclass(frozen=True)
class _Cell:
    text: str
    colour: str
    dark: bool
    faint: bool
    title: str
    link: str


@dataclass(frozen=True)
class _Line:
    name: str
    colour: str
    dash: str
    points: str


@dataclass(frozen=True)
class _Term:
    term: str
    first: str
    second: str
    difference: str


@dataclass(frozen=True)
class _Sample:
    name: str
    query: str
    second_query: str | None
    first: tuple[tuple[Kind, str], ...]
    second: tuple[tuple[Kind, str], ...]
    scores: tuple[str, str]
    verdict: str
    terms: tuple[_Term, ...]


@dataclass(frozen=True)
class _Numbers:
    scorer: str
    values: tuple[str, ...]
    samples: tuple[_Sample, ...]


@dataclass(frozen=True)
class _Probe:
    anchor: str
    title: str
    name: str
    data: str
    samples: str
    symmetric: bool
    cells: tuple[_Cell, ...]
    numbers: tuple[_Numbers, ...]
    lines: tuple[_Line, ...]


@dataclass(frozen=True)
class _Section:
    anchor: str
    title: str
    probes: tuple[_Probe, ...]


@dataclass(frozen=True)
class _Contrast:
    title: str
    link: str
    difference: str
    bounds: str
    p: str
    sure: bool


@dataclass(frozen=True)
class _Disagreement:
    title: str
    sample: _Sample
    """Without scores and verdict: those are the ones of two rankers."""
    scores: tuple[tuple[str, str, str, str], ...]
    """Of each ranker: its name, the scores of both texts, what it prefers."""


@dataclass(frozen=True)
class _Comparison:
    anchor: str
    title: str
    rows: tuple[_Contrast, ...]
    disagreements: tuple[_Disagreement, ...]


NUMBERS = (
    "score", "95 %", "prefers first", "neither", "prefers second", "mean of queries", "queries", "p, published",
    "p, by query", "… Holm", "… Benjamini–Hochberg", "d", "same texts", "cut",
)  # fmt: skip
"""Columns of the table of a probe."""


def report_html(report: Mapping[str, Any]) -> str:
    """Write a report as one page.

    Parameters
    ----------
    report : mapping
        See `termwise.probes.report.contents.report_of`.

    Returns
    -------
    str
        The whole document, to be written as UTF-8. Equal reports give equal text.
    """
    scorers = [scorer["name"] for scorer in report["scorers"]]
    numbered = [
        _Section(
            f"s{number}",
            title,
            tuple(_probe(row, f"p{number}-{place}", scorers) for place, row in enumerate(rows)),
        )
        for number, (title, rows) in enumerate(sections(report))
    ]
    anchors = {probe.name: probe.anchor for section in numbered for probe in section.probes}
    return render_page(
        "termwise.probes.report",
        "probes.html.j2",
        scorers=[
            _Ranker(one["name"], _threshold(one["reading"]), *_stroke(place), _skipped(one["skipped"]))
            for place, one in enumerate(report["scorers"])
        ],
        facts=[
            (name, _fact(value)) for name, value in report["facts"].items() if value not in (None, {}, [])
        ],
        sections=numbered,
        columns=NUMBERS,
        comparisons=_comparisons(report, anchors),
        open_rows=OPEN_ROWS,
        spread=report["spread"],
        not_significant=NOT_SIGNIFICANT,
        samples=f"{sum(probe['samples'] for probe in report['probes']):,}",
        frame=(_LEFT, _TOP, _WIDTH, _HEIGHT),
    )


def _probe(row: Row, anchor: str, scorers: Sequence[str]) -> _Probe:
    symmetric = row.probe["symmetric"]
    return _Probe(
        anchor=anchor,
        title=row.title,
        name=row.probe["name"],
        data=row.data,
        samples=f"{row.probe['samples']:,}",
        symmetric=symmetric,
        cells=tuple(_cell(cell, anchor, symmetric) for cell in row.cells),
        numbers=tuple(_numbers(cell, symmetric) for cell in row.cells if cell is not None),
        lines=tuple(_lines(row.cells, scorers, symmetric)),
    )


def _cell(cell: Mapping[str, Any] | None, anchor: str, symmetric: bool) -> _Cell:
    if cell is None or cell["score"] is None:
        return _Cell(UNDEFINED, "", False, True, "no sample", anchor)
    score = cell["score"]
    strength = min(1.0, abs(score))
    base = "124, 58, 237" if symmetric else "10, 98, 169" if score > 0 else "194, 65, 12"
    unsure = not symmetric and not significant(cell)
    told = f"{_written(score, symmetric)}, {_interval(cell, symmetric)}; {_samples(cell['samples'])}"
    return _Cell(
        _written(score, symmetric),
        f"rgba({base}, {0.06 + 0.84 * strength:.3f})" if strength >= 0.005 else "",
        strength > 0.55,
        unsure,
        f"{told}{'; not significant' if unsure else ''}",
        anchor,
    )


def _numbers(cell: Mapping[str, Any], symmetric: bool) -> _Numbers:
    values = (
        UNDEFINED if cell["score"] is None else _written(cell["score"], symmetric),
        _interval(cell, symmetric),
        *(f"{cell[name]:,}" for name in ("positive", "neutral", "negative")),
        UNDEFINED if cell["by_query"] is None else _written(cell["by_query"], symmetric),
        f"{cell['queries']:,}",
        *(
            shown(cell[name], "p")
            for name in ("p_published", "p_clustered", "p_holm", "p_benjamini_hochberg")
        ),
        UNDEFINED if cell["standardised_difference"] is None else signed(cell["standardised_difference"]),
        f"{cell['identical']:,}",
        UNDEFINED if cell["cut"] is None else f"{cell['cut']:,}",
    )
    return _Numbers(cell["scorer"], values, tuple(_sample(one) for one in cell["telling"]))


def _sample(one: Mapping[str, Any]) -> _Sample:
    first, second = marked(one["first"], one["second"])
    return _Sample(
        one["sample"],
        one["query"],
        one["second_query"],
        first,
        second,
        (_score(one["scores"][0]), _score(one["scores"][1])),
        _VERDICTS[one["effect"]],
        tuple(_terms(*one["terms"])) if "terms" in one else (),
    )


def _terms(first: Iterable[tuple[str, float]], second: Iterable[tuple[str, float]]) -> Iterable[_Term]:
    """Yield the terms whose contributions differ most."""
    left, right = dict(first), dict(second)
    rows = [(term, left.get(term, 0.0), right.get(term, 0.0)) for term in {**left, **right}]
    rows = [row for row in rows if row[1] != row[2]]
    for term, one, other in sorted(rows, key=lambda row: (-abs(row[1] - row[2]), row[0]))[:TERMS]:
        yield _Term(term, f"{one:.2f}", f"{other:.2f}", signed(one - other))


def marked(first: str, second: str) -> tuple[tuple[tuple[Kind, str], ...], tuple[tuple[Kind, str], ...]]:
    """Cut two texts into what both have and what only one has, word by word.

    Examples
    --------
    >>> marked("a red cat", "a cat")
    ((('same', 'a'), ('only', ' red'), ('same', ' cat')), (('same', 'a'), ('same', ' cat')))
    """
    left, right = (re.findall(r"\s*\S+|\s+$", text) for text in (first, second))
    sides: tuple[list[tuple[Kind, str]], list[tuple[Kind, str]]] = ([], [])
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for what, begin, end, other_begin, other_end in matcher.get_opcodes():
        kind: Kind = "same" if what == "equal" else "only"
        for side, words in ((0, left[begin:end]), (1, right[other_begin:other_end])):
            if words:
                sides[side].append((kind, "".join(words)))
    return tuple(sides[0]), tuple(sides[1])


def _lines(
    cells: Sequence[Mapping[str, Any] | None], scorers: Sequence[str], symmetric: bool
) -> Iterable[_Line]:
    """Yield the sweep of each scorer as a line of a drawing."""
    low = 0.0 if symmetric else -1.0
    for place, (cell, scorer) in enumerate(zip(cells, scorers, strict=True)):
        if cell is None or not cell["sweep"]:
            continue
        values = cell["sweep"]
        points = " ".join(
            f"{_LEFT + _WIDTH * step / (len(values) - 1):.1f},{_TOP + _HEIGHT * (1 - value) / (1 - low):.1f}"
            for step, value in enumerate(values)
        )
        yield _Line(scorer, *_stroke(place), points)


def _stroke(place: int) -> tuple[str, str]:
    return _COLOURS[place % len(_COLOURS)], _DASHES[place // len(_COLOURS) % len(_DASHES)]


def _comparisons(report: Mapping[str, Any], anchors: Mapping[str, str]) -> list[_Comparison]:
    """Return for each scorer but the first the probes on which it differs from the first, most first."""
    titles = {probe["name"]: probe["title"] for probe in report["probes"]}
    found = []
    for place, (names, rows) in enumerate(by_rankers(report["comparisons"]).items()):
        told = {one["probe"]: _told(titles[one["probe"]], one["probe"]) for one in rows}
        found.append(
            _Comparison(
                f"c{place}",
                " against ".join(names),
                tuple(_contrast(one, told[one["probe"]], anchors[one["probe"]]) for one in rows),
                tuple(
                    _disagreement(one, told[one["probe"]], names[::-1])
                    for one in rows
                    if one["sample"] is not None
                ),
            )
        )
    return found


def _told(title: str, name: str) -> str:
    data = name.partition("@")[2]
    return f"{title} ({data})" if data else title


def _contrast(one: Mapping[str, Any], told: str, anchor: str) -> _Contrast:
    return _Contrast(
        told,
        anchor,
        signed(one["difference"]),
        UNDEFINED if one["low"] is None else f"{signed(one['low'])} to {signed(one['high'])}",
        shown(one["p_holm"], "p"),
        significant(one),
    )


def _disagreement(one: Mapping[str, Any], told: str, names: Sequence[str]) -> _Disagreement:
    sample = one["sample"]
    first, second = marked(sample["first"], sample["second"])
    return _Disagreement(
        told,
        _Sample(sample["sample"], sample["query"], sample["second_query"], first, second, ("", ""), "", ()),
        tuple(
            (name, _score(one_score), _score(other_score), _VERDICTS[effect])
            for name, (one_score, other_score, effect) in zip(names, sample["scores"], strict=True)
        ),
    )


def _threshold(reading: Mapping[str, Any]) -> str:
    if reading["kind"] == "constant":
        return f"{reading['delta']:.4g}"
    return f"{reading['kind']}, {reading['queries']:,} queries"


def _skipped(skipped: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {why}" for name, why in skipped.items())


def _fact(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_fact(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_fact, value)) or UNDEFINED
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _interval(cell: Mapping[str, Any], symmetric: bool) -> str:
    if cell["low"] is None:
        return UNDEFINED
    return f"{_written(cell['low'], symmetric)} to {_written(cell['high'], symmetric)}"


def _written(score: float, symmetric: bool) -> str:
    return f"{score:.2f}" if symmetric else signed(score)


def _score(score: float | str) -> str:
    return score if isinstance(score, str) else f"{score:.4g}"


def _samples(number: int) -> str:
    return f"{number:,} sample{'' if number == 1 else 's'}"
