"""Lines of text with styles."""

from __future__ import annotations

from termwise.explain.passages import Piece
from termwise.explain.styled_line import joined, marked_line
from termwise.text.words_around import inside_word


def test_strength_follows_the_contribution():
    pieces = [Piece("a", 1.0, 0), Piece(" "), Piece("b", 0.5, 1), Piece(" "), Piece("c", 0.1, 0)]
    line = marked_line(pieces, ["red", ""], plain=False)
    assert [piece for piece in line.pieces if piece[1]] == [
        ("a", "bold underline red"),
        ("b", "bold"),
        ("c", "red"),
    ]
    assert marked_line(pieces, ["red", ""], plain=True).plain == "‹a› ‹b› ‹c›"


def test_pieces_of_a_word_are_joined_after_two_adjacent_characters_are_compared(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "termwise.explain.styled_line.inside_word",
        lambda text, place: asked.append(text) or inside_word(text, place),
    )
    pieces = [Piece("ab", 1.0, term % 2) for term in range(500)]
    assert joined([*pieces, Piece("-", 1.0, 2)]) == [Piece("ab" * 500, 1.0, 0), Piece("-", 1.0, 2)]
    assert max(map(len, asked)) == 2
