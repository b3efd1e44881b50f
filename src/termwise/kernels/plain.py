"""Kernels that one search needs, in numpy alone: a process that answers a single query need not import numba.

Each function has the arguments and the results, to the last bit, of the compiled kernel of the same name. For a damaged
index, too, the result is the number of a segment. Sums of integers are exact in any order; sums of floats are added in
the order of the kernels, as `numpy.bincount` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels.addresses import array_at
from termwise.kernels.jit import Array

AT_ONCE = 1 << 20
"""Largest number of postings, or of products of vectors, in memory at a time."""


def find_string(data: Array, offsets: Array, by_bytes: Array, key: Array) -> int:
    """See `string_lookup.find_string`."""
    sought = key.tobytes()
    low, high = 0, len(by_bytes)
    while low < high:
        middle = (low + high) >> 1
        number = int(by_bytes[middle])
        if number >= len(by_bytes):
            return -2
        first, last = int(offsets[number]), int(offsets[number + 1])
        if first > last or last > len(data):
            return -2
        found = data[first:last].tobytes()
        if found == sought:
            return number
        if found < sought:
            low = middle + 1
        else:
            high = middle
    return -1


def find_strings(data: Array, offsets: Array, by_bytes: Array, keys: Array, bounds: Array) -> Array:
    """See `string_lookup.find_strings`."""
    return np.array(
        [
            find_string(data, offsets, by_bytes, keys[start:stop])
            for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        ],
        dtype=np.int64,
    )


def insert_hashes(table: Array, hashes: Array) -> int:
    """See `string_lookup.insert_hashes`."""
    mask = len(table) - 1
    for i, key in enumerate(hashes.tolist()):
        slot = key & mask
        while (found := int(table[slot])) != 0:
            if found == key:
                return i
            slot = (slot + 1) & mask
        table[slot] = key
    return len(hashes)


def _numbers_of(view: Any, query_terms: Array) -> list[int]:
    """Return the number of each query term in a segment; -1 if it has none."""
    own_terms = array_at(view["own_terms_at"], view["own_terms"], np.uint32)
    numbers = query_terms.astype(np.int64)
    if len(own_terms):
        numbers = np.searchsorted(own_terms, query_terms.astype(np.uint32))
        numbers[own_terms[np.minimum(numbers, len(own_terms) - 1)] != query_terms] = -1
    return [number if number < view["terms"] else -1 for number in numbers.tolist()]


def count_postings(views: Array, query_terms: Array) -> int:
    """See `allowed_retrieval.count_postings`."""
    postings = 0
    for view in views:
        starts = array_at(view["term_postings_at"], view["terms"] + 1, np.uint32)
        postings += sum(
            int(starts[term + 1]) - int(starts[term]) for term in _numbers_of(view, query_terms) if term >= 0
        )
    return postings


def _sums(view: Any, query_terms: Array, query_weights: Array) -> Array | None:
    """Return the sum of the postings of each document of a segment, by internal number; None if it is damaged."""
    term_entries = array_at(view["term_entries_at"], view["terms"] + 1, np.uint32)
    term_postings = array_at(view["term_postings_at"], view["terms"] + 1, np.uint32)
    entry_block = array_at(view["entry_block_at"], view["entries"], np.uint16)
    entry_count = array_at(view["entry_count_at"], view["entries"], np.uint8)
    posting_offset = array_at(view["posting_offset_at"], view["postings"], np.uint8)
    posting_impact = array_at(view["posting_impact_at"], view["postings"], np.uint8)
    bits = int(view["block_bits"])
    blocks = ((int(view["documents"]) - 1) >> bits) + 1
    sums = np.zeros((blocks << bits) + 256, dtype=np.int64)  # any offset of a damaged file is inside
    for term, weight in zip(_numbers_of(view, query_terms), query_weights.tolist(), strict=True):
        if term < 0:
            continue
        first, last = int(term_entries[term]), int(term_entries[term + 1])
        begin, end = int(term_postings[term]), int(term_postings[term + 1])
        if first > last or last > len(entry_block) or begin > end or end > len(posting_offset):
            return None
        block = entry_block[first:last].astype(np.int64)
        counts = entry_count[first:last].astype(np.int64) + 1
        if int(counts.sum()) != end - begin or (block[1:] <= block[:-1]).any() or (block >= blocks).any():
            return None
        numbers = np.repeat(block << bits, counts) + posting_offset[begin:end]
        sums[numbers] += (weight << int(view["shift"])) * posting_impact[begin:end].astype(np.int64)
    return sums


def _keys(view: Any, sums: Array, background: int, k: int, bits: int) -> Array | None:
    """Return the keys of the best allowed documents of a segment, at least `k` if there are; None if it is damaged."""
    documents = int(view["documents"])
    found = np.flatnonzero(sums > 0)
    if len(found) and int(found[-1]) >= documents:
        return None
    allowed = array_at(view["allowed_at"], view["words"], np.uint64)
    if len(allowed):
        found = found[(allowed[found >> 6] >> (found & 63).astype(np.uint64)) & np.uint64(1) == 1]
    scores = sums[found]
    if background > 0:
        scores = scores + background * array_at(view["bias_at"], view["biases"], np.uint16)[found].astype(
            np.int64
        )
    is_masked = int(view["masked"]) > 0
    if len(found) > k and not is_masked:
        best = scores >= np.partition(scores, -k)[-k]
        found, scores = found[best], scores[best]
    rows = array_at(view["order_at"], documents, np.uint32)[found].astype(np.int64)
    if (rows >= documents).any():
        return None
    if is_masked:
        kept = array_at(view["mask_at"], view["masked"], np.bool_)[rows]
        rows, scores = rows[kept], scores[kept]
    if view["places_at"] != 0:
        rows = array_at(view["places_at"], documents, np.int32)[rows].astype(np.int64)
    return (scores << bits) | ((1 << bits) - 1 - int(view["first"]) - rows)


def retrieve_segments(
    views: Array,
    query_terms: Array,
    query_weights: Array,
    background_weight: Any,
    k: int,
    bits: int,
    least: Any,
) -> tuple[Array, Array, int]:
    """See `retrieval.retrieve_segments`, and `allowed_retrieval.retrieve_allowed`, whose views have no ``mask``."""
    none = np.empty(0, dtype=np.int64)
    keys = [none]
    for number, view in enumerate(views):
        sums = _sums(view, query_terms, query_weights)
        shifted = int(background_weight) << int(view["shift"])
        found = None if sums is None else _keys(view, sums, shifted, k, bits)
        if found is None:
            return none, none, number
        keys.append(found)
    best = np.sort(np.concatenate(keys))[::-1][:k]
    best = best[best >> bits >= least]
    most = (1 << bits) - 1
    return most - (best & most), best >> bits, -1


def score_rows(
    indptr: Array,
    terms: Array,
    impacts: Array,
    bias: Array,
    rows: Array,
    query_terms: Array,
    query_weights: Array,
    background_weight: Any,
    slots: Array,
) -> tuple[Array, Array, int]:
    """See `forward_index.score_rows`."""
    scores = np.zeros(len(rows), dtype=query_weights.dtype)
    matched = np.zeros(len(rows), dtype=np.bool_)
    firsts, lasts = indptr[rows].astype(np.int64), indptr[rows + 1].astype(np.int64)
    if (firsts > lasts).any() or (lasts > len(terms)).any():
        return scores, matched, 1
    weights = np.concatenate([[0], query_weights])
    numbers = np.zeros(len(slots), dtype=np.int32)
    numbers[query_terms] = np.arange(1, len(query_terms) + 1)
    counts = lasts - firsts
    begin = 0
    while begin < len(rows):
        end = begin + max(1, int(np.searchsorted(np.cumsum(counts[begin:]), AT_ONCE, side="right")))
        part = slice(begin, end)
        before = np.cumsum(counts[part]) - counts[part]
        positions = np.repeat(firsts[part] - before, counts[part]) + np.arange(int(counts[part].sum()))
        given = terms[positions]
        if len(given) and int(given.max()) >= len(slots):
            return scores, matched, 1
        found = np.flatnonzero(numbers[given])
        owners = np.repeat(np.arange(end - begin), counts[part])[found]
        products = weights[numbers[given[found]]] * impacts[positions[found]]
        scores[part] = np.bincount(owners, products, end - begin).astype(scores.dtype)
        begin = end
    matched[:] = scores > 0
    if background_weight > 0:
        scores += (background_weight * bias[rows]).astype(scores.dtype)
    return scores, matched, 0


def score(starts: Array, rows: Array, scales: Array, digits: Array, bits: int, scores: Array) -> None:
    """See `dense_retrieval.score`; digits are split into two, so that float32, else float64, is exact."""
    scores[:] = -np.inf
    if not len(scores) or not len(rows):
        return
    values = np.empty(len(rows))
    low = ((digits.astype(np.int64) + 128) & 255) - 128
    high = (digits.astype(np.int64) - low) >> 8
    shifts = [bits * place + more for more in (0, 8) for place in range(len(digits))]
    halves = np.concatenate([low, high]).T
    number: Any = np.float32 if 128 * np.abs(halves).sum(axis=0).max() < 1 << 24 else np.float64
    factors = halves.astype(number)
    step = max(1, AT_ONCE // max(1, digits.shape[1]))
    for begin in range(0, len(rows), step):
        parts = (rows[begin : begin + step].astype(number) @ factors).astype(np.int64)
        total = np.zeros(len(parts), dtype=np.int64)
        for place, shift in enumerate(shifts):
            total += parts[:, place] << shift
        values[begin : begin + step] = total.astype(np.float64) * scales[begin : begin + step]
    owners = np.searchsorted(starts[1:-1], np.arange(len(rows)), side="right")
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    scores[owners[firsts]] = np.maximum.reduceat(values, firsts)
