"""Exact top-k over the inverted view of a segment, with block-max pruning.

Similar documents have neighbouring internal numbers, which are cut into blocks of ``2**block_bits``. For each term, the
inverted view has one *entry* per block with the term: the block, its number of postings of the term, and their largest
impact. The sum of the largest impacts of the query terms is an upper bound for all scores of a block. Blocks are
visited in descending order of their bounds, until no bound reaches the k-th score. This is block-max pruning (Mallia,
Suel & Tonellotto, "Faster learned sparse retrieval with block-max pruning", SIGIR 2024) with another layout.

All sums are integers, so the result does not depend on the order of visits. Documents are compared by one key,
``score << 24 | (2**24 - 1 - ordinal)``: higher scores first, ties by input position.

The kernels compare each position from a file with the array that it points into. The result for a damaged index is
`CORRUPT`, not a crash.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels.jit import Array, compiled

ORDINAL_BITS = 24
"""Low bits of a key; a segment has at most ``2**24`` documents."""

MAX_SCORE = 2**38
"""Upper bound of sums; keys then fit a signed 64-bit integer."""

MAX_BINS = 4096
"""Largest number of bins of the counting sort of bounds."""

GIVE_UP = 16
"""Number of terms of a block after which to check whether the other terms can still raise it to the k-th score."""

OK = 0
CORRUPT = 1


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
def _bound_blocks(
    query_terms: Array,
    query_weights: Array,
    term_entries: Array,
    term_postings: Array,
    entry_block: Array,
    entry_count: Array,
    entry_max: Array,
    n_postings: int,
    bounds: Array,
    cells: Array,
    largest: Array,
) -> bool:
    """Compute the upper bound of each block, and the position of the postings of each query term in each block.

    ``cells[block * q + i]`` is set to ``first posting << 17 | largest impact << 9 | number of postings`` of query term
    i, or 0 if the block has none, and ``largest[i]`` to the largest product of the term in a block. Returns False if a
    position exceeds its array, or if the blocks of a term do not ascend: with a repeated block, sums could exceed the
    bound of the caller.
    """
    n_blocks = len(bounds)
    n_terms = len(query_terms)
    for i in range(n_terms):
        term = query_terms[i]
        weight = query_weights[i]
        first = np.int64(term_entries[term])
        last = np.int64(term_entries[term + 1])
        position = np.int64(term_postings[term])
        end = np.int64(term_postings[term + 1])
        if first > last or last > len(entry_block) or position > end or end > n_postings:
            return False
        before = np.int64(-1)
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
    return True


@compiled
def _sort_blocks(bounds: Array, queue: Array) -> int:
    """Fill `queue` with the blocks in descending order of ``bound >> shift``; return shift."""
    top = bounds[0]
    for block in range(len(bounds)):
        top = max(top, bounds[block])
    shift = 0
    while (top >> shift) >= MAX_BINS:
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


@compiled
def retrieve(
    query_terms: Array,
    query_weights: Array,
    background_weight: Any,
    k: int,
    n_documents: int,
    block_bits: int,
    term_entries: Array,
    term_postings: Array,
    entry_block: Array,
    entry_count: Array,
    entry_max: Array,
    posting_offset: Array,
    posting_impact: Array,
    order: Array,
    bias: Array,
    block_bias: Array,
    allowed: Array,
    mask: Array,
    least: Any,
) -> tuple[Array, int]:
    """Find the `k` best documents of one segment.

    Parameters
    ----------
    query_terms : ndarray of shape (q,), int32
        Distinct terms, below the number of terms of the segment.
    query_weights : ndarray of shape (q,), type of `least`
        Their weights, 1 or more.
    background_weight : int
        Weight of the document bias; 0 without one.
    k : int
        Number of results, 1 or more.
    n_documents, block_bits : int
        Size of the segment; blocks hold ``2**block_bits`` documents.
    term_entries, term_postings : ndarrays of shape (terms + 1,), uint32
        Boundaries of the entries and of the postings of each term.
    entry_block, entry_count, entry_max : ndarrays of shape (entries,), uint16, uint8, uint8
        Block, number of postings minus one, largest impact.
    posting_offset, posting_impact : ndarrays of shape (postings,), uint8
        Position of the document in its block, and impact (1 to 255).
    order : ndarray of shape (n_documents,), uint32
        Input position of each document.
    bias : ndarray of shape (n_documents or 0,), uint16
        Document bias by internal number.
    block_bias : ndarray of shape (blocks or 0,), uint16
        Largest bias of each block.
    allowed : ndarray of shape (64-bit words of all blocks or 0,), uint64
        Bit *i* of word *w* tells whether the document with the internal number 64 *w* + *i* may be a result; an empty
        array allows all documents.
    mask : ndarray of shape (n_documents or 0,), bool
        Whether each row may be a result; an empty array allows all rows. `allowed` may leave out rows that it allows,
        and then blocks without an allowed one are skipped.
    least : int32 or int64 scalar
        Smallest sum of a result, 1 or more. Its type is that of all sums, which the caller has bounded.

    Returns
    -------
    keys : ndarray of shape (at most k,), int64
        Keys, see above, best first.
    status : int
        `OK` or `CORRUPT`.
    """
    size = 1 << block_bits
    n_blocks = (n_documents + size - 1) >> block_bits
    n_terms = len(query_terms)
    number = type(least)
    zero = number(0)
    none = np.empty(0, dtype=np.int64)
    if n_terms == 0 or n_blocks == 0:
        return none, OK
    bounds = np.zeros(n_blocks, dtype=query_weights.dtype)
    cells = np.zeros(n_blocks * n_terms, dtype=np.int64)
    largest = np.zeros(n_terms, dtype=query_weights.dtype)
    if not _bound_blocks(
        query_terms, query_weights, term_entries, term_postings,
        entry_block, entry_count, entry_max, len(posting_offset), bounds, cells, largest,
    ):  # fmt: skip
        return none, CORRUPT
    if background_weight > 0:
        for block in range(n_blocks):
            if bounds[block] > 0:
                bounds[block] += background_weight * block_bias[block]
    words = size >> 6
    some = len(allowed) > 0
    masked = len(mask) > 0
    if some:
        for block in range(n_blocks):
            union = np.uint64(0)
            for word in range(block * words, (block + 1) * words):
                union |= allowed[word]
            if union == 0:
                bounds[block] = zero
    queue = np.empty(n_blocks, dtype=np.int32)
    shift = _sort_blocks(bounds, queue)

    heaviest = np.argsort(-largest) if n_terms > GIVE_UP else np.arange(n_terms)
    lowest_ordinal = (np.int64(1) << ORDINAL_BITS) - 1
    sums = np.zeros(256, dtype=query_weights.dtype)  # every uint8 offset is inside, also of a damaged file
    heap = np.empty(k, dtype=np.int64)
    n_keys = 0
    threshold = np.int64(0)  # smallest key of the heap, once it has k
    for visit in range(n_blocks):
        block = queue[visit]
        bound = bounds[block]
        if (bound >> shift) < (least >> shift):
            break
        if bound < least:
            continue
        first = np.int64(block) << block_bits
        left = bound
        added = 0
        for place in range(n_terms):
            i = heaviest[place]
            cell = cells[np.int64(block) * n_terms + i]
            if cell != 0:
                weight = query_weights[i]
                begin = cell >> 17
                for position in range(begin, begin + (cell & 511)):
                    sums[posting_offset[position]] += weight * posting_impact[position]
                left -= weight * number((cell >> 9) & 255)
                added += 1
                if added % GIVE_UP == 0 and n_keys == k:
                    best = zero
                    for offset in range(size):
                        best = max(best, sums[offset])
                    if best + left < least:
                        break
        floor = least
        if background_weight > 0:
            floor = max(zero + 1, least - background_weight * block_bias[block])
        for group in range(0, size, 64):
            bits = allowed[np.int64(block) * words + (group >> 6)] if some else ~np.uint64(0)
            if bits == 0:
                continue
            best = zero
            for offset in range(group, group + 64):
                best = max(best, sums[offset])
            if best < floor:
                continue
            for offset in range(group, group + 64):
                score = np.int64(sums[offset])
                if score < floor or (bits >> np.uint64(offset & 63)) & np.uint64(1) == 0:
                    continue
                document = first + offset
                if document >= n_documents:
                    return none, CORRUPT
                row = np.int64(order[document])
                if row >= n_documents:
                    return none, CORRUPT
                if masked and not mask[row]:
                    continue
                if background_weight > 0:
                    score += np.int64(background_weight) * bias[document]
                key = (score << ORDINAL_BITS) | (lowest_ordinal - row)
                if n_keys < k:
                    _push(heap, n_keys, key)
                    n_keys += 1
                    if n_keys < k:
                        continue
                elif key > threshold:
                    _replace_smallest(heap, k, key)
                else:
                    continue
                threshold = heap[0]
                least = max(least, number(threshold >> ORDINAL_BITS))
        sums[:] = zero
    return np.sort(heap[:n_keys])[::-1], OK
