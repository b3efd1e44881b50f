"""Sample explanations, and their rendering in a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from termwise.explain.explanation import Competitor, Contribution, Explanation

QUERY = "how to merge two sorted lists frobnicate"
TEXT = "heapq.merge(*iterables)\nMerge sorted inputs into a single sorted output, a list."


def part(term, score, query_spans=(), spans=(), origin="exact", query_weight=1.0):
    return Contribution(
        term, origin, query_weight, score / query_weight, score, tuple(query_spans), tuple(spans)
    )


EXPLANATION = Explanation(
    QUERY,
    "heapq.merge",
    9.59141,
    0.0,
    (
        part("merg", 4.62387, [(7, 12)], [(6, 11), (24, 29)]),
        part("sort", 3.59288, [(17, 23)], [(30, 36), (58, 64)]),
        part("list", 1.37466, [(24, 29)], [(75, 79)]),
        part("two", 0.0, [(13, 16)], origin="absent"),
    ),
    ((30, 40),),
    TEXT,
    rank=2,
    competitors=(Competitor(1, "builtins.list.sort", 10.1225), Competitor(3, "bisect", 6.5)),
    results=1190,
)

PIECES = Explanation(
    "how to unlink",
    "d1",
    5.1,
    0.0,
    (part("un", 3.1, [(7, 9)], [(0, 2)]), part("##link", 2.0, [(9, 13)], [(2, 6)])),
    (),
    "Unlinked.",
)

HOSTILE = replace(
    EXPLANATION,
    doc_id="id\x1b[31m\nsecond",
    query="\x1b[5m merge \ud800",
    text="a \x1b[2J\x1b]0;owned\x07 merge \u202e\ud800 \x9b31m\rover",
    contributions=(part("mer\x1bg", 1.0, [(5, 10)], [(16, 21)]),),
    unknown=((11, 12),),
    competitors=(Competitor(1, "other\x1b[0m", 2.0),),
)
"""Full of what would command a terminal."""


def rendered(renderable, *, width=80, colour=False):
    file = io.StringIO()
    system = "256" if colour else None
    Console(file=file, width=width, force_terminal=colour, color_system=system).print(renderable)
    return file.getvalue()


def lines(renderable, **options):
    return rendered(renderable, **options).splitlines()
