"""Top-k over inverted views against its definition, with and without a filter, and on damaged views."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import retrieval as reference
from tests.two_ways import way  # noqa: F401

from termwise.kernels.addresses import address_of
from termwise.kernels.allowed_retrieval import count_bits, count_postings, retrieve_allowed
from termwise.kernels.retrieval import (
    BINS,
    GIVE_UP,
    INTACT,
    VIEW,
    _bound_blocks,
    _sort_blocks,
    max_score,
    ordinal_bits,
    retrieve_segments,
)

MAX_SCORE = 2**38
OK, CORRUPT = INTACT, 0


@dataclass(frozen=True)
class View:
    """The inverted view of one segment, made here without the code under test."""

    documents: int
    block_bits: int
    term_entries: np.ndarray
    term_postings: np.ndarray
    entry_block: np.ndarray
    entry_count: np.ndarray
    entry_max: np.ndarray
    posting_offset: np.ndarray
    posting_impact: np.ndarray
    order: np.ndarray
    bias: np.ndarray
    block_bias: np.ndarray
    allowed: np.ndarray

    def top(
        self, query: dict[int, int], k: int, background: int = 0, number: Any = np.int32, least: int = 1
    ) -> tuple[Any, int]:
        """Return pairs of row and score, best first, and whether the view is damaged."""
        return search(views_of((self, {})), query, k, background, number, least)

    def top_allowed(
        self, rows: Any, query: dict[int, int], k: int, background: int = 0, number: Any = np.int32
    ) -> tuple[Any, int]:
        """Return the same by the kernel for few allowed rows."""
        allowed = numbered(self, rows)  # views have addresses only
        return search(views_of((self, allowed)), query, k, background, number, retrieve=retrieve_allowed)


def views_of(*parts: tuple[View, dict[str, Any]]) -> np.ndarray:
    """Return the records of segments; extra entries are lengths, and arrays by their names."""
    views = np.zeros(len(parts), dtype=VIEW)
    for record, (view, extra) in zip(views, parts, strict=True):
        arrays = {**vars(view), **extra}
        for name, value in arrays.items():
            record[f"{name}_at" if isinstance(value, np.ndarray) else name] = (
                address_of(value) if isinstance(value, np.ndarray) else value
            )
        record["terms"] = len(view.term_entries) - 1
        record["entries"] = len(view.entry_block)
        record["postings"] = len(view.posting_offset)
        record["own_terms"] = len(extra.get("own_terms", ()))
        record["biases"], record["block_biases"] = len(view.bias), len(view.block_bias)
        record["words"] = len(arrays["allowed"])
        record["masked"], record["members"] = len(extra.get("mask", ())), len(extra.get("members", ()))
    return views


def numbered(view: View, rows: Any) -> dict[str, np.ndarray]:
    """Return the arrays of allowed rows for `retrieve_allowed`."""
    bits = np.zeros(-(-view.documents // 256) * 256, dtype=np.bool_)
    bits[: view.documents] = np.isin(view.order, rows)
    before = np.concatenate([[0], np.cumsum(bits)])[::64]
    return {
        "allowed": np.packbits(bits, bitorder="little").view(np.uint64),
        "ranks": before.astype(np.int32),
        "members": np.flatnonzero(bits).astype(np.int32),
    }


def search(
    views: np.ndarray,
    query: dict[int, int],
    k: int,
    background: int = 0,
    number: Any = np.int32,
    least: int = 1,
    retrieve: Any = retrieve_segments,
) -> tuple[list[tuple[int, int]], int]:
    """Return pairs of ordinal and score, best first, and the number of a damaged segment."""
    terms = np.array(sorted(query), dtype=np.int32)
    weights = np.array([query[term] for term in sorted(query)], dtype=number)
    ordinals, scores, damaged = retrieve(views, terms, weights, number(background), k, 24, number(least))
    assert ordinals.dtype == scores.dtype == np.int64
    return list(zip(ordinals.tolist(), scores.tolist(), strict=True)), damaged


def invert(
    rows: list[dict[int, int]],
    *,
    n_terms: int = 8,
    order: list[int] | None = None,
    bias: list[int] | None = None,
    block_bits: int = 8,
) -> View:
    order = list(range(len(rows))) if order is None else order
    size = 1 << block_bits
    entries, postings = [0], [0]
    block, count, largest, offset, impact = [], [], [], [], []
    for term in range(n_terms):
        held = [(number, rows[row][term]) for number, row in enumerate(order) if term in rows[row]]
        for number, value in held:
            if len(block) == entries[-1] or block[-1] != number // size:
                block.append(number // size)
                count.append(-1)
                largest.append(0)
            count[-1] += 1
            largest[-1] = max(largest[-1], value)
            offset.append(number % size)
            impact.append(value)
        entries.append(len(block))
        postings.append(len(offset))
    inner = [] if bias is None else [bias[row] for row in order]
    return View(
        len(rows),
        block_bits,
        np.array(entries, dtype=np.uint32),
        np.array(postings, dtype=np.uint32),
        np.array(block, dtype=np.uint16),
        np.array(count, dtype=np.uint8),
        np.array(largest, dtype=np.uint8),
        np.array(offset, dtype=np.uint8),
        np.array(impact, dtype=np.uint8),
        np.array(order, dtype=np.uint32),
        np.array(inner, dtype=np.uint16),
        np.array([max(inner[i : i + size]) for i in range(0, len(inner), size)], dtype=np.uint16),
        np.empty(0, dtype=np.uint64),
    )


def expected(
    rows: list[dict[int, int]],
    query: dict[int, int],
    k: int,
    bias: list[int] | None = None,
    background: int = 0,
) -> list[tuple[int, int]]:
    indptr = np.cumsum([0] + [len(row) for row in rows]).tolist()
    terms = [term for row in rows for term in sorted(row)]
    impacts = [row[term] for row in rows for term in sorted(row)]
    scores, matched = reference.score_rows(
        indptr, terms, impacts, bias or [], range(len(rows)), sorted(query), [query[t] for t in sorted(query)],
        background,
    )  # fmt: skip
    return [(row, int(scores[row])) for row in reference.top_k(scores, matched, k)]


def test_three_documents_by_hand() -> None:
    view = invert([{0: 3, 1: 1}, {1: 2}, {2: 9}])
    assert view.top({0: 1, 1: 2}, 10) == ([(0, 5), (1, 4)], OK)
    assert view.top({0: 1, 1: 2}, 1) == ([(0, 5)], OK)
    assert view.top({2: 7}, 10) == ([(2, 63)], OK)
    assert view.top({3: 1}, 10) == ([], OK)
    assert view.top({}, 10) == ([], OK)


def test_no_documents() -> None:
    assert invert([]).top({0: 1}, 3) == ([], OK)


def test_ties_are_ordered_by_input_position() -> None:
    rows = [{0: 5}, {0: 7}, {0: 5}, {0: 7}, {0: 5}]
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 3, 1]):
        for block_bits in (0, 1, 8):
            view = invert(rows, order=order, block_bits=block_bits)
            assert view.top({0: 1}, 5)[0] == [(1, 7), (3, 7), (0, 5), (2, 5), (4, 5)]
            assert view.top({0: 1}, 3)[0] == [(1, 7), (3, 7), (0, 5)]
            assert view.top({0: 1}, 1)[0] == [(1, 7)]


def test_a_block_whose_bound_equals_the_kth_score_is_visited() -> None:
    # Both blocks have the bound 9. The first visited holds row 1; row 0 lies in the other and comes first in ties.
    view = invert([{0: 9}, {0: 9}], order=[1, 0], block_bits=0)
    assert view.top({0: 1}, 1) == ([(0, 9)], OK)


def test_a_bound_that_no_document_reaches() -> None:
    # Block 0 promises 5 + 5 and holds 5 at best; block 1 promises 6 and keeps it.
    rows = [{0: 5}, {1: 5}, {0: 3, 1: 3}, {}]
    assert invert(rows, block_bits=1).top({0: 1, 1: 1}, 1) == ([(2, 6)], OK)
    assert invert(rows, block_bits=1).top({0: 1, 1: 1}, 3)[0] == [(2, 6), (0, 5), (1, 5)]


def test_different_bounds_in_the_same_bin() -> None:
    # Bounds up to 255 * 100_000 fall into bins of 8192; the best document is in none of the first blocks.
    rows = [{0: 200 + i % 3} for i in range(60)]
    query = {0: 100_000}
    view = invert(rows, block_bits=0)
    for k in (1, 5, 20, 60):
        assert view.top(query, k)[0] == expected(rows, query, k)


def test_sums_wider_than_32_bits() -> None:
    rows = [{0: 255, 1: 255}, {0: 255, 1: 254}, {1: 255}]
    query = {0: 2**29, 1: 2**29}
    assert MAX_SCORE > 255 * 2**30
    assert invert(rows).top(query, 3, number=np.int64) == (
        [(0, 510 * 2**29), (1, 509 * 2**29), (2, 255 * 2**29)],
        OK,
    )


def test_the_largest_score_and_the_last_ordinal_fit_a_key() -> None:
    assert (ordinal_bits(0), ordinal_bits(2**24), ordinal_bits(2**24 + 1)) == (24, 24, 25)
    assert (max_score(0), max_score(2**24), max_score(2**26)) == (MAX_SCORE, MAX_SCORE, 2**36)
    for documents in (1, 2**24, 2**24 + 1, 2**32):
        key = ((max_score(documents) - 1) << ordinal_bits(documents)) | (documents - 1)
        assert key < 2**62
        assert key >> ordinal_bits(documents) == max_score(documents) - 1


def test_the_background_moves_documents_but_finds_none() -> None:
    rows = [{0: 10}, {0: 9}, {1: 1}, {0: 10}]
    bias = [0, 5, 65_535, 4]
    for block_bits in (0, 1, 8):
        view = invert(rows, bias=bias, block_bits=block_bits)
        assert view.top({0: 2}, 4, background=1)[0] == [(3, 24), (1, 23), (0, 20)]
        assert view.top({0: 2}, 2, background=3)[0] == [(1, 33), (3, 32)]
        assert view.top({0: 2}, 4)[0] == [(0, 20), (3, 20), (1, 18)]


def test_a_block_full_of_one_term() -> None:
    rows = [{0: 1 + i % 7} for i in range(600)]
    view = invert(rows)
    assert view.entry_count.tolist() == [255, 255, 87]
    for k in (1, 10, 600):
        assert view.top({0: 3}, k)[0] == expected(rows, {0: 3}, k)


@given(st.data())
@settings(max_examples=200)
def test_agrees_with_the_definition(data: st.DataObject) -> None:
    impact = st.integers(1, 255) | st.integers(1, 2)
    rows = data.draw(
        st.lists(st.dictionaries(st.integers(0, 7), impact, max_size=8), min_size=1, max_size=30)
    )
    order = data.draw(st.permutations(range(len(rows))))
    number = data.draw(st.sampled_from([np.int32, np.int64]))
    most = 2**31 // (255 * 8 + 65_535) if number is np.int32 else 2**26
    weight = st.integers(1, most - 1) | st.integers(1, 2)
    query = data.draw(st.dictionaries(st.integers(0, 7), weight, max_size=8))
    bias = data.draw(
        st.none()
        | st.lists(st.integers(0, 65_535) | st.integers(0, 2), min_size=len(rows), max_size=len(rows))
    )
    background = 0 if bias is None else data.draw(st.integers(0, min(most - 1, 2**20)))
    block_bits = data.draw(st.sampled_from([0, 1, 2, 8]))
    view = invert(rows, order=list(order), bias=bias, block_bits=block_bits)
    everything = expected(rows, query, len(rows), bias, background)
    allowed = data.draw(st.sets(st.integers(0, len(rows) - 1)))
    for k in (1, 2, 5, len(rows)):
        assert view.top(query, k, background, number) == (everything[:k], OK)
        found = view.top_allowed(sorted(allowed), query, k, background, number)
        assert found == ([each for each in everything if each[0] in allowed][:k], OK)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(GIVE_UP - 1, 4 * GIVE_UP),
    st.sampled_from([0, 3, 8]),
    st.booleans(),
)
@settings(max_examples=60)
def test_skipped_blocks_contain_no_result(seed: int, terms: int, block_bits: int, biased: bool) -> None:
    """Queries of many terms, a few of them heavy, so that blocks are left before all of their terms are added."""
    random = np.random.default_rng(seed)
    chance = random.uniform(0.1, 0.9)
    rows = [
        {term: int(random.integers(1, 256)) for term in range(terms) if random.random() < chance}
        for _ in range(60)
    ]
    weights = np.maximum(1, (2000 * random.random(terms) ** 6).astype(int)).tolist()
    query = dict(enumerate(weights))
    bias = random.integers(0, 500, len(rows)).tolist() if biased else None
    background = 300 if biased else 0
    view = invert(
        rows, n_terms=terms, order=random.permutation(len(rows)).tolist(), bias=bias, block_bits=block_bits
    )
    everything = expected(rows, query, len(rows), bias, background)
    for k in (1, 3, 10):
        assert view.top(query, k, background, np.int64) == (everything[:k], OK)


def changed(view: View, name: str, position: int, value: int) -> View:
    array = getattr(view, name).copy()
    array[position] = value
    return replace(view, **{name: array})


SMALL = invert([{0: 3, 1: 1}, {1: 2}, {0: 4, 2: 9}, {1: 7}], block_bits=1, bias=[1, 2, 3, 4])


def test_the_inverted_view_by_hand() -> None:
    assert SMALL.term_entries.tolist() == [0, 2, 4, 5, 5, 5, 5, 5, 5]
    assert SMALL.term_postings.tolist() == [0, 2, 5, 6, 6, 6, 6, 6, 6]
    assert SMALL.entry_block.tolist() == [0, 1, 0, 1, 1]
    assert SMALL.entry_count.tolist() == [0, 0, 1, 0, 0]
    assert SMALL.top({0: 1, 1: 1, 2: 1}, 4, 1) == ([(2, 16), (3, 11), (0, 5), (1, 4)], OK)


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [
        ("term_entries", 1, 2**32 - 1),  # beyond the entries
        ("term_entries", 1, 5),  # the next term would begin after its end
        ("term_entries", 2, 1),
        ("term_postings", 1, 2**32 - 1),
        ("term_postings", 1, 0),
        ("term_postings", 2, 1),
        ("term_postings", 3, 7),  # one more than there are
        ("entry_block", 1, 2),  # no such block
        ("entry_block", 1, 65_535),
        ("entry_block", 1, 0),  # one block twice would break the bound on all sums
        ("entry_block", 2, 1),
        ("entry_count", 4, 255),  # beyond the postings
        ("entry_count", 0, 1),  # into the next entry
        ("entry_count", 2, 0),  # a posting that belongs to no entry
        ("order", 2, 4),
        ("order", 2, 2**32 - 1),
    ],
)
@pytest.mark.parametrize("number", [np.int32, np.int64])
def test_a_position_outside_its_array_is_corrupt(name: str, position: int, value: int, number: Any) -> None:
    query = {0: 1, 1: 1, 2: 1}
    damaged = changed(SMALL, name, position, value)
    assert damaged.top(query, 4, 1, number) == ([], CORRUPT)
    allowed = numbered(SMALL, range(4))
    views = views_of((damaged, allowed))
    assert search(views, query, 4, 1, number, retrieve=retrieve_allowed) == ([], CORRUPT)


def test_a_document_beyond_the_last_is_corrupt() -> None:
    view = invert([{0: 3}], block_bits=8)
    assert changed(view, "posting_offset", 0, 255).top({0: 1}, 1) == ([], CORRUPT)


def test_a_wrong_impact_or_bound_is_not_noticed_but_does_no_harm() -> None:
    for name, position, value in [("posting_impact", 0, 255), ("entry_max", 0, 0), ("posting_offset", 0, 1)]:
        found, status = changed(SMALL, name, position, value).top({0: 1, 1: 1}, 4)
        assert status == OK
        assert len(found) <= 4


def test_entries_of_one_block_cannot_overflow_a_bound() -> None:
    """A thousand entries of one block, each promising 255: without the check a sum of 32 bits would turn negative."""
    weight = (2**31 - 1) // 255
    many = 1000
    view = View(
        documents=1, block_bits=8,
        term_entries=np.array([0, many], dtype=np.uint32), term_postings=np.array([0, many], dtype=np.uint32),
        entry_block=np.zeros(many, dtype=np.uint16), entry_count=np.zeros(many, dtype=np.uint8),
        entry_max=np.full(many, 255, dtype=np.uint8), posting_offset=np.zeros(many, dtype=np.uint8),
        posting_impact=np.full(many, 255, dtype=np.uint8), order=np.zeros(1, dtype=np.uint32),
        bias=np.empty(0, dtype=np.uint16), block_bias=np.empty(0, dtype=np.uint16),
        allowed=np.empty(0, dtype=np.uint64),
    )  # fmt: skip
    assert view.top({0: weight}, 1) == ([], CORRUPT)


def test_cells_hold_the_largest_block_at_the_largest_position() -> None:
    """A cell packs the first posting, the largest impact and up to 256 postings into one signed 64-bit integer."""
    first, count = 2**32 - 1 - 256, 256
    cell = (first << 17) | (1 << 9) | count
    assert (first << 17) | (255 << 9) | count < 2**63
    assert (cell >> 17, (cell >> 9) & 255, cell & 511) == (first, 1, count)
    view = View(
        documents=1, block_bits=8,
        term_entries=np.array([0, 1], dtype=np.uint32),
        term_postings=np.array([first, first + count], dtype=np.uint32),
        entry_block=np.zeros(1, dtype=np.uint16), entry_count=np.full(1, 255, dtype=np.uint8),
        entry_max=np.ones(1, dtype=np.uint8), posting_offset=np.zeros(1, dtype=np.uint8),
        posting_impact=np.ones(1, dtype=np.uint8), order=np.zeros(1, dtype=np.uint32),
        bias=np.empty(0, dtype=np.uint16), block_bias=np.empty(0, dtype=np.uint16),
        allowed=np.empty(0, dtype=np.uint64),
    )  # fmt: skip
    views = views_of((view, {}))
    views["postings"] = 2**32 - 1
    bounds, cells, largest = (np.zeros(1, dtype=kind) for kind in (np.int32, np.int64, np.int32))
    ones = np.ones(1, dtype=np.int32)
    assert _bound_blocks(views[0], np.zeros(1, dtype=np.int64), ones, np.int32(0), bounds, cells, largest)
    assert cells.tolist() == [cell]
    assert (bounds.tolist(), largest.tolist()) == ([1], [1])


@pytest.mark.parametrize("top", [0, 1, 4095, 4096, 10**6, 2**31 - 1, MAX_SCORE - 1])
def test_blocks_are_sorted_by_bins_of_their_bounds(top: int) -> None:
    generator = np.random.default_rng(3)
    bounds = np.append(generator.integers(0, top + 1, size=200), [0, top]).astype(np.int64)
    queue = np.empty(len(bounds), dtype=np.int32)
    shift = _sort_blocks(bounds, queue)
    assert sorted(queue.tolist()) == list(range(len(bounds)))
    bins = bounds[queue] >> shift
    assert (np.diff(bins) <= 0).all()
    assert (top >> shift) < BINS * 202
    assert shift == 0 or (top >> (shift - 1)) >= BINS * 202


@pytest.mark.parametrize("seed", range(5))
def test_only_allowed_documents_with_the_least_sum_are_results(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = [
        {int(t): int(random.integers(1, 9)) for t in np.flatnonzero(random.random(8) < 0.3)}
        for _ in range(700)
    ]
    view = invert(rows, order=random.permutation(700).tolist())
    allowed = random.random(700) < (0.5, 0.05, 0.002, 1.0, 0.0)[seed]
    bits = np.zeros(768, dtype=np.bool_)
    bits[:700] = allowed[view.order]
    words = np.packbits(bits, bitorder="little").view(np.uint64)
    query = {0: 3, 2: 1, 5: 2}
    every = [each for each in expected(rows, query, 700) if allowed[each[0]]]
    for least in (1, 12):
        found = replace(view, allowed=words).top(query, 20, least=least)
        assert found == ([each for each in every if each[1] >= least][:20], OK)
        masked = views_of((view, {"mask": allowed}))
        assert search(masked, query, 20, least=least) == found
    for k in (1, 20, 700):
        assert view.top_allowed(np.flatnonzero(allowed), query, k) == (every[:k], OK)


@given(st.integers(0, 2**64 - 1))
def test_bits_of_a_word(word: int) -> None:
    assert count_bits(np.uint64(word)) == word.bit_count()


def test_segments_with_own_terms_deletions_and_shifts_are_searched_together() -> None:
    """The second segment has the terms 2 and 7 of the index, twice as large units, and a deleted first row."""
    first = invert([{2: 6}, {1: 1}, {2: 4, 7: 1}])
    second = replace(
        invert([{0: 9}, {0: 3}, {1: 2}, {0: 1, 1: 1}], n_terms=2),
        allowed=np.array([0b1110, 0, 0, 0], np.uint64),
    )
    living = {
        "first": 3,
        "shift": 1,
        "own_terms": np.array([2, 7], dtype=np.uint32),
        "places": np.array([-1, 0, 1, 2], dtype=np.int32),
    }
    views = views_of((first, {"first": 0}), (second, living))
    # row 0: 6; row 2: 4 + 2 * 1; of the second segment 2 * 3, 2 * 2 * 2, and 2 * 1 + 2 * 2 * 1
    every = [(4, 8), (0, 6), (2, 6), (3, 6), (5, 6)]
    for k in range(1, 7):
        assert search(views, {2: 1, 7: 2, 9: 5}, k) == (every[:k], -1)
    assert search(views[:0], {2: 1}, 3) == ([], -1)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_many_segments_are_searched_like_one(seed: int) -> None:
    """Cut a collection into segments with own terms, deletions, shifts and biases; some documents are allowed."""
    random = np.random.default_rng(seed)
    background = int(random.choice([0, 3]))
    rows: list[dict[int, int]] = []  # of living documents
    bias: list[int] = []
    allowed: list[int] = []
    share = float(random.choice([0.0, 0.02, 0.3, 1.0]))
    every, masked, few = [], [], []  # parts for `views_of`
    for _ in range(int(random.integers(1, 6))):
        count, shift = int(random.choice([1, 5, 300])), int(random.integers(0, 3))
        terms = np.unique(random.integers(0, 12, 8))
        content = [
            {
                int(place): int(random.integers(1, 9))
                for place in np.flatnonzero(random.random(len(terms)) < 0.4)
            }
            for _ in range(count)
        ]
        biases = random.integers(0, 9, count).tolist() if background else None
        view = invert(content, n_terms=len(terms), order=random.permutation(count).tolist(), bias=biases)
        living = random.random(count) < random.choice([0.0, 0.7, 1.0])
        extra: dict[str, Any] = {"first": len(rows), "shift": shift, "own_terms": terms.astype(np.uint32)}
        limits = {}
        if not living.all():
            extra["places"] = np.cumsum(living, dtype=np.int32) - np.int32(1)
            limits["allowed"] = numbered(view, np.flatnonzero(living))["allowed"]
            extra["gaps"] = int(random.integers(0, 2))
        mask = living & (random.random(count) < share)
        every.append((view, extra | limits))
        masked.append((view, extra | limits | {"mask": mask}))
        few.append((view, extra | numbered(view, np.flatnonzero(mask))))
        allowed += (len(rows) + np.flatnonzero(mask[living])).tolist()
        for row in np.flatnonzero(living).tolist():
            rows.append({int(terms[place]): impact << shift for place, impact in content[row].items()})
            bias.append(0 if biases is None else biases[row] << shift)
    query = {int(term): int(random.integers(1, 5)) for term in np.flatnonzero(random.random(13) < 0.4)}
    ranked = expected(rows, query, len(rows), bias, background)
    limited = [each for each in ranked if each[0] in set(allowed)]
    for k in (1, 10, 10_000):
        assert search(views_of(*every), query, k, background) == (ranked[:k], INTACT)
        assert search(views_of(*masked), query, k, background) == (limited[:k], INTACT)
        found = search(views_of(*few), query, k, background, retrieve=retrieve_allowed)
        assert found == (limited[:k], INTACT)
    held = [each for each in query if each < 12]
    postings = count_postings(views_of(*every), np.array(sorted(query), dtype=np.int32))
    assert postings == sum(
        int(np.diff(view.term_postings)[place])
        for view, extra in every
        for place in np.flatnonzero(np.isin(extra["own_terms"], held))
    )


def test_the_damaged_segment_is_named() -> None:
    good = invert([{2: 6}])
    bad = replace(good, order=np.array([5], dtype=np.uint32))
    assert search(views_of((good, {}), (bad, {"first": 1})), {2: 1}, 3) == ([], 1)
