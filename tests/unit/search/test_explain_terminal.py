"""Explanations and rankings in the terminal: what adds up, what is marked, what never gets through."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from termwise.errors import ParameterError
from termwise.records import Ranking
from termwise.search.explain_terminal import (
    TERMS,
    explanation_renderable,
    marked_text,
    ranking_renderable,
    sum_text,
)
from termwise.search.explanation import Competitor, Contribution, Explanation
from termwise.search.snippets import Piece

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


def rendered(renderable, *, width=80, colour=False):
    file = io.StringIO()
    system = "256" if colour else None
    Console(file=file, width=width, force_terminal=colour, color_system=system).print(renderable)
    return file.getvalue()


def lines(renderable, **options):
    return rendered(renderable, **options).splitlines()


def test_an_explanation_in_full():
    assert lines(explanation_renderable(EXPLANATION)) == [
        "heapq.merge",
        "score 9.5914 · rank 2 of 1,190",
        "query how to ‹merge› two ‹sorted› ‹lists› frobnicate",
        "",
        "  term           origin  query × doc  contribution  share                in text",
        "  merge (merg)   exact    1 × 4.6239        4.6239  ━━━━━━━━━━━━━━  48%       2×",
        "  sorted (sort)  exact    1 × 3.5929        3.5929  ━━━━━━━━━━━     37%       2×",
        "  lists (list)   exact    1 × 1.3747        1.3747  ━━━━            14%       1×",
        "  rounding                                 -0.0001",
        "                                      ────────────",
        "  score                                     9.5914",
        "",
        "  not in this document: two",
        "  not in the index: frobnicate",
        "  left out of the query: how, to",
        "",
        "text",
        "  heapq.‹merge›(*iterables)",
        "  ‹Merge› ‹sorted› inputs into a single ‹sorted› output, a ‹list›.",
        "",
        "ranking",
        "  1  10.1225  builtins.list.sort",
        "  2   9.5914  heapq.merge ◂",
        "  3   6.5000  bisect",
    ]


def column(shown, name):
    """Return the numbers below a heading, down to the line."""
    head = next(line for line in shown if name in line)
    end = head.index(name) + len(name)
    numbers = []
    for line in shown[shown.index(head) + 1 :]:
        cell = line[:end].split("  ")[-1].strip()
        numbers.append(cell)
        if line.strip().startswith("score"):
            return [float(cell) for cell in numbers if re.fullmatch(r"-?[\d.]+", cell)]
    raise AssertionError(shown)


def test_a_small_share_is_not_none():
    parts = (part("big", 999.0), part("small", 1.0))
    shown = lines(explanation_renderable(replace(EXPLANATION, contributions=parts, score=1000.0)), width=100)
    assert any("small" in line and "<1%" in line for line in shown)
    assert not any(" 0%" in line for line in shown)


@pytest.mark.parametrize("constant", [0.0, -63.10979])
@pytest.mark.parametrize("width", [44, 60, 80, 120])
def test_the_column_adds_up_at_every_width(constant, width):
    explanation = replace(EXPLANATION, constant=constant, score=EXPLANATION.score + constant)
    *parts, score = column(lines(explanation_renderable(explanation), width=width), "contribution")
    assert sum(round(10_000 * value) for value in parts) == round(10_000 * score)
    assert score == round(explanation.score, 4)
    assert (constant != 0) == (round(constant, 4) in parts)


@pytest.mark.parametrize("width", [20, 30, 44, 60, 80, 200])
def test_nothing_is_wider_than_the_console(width):
    for line in lines(explanation_renderable(EXPLANATION), width=width):
        assert len(line) <= width
        assert line == line.rstrip()


def test_a_width_may_be_given():
    assert max(map(len, lines(explanation_renderable(EXPLANATION, width=60), width=200))) <= 60
    ranking = ranking_renderable(Ranking(["heapq.merge"], [9.59141]), [EXPLANATION], explain=True, width=50)
    assert max(map(len, lines(ranking, width=200))) <= 50


def test_colour_takes_the_place_of_marks():
    shown = rendered(explanation_renderable(EXPLANATION), colour=True)
    assert "‹" not in shown
    assert "\x1b[1;4;" in shown  # the heaviest term: bold and underlined
    assert re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines() == [
        line.replace("‹", "").replace("›", "") for line in lines(explanation_renderable(EXPLANATION))
    ]


def test_without_colour_on_a_terminal_matches_are_marked_too():
    file = io.StringIO()
    Console(file=file, width=80, force_terminal=True, no_color=True).print(
        explanation_renderable(EXPLANATION)
    )
    assert "‹" in file.getvalue()


def test_strength_follows_the_contribution():
    pieces = [Piece("a", 1.0, 0), Piece(" "), Piece("b", 0.5, 1), Piece(" "), Piece("c", 0.1, 0)]
    text = marked_text(pieces, ["red", ""], plain=False)
    assert [(text.plain[span.start : span.end], span.style) for span in text.spans] == [
        ("a", "bold underline red"),
        ("b", "bold"),
        ("c", "red"),
    ]
    assert marked_text(pieces, ["red", ""], plain=True).plain == "‹a› ‹b› ‹c›"


def test_a_long_text_is_shown_in_parts():
    filler = "lorem ipsum dolor sit amet " * 200
    text = f"{filler}merge here {filler}sorted there {filler}"
    places = {
        term: [(text.index(word), text.index(word) + 6)] for term, word in [("m", "merge "), ("s", "sorted")]
    }
    explanation = Explanation(
        "x", "d", 3.0, 0.0, (part("m", 2.0, spans=places["m"]), part("s", 1.0, spans=places["s"])), (), text
    )
    shown = lines(explanation_renderable(explanation))
    below = shown[shown.index("text") + 1 :]
    assert 2 <= len(below) <= 8
    assert sum("‹" in line for line in below) == 2
    assert below[0].startswith("  … ")
    assert below[-1].endswith(" …")
    whole = rendered(explanation_renderable(explanation, full=True))
    assert whole.split().count("lorem") == 600


def test_many_terms_are_added_up_unless_all_are_asked_for():
    count = TERMS + 10
    parts = tuple(part(f"t{i:02}", 1.03 * (count - i)) for i in range(count))
    explanation = Explanation("q", "d", sum(p.score for p in parts), 0.0, parts, (), "")
    shown = lines(explanation_renderable(explanation))
    assert any(line.startswith("  10 more terms") for line in shown)
    *numbers, score = column(shown, "contribution")
    assert len(numbers) == TERMS + 1
    assert sum(round(10_000 * value) for value in numbers) == round(10_000 * score)
    assert "more terms" not in rendered(explanation_renderable(explanation, full=True))


def test_no_match_no_text_and_no_words():
    absent = (part("merg", 0.0, [(0, 5)], origin="absent"),)
    shown = rendered(explanation_renderable(Explanation("merge", "d", 0.0, 0.0, absent, (), None)))
    assert "score 0 · not a result: the document shares no term with the query" in shown
    assert "of no weight in this document: merge" in shown
    assert "--store-text" in shown
    assert "contribution" not in shown
    empty = rendered(explanation_renderable(Explanation("", "d", 0.0, 0.0, (), (), " \n")))
    assert empty.endswith("text\n  empty\n")


def test_origins_and_background_are_named():
    parts = (
        part("added", 2.0, origin="expansion"),
        part("[background]", 1.0, origin="background", query_weight=4.0),
        part("maybe", 0.5, origin="unknown"),
    )
    shown = rendered(explanation_renderable(Explanation("q", "d", 3.5, 0.0, parts, (), None)))
    assert re.search(r"added +expansion +1 × 2\.0000", shown)
    assert "\n  added by the model, not in the text: added\n" in shown
    assert re.search(r"background +background +4 × 0\.2500", shown)
    assert re.search(r"maybe +not known", shown)


def test_a_document_commands_no_terminal():
    text = "a \x1b[2J\x1b]0;owned\x07 merge \u202e\ud800 \x9b31m\rover"
    explanation = replace(
        EXPLANATION,
        doc_id="id\x1b[31m\nsecond",
        query="\x1b[5m merge \ud800",
        text=text,
        contributions=(part("mer\x1bg", 1.0, [(5, 10)], [(16, 21)]),),
        unknown=((11, 12),),
        competitors=(Competitor(1, "other\x1b[0m", 2.0),),
    )
    ranking = Ranking([explanation.doc_id], [1.0])
    for view in (
        explanation_renderable(explanation),
        ranking_renderable(ranking, [explanation], explain=True),
    ):
        shown = rendered(view)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", shown)
        shown.encode()
    styled = re.sub(r"\x1b\[[\d;]*m", "", rendered(explanation_renderable(explanation), colour=True))
    assert "\x1b" not in styled


def test_brackets_of_a_document_are_not_markup():
    explanation = replace(
        EXPLANATION, text="[bold]not markup[/bold] [red]", contributions=(), doc_id="[dim]id"
    )
    shown = rendered(explanation_renderable(explanation))
    assert "[bold]not markup[/bold] [red]" in shown
    assert shown.startswith("[dim]id\n")


def test_a_long_query_is_shortened():
    query = " ".join(f"word{i}" for i in range(500))
    shown = lines(explanation_renderable(replace(EXPLANATION, query=query, unknown=(), contributions=())))
    head = shown[: shown.index("")]
    assert len(head) <= 6


# --- rankings ---------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("width", [12, 20, 34, 60, 100])
def test_a_ranking_keeps_its_width_and_its_identifiers(width):
    ranking, explanations = ranked()
    shown = lines(ranking_renderable(ranking, explanations, explain=True), width=width)
    assert max(map(len, shown)) <= width
    assert "heapq.merge" in "".join(line.strip() for line in shown)


def test_a_sum_in_one_line():
    assert sum_text(EXPLANATION).plain == "merge 4.62 + sorted 3.59 + lists 1.37 ≈ 9.59"
    assert sum_text(EXPLANATION, terms=1).plain == "merge 4.62 + 2 more 4.97 = 9.59"
    with_constant = replace(EXPLANATION, constant=-10.0, score=-0.40859)
    assert sum_text(with_constant, terms=1).plain == "constant -10.00 + merge 4.62 + 2 more 4.97 = -0.41"
    assert sum_text(replace(EXPLANATION, contributions=(), score=0.0)).plain == "0"


PIECES = Explanation(
    "how to unlink",
    "d1",
    5.1,
    0.0,
    (part("un", 3.1, [(7, 9)], [(0, 2)]), part("##link", 2.0, [(9, 13)], [(2, 6)])),
    (),
    "Unlinked.",
)


def test_pieces_of_a_word_are_shown_as_the_word():
    assert sum_text(PIECES).plain == "unlink 5.10 = 5.10"
    shown = lines(explanation_renderable(PIECES))
    assert "query how to ‹unlink›" in shown
    assert [line.split()[1] for line in shown if "exact" in line] == ["(un)", "(##link)"]
    assert "  ##: a piece that continues a word" in shown
    assert "  ‹Unlinked›." in shown
    assert not any("##" in line for line in lines(explanation_renderable(EXPLANATION)))


def test_no_result_is_said():
    assert (
        rendered(ranking_renderable(Ranking([], []))) == "no document has a weight for a term of the query\n"
    )


def test_explanations_must_be_of_the_ranked_documents():
    ranking, explanations = ranked()
    with pytest.raises(ParameterError, match="not of the document at its place") as caught:
        ranking_renderable(ranking, explanations[::-1])
    assert dict(caught.value.facts)["rank"] == 1
    with pytest.raises(ParameterError):
        ranking_renderable(Ranking([], []), explanations)


def test_looking_changes_nothing():
    view = explanation_renderable(EXPLANATION)
    assert rendered(view) == rendered(view)
    rendered(view, colour=True, width=50)
    assert rendered(view) == rendered(explanation_renderable(EXPLANATION))
