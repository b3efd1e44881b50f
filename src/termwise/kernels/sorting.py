"""Sorting inside of kernels: numba needs a second or more to compile each of its own functions for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.kernels.jit import Array, compiled

RUN = 16
"""Number of values that are sorted by insertion."""


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
    """Return the positions ``first:last``, largest value first, equal ones in their order.

    It is a merge sort of runs that insertion has sorted.
    """
    count = last - first
    given = np.empty(count, dtype=np.int64)
    for begin in range(0, count, RUN):
        for i in range(begin, min(begin + RUN, count)):
            value = values[first + i]
            place = i
            while place > begin and values[given[place - 1]] < value:
                given[place] = given[place - 1]
                place -= 1
            given[place] = first + i
    merged = np.empty(count, dtype=np.int64)
    width: Any = np.int64(RUN)
    while width < count:
        for begin in range(0, count, 2 * width):
            middle = min(begin + width, count)
            end = min(begin + 2 * width, count)
            left = begin
            right = middle
            place = begin
            if right < end:
                one = values[given[left]]
                other = values[given[right]]
                while True:
                    if one >= other:
                        merged[place] = given[left]
                        left += 1
                        place += 1
                        if left == middle:
                            break
                        one = values[given[left]]
                    else:
                        merged[place] = given[right]
                        right += 1
                        place += 1
                        if right == end:
                            break
                        other = values[given[right]]
            for i in range(left, middle):
                merged[place] = given[i]
                place += 1
            for i in range(right, end):
                merged[place] = given[i]
                place += 1
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
