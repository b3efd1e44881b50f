"""The kernels of Model 1 against their definitions."""

from __future__ import annotations

import inspect
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import translation as reference

from termwise.kernels import translation, translation_training
from termwise.kernels.translation_training import Postings, Side

TERMS = 6
TOKENS = st.lists(st.integers(0, TERMS - 1), min_size=1, max_size=5)
BITEXT = st.lists(st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=3)), min_size=1, max_size=5)
Rows = list[tuple[list[int], list[list[int]]]]


def side(rows: list[list[list[int]]]) -> Side:
    pieces = [piece for row in rows for piece in row]
    lengths = [len(piece) for piece in pieces]
    return Side(
        np.cumsum([0] + [len(row) for row in rows]).astype(np.int64),
        np.cumsum([0, *lengths])[:-1].astype(np.int64),
        np.array(lengths, dtype=np.int32),
        np.array([token for piece in pieces for token in piece], dtype=np.int32),
    )


def inverted(given_: Side) -> Postings:
    starts = translation_training.count_postings(given_, TERMS)
    size = int(starts[-1])
    postings = Postings(starts, np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32))
    translation_training.fill_postings(given_, postings)
    return postings


def sides(bitext: Rows, *, swapped: bool) -> tuple[Postings, Side, Postings, Side]:
    queries, chunks = side([[query] for query, _ in bitext]), side([chunks for _, chunks in bitext])
    return inverted(queries), chunks, inverted(chunks if swapped else side([])), queries


def pairs(bitext: Rows, *, swapped: bool) -> list[tuple[list[int], list[int]]]:
    plain = [(chunk, query) for query, chunks in bitext for chunk in chunks]
    return plain + [(target, source) for source, target in plain] if swapped else plain


def cells(walked: Any) -> tuple[np.ndarray, np.ndarray]:
    counts = np.zeros(TERMS, dtype=np.int64)
    sources = translation_training.find_cells(0, TERMS, *walked, counts)
    return np.concatenate(([0], np.cumsum(counts))), sources


def test_postings_by_hand() -> None:
    postings = inverted(side([[[3, 1, 3]], [], [[1], [1, 0]]]))
    assert postings.starts.tolist() == [0, 1, 3, 3, 4, 4, 4]
    assert postings.rows.tolist() == [2, 0, 2, 0]
    assert postings.counts.tolist() == [1, 1, 2, 2]


def test_pieces_may_overlap_and_leave_gaps() -> None:
    given_ = Side(
        np.array([0, 2]), np.array([0, 1]), np.array([2, 3], np.int32), np.array([5, 1, 1, 0, 2], np.int32)
    )
    postings = inverted(given_)
    assert postings.starts.tolist() == [0, 1, 2, 2, 2, 2, 3]
    assert postings.counts.tolist() == [1, 3, 1]
    counts = np.zeros(TERMS, dtype=np.int64)
    translation_training.count_tokens(given_, np.array([2]), counts)
    assert counts.tolist() == [2, 6, 0, 0, 0, 2]


@given(BITEXT, st.booleans())
def test_updates_are_all_tokens_with_all_tokens_and_null(bitext: Rows, swapped: bool) -> None:
    asked, chunks, answered, queries = sides(bitext, swapped=swapped)
    work = np.zeros(TERMS, dtype=np.int64)
    updates = translation_training.count_updates(asked, chunks, work)
    updates += translation_training.count_updates(answered, queries, work)
    assert updates == sum(
        (len(source) + 1) * len(target) for source, target in pairs(bitext, swapped=swapped)
    )
    assert 0 < work.sum() <= updates


@given(BITEXT, st.booleans())
def test_cells_are_pairs_of_terms_that_occur_together(bitext: Rows, swapped: bool) -> None:
    starts, sources = cells(sides(bitext, swapped=swapped))
    found = {
        (int(source), target)
        for target in range(TERMS)
        for source in sources[starts[target] : starts[target + 1]]
    }
    assert len(found) == len(sources)
    assert found == {
        (source, target)
        for left, right in pairs(bitext, swapped=swapped)
        for source in left
        for target in right
    }


@given(
    BITEXT, st.booleans(), st.integers(0, 2**31), st.sampled_from([(0.0, 0.0), (1e-7, 1e-7), (0.05, 0.05)])
)
def test_expected_counts_agree_with_the_reference(
    bitext: Rows, swapped: bool, seed: int, switches: tuple[float, float]
) -> None:
    floor, drop = switches
    walked = sides(bitext, swapped=swapped)
    starts, sources = cells(walked)
    random = np.random.default_rng(seed)
    counts, nulls = random.random(len(sources)), random.random(TERMS)
    totals, null_total = random.uniform(1, 9, TERMS), 7.0
    targets = np.repeat(np.arange(TERMS), np.diff(starts))
    probabilities: dict[tuple[Any, Any], float] = {
        (int(source), int(target)): count / totals[source]
        for source, target, count in zip(sources, targets, counts, strict=True)
    }
    probabilities |= {(None, target): nulls[target] / null_total for target in range(TERMS)}
    expected, likelihood = reference.expected_counts(
        pairs(bitext, swapped=swapped), probabilities, floor=floor, drop=drop
    )
    logs = np.zeros(TERMS)
    for first, last in ((0, 2), (2, TERMS)):
        translation_training.expected_counts(
            first, last, *walked, starts, sources, counts, nulls, totals, null_total, floor, drop, logs
        )
    found: dict[tuple[Any, Any], float] = defaultdict(float)
    found |= {(int(u), int(t)): value for u, t, value in zip(sources, targets, counts, strict=True)}
    found |= {(None, target): value for target, value in enumerate(nulls)}
    assert set(expected) <= set(found)
    for cell, value in found.items():
        assert value == pytest.approx(expected.get(cell, 0.0), rel=1e-12, abs=1e-15)
    assert logs.sum() == pytest.approx(likelihood, rel=1e-12, abs=1e-12)


@given(BITEXT, st.sampled_from([0.0, 0.1, 0.5]))
def test_likely_cells_agree_with_the_reference(bitext: Rows, least: float) -> None:
    starts, sources = cells(sides(bitext, swapped=True))
    targets = np.repeat(np.arange(TERMS), np.diff(starts))
    counts = 1.0 + np.arange(len(sources)) % 5
    totals = np.zeros(TERMS)
    translation_training.add_sources(sources, counts, totals)
    kept = translation_training.likely_cells(starts, sources, counts, totals, least)
    found = {
        (int(source), target): float(chance)
        for target in range(TERMS)
        for source, chance in zip(
            *(part[kept[0][target] : kept[0][target + 1]] for part in kept[1:]), strict=True
        )
    }
    named = {(int(u), int(t)): float(c) for u, t, c in zip(sources, targets, counts, strict=True)}
    expected = reference.likely_cells(named, least)
    rounded = {cell: value for cell, value in expected.items() if np.float32(value) >= least}
    assert found == pytest.approx(rounded, rel=1e-6)


def test_sources_without_a_count_have_no_probabilities() -> None:
    kept = translation_training.likely_cells(
        np.array([0, 2]), np.array([0, 0], np.int32), np.zeros(2), np.zeros(1), 0.0
    )
    assert [part.tolist() for part in kept] == [[0, 0], [], []]


@given(st.lists(st.sets(st.integers(0, 4)), min_size=5, max_size=5))
def test_transpose_agrees_with_the_reference(rows: list[set[int]]) -> None:
    starts = np.cumsum([0] + [len(row) for row in rows])
    numbers = np.array([number for row in rows for number in row], dtype=np.int32)
    values = np.arange(len(numbers), dtype=np.float32)
    fast = translation.transpose(starts, numbers, values)
    assert [part.tolist() for part in fast] == list(reference.transpose(starts, numbers, values))
    assert (fast[0].dtype, fast[1].dtype, fast[2].dtype) == (np.int64, np.int32, np.float32)


def test_same_parameters_as_the_reference() -> None:
    fast = inspect.signature(translation.transpose)
    assert list(fast.parameters) == list(inspect.signature(reference.transpose).parameters)
