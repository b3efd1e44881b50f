"""What explanations and rankings in the terminal are made of."""

from __future__ import annotations

from termwise.search.snippets import Piece
from termwise.search.terminal_parts import marked_text


def test_strength_follows_the_contribution():
    pieces = [Piece("a", 1.0, 0), Piece(" "), Piece("b", 0.5, 1), Piece(" "), Piece("c", 0.1, 0)]
    text = marked_text(pieces, ["red", ""], plain=False)
    assert [(text.plain[span.start : span.end], span.style) for span in text.spans] == [
        ("a", "bold underline red"),
        ("b", "bold"),
        ("c", "red"),
    ]
    assert marked_text(pieces, ["red", ""], plain=True).plain == "‹a› ‹b› ‹c›"
