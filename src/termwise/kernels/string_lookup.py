"""Look-up of strings in a sorted table, and a set of 64-bit hashes of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels import plain
from termwise.kernels.jit import Array, compiled, compiled_for

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


@compiled_for("uint8[:], uint64[:], uint32[:], uint8[:]", plain=plain.find_string)
def find_string(data: Array, offsets: Array, by_bytes: Array, key: Array) -> int:
    """Find a string by bisection.

    Parameters
    ----------
    data : ndarray of shape (bytes,), uint8
        Concatenation of all strings.
    offsets : ndarray of shape (n + 1,), uint64
        Boundaries of the strings in `data`.
    by_bytes : ndarray of shape (n,), uint32
        Numbers of the strings in ascending order of their bytes.
    key : ndarray of shape (m,), uint8
        Bytes of the string.

    Returns
    -------
    int
        Its number, `ABSENT`, or `CORRUPT` if a number or an offset exceeds its array.
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
        order = _compare(data, np.int64(first), np.int64(last), key, 0, len(key))
        if order == 0:
            return int(number)
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return ABSENT


@compiled_for("uint8[:], uint64[:], uint32[:], uint8[:], int64[:]", plain=plain.find_strings)
def find_strings(data: Array, offsets: Array, by_bytes: Array, keys: Array, bounds: Array) -> Array:
    """Find several strings; see `find_string`.

    Parameters
    ----------
    data, offsets, by_bytes : ndarray
        See `find_string`.
    keys : ndarray, uint8
        Concatenation of the strings.
    bounds : ndarray of shape (m + 1,), int64
        Boundaries of the strings in `keys`.

    Returns
    -------
    ndarray of shape (m,), int64
        Result of `find_string` for each.
    """
    numbers = np.empty(len(bounds) - 1, dtype=np.int64)
    for i in range(len(numbers)):
        numbers[i] = find_string(data, offsets, by_bytes, keys[bounds[i] : bounds[i + 1]])
    return numbers


@compiled_for("uint8[:], uint64[:], uint32[:]")
def first_disorder(data: Array, offsets: Array, by_bytes: Array) -> int:
    """Return the first position of `by_bytes` whose string is not above the one before it, or -1.

    For the arguments see `find_string`; offsets must be inside the data and must not decrease. If the strings ascend
    strictly, they are distinct and `by_bytes` is a permutation.
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


@compiled_for("out(uint64[:]), uint64[:]", plain=plain.insert_hashes)
def insert_hashes(table: Array, hashes: Array) -> int:
    """Insert hashes into an open-addressing table, up to the first that the table contains already.

    Parameters
    ----------
    table : ndarray of shape (a power of two,), uint64
        8 bytes per slot, 0 for a free one; there must be more free slots than hashes.
    hashes : ndarray of shape (n,), uint64
        Hashes to insert, not 0.

    Returns
    -------
    int
        Position of the first hash that the table contained already (earlier ones are inserted), or n.
    """
    mask = np.uint64(len(table) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & mask
        while table[slot] != 0:
            if table[slot] == hashes[i]:
                return i
            slot = (slot + np.uint64(1)) & mask
        table[slot] = hashes[i]
    return len(hashes)
