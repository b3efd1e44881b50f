"""Bisection in a sorted table of strings, and the set of hashes that finds duplicate identifiers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.two_ways import way  # noqa: F401

from termwise.kernels.string_lookup import (
    ABSENT,
    CORRUPT,
    find_string,
    find_strings,
    first_disorder,
    insert_hashes,
)

Table = tuple[np.ndarray, np.ndarray, np.ndarray]


def table(strings: list[bytes]) -> Table:
    return (
        np.frombuffer(b"".join(strings), dtype=np.uint8),
        np.cumsum([0] + [len(string) for string in strings]).astype(np.uint64),
        np.array(sorted(range(len(strings)), key=strings.__getitem__), dtype=np.uint32),
    )


def find(stored: Table, wanted: bytes) -> int:
    return int(find_string(*stored, np.frombuffer(wanted, dtype=np.uint8)))


@given(st.lists(st.binary(max_size=4), unique=True, max_size=12), st.binary(max_size=5))
@example([b"", b"\0", b"\0\0", b"\xff"], b"\xff\xff")
def test_finds_known_strings_only(strings: list[bytes], other: bytes) -> None:
    stored = table(strings)
    assert [find(stored, string) for string in strings] == list(range(len(strings)))
    assert find(stored, other) == (strings.index(other) if other in strings else ABSENT)
    assert first_disorder(*stored) == -1
    bounds = np.cumsum([0] + [len(string) for string in strings])
    together = np.frombuffer(b"".join(strings), dtype=np.uint8)
    assert find_strings(*stored, together, bounds).tolist() == list(range(len(strings)))


STRINGS = [b"merge", b"sort", b"list", b"", b"merged"]


@pytest.mark.parametrize("value", [5, 2**32 - 1])
def test_a_number_outside_the_table_is_corrupt(value: int) -> None:
    data, offsets, by_bytes = table(STRINGS)
    by_bytes[2] = value  # the middle, which every search reads first
    assert find((data, offsets, by_bytes), b"merge") == CORRUPT
    assert first_disorder(data, offsets, by_bytes) == 2


@pytest.mark.parametrize("value", [len(b"".join(STRINGS)) + 1, 2**63, 2**64 - 1])
def test_an_offset_outside_the_data_is_corrupt(value: int) -> None:
    data, offsets, by_bytes = table(STRINGS)
    for position in (0, 1):  # where the middle string begins and ends
        wrong = offsets.copy()
        wrong[position] = value
        assert by_bytes[2] == 0
        assert find((data, wrong, by_bytes), b"merge") == CORRUPT


def test_the_first_disordered_position_is_returned() -> None:
    data, offsets, by_bytes = table(STRINGS)
    assert by_bytes.tolist() == [3, 2, 0, 4, 1]
    by_bytes[[1, 2]] = by_bytes[[2, 1]]
    assert first_disorder(data, offsets, by_bytes) == 2
    assert first_disorder(*table([b"a", b"b", b"a"])) == 1  # equal strings are out of order too


HASHES = st.lists(st.integers(1, 2**64 - 1) | st.integers(1, 5), max_size=30)


@given(HASHES, HASHES)
@settings(max_examples=100)
def test_inserts_up_to_the_first_known_hash(first: list[int], second: list[int]) -> None:
    table = np.zeros(128, dtype=np.uint64)
    held: set[int] = set()
    for batch in (first, second):
        hashes = np.array(batch, dtype=np.uint64)
        expected = next((i for i, h in enumerate(batch) if h in held or h in batch[:i]), len(batch))
        assert insert_hashes(table, hashes) == expected
        held |= set(batch[:expected])
    assert set(table[table != 0].tolist()) == held


def test_collisions_walk_round_the_end_of_the_table() -> None:
    table = np.zeros(8, dtype=np.uint64)
    same_slot = np.array([7, 15, 23, 31], dtype=np.uint64)
    assert insert_hashes(table, same_slot) == 4
    assert table.tolist() == [15, 23, 31, 0, 0, 0, 0, 7]
    assert insert_hashes(table, np.array([39, 23], dtype=np.uint64)) == 1
    assert insert_hashes(table, np.array([], dtype=np.uint64)) == 0
