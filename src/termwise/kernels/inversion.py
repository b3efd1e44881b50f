"""Conversion of the forward view of a segment to its inverted view, a range of terms at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from termwise.kernels.counting import run_starts
from termwise.kernels.jit import Array, compiled_for, variants

AT_ONCE = 1 << 20
"""Number of postings that are read from the forward view at a time."""


class InvertedPostings(NamedTuple):
    """Postings of a range of terms, in entries: one per block of documents; see `kernels.retrieval.VIEW`.

    Attributes
    ----------
    entries : ndarray of shape (range,), int64
        Number of entries of each term.
    block, counts, largest : ndarrays of shape (entries,), uint16, uint8 and uint8
        Block, number of postings minus one, and largest impact of each entry.
    offsets, impacts : ndarrays of shape (postings,), uint8
        Position of each document in its block, and its impact.
    """

    entries: Array
    block: Array
    counts: Array
    largest: Array
    offsets: Array
    impacts: Array


def count_terms(terms: Array, n_terms: int) -> Array:
    """Return the number of rows that contain each term, shape (n_terms,), int64."""
    counts = np.zeros(n_terms, dtype=np.int64)
    for begin in range(0, len(terms), AT_ONCE):
        counts += np.bincount(terms[begin : begin + AT_ONCE], minlength=n_terms)
    return counts


def invert(
    indptr: Array, terms: Array, impacts: Array, order: Array, first: int, last: int, block_bits: int
) -> InvertedPostings:
    """Collect the postings of the terms ``first:last``, sorted by term, then by internal document number.

    Term, document and impact make one integer, and numpy sorts these as fast as a kernel would count them.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries of the forward view; at most 2**24 rows.
    terms, impacts : ndarrays of shape (nnz,)
        Term numbers and impacts.
    order : ndarray of shape (n,), int32
        ``order[i]`` is the row of the document with internal number i.
    first, last : int
        Range of terms.
    block_bits : int
        A block has ``2**block_bits`` documents, at most 256.
    """
    number_of = np.empty(len(order), dtype=np.int64)
    number_of[order] = np.arange(len(order))
    parts = [np.empty(0, dtype=np.int64)]
    row = 0
    while row < len(order):
        stop = max(row + 1, int(np.searchsorted(indptr, indptr[row] + AT_ONCE, side="right")) - 1)
        begin, end = indptr[row], indptr[stop]
        given = terms[begin:end].astype(np.int64)
        keys = (given - first) << 32
        keys |= np.repeat(number_of[row:stop] << 8, np.diff(indptr[row : stop + 1]))
        keys |= impacts[begin:end]
        parts.append(keys[(given >= first) & (given < last)])
        row = stop
    keys = np.concatenate(parts)
    parts.clear()
    keys.sort()
    starts = run_starts(keys >> (8 + block_bits))
    entries = np.bincount(keys[starts] >> 32, minlength=last - first)
    block = ((keys[starts] >> (8 + block_bits)) & ((1 << (24 - block_bits)) - 1)).astype(np.uint16)
    counts = (np.diff(starts, append=len(keys)) - 1).astype(np.uint8)
    impacts_of = keys.astype(np.uint8)
    largest = np.maximum.reduceat(impacts_of, starts) if len(keys) else impacts_of
    offsets = ((keys >> 8) & ((1 << block_bits) - 1)).astype(np.uint8)
    return InvertedPostings(entries, block, counts, largest, offsets, impacts_of)


def first_unsorted(starts: Array, terms: Array, n_terms: int) -> int:
    """Return the first row whose terms do not increase strictly or are not below `n_terms`, or -1.

    Row boundaries must rise from 0 to the number of terms.
    """
    for begin in range(0, len(terms), AT_ONCE):
        part = terms[begin : begin + AT_ONCE]
        is_wrong = (part < 0) | (part >= n_terms)
        before = terms[max(0, begin - 1) : begin + len(part) - 1]
        falls = part[len(part) - len(before) :] <= before
        first, last = np.searchsorted(starts, [max(begin, 1), begin + len(part)])
        falls[starts[first:last].astype(np.int64) - begin - len(part) + len(before)] = (
            False  # first terms of rows
        )
        is_wrong[len(part) - len(before) :] |= falls
        if is_wrong.any():
            return int(np.searchsorted(starts, begin + np.flatnonzero(is_wrong)[0], side="right")) - 1
    return -1


@compiled_for(
    *variants(
        "uint32[:], {terms}[:], uint8[:], uint32[:], int64, uint32[:], uint32[:], uint16[:], uint8[:], uint8[:], "
        "uint8[:], uint8[:]",
        terms=("uint16", "uint32"),
    )
)
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
