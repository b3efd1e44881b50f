"""Cutting texts: where spans end, what overlaps, which window is chosen."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from termwise.explain.passages import Mark, Piece, best_passage, cut, passages

TEXT = "Merge multiple sorted inputs into a single sorted output."


def joined(pieces):
    return "".join(piece.text for piece in pieces)


def marked(pieces):
    return [(piece.text, piece.strength) for piece in pieces if piece.term is not None]


def test_marks_have_the_stated_ends():
    pieces = cut("merge lists", [Mark(6, 11, 1.0, 1), Mark(0, 5, 4.0, 0)])
    assert pieces == [Piece("merge", 1.0, 0), Piece(" "), Piece("lists", 0.25, 1)]


def test_the_heaviest_of_overlapping_marks_is_shown():
    pieces = cut("abcdef", [Mark(0, 4, 1.0, 0), Mark(2, 6, 2.0, 1)])
    assert pieces == [Piece("ab", 0.5, 0), Piece("cdef", 1.0, 1)]
    inside = cut("abcdef", [Mark(0, 6, 1.0, 0), Mark(2, 3, 2.0, 1)])
    assert inside == [Piece("ab", 0.5, 0), Piece("c", 1.0, 1), Piece("def", 0.5, 0)]
    hidden = cut("abcdef", [Mark(0, 6, 2.0, 0), Mark(2, 3, 1.0, 1)])
    assert hidden == [Piece("abcdef", 1.0, 0)]
    assert cut("ab", [Mark(0, 2, 1.0, 7), Mark(0, 2, 1.0, 3)]) == [Piece("ab", 1.0, 3)]


def test_a_character_keeps_its_combining_marks():
    text = "cafe\u0301 au lait"  # an analyzer that strips accents may say the word ends before its accent
    assert marked(cut(text, [Mark(0, 4, 1.0)])) == [("cafe\u0301", 1.0)]
    assert marked(cut(text, [Mark(4, 8, 1.0)])) == [("e\u0301 au", 1.0)]
    family = "a \U0001f469\u200d\U0001f467 b"
    assert marked(cut(family, [Mark(2, 3, 1.0)])) == [("\U0001f469\u200d\U0001f467", 1.0)]


def test_marks_outside_the_text_or_without_weight_are_nothing():
    marks = [Mark(-3, 2, 1.0), Mark(4, 99, 1.0), Mark(3, 3, 1.0), Mark(2, 4, 0.0), Mark(2, 4, -1.0)]
    assert marked(cut("abcdef", marks)) == [("ab", 1.0), ("ef", 1.0)]
    assert cut("", [Mark(0, 1, 1.0)]) == []


def test_white_space_is_collapsed_and_marks_are_moved():
    text = "\n  merge \n\n\t two\r\nsorted   lists \n"
    start = text.index("sorted")
    pieces = best_passage(text, [Mark(start, start + 6, 1.0)], 80)
    assert joined(pieces) == "merge two sorted lists"
    assert marked(pieces) == [("sorted", 1.0)]
    across = best_passage(text, [Mark(text.index("two"), start + 6, 1.0)], 80)
    assert marked(across) == [("two sorted", 1.0)]
    assert marked(best_passage(text, [Mark(0, 3, 1.0), Mark(len(text) - 2, len(text), 1.0)], 80)) == []


def test_marks_lose_the_white_space_at_their_ends():
    text = "  one \n two  three "
    for start, end in ((8, 11), (5, 12), (7, 13)):
        assert marked(best_passage(text, [Mark(start, end, 1.0)], 80)) == [("two", 1.0)]
    assert marked(best_passage(text, [Mark(0, len(text), 1.0)], 80)) == [("one two three", 1.0)]
    assert marked(best_passage(text, [Mark(5, 7, 1.0)], 80)) == []


def test_without_marks_the_text_is_shown_from_its_beginning():
    assert joined(best_passage(TEXT, [], 80)) == TEXT
    assert joined(best_passage(TEXT, [], 30)) == "Merge multiple sorted inputs …"
    assert best_passage("", [], 30) == []
    assert best_passage(" \n ", [Mark(0, 1, 1.0)], 30) == []


def test_marks_at_the_ends_of_the_text():
    first, last = Mark(0, 5, 1.0), Mark(50, 56, 1.0)
    assert joined(best_passage(TEXT, [first], 30)) == "Merge multiple sorted inputs …"
    pieces = best_passage(TEXT, [last], 30)
    assert joined(pieces) == "… into a single sorted output."
    assert marked(pieces) == [("output", 1.0)]


def test_a_mark_in_the_middle_has_context_on_both_sides():
    text = "one two three four five MATCH six seven eight nine ten"
    assert joined(best_passage(text, [Mark(24, 29, 1.0)], 30)) == "… five MATCH six seven eight …"


def test_the_window_with_the_heaviest_different_terms_wins():
    text = f"merge {'x ' * 40}list list list {'x ' * 40}merge list"
    at = [i for i in range(len(text)) if text.startswith("merge", i)]
    marks = [Mark(i, i + 5, 2.0, 0) for i in at]
    marks += [Mark(i, i + 4, 1.0, 1) for i in range(len(text)) if text.startswith("list", i)]
    assert joined(best_passage(text, marks, 20)).endswith("merge list")


def test_of_equal_windows_the_earlier_wins():
    text = "match " + "x " * 60 + "match " + "x " * 60
    marks = [Mark(i, i + 5, 1.0) for i in range(len(text)) if text.startswith("match", i)]
    assert joined(best_passage(text, marks, 20)).startswith("match ")


def test_a_start_that_is_nearly_as_good_wins():
    text = f"merge these, {'x ' * 40}and merge a list"
    at = text.index("list")

    def shown(weight):
        marks = [Mark(0, 5, 4.0, 0), Mark(at - 8, at - 3, 4.0, 0), Mark(at, at + 4, weight, 1)]
        return joined(best_passage(text, marks, 24))

    assert shown(1.0).startswith("merge these, ")  # 4 of 5 parts of the weight
    assert shown(1.01).endswith("and merge a list")


def test_a_mark_longer_than_the_line_is_cut():
    pieces = best_passage("a" * 100 + " end", [Mark(0, 100, 1.0)], 20)
    assert cell_len(joined(pieces)) <= 20
    assert joined(pieces).endswith("…")


def test_wide_characters_take_two_cells():
    pieces = best_passage("重み" * 30, [Mark(20, 22, 1.0)], 20)
    assert cell_len(joined(pieces)) <= 20
    assert marked(pieces) == [("重み", 1.0)]


def test_cuts_prefer_spaces_then_the_edges_of_words():
    text = "prefix.of.a.very.long.dotted.name(match).and.what.follows.it.here"
    start = text.index("match")
    shown = joined(best_passage(text, [Mark(start, start + 5, 1.0)], 30))
    assert shown == "… name(match).and.what. …"


def test_passages_are_in_the_order_of_the_text_and_do_not_overlap():
    text = " ".join(f"w{i}" for i in range(400))
    words = [f"w{i}" for i in (300, 10, 150)]
    marks = [
        Mark(text.index(f"{w} "), text.index(f"{w} ") + len(w), float(3 - n), n) for n, w in enumerate(words)
    ]
    shown = passages(text, marks, width=40, count=3)
    assert [marked(part)[0][0] for part in shown] == ["w10", "w150", "w300"]
    assert marked(shown[2]) == [("w300", 1.0)]  # strength is of the whole text, not of the passage
    assert all(cell_len(joined(part)) <= 40 for part in shown)


def test_a_further_passage_shows_terms_not_yet_seen():
    text = f"{'x ' * 15}alpha alpha {'x ' * 60} alpha alpha alpha {'x ' * 60} beta"
    marks = [Mark(i, i + 5, 2.0, 0) for i in range(len(text)) if text.startswith("alpha", i)]
    marks.append(Mark(text.index("beta"), text.index("beta") + 4, 1.0, 1))
    shown = passages(text, marks, width=30, count=2)
    assert [len(marked(part)) for part in shown] == [3, 1]
    assert marked(shown[1]) == [("beta", 0.5)]


def test_passages_that_touch_become_one():
    text = "a1 " + "x " * 14 + "b1 " + "y " * 200
    marks = [Mark(0, 2, 1.0, 0), Mark(text.index("b1"), text.index("b1") + 2, 1.0, 1)]
    assert len(passages(text, marks, width=24, count=2)) == 1


CHARACTERS = st.sampled_from("ab .\n\u0301重é\u200d")
TEXTS = st.text(CHARACTERS, max_size=80)
MARKS = st.lists(
    st.builds(
        Mark, st.integers(-2, 90), st.integers(-2, 90), st.floats(-1, 5, allow_nan=False), st.integers(0, 4)
    ),
    max_size=8,
)


@settings(max_examples=200, deadline=None)
@given(text=TEXTS, marks=MARKS)
def test_pieces_joined_are_the_text(text, marks):
    pieces = cut(text, marks)
    assert joined(pieces) == text
    assert all(piece.text for piece in pieces)
    assert all((piece.term is None) == (piece.strength == 0) for piece in pieces)
    assert all(0 <= piece.strength <= 1 for piece in pieces)
    covered = [m for m in marks if m.weight > 0 and max(m.start, 0) < min(m.end, len(text))]
    assert any(piece.strength == 1 for piece in pieces) == bool(covered)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, marks=MARKS, width=st.integers(8, 60))
def test_a_passage_is_one_line_of_the_text_within_its_width(text, marks, width):
    pieces = best_passage(text, marks, width)
    line = joined(pieces)
    assert cell_len(line) <= width
    assert "\n" not in line
    inner = "".join(piece.text for piece in pieces if piece.text not in ("… ", " …"))
    assert inner in " ".join(text.split())
    assert bool(line) == bool(text.strip())


@settings(max_examples=100, deadline=None)
@given(text=TEXTS, marks=MARKS, width=st.integers(8, 30), count=st.integers(1, 4))
def test_passages_are_parts_of_the_text(text, marks, width, count):
    shown = passages(text, marks, width=width, count=count)
    assert len(shown) <= count
    line = " ".join(text.split())
    at = 0
    for part in shown:
        inner = "".join(piece.text for piece in part if piece.text not in ("… ", " …"))
        at = line.index(inner, at) + len(inner)


@settings(max_examples=300, deadline=None)
@given(
    text=st.text(st.sampled_from("ab \n\x1c"), max_size=40),
    mark=st.tuples(st.integers(0, 40), st.integers(0, 40)),
)
def test_a_mark_covers_the_same_characters_when_white_space_collapses(text, mark):
    start, end = mark
    pieces = best_passage(text, [Mark(start, end, 1.0)], 200)
    assert joined(pieces) == " ".join(text.split())
    covered = " ".join(text[start:end].split())
    assert [piece for piece, _ in marked(pieces)] == ([covered] if covered else [])
    if covered:
        before = joined(pieces[: next(i for i, piece in enumerate(pieces) if piece.term is not None)])
        assert "".join(before.split()) == "".join(text[:start].split())


def test_a_character_that_is_longer_than_the_line_is_cut_and_marked():
    family = "\U0001f469" + "\u200d\U0001f467" * 6
    text = f"one two {family} three four"
    assert marked(best_passage(text, [Mark(8, 9, 1.0)], 8)) == [("\U0001f469\u200d\U0001f467\u200d", 1.0)]
    assert marked(best_passage(text, [Mark(8, 9, 1.0)], 20)) == [(family, 1.0)]
    assert (
        joined(best_passage(f"{family} three four", [], 8))
        == "\U0001f469\u200d\U0001f467\u200d\U0001f467\u200d …"
    )


def test_marks_that_touch_are_made_one_piece_at_once(monkeypatch):
    made = []
    monkeypatch.setattr("termwise.explain.passages.Piece", lambda *parts: made.append(parts) or Piece(*parts))
    shown = cut("東" * 1000, [Mark(place, place + 1, 1.0) for place in range(1, 1000)])
    assert shown == [Piece("東"), Piece("東" * 999, 1.0, 0)]
    assert len(made) == 2


def test_a_passage_within_a_range():
    text = "merge lists of cards, then sort them and shuffle the other cards"
    start, end = text.index("then"), text.index("the other")
    marks = [Mark(0, 5, 9.0), Mark(text.index("sort"), text.index("sort") + 4, 1.0)]
    shown = best_passage(text, marks, 60, within=(start, end))
    assert "".join(piece.text for piece in shown) == "… then sort them and shuffle …"
    assert [piece.text for piece in shown if piece.term is not None] == ["sort"]
    narrow = best_passage(text, marks, 16, within=(start, end))
    assert sum(len(piece.text) for piece in narrow) <= 16
    assert "sort" in [piece.text for piece in narrow]
    whole = best_passage(text, [], 100, within=(0, len(text)))
    assert "".join(piece.text for piece in whole) == text


def test_passages_within_a_range_end_with_one_of_terms_elsewhere():
    filler = "of a and the " * 30
    text = f"merge {filler}sort lists {filler}"
    start = text.index("sort")
    marks = [Mark(0, 5, 9.0), Mark(start, start + 4, 1.0, 1)]
    shown = passages(text, marks, width=24, count=3, within=(start, start + 40))
    terms = [[piece.term for piece in part if piece.term is not None] for part in shown]
    assert terms[0] == [1]
    assert terms[-1] == [0]
    assert len(best_passage(text, marks, 24, within=(start, start + 40))) > 0
    one = passages(text, marks, width=24, count=1, within=(start, start + 40))
    assert len(one) == 1
