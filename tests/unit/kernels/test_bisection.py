"""Recursive bisection of a set of documents."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.kernels.bisection import bisect, bisect_all, cut
from termwise.weights import TermWeights

LEAF = 32
N_TERMS = 80
LOG2 = np.log2(np.maximum(np.arange(600), 1)).astype(np.float32)


def clustered(documents: int) -> TermWeights:
    """Make rows of four clusters, documents of one cluster far apart in the input."""
    generator = np.random.default_rng(5)
    rows = []
    for number in range(documents):
        chances = np.where(np.arange(N_TERMS) % 4 == number % 4, 0.6, 0.02)
        rows.append({int(term): 1.0 for term in np.flatnonzero(generator.random(N_TERMS) < chances)})
    return TermWeights.from_rows(rows, "toy")


def estimate(rows: TermWeights, order: list[int], middle: int) -> float:
    """Return the cost `bisect` is to lower: l log2(n / (l + 1)) summed over terms and halves."""
    cost = 0.0
    for half in (order[:middle], order[middle:]):
        held = np.bincount(np.concatenate([rows.row(row)[0] for row in half]), minlength=N_TERMS)
        cost += float((held * np.log2(len(half) / (held + 1))).sum())
    return cost


def test_one_cut_lowers_the_estimated_cost_and_leaves_its_tables_clean() -> None:
    rows = clustered(256)
    order = np.arange(256, dtype=np.int32)
    lefts, rights, touched = (np.zeros(N_TERMS, dtype=np.int32) for _ in range(3))
    gain_left, gain_right = np.empty(N_TERMS, dtype=np.float32), np.empty(N_TERMS, dtype=np.float32)
    before = estimate(rows, order.tolist(), 128)
    bisect(
        rows.indptr, rows.terms.astype(np.uint16), order, 0, 128, 256, 12, LOG2,
        lefts, rights, gain_left, gain_right, touched, np.empty(256, dtype=np.float32),
    )  # fmt: skip
    assert sorted(order.tolist()) == list(range(256))
    assert estimate(rows, order.tolist(), 128) < 0.9 * before
    assert not lefts.any()
    assert not rights.any()


@pytest.mark.parametrize("first", [0, 96])
def test_cuts_lie_at_multiples_of_a_leaf(first: int) -> None:
    for size in range(LEAF + 1, 300):
        middle = cut(first, first + size, LEAF)
        assert first < middle < first + size
        assert (middle - first) % LEAF == 0
        assert abs((middle - first) - size / 2) <= LEAF


def test_one_swap_by_hand() -> None:
    # Each half has one document that belongs to the other. Only these two gain by moving: a term that 3 and 1
    # documents of halves of 4 hold costs 3 * log2(4 / 4) + 1 * log2(4 / 2) = 1, with 4 and 0 it costs
    # 4 * log2(4 / 5) < 0, with 2 and 2 it costs 4 * log2(4 / 3) > 1.
    terms = np.array([0, 0, 1, 0, 1, 0, 1, 1], dtype=np.uint16)
    order = np.arange(8, dtype=np.int32)
    zeros = [np.zeros(2, dtype=np.int32) for _ in range(3)]
    gains = [np.empty(2, dtype=np.float32) for _ in range(2)]
    bisect(
        np.arange(9, dtype=np.int64), terms, order, 0, 4, 8, 12, LOG2, zeros[0], zeros[1], gains[0], gains[1],
        zeros[2], np.empty(8, dtype=np.float32),
    )  # fmt: skip
    assert order.tolist() == [0, 1, 5, 3, 4, 2, 6, 7]


def test_a_set_is_ordered_without_touching_its_surroundings() -> None:
    rows = clustered(256)
    order = np.arange(256, dtype=np.int32)
    bisect_all(
        rows.indptr, rows.terms.astype(np.uint16), order, 64, 192, LEAF, False, 12, LOG2, N_TERMS,
        np.empty(256, dtype=np.float32),
    )  # fmt: skip
    assert order[:64].tolist() == list(range(64))
    assert order[192:].tolist() == list(range(192, 256))
    assert sorted(order[64:192].tolist()) == list(range(64, 192))
    assert order[64:192].tolist() != list(range(64, 192))


def test_the_same_again() -> None:
    rows = clustered(300)
    found = []
    for _ in range(2):
        order = np.arange(300, dtype=np.int32)
        bisect_all(
            rows.indptr, rows.terms.astype(np.uint16), order, 0, 300, LEAF, False, 12, LOG2, N_TERMS,
            np.empty(300, dtype=np.float32),
        )  # fmt: skip
        found.append(order.tolist())
    assert found[0] == found[1]


def test_one_cut_alone() -> None:
    rows = clustered(256)
    order, expected = np.arange(256, dtype=np.int32), np.arange(256, dtype=np.int32)
    terms, gains = rows.terms.astype(np.uint16), np.empty(256, dtype=np.float32)
    bisect_all(rows.indptr, terms, order, 0, 256, LEAF, True, 12, LOG2, N_TERMS, gains)
    counts = [np.zeros(N_TERMS, dtype=np.int32) for _ in range(3)]
    room = [np.empty(N_TERMS, dtype=np.float32) for _ in range(2)]
    bisect(rows.indptr, terms, expected, 0, 128, 256, 12, LOG2, *counts[:2], *room, counts[2], gains)
    assert order.tolist() == expected.tolist()
