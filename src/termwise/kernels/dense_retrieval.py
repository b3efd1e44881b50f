"""Scores of documents by their vectors."""

from __future__ import annotations

import numpy as np

from termwise.kernels import plain
from termwise.kernels.jit import Array, compiled_for

LARGEST_SUM = (1 << 31) - 1
"""Bound for the sum of products of one row of digits and a window."""


@compiled_for("uint32[:], int8[:, :], float32[:], int16[:, :], int64, out(float64[:])", plain=plain.score)
def score(starts: Array, rows: Array, scales: Array, digits: Array, bits: int, scores: Array) -> None:
    """Score documents by their best window; agrees with `reference.dense_retrieval.score`.

    The loop over the dimensions has the form that LLVM turns into a widening multiply-add of 16-bit numbers: one 32-bit
    sum of products, in the function itself. Two sums take twice the time, and a function for each window 1.4 times.

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
