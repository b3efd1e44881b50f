"""Identifiers of a build: order, duplicates, and equal hashes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from termwise.errors import DuplicateIdError, ParameterError
from termwise.index import identifiers as module
from termwise.index.identifiers import Identifiers


@pytest.fixture
def identifiers() -> Identifiers:
    return Identifiers()


def duplicate(identifiers: Identifiers, *batches: list[str]) -> str:
    *accepted, refused = batches
    for batch in accepted:
        identifiers.add(batch)
    before = len(identifiers)
    with pytest.raises(DuplicateIdError) as caught:
        identifiers.add(refused)
    assert len(identifiers) == before  # nothing of the batch is kept
    return f"{dict(caught.value.facts)['doc_id']}: {dict(caught.value.facts)['documents']}"


def test_identifiers_are_returned_in_order_and_in_utf8(identifiers: Identifiers) -> None:
    identifiers.add(["a", "ü"])
    identifiers.add(["\ud800"])
    assert len(identifiers) == 3
    assert identifiers.bytes_of(1, 3) == ["ü".encode(), b"\xed\xa0\x80"]
    assert [identifiers.name(position) for position in range(4)] == ["a", "ü", "\ud800", "?"]


@pytest.mark.parametrize("wrong", [1, None, b"bytes"])
def test_an_identifier_must_be_a_string(identifiers: Identifiers, wrong: Any) -> None:
    identifiers.add(["a"])
    with pytest.raises(ParameterError) as caught:
        identifiers.add(["b", wrong])
    assert dict(caught.value.facts)["document"] == "number 3"
    assert len(identifiers) == 1


def test_duplicates_are_named_with_both_positions(identifiers: Identifiers) -> None:
    assert duplicate(identifiers, ["a", "b", "c", "b"]) == "b: number 2 and number 4"


def test_duplicates_across_batches(identifiers: Identifiers) -> None:
    assert duplicate(identifiers, ["a", "b"], [], ["c", "d"], ["e", "a"]) == "a: number 1 and number 6"


def test_duplicates_beyond_the_first_table(identifiers: Identifiers) -> None:
    many = [f"d{i}" for i in range(10_000)]
    found = duplicate(identifiers, many[:3000], many[3000:], ["new", "d2999"])
    assert found == "d2999: number 3000 and number 10002"


@pytest.mark.parametrize("collision", [1, 2**64 - 1])
def test_different_identifiers_with_the_same_hash(monkeypatch: pytest.MonkeyPatch, collision: int) -> None:
    monkeypatch.setattr(module, "_hashes", lambda names: np.full(len(names), collision, dtype=np.uint64))
    identifiers = Identifiers()
    identifiers.add(["a", "b", "c", "d"])
    assert identifiers.bytes_of(0, 4) == [b"a", b"b", b"c", b"d"]
    assert duplicate(Identifiers(), ["a", "b"], ["c", "b"]) == "b: number 2 and number 4"
    assert duplicate(Identifiers(), ["a", "b", "c", "c"]) == "c: number 3 and number 4"
