"""Shared parts of explanations and rankings for the terminal.

A term has the same colour everywhere, and its marks in the text are emphasised by its contribution. Without colour, for
example in a pipe, matches are between ‹ and ›.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from termwise.explain.explanation_text import hues
from termwise.explain.passages import Piece
from termwise.text.words_around import inside_word

if TYPE_CHECKING:
    from termwise.explain.explanation import Explanation

COLOURS = ("cyan", "magenta", "green", "yellow", "bright_blue", "red", "bright_magenta", "bright_green")
"""Colours of the `termwise.explain.explanation_text.HUES` terms of a query, in its order."""


def marked_text(
    pieces: Iterable[Piece], colours: Sequence[str], *, plain: bool, added: Container[int] = ()
) -> Text:
    """Return pieces of a document as styled text.

    Parameters
    ----------
    pieces : iterable of Piece
        Pieces of `cut`, `best_passage` or `passages`.
    colours : sequence of str
        Colour of each term, or an empty text.
    plain : bool
        Mark words with ‹ and ›, without colour.
    added : container of int, optional
        Terms that only this text contains; marked with a plus or in italics.
    """
    text = Text()
    for piece in joined(pieces) if plain else pieces:
        if piece.term is None:
            text.append(piece.text)
        elif plain:
            text.append(f"‹{'+' if piece.term in added else ''}{piece.text}›")
        else:
            emphasis = (
                "bold underline" if piece.strength > 2 / 3 else "bold" if piece.strength > 1 / 3 else ""
            )
            slant = "italic" if piece.term in added else ""
            text.append(piece.text, " ".join(filter(None, (emphasis, slant, colours[piece.term]))))
    return text


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Join marked pieces of one word."""
    words: list[list[Piece]] = []
    for piece in pieces:
        before = words[-1][-1] if words else Piece("")
        together = None not in (before.term, piece.term)
        if together and inside_word(before.text[-1:] + piece.text[:1], 1):
            words[-1].append(piece)
        else:
            words.append([piece])
    return [word[0]._replace(text="".join(piece.text for piece in word)) for word in words]


def indented(content: ConsoleRenderable, columns: int = 2) -> ConsoleRenderable:
    """Indent a part."""
    return Padding(content, (0, 0, 0, columns), expand=False)


def trimmed_lines(
    console: Console, options: ConsoleOptions, parts: Iterable[ConsoleRenderable]
) -> RenderResult:
    """Render parts below each other, without trailing spaces."""
    for line in console.render_lines(Group(*parts), options, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        yield from line
        yield Segment.line()


def is_plain(console: Console) -> bool:
    """Return whether a console has no colours."""
    return console.color_system is None or console.no_color


def colours_of(explanation: Explanation) -> list[str]:
    """Return the colour of each contribution, or an empty text."""
    count = len(explanation.contributions)
    coloured = hues(explanation, range(count))
    return [COLOURS[coloured[position]] if position in coloured else "" for position in range(count)]
