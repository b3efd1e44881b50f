"""Turning the forward view of a segment into its inverted view, a range of terms at a time."""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array, compiled


@compiled
def count_terms(terms: Array, counts: Array) -> None:
    """Add the number of rows each term occurs in to `counts` (int64, one a term)."""
    for position in range(len(terms)):
        counts[terms[position]] += 1


@compiled
def fill_postings(
    indptr: Array,
    terms: Array,
    impacts: Array,
    order: Array,
    first_term: int,
    starts: Array,
    documents: Array,
    out_impacts: Array,
) -> None:
    """Collect the postings of the terms from `first_term` on, by term, then by internal document number.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries of the forward view.
    terms, impacts : ndarrays of shape (nnz,)
        Term numbers and impacts.
    order : ndarray of shape (n,), int32
        ``order[i]`` is the row of the document with internal number i.
    first_term : int
        First term of the range.
    starts : ndarray of shape (range + 1,), int64
        Where the postings of each term of the range begin in the output.
    documents, out_impacts : ndarrays of shape (postings of the range,), uint32 and uint8
        The output.
    """
    n_range = len(starts) - 1
    cursor = starts[:-1].copy()
    for number in range(len(order)):
        row = order[number]
        for position in range(indptr[row], indptr[row + 1]):
            term = np.int64(terms[position]) - first_term
            if 0 <= term < n_range:
                slot = cursor[term]
                documents[slot] = number
                out_impacts[slot] = impacts[position]
                cursor[term] = slot + 1


@compiled
def first_difference(
    starts: Array,
    terms: Array,
    impacts: Array,
    order: Array,
    block_bits: int,
    term_entries: Array,
    term_postings: Array,
    entry_block: Array,
    entry_count: Array,
    entry_max: Array,
    posting_offset: Array,
    posting_impact: Array,
) -> int:
    """Compare the two views of a segment, posting by posting.

    Each posting of the inverted view is looked up in the row of its document. As both views hold equally many and
    none twice, they are then the same.

    Parameters
    ----------
    starts, terms, impacts : ndarrays
        The forward view. Boundaries must not decrease and must end at the number of postings; terms must increase
        strictly in a row.
    order : ndarray of shape (n_documents,)
        A permutation.
    block_bits, term_entries, term_postings, entry_block, entry_count, entry_max, posting_offset, posting_impact
        The inverted view, as for `kernels.retrieval.retrieve`. Boundaries must start at 0, must not decrease and
        must end at the numbers of entries and postings.

    Returns
    -------
    int
        The first term whose postings differ, or -1.
    """
    for term in range(len(term_entries) - 1):
        position = np.int64(term_postings[term])
        end = np.int64(term_postings[term + 1])
        before = np.int64(-1)
        for entry in range(np.int64(term_entries[term]), np.int64(term_entries[term + 1])):
            first = np.int64(entry_block[entry]) << block_bits
            stop = position + np.int64(entry_count[entry]) + 1
            if stop > end or first <= before:
                return term
            largest = np.int64(0)
            before = first - 1
            for held in range(position, stop):
                document = first + np.int64(posting_offset[held])
                if document <= before or document >= len(order):
                    return term
                before = document
                impact = posting_impact[held]
                largest = max(largest, np.int64(impact))
                row = np.int64(order[document])
                low = np.int64(starts[row])
                last = np.int64(starts[row + 1])
                high = last
                while low < high:
                    middle = (low + high) >> 1
                    if np.int64(terms[middle]) < term:
                        low = middle + 1
                    else:
                        high = middle
                if low >= last or np.int64(terms[low]) != term or impacts[low] != impact:
                    return term
            if np.int64(entry_max[entry]) != largest:
                return term
            before = first + (1 << block_bits) - 1
            position = stop
        if position != end:
            return term
    return -1


@compiled
def first_unsorted(starts: Array, terms: Array, n_terms: int) -> int:
    """Return the first row whose terms do not increase strictly or are not below `n_terms`, or -1."""
    for row in range(len(starts) - 1):
        before = np.int64(-1)
        for position in range(np.int64(starts[row]), np.int64(starts[row + 1])):
            term = np.int64(terms[position])
            if term <= before or term >= n_terms:
                return row
            before = term
    return -1


@compiled
def count_entries(starts: Array, documents: Array, block_bits: int) -> Array:
    """Return, for each term of the range, the number of blocks it occurs in (int64)."""
    counts = np.zeros(len(starts) - 1, dtype=np.int64)
    for term in range(len(starts) - 1):
        last = np.int64(-1)
        for position in range(starts[term], starts[term + 1]):
            block = np.int64(documents[position]) >> block_bits
            if block != last:
                counts[term] += 1
                last = block
    return counts


@compiled
def fill_entries(
    starts: Array,
    documents: Array,
    impacts: Array,
    block_bits: int,
    entry_starts: Array,
    entry_block: Array,
    entry_count: Array,
    entry_max: Array,
    offsets: Array,
) -> None:
    """Cut the postings of each term into blocks.

    Parameters
    ----------
    starts : ndarray of shape (range + 1,), int64
        Where the postings of each term begin.
    documents, impacts : ndarrays of shape (postings,), uint32 and uint8
        Postings as `fill_postings` leaves them.
    block_bits : int
        Blocks hold ``2**block_bits`` documents.
    entry_starts : ndarray of shape (range + 1,), int64
        Where the entries of each term begin.
    entry_block, entry_count, entry_max : ndarrays of shape (entries,), uint16, uint8, uint8
        Output: block, number of postings minus one, largest impact.
    offsets : ndarray of shape (postings,), uint8
        Output: document within its block.
    """
    mask = (1 << block_bits) - 1
    for term in range(len(starts) - 1):
        entry = entry_starts[term] - 1
        last = np.int64(-1)
        for position in range(starts[term], starts[term + 1]):
            block = np.int64(documents[position]) >> block_bits
            if block != last:
                entry += 1
                last = block
                entry_block[entry] = block
                entry_count[entry] = 0
                entry_max[entry] = impacts[position]
            else:
                entry_count[entry] += 1
                entry_max[entry] = max(entry_max[entry], impacts[position])
            offsets[position] = np.int64(documents[position]) & mask
