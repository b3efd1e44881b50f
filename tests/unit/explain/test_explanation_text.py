"""Words and numbers of an explanation: what adds up, what is left over, what is said about words that add nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.explain.attribution import SourceWord
from termwise.explain.explanation import Contribution, Explanation, MixturePart, Origin
from termwise.explain.explanation_text import (
    HUES,
    ORIGINS,
    UNKNOWN,
    contributing,
    decimals_for,
    factor,
    full_name,
    has_pieces,
    hues,
    label,
    marks,
    number,
    query_marks,
    rank_text,
    remarks,
    rounding,
    small_contributions,
    smallest,
    stem,
    summands,
    sums_of_words,
    translation_sources,
    words_in_pieces,
)
from termwise.explain.passages import Mark
from termwise.text.words_around import word_around


def part(term, score, query_spans=(), spans=(), origin="exact"):
    return Contribution(term, origin, 1.0, score, score, tuple(query_spans), tuple(spans))


QUERY = "how to merge the sorted lists frobnicate"
PARTS = (
    part("merg", 4.5, [(7, 12)], [(0, 5)]),
    part("list", 1.25, [(24, 29)], [(6, 10), (21, 26)]),
    part("[background]", 0.5, origin="background"),
    part("how", 0.0, [(0, 3)], origin="absent"),
    part("sort", 0.0, [(17, 23)], [(11, 15)], origin="absent"),
)
EXPLANATION = Explanation(QUERY, "d1", 6.25, 0.0, PARTS, ((30, 40),), "merge list sorts and lists")


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([], 0),
        ([0.0], 0),
        ([3.0, -12.0], 0),
        ([9.59, 4.0], 4),
        ([-63.11, 0.2], 4),
        ([0.25], 4),
        ([0.05], 5),
        ([1e-30], 12),
        ([1.5e9, 0.5], 0),
    ],
)
def test_decimals_follow_the_largest_number(values, decimals):
    assert decimals_for(values) == decimals


def test_numbers_are_rounded_and_zero_has_no_sign():
    assert number(2.00006, 4) == "2.0001"
    assert number(-0.00004, 4) == "0.0000"
    assert number(-1.5, 1) == "-1.5"
    assert number(-0.4, 0) == "0"
    assert factor(3.0) == "3"
    assert factor(0.33333) == "0.3333"


def test_rounding_differences_by_hand():
    # 0.00014 + 0.00014 = 0.00028; shown 0.0001 + 0.0001, and 0.0003.
    assert rounding([0.00014, 0.00014], 0.00028, 4) == 0.0001
    assert rounding([4.62387, 3.59287, 1.37466], 9.5914, 4) == -0.0001
    assert rounding([1.0, 2.0], 3.0, 0) == 0


@given(parts=st.lists(st.floats(-100, 100, allow_subnormal=False), max_size=12), decimals=st.integers(0, 8))
def test_shown_numbers_and_the_rest_add_up_to_the_shown_total(parts, decimals):
    total = sum(parts)
    rest = rounding(parts, total, decimals)
    shown = sum((Decimal(number(value, decimals)) for value in [*parts, rest]), Decimal(0))
    assert shown == Decimal(number(total, decimals))
    assert abs(rest) <= (len(parts) + 1.5) * 10.0**-decimals


def test_labels_are_the_words_of_the_query():
    assert label(PARTS[0], QUERY) == "merge"
    assert label(part("expanded", 1.0), QUERY) == "expanded"
    assert label(PARTS[2], QUERY) == "background"
    query = "sort Sort sorted sorting"
    many = part("sort", 1.0, [(0, 4), (5, 9), (10, 16), (17, 24)])
    assert label(many, query) == "sort, sorted, …"
    assert label(many, query, words=1) == "sort"
    assert label(many, query, words=3) == "sort, sorted, sorting"


def test_the_term_is_shown_if_it_differs_from_the_words():
    assert stem(PARTS[0], QUERY) == "merg"
    assert stem(part("merge", 1.0, [(7, 12)]), QUERY) == ""
    assert stem(part("expanded", 1.0), QUERY) == ""
    assert stem(PARTS[2], QUERY) == ""


def test_marks_are_the_spans_of_contributing_terms():
    assert marks(EXPLANATION) == [Mark(0, 5, 4.5, 0), Mark(6, 10, 1.25, 1), Mark(21, 26, 1.25, 1)]
    assert contributing(EXPLANATION) == [0, 1, 2]
    places = {mark.term: QUERY[mark.start : mark.end] for mark in query_marks(EXPLANATION)}
    assert places == {0: "merge", 1: "lists", 3: "how", 4: "sorted", UNKNOWN: "frobnicate"}


def test_words_that_add_nothing_are_explained():
    assert [(remark.reason, remark.words) for remark in remarks(EXPLANATION)] == [
        ("not in this document", ("how",)),
        ("in this document, but of no weight", ("sorted",)),
        ("not in the index", ("frobnicate",)),
        ("left out of the query", ("to", "the")),
    ]


def test_without_the_text_absent_words_are_not_reported():
    bare = Explanation("merge it", "d1", 0.0, 0.0, (part("merg", 0.0, [(0, 5)], origin="absent"),), (), None)
    assert [remark.reason for remark in remarks(bare)] == [
        "of no weight in this document",
        "left out of the query",
    ]


def test_repeated_words_are_named_once_and_pieces_of_words_are_not_left_out():
    query = "Unheard unheard em-bed"
    explanation = Explanation(
        query,
        "d1",
        1.0,
        0.0,
        (part("em", 1.0, [(16, 18)]), part("##bed", 1.0, [(19, 22)])),
        ((0, 7), (8, 15)),
        "",
    )
    assert [(remark.reason, remark.words) for remark in remarks(explanation)] == [
        ("not in the index", ("Unheard",))
    ]


def test_colours_follow_the_query_so_that_documents_agree():
    assert hues(EXPLANATION, range(5)) == {3: 0, 0: 1, 4: 2, 1: 3}  # how merge sorted lists; no background
    assert hues(EXPLANATION, contributing(EXPLANATION)) == {0: 0, 1: 1}


def test_the_heaviest_of_many_terms_are_coloured():
    query = " ".join(f"w{i:02}" for i in range(30))
    parts = tuple(part(f"w{i:02}", 30.0 - i, [(4 * i, 4 * i + 3)]) for i in reversed(range(30)))
    explanation = Explanation(query, "d", 0.0, 0.0, parts, (), None)
    assert sorted(hues(explanation, range(30))) == list(range(HUES))
    assert hues(explanation, range(30))[HUES - 1] == 0


def test_a_document_that_matches_only_by_its_bias_is_not_a_result():
    assert rank_text(EXPLANATION) == ""
    background = Explanation(QUERY, "d", 0.5, 0.0, PARTS[2:], (), "")
    assert rank_text(background) == "not a result: the document shares no term with the query"
    assert rank_text(replace(background, rank=1_234, results=5_678)) == "rank 1,234 of 5,678"


def test_the_parts_of_a_sum_add_up_to_the_rounded_score():
    terms = tuple(part(name, 0.25) for name in "abc")
    parts = list(summands(Explanation("a b c", "d", 1.0, 0.25, terms, (), None), [0, 1, 2], 1, 1))
    names = [("constant", None), ("a", 0), ("2 more terms", None), ("rounding", None)]
    assert [(name, place) for name, _, place in parts] == names
    assert sum(float(f"{value:.1f}") for _, value, _ in parts) == pytest.approx(1.0)


def test_every_origin_has_words():
    assert set(ORIGINS) == set(get_args(Origin))


# --- pieces of words --------------------------------------------------------------------------------------------

PIECES = Explanation(
    "deleting unlinked walks",
    "d1",
    9.5,
    0.0,
    (
        part("##eti", 4.0, [(3, 6)], origin="translation"),
        part("un", 2.5, [(9, 11)], [(7, 9)]),
        part("##link", 2.0, [(11, 15)], [(9, 13)]),
        part("del", 1.0, [(0, 3)], [(0, 3)]),
        part("##ng", 0.0, [(6, 8)], origin="absent"),
        part("walks", 0.0, [(18, 23)], origin="absent"),
    ),
    (),
    "Delete unlinked.",
)


def test_a_piece_has_the_name_of_its_word_and_its_own_in_brackets():
    names = [(label(one, PIECES.query), stem(one, PIECES.query)) for one in PIECES.contributions]
    assert names[:3] == [("deleting", "##eti"), ("unlinked", "un"), ("unlinked", "##link")]
    assert full_name(PIECES.contributions[1], PIECES.query) == "unlinked (un)"
    assert full_name(PIECES.contributions[5], PIECES.query) == "walks"
    assert has_pieces(PIECES, contributing(PIECES))
    assert not has_pieces(EXPLANATION, contributing(EXPLANATION))


def test_pieces_of_one_word_are_one_part_with_the_names_of_incomplete_words():
    assert sums_of_words(PIECES) == [("deleting (##eti del)", 5.0, 0), ("unlinked", 4.5, 1)]
    assert sums_of_words(EXPLANATION) == [("merge", 4.5, 0), ("lists", 1.25, 1), ("background", 0.5, 2)]


def test_the_words_of_a_long_query_are_found_once(monkeypatch):
    query = " ".join(f"ab{number}" for number in range(100))
    places = [match.start() for match in re.finditer("ab", query)]
    pieces = [part(f"a{number}", 1.0, [(place, place + 1)]) for number, place in enumerate(places)]
    asked = []
    monkeypatch.setattr(
        "termwise.explain.explanation_text.word_around",
        lambda text, start, end: asked.append(start) or word_around(text, start, end),
    )
    explanation = Explanation(query, "d1", 100.0, 0.0, tuple(pieces), (), None)
    assert sums_of_words(explanation)[0] == ("ab0", 1.0, 0)
    assert len(asked) < 10 * len(pieces)


def test_a_piece_that_adds_nothing_is_named_if_others_of_its_word_do():
    assert [(remark.reason, remark.words) for remark in remarks(PIECES)] == [
        ("not in this document", ("deleting (##ng)", "walks"))
    ]
    alone = Explanation("deleting", "d1", 0.0, 0.0, tuple(
        part(term, 0.0, [span]) for term, span in (("del", (0, 3)), ("##eti", (3, 6)), ("##ng", (6, 8)))
    ), (), "")  # fmt: skip
    assert [remark.words for remark in remarks(alone)] == [("deleting",)]


def test_marks_of_two_pieces_cover_the_word_and_that_of_one_does_not():
    assert [PIECES.text[mark.start : mark.end] for mark in marks(PIECES)] == ["un", "linked", "Del"]
    places = [(PIECES.query[mark.start : mark.end], mark.term) for mark in query_marks(PIECES)]
    assert sorted(places) == [("del", 3), ("eting", 0), ("linked", 2), ("un", 1), ("walks", 5)]


def test_source_words_of_a_term():
    text = "Delete the directories"
    sources = (
        SourceWord("director", 0.1, 0.4, ((11, 19),)),
        SourceWord("ete", 0.1, 0.3, ((3, 6),)),
        SourceWord("##ies", 0.1, 0.2, ((19, 22),)),
        SourceWord("dir", 0.1, 0.1, ((11, 14),)),
    )
    dir_ = Contribution("dir", "translation", 1.0, 1.0, 1.0, ((0, 3),), (), sources)
    (made,) = translation_sources(Explanation("dir", "d1", 1.0, 0.0, (dir_,), (), text))
    assert [name for name, _ in made.parts] == ["directories", "Delete", "itself"]
    assert [share for _, share in made.parts] == pytest.approx([0.6, 0.3, 0.1])
    assert made.more == 0


def test_a_word_and_a_longer_one_it_begins_have_no_empty_brackets():
    both = Contribution("branch", "exact", 1.0, 1.0, 1.0, ((0, 6), (7, 13)))
    assert full_name(both, "branch branchname") == "branch, branchname"


def small_terms() -> Explanation:
    """Two words with 3.92 of the sum without signs, 4, and two others with 0.08: 2 %."""
    words = [
        ("moon", 2.42, (15, 19), ((4, 8),)),
        ("ocean", 1.5, (24, 29), ()),
        ("the", 0.05, (11, 14), ((0, 3),)),
        ("of", -0.03, (8, 10), ()),
    ]
    parts = tuple(
        Contribution(word, "exact" if spans else "vector", 1.0, score, score, (span,), spans)
        for word, score, span, spans in words
    )
    return Explanation("gravity of the moon and ocean", "d1", 3.94, 0.0, parts, (), "The moon.")


def test_the_smallest_contributions_are_one_line_and_not_marked() -> None:
    shown = small_terms()
    assert small_contributions(shown) == {2, 3}
    assert list(summands(shown, [0, 1, 2, 3], 20, 4)) == [
        ("constant", 0.0, None),
        ("moon", 2.42, 0),
        ("ocean", 1.5, 1),
        ("2 more terms", pytest.approx(0.02), None),
    ]
    assert len(list(summands(shown, [0, 1, 2, 3], None, 4))) == 5
    assert [mark.term for mark in marks(shown)] == [0]
    assert {mark.term for mark in query_marks(shown)} == {0, 1}
    assert not any(remark.reason.startswith("lower") for remark in remarks(shown))


def test_a_single_small_contribution_is_listed_but_not_marked() -> None:
    one = replace(small_terms(), contributions=small_terms().contributions[:3])
    assert [position for *_, position in summands(one, [0, 1, 2], 20, 4)][:4] == [None, 0, 1, 2]
    assert [mark.term for mark in marks(one)] == [0]


def test_the_smallest_values_have_one_share_together() -> None:
    assert smallest([9.4, 0.3, -0.2, 0.1]) == {2, 3}  # 0.6 is 6 % of 10, and 0.3 is 3 %
    assert smallest([9.6, 0.4]) == {1}
    assert smallest([0.92, 0.04, -0.04]) == smallest([1.0] * 40) == smallest([]) == frozenset()


def test_a_word_that_only_pieces_are_known_of_is_named():
    x, yz = part("x", 2.0, [(0, 1)], origin="vector"), part("##yz", -0.5, [(1, 3)], origin="vector")
    merge = part("merge", 1.0, [(4, 9)], origin="vector")
    shown = Explanation("xyz merge", "d1", 2.5, 0.0, (x, yz, merge), (), "lists")
    assert words_in_pieces([shown]) == ["xyz"]
    assert [(remark.reason, remark.words) for remark in remarks(shown)] == [
        ("only pieces are known of", ("xyz",)),
    ]
    assert [name for name, _, _ in sums_of_words(shown)] == ["xyz (pieces)", "merge"]
    # a document has the word
    exact = replace(shown, contributions=(replace(x, origin="exact"), replace(yz, origin="exact"), merge))
    assert words_in_pieces([shown, exact]) == []
    # another part of a mixture knows the word
    known = replace(shown, contributions=(x, yz, merge, part("xyz", 0.0, [(0, 3)], origin="absent")))
    assert words_in_pieces([known]) == []
    # another part knows a compound around it
    pieces = tuple(replace(each, query_spans=((2 + n, 4 + n),)) for n, each in enumerate((x, yz)))
    whole = part("2.xyz", 0.0, [(0, 5)], origin="absent")
    assert words_in_pieces([Explanation("2.xyz", "d1", 2.5, 0.0, pieces, (), "lists")]) == ["xyz"]
    assert words_in_pieces([Explanation("2.xyz", "d1", 2.5, 0.0, (*pieces, whole), (), "lists")]) == []
    # without the text, a part that does not know the word is needed
    bare = replace(
        shown, text=None, contributions=(replace(x, origin="unknown"), replace(yz, origin="unknown"))
    )
    assert words_in_pieces([bare]) == []
    bm25 = MixturePart("bm25", 0.3, 0.0, 0.0, 1.0, unknown=((0, 3),))
    assert words_in_pieces([replace(bare, parts=(bm25,))]) == ["xyz"]


def test_the_legend_of_pieces_is_for_shown_pieces():
    shown = {one.term: has_pieces(PIECES, [place]) for place, one in enumerate(PIECES.contributions)}
    assert shown == {term: term.startswith("##") for term in shown}
    assert set(shown.values()) == {True, False}
