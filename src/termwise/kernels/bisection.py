"""Recursive graph bisection: an order of documents in which similar ones are neighbours.

Dhulipala et al., "Compressing graphs and indexes with recursive graph bisection", KDD 2016. A set of documents is cut
into two halves. Documents are swapped between them as long as that lowers the estimated cost of the gaps between
postings; then each half is bisected. The estimate for a term that occurs in l of the n documents of a half is
``l * log2(n / (l + 1))``.

Float32 sums have a fixed order and halves are independent of each other, so the result does not depend on the number of
threads.
"""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array, compiled, compiled_for, variants
from termwise.kernels.sorting import descending


@compiled
def _gap_cost(left: int, right: int, log_left: float, log_right: float, log2: Array) -> float:
    cost: float = left * (log_left - log2[left + 1]) + right * (log_right - log2[right + 1])
    return cost


@compiled
def bisect(
    indptr: Array,
    terms: Array,
    order: Array,
    first: int,
    middle: int,
    last: int,
    rounds: int,
    log2: Array,
    lefts: Array,
    rights: Array,
    gain_left: Array,
    gain_right: Array,
    touched: Array,
    gains: Array,
) -> None:
    """Improve a cut: swap documents between ``order[first:middle]`` and ``order[middle:last]``.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries of the forward view.
    terms : ndarray of shape (nnz,), uint16 or uint32
        Term numbers.
    order : ndarray of shape (n,), int32
        Current order of the documents; changed in place.
    first, middle, last : int
        Bounds of the two halves.
    rounds : int
        Largest number of rounds of swaps.
    log2 : ndarray of shape (at least n + 2,), float32
        ``log2[i]`` is the binary logarithm of i, 0 for i = 0.
    lefts, rights : ndarrays of shape (terms,), int32
        Work arrays, zero before and after: number of documents of each half that contain the term.
    gain_left, gain_right : ndarrays of shape (terms,), float32
        Work arrays: gain of a term when a document leaves the left or the right half.
    touched : ndarray of shape (terms,), int32
        Work array: terms of the set.
    gains : ndarray of shape (n,), float32
        Work array: gain of moving each document.
    """
    n_touched = 0
    for i in range(first, last):
        document = order[i]
        for position in range(indptr[document], indptr[document + 1]):
            term = terms[position]
            if lefts[term] + rights[term] == 0:
                touched[n_touched] = term
                n_touched += 1
            if i < middle:
                lefts[term] += 1
            else:
                rights[term] += 1
    log_left = log2[middle - first]
    log_right = log2[last - middle]
    pairs = min(middle - first, last - middle)
    for _ in range(rounds):
        for i in range(n_touched):
            term = touched[i]
            left = lefts[term]
            right = rights[term]
            now = _gap_cost(left, right, log_left, log_right, log2)
            gain_left[term] = 0
            gain_right[term] = 0
            if left > 0:
                gain_left[term] = now - _gap_cost(left - 1, right + 1, log_left, log_right, log2)
            if right > 0:
                gain_right[term] = now - _gap_cost(left + 1, right - 1, log_left, log_right, log2)
        for i in range(first, last):
            document = order[i]
            gain = np.float32(0)
            if i < middle:
                for position in range(indptr[document], indptr[document + 1]):
                    gain += gain_left[terms[position]]
            else:
                for position in range(indptr[document], indptr[document + 1]):
                    gain += gain_right[terms[position]]
            gains[i] = gain
        from_left = descending(gains, first, middle)
        from_right = descending(gains, middle, last)
        swapped = 0
        for pair in range(pairs):
            i = from_left[pair]
            j = from_right[pair]
            if gains[i] + gains[j] <= 0:
                break
            leaves = order[i]
            enters = order[j]
            for position in range(indptr[leaves], indptr[leaves + 1]):
                lefts[terms[position]] -= 1
                rights[terms[position]] += 1
            for position in range(indptr[enters], indptr[enters + 1]):
                lefts[terms[position]] += 1
                rights[terms[position]] -= 1
            order[i] = enters
            order[j] = leaves
            swapped += 1
        if swapped * 200 <= pairs:
            break
    for i in range(n_touched):
        lefts[touched[i]] = 0
        rights[touched[i]] = 0


@compiled
def cut(first: int, last: int, leaf: int) -> int:
    """Return the position of a cut: near the middle, a multiple of `leaf` after the start."""
    half = (((last - first) >> 1) + (leaf >> 1)) // leaf * leaf
    if half <= 0 or half >= last - first:
        half = leaf
    return first + half


@compiled_for(
    *variants(
        "int64[:], {terms}[:], out(int32[:]), int64, int64, int64, boolean, int64, float32[:], int64, out(float32[:])",
        terms=("uint16", "uint32"),
    )
)
def bisect_all(
    indptr: Array,
    terms: Array,
    order: Array,
    first: int,
    last: int,
    leaf: int,
    once: bool,
    rounds: int,
    log2: Array,
    n_terms: int,
    gains: Array,
) -> None:
    """Bisect ``order[first:last]`` once, or down to sets of at most `leaf` documents; see `bisect`."""
    lefts = np.zeros(n_terms, dtype=np.int32)
    rights = np.zeros(n_terms, dtype=np.int32)
    gain_left = np.empty(n_terms, dtype=np.float32)
    gain_right = np.empty(n_terms, dtype=np.float32)
    touched = np.empty(n_terms, dtype=np.int32)
    pending = [(first, last)]
    while len(pending) > 0:
        begin, end = pending.pop()
        if end - begin <= leaf:
            continue
        middle = cut(begin, end, leaf)
        bisect(
            indptr, terms, order, begin, middle, end, rounds, log2,
            lefts, rights, gain_left, gain_right, touched, gains,
        )  # fmt: skip
        if not once:
            pending.append((begin, middle))
            pending.append((middle, end))
