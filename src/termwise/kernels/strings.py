"""Looking a string up in a sorted table of bytes."""

from __future__ import annotations

import numpy as np

from termwise.kernels.compiling import Array, compiled


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
        Its number, -1 where it is absent, -2 where an offset points outside the data.
    """
    low = 0
    high = len(by_bytes)
    while low < high:
        middle = (low + high) >> 1
        number = np.int64(by_bytes[middle])
        if number >= len(by_bytes):
            return -2
        first = np.int64(offsets[number])
        last = np.int64(offsets[number + 1])
        if first < 0 or first > last or last > len(data):
            return -2
        length = int(last - first)
        order = 0
        for i in range(min(length, len(wanted))):
            if data[first + i] != wanted[i]:
                order = -1 if data[first + i] < wanted[i] else 1
                break
        if order == 0:
            if length == len(wanted):
                return int(number)
            order = -1 if length < len(wanted) else 1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return -1
