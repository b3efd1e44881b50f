"""Table of strings on disk, with look-up by number and by string."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.errors import CorruptIndexError
from termwise.index.container import Container, ContainerWriter
from termwise.kernels.string_lookup import CORRUPT, find_string, find_strings, first_disorder

MANY = 20_000
"""Number of strings for which compiled code is loaded: numpy would take longer than that."""

BYTES = 1 << 18
"""Bytes of strings that are searched at a time for a part of them."""

SECTIONS = 3
"""Number of sections of a string table in its container."""


def write_strings(writer: ContainerWriter, prefix: str, strings: Sequence[bytes]) -> None:
    """Write a table of distinct byte strings."""
    offsets = np.zeros(len(strings) + 1, dtype=np.uint64)
    np.cumsum([len(string) for string in strings], out=offsets[1:])
    by_bytes = np.array(sorted(range(len(strings)), key=strings.__getitem__), dtype=np.uint32)
    pieces = (
        np.frombuffer(b"".join(strings[i : i + 65536]), np.uint8) for i in range(0, len(strings), 65536)
    )
    writer.write(f"{prefix}.data", np.uint8, pieces)
    writer.write(f"{prefix}.offsets", np.uint64, [offsets])
    writer.write(f"{prefix}.sorted", np.uint32, [by_bytes])


class PackedStrings:
    """Strings to look up in one or more tables, encoded once.

    Attributes
    ----------
    data : ndarray, uint8
        Concatenation of their bytes.
    bounds : ndarray of shape (strings + 1,), int64
        Boundaries of the strings in `data`.
    """

    def __init__(self, strings: Iterable[str]) -> None:
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        self.data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self.bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=self.bounds[1:])


class StringTable:
    """Table of `length` strings in a mapped container; `prefix` is the beginning of the names of its sections."""

    def __init__(self, container: Container, prefix: str, length: int) -> None:
        self.path = container.path
        self._container = container
        self._prefix = prefix
        self._data = container.array(f"{prefix}.data", np.uint8)
        self._offsets = container.array(f"{prefix}.offsets", np.uint64, length + 1)
        self._sorted = container.array(f"{prefix}.sorted", np.uint32, length)

    def __len__(self) -> int:
        return len(self._sorted)

    @property
    def is_in_order(self) -> bool:
        """Whether the numbers of the strings are in ascending order of their bytes."""
        return bool((self._sorted == np.arange(len(self), dtype=np.uint32)).all())

    def get(self, number: int) -> str:
        """Return the string with a number.

        Raises `CorruptIndexError` if an offset exceeds the data, or the bytes are not UTF-8.
        """
        first, last = self._offsets.item(number), self._offsets.item(number + 1)
        if not first <= last <= len(self._data):
            raise self._unreadable(number)
        try:
            return self._data[first:last].tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise self._unreadable(number) from None

    def get_many(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return several strings, faster than `get`."""
        firsts = self._offsets[numbers].tolist()
        lasts = self._offsets[numbers + 1].tolist()
        data = self._data
        length = len(data)
        try:
            return [
                data[first:last].tobytes().decode("utf-8", "surrogatepass")
                if first <= last <= length
                else self.get(number)
                for number, first, last in zip(numbers.tolist(), firsts, lasts, strict=True)
            ]
        except UnicodeDecodeError:
            return [self.get(number) for number in numbers.tolist()]  # raises the error of the damaged one

    def ending_with(self, suffix: bytes) -> npt.NDArray[np.int64]:
        """Return the numbers of the strings that end with some bytes, ascending; raises `CorruptIndexError`."""
        stops = self._offsets[1:].astype(np.int64)
        numbers = np.flatnonzero(stops - self._offsets[:-1].astype(np.int64) >= len(suffix))
        if len(numbers) and int(stops[numbers].max()) > len(self._data):
            raise self._unreadable(int(numbers[np.argmax(stops[numbers])]))
        for place, byte in enumerate(suffix, -len(suffix)):
            numbers = numbers[self._data[stops[numbers] + place] == byte]
        return numbers

    def find(self, string: str) -> int | None:
        """Return the number of a string, or None; a number or an offset beyond its array raises `CorruptIndexError`."""
        encoded = np.frombuffer(string.encode("utf-8", "surrogatepass"), dtype=np.uint8)
        number = int(find_string(self._data, self._offsets, self._sorted, encoded))
        if number == CORRUPT:
            raise self._disordered()
        return None if number < 0 else number

    def find_many(self, strings: Iterable[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of several strings, -1 for unknown ones; faster than `find`."""
        return self.find_packed(PackedStrings(strings))

    def find_packed(self, strings: PackedStrings) -> npt.NDArray[np.int64]:
        """Return the numbers of several strings, as `find_many`."""
        if len(strings.bounds) > MANY:
            find_strings.use_compiled()
        numbers = find_strings(self._data, self._offsets, self._sorted, strings.data, strings.bounds)
        if (numbers == CORRUPT).any():
            raise self._disordered()
        result: npt.NDArray[np.int64] = np.maximum(numbers, -1)
        return result

    def starting_with(self, prefix: str) -> npt.NDArray[np.int64]:
        """Return the numbers of the strings that begin with a prefix, in the order of their bytes.

        Raises `CorruptIndexError` if a number or an offset exceeds its array, or the bytes of a string are not UTF-8.
        """

        def beginning(place: int) -> str:
            number = int(self._sorted[place])
            if number >= len(self):
                raise self._disordered()
            return self.get(number)[: len(prefix)]

        places = range(len(self))
        begin, end = bisect_left(places, prefix, key=beginning), bisect_right(places, prefix, key=beginning)
        return self._sorted[begin:end].astype(np.int64)

    def containing(self, part: str) -> npt.NDArray[np.int64]:
        """Return the numbers of the strings that contain a part, ascending; raises `CorruptIndexError`."""
        encoded = part.encode("utf-8", "surrogatepass")
        if not encoded:
            return np.arange(len(self))
        offsets = self._offsets.astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != len(self._data) or (np.diff(offsets) < 0).any():
            raise self._damaged("offsets", f"offsets from 0 to {len(self._data)}", "others")
        if len(encoded) > np.diff(offsets).max(initial=0):
            return np.empty(0, dtype=np.int64)
        found = np.zeros(len(self), dtype=np.bool_)
        ends = np.searchsorted(offsets, np.arange(BYTES, len(self._data) + BYTES, BYTES), side="right") - 1
        first = 0
        for end in (*ends.tolist(), len(self)):
            last = max(end, first + 1)  # a long string is a part of its own
            if first < len(self):
                found[first:last] = self._contain(offsets[first : last + 1], encoded)
                first = last
        return np.flatnonzero(found)

    def _contain(self, offsets: npt.NDArray[np.int64], part: bytes) -> npt.NDArray[np.bool_]:
        """Return which of some strings beside each other contain bytes; `offsets` are their boundaries."""
        data = self._data[offsets[0] : offsets[-1]]
        places = len(data) - len(part) + 1
        found = np.zeros(len(offsets) - 1, dtype=np.bool_)
        if places < 1:
            return found
        begins = np.ones(places, dtype=np.bool_)
        for number, byte in enumerate(part):
            spend()
            begins &= data[number : number + places] == byte
            if not begins.any():
                return found
        before = np.concatenate([[0], np.cumsum(begins)])
        starts, stops = offsets[:-1] - offsets[0], offsets[1:] - offsets[0] - len(part) + 1
        long = stops > starts
        found[long] = before[stops[long]] > before[starts[long]]
        return found

    def code_points(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Return the code points of all strings, joined, and the places where each string begins.

        The places have one entry more, the number of code points. Raises `CorruptIndexError` if the offsets are out of
        order, or the bytes are not UTF-8.
        """
        offsets = self._offsets.astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != len(self._data) or (np.diff(offsets) < 0).any():
            raise self._damaged("offsets", f"offsets from 0 to {len(self._data)}", "others")
        try:
            text = self._data.tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise self._unreadable(int(np.searchsorted(offsets, error.start, side="right")) - 1) from None
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        before = np.concatenate([[0], np.cumsum((self._data & 0xC0) != 0x80)])
        return points, before[offsets]

    def check(self) -> None:
        """Read every string and check their order.

        Raises `CorruptIndexError` if a string cannot be read, two are equal, or the sorted numbers are out of order.
        """
        if self._offsets[0] != 0 or self._offsets[-1] != len(self._data):
            raise self._damaged("offsets", f"offsets from 0 to {len(self._data)}", "others")
        for number in range(len(self)):
            self.get(number)
        position = int(first_disorder(self._data, self._offsets, self._sorted))
        if position >= 0:
            raise self._damaged("sorted", "strings in ascending order", "another order", position)

    def _disordered(self) -> CorruptIndexError:
        return self._damaged("sorted", "a sorted table of strings", "a position outside it")

    def _unreadable(self, number: int) -> CorruptIndexError:
        return self._damaged("offsets", "a string in UTF-8", f"other bytes in entry {number}", number)

    def _damaged(self, section: str, expected: str, seen: str, place: int = 0) -> CorruptIndexError:
        return self._container.damaged(f"{self._prefix}.{section}", expected, seen, place)
