"""Negative contributions, and terms that are compared by vectors, in the terminal, on a line and on a page."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from termwise.explain.explanation import Contribution, Explanation
from termwise.explain.explanation_html import explanation_html
from termwise.explain.explanation_terminal import explanation_renderable
from termwise.explain.explanation_text import percent, remarks
from termwise.explain.ranking_terminal import sum_parts

PARTS = (
    Contribution("cards", "exact", 2.0, 2.25, 4.5, ((6, 11),), ((15, 20),)),
    Contribution("shuffle", "vector", 1.0, 3.5, 3.5, ((12, 19),)),
    Contribution("merge", "exact", 1.0, -4.0, -4.0, ((0, 5),), ((0, 5),)),
)
MIXED = Explanation("merge cards shuffle", "d", 4.0, 0.0, PARTS, (), "merge lists of cards")
NEGATIVE = Explanation("merge", "d", -4.0, 0.0, PARTS[2:], (), "merge lists of cards")


def lines(explanation: Explanation, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(explanation_renderable(explanation))
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue().splitlines()


def test_bars_have_a_common_zero_and_negative_ones_go_left() -> None:
    shown = lines(MIXED, 90)
    cards, shuffle, merge = (
        next(line for line in shown if line.strip().startswith(f"{term} "))
        for term in ("cards", "shuffle", "merge")
    )
    zero = merge.index("│")
    assert [line.index("│") for line in (cards, shuffle)] == [zero, zero]
    assert cards[zero + 1] == "━"
    assert cards[zero - 1] == " "
    assert merge[zero - 1] == "━"
    assert merge[zero + 1] == " "
    assert cards.count("━") > shuffle.count("━")
    assert "-33%" in merge
    assert "38%" in cards
    assert "vector" in shuffle
    assert "-4" in merge


@pytest.mark.parametrize("explanation", [MIXED, NEGATIVE])
@pytest.mark.parametrize("width", range(20, 120, 7))
def test_lines_fit_and_hold_all_numbers(explanation: Explanation, width: int) -> None:
    shown = lines(explanation, width)
    assert max(map(len, shown)) <= width
    assert any("-4" in line for line in shown)


def test_the_line_of_a_ranking_subtracts() -> None:
    assert [part.plain for part in sum_parts(MIXED)] == [
        "cards 4.50",
        "+ shuffle 3.50",
        "- merge 4.00",
        "= 4.00",
    ]
    assert [part.plain for part in sum_parts(NEGATIVE)] == ["merge -4", "= -4"]


def test_a_remark_says_what_a_negative_weight_means() -> None:
    (remark,) = remarks(MIXED)
    assert remark.reason == "negative weight in this document"
    assert remark.words == ("merge",)


def test_shares_of_either_sign() -> None:
    assert [percent(share) for share in (-1.0, -0.006, -0.004, 0.004)] == ["-100%", "-1%", "<1%", "<1%"]


def test_the_page_shows_negative_parts() -> None:
    page = explanation_html(MIXED)
    # from -4 to 4.5: the zero is at 4 / 8.5
    assert 'style="margin-left: 0%; width: 47.06%"' in page
    assert 'style="margin-left: 47.06%; width: 52.94%"' in page
    assert "−4.0000" in page or "−4" in page
    assert "−33%" in page
    assert "Striped terms, to the left of the line, lower the score." in page
    assert "the vector of the word points away from that of the text" in page
    assert "A model can add terms" not in page


def test_a_page_without_negative_parts_has_no_word_about_them() -> None:
    page = explanation_html(Explanation("cards", "d", 4.5, 0.0, PARTS[:1], (), "merge lists of cards"))
    assert "margin-left" not in page.split("</style>")[1]
    assert "Striped" not in page
    assert 'class="zero"' not in page
    assert "points away" not in page


def test_a_page_with_only_negative_parts() -> None:
    page = explanation_html(NEGATIVE)
    assert 'style="margin-left: 0%; width: 100%"' in page
    assert page.index("flex-grow: 1000") < page.index('<li class="zero"')


def test_the_bar_has_one_scale_for_both_signs() -> None:
    page = explanation_html(MIXED)
    # 4, 3.5 and 4.5 of 12
    grown = [float(part.split('"')[0]) for part in page.split('<li style="flex-grow: ')[1:]]
    assert grown == pytest.approx([1000 * 4 / 12, 1000 * 4.5 / 12, 1000 * 3.5 / 12], abs=0.01)
    assert page.index("−4.0000, −33% of the terms") < page.index('class="zero"') < page.index("4.5000, 38%")


def test_words_with_a_small_contribution_say_so() -> None:
    small = (*PARTS, Contribution("of", "exact", 1.0, -0.0577, -0.0577, ((20, 22),), ((12, 14),)))
    shown = Explanation("merge cards shuffle of", "d", 3.9423, 0.0, small, (), "merge lists of cards")
    page = explanation_html(shown)
    assert '<span class="small" data-t="4" title="adds less than 5%: −0.0577">of</span>' in page
    assert "adds nothing to this document" not in page
