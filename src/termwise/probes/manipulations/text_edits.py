"""Edits of a text by character ranges; the rest of the text is unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Place(NamedTuple):
    """Half-open range of characters."""

    start: int
    end: int


def contents(text: str, places: Iterable[Place]) -> list[str]:
    """Return the parts of a text at some places."""
    return [text[start:end] for start, end in places]


def replaced(text: str, places: Sequence[Place], words: Sequence[str]) -> str:
    """Replace the parts of a text at some places, in order and not overlapping, by one word each.

    Examples
    --------
    >>> replaced("old  dogs, cats", [Place(5, 9), Place(11, 15)], ["cats", "dogs"])
    'old  cats, dogs'
    """
    parts, done = [], 0
    for (start, end), word in zip(places, words, strict=True):
        parts += [text[done:start], word]
        done = end
    return "".join([*parts, text[done:]])


def merged(places: Iterable[Place]) -> list[Place]:
    """Merge the places that touch or overlap; places are in order."""
    apart: list[Place] = []
    for start, end in places:
        if apart and start <= apart[-1].end:
            start = apart.pop().start
        apart.append(Place(start, end))
    return apart


def without(text: str, places: Iterable[Place]) -> str:
    r"""Remove the parts of a text at some places, with one space left between words and none at the ends.

    The remaining space is the space before or after the part, preferably a line break; without one, a space is
    inserted.

    Examples
    --------
    >>> without("The cat,dog\n(and) me.", [Place(7, 8), Place(12, 13), Place(13, 16), Place(16, 17)])
    'The cat dog\nme.'
    """
    holes = merged(_with_space(text, *place) for place in places)
    return replaced(text, holes, [_remaining_space(text, hole) for hole in holes])


def _with_space(text: str, start: int, end: int) -> Place:
    while start > 0 and text[start - 1].isspace():
        start -= 1
    while end < len(text) and text[end].isspace():
        end += 1
    return Place(start, end)


def _remaining_space(text: str, hole: Place) -> str:
    if hole.start == 0 or hole.end == len(text):
        return ""
    removed = text[hole.start : hole.end]
    before = removed[: len(removed) - len(removed.lstrip())]
    after = removed[len(removed.rstrip()) :]
    return next((space for space in (before, after) if "\n" in space), before or after or " ")


def in_a_row(*texts: str) -> str:
    r"""Concatenate texts, with a space between two if there is none.

    Examples
    --------
    >>> in_a_row("one\n", "two", "", "three")
    'one\ntwo three'
    """
    result = ""
    for text in texts:
        is_separated = not result or not text or result[-1].isspace() or text[0].isspace()
        result += text if is_separated else f" {text}"
    return result
