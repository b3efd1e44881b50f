"""Rankings: what their scores may be."""

from __future__ import annotations

import pytest

from termwise.errors import WeightError
from termwise.records import Ranking


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (10**400, "[1" + 75 * "0" + "..."),
        (10**5000, "a list that is too long to write"),
        ("high", "['high']"),
        (1j, "[1j]"),
    ],
    ids=["large", "too long to write", "text", "complex"],
)
def test_scores_that_no_float_holds_are_refused(score: object, shown: str) -> None:
    with pytest.raises(WeightError, match="numbers that a float can hold") as caught:
        Ranking(["a"], [score], "q1")
    facts = dict(caught.value.facts)
    assert (facts["query"], facts["scores"]) == ("q1", shown)


def test_scores_that_are_large_or_infinite_stay() -> None:
    assert Ranking(["a", "b"], [float("inf"), 10**300]).scores.tolist() == [float("inf"), 1e300]
