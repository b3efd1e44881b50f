"""Choosing the stretches of a text whose marks weigh most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from termwise.search.snippets import Mark

_SHOWN_BEFORE = 8


def weightiest(marks: Sequence[Mark], cells: Sequence[int], room: int, count: int) -> list[tuple[int, int]]:
    """Choose stretches of marks, each at most `room` cells long, the weightiest first.

    A stretch is worth its different terms; among equals the one with more marks is taken, then the earlier. What an
    earlier one has shown of a term makes further places of it count less. The beginning of the text is taken first
    where it is worth four fifths of the best.

    Parameters
    ----------
    marks : sequence of Mark
        By position.
    cells : sequence of int
        How many cells lie before each character of the text.
    room : int
        Cells of a stretch; a mark that is longer is a stretch of its own.
    count : int
        Stretches wanted at most.

    Returns
    -------
    list of (int, int)
        Half-open ranges of characters.
    """
    heaviest = max((mark.weight for mark in marks), default=1.0)
    worth = {mark.term: max(1, round(mark.weight / heaviest * 1_000_000)) for mark in marks}
    value, shown = dict(worth), set[int]()
    left = list(marks)
    sizes: list[tuple[int, int]] = []
    found: list[tuple[int, int]] = []
    while left and len(found) < count:
        sizes = sizes or list(_sizes(left, cells, room, value, range(len(left))))
        first = sizes.index(max(sizes))
        stop = first + sizes[first][1]
        if not found:
            opening = sum(cells[mark.end] <= room for mark in left)
            if 5 * _worth(left[:opening], worth) >= 4 * _worth(left[first:stop], worth):
                first, stop = 0, opening
        taken = left[first:stop]
        found.append((taken[0].start, max(mark.end for mark in taken)))
        del left[first:stop], sizes[first:stop]
        if new := {mark.term for mark in taken} - shown:
            shown |= new
            value |= {term: max(1, worth[term] // _SHOWN_BEFORE) for term in new}
            sizes = []
            continue
        reaching = first  # the first mark whose stretch came up to what was taken
        while reaching > 0 and reaching - 1 + sizes[reaching - 1][1] >= first:
            reaching -= 1
        sizes[reaching:first] = _sizes(left, cells, room, value, range(reaching, first))
    return found


def _worth(marks: Iterable[Mark], value: Mapping[int, int]) -> int:
    return sum(value[term] for term in {mark.term for mark in marks})


def _sizes(
    marks: Sequence[Mark], cells: Sequence[int], room: int, value: Mapping[int, int], begin: range
) -> Iterator[tuple[int, int]]:
    """Yield what the stretch is worth that begins with each of some marks, and of how many marks it is."""
    held: Counter[int] = Counter()
    total = 0
    end = begin.start
    for first in begin:
        limit = cells[marks[first].start] + room
        while end < len(marks) and (end <= first or cells[marks[end].end] <= limit):
            term = marks[end].term
            held[term] += 1
            total += value[term] if held[term] == 1 else 0
            end += 1
        yield total, end - first
        term = marks[first].term
        held[term] -= 1
        total -= value[term] if held[term] == 0 else 0
