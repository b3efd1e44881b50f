"""Cutting a text into marked and plain pieces, whole or in windows around what counts most.

Everything here is a pure function of a text and its marks. Positions count code points; widths count terminal
cells, of which a Chinese character takes two and a combining accent none. No cut separates a character from the
combining marks that belong to it, unless it is longer with them than the line.
"""

from __future__ import annotations

import heapq
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from rich.cells import get_character_cell_size

ELLIPSIS = "…"

_JOINERS = frozenset("\u200d\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_LONGEST_CLUSTER = 32
_NEAR = 24
_SHOWN_BEFORE = 8


class Mark(NamedTuple):
    """A place in a text that counts.

    Attributes
    ----------
    start, end : int
        Half-open range of characters. What lies outside the text is cut off.
    weight : float
        What the place counts; places of weight 0 or less are not marked.
    term : int
        Number of the term it belongs to, 0 or more; places of one term count once for the choice of a window.
    """

    start: int
    end: int
    weight: float
    term: int = 0


class Piece(NamedTuple):
    """A stretch of text that is shown in one way.

    Attributes
    ----------
    text : str
        Not empty.
    strength : float
        0 for plain text, 1 for a place of the largest weight, between them in proportion.
    term : int or None
        Term of the heaviest mark here; None for plain text.
    """

    text: str
    strength: float = 0.0
    term: int | None = None


def cut(text: str, marks: Iterable[Mark]) -> list[Piece]:
    """Cut a whole text into pieces; joined, they are the text again.

    Where marks overlap the heaviest is shown, the earlier term among equals.

    Parameters
    ----------
    text : str
        Any text.
    marks : iterable of Mark
        In any order; they may overlap.

    Examples
    --------
    >>> cut("merge lists", [Mark(0, 5, 4.0), Mark(6, 10, 2.0, 1)])
    [Piece(text='merge', strength=1.0, term=0), Piece(text=' ', strength=0.0, term=None),
     Piece(text='list', strength=0.5, term=1), Piece(text='s', strength=0.0, term=None)]
    """
    sound = _sound(text, marks)
    return _pieces(text, sound, 0, len(text), _heaviest(sound))


def snippet(text: str, marks: Iterable[Mark], width: int) -> list[Piece]:
    """Show the part of a text that counts most on one line.

    White space is collapsed to single spaces. The window is the one whose different terms weigh most; among
    equals the one with more marks, then the earlier. But the beginning of the text, which tells most about it, is
    preferred where it holds four fifths of that weight. Windows end between words where there are any.

    Parameters
    ----------
    text : str
        Any text.
    marks : iterable of Mark
        Without any, the beginning of the text is shown.
    width : int
        Cells of the line, with the ellipses that stand for what was cut away. At least 8 are used.

    Returns
    -------
    list of Piece
        Empty for an empty text.

    Examples
    --------
    >>> text = "Merge multiple sorted inputs into a single sorted output."
    >>> "".join(piece.text for piece in snippet(text, [Mark(15, 21, 1.0)], 30))
    'Merge multiple sorted inputs …'
    """
    shown = passages(text, marks, width=width, count=1)
    return shown[0] if shown else []


def passages(text: str, marks: Iterable[Mark], *, width: int, count: int) -> list[list[Piece]]:
    """Show the parts of a text that count most, in the order of the text.

    Parameters
    ----------
    text, marks
        As in `snippet`.
    width : int
        Cells of one passage, at least 8. Passages that touch become one, so one may be longer.
    count : int
        Passages wanted at most. A text that fits into all of them together is shown whole, as one passage.

    Returns
    -------
    list of list of Piece
        Empty for an empty text.
    """
    line, moved = _one_line(text, _sound(text, marks))
    if not line:
        return []
    cells = _cells(line)
    heaviest = _heaviest(moved)
    width = max(8, width)
    if cells[-1] <= width * count:
        return [_pieces(line, moved, 0, len(line), heaviest)]
    chosen: list[tuple[int, int]] = []
    for first, last in weightiest(moved, cells, width - 4, count) or [(0, 0)]:
        chosen.append(_spread(line, cells, first, last, width))
    reached = list(accumulate((mark.end for mark in moved), max))
    shown = []
    for low, high in _joined(sorted(chosen)):
        inside = slice(bisect_right(reached, low), bisect_left(moved, high, key=attrgetter("start")))
        part = _pieces(line, moved[inside], low, high, heaviest)
        before = [Piece(f"{ELLIPSIS} ")] if low > 0 else []
        after = [Piece(f" {ELLIPSIS}")] if high < len(line) else []
        shown.append(before + part + after)
    return shown


# --- marks ------------------------------------------------------------------------------------------------------


def _sound(text: str, marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks that mark something, inside the text, widened to whole characters, by position."""
    sound = []
    for mark in marks:
        start, end = max(0, mark.start), min(len(text), mark.end)
        if start < end and mark.weight > 0:
            sound.append(mark._replace(start=_whole(text, start, -1), end=_whole(text, end, 1)))
    return sorted(sound)


def _whole(text: str, position: int, step: int) -> int:
    """Move a boundary out of a cluster of combining characters."""
    if text.isascii():
        return position
    for _ in range(_LONGEST_CLUSTER):
        if not 0 < position < len(text) or not _joins(text, position):
            break
        position += step
    return position


def _joins(text: str, position: int) -> bool:
    here = text[position]
    return here in _JOINERS or text[position - 1] == "\u200d" or unicodedata.category(here)[0] == "M"


def _heaviest(marks: Sequence[Mark]) -> float:
    return max((mark.weight for mark in marks), default=1.0)


def _pieces(text: str, marks: Sequence[Mark], low: int, high: int, heaviest: float) -> list[Piece]:
    """Cut ``text[low:high]``; `marks` are sorted by position."""
    inside = [mark for mark in marks if mark.start < high and mark.end > low]
    edges = {low, high}
    for mark in inside:
        edges.update((max(low, mark.start), min(high, mark.end)))
    found: list[tuple[int, float, int | None]] = []  # where a piece begins, its strength and its term
    active: list[tuple[float, int, int]] = []
    following = 0
    for start in sorted(edges - {high}):
        while following < len(inside) and inside[following].start <= start:
            mark = inside[following]
            heapq.heappush(active, (-mark.weight, mark.term, mark.end))
            following += 1
        while active and active[0][2] <= start:
            heapq.heappop(active)
        strength, term = (-active[0][0] / heaviest, active[0][1]) if active else (0.0, None)
        if not found or found[-1][1:] != (strength, term):
            found.append((start, strength, term))
    ends = [start for start, _, _ in found[1:]] + [high]
    return [
        Piece(text[start:end], strength, term)
        for (start, strength, term), end in zip(found, ends, strict=False)
    ]


# --- windows ----------------------------------------------------------------------------------------------------


def _one_line(text: str, marks: Sequence[Mark]) -> tuple[str, list[Mark]]:
    """Collapse white space and move the marks along; they lose the white space at their ends."""
    line = " ".join(text.split())
    lengths = _collapsed_lengths(text, sorted({place for mark in marks for place in (mark.start, mark.end)}))
    moved = []
    for mark in marks:
        start, end = lengths[mark.start], lengths[mark.end]
        if start > 0 and (text[mark.start].isspace() or text[mark.start - 1].isspace()):
            start += 1
        if start < end:
            moved.append(mark._replace(start=start, end=end))
    return line, moved


def _collapsed_lengths(text: str, places: Iterable[int]) -> dict[int, int]:
    """Return how long the text before each place is once its white space is collapsed; `places` ascend."""
    lengths: dict[int, int] = {}
    length = done = 0
    for place in places:
        part = text[done:place]
        if words := part.split():
            apart = length > 0 and (part[0].isspace() or text[done - 1].isspace())
            length += apart + sum(map(len, words)) + len(words) - 1
        lengths[place] = length
        done = place
    return lengths


def _cells(line: str) -> Sequence[int]:
    """Return how many cells lie before each character, and in all."""
    widths = {character: get_character_cell_size(character) for character in set(line)}
    if set(widths.values()) <= {1}:
        return range(len(line) + 1)
    return list(accumulate(map(widths.__getitem__, line), initial=0))


def _spread(line: str, cells: Sequence[int], first: int, last: int, width: int) -> tuple[int, int]:
    """Give the characters from `first` to `last` as much context as fits, cut between words."""
    if cells[last] <= width - 2:
        low = 0
    elif cells[-1] - cells[first] <= width - 2:
        low = _word_start(line, bisect_left(cells, cells[-1] - (width - 2)), first)
    else:
        slack = max(0, width - 4 - (cells[last] - cells[first]))
        low = _word_start(line, bisect_left(cells, cells[first] - slack // 3), first)
    if low > 0 and cells[-1] - cells[low] <= width - 2:
        return low, len(line)
    fitting = bisect_right(cells, cells[low] + width - (2 if low == 0 else 4)) - 1
    high = _word_end(line, fitting, max(last, low + 1))
    return low, high if high > low else fitting


def _word_start(line: str, low: int, first: int) -> int:
    """Move the start of a window to the right, to the next word, but not beyond `first`."""
    low = min(low, first)
    if low > 0 and line[low - 1] != " ":
        space = line.find(" ", low, first)
        inner = (p for p in range(low, first) if line[p].isalnum() and _between_letters(line, p))
        return space + 1 if space >= 0 else next(inner, _whole(line, low, 1))
    return low


def _word_end(line: str, high: int, last: int) -> int:
    """Move the end of a window to the left, to the last word that is whole, but not before `last`."""
    if line[high] != " ":
        space = line.rfind(" ", last, high)
        inner = (p for p in range(high, last, -1) if _between_letters(line, p))
        return space if space >= 0 else next(inner, _whole(line, high, -1))
    return high


def _between_letters(line: str, place: int) -> bool:
    """Tell whether a letter or digit meets something else here."""
    return line[place - 1].isalnum() != line[place].isalnum() and not _joins(line, place)


def _joined(windows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join windows that overlap or nearly touch."""
    found: list[tuple[int, int]] = []
    for low, high in windows:
        if found and low <= found[-1][1] + _NEAR:
            low, high = found[-1][0], max(high, found.pop()[1])
        found.append((low, high))
    return found


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
