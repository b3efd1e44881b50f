"""Exact top-k over the inverted views of segments, with block-max pruning.

Similar documents have neighbouring internal numbers, which are cut into blocks of ``2**block_bits``. For each term, the
inverted view has one *entry* per block with the term: the block, its number of postings of the term, and their largest
impact. The sum of the largest impacts of the query terms is an upper bound for all scores of a block. The blocks of all
segments are visited in descending order of their bounds, until no bound reaches the k-th score. This is block-max
pruning (Mallia, Suel & Tonellotto, "Faster learned sparse retrieval with block-max pruning", SIGIR 2024) with another
layout.

All sums are integers, so the result does not depend on the order of visits. Documents are compared by one key,
``score << b | (2**b - 1 - ordinal)`` with *b* from `ordinal_bits`: higher scores first, ties by input position.

The kernels compare each position from a file with the array that it points into. The result for a damaged index is
the number of a segment, not a crash.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels import plain
from termwise.kernels.addresses import array_at, prefetch
from termwise.kernels.jit import Array, compiled, compiled_for, variants
from termwise.kernels.sorting import descending

ORDINAL_BITS = 24
"""Least number of low bits of a key; a segment has at most ``2**24`` documents."""

KEY_BITS = 62
"""Number of bits of a key, which fits a signed 64-bit integer."""

BINS = 8
"""Largest number of bins of the counting sort of bounds, for each block."""

MAX_BINS = 4096
"""Largest number of bins in all."""

GIVE_UP = 16
"""Number of terms of a block after which to check whether the other terms can still raise it to the k-th score."""

INTACT = -1
"""Result for an index without a damaged segment."""

VIEW = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("documents", "block_bits", "shift", "first", "terms", "entries", "postings"),
            *("own_terms", "biases", "block_biases", "words", "gaps", "masked", "members"),
            *("term_entries_at", "term_postings_at", "entry_block_at", "entry_count_at", "entry_max_at"),
            *("posting_offset_at", "posting_impact_at", "order_at", "bias_at", "block_bias_at"),
            *("own_terms_at", "allowed_at", "mask_at", "places_at", "ranks_at", "members_at"),
        )
    ]
)
"""A segment for `retrieve_segments` and `retrieve_allowed`: lengths and addresses of its arrays.

========================================  ==========================================================================
``documents``, ``block_bits``             size of the segment; blocks hold ``2**block_bits`` documents
``first``                                 ordinal of the first document in the index
``shift``                                 impacts and biases are multiplied by ``2**shift``
``term_entries``, ``term_postings``       (terms + 1,), uint32: boundaries of the entries and postings of each term
``entry_block``, ``entry_count``          (entries,), uint16 and uint8: block, number of postings minus one
``entry_max``                             (entries,), uint8: largest impact
``posting_offset``, ``posting_impact``    (postings,), uint8: position of the document in its block, and impact
``order``                                 (documents,), uint32: row of each document
``bias``, ``block_bias``                  (documents or 0,) and (blocks or 0,), uint16: bias by internal number, and
                                          largest bias of each block
``own_terms``                             (terms or 0,), uint32, strictly increasing: numbers of the terms in the
                                          index; empty if they are the same
``places``                                (documents,), int32: place of each row among those that are not deleted; no
                                          address if no row is deleted
``allowed``                               (64-bit words of all blocks or 0,), uint64: bit *i* of word *w* tells
                                          whether the document with the internal number 64 *w* + *i* may be a
                                          result; an empty array allows all
``gaps``                                  1 if `allowed` has blocks without an allowed document
``mask``                                  (documents or 0,), bool: rows that may be results, in addition to `allowed`;
                                          an empty array allows all
``ranks``, ``members``                    for `retrieve_allowed` only: (words + 1,), int32, number of bits of
                                          `allowed` before each word; (allowed documents,), int32, their internal
                                          numbers, ascending
========================================  ==========================================================================
"""


def ordinal_bits(documents: int) -> int:
    """Return the number of low bits of a key for the ordinals of so many documents."""
    return max(ORDINAL_BITS, (documents - 1).bit_length())


def max_score(documents: int) -> int:
    """Return the upper bound of the sums of an index; it is 2**38 unless the index has very many documents."""
    return 1 << (KEY_BITS - ordinal_bits(documents))


@compiled
def _push(heap: Array, size: int, key: Any) -> None:
    """Add `key` to the min-heap ``heap[:size]``."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[parent] <= key:
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = key


@compiled
def _replace_smallest(heap: Array, size: int, key: Any) -> None:
    """Replace the smallest key of the min-heap ``heap[:size]`` by a larger one."""
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = key


@compiled
def largest_of(numbers: Array, least: Any) -> Any:
    """Return the largest of some numbers and `least`.

    The compiler uses vector instructions for a loop over a whole array, not for a range of its positions.
    """
    for number in range(len(numbers)):
        least = max(least, numbers[number])
    return least


@compiled
def offer(heap: Array, size: int, key: Any) -> int:
    """Add `key` to the min-heap ``heap[:size]`` of the largest keys, if it is one of them; return the new size."""
    if size < len(heap):
        _push(heap, size, key)
        return size + 1
    if key > heap[0]:
        _replace_smallest(heap, size, key)
    return size


@compiled
def results_of(heap: Array, size: int, bits: int) -> tuple[Array, Array]:
    """Return the ordinals and scores of the keys of the min-heap ``heap[:size]``, best first; empties the heap."""
    most = (np.int64(1) << bits) - 1
    ordinals = np.empty(size, dtype=np.int64)
    scores = np.empty(size, dtype=np.int64)
    for place in range(size - 1, -1, -1):
        ordinals[place] = most - (heap[0] & most)
        scores[place] = heap[0] >> bits
        _replace_smallest(heap, place, heap[place])
    return ordinals, scores


@compiled
def numbers_of(views: Array, query_terms: Array) -> Array:
    """Return the number of each query term in each segment, shape (segments, q), int64; -1 if it has none.

    The entries of the terms are announced to the processor, so that it waits for those of all segments at once. For the
    same reason, no branch of the bisection depends on the data.
    """
    numbers = np.empty((len(views), len(query_terms)), dtype=np.int64)
    for i in range(len(views)):
        view = views[i]
        own_terms = array_at(view["own_terms_at"], view["own_terms"], np.uint32)
        for j in range(len(query_terms)):
            numbers[i, j] = -1
            term = np.int64(query_terms[j])
            number = term
            if len(own_terms) > 0:
                number = np.int64(0)
                left = len(own_terms)
                while left > 1:
                    half = left >> 1
                    number += half * np.int64(np.int64(own_terms[number + half - 1]) < term)
                    left -= half
                if np.int64(own_terms[number]) != term:
                    continue
            if number < view["terms"]:  # others were added after the segment was written
                numbers[i, j] = number
                prefetch(view["term_entries_at"] + 4 * number)
                prefetch(view["term_postings_at"] + 4 * number)
    for i in range(len(views)):
        view = views[i]
        term_entries = array_at(view["term_entries_at"], view["terms"] + 1, np.uint32)
        for number in numbers[i]:
            if number >= 0:
                entry = np.int64(term_entries[number])
                prefetch(view["entry_block_at"] + 2 * entry)
                prefetch(view["entry_count_at"] + entry)
                prefetch(view["entry_max_at"] + entry)
    return numbers


@compiled
def _bound_blocks(
    view: Any,
    terms: Array,
    query_weights: Array,
    background_weight: Any,
    bounds: Array,
    cells: Array,
    largest: Array,
) -> bool:
    """Compute the upper bound of each block of a segment, and the position of the postings of each query term in it.

    ``terms[i]`` is the number of query term i in the segment, or -1. ``cells[block * q + i]`` is set to ``first posting
    << 17 | largest impact << 9 | number of postings`` of query term i, and stays 0 if the block has none;
    ``largest[i]`` is raised to the largest product of the term in a block. Returns False if a position exceeds its
    array, or if the blocks of a term do not ascend: with a repeated block, sums could exceed the bound of the caller.
    """
    term_entries = array_at(view["term_entries_at"], view["terms"] + 1, np.uint32)
    term_postings = array_at(view["term_postings_at"], view["terms"] + 1, np.uint32)
    entry_block = array_at(view["entry_block_at"], view["entries"], np.uint16)
    entry_count = array_at(view["entry_count_at"], view["entries"], np.uint8)
    entry_max = array_at(view["entry_max_at"], view["entries"], np.uint8)
    block_bias = array_at(view["block_bias_at"], view["block_biases"], np.uint16)
    n_postings = view["postings"]
    shift = view["shift"]
    n_blocks = len(bounds)
    n_terms = len(terms)
    for i in range(n_terms):
        term = terms[i]
        if term < 0:
            continue
        weight = query_weights[i] << shift
        first = np.int64(term_entries[term])
        last = np.int64(term_entries[term + 1])
        position = np.int64(term_postings[term])
        end = np.int64(term_postings[term + 1])
        if first > last or last > len(entry_block) or position > end or end > n_postings:
            return False
        before: Any = -1
        for entry in range(first, last):
            block = np.int64(entry_block[entry])
            count = np.int64(entry_count[entry]) + 1
            if block <= before or block >= n_blocks or position + count > end:
                return False
            before = block
            most = weight * entry_max[entry]
            bounds[block] += most
            largest[i] = max(largest[i], most)
            cells[block * n_terms + i] = (position << 17) | (np.int64(entry_max[entry]) << 9) | count
            position += count
        if position != end:
            return False
    if background_weight > 0:
        for place in range(n_blocks):
            if bounds[place] > 0:
                bounds[place] += (np.int64(background_weight) << shift) * block_bias[place]
    if view["gaps"] > 0:
        allowed = array_at(view["allowed_at"], view["words"], np.uint64)
        words = (1 << view["block_bits"]) >> 6
        for place in range(n_blocks):
            union = np.uint64(0)
            for word in range(place * words, (place + 1) * words):
                union |= allowed[word]
            if union == 0:
                bounds[place] = 0
    return True


@compiled
def _sort_blocks(bounds: Array, queue: Array) -> int:
    """Fill `queue` with the blocks in descending order of ``bound >> shift``; return shift."""
    top = bounds[0]
    for block in range(len(bounds)):
        top = max(top, bounds[block])
    bins = min(MAX_BINS, BINS * len(bounds))
    shift = 0
    while (top >> shift) >= bins:
        shift += 1
    highest = top >> shift
    starts = np.zeros(highest + 2, dtype=np.int32)
    for block in range(len(bounds)):
        starts[highest - (bounds[block] >> shift) + 1] += 1
    for i in range(highest):
        starts[i + 1] += starts[i]
    for block in range(len(bounds)):
        i = highest - (bounds[block] >> shift)
        queue[starts[i]] = block
        starts[i] += 1
    return shift


SEARCH = variants("VIEW[:], int32[:], {sum}[:], {sum}, int64, int64, {sum}", sum=("int32", "int64"))
"""Signatures of a search of segments."""


@compiled_for(*SEARCH, plain=plain.retrieve_segments)
def retrieve_segments(
    views: Array,
    query_terms: Array,
    query_weights: Array,
    background_weight: Any,
    k: int,
    bits: int,
    least: Any,
) -> tuple[Array, Array, int]:
    """Find the `k` best documents of the segments of an index.

    Parameters
    ----------
    views : ndarray of shape (segments,), VIEW
        The segments.
    query_terms : ndarray of shape (q,), int32
        Distinct terms of the index, ascending.
    query_weights : ndarray of shape (q,), type of `least`
        Their weights, 1 or more.
    background_weight : int
        Weight of the document bias; 0 without one.
    k : int
        Number of results, 1 or more.
    bits : int
        See `ordinal_bits`.
    least : int32 or int64 scalar
        Smallest sum of a result, 1 or more. Its type is that of all sums, which the caller has bounded.

    Returns
    -------
    ordinals : ndarray of shape (at most k,), int64
        Best documents first, ties by ordinal.
    scores : ndarray of the same shape, int64
    corrupt : int
        Number of a damaged segment, or `INTACT`.
    """
    number = type(least)
    zero = number(0)
    none = np.empty(0, dtype=np.int64)
    n_terms = len(query_terms)
    firsts = np.zeros(len(views) + 1, dtype=np.int64)  # number of blocks before each segment
    documents = 0
    for i in range(len(views)):
        firsts[i + 1] = firsts[i] + ((views[i]["documents"] - 1) >> views[i]["block_bits"]) + 1
        documents += views[i]["documents"]
    n_blocks = int(firsts[-1])
    if n_terms == 0 or n_blocks == 0:
        return none, none, INTACT
    bounds = np.zeros(n_blocks, dtype=query_weights.dtype)
    cells = np.zeros(n_blocks * n_terms, dtype=np.int64)
    largest = np.zeros(n_terms, dtype=query_weights.dtype)
    segments = np.empty(n_blocks, dtype=np.int32)
    terms = numbers_of(views, query_terms)
    for i in range(len(views)):
        begin, end = firsts[i], firsts[i + 1]
        segments[begin:end] = i
        if not _bound_blocks(
            views[i], terms[i], query_weights, background_weight,
            bounds[begin:end], cells[begin * n_terms : end * n_terms], largest,
        ):  # fmt: skip
            return none, none, i
    queue = np.empty(n_blocks, dtype=np.int32)
    bin_bits = _sort_blocks(bounds, queue)

    heaviest = descending(largest, 0, n_terms) if n_terms > GIVE_UP else np.arange(n_terms)
    last_ordinal = (np.int64(1) << bits) - 1
    sums = np.zeros(256, dtype=query_weights.dtype)  # every uint8 offset is inside, also of a damaged file
    heap = np.empty(min(k, documents), dtype=np.int64)
    n_keys: Any = np.int64(0)
    for visit in range(n_blocks):
        block = np.int64(queue[visit])
        bound = bounds[block]
        if (bound >> bin_bits) < (least >> bin_bits):
            break
        if bound < least:
            continue
        if visit + 1 < n_blocks:
            following = np.int64(queue[visit + 1])
            view = views[segments[following]]
            for i in range(n_terms):
                position = cells[following * n_terms + i] >> 17
                prefetch(view["posting_offset_at"] + position)
                prefetch(view["posting_impact_at"] + position)
        segment = np.int64(segments[block])
        view = views[segment]
        shift = view["shift"]
        size = 1 << view["block_bits"]
        inner = block - firsts[segment]  # number of the block in its segment
        allowed = array_at(view["allowed_at"], view["words"], np.uint64)
        posting_offset = array_at(view["posting_offset_at"], view["postings"], np.uint8)
        posting_impact = array_at(view["posting_impact_at"], view["postings"], np.uint8)
        left = bound
        added = 0
        for place in range(n_terms):
            i = heaviest[place]
            cell = cells[block * n_terms + i]
            if cell != 0:
                weight = number(query_weights[i] << shift)
                begin = cell >> 17
                for position in range(begin, begin + (cell & 511)):
                    sums[posting_offset[position]] += weight * posting_impact[position]
                left -= weight * number((cell >> 9) & 255)
                added += 1
                if added % GIVE_UP == 0 and n_keys == len(heap) and largest_of(sums, zero) + left < least:
                    break
        background = number(np.int64(background_weight) << shift)
        floor = least
        if background > 0:
            block_bias = array_at(view["block_bias_at"], view["block_biases"], np.uint16)
            floor = max(zero + 1, least - background * block_bias[inner])
        for group in range(0, size, 64):
            if largest_of(sums[group : group + 64], zero) < floor:
                continue
            for offset in range(group, group + 64):
                score = np.int64(sums[offset])
                if score < floor:
                    continue
                document = inner * size + offset
                if document >= view["documents"]:
                    return none, none, int(segment)
                if len(allowed) > 0:
                    word = allowed[document >> 6]
                    if (word >> np.uint64(document & 63)) & np.uint64(1) == 0:
                        continue
                row = np.int64(array_at(view["order_at"], view["documents"], np.uint32)[document])
                if row >= view["documents"]:
                    return none, none, int(segment)
                if view["masked"] > 0 and not array_at(view["mask_at"], view["masked"], np.bool_)[row]:
                    continue
                if background > 0:
                    bias = array_at(view["bias_at"], view["biases"], np.uint16)
                    score += np.int64(background) * bias[document]
                key = (score << bits) | (last_ordinal - ordinal_of(view, row))
                n_keys = offer(heap, n_keys, key)
                if n_keys == len(heap):
                    least = max(least, number(heap[0] >> bits))
        sums[:] = zero
    ordinals, scores = results_of(heap, n_keys, bits)
    return ordinals, scores, INTACT


@compiled
def ordinal_of(view: Any, row: Any) -> Any:
    """Return the ordinal of a row that is not deleted."""
    if view["places_at"] != 0:
        return view["first"] + array_at(view["places_at"], view["documents"], np.int32)[row]
    return view["first"] + row
