"""What explanations and rankings in the terminal are made of.

A term has one colour wherever it appears; how strongly its places in the text are marked follows its contribution.
Without colour, as in a pipe, matches are put between ‹ and ›.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from termwise.explain.explanation import Explanation
from termwise.explain.explanation_text import decimals_for, hues
from termwise.explain.snippets import Piece
from termwise.explain.whole_words import inside_word

COLOURS = ("cyan", "magenta", "green", "yellow", "bright_blue", "red", "bright_magenta", "bright_green")
"""Colours of the terms of a query, in its order; one for each of `termwise.explain.explanation_text.HUES`."""


def marked_text(
    pieces: Iterable[Piece], colours: Sequence[str], *, plain: bool, added: Container[int] = ()
) -> Text:
    """Turn pieces of a document into styled text.

    Parameters
    ----------
    pieces : iterable of Piece
        From `cut`, `snippet` or `passages`.
    colours : sequence of str
        Colour of each term by its number, empty for none.
    plain : bool
        Mark with ‹ and › and without colour; pieces of one word together.
    added : container of int, optional
        Terms that only this text says, with a plus where they are marked, or in italics.
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
    """Make one piece of marked ones that stand in one word."""
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
    """Move a part to the right."""
    return Padding(content, (0, 0, 0, columns), expand=False)


def trimmed_lines(
    console: Console, options: ConsoleOptions, parts: Iterable[ConsoleRenderable]
) -> RenderResult:
    """Render parts one below the other, without the spaces that fill up lines."""
    for line in console.render_lines(Group(*parts), options, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        yield from line
        yield Segment.line()


def is_plain(console: Console) -> bool:
    """Tell whether a console shows no colours."""
    return console.color_system is None or console.no_color


def decimals_of(explanation: Explanation) -> int:
    """Return how many decimals the scores of an explanation are written with."""
    parts = (part.score for part in explanation.contributions)
    return decimals_for([explanation.constant, explanation.score, *parts])


def colours_of(explanation: Explanation) -> list[str]:
    """Return the colour of each contribution, empty for those that have none."""
    count = len(explanation.contributions)
    coloured = hues(explanation, range(count))
    return [COLOURS[coloured[place]] if place in coloured else "" for place in range(count)]
