"""Sorting inside of kernels: numba needs a second or more to compile each of its own functions for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels.jit import Array, compiled


@compiled
def copy_of(values: Array, size: Any, room: Any) -> Array:
    """Return a new array for `room` values, with the first `size` values of another one; the others are not set.

    An assignment of a slice takes numba a second or more, for the text of its error.
    """
    copied = np.empty(room, dtype=values.dtype)
    for i in range(size):
        copied[i] = values[i]
    return copied


@compiled
def descending(values: Array, first: Any, last: Any) -> Array:
    """Return the positions ``first:last``, largest value first, equal ones in their order: a merge sort."""
    count = last - first
    given = np.empty(count, dtype=np.int64)
    merged = np.empty(count, dtype=np.int64)
    for i in range(count):
        given[i] = first + i
    width: Any = np.int64(1)
    while width < count:
        for begin in range(0, count, 2 * width):
            middle = min(begin + width, count)
            end = min(begin + 2 * width, count)
            left = begin
            right = middle
            for place in range(begin, end):
                if left < middle and (right >= end or values[given[left]] >= values[given[right]]):
                    merged[place] = given[left]
                    left += 1
                else:
                    merged[place] = given[right]
                    right += 1
        given, merged = merged, given
        width *= 2
    return given


@compiled
def nth_largest(values: Array, n: int) -> Any:
    """Return the n-th largest value, from 1: a quickselect with the middle of three values as pivot."""
    left = values.copy()
    first = np.int64(0)
    last = np.int64(len(left) - 1)
    sought = np.int64(n - 1)
    while first < last:
        middle = (first + last) >> 1
        low = min(left[first], left[last])
        high = max(left[first], left[last])
        pivot = max(low, min(high, left[middle]))
        i = first
        j = last
        while i <= j:
            while left[i] > pivot:
                i += 1
            while left[j] < pivot:
                j -= 1
            if i <= j:
                left[i], left[j] = left[j], left[i]
                i += 1
                j -= 1
        if sought <= j:
            last = j
        elif sought >= i:
            first = i
        else:
            break
    return left[sought]
