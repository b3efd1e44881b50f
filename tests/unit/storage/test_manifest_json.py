"""What is said of values that no writer writes: as JSON has them, and no longer than a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from termwise.storage.manifest_json import (
    Misfit,
    expect_choice,
    expect_digest,
    expect_file_name,
    expect_number,
    expect_text,
    expect_whole,
)

CHECKS: list[Callable[[Any], object]] = [
    lambda value: expect_whole(value, "terms", 0, 10),
    lambda value: expect_number(value, "power", 0, 1),
    lambda value: expect_text(value, "name"),
    lambda value: expect_choice(value, "kind", ("a", "b")),
    lambda value: expect_digest(value, "checksum"),
    expect_file_name,
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("value", [10**400, ["x" * 1000]], ids=["number", "list"])
def test_long_values_are_shortened(check: Callable[[Any], object], value: object) -> None:
    with pytest.raises(Misfit) as caught:
        check(value)
    assert len(str(caught.value.seen)) <= 80


@pytest.mark.parametrize("check", CHECKS[:2])
def test_a_quoted_number_is_not_a_number(check: Callable[[Any], object]) -> None:
    with pytest.raises(Misfit) as caught:
        check("0.5")
    assert caught.value.seen == "'0.5'"
