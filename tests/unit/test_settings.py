"""Settings that are checked by type and range, and read from text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from termwise.errors import ParameterError, UnknownNameError
from termwise.settings import MOST, TypedSettings


@dataclass(frozen=True, kw_only=True)
class Sample(TypedSettings):
    steps: int = 3
    rate: float = 0.5
    deep: bool = False
    name: str = "x"
    form: Literal["a", "b"] = "a"

    ranges = {"rate": (0.0, 1.0)}  # noqa: RUF012


def test_texts_are_read_by_type() -> None:
    given = {"steps": "7", "rate": "1", "deep": "TRUE", "name": "7", "form": "b"}
    assert Sample.parse(given) == Sample(steps=7, rate=1.0, deep=True, name="7", form="b")
    assert Sample.parse({"steps": "7"}, defaults={"steps": 9, "rate": 0.25}) == Sample(steps=7, rate=0.25)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"steps": "7.5"}, "a whole number"),
        ({"rate": "fast"}, "a number"),
        ({"deep": "maybe"}, "true or false"),
    ],
)
def test_texts_that_cannot_be_read(given: dict[str, str], expected: str) -> None:
    with pytest.raises(ParameterError) as error:
        Sample.parse(given)
    assert dict(error.value.facts)["expected"] == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": -1},
        {"steps": 1.0},
        {"steps": True},
        {"steps": None},
        {"rate": 1.5},
        {"rate": math.nan},
        {"rate": "0.5"},
        {"deep": 1},
        {"name": 3},
    ],
)
def test_values_that_cannot_be(changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Sample(**changes)


def test_numbers_without_an_upper_bound_are_finite() -> None:
    assert Sample(steps=10**12).steps == 10**12

    @dataclass(frozen=True, kw_only=True)
    class Open(TypedSettings):
        rate: float = 0.0

    with pytest.raises(ParameterError):
        Open(rate=math.inf)


@pytest.mark.parametrize("given", [{"steps": "9" * 400}, {"steps": str(MOST + 1)}, {"rate": "9" * 5000}])
def test_numbers_beyond_all_reason_are_refused_in_a_short_line(given: dict[str, str]) -> None:
    with pytest.raises(ParameterError) as error:
        Sample.parse(given)
    assert len(error.value.render()) < 300


def test_names_that_are_not_there() -> None:
    with pytest.raises(UnknownNameError, match="unknown training setting"):
        Sample.parse({"step": "3"})
    with pytest.raises(UnknownNameError):
        Sample(form="c")  # type: ignore[arg-type]
