"""Pooling of window rows, compared with pooling of all windows at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.encode.pooled_rows import RowPool
from termwise.weights import TermWeights

Window = tuple[int, list[tuple[int, float]]]
WEIGHTS = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 2.0])
WINDOWS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.tuples(st.integers(0, 9), WEIGHTS), max_size=8)), max_size=10
)


def add(pool: RowPool, windows: list[Window]) -> None:
    lengths = [len(entries) for _, entries in windows]
    pool.add(
        np.array([document for document, _ in windows], dtype=np.int64),
        np.cumsum([0, *lengths]),
        np.array([term for _, entries in windows for term, _ in entries], dtype=np.int32),
        np.array([weight for _, entries in windows for _, weight in entries], dtype=np.float32),
    )


def expected(windows: list[Window], keep: int | None) -> TermWeights:
    rows: list[dict[int, float]] = [{} for _ in range(4)]
    for document, entries in windows:
        for term, weight in entries:
            if weight > 0:
                rows[document][term] = max(weight, rows[document].get(term, 0.0))
    if keep is not None:
        rows = [dict(sorted(row.items(), key=lambda item: (-item[1], item[0]))[:keep]) for row in rows]
    return TermWeights.from_rows(rows, "toy")


@given(WINDOWS, st.integers(1, 12) | st.none(), st.integers(1, 4), st.integers(0, 20))
def test_order_and_parts_do_not_matter(
    windows: list[Window], keep: int | None, parts: int, entries: int
) -> None:
    pool = RowPool(4, keep=keep, entries=entries)
    for part in range(parts):
        add(pool, windows[part::parts])
    assert pool.rows("toy") == expected(windows, keep)


@given(WINDOWS, st.integers(1, 12), st.integers(1, 4))
def test_pruning_by_keys(windows: list[Window], keep: int, parts: int) -> None:
    worth = np.array([8, 1, 1, 4, 1, 2, 1, 1, 16, 1], dtype=np.float32)
    pool = RowPool(4, keep=keep, keys=lambda terms, weights: weights * worth[terms])
    for part in range(parts):
        add(pool, windows[part::parts])
    rows = []
    for row in expected(windows, None):
        order = sorted(zip(*row, strict=True), key=lambda entry: (-entry[1] * worth[entry[0]], entry[0]))
        rows.append({int(term): float(weight) for term, weight in order[:keep]})
    assert pool.rows("toy") == TermWeights.from_rows(rows, "toy")


def test_no_windows() -> None:
    assert len(RowPool(3).rows("toy")) == 3
    assert len(RowPool(0).rows("toy")) == 0


@pytest.mark.parametrize("entries", [10, 1 << 22])
def test_terms_beyond_16_bits(entries: int) -> None:
    pool = RowPool(1, entries=entries)
    for start in (40_000, 70_000):
        terms = np.arange(start, start + 50)
        pool.add(np.array([0]), np.array([0, 50]), terms, np.full(50, 0.5, dtype=np.float32))
    assert pool.rows("toy").terms.tolist() == [*range(40_000, 40_050), *range(70_000, 70_050)]
