"""Passages of a text, those with the heaviest marks, in marked and plain pieces.

Positions are in code points. Widths are in terminal cells: a Chinese character has two cells, a combining accent none.
A character is not separated from its combining marks, unless they do not fit on a line.
"""

from __future__ import annotations

import heapq
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

ELLIPSIS = "…"
_BEFORE, _AFTER = f"{ELLIPSIS} ", f" {ELLIPSIS}"

_JOINERS = frozenset("\u200d\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_LONGEST_CLUSTER = 32
_NEAR = 24
_SEEN_BEFORE = 8

SHORTEST = 20
"""Smallest length of a passage in characters."""


class Mark(NamedTuple):
    """Marked span of a text.

    Attributes
    ----------
    start, end : int
        Half-open range of characters, clipped to the text.
    weight : float
        Weight of the mark; marks with a weight of 0 or less are ignored.
    term : int
        Number of its term, 0 or more; a window counts each term once.
    """

    start: int
    end: int
    weight: float
    term: int = 0


class Piece(NamedTuple):
    """Piece of text with one style.

    Attributes
    ----------
    text : str
        Not empty.
    strength : float
        Weight relative to the heaviest mark, from 0 to 1; 0 for plain text.
    term : int or None
        Term of the heaviest mark here; None for plain text.
    """

    text: str
    strength: float = 0.0
    term: int | None = None


def cut(text: str, marks: Iterable[Mark]) -> list[Piece]:
    """Split a text into pieces; joined, they are the text.

    Overlapping marks have the style of the heaviest mark, and of equal weights, of the first term.

    Examples
    --------
    >>> cut("merge lists", [Mark(0, 5, 4.0), Mark(6, 10, 2.0, 1)])
    [Piece(text='merge', strength=1.0, term=0), Piece(text=' ', strength=0.0, term=None),
     Piece(text='list', strength=0.5, term=1), Piece(text='s', strength=0.0, term=None)]
    """
    valid = _valid_marks(text, marks)
    return _pieces(text, valid, 0, len(text), _heaviest(valid))


def best_passage(
    text: str, marks: Iterable[Mark], width: int, *, within: tuple[int, int] | None = None
) -> list[Piece]:
    """Return the window of a text with the heaviest marks, on one line.

    White space is collapsed to single spaces. The window is the one with the largest sum of weights of distinct terms;
    among equals the one with more marks, then the earlier. The start of the text is preferred if it has four fifths of
    that sum. Windows end between words if possible.

    Parameters
    ----------
    text : str
        Any text.
    marks : iterable of Mark
        Marks of the text; without marks the window is its start.
    width : int
        Width of the line in cells, with ellipses; at least 8.
    within : (int, int), optional
        Range of characters to choose from; by default the whole text.

    Returns
    -------
    list of Piece
        Empty for an empty text.

    Examples
    --------
    >>> text = "Merge multiple sorted inputs into a single sorted output."
    >>> "".join(piece.text for piece in best_passage(text, [Mark(15, 21, 1.0)], 30))
    'Merge multiple sorted inputs …'
    """
    windows = passages(text, marks, width=width, count=1, within=within)
    return windows[0] if windows else []


def passages(
    text: str,
    marks: Iterable[Mark],
    *,
    width: int,
    count: int,
    within: tuple[int, int] | None = None,
) -> list[list[Piece]]:
    """Return the windows of a text with the heaviest marks, in the order of the text.

    Parameters
    ----------
    text, marks
        As in `best_passage`.
    width : int
        Width of a passage in cells, at least 8. Adjacent passages are joined, so a passage can be longer.
    count : int
        Largest number of passages. A text that fits into all of them together is one passage.
    within : (int, int), optional
        As in `best_passage`. If there are several passages, the last one has marks of terms that are not marked in the
        range.

    Returns
    -------
    list of list of Piece
        Empty for an empty text.
    """
    if within is not None:
        return _passages_within(text, marks, width, count, *within)
    line, moved = _one_line(text, _valid_marks(text, marks))
    if not line:
        return []
    cells = cells_before(line)
    heaviest = _heaviest(moved)
    width = max(8, width)
    if cells[-1] <= width * count:
        return [_pieces(line, moved, 0, len(line), heaviest)]
    chosen: list[tuple[int, int]] = []
    for first, last in heaviest_windows(moved, cells, width - 4, count) or [(0, 0)]:
        chosen.append(_spread(line, cells, first, last, width))
    reached = list(accumulate((mark.end for mark in moved), max))
    shown = []
    for low, high in _joined(sorted(chosen)):
        inside = slice(bisect_right(reached, low), bisect_left(moved, high, key=attrgetter("start")))
        part = _pieces(line, moved[inside], low, high, heaviest)
        before = [Piece(_BEFORE)] if low > 0 else []
        after = [Piece(_AFTER)] if high < len(line) else []
        shown.append(before + part + after)
    return shown


def passage_range(text: str, marks: Sequence[Mark], length: int) -> tuple[int, int]:
    """Return the range of the characters of a text that `best_passage` would choose, without its ellipses.

    Parameters
    ----------
    text : str
        Any text; its white space counts.
    marks : sequence of Mark
        Inside the text, in the order of their positions, with weights above 0.
    length : int
        Largest number of characters, at least `SHORTEST`.

    Examples
    --------
    >>> text = "Merge multiple sorted inputs into a single sorted output."
    >>> text[slice(*passage_range(text, [Mark(43, 49, 1.0)], 24))]
    'a single sorted output.'
    """
    low, high = 0, len(text)
    if high > length:
        line, places = text.replace("\n", " ").replace("\t", " "), range(len(text) + 1)
        first, last = (heaviest_windows(marks, places, length - 2, 1) or [(0, 0)])[0]
        low, high = _spread(
            line, places, first, last, length + 2
        )  # which leaves room for one ellipsis or two
    shown = text[low:high]
    return low + len(shown) - len(shown.lstrip()), low + len(shown.rstrip())


def _passages_within(
    text: str, marks: Iterable[Mark], width: int, count: int, low: int, high: int
) -> list[list[Piece]]:
    marks = list(marks)
    inside = {mark.term for mark in marks if mark.start < high and mark.end > low}
    outside = [mark for mark in marks if mark.term not in inside and mark.weight > 0] if count > 1 else []
    moved = [mark._replace(start=mark.start - low, end=mark.end - low) for mark in marks]
    shown = passages(text[low:high], moved, width=width - 4, count=count - bool(outside))
    if shown and text[:low].strip() and shown[0][0].text != _BEFORE:
        shown[0].insert(0, Piece(_BEFORE))
    if shown and text[high:].strip() and shown[-1][-1].text != _AFTER:
        shown[-1].append(Piece(_AFTER))
    return shown + (passages(text, outside, width=width, count=1) if outside else [])


# --- marks ------------------------------------------------------------------------------------------------------


def _valid_marks(text: str, marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks with a positive weight, clipped to the text and extended to whole characters, by position."""
    valid = []
    for mark in marks:
        start, end = max(0, mark.start), min(len(text), mark.end)
        if start < end and mark.weight > 0:
            valid.append(mark._replace(start=_cluster_edge(text, start, -1), end=_cluster_edge(text, end, 1)))
    return sorted(valid)


def _cluster_edge(text: str, position: int, step: int) -> int:
    """Move a position out of a cluster of combining characters."""
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
    """Split ``text[low:high]``; `marks` are sorted by position."""
    inside = [mark for mark in marks if mark.start < high and mark.end > low]
    edges = {low, high}
    for mark in inside:
        edges.update((max(low, mark.start), min(high, mark.end)))
    runs: list[tuple[int, float, int | None]] = []  # start, strength and term of each piece
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
        if not runs or runs[-1][1:] != (strength, term):
            runs.append((start, strength, term))
    ends = [start for start, _, _ in runs[1:]] + [high]
    return [
        Piece(text[start:end], strength, term)
        for (start, strength, term), end in zip(runs, ends, strict=False)
    ]


# --- windows ----------------------------------------------------------------------------------------------------


def _one_line(text: str, marks: Sequence[Mark]) -> tuple[str, list[Mark]]:
    """Collapse white space and move the marks; marks lose white space at their ends."""
    line = " ".join(text.split())
    lengths = _collapsed_lengths(
        text, sorted({position for mark in marks for position in (mark.start, mark.end)})
    )
    moved = []
    for mark in marks:
        start, end = lengths[mark.start], lengths[mark.end]
        if start > 0 and (text[mark.start].isspace() or text[mark.start - 1].isspace()):
            start += 1
        if start < end:
            moved.append(mark._replace(start=start, end=end))
    return line, moved


def _collapsed_lengths(text: str, positions: Iterable[int]) -> dict[int, int]:
    """Return the length of the collapsed text before each of the ascending `positions`."""
    lengths: dict[int, int] = {}
    length = done = 0
    for position in positions:
        part = text[done:position]
        if words := part.split():
            apart = length > 0 and (part[0].isspace() or text[done - 1].isspace())
            length += apart + sum(map(len, words)) + len(words) - 1
        lengths[position] = length
        done = position
    return lengths


def cells_before(line: str) -> Sequence[int]:
    """Return the number of terminal cells before each character, and the total."""
    if line.isascii() and line.isprintable():
        return range(len(line) + 1)
    from rich.cells import get_character_cell_size

    widths = {character: get_character_cell_size(character) for character in set(line)}
    if set(widths.values()) <= {1}:
        return range(len(line) + 1)
    return list(accumulate(map(widths.__getitem__, line), initial=0))


def _spread(line: str, cells: Sequence[int], first: int, last: int, width: int) -> tuple[int, int]:
    """Extend the range from `first` to `last` by the context that fits, split between words."""
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
    """Move the start of a window right to the next word, but not beyond `first`."""
    low = min(low, first)
    if low > 0 and line[low - 1] != " ":
        space = line.find(" ", low, first)
        inner = (p for p in range(low, first) if line[p].isalnum() and _between_letters(line, p))
        return space + 1 if space >= 0 else next(inner, _cluster_edge(line, low, 1))
    return low


def _word_end(line: str, high: int, last: int) -> int:
    """Move the end of a window left to the last whole word, but not before `last`."""
    if line[high] != " ":
        space = line.rfind(" ", last, high)
        inner = (p for p in range(high, last, -1) if _between_letters(line, p))
        return space if space >= 0 else next(inner, _cluster_edge(line, high, -1))
    return high


def _between_letters(line: str, position: int) -> bool:
    """Return whether a word starts or ends at a position."""
    return line[position - 1].isalnum() != line[position].isalnum() and not _joins(line, position)


def _joined(windows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join windows that overlap or are less than `_NEAR` characters apart."""
    joined: list[tuple[int, int]] = []
    for low, high in windows:
        if joined and low <= joined[-1][1] + _NEAR:
            low, high = joined[-1][0], max(high, joined.pop()[1])
        joined.append((low, high))
    return joined


def heaviest_windows(
    marks: Sequence[Mark], cells: Sequence[int], width: int, count: int
) -> list[tuple[int, int]]:
    """Choose at most `count` windows of marks, each at most `width` cells wide, the heaviest first.

    The value of a window is the sum of the weights of its distinct terms; among equals the one with more marks is
    chosen, then the earlier. Terms of earlier windows have a smaller weight. The start of the text is chosen first if
    it has four fifths of the best value. Marks are sorted by position; one that is wider than a window is a window
    alone. `cells` has the number of cells before each character of the text.
    """
    heaviest = max((mark.weight for mark in marks), default=1.0)
    full_value = {mark.term: max(1, round(mark.weight / heaviest * 1_000_000)) for mark in marks}
    value, seen = dict(full_value), set[int]()
    left = list(marks)
    sizes: list[tuple[int, int]] = []
    windows: list[tuple[int, int]] = []
    while left and len(windows) < count:
        sizes = sizes or list(_window_sizes(left, cells, width, value, range(len(left))))
        first = sizes.index(max(sizes))
        stop = first + sizes[first][1]
        if not windows:
            opening = sum(cells[mark.end] <= width for mark in left)
            if 5 * _value_of(left[:opening], full_value) >= 4 * _value_of(left[first:stop], full_value):
                first, stop = 0, opening
        taken = left[first:stop]
        windows.append((taken[0].start, max(mark.end for mark in taken)))
        del left[first:stop], sizes[first:stop]
        if new := {mark.term for mark in taken} - seen:
            seen |= new
            value |= {term: max(1, full_value[term] // _SEEN_BEFORE) for term in new}
            sizes = []
            continue
        reaching = first  # first mark whose window reached the chosen one
        while reaching > 0 and reaching - 1 + sizes[reaching - 1][1] >= first:
            reaching -= 1
        sizes[reaching:first] = _window_sizes(left, cells, width, value, range(reaching, first))
    return windows


def _value_of(marks: Iterable[Mark], value: Mapping[int, int]) -> int:
    return sum(value[term] for term in {mark.term for mark in marks})


def _window_sizes(
    marks: Sequence[Mark], cells: Sequence[int], width: int, value: Mapping[int, int], begin: range
) -> Iterator[tuple[int, int]]:
    """Yield value and number of marks of the window that starts with each mark of a range."""
    counts = dict.fromkeys(value, 0)
    total = 0
    end = begin.start
    for first in begin:
        limit = cells[marks[first].start] + width
        while end < len(marks) and (end <= first or cells[marks[end].end] <= limit):
            term = marks[end].term
            counts[term] += 1
            total += value[term] if counts[term] == 1 else 0
            end += 1
        yield total, end - first
        term = marks[first].term
        counts[term] -= 1
        total -= value[term] if counts[term] == 0 else 0
