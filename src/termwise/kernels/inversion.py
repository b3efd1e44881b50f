"""Conversion of the forward view of a segment to its inverted view, a range of terms at a time."""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array, compiled


@compiled
def count_terms(terms: Array, n_terms: int) -> Array:
    """Return the number of rows that contain each term, shape (n_terms,), int64."""
    counts = np.zeros(n_terms, dtype=np.int64)
    for position in range(len(terms)):
        counts[terms[position]] += 1
    return counts


@compiled
def collect_postings(
    indptr: Array, terms: Array, impacts: Array, order: Array, first_term: int, starts: Array
) -> tuple[Array, Array]:
    """Collect the postings of a range of terms, sorted by term, then by internal document number.

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
        Boundaries of the terms of the range in the result.

    Returns
    -------
    documents : ndarray of shape (postings of the range,), uint32
        Internal document numbers.
    impacts : ndarray of shape (postings of the range,), uint8
    """
    n_range = len(starts) - 1
    cursor = starts[:-1].copy()
    documents = np.empty(starts[-1], dtype=np.uint32)
    sorted_impacts = np.empty(starts[-1], dtype=np.uint8)
    for number in range(len(order)):
        row = order[number]
        for position in range(indptr[row], indptr[row + 1]):
            term = np.int64(terms[position]) - first_term
            if 0 <= term < n_range:
                slot = cursor[term]
                documents[slot] = number
                sorted_impacts[slot] = impacts[position]
                cursor[term] = slot + 1
    return documents, sorted_impacts


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

    Each posting of the inverted view is looked up in the row of its document. Both views have the same number of
    distinct postings, so they are equal if each is found.

    Parameters
    ----------
    starts, terms, impacts : ndarrays
        Forward view. Boundaries must not decrease and must end at the number of postings; terms must increase strictly
        in a row.
    order : ndarray of shape (n_documents,)
        A permutation.
    block_bits, term_entries, term_postings, entry_block, entry_count, entry_max, posting_offset, posting_impact
        Inverted view, see `kernels.retrieval.VIEW`. Boundaries must start at 0, must not decrease and
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
            for posting in range(position, stop):
                document = first + np.int64(posting_offset[posting])
                if document <= before or document >= len(order):
                    return term
                before = document
                impact = posting_impact[posting]
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
def cut_postings(
    starts: Array, documents: Array, impacts: Array, block_bits: int
) -> tuple[Array, Array, Array, Array, Array]:
    """Cut the postings of each term into entries, one per block of ``2**block_bits`` documents.

    Parameters
    ----------
    starts : ndarray of shape (range + 1,), int64
        Boundaries of the terms.
    documents, impacts : ndarrays of shape (postings,), uint32 and uint8
        See `collect_postings`.
    block_bits : int

    Returns
    -------
    entries : ndarray of shape (range,), int64
        Number of entries of each term.
    block, count, largest : ndarrays of shape (entries,), uint16, uint8 and uint8
        Block, number of postings minus one, and largest impact of each entry.
    offsets : ndarray of shape (postings,), uint8
        Position of each document in its block.
    """
    entries = np.zeros(len(starts) - 1, dtype=np.int64)
    block = np.empty(len(documents), dtype=np.uint16)
    count = np.empty(len(documents), dtype=np.uint8)
    largest = np.empty(len(documents), dtype=np.uint8)
    offsets = np.empty(len(documents), dtype=np.uint8)
    mask = (1 << block_bits) - 1
    entry = -1
    for term in range(len(entries)):
        last = np.int64(-1)
        for position in range(starts[term], starts[term + 1]):
            current = np.int64(documents[position]) >> block_bits
            if current != last:
                last = current
                entries[term] += 1
                entry += 1
                block[entry] = current
                count[entry] = 0
                largest[entry] = impacts[position]
            else:
                count[entry] += 1
                largest[entry] = max(largest[entry], impacts[position])
            offsets[position] = np.int64(documents[position]) & mask
    return entries, block[: entry + 1], count[: entry + 1], largest[: entry + 1], offsets
