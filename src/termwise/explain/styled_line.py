"""Text of a line in pieces with styles, for terminals and for output without colours.

Styles have the names that rich gives them. Rich itself is not imported: most of the time of a first search is spent on
imports.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from termwise.explain.explanation_text import hues
from termwise.explain.passages import ELLIPSIS, Piece, cells_before
from termwise.text.words_around import inside_word

if TYPE_CHECKING:
    from termwise.explain.explanation import Explanation

COLOURS = ("cyan", "magenta", "green", "yellow", "bright_blue", "red", "bright_magenta", "bright_green")
"""Colours of the `termwise.explain.explanation_text.HUES` terms of a query, in its order."""


class StyledLine:
    """Text in pieces, each with a style.

    Parameters
    ----------
    *pieces : str or tuple of str
        Text, or text and style.

    Examples
    --------
    >>> line = StyledLine(("2", "dim"), "  ", ("a-long-identifier", "bold"))
    >>> [part.plain for part in line.folded(12)], line.truncated(8).plain
    (['2  a-long-id', 'entifier'], '2  a-lo…')
    >>> [part.plain for part in StyledLine("merge sorted lists").wrapped(12)]
    ['merge sorted', 'lists']
    """

    __slots__ = ("pieces",)

    def __init__(self, *pieces: str | tuple[str, str]) -> None:
        self.pieces = [(piece, "") if isinstance(piece, str) else piece for piece in pieces]

    @property
    def plain(self) -> str:
        """Text without styles."""
        return "".join(text for text, _ in self.pieces)

    @property
    def cells(self) -> int:
        """Number of terminal cells."""
        return cells_before(self.plain)[-1]

    def joined(self, *others: StyledLine) -> StyledLine:
        """Return this line and others as one."""
        return StyledLine(*self.pieces, *(piece for other in others for piece in other.pieces))

    def part(self, first: int, last: int) -> StyledLine:
        """Return the characters ``first:last``."""
        pieces = []
        for text, style in self.pieces:
            if cut := text[max(0, first) : max(0, last)]:
                pieces.append((cut, style))
            first, last = first - len(text), last - len(text)
        return StyledLine(*pieces)

    def truncated(self, columns: int) -> StyledLine:
        """Return the line, with an ellipsis at its end if it has more cells."""
        cells = cells_before(self.plain)
        if cells[-1] <= columns:
            return self
        return self.part(0, bisect_right(cells, columns - 1) - 1).joined(StyledLine(ELLIPSIS))

    def wrapped(self, columns: int) -> list[StyledLine]:
        """Return lines of at most so many cells, split between words, or inside of a word that does not fit."""
        return self._lines(columns, between_words=True)

    def folded(self, columns: int) -> list[StyledLine]:
        """Return lines of at most so many cells, all but the last one full."""
        return self._lines(columns, between_words=False)

    def _lines(self, columns: int, *, between_words: bool) -> list[StyledLine]:
        plain, first, lines, columns = self.plain, 0, [], max(1, columns)
        cells = cells_before(plain)
        while cells[-1] - cells[first] > columns:
            last = max(first + 1, bisect_right(cells, cells[first] + columns) - 1)
            border = plain.rfind(" ", first, last + 1) if between_words else first
            if plain[first : max(border, 0)].strip():
                last = border
            lines.append(self.part(first, last))
            first = last
            while between_words and plain[first : first + 1] == " ":
                first += 1
        return [*lines, self.part(first, len(plain))]


def marked_line(
    pieces: Iterable[Piece], colours: Sequence[str], *, plain: bool, added: Container[int] = ()
) -> StyledLine:
    """Return pieces of a document with styles: one colour for each term, and emphasis by weight.

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
    line = StyledLine()
    for piece in joined(pieces) if plain else pieces:
        if piece.term is None:
            line.pieces.append((piece.text, ""))
        elif plain:
            line.pieces.append((f"‹{'+' if piece.term in added else ''}{piece.text}›", ""))
        else:
            emphasis = (
                "bold underline" if piece.strength > 2 / 3 else "bold" if piece.strength > 1 / 3 else ""
            )
            slant = "italic" if piece.term in added else ""
            line.pieces.append((piece.text, " ".join(filter(None, (emphasis, slant, colours[piece.term])))))
    return line


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


def colours_of(explanation: Explanation) -> list[str]:
    """Return the colour of each contribution, or an empty text."""
    count = len(explanation.contributions)
    coloured = hues(explanation, range(count))
    return [COLOURS[coloured[position]] if position in coloured else "" for position in range(count)]
