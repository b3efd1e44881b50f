"""Looking a string up in a sorted table of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels.jit import Array, compiled

ABSENT = -1
CORRUPT = -2


@compiled
def _compare(data: Array, first: Any, last: Any, other: Array, start: Any, stop: Any) -> int:
    """Compare ``data[first:last]`` with ``other[start:stop]``: negative, 0 or positive."""
    for i in range(min(last - first, stop - start)):
        if data[first + i] != other[start + i]:
            return -1 if data[first + i] < other[start + i] else 1
    difference: int = (last - first) - (stop - start)
    return difference


@compiled
def find_string(data: Array, offsets: Array, by_bytes: Array, wanted: Array) -> int:
    """Find a string by bisection.

    Parameters
    ----------
    data : ndarray of shape (bytes,), uint8
        All strings one after the other.
    offsets : ndarray of shape (n + 1,), uint64
        Where each begins.
    by_bytes : ndarray of shape (n,), uint32
        String numbers in ascending order of their bytes.
    wanted : ndarray of shape (m,), uint8
        The string to look for.

    Returns
    -------
    int
        Its number, `ABSENT`, or `CORRUPT` where a number or an offset points outside its array.
    """
    low = 0
    high = len(by_bytes)
    while low < high:
        middle = (low + high) >> 1
        number = np.int64(by_bytes[middle])
        if number >= len(by_bytes):
            return CORRUPT
        first = offsets[number]
        last = offsets[number + 1]
        if first > last or last > np.uint64(len(data)):
            return CORRUPT
        order = _compare(data, np.int64(first), np.int64(last), wanted, 0, len(wanted))
        if order == 0:
            return int(number)
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return ABSENT


@compiled
def find_strings(data: Array, offsets: Array, by_bytes: Array, wanted: Array, bounds: Array) -> Array:
    """Find several strings, as `find_string` does.

    Parameters
    ----------
    data, offsets, by_bytes : ndarray
        As in `find_string`.
    wanted : ndarray, uint8
        The strings to look for, one after the other.
    bounds : ndarray of shape (m + 1,), int64
        Where each begins.

    Returns
    -------
    ndarray of shape (m,), int64
        What `find_string` gives for each.
    """
    numbers = np.empty(len(bounds) - 1, dtype=np.int64)
    for i in range(len(numbers)):
        numbers[i] = find_string(data, offsets, by_bytes, wanted[bounds[i] : bounds[i + 1]])
    return numbers


@compiled
def first_disorder(data: Array, offsets: Array, by_bytes: Array) -> int:
    """Return the first position of `by_bytes` that does not lie above the one before it, or -1.

    Arguments as in `find_string`; offsets must lie inside the data and must not decrease. Strings that ascend
    strictly are distinct, and as many distinct numbers as there are strings are a permutation.
    """
    for position in range(len(by_bytes)):
        number = np.int64(by_bytes[position])
        if number >= len(by_bytes):
            return position
        if position > 0:
            before = np.int64(by_bytes[position - 1])
            order = _compare(
                data, np.int64(offsets[before]), np.int64(offsets[before + 1]),
                data, np.int64(offsets[number]), np.int64(offsets[number + 1]),
            )  # fmt: skip
            if order >= 0:
                return position
    return -1
