"""Explanations of mixtures in the terminal, on one line, and as a page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.explain.terminal import rendered
from tests.unit.explain.test_explanation_html import written

from termwise import __version__
from termwise.explain import Competitor, Contribution, Explanation, MixturePart
from termwise.explain.explanation_html import explanation_html
from termwise.explain.explanation_terminal import explanation_renderable
from termwise.explain.explanation_text import (
    decimals_of,
    hues,
    largest,
    marks,
    part_line,
    rank_text,
    remarks,
    summands,
)
from termwise.explain.ranking_terminal import sum_parts

QUERY = "merging gravity zebra"
TEXT = "Merge lists."


def term(name, part, weight, scale, span, text_spans=((0, 5),), origin="exact"):
    return Contribution(
        name, origin, 1.0, weight, weight * scale, (span,), text_spans, part=part, scale=scale
    )


# bm25: 0.25 * (4 - 3) / 0.5 = 0.5; lookup: 0.75 * (1.5 - 2) / 0.25 = -1.5
PARTS = (
    MixturePart("bm25", 0.25, 4.0, 3.0, 0.5),
    MixturePart("lookup", 0.75, 1.5, 2.0, 0.25),
)
CONTRIBUTIONS = (
    term("merg", "bm25", 4.0, 0.5, (0, 7)),
    term("gravity", "bm25", 0.0, 0.5, (8, 15), (), "absent"),
    term("gravity", "lookup", 1.25, 3.0, (8, 15), (), "expansion"),
    term("merging", "lookup", 0.5, 3.0, (0, 7), (), "expansion"),
    term("zebra", "lookup", -0.25, 3.0, (16, 21), (), "vector"),
)
UNKNOWN_TO_BM25 = (replace(PARTS[0], unknown=((16, 21),)), PARTS[1])
EXPLANATION = Explanation(
    QUERY, "d1", -1.0, -7.5, CONTRIBUTIONS, (), TEXT, rank=None, results=12, parts=UNKNOWN_TO_BM25
)  # fmt: skip


def test_the_numbers_of_the_example_add_up():
    assert [part.scale for part in PARTS] == [0.5, 3.0]
    assert sum(part.shift for part in PARTS) == EXPLANATION.constant
    assert EXPLANATION.constant + sum(part.score for part in CONTRIBUTIONS) == EXPLANATION.score


def test_the_terminal_groups_the_terms_by_part():
    assert (
        rendered(explanation_renderable(EXPLANATION), width=92)
        == """\
d1
score -1.0000 · not among the 12 results of this query
query ‹merging› ‹gravity› ‹zebra›

parts
  weight × (score - mean) / deviation of the candidates
  bm25    0.25 × (4.0000 - 3.0000) / 0.5000 = 0.5000
  lookup  0.75 × (1.5000 - 2.0000) / 0.2500 = -1.5000

  term            origin     query × doc × scale  contribution  share of the terms   in text
  bm25
  mean of bm25                       -3 × 0.5000       -1.5000
  merging (merg)  exact      1 × 4.0000 × 0.5000        2.0000    │━━━━━━       25%       1×
  lookup
  mean of lookup                          -2 × 3       -6.0000
  gravity         expansion       1 × 1.2500 × 3        3.7500    │━━━━━━━━━━━  47%        –
  merging         expansion       1 × 0.5000 × 3        1.5000    │━━━━╸        19%        –
  zebra           vector         1 × -0.2500 × 3       -0.7500  ━━│             -9%        –
                                                  ────────────
  score                                                -1.0000

  added by the model, not in the text: gravity
  negative weight in this document: zebra
  bm25 has no weight for: gravity, zebra

text
  ‹Merge› lists.
"""
    )


def test_a_word_is_summed_over_the_parts():
    shown = " ".join(part.plain for part in sum_parts(EXPLANATION))
    assert shown == "constant -7.50 + gravity 3.75 + merging 3.50 - zebra 0.75 = -1.00"


def test_a_word_has_one_colour_and_remarks_of_all_parts():
    assert hues(EXPLANATION, range(5)) == {0: 0, 3: 0, 1: 1, 2: 1, 4: 2}
    assert [(mark.start, mark.end, mark.term) for mark in marks(EXPLANATION)] == [(0, 5, 0)]
    assert [(remark.reason[:5], remark.words) for remark in remarks(EXPLANATION)] == [
        ("added", ("gravity",)),
        ("negat", ("zebra",)),
        ("bm25 ", ("gravity", "zebra")),
    ]


def test_the_largest_terms_of_any_part_are_listed():
    assert largest(EXPLANATION, [0, 2, 3, 4], 2) == [0, 2]
    parts = list(summands(EXPLANATION, [0, 2, 3, 4], 2, decimals_of(EXPLANATION)))
    assert parts == [
        ("mean of bm25", -1.5, None),
        ("merging (bm25)", 2.0, 0),
        ("mean of lookup", -6.0, None),
        ("gravity (lookup)", 3.75, 2),
        ("2 more terms", 0.75, None),
    ]


def test_the_page_groups_the_terms_and_gives_the_scales():
    page = written(EXPLANATION)
    assert [row["text"].strip() for row in page.all("tr", **{"class": "part"})] == ["bm25", "lookup"]
    shown = [
        " ".join(li["text"].split()) for li in page.within("ul", **{"class": "parts"}) if li["tag"] == "li"
    ]
    assert shown == [
        "bm25 0.25 × (4.0000 − 3.0000) / 0.5000 = 0.5000",
        "lookup 0.75 × (1.5000 − 2.0000) / 0.2500 = −1.5000",
    ]
    rows = [" ".join(row["text"].split()) for row in page.all("tr")]
    assert "mean of lookup, the same for every document−2 × 3−6.0000" in rows
    assert rows[-1] == "Score−1.0000"


def test_json_names_the_parts():
    data = EXPLANATION.to_dict()
    assert data["parts"][0] == {
        "name": "bm25", "weight": 0.25, "score": 4.0, "mean": 3.0, "deviation": 0.5, "constant": 0.0,
        "unknown": ((16, 21),), "reason": "", "scale": 0.5, "shift": -1.5,
    }  # fmt: skip
    assert [each["part"] for each in data["contributions"]] == ["bm25"] * 2 + ["lookup"] * 3


def test_a_floor_is_a_part_of_the_shift():
    part = MixturePart("jm", 0.5, -4.0, -6.0, 2.0, constant=-9.0)
    assert part.shift == pytest.approx(0.25 * (-9.0 + 6.0))


def test_page_and_terminal_fold_the_smallest_terms_and_agree_on_shares():
    small = [f"w{number:02}" for number in range(40)]
    query = " ".join([*small, "gravity"])
    # 40 contributions of +-0.5 cancel out; that of gravity is 20: half of 40 without signs
    words = [
        term(name, "bm25", (-1) ** number, 0.5, (4 * number, 4 * number + 3), ())
        for number, name in enumerate(small)
    ]
    gravity = term("gravity", "lookup", 20 / 3, 3.0, (160, 167), ())
    shown = Explanation(query, "d1", 12.5, -7.5, (*words, gravity), (), "gravity", parts=PARTS)
    table = rendered(explanation_renderable(shown), width=92)
    assert [line.split()[-2:] for line in table.splitlines() if line.startswith("  gravity ")] == [
        ["50%", "–"]
    ]
    (rest,) = [line for line in table.splitlines() if line.startswith("  21 more terms")]
    assert rest.split()[3:] == ["-0.5000", "━│", "-1%"]
    page = written(shown)
    assert [each["text"].strip() for each in page.all("tr", **{"class": "part"})][:2] == ["bm25", "lookup"]
    first = page.all("table")[0]
    (row,) = [each for each in page.all("tr") if each["attributes"].get("id") == "term-41"]
    assert first in row["parents"]
    assert "50%" in row["text"]
    assert "11 more terms" in first["text"]


def test_the_formula_names_the_part_of_each_term():
    names = [
        element["text"]
        for element in written(EXPLANATION).within("p", **{"class": "formula"})
        if element["attributes"].get("class") == "name"
    ]
    assert names == [
        "score", "mean of bm25", "merging", "bm25", "mean of lookup", "gravity", "lookup", "merging", "lookup",
        "zebra", "lookup",
    ]  # fmt: skip


# "supersonic" is one word for bm25 and two pieces for lookup; the text has a piece of it in another word
SONIC = "supersonic wing's"
SONIC_PARTS = (
    term("superson", "bm25", 0.0, 0.5, (0, 10), (), "absent"),
    term("wing's", "bm25", 2.0, 0.5, (11, 17), ((11, 17),)),
    term("##sonic", "lookup", 1.0, 3.0, (5, 10), ((5, 10),), "piece"),
    term("wing", "lookup", 1.0, 3.0, (11, 15), ((11, 15),)),
    term("super", "lookup", -0.5, 3.0, (0, 5), (), "vector"),
)
SONIC_SHOWN = Explanation(SONIC, "d1", 1.0, -4.5, SONIC_PARTS, (), "hypersonic wing's", parts=PARTS)


def test_a_shared_piece_is_not_the_word():
    shown = rendered(explanation_renderable(SONIC_SHOWN), width=92)
    assert "\n  hyper‹sonic› ‹wing's›\n" in shown
    assert "\nquery ‹supersonic› ‹wing's›\n" in shown
    assert "\n  bm25 has no weight for: supersonic\n" in shown
    (row,) = [line for line in shown.splitlines() if line.startswith("  supersonic (##sonic)")]
    assert row.split()[2] == "piece"


def test_pieces_lower_the_score_if_their_sum_is_negative():
    def lowering(super_, sonic):
        pair = (
            term("##sonic", "lookup", sonic, 3.0, (5, 10), (), "vector"),
            term("super", "lookup", super_, 3.0, (0, 5), (), "vector"),
        )
        shown = Explanation(SONIC, "d1", 1.0, -4.5, pair, (), "lists", parts=PARTS)
        return [remark.words for remark in remarks(shown) if remark.reason.startswith("negative")]

    assert lowering(-0.5, 1.0) == []
    assert lowering(-1.0, 0.5) == lowering(-1.0, -0.5) == [("supersonic",)]


def test_a_part_with_equal_scores_or_a_negative_mean_is_readable():
    assert part_line(MixturePart("bm25", 0.3, 0.0, 0.0, 1.0)) == "0: all candidates have the same score"
    # a document outside of the candidates has another score
    assert part_line(MixturePart("bm25", 0.5, 2.0, 0.0, 1.0)) == "0.5 × (2.0000 - 0.0000) / 1.0000 = 1.0000"
    assert (
        part_line(MixturePart("jm", 0.5, -4.0, -6.0, 2.0)) == "0.5 × (-4.0000 - (-6.0000)) / 2.0000 = 0.5000"
    )


def test_the_page_says_what_the_bar_and_the_sum_leave_out():
    page = " ".join(explanation_html(EXPLANATION).split())
    assert "Striped terms, to the left of the line, lower the score. The bar has the terms only; " in page
    assert "the means add −7.5000." in page
    assert "weight of the term in the document) − mean)." in page
    assert "constant + sum of" not in page


def test_a_negative_weight_of_a_part_is_not_that_of_a_word():
    reversed_ = (PARTS[0], replace(PARTS[1], weight=-0.75))
    words = (
        term("merging", "lookup", 0.5, -3.0, (0, 7), (), "vector"),
        term("gravity", "lookup", -0.25, -3.0, (8, 15), (), "vector"),
    )
    shown = Explanation(QUERY, "d1", -0.75, 0.0, words, (), TEXT, parts=reversed_)
    said = [(remark.reason, remark.words) for remark in remarks(shown)]
    assert said == [
        ("lower the score, because the part lookup has a negative weight", ("merging",)),
        ("left out of the query", ("zebra",)),
    ]


def test_a_document_without_a_vector_has_a_line_for_its_score():
    # lookup: the smallest score of the candidates is 1.5, the mean 2
    empty = Contribution("no text", "empty", 1.0, 1.5, 4.5, part="lookup", scale=3.0)
    shown = Explanation(QUERY, "d1", -1.5, -6.0, (empty,), (), "", parts=PARTS[1:])
    table = rendered(explanation_renderable(shown), width=92)
    assert any(
        line.split() == ["mean", "of", "lookup", "-2", "×", "3", "-6.0000"] for line in table.splitlines()
    )
    (row,) = [line for line in table.splitlines() if "no text: smallest score" in line]
    assert row.split()[4:11] == ["empty", "1", "×", "1.5000", "×", "3", "4.5000"]
    assert [part.plain for part in sum_parts(shown)] == [
        "constant -6.00",
        "+ no text: smallest score 4.50",
        "= -1.50",
    ]
    assert hues(shown, [0]) == {}
    assert "the smallest score of the candidates" in written(shown).text("td", **{"class": "origin"})


def test_a_part_without_information_has_one_line():
    silent = MixturePart("bm25", 0.3, 0.0, 0.0, 1.0)
    shown = rendered(explanation_renderable(replace(EXPLANATION, parts=(silent, PARTS[1]))), width=92)
    assert "\n  bm25    0: all candidates have the same score\n" in shown
    assert "mean of bm25" not in shown
    assert "mean of bm25" not in explanation_html(replace(EXPLANATION, parts=(silent, PARTS[1])))


def test_terminal_and_page_have_one_minus_sign_each():
    assert "−" not in rendered(explanation_renderable(SONIC_SHOWN), width=92)
    page = written(SONIC_SHOWN)
    assert "-" not in "".join(cell["text"] for cell in page.all("td"))
    assert "−0.5000 × 3" in page.text("table")


def test_ranks_are_those_of_candidates():
    assert rank_text(replace(EXPLANATION, rank=2)) == "rank 2 of 12 candidates"
    assert rank_text(replace(EXPLANATION, rank=2, parts=())) == "rank 2 of 12"


def test_hovering_lights_a_word_in_all_parts():
    page = written(EXPLANATION)
    (marked,) = page.all("div", id="document")[0:1]
    keys = {
        element["text"]: element["attributes"]["data-t"]
        for element in page.elements
        if element["tag"] == "mark" and page.all("h1")[0] in element["parents"]
    }
    assert set(keys) == {"merging", "gravity", "zebra"}
    assert len(set(keys.values())) == 3
    (mark,) = [each for each in page.all("mark") if marked in each["parents"]]
    assert (mark["text"], mark["attributes"]["data-t"]) == ("Merge", keys["merging"])
    assert mark["attributes"]["id"] == f"at-{keys['merging']}"
    rows = {
        row["attributes"]["id"]: row["attributes"]["data-t"]
        for row in page.all("tr")
        if "id" in row["attributes"]
    }
    assert rows["term-1"] == rows["term-4"] == keys["merging"]
    assert [
        item["text"].strip() for item in page.within("ul", **{"class": "chips"}) if item["tag"] == "mark"
    ] == ["merging"]


def test_the_bar_and_the_marks_name_parts_and_tell_signs_apart():
    page = written(EXPLANATION)
    segments = [each["attributes"] for each in page.all("a", **{"class": "seg"})]
    assert [each["title"] for each in segments] == [
        "zebra (lookup): −0.7500, −9% of the terms",
        "gravity (lookup): 3.7500, 47% of the terms",
        "merging (bm25): 2.0000, 25% of the terms",
        "merging (lookup): 1.5000, 19% of the terms",
    ]
    assert ["neg" in each["class"].split() for each in segments] == [True, False, False, False]
    marks_of_query = [each for each in page.within("h1") if each["tag"] == "mark"]
    titles = {each["text"]: each["attributes"]["title"] for each in marks_of_query}
    assert titles["merging"] == "bm25 2.0000, lookup 1.5000"
    assert {each["text"]: "neg" in each["attributes"]["class"].split() for each in marks_of_query} == {
        "merging": False, "gravity": False, "zebra": True,
    }  # fmt: skip


def test_bars_of_a_ranking_begin_at_the_lowest_score():
    others = (Competitor(1, "a", 0.5), Competitor(3, "b", -2.5))
    page = written(replace(EXPLANATION, rank=2, competitors=others))
    widths = [
        each["attributes"]["style"]
        for each in page.within("ol", **{"class": "near"})
        if "fill" in each["attributes"].get("class", "")
    ]
    assert widths == ["width: 100%", "width: 50%", "width: 0%"]
    assert "The bars begin at the lowest of these scores." in explanation_html(
        replace(EXPLANATION, competitors=others)
    )


def test_the_page_names_index_and_version():
    page = written(replace(EXPLANATION, index="best.tw"))
    assert page.text("footer").endswith(f"best.tw · termwise {__version__}")
