"""A ranking in the terminal: its lines of text, its sums, and what never gets through."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.explain.terminal import EXPLANATION, HOSTILE, PIECES, lines, part, rendered
from tests.unit.explain.test_explanation_text import small_terms

from termwise.errors import ParameterError
from termwise.explain.explanation_html import explanation_html
from termwise.explain.explanation_terminal import explanation_renderable
from termwise.explain.ranking_terminal import ranking_lines, ranking_renderable, sum_parts
from termwise.records import Ranking


def ranked():
    second = replace(
        EXPLANATION, doc_id="bisect", score=0.5, contributions=(part("sort", 0.5, [(17, 23)]),), text=None
    )
    return Ranking(["heapq.merge", "bisect", "third"], [9.59141, 0.5, 0.25]), [EXPLANATION, second]


def test_a_ranking_without_explanations():
    ranking, _ = ranked()
    assert lines(ranking_renderable(ranking)) == [
        "1  9.5914  heapq.merge",
        "2  0.5000  bisect",
        "3  0.2500  third",
    ]


def test_a_ranking_with_snippets():
    assert lines(ranking_renderable(*ranked()), width=60) == [
        "1  9.5914  heapq.merge",
        "           heapq.‹merge›(*iterables) ‹Merge› ‹sorted› …",
        "2  0.5000  bisect",
        "3  0.2500  third",
    ]


def test_words_are_marked_as_a_whole():
    ranking, explanations = ranked()
    words = [[(0, 11), (24, 29)], []]  # heapq.merge and Merge; sorted is a whole word
    assert "heapq.merge(*iterables)\nMerge sorted" in (EXPLANATION.text or "")
    assert lines(ranking_renderable(ranking, explanations, words=words), width=60)[1] == (
        "           ‹heapq.merge›(*iterables) ‹Merge› ‹sorted› …"
    )


def test_a_ranking_with_sums():
    ranking, explanations = ranked()
    shown = lines(ranking_renderable(ranking, explanations, explain=True))
    assert shown[2] == "           merge 4.62 + sorted 3.59 + lists 1.37 ≈ 9.59"
    assert shown[4] == "           sorted 0.50 = 0.50"
    narrow = lines(ranking_renderable(ranking, explanations, explain=True), width=40)
    assert narrow[2:5] == [
        "           merge 4.62 + sorted 3.59",
        "           + lists 1.37 ≈ 9.59",
        "2  0.5000  bisect",
    ]


@pytest.mark.parametrize("width", [-3, 0, 1, 2, 3])
def test_a_terminal_too_narrow_for_anything(width):
    ranking, explanations = ranked()
    assert list(
        ranking_lines(ranking, explanations, columns=width, plain=True, explain=True, details=["", "a b"])
    )


@pytest.mark.parametrize("width", [12, 20, 34, 60, 100])
def test_a_ranking_keeps_its_width_and_its_identifiers(width):
    ranking, explanations = ranked()
    shown = lines(ranking_renderable(ranking, explanations, explain=True), width=width)
    assert max(map(len, shown)) <= width
    assert "heapq.merge" in "".join(line.strip() for line in shown)


def test_a_document_cannot_control_the_terminal():
    shown = rendered(ranking_renderable(Ranking([HOSTILE.doc_id], [1.0]), [HOSTILE], explain=True))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", shown)
    shown.encode()


def sum_line(explanation, **options):
    return " ".join(part.plain for part in sum_parts(explanation, **options))


def test_a_sum_in_one_line():
    assert sum_line(EXPLANATION) == "merge 4.62 + sorted 3.59 + lists 1.37 ≈ 9.59"
    assert sum_line(EXPLANATION, terms=1) == "merge 4.62 + 2 more 4.97 = 9.59"
    with_constant = replace(EXPLANATION, constant=-10.0, score=-0.40859)
    assert sum_line(with_constant, terms=1) == "constant -10.00 + merge 4.62 + 2 more 4.97 = -0.41"
    assert sum_line(replace(EXPLANATION, contributions=(), score=0.0)) == "0"


def test_pieces_of_a_word_are_one_term_of_a_sum():
    assert sum_line(PIECES) == "unlink 5.10 = 5.10"


def test_an_empty_ranking_is_reported():
    assert (
        rendered(ranking_renderable(Ranking([], []))) == "no document has a weight for a term of the query\n"
    )


def test_explanations_must_be_of_the_ranked_documents():
    ranking, explanations = ranked()
    with pytest.raises(ParameterError, match="for another document than that of its rank") as caught:
        ranking_renderable(ranking, explanations[::-1])
    assert dict(caught.value.facts)["rank"] == 1
    with pytest.raises(ParameterError):
        ranking_renderable(Ranking([], []), explanations)


def test_small_terms_are_added_up():
    assert sum_line(small_terms()) == "moon 2.42 + ocean 1.50 + 2 more 0.02 = 3.94"
    (row,) = [line for line in rendered(explanation_renderable(small_terms())).splitlines() if "more" in line]
    assert row.split()[:4] == ["2", "more", "terms", "0.0200"]
    assert "more" not in rendered(explanation_renderable(small_terms(), full=True))
    assert "2 more terms, listed below" in explanation_html(small_terms())


def test_names_without_a_letter_are_in_quotes():
    parts = (part("+", 0.5, [(2, 3)]), part("3", 0.25, [(4, 5)]), part("c", 2.0, [(0, 1)]))
    shown = replace(EXPLANATION, query="c + 3", contributions=parts, score=2.75, unknown=())
    assert " ".join(each.plain for each in sum_parts(shown)) == 'c 2.00 + "+" 0.50 + "3" 0.25 = 2.75'
