"""Exact top-k among few allowed documents: all postings of the query are read, and added up for allowed documents only.

Few allowed documents have low scores, so that hardly any block can be left out by its bound, and the postings of a
block are in a different place for each term. Here they are read in the order of the file instead, without those of
blocks that have no allowed document. There is one sum for each allowed document: its place among them is the number of
bits before its own in the bit set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels import plain
from termwise.kernels.addresses import array_at
from termwise.kernels.jit import Array, compiled, compiled_for
from termwise.kernels.retrieval import (
    INTACT,
    SEARCH,
    VIEW,  # noqa: F401  # in a signature
    largest_of,
    numbers_of,
    offer,
    ordinal_of,
    results_of,
)

GROUP = 64
"""Number of sums of which the largest is compared with the k-th score."""


@compiled
def count_bits(word: Any) -> Any:
    """Return the number of bits of a uint64 that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = word + (word >> np.uint64(8))
    word = word + (word >> np.uint64(16))
    return np.int64((word + (word >> np.uint64(32))) & np.uint64(127))


@compiled_for("VIEW[:], int32[:]", plain=plain.count_postings)
def count_postings(views: Array, query_terms: Array) -> int:
    """Return the number of postings of the query terms in all segments; any number for damaged ones."""
    postings = 0
    terms = numbers_of(views, query_terms)
    for i in range(len(views)):
        starts = array_at(views[i]["term_postings_at"], views[i]["terms"] + 1, np.uint32)
        for term in terms[i]:
            if term >= 0:
                postings += int(starts[term + 1]) - int(starts[term])
    return postings


@compiled
def _add_postings(view: Any, terms: Array, query_weights: Array, sums: Array) -> bool:
    """Add the postings of the query to the sums of the allowed documents of a segment; False if it is damaged.

    ``terms[i]`` is the number of query term i in the segment, or -1.
    """
    term_entries = array_at(view["term_entries_at"], view["terms"] + 1, np.uint32)
    term_postings = array_at(view["term_postings_at"], view["terms"] + 1, np.uint32)
    entry_block = array_at(view["entry_block_at"], view["entries"], np.uint16)
    entry_count = array_at(view["entry_count_at"], view["entries"], np.uint8)
    posting_offset = array_at(view["posting_offset_at"], view["postings"], np.uint8)
    posting_impact = array_at(view["posting_impact_at"], view["postings"], np.uint8)
    allowed = array_at(view["allowed_at"], view["words"], np.uint64)
    ranks = array_at(view["ranks_at"], view["words"] + 1, np.int32)
    documents = view["documents"]
    words = np.uint64(len(allowed))
    size = 1 << view["block_bits"]
    for i in range(len(terms)):
        term = terms[i]
        if term < 0:
            continue
        weight = query_weights[i] << view["shift"]
        first = np.int64(term_entries[term])
        last = np.int64(term_entries[term + 1])
        position = np.int64(term_postings[term])
        end = np.int64(term_postings[term + 1])
        if first > last or last > len(entry_block) or position > end or end > len(posting_offset):
            return False
        before = np.int64(-1)
        for entry in range(first, last):
            start = np.int64(entry_block[entry]) * size
            stop = position + np.int64(entry_count[entry]) + 1
            if start <= before or start >= documents or stop > end:
                return False
            before = start
            if ranks[start >> 6] != ranks[(min(start + size, documents) + 63) >> 6]:
                for posting in range(np.uint64(position), np.uint64(stop)):
                    document = np.uint64(start) + np.uint64(posting_offset[posting])
                    place = document >> np.uint64(6)
                    if place >= words:
                        return False
                    word = allowed[place]
                    bit = np.uint64(1) << (document & np.uint64(63))
                    if word & bit:
                        rank = ranks[place] + count_bits(word & (bit - np.uint64(1)))
                        sums[rank] += weight * posting_impact[posting]
            position = stop
        if position != end:
            return False
    return True


@compiled_for(*SEARCH, plain=plain.retrieve_segments)
def retrieve_allowed(
    views: Array,
    query_terms: Array,
    query_weights: Array,
    background_weight: Any,
    k: int,
    bits: int,
    least: Any,
) -> tuple[Array, Array, int]:
    """Find the `k` best allowed documents of the segments of an index; see `retrieve_segments`.

    ``allowed``, ``ranks`` and ``members`` of the views have the allowed documents; ``mask`` is not read.
    """
    number = type(least)
    zero = number(0)
    none = np.empty(0, dtype=np.int64)
    terms = numbers_of(views, query_terms)
    members_in_all = 0
    for i in range(len(views)):
        members_in_all += views[i]["members"]
    last_ordinal = (np.int64(1) << bits) - 1
    heap = np.empty(min(k, members_in_all), dtype=np.int64)
    n_keys: Any = np.int64(0)
    for i in range(len(views)):
        view = views[i]
        documents = view["documents"]
        members = array_at(view["members_at"], view["members"], np.int32)
        order = array_at(view["order_at"], documents, np.uint32)
        biases = array_at(view["bias_at"], view["biases"], np.uint16)
        background = np.int64(background_weight) << view["shift"]
        most = np.int64(0)  # largest bias
        if background > 0:
            for bias in array_at(view["block_bias_at"], view["block_biases"], np.uint16):
                most = max(most, background * bias)
        sums = np.zeros((len(members) + GROUP - 1) // GROUP * GROUP, dtype=query_weights.dtype)
        if not _add_postings(view, terms[i], query_weights, sums):
            return none, none, i
        for group in range(0, len(sums), GROUP):
            if largest_of(sums[group : group + GROUP], zero) < max(1, least - most):
                continue
            for place in range(group, group + GROUP):
                score = np.int64(sums[place])
                if score < max(1, least - most):
                    continue
                row = np.int64(order[members[place]])
                if row >= documents:
                    return none, none, i
                if background > 0:
                    score += background * biases[members[place]]
                n_keys = offer(heap, n_keys, (score << bits) | (last_ordinal - ordinal_of(view, row)))
                if n_keys == len(heap):
                    least = max(least, number(heap[0] >> bits))
    ordinals, scores = results_of(heap, n_keys, bits)
    return ordinals, scores, INTACT
