"""Bisection in a sorted table of bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from termwise.kernels.strings import ABSENT, CORRUPT, find_string, find_strings, first_disorder

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


def test_disorder_is_found_where_it_begins() -> None:
    data, offsets, by_bytes = table(STRINGS)
    assert by_bytes.tolist() == [3, 2, 0, 4, 1]
    by_bytes[[1, 2]] = by_bytes[[2, 1]]
    assert first_disorder(data, offsets, by_bytes) == 2
    assert first_disorder(*table([b"a", b"b", b"a"])) == 1  # equal strings are out of order too
