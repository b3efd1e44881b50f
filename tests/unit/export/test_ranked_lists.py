"""Exact sums over the beginnings of ranked lists, compared with sums over all documents."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from termwise.export.scripts import ranked_lists
from termwise.export.scripts.ranked_lists import Beginning, Row, best_documents


class Scores:
    """List of given scores."""

    def __init__(self, scores: dict[int, float], coefficient: float, matches: bool = True) -> None:
        self.scores, self.coefficient, self.matches = scores, coefficient, matches
        self.fetched = 0

    def best(self, limit: int) -> Beginning:
        rows = self.rows(sorted(self.scores, key=lambda position: -self.scores[position])[:limit])
        self.fetched = max(self.fetched, len(rows))
        return Beginning(rows, rows[-1].score if len(rows) == limit else None)

    def rows(self, positions: Sequence[int]) -> list[Row]:
        return [Row(each, f"d{each // 2}", self.scores[each]) for each in positions if each in self.scores]


POSITIONS = st.integers(0, 40)


@given(
    st.lists(
        st.tuples(
            st.dictionaries(POSITIONS, st.integers(-3, 9).map(float), max_size=30),
            st.sampled_from([0.0, 0.5, 1.0, 2.0]),
            st.booleans(),
        ),
        max_size=4,
    ),
    st.integers(1, 12),
)
def test_best_documents_are_those_of_all_sums(
    lists: list[tuple[dict[int, float], float, bool]], k: int
) -> None:
    totals = {
        position: sum(coefficient * scores.get(position, 0.0) for scores, coefficient, _ in lists)
        for scores, _, matches in lists
        if matches
        for position in scores
    }
    expected: dict[str, float] = {}
    for position in sorted(totals, key=lambda position: (-totals[position], position)):
        expected.setdefault(f"d{position // 2}", totals[position] + 5.0)
    before = ranked_lists.MARGIN
    ranked_lists.MARGIN = 1
    try:
        assert best_documents([Scores(*each) for each in lists], k, 5.0) == list(expected.items())[:k]
    finally:
        ranked_lists.MARGIN = before


def test_a_list_is_fetched_as_far_as_needed() -> None:
    one = Scores({number: 10_000.0 - number for number in range(5000)}, 1.0)
    other = Scores({number: 10_000.0 - number for number in range(5000)}, 1.0)
    assert best_documents([one, other], 3, 0.0) == [("d0", 20_000.0), ("d1", 19_996.0), ("d2", 19_992.0)]
    assert one.fetched == 103
