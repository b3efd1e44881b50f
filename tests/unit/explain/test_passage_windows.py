"""Stretches of marks: the heaviest_windows first, and no more to do for many of them than for one."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.explain.passages import Mark, heaviest_windows

MARKS = st.lists(
    st.builds(
        lambda start, length, weight, term: Mark(start, start + length, weight, term),
        st.integers(0, 60),
        st.integers(1, 12),
        st.sampled_from([0.5, 1.0, 2.0]),
        st.integers(0, 3),
    ),
    max_size=30,
).map(sorted)


def by_definition(marks: list[Mark], room: int, count: int) -> list[tuple[int, int]]:
    """Measure every stretch anew for each one that is chosen."""
    heaviest = max((mark.weight for mark in marks), default=1.0)
    worth = {mark.term: round(mark.weight / heaviest * 1_000_000) for mark in marks}
    shown: set[int] = set()
    found = []
    while marks and len(found) < count:
        stretches = []
        for first, mark in enumerate(marks):
            stop = first + 1
            while stop < len(marks) and marks[stop].end <= mark.start + room:
                stop += 1
            terms = {each.term for each in marks[first:stop]}
            value = sum(worth[term] // 8 if term in shown else worth[term] for term in terms)
            stretches.append((value, stop - first, -first))
        value, size, place = max(stretches)
        first, stop = -place, size - place
        opening = sum(mark.end <= room for mark in marks)
        if not found and 5 * sum(worth[term] for term in {m.term for m in marks[:opening]}) >= 4 * value:
            first, stop = 0, opening
        found.append((marks[first].start, max(mark.end for mark in marks[first:stop])))
        shown |= {mark.term for mark in marks[first:stop]}
        marks = marks[:first] + marks[stop:]
    return found


@settings(max_examples=300, deadline=None)
@given(marks=MARKS, room=st.integers(1, 40), count=st.integers(1, 6))
def test_windows_agree_with_the_definition(marks: list[Mark], room: int, count: int) -> None:
    assert heaviest_windows(marks, range(100), room, count) == by_definition(marks, room, count)


class Counted(Sequence[int]):
    """The width of a text in which every character takes one cell; counts how often it is asked for."""

    asked = 0

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, place: int) -> int:  # type: ignore[override]
        self.asked += 1
        return place


def test_forty_windows_take_little_more_time_than_two() -> None:
    marks = [Mark(place, place + 1, 1.0) for place in range(0, 40_000, 4)]
    two, forty = Counted(), Counted()
    assert len(heaviest_windows(marks, two, 100, 2)) == 2
    assert len(heaviest_windows(marks, forty, 100, 40)) == 40
    assert forty.asked < 1.1 * two.asked
