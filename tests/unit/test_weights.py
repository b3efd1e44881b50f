"""Rows of weights: numbers that do not fit are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.errors import WeightError
from termwise.weights import TermWeights

LONG = "an int that is too long to write"


@pytest.mark.parametrize(
    ("weight", "shown"),
    [(10**5000, LONG), ("x", "'x'"), (None, "None"), (1j, "1j")],
    ids=["too long to write", "text", "none", "complex"],
)
def test_a_weight_that_no_float_holds_is_named_with_its_row(weight: object, shown: str) -> None:
    with pytest.raises(WeightError, match="not finite, or not a number") as caught:
        TermWeights.from_rows([{}, {3: 1.0, 7: weight}], "toy")  # type: ignore[dict-item]
    assert dict(caught.value.facts) == {"row": 1, "term": "7", "weight": shown}


@pytest.mark.parametrize(
    ("term", "shown"),
    [(10**5000, LONG), (2**64, str(2**64)), (1.5, "1.5"), ("x", "'x'")],
    ids=["too long to write", "large", "broken", "text"],
)
def test_the_error_names_a_term_that_is_not_a_64_bit_number(term: object, shown: str) -> None:
    with pytest.raises(WeightError, match="terms must be whole numbers") as caught:
        TermWeights.from_rows([{term: 1.0}], "toy")  # type: ignore[dict-item]
    assert dict(caught.value.facts)["value seen"] == shown


def test_arrays_of_other_things_than_numbers_are_refused() -> None:
    for weight, shown in ((10**5000, LONG), ("x", "'x'"), (True, "True"), (1j, "1j")):
        with pytest.raises(WeightError, match="weights must be numbers") as caught:
            TermWeights([0, 1], [3], [weight], "toy")  # type: ignore[list-item]
        assert dict(caught.value.facts)["value seen"] == shown
    with pytest.raises(WeightError, match="indptr must be whole numbers") as caught:
        TermWeights([0, 10**5000], [3], [1.0], "toy")
    assert dict(caught.value.facts)["value seen"] == LONG


def test_numbers_of_python_and_numpy_are_weights() -> None:
    rows = TermWeights.from_rows([{np.int32(3): np.float32(0.5), 1: 2, 9: 2**70}], "toy")
    assert rows.terms.tolist() == [1, 3, 9]
    assert rows.weights.tolist() == [2.0, 0.5, 2.0**70]
