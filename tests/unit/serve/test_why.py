"""A score as rows on the page."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from termwise.explain import Contribution, Explanation
from termwise.explain.attribution import SourceWord
from termwise.explain.explanation import MixturePart
from termwise.serve.page.why import MOST_ROWS, why_of

TEXT = "A kettle boils water. The kettle is warm."


def test_rows_name_origin_and_words() -> None:
    sources = (
        SourceWord("boil", 0.5, 0.75, ((9, 14),)),
        SourceWord("warm", 0.25, 0.25, ((36, 40),)),
    )
    parts = (
        Contribution("kettl", "exact", 1.0, 3.0, 3.0, ((0, 6),), ((2, 8), (26, 32))),
        Contribution("heat", "translation", 1.0, 1.0, 1.0, ((7, 11),), (), sources),
        Contribution("tea", "vector", 1.0, -0.5, -0.5, ((12, 15),)),
    )
    why = why_of(Explanation("kettle heat tea", "d1", 3.5, 0.0, parts, (), TEXT))
    assert [(row.name, row.origin, row.words, row.score) for row in why.rows] == [
        ("kettle", "exact", ("kettle ×2",), "3.0000"),
        ("heat", "translation", ("boils 75%", "warm 25%"), "1.0000"),
        ("tea", "vector", (), "−0.5000"),
    ]
    assert why.score == "3.5000"
    assert [(row.left, row.width) for row in why.rows] == [
        ("14.29", "85.71"),
        ("14.29", "28.57"),
        ("0", "14.29"),
    ]
    assert why.shares == [("exact", "0", "75"), ("translation", "75", "25")]


def test_rows_name_pieces_of_words_and_parts_of_a_mixture() -> None:
    parts = (
        Contribution("path", "vector", 1.0, 2.0, 2.0, ((0, 4),), part="lookup"),
        Contribution("##lib", "vector", 1.0, 1.0, 1.0, ((4, 7),), part="lookup"),
    )
    mixed = MixturePart("lookup", 1.0, 3.0, 4.0, 1.0)
    why = why_of(Explanation("pathlib", "d1", -1.0, 0.0, parts, (), None, parts=(mixed,)))
    assert [(row.name, row.note, row.score) for row in why.rows] == [
        ("average in lookup", "", "−4"),
        ("pathlib", "piece “path”, in lookup", "2"),
        ("pathlib", "piece “lib”, in lookup", "1"),
    ]
    assert why.score == "−1"


@example([], 5e-324)
@given(st.lists(st.floats(-50, 50).filter(lambda value: abs(value) > 1e-3), max_size=30), st.floats(-3, 3))
def test_rounded_rows_add_up_to_the_rounded_score(scores: list[float], constant: float) -> None:
    parts = tuple(
        Contribution(f"t{number}", "exact", 1.0, score, score)
        for number, score in enumerate(sorted(scores, reverse=True))
    )
    why = why_of(Explanation("", "d1", constant + sum(scores), constant, parts, (), None))
    assert sum(Decimal(row.score.replace("−", "-")) for row in why.rows) == Decimal(
        why.score.replace("−", "-")
    )
    assert len(why.rows) <= MOST_ROWS + 3
    for row in why.rows:
        assert 0 <= float(row.left) <= 100
        assert float(row.left) + float(row.width) <= 100.02
