"""A report as one page that loads nothing: heat map, sweeps, and for every cell the samples that say most."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import floor, log10
from typing import Any, Literal

from termwise.display.html import render_page
from termwise.evaluate.formats import format_value
from termwise.probes.report.tables import (
    DEVIATION,
    HEADING,
    NOT_SIGNIFICANT,
    UNDEFINED,
    Row,
    Shortfall,
    by_rankers,
    facts_of,
    sections,
    seeds_of,
    shortfalls,
    signed,
    significant,
    threshold,
    tone,
    wanted_score,
)

TERMS = 10
"""Terms of a sample that are shown: those whose contributions differ most."""

_WIDTH, _HEIGHT, _LEFT, _TOP = 360.0, 150.0, 34.0, 8.0
"""Of the plotted part of a sweep, and where it begins."""

_COLOURS = ("#0a62a9", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#0f766e", "#be185d", "#475569")
_DASHES = ("", "6 3", "2 3", "8 3 2 3")

_VERDICTS = {1: "the first is preferred", -1: "the second is preferred", 0: "too close to count"}
_SYMMETRIC_VERDICTS = {1: "told apart", 0: "too close to count"}

_MOST_DECIMALS = 17

SHORTFALLS = 10
"""Probes of a ranker that stand out, at the most."""

OPEN_ROWS = 10
"""Probes of a comparison that are seen at once; the others are folded away."""

Kind = Literal["same", "only"]


@dataclass(frozen=True)
class _Ranker:
    name: str
    threshold: str
    colour: str
    dash: str
    plotted: bool
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
class _Number:
    name: str
    values: tuple[str, ...]
    """One a ranker that was asked."""
    meaning: str


@dataclass(frozen=True)
class _Telling:
    scorer: str
    samples: tuple[_Sample, ...]


@dataclass(frozen=True)
class _Probe:
    anchor: str
    title: str
    name: str
    definition: str
    data: str
    samples: str
    lengths: str
    needs: str
    wanted: str
    symmetric: bool
    cells: tuple[_Cell, ...]
    asked: tuple[str, ...]
    numbers: tuple[_Number, ...]
    telling: tuple[_Telling, ...]
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
    open: tuple[_Contrast, ...]
    folded: tuple[_Contrast, ...]
    alike: int
    """Probes without any difference."""
    disagreements: tuple[_Disagreement, ...]


@dataclass(frozen=True)
class _Shortfall:
    title: str
    data: str
    link: str
    wanted: str
    score: str
    samples: str


_TONES = {"good": "10, 98, 169", "bad": "194, 65, 12", "apart": "124, 58, 237"}
"""Red, green and blue of the cells of a map."""

MEANINGS = {
    "score": "the mean effect of the pairs",
    "95 %": "its interval, by bootstrap over queries",
    "prefers first": "pairs",
    "neither": "pairs whose two scores are no further apart than δ",
    "prefers second": "pairs",
    "mean of queries": "the mean of the scores of single queries",
    "consistent": "share of the queries whose pairs all prefer the first, or are all told apart",
    "queries": "pairs of one query are not independent",
    "p, by query": "a t-test with queries as clusters",
    "… Holm": "corrected for the scores of this section; decides about the italics",
    "… Benjamini–Hochberg": "likewise, for the share of false findings",
    "p, published": "the paired t-test over all pairs, as in the paper; it knows neither queries nor δ",
    "d": "mean difference of the two scores, over its standard deviation",
    "same texts": "pairs whose two sides are equal: they can only be neutral",
    "detectable": "a score that so many pairs would show to differ from 0, four times in five",
    "over all δ": "the mean of the curve: of the scores at all percentiles of the gaps",
    "cut": "pairs of which the ranker does not read a part, because a text is longer than its window",
}
"""Rows of the table of a probe, and what is said of them."""

TOLD_APART = "told apart"
"""What a symmetric probe has in place of the preference for the first."""


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
            _Ranker(
                one["name"],
                threshold(one["reading"]),
                *_stroke(place),
                bool(one["gaps"]),
                _skipped(one["skipped"]),
            )
            for place, one in enumerate(report["scorers"])
        ],
        heading=HEADING,
        facts=facts_of(report),
        sections=numbered,
        shortfalls=[
            (scorer, [_shortfall(one, anchors) for one in several[:SHORTFALLS]])
            for scorer, several in shortfalls(report).items()
            if several
        ],
        comparisons=_comparisons(report, anchors),
        seeds=[(f"m{place}", one) for place, one in enumerate(seeds_of(report))],
        deviation=DEVIATION,
        not_significant=NOT_SIGNIFICANT,
        samples=f"{sum(probe['samples'] for probe in report['probes']):,}",
        frame=(_LEFT, _TOP, _WIDTH, _HEIGHT),
    )


def _probe(row: Row, anchor: str, scorers: Sequence[str]) -> _Probe:
    symmetric = row.probe["symmetric"]
    asked = [cell for cell in row.cells if cell is not None and cell["samples"]]
    return _Probe(
        anchor=anchor,
        title=row.title,
        name=row.probe["name"],
        definition=row.probe["definition"],
        data=row.data,
        samples=f"{row.probe['samples']:,}",
        lengths=_lengths(row.probe["lengths"]),
        needs=row.probe["needs"],
        wanted=wanted_score(row.probe["wanted"]),
        symmetric=symmetric,
        cells=tuple(_cell(cell, anchor, row.probe) for cell in row.cells),
        asked=tuple(cell["scorer"] for cell in asked),
        numbers=tuple(_numbers(asked, symmetric)),
        telling=tuple(
            _Telling(cell["scorer"], tuple(_sample(one, symmetric) for one in cell["telling"]))
            for cell in asked
            if cell["telling"]
        ),
        lines=tuple(_lines(row.cells, scorers, symmetric)),
    )


def _shortfall(one: Shortfall, anchors: Mapping[str, str]) -> _Shortfall:
    probe = one.row.probe
    return _Shortfall(
        title=one.row.title,
        data=one.row.data,
        link=anchors[probe["name"]],
        wanted=wanted_score(probe["wanted"]),
        score=_written(one.cell["score"], probe["symmetric"]),
        samples=f"{one.cell['samples']:,}",
    )


def _lengths(lengths: Mapping[str, float] | None) -> str:
    """Say how the texts of a probe differ in length, if they do."""
    if lengths is None or not lengths["longer"] + lengths["shorter"]:
        return ""
    return (
        f"Words: {lengths['first']:.1f} in the first text and {lengths['second']:.1f} in the second, on average; the "
        f"first is longer in {lengths['longer']:,} pairs and shorter in {lengths['shorter']:,}."
    )


def _cell(cell: Mapping[str, Any] | None, anchor: str, probe: Mapping[str, Any]) -> _Cell:
    symmetric = probe["symmetric"]
    if cell is None or cell["score"] is None:
        return _Cell(UNDEFINED, "", False, True, "no sample", anchor)
    score = cell["score"]
    strength = min(1.0, abs(score))
    base = _TONES[tone(probe["wanted"], score, symmetric=symmetric)]
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


def _numbers(cells: Sequence[Mapping[str, Any]], symmetric: bool) -> Iterable[_Number]:
    """Yield what is told of a probe: a row for each number, without those that no ranker of these has."""
    told = [_told_of(cell, symmetric) for cell in cells]
    for name, meaning in MEANINGS.items():
        values = tuple(one[name] for one in told if name in one)
        if any(value != UNDEFINED for value in values):
            yield _Number(TOLD_APART if symmetric and name == "prefers first" else name, values, meaning)


def _told_of(cell: Mapping[str, Any], symmetric: bool) -> dict[str, str]:
    """Return the numbers of a cell; of a symmetric probe without those that depend on an order."""
    found = {
        "score": _written(cell["score"], symmetric),
        "95 %": _interval(cell, symmetric),
        "prefers first": f"{cell['positive']:,}",
        "neither": f"{cell['neutral']:,}",
        "mean of queries": UNDEFINED if cell["by_query"] is None else _written(cell["by_query"], symmetric),
        "consistent": UNDEFINED if cell["consistent"] is None else f"{cell['consistent']:.2f}",
        "queries": f"{cell['queries']:,}",
        "same texts": f"{cell['identical']:,}",
        "over all δ": UNDEFINED if cell["area"] is None else _written(cell["area"], symmetric),
        "cut": UNDEFINED if cell["cut"] is None else f"{cell['cut']:,}",
    }
    if symmetric:
        return found
    difference = cell["standardised_difference"]
    return found | {
        "prefers second": f"{cell['negative']:,}",
        "p, by query": format_value(cell["p_clustered"], "p"),
        "… Holm": format_value(cell["p_holm"], "p"),
        "… Benjamini–Hochberg": format_value(cell["p_benjamini_hochberg"], "p"),
        "p, published": format_value(cell["p_published"], "p"),
        "d": UNDEFINED if difference is None else signed(difference),
        "detectable": UNDEFINED if cell["detectable"] is None else f"{cell['detectable']:.2f}",
    }


def _verdict(effect: int, symmetric: bool) -> str:
    return (_SYMMETRIC_VERDICTS if symmetric else _VERDICTS)[effect]


def _sample(one: Mapping[str, Any], symmetric: bool) -> _Sample:
    first, second = marked(one["first"], one["second"])
    return _Sample(
        one["sample"],
        one["query"],
        one["second_query"],
        first,
        second,
        _scores(*one["scores"]),
        _verdict(one["effect"], symmetric),
        tuple(_terms(*one["terms"])) if "terms" in one else (),
    )


def _terms(first: Iterable[tuple[str, float]], second: Iterable[tuple[str, float]]) -> Iterable[_Term]:
    """Yield the terms whose contributions differ most."""
    left, right = dict(first), dict(second)
    rows = [(term, left.get(term, 0.0), right.get(term, 0.0)) for term in {**left, **right}]
    rows = [row for row in rows if row[1] != row[2]]
    for term, one, other in sorted(rows, key=lambda row: (-abs(row[1] - row[2]), row[0]))[:TERMS]:
        yield _Term(term, f"{one:.2f}", f"{other:.2f}", signed(one - other))


_ONE_BLANK = re.compile(r" \S")
"""What a word begins with that is no part of it."""


def marked(first: str, second: str) -> tuple[tuple[tuple[Kind, str], ...], tuple[tuple[Kind, str], ...]]:
    """Cut two texts into what both have and what only one has, word by word.

    Examples
    --------
    >>> marked("a red cat", "a cat")
    ((('same', 'a '), ('only', 'red'), ('same', ' cat')), (('same', 'a'), ('same', ' cat')))
    """
    left, right = (re.findall(r"\s*\S+|\s+$", text) for text in (first, second))
    sides: tuple[list[tuple[Kind, str]], list[tuple[Kind, str]]] = ([], [])
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for what, begin, end, other_begin, other_end in matcher.get_opcodes():
        kind: Kind = "same" if what == "equal" else "only"
        for side, words in ((0, left[begin:end]), (1, right[other_begin:other_end])):
            text = "".join(words)
            if kind == "only" and sides[side] and _ONE_BLANK.match(text):
                before, said = sides[side][-1]
                sides[side][-1] = before, f"{said} "
                text = text[1:]
            if text:
                sides[side].append((kind, text))
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
    probes = {probe["name"]: probe for probe in report["probes"]}
    found = []
    for place, (names, rows) in enumerate(by_rankers(report["comparisons"]).items()):
        told = {one["probe"]: _told(probes[one["probe"]]["title"], one["probe"]) for one in rows}
        differing = [
            _contrast(one, told[one["probe"]], anchors[one["probe"]])
            for one in rows
            if one["difference"] or one["low"] is not None
        ]
        few = len(differing) if len(differing) <= OPEN_ROWS + 2 else OPEN_ROWS
        found.append(
            _Comparison(
                f"c{place}",
                " against ".join(names),
                tuple(differing[:few]),
                tuple(differing[few:]),
                len(rows) - len(differing),
                tuple(
                    _disagreement(one, told[one["probe"]], names[::-1], probes[one["probe"]]["symmetric"])
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
        f"{signed(one['low'])} to {signed(one['high'])}" if one["low"] is not None else UNDEFINED,
        format_value(one["p_holm"], "p"),
        significant(one),
    )


def _disagreement(one: Mapping[str, Any], told: str, names: Sequence[str], symmetric: bool) -> _Disagreement:
    sample = one["sample"]
    first, second = marked(sample["first"], sample["second"])
    return _Disagreement(
        told,
        _Sample(sample["sample"], sample["query"], sample["second_query"], first, second, ("", ""), "", ()),
        tuple(
            (name, *_scores(one_score, other_score), _verdict(effect, symmetric))
            for name, (one_score, other_score, effect) in zip(names, sample["scores"], strict=True)
        ),
    )


def _skipped(skipped: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {why}" for name, why in skipped.items())


def _interval(cell: Mapping[str, Any], symmetric: bool) -> str:
    if cell["low"] is None:
        return UNDEFINED
    return f"{_written(cell['low'], symmetric)} to {_written(cell['high'], symmetric)}"


def _written(score: float, symmetric: bool) -> str:
    return f"{score:.2f}" if symmetric else signed(score)


def _scores(first: float | str, second: float | str) -> tuple[str, str]:
    """Write the scores of a sample: with four digits, and with more where these are the same for both."""
    if isinstance(first, str) or isinstance(second, str):  # infinite
        written_first, written_second = (
            one if isinstance(one, str) else f"{one:.4g}" for one in (first, second)
        )
        return written_first, written_second
    largest = max(abs(first), abs(second))
    decimals = 2 if not largest else max(0, 3 - floor(log10(largest)))
    while (
        f"{first:.{decimals}f}" == f"{second:.{decimals}f}" and first != second and decimals < _MOST_DECIMALS
    ):
        decimals += 1
    return f"{first:.{decimals}f}", f"{second:.{decimals}f}"


def _samples(number: int) -> str:
    return f"{number:,} sample{'' if number == 1 else 's'}"
