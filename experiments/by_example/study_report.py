"""HTML report of the study with texts, which stays in the work folder.

For each collection it shows the tables, the measure by share, a scatter plot of the queries, and the queries with the
largest gains and losses of interpolation, each with the document that moves most and the terms of its two scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import record
from fold_choices import FoldChoices
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rankers import Bench
from share_figure import figure_bytes, shares_figure
from study_page import curve_of
from study_plan import LETTERS, Plan, System

from termwise.explain.explanation import Explanation
from termwise.records import Ranking
from termwise.storage.atomic_file import written_whole

SHOWN = 3
"""Number of queries with the largest gains, and with the largest losses, per interpolation."""

TERMS = 8
"""Number of shown terms of a score."""

LONGEST = 420
"""Maximum number of shown characters of a text."""

SIZE = 260
"""Width and height of a scatter plot."""


@dataclass(frozen=True)
class Point:
    """A query in a scatter plot."""

    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Part:
    """Contribution of a term to a score; the width is relative to the largest."""

    term: str
    origin: str
    score: str
    width: float


@dataclass(frozen=True)
class Case:
    """Query with a gain or a loss, and its document that moves most."""

    query_id: str
    query: str
    before: str
    after: str
    gained: bool
    document: str
    grade: int
    ranks: str
    scores: tuple[tuple[str, str, tuple[Part, ...]], ...]


def write_report(path: Path, plan: Plan, result: Mapping[str, Any], benches: Mapping[str, Bench]) -> None:
    """Write the report."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).resolve().parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    sections = [_section(plan, name, result["collections"][name], bench) for name, bench in benches.items()]
    page = environment.get_template("study.html.j2").render(
        plan=plan,
        sections=sections,
        targets=[_target(one) for one in result["targets"]],
        about=record.about(dict(result)),
    )
    with written_whole(path) as write:
        write(page)


def _target(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "what": f"{one['collection']}: {one['system']} over {one['over']}, {one['measure']}",
        "wanted": f"{one['wanted']:.2f}",
        "ratio": record.number(one["ratio"]),
        "interval": record.interval(one["ratio interval"]),
        "reached": one["reached"],
        "verdict": record.verdict(one["reached"], set_later=one["set_later"]),
    }


def _section(plan: Plan, name: str, entry: Mapping[str, Any], bench: Bench) -> dict[str, Any]:
    choices = FoldChoices(bench)
    texts = bench.texts()
    query_texts = {query.query_id: query.text for query in bench.reported.queries}
    main = entry["measures"][0]
    mixes = []
    for mix, found in entry["shares"].items():
        system = plan.systems[mix]
        curves = [curve_of(measure, found, measure) for measure in entry["measures"]]
        first, second = (plan.systems[part].title for part in system.mix)
        drawing = figure_bytes(shares_figure(curves, first=first, second=second), "svg").decode()
        before, after = (np.array(entry["rows"][one]["values"][main]) for one in (system.mix[0], mix))
        mixes.append(
            {
                "title": system.title,
                "chosen": ", ".join(f"{alpha:.2f}" for alpha in found["chosen"]),
                "drawing": drawing[drawing.index("<svg") :],
                "points": _points(entry["query_ids"], before, after, query_texts),
                "cases": _cases(
                    bench, choices, system, entry["query_ids"], before, after, query_texts, texts
                ),
            }
        )
    return {
        "name": name,
        "queries": f"{entry['queries']:,}",
        "documents": f"{entry['documents']:,}",
        "measures": entry["measures"],
        "main": main,
        "tables": [_table(plan, table, entry) for table in plan.tables],
        "mixes": mixes,
    }


def _table(plan: Plan, table: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    letters = iter(LETTERS)
    better = entry["letters"].get(table.name, {})
    rows = []
    for name in table.rows:
        row = entry["rows"][name]
        if "not run" in row:
            rows.append({"letter": "–", "title": row["title"], "why": row["not run"], "cells": []})
            continue
        cells = [
            {
                "value": record.number(row["measures"][measure]),
                "interval": record.interval(row["intervals"][measure]),
                "letters": better.get(measure, {}).get(name, ""),
            }
            for measure in entry["measures"]
        ]
        rows.append({"letter": next(letters), "title": row["title"], "why": "", "cells": cells})
    return {"title": table.title, "rows": rows}


def _points(query_ids: Sequence[str], before: Any, after: Any, query_texts: Mapping[str, str]) -> list[Point]:
    return [
        Point(
            round(float(x) * SIZE, 1),
            round(SIZE - float(y) * SIZE, 1),
            f"{query_id}: {record.number(float(x))} to {record.number(float(y))}. {_short(query_texts[query_id], 90)}",
        )
        for query_id, x, y in zip(query_ids, before, after, strict=True)
    ]


def _cases(
    bench: Bench,
    choices: FoldChoices,
    system: System,
    query_ids: Sequence[str],
    before: Any,
    after: Any,
    query_texts: Mapping[str, str],
    texts: Mapping[str, str],
) -> list[Case]:
    order = np.argsort(after - before, kind="stable").tolist()
    picked = [place for place in (*order[::-1][:SHOWN], *order[:SHOWN]) if after[place] != before[place]]
    chosen = choices.chosen(system.name)
    part_of = {query_id: number for number, part in enumerate(bench.parts) for query_id in part.reported}
    cases = []
    for place in dict.fromkeys(picked):
        query_id = query_ids[place]
        number = part_of[query_id]
        gained = bool(after[place] > before[place])
        moved = _moved(bench, query_id, chosen.parts[number][0][query_id], chosen.run[query_id], up=gained)
        if moved is None:
            continue
        doc_id, grade, ranks = moved
        scores = []
        variants = (choices.variant(system.mix[0], number), chosen.choices[number]["variant"])
        for name, variant in zip(system.mix, variants, strict=True):
            searcher = bench.searcher(bench.plan.systems[name], variant)
            explained = searcher.explain(query_texts[query_id], doc_id)
            scores.append(
                (bench.plan.systems[name].title, record.number(explained.score, digits=2), _parts(explained))
            )
        cases.append(
            Case(
                query_id=query_id,
                query=_short(query_texts[query_id], LONGEST),
                before=record.number(float(before[place])),
                after=record.number(float(after[place])),
                gained=gained,
                document=_short(texts[doc_id], LONGEST),
                grade=grade,
                ranks=ranks,
                scores=tuple(scores),
            )
        )
    return cases


def _moved(
    bench: Bench, query_id: str, before: Ranking, after: Ranking, *, up: bool
) -> tuple[str, int, str] | None:
    """Return the relevant document with the largest change of reciprocal rank, its grade and its two ranks."""
    ranks = [{doc_id: rank for rank, doc_id in enumerate(one.doc_ids, start=1)} for one in (before, after)]
    grades = {
        qrel.doc_id: qrel.relevance
        for qrel in bench.qrels
        if qrel.query_id == query_id and qrel.relevance > 0
    }
    moves = [
        ((1 / ranks[1][doc_id] - 1 / ranks[0][doc_id]) * grade, doc_id)
        for doc_id, grade in grades.items()
        if doc_id in ranks[0] and doc_id in ranks[1]
    ]
    if not moves:
        return None
    move, doc_id = max(moves) if up else min(moves)
    if (move > 0) != up:
        return None
    return doc_id, grades[doc_id], f"{ranks[0][doc_id]:,} → {ranks[1][doc_id]:,}"


def _parts(explained: Explanation) -> tuple[Part, ...]:
    shown = [one for one in explained.contributions if one.score > 0][:TERMS]
    largest = max((one.score for one in shown), default=1.0)
    return tuple(
        Part(one.term, one.origin, record.number(one.score, digits=2), round(100 * one.score / largest))
        for one in shown
    )


def _short(text: str, longest: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= longest else f"{plain[: longest - 1].rsplit(' ', 1)[0]} …"
