"""Scores of documents by their vectors, and selection of the best."""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array, compiled

LARGEST_SUM = (1 << 31) - 1
"""Bound for the sum of products of one row of digits and a window."""


@compiled
def score(starts: Array, rows: Array, scales: Array, digits: Array, bits: int, scores: Array) -> None:
    """Score documents by their best window; agrees with `reference.dense_retrieval.score`.

    The loop over the dimensions has the form that LLVM turns into a widening multiply-add of 16-bit numbers: one 32-bit
    sum of products, in the function itself. It is half as fast with two sums, or in a function that is called for each
    window.

    Parameters
    ----------
    starts : ndarray of shape (n + 1,), uint32
        Start of the windows of each document, ascending; damaged ones give wrong scores.
    rows : ndarray of shape (m, dimensions), int8
        Windows.
    scales : ndarray of shape (m,), float32
        Unit of each window.
    digits : ndarray of shape (places, dimensions), int16
        Query: number *j* is the sum over the places *p* of ``digits[p, j] << (bits * p)``. The sum of the absolute
        numbers of a row times 128 is at most `LARGEST_SUM`.
    bits : int
        See `digits`.
    scores : ndarray of shape (n,), float64
        Receives the exact sum of the best window times its unit; -inf for a document without windows.
    """
    scores[:] = -np.inf
    document = 0
    last = len(scores) - 1
    for window in range(len(rows)):
        total = np.int64(0)
        for place in range(digits.shape[0]):
            part = np.int32(0)
            for j in range(digits.shape[1]):
                part = np.int32(part + np.int32(rows[window, j]) * np.int32(digits[place, j]))
            total += np.int64(part) << (bits * place)
        while document < last and np.int64(starts[document + 1]) <= window:
            document += 1
        value = np.float64(total) * np.float64(scales[window])
        if value > scores[document]:
            scores[document] = value


@compiled
def top_k(scores: Array, k: int) -> Array:
    """Return the positions of the `k` largest scores above -inf; agrees with `reference.dense_retrieval.top_k`.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Without NaN.
    k : int
        1 or more.

    Returns
    -------
    ndarray of shape (at most k,), int64
        Best first; equal scores in ascending order of their positions.
    """
    # A heap whose first place has the worst result: the smallest score, of equal ones the last position.
    heap = np.empty(min(k, len(scores)), dtype=np.int64)
    size = 0
    for position in range(len(scores)):
        score = scores[position]
        if score == -np.inf:
            continue
        if size < len(heap):
            place = size
            size += 1
            while place > 0:
                above = (place - 1) >> 1
                if scores[heap[above]] < score:  # an equal one was earlier, so it is better
                    break
                heap[place] = heap[above]
                place = above
            heap[place] = position
        elif score > scores[heap[0]]:
            _sink(scores, heap, size, position)
    best = np.empty(size, dtype=np.int64)
    for left in range(size, 0, -1):
        best[left - 1] = heap[0]
        _sink(scores, heap, left - 1, heap[left - 1])
    return best


@compiled
def _sink(scores: Array, heap: Array, size: int, position: int) -> None:
    """Replace the worst of the first `size` entries of a heap by `position`, unless there are none."""
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and _worse(scores, heap[below + 1], heap[below]):
            below += 1
        if not _worse(scores, heap[below], position):
            break
        heap[place] = heap[below]
        place = below
    if size > 0:
        heap[place] = position


@compiled
def _worse(scores: Array, one: int, other: int) -> bool:
    """Return whether a position is a worse result than another one."""
    return bool(scores[one] < scores[other] or (scores[one] == scores[other] and one > other))
