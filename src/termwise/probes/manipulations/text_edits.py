"""Editing a text by ranges of characters, so that what is not meant to change does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Place(NamedTuple):
    """Half-open range of characters."""

    start: int
    end: int


def contents(text: str, places: Iterable[Place]) -> list[str]:
    """Return what stands at some places."""
    return [text[start:end] for start, end in places]


def replaced(text: str, places: Sequence[Place], words: Sequence[str]) -> str:
    """Put words at the places of others; everything between stays.

    Parameters
    ----------
    text : str
        What is edited.
    places : sequence of Place
        In order, not overlapping.
    words : sequence of str
        What comes there.

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


def without(text: str, places: Iterable[Place]) -> str:
    r"""Take out what stands at some places, so that one space is left between words, and none at the ends.

    The space that stays is that before or after, a line break rather than a blank; where there was none, a blank keeps
    the neighbours apart.

    Parameters
    ----------
    text : str
        What is edited.
    places : iterable of Place
        In order, not overlapping.

    Examples
    --------
    >>> without("The cat,dog\n(and) me.", [Place(7, 8), Place(12, 13), Place(13, 16), Place(16, 17)])
    'The cat dog\nme.'
    """
    holes: list[Place] = []
    for place in places:
        start, end = _with_space(text, place)
        if holes and start <= holes[-1].end:
            start = holes.pop().start
        holes.append(Place(start, end))
    return replaced(text, holes, [_what_stays(text, hole) for hole in holes])


def _with_space(text: str, place: Place) -> Place:
    start, end = place
    while start > 0 and text[start - 1].isspace():
        start -= 1
    while end < len(text) and text[end].isspace():
        end += 1
    return Place(start, end)


def _what_stays(text: str, hole: Place) -> str:
    if hole.start == 0 or hole.end == len(text):
        return ""
    taken = text[hole.start : hole.end]
    before = taken[: len(taken) - len(taken.lstrip())]
    after = taken[len(taken.rstrip()) :]
    return next((space for space in (before, after) if "\n" in space), before or after or " ")


def in_a_row(*texts: str) -> str:
    r"""Return texts one after the other, with a blank where there is no space between two.

    Examples
    --------
    >>> in_a_row("one\n", "two", "", "three")
    'one\ntwo three'
    """
    found = ""
    for text in texts:
        apart = not found or not text or found[-1].isspace() or text[0].isspace()
        found += text if apart else f" {text}"
    return found
