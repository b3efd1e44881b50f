"""The set of hashes that finds duplicate identifiers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.kernels.hashing import insert_hashes

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
