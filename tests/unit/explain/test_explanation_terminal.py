"""An explanation in the terminal: what adds up, what is marked, what never gets through."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console
from tests.unit.explain.terminal import EXPLANATION, HOSTILE, PIECES, lines, part, rendered

from termwise.explain.explanation import Explanation
from termwise.explain.explanation_terminal import TERMS, explanation_renderable


def test_an_explanation_in_full():
    assert lines(explanation_renderable(EXPLANATION)) == [
        "heapq.merge",
        "score 9.5914 · rank 2 of 1,190",
        "query how to ‹merge› two ‹sorted› ‹lists› frobnicate",
        "",
        "  term           origin  query × doc  contribution  share of the terms   in text",
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


def test_colour_replaces_marks():
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


def test_many_terms_are_added_up_unless_the_explanation_is_full():
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
    assert "build it with store_text" in shown
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


def test_a_document_cannot_control_the_terminal():
    shown = rendered(explanation_renderable(HOSTILE))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", shown)
    shown.encode()
    styled = re.sub(r"\x1b\[[\d;]*m", "", rendered(explanation_renderable(HOSTILE), colour=True))
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


def test_pieces_of_a_word_are_shown_as_the_word():
    shown = lines(explanation_renderable(PIECES))
    assert "query how to ‹unlink›" in shown
    assert [line.split()[1] for line in shown if "exact" in line] == ["(un)", "(##link)"]
    assert "  ##: a piece that continues a word" in shown
    assert "  ‹Unlinked›." in shown
    assert not any("##" in line for line in lines(explanation_renderable(EXPLANATION)))


def test_rendering_does_not_change_the_explanation():
    view = explanation_renderable(EXPLANATION)
    assert rendered(view) == rendered(view)
    rendered(view, colour=True, width=50)
    assert rendered(view) == rendered(explanation_renderable(EXPLANATION))


BY_EXAMPLE = Explanation(
    "Molten rock, a volcano",
    "d1",
    3.0,
    0.0,
    (part("rock", 2.0, [(7, 11)], [(4, 8)]), part("volcano", 1.0, [(15, 22)], origin="expansion")),
    (),
    "The rock and its heat.",
    example="seed",
)


def test_the_example_is_beside_the_document():
    shown = lines(explanation_renderable(BY_EXAMPLE))
    assert shown[:3] == ["d1", "score 3", "like seed"]
    assert shown[-3:] == [
        "  seed                                    d1",
        "  Molten ‹rock›, a ‹+volcano›             The ‹rock› and its heat.",
        "‹+word›: the word is not in the document; the model gives it a weight",
    ]


def test_the_example_is_above_the_document_in_a_narrow_terminal():
    shown = lines(explanation_renderable(BY_EXAMPLE), width=40)
    at = shown.index("seed")
    assert shown[at : at + 4] == [
        "seed",
        "  Molten ‹rock›, a ‹+volcano›",
        "d1",
        "  The ‹rock› and its heat.",
    ]


def test_the_example_is_shown_if_the_document_is_not_stored():
    shown = lines(explanation_renderable(replace(BY_EXAMPLE, text=None)))
    assert any("Molten ‹rock›" in line and "not stored in this" in line for line in shown)


def test_a_long_example_is_shown_in_passages():
    long = replace(BY_EXAMPLE, query="Molten rock, a volcano " + "word " * 5_000)
    assert len(lines(explanation_renderable(long))) < 60
    assert len(lines(explanation_renderable(long, full=True))) > 400


def test_an_example_cannot_control_the_terminal():
    hostile = replace(HOSTILE, example="seed\x1b[31m\nsecond", query="a \x1b[2J merge \ud800")
    assert "\x1b" not in rendered(explanation_renderable(hostile))


def test_the_example_itself_is_not_a_result():
    shown = lines(explanation_renderable(replace(BY_EXAMPLE, doc_id="seed")))
    assert shown[1] == "score 3 · the query itself, which is not a result"
