"""HTML page of a report: heat maps, sweeps, statistics and example samples, without external resources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from math import floor, log10
from typing import Any, Literal

from termwise.display.html import render_page
from termwise.evaluate.formats import UNDEFINED, format_value
from termwise.probes.report import tables

TERMS = 10
"""Number of shown terms of a sample, those whose contributions differ most."""

SHORTFALLS = 10
"""Maximum number of shortfalls of a ranker."""

OPEN_ROWS = 10
"""Number of probes of a comparison that are shown without a click."""

_WIDTH, _HEIGHT, _LEFT, _TOP = 360.0, 150.0, 34.0, 8.0
"""Size and position of the plot of a sweep, in pixels."""

_COLOURS = 8
"""Number of line colours ``--c0`` to ``--c7`` in the template; further rankers get other dashes."""

_DASHES = ("", "6 3", "2 3", "8 3 2 3")

_VERDICTS = {1: "the first is preferred", -1: "the second is preferred", 0: "tied"}

_MAX_DECIMALS = 17

_TONES = {"good": "10, 98, 169", "bad": "194, 65, 12", "apart": "124, 58, 237"}
"""Red, green and blue of the cells of a heat map."""

MEANINGS = {
    "score": "mean effect of the pairs",
    "95 %": "confidence interval of the score, by bootstrap over queries",
    "prefers first": "number of pairs",
    "neither": "number of pairs whose two scores differ by at most δ",
    "prefers second": "number of pairs",
    "mean of queries": "mean of the scores of single queries",
    "consistent": "share of the queries whose pairs all have the effect +1",
    "queries": "number of queries; pairs of one query are not independent",
    "p, by query": "t-test with queries as clusters",
    "… Holm": "corrected for the scores of this section; decides about the italics",
    "… Benjamini–Hochberg": "corrected for the false discovery rate in this section",
    "p, published": "paired t-test over all pairs, as in the paper, without clusters and δ",
    "d": "mean difference of the two scores / standard deviation",
    "same texts": "number of pairs with equal sides, which are always tied",
    "detectable": "score that the test detects with this number of pairs and a power of 80 %",
    "over all δ": "mean of the curve: of the scores at all percentiles of the gaps",
    "cut": "number of pairs with a text longer than the window of the ranker",
}
"""Rows of the statistics table of a probe with their meanings."""

Segment = tuple[Literal["same", "only"], str]
"""Part of a text that occurs in both texts, or in only one."""


def report_html(report: Mapping[str, Any]) -> str:
    """Return a report as one HTML document, to be written as UTF-8; equal reports give equal documents."""
    strokes = [
        {
            "name": scorer["name"],
            "colour": f"var(--c{position % _COLOURS})",
            "dash": _DASHES[position // _COLOURS % len(_DASHES)],
        }
        for position, scorer in enumerate(report["scorers"])
    ]
    numbered: list[dict[str, Any]] = [
        {
            "anchor": f"s{number}",
            "title": title,
            "probes": [_probe(row, f"p{number}-{position}", strokes) for position, row in enumerate(rows)],
        }
        for number, (title, rows) in enumerate(tables.sections(report))
    ]
    anchors = {probe["name"]: probe["anchor"] for section in numbered for probe in section["probes"]}
    return render_page(
        "termwise.probes.report",
        "probes.html.j2",
        heading=tables.HEADING,
        scorers=[
            stroke
            | {
                "threshold": tables.threshold(scorer["effect_rule"]),
                "plotted": bool(scorer["gaps"]),
                "skipped": "; ".join(f"{probe}: {reason}" for probe, reason in scorer["skipped"].items()),
            }
            for stroke, scorer in zip(strokes, report["scorers"], strict=True)
        ],
        facts=tables.facts_of(report),
        sections=numbered,
        shortfalls=list(_shortfalls(report, anchors)),
        comparisons=list(_comparisons(report, anchors)),
        seeds=[(f"m{position}", seeds) for position, seeds in enumerate(tables.seeds_of(report))],
        deviation=tables.DEVIATION,
        not_significant=tables.NOT_SIGNIFICANT,
        samples=f"{sum(probe['samples'] for probe in report['probes']):,}",
        frame=(_LEFT, _TOP, _WIDTH, _HEIGHT),
    )


def _probe(row: tables.Row, anchor: str, strokes: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    probe, symmetric = row.probe, row.probe["symmetric"]
    cells = [cell for cell in row.cells if cell is not None and cell["samples"]]
    return probe | {
        "anchor": anchor,
        "data": row.data,
        "samples": f"{probe['samples']:,}",
        "lengths": _lengths(probe["lengths"]),
        "expected": tables.expected_score(probe["expectation"]),
        "cells": [_map_cell(cell, probe) for cell in row.cells],
        "scorers": [cell["scorer"] for cell in cells],
        "statistics": list(_statistics(cells, symmetric)),
        "examples": [
            (cell["scorer"], [_sample(sample, symmetric) for sample in cell["examples"]])
            for cell in cells
            if cell["examples"]
        ],
        "lines": list(_lines(row.cells, strokes, symmetric)),
    }


def _lengths(lengths: Mapping[str, float] | None) -> str:
    """Describe how the texts of a probe differ in length; empty if they never do."""
    if lengths is None or not lengths["longer"] + lengths["shorter"]:
        return ""
    return (
        f"Words: {lengths['first']:.1f} in the first text and {lengths['second']:.1f} in the second, on average; the "
        f"first is longer in {lengths['longer']:,} pairs and shorter in {lengths['shorter']:,}."
    )


def _map_cell(cell: Mapping[str, Any] | None, probe: Mapping[str, Any]) -> dict[str, Any]:
    if cell is None or cell["score"] is None:
        return {"text": UNDEFINED, "colour": "", "strong": False, "faint": True, "title": "no sample"}
    score, symmetric = cell["score"], probe["symmetric"]
    strength = min(1.0, abs(score))
    base = _TONES[tables.tone(probe["expectation"], score, symmetric=symmetric)]
    faint = not symmetric and not tables.significant(cell)
    text = _score(score, symmetric)
    pairs = "1 pair" if cell["samples"] == 1 else f"{cell['samples']:,} pairs"
    return {
        "text": text,
        "colour": f"rgba({base}, {0.06 + 0.84 * strength:.3f})" if strength >= 0.005 else "",
        "strong": strength > 0.55,
        "faint": faint,
        "title": f"{text}, {_interval(cell, symmetric)}; {pairs}{'; not significant' if faint else ''}",
    }


def _statistics(cells: Sequence[Mapping[str, Any]], symmetric: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of the statistics table that have a value for some ranker."""
    columns = [_cell_statistics(cell, symmetric) for cell in cells]
    for name, meaning in MEANINGS.items():
        values = [column[name] for column in columns if name in column]
        if any(value != UNDEFINED for value in values):
            is_first = symmetric and name == "prefers first"
            yield {"name": "distinguished" if is_first else name, "values": values, "meaning": meaning}


def _cell_statistics(cell: Mapping[str, Any], symmetric: bool) -> dict[str, str]:
    """Return the formatted statistics of a cell; for symmetric probes without statistics of signed effects."""
    statistics = {
        "score": _score(cell["score"], symmetric),
        "95 %": _interval(cell, symmetric),
        "prefers first": f"{cell['positive']:,}",
        "neither": f"{cell['neutral']:,}",
        "mean of queries": _score(cell["by_query"], symmetric),
        "consistent": _score(cell["consistent"], symmetric=True),
        "queries": f"{cell['queries']:,}",
        "same texts": f"{cell['identical']:,}",
        "over all δ": _score(cell["area"], symmetric),
        "cut": UNDEFINED if cell["cut"] is None else f"{cell['cut']:,}",
    }
    if symmetric:
        return statistics
    return statistics | {
        "prefers second": f"{cell['negative']:,}",
        "p, by query": format_value(cell["p_clustered"], "p"),
        "… Holm": format_value(cell["p_holm"], "p"),
        "… Benjamini–Hochberg": format_value(cell["p_benjamini_hochberg"], "p"),
        "p, published": format_value(cell["p_published"], "p"),
        "d": _score(cell["standardised_difference"], symmetric=False),
        "detectable": _score(cell["detectable"], symmetric=True),
    }


def _sample(sample: Mapping[str, Any], symmetric: bool) -> dict[str, Any]:
    return _texts(sample) | {
        "scores": _score_pair(*sample["scores"]),
        "verdict": _verdict(sample["effect"], symmetric),
        "terms": list(_terms(*sample["terms"])) if "terms" in sample else [],
    }


def _texts(sample: Mapping[str, Any]) -> dict[str, Any]:
    first, second = marked(sample["first"], sample["second"])
    return {**sample, "first": first, "second": second, "scores": ("", ""), "verdict": ""}


def _verdict(effect: int, symmetric: bool) -> str:
    return "distinguished" if symmetric and effect else _VERDICTS[effect]


def _terms(
    first: Iterable[tuple[str, float]], second: Iterable[tuple[str, float]]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the terms whose contributions differ most, with both contributions and their difference."""
    left, right = dict(first), dict(second)
    rows = [(term, left.get(term, 0.0), right.get(term, 0.0)) for term in {**left, **right}]
    rows = [row for row in rows if row[1] != row[2]]
    for term, one, other in sorted(rows, key=lambda row: (-abs(row[1] - row[2]), row[0]))[:TERMS]:
        yield term, f"{one:.2f}", f"{other:.2f}", tables.signed(one - other)


_ONE_BLANK = re.compile(r" \S")
"""Word with a single blank before it; the blank is not marked."""


def marked(first: str, second: str) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """Split two texts word by word into common segments and segments of only one text.

    Examples
    --------
    >>> marked("a red cat", "a cat")
    ((('same', 'a '), ('only', 'red'), ('same', ' cat')), (('same', 'a'), ('same', ' cat')))
    """
    left, right = (re.findall(r"\s*\S+|\s+$", text) for text in (first, second))
    sides: tuple[list[Segment], list[Segment]] = ([], [])
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for operation, begin, end, other_begin, other_end in matcher.get_opcodes():
        for side, words in zip(sides, (left[begin:end], right[other_begin:other_end]), strict=True):
            text = "".join(words)
            if operation != "equal" and side and _ONE_BLANK.match(text):
                kind, before = side[-1]
                side[-1] = kind, f"{before} "
                text = text[1:]
            if text:
                side.append(("same" if operation == "equal" else "only", text))
    return tuple(sides[0]), tuple(sides[1])


def _lines(
    cells: Sequence[Mapping[str, Any] | None], strokes: Sequence[Mapping[str, str]], symmetric: bool
) -> Iterator[dict[str, str]]:
    """Yield the sweep of each ranker as a line of the plot."""
    low = 0.0 if symmetric else -1.0
    for cell, stroke in zip(cells, strokes, strict=True):
        if cell is None or not cell["sweep"]:
            continue
        values = cell["sweep"]
        points = " ".join(
            f"{_LEFT + _WIDTH * step / (len(values) - 1):.1f},{_TOP + _HEIGHT * (1 - value) / (1 - low):.1f}"
            for step, value in enumerate(values)
        )
        yield {**stroke, "points": points}


def _shortfalls(
    report: Mapping[str, Any], anchors: Mapping[str, str]
) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the rankers with the probes on which they are furthest from the expected score."""
    for scorer, lines in tables.shortfalls(report).items():
        rows = [
            {
                "title": one.row.title,
                "data": one.row.data,
                "link": anchors[one.row.probe["name"]],
                "expected": tables.expected_score(one.row.probe["expectation"]),
                "score": _score(one.cell["score"], one.row.probe["symmetric"]),
                "samples": f"{one.cell['samples']:,}",
            }
            for one in lines[:SHORTFALLS]
        ]
        if rows:
            yield scorer, rows


def _comparisons(report: Mapping[str, Any], anchors: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the comparisons of the rankers with the first one, largest differences first."""
    probes = {probe["name"]: probe for probe in report["probes"]}
    for position, (names, rows) in enumerate(tables.by_rankers(report["comparisons"]).items()):
        titles = {row["probe"]: _title_with_data(probes[row["probe"]]) for row in rows}
        contrasts = [
            {
                "title": titles[row["probe"]],
                "link": anchors[row["probe"]],
                "difference": tables.signed(row["difference"]),
                "interval": _interval(row, symmetric=False),
                "p": format_value(row["p_holm"], "p"),
                "significant": tables.significant(row),
            }
            for row in rows
            if row["difference"] or row["low"] is not None
        ]
        open_rows = len(contrasts) if len(contrasts) <= OPEN_ROWS + 2 else OPEN_ROWS
        yield {
            "anchor": f"c{position}",
            "title": " against ".join(names),
            "open": contrasts[:open_rows],
            "folded": contrasts[open_rows:],
            "equal": len(rows) - len(contrasts),
            "disagreements": [
                {
                    "title": titles[row["probe"]],
                    "sample": _texts(row["sample"]),
                    "rows": [
                        (
                            name,
                            *_score_pair(first, second),
                            _verdict(effect, probes[row["probe"]]["symmetric"]),
                        )
                        for name, (first, second, effect) in zip(
                            names[::-1], row["sample"]["scores"], strict=True
                        )
                    ],
                }
                for row in rows
                if row["sample"] is not None
            ],
        }


def _title_with_data(probe: Mapping[str, Any]) -> str:
    data = probe["name"].partition("@")[2]
    return f"{probe['title']} ({data})" if data else str(probe["title"])


def _interval(cell: Mapping[str, Any], symmetric: bool) -> str:
    if cell["low"] is None:
        return UNDEFINED
    return f"{_score(cell['low'], symmetric)} to {_score(cell['high'], symmetric)}"


def _score(score: float | None, symmetric: bool) -> str:
    if score is None:
        return UNDEFINED
    return f"{score:.2f}" if symmetric else tables.signed(score)


def _score_pair(first: float | str, second: float | str) -> tuple[str, str]:
    """Format the two scores of a sample with four significant digits, or more if they would look equal."""
    if isinstance(first, str) or isinstance(second, str):  # infinite
        texts = [score if isinstance(score, str) else f"{score:.4g}" for score in (first, second)]
        return texts[0], texts[1]
    largest = max(abs(first), abs(second))
    decimals = 2 if not largest else max(0, 3 - floor(log10(largest)))
    while (
        f"{first:.{decimals}f}" == f"{second:.{decimals}f}" and first != second and decimals < _MAX_DECIMALS
    ):
        decimals += 1
    return f"{first:.{decimals}f}", f"{second:.{decimals}f}"
