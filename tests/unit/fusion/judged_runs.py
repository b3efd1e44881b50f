"""Judged runs drawn by hypothesis, and small helpers."""

from __future__ import annotations

from hypothesis import strategies as st

from termwise import Qrel, Ranking, Run

SCORES = st.integers(-3, 3).map(float) | st.floats(-100, 100).map(lambda score: round(score, 6))
DOCUMENTS = "abcdefgh"


def run_of(name, table):
    """Make a run of ``{query: {document: score}}``."""
    rankings = []
    for query_id, scores in table.items():
        ordered = sorted(scores.items(), key=lambda pair: -pair[1])
        rankings.append(Ranking([d for d, _ in ordered], [s for _, s in ordered], query_id))
    return Run(rankings, name)


def runs_and_qrels(runs=2):
    """Draw runs of a few queries, and judgments of which some are about queries that no run holds."""
    ranked = st.dictionaries(st.sampled_from(DOCUMENTS), SCORES, min_size=1, max_size=8)
    table = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), ranked, max_size=3)
    judged = st.dictionaries(
        st.tuples(st.sampled_from(["q1", "q2", "q3", "q4"]), st.sampled_from(DOCUMENTS + "xy")),
        st.integers(-1, 3),
        max_size=14,
    )

    def made(drawn):
        tables, grades = drawn
        # One query at least is in the first run and judged, or there would be nothing to learn from.
        first = {"q1": {"a": 2.0, "b": 1.0}, **tables[0]}
        qrels = [Qrel(q, d, grade) for (q, d), grade in {("q1", "b"): 1, **grades}.items()]
        return [run_of(f"r{n}", t) for n, t in enumerate([first, *tables[1:]])], qrels

    return st.tuples(st.tuples(*[table] * runs), judged).map(made)
