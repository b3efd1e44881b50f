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

from termwise.kernels.addresses import array_at
from termwise.kernels.forward_index import find_terms
from termwise.kernels.jit import Array, compiled

ORDINAL_BITS = 24
"""Low bits of a key; a segment has at most ``2**24`` documents."""

MAX_SCORE = 2**38
"""Upper bound of sums; keys then fit a signed 64-bit integer."""

BINS = 8
"""Largest number of bins of the counting sort of bounds, for each block."""

MAX_BINS = 4096
"""Largest number of bins in all."""

GIVE_UP = 16
"""Number of terms of a block after which to check whether the other terms can still raise it to the k-th score."""

OK = 0
CORRUPT = 1

VIEW = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("documents", "block_bits", "shift", "first", "terms", "entries", "postings"),
            *("own_terms", "biases", "block_biases", "words", "masked"),
            *("term_entries_at", "term_postings_at", "entry_block_at", "entry_count_at", "entry_max_at"),
            *("posting_offset_at", "posting_impact_at", "order_at", "bias_at", "block_bias_at"),
            *("own_terms_at", "allowed_at", "mask_at", "places_at"),
        )
    ]
)
"""A segment for `retrieve_segments`: lengths and addresses of its arrays."""


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


@compiled
def retrieve_segments(
    views: Array, query_terms: Array, query_weights: Array, background_weight: Any, k: int, least: Any
) -> tuple[Array, Array, int]:
    """Find the `k` best documents of several segments.

    Parameters
    ----------
    views : ndarray of shape (segments,), VIEW
        See `retrieve` for the arrays. In addition, a segment may have numbers of its own for its terms: the array
        `own_terms`, strictly increasing and of type uint32, has their numbers in the index. `places`, of type int32 and
        empty if no row is deleted, has the place of each row among those that are not deleted. `first` is the ordinal
        of the first document, and impacts are multiplied by ``2**shift``.
    query_terms : ndarray of shape (q,), int32
        Distinct terms of the index, ascending.
    query_weights, background_weight, least
        See `retrieve`; `least` is 1.
    k : int
        Number of results, 1 or more.

    Returns
    -------
    ordinals : ndarray of shape (at most k,), int64
        Best documents first, ties by ordinal.
    scores : ndarray of the same shape, int64
    corrupt : int
        Number of a damaged segment, or -1.
    """
    number = type(least)
    ordinals = np.empty(0, dtype=np.int64)
    scores = np.empty(0, dtype=np.int64)
    for i in range(len(views)):
        view = views[i]
        terms, weights = _terms_of(view, query_terms, query_weights)
        documents = view["documents"]
        keys, status = retrieve(
            terms, weights, number(np.int64(background_weight) << view["shift"]), min(k, documents), documents,
            view["block_bits"],
            array_at(view["term_entries_at"], view["terms"] + 1, np.uint32),
            array_at(view["term_postings_at"], view["terms"] + 1, np.uint32),
            array_at(view["entry_block_at"], view["entries"], np.uint16),
            array_at(view["entry_count_at"], view["entries"], np.uint8),
            array_at(view["entry_max_at"], view["entries"], np.uint8),
            array_at(view["posting_offset_at"], view["postings"], np.uint8),
            array_at(view["posting_impact_at"], view["postings"], np.uint8),
            array_at(view["order_at"], documents, np.uint32),
            array_at(view["bias_at"], view["biases"], np.uint16),
            array_at(view["block_bias_at"], view["block_biases"], np.uint16),
            array_at(view["allowed_at"], view["words"], np.uint64),
            array_at(view["mask_at"], view["masked"], np.bool_),
            least,
        )  # fmt: skip
        if status != OK:
            return ordinals, scores, i
        found = (np.int64(1) << ORDINAL_BITS) - 1 - (keys & ((np.int64(1) << ORDINAL_BITS) - 1))
        if view["places_at"] != 0:
            places = array_at(view["places_at"], documents, np.int32)
            for place in range(len(found)):
                found[place] = places[found[place]]
        found += view["first"]
        ordinals, scores = _merge(ordinals, scores, found, keys >> ORDINAL_BITS, k)
        if len(scores) == k:
            least = number(scores[k - 1] + 1)  # earlier documents win ties
    return ordinals, scores, -1


@compiled
def _terms_of(view: Any, terms: Array, weights: Array) -> tuple[Array, Array]:
    """Return the terms of a query that a segment has, by its numbers, and their weights in units of its impacts."""
    if view["own_terms"] > 0:
        places, found = find_terms(array_at(view["own_terms_at"], view["own_terms"], np.uint32), terms)
    else:
        known = np.searchsorted(terms, view["terms"])  # others were added after the segment was written
        places, found = terms[:known].copy(), np.arange(known, dtype=np.int32)
    kept = np.empty(len(found), dtype=weights.dtype)
    for i in range(len(found)):
        kept[i] = weights[found[i]] << view["shift"]
    return places, kept


@compiled
def _merge(
    ordinals: Array, scores: Array, later_ordinals: Array, later_scores: Array, k: int
) -> tuple[Array, Array]:
    """Merge two lists of results, best first, into the `k` best; the first list wins ties."""
    count = min(k, len(scores) + len(later_scores))
    merged = np.empty(count, dtype=np.int64)
    totals = np.empty(count, dtype=np.int64)
    i = 0
    j = 0
    for place in range(count):
        if j == len(later_scores) or (i < len(scores) and scores[i] >= later_scores[j]):
            merged[place] = ordinals[i]
            totals[place] = scores[i]
            i += 1
        else:
            merged[place] = later_ordinals[j]
            totals[place] = later_scores[j]
            j += 1
    return merged, totals
