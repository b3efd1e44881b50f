"""Stored document texts, compressed in groups."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.index.container import Container, ContainerWriter, IndexFile, discard, storage_errors

GROUP_BYTES = 1 << 12
"""A group of texts ends when it has at least this many bytes."""

KIND = "texts"


class TextSpill:
    """Temporary file for the texts of a build; 8 bytes per document are in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with storage_errors(path):
            self._file = path.open("w+b")
        self._lengths = array("Q")

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: str) -> None:
        """Append the text of the next document."""
        data = text.encode("utf-8", "surrogatepass")
        with storage_errors(self._path):
            self._file.write(data)
        self._lengths.append(len(data))

    def write(self, path: Path, first: int, last: int) -> IndexFile:
        """Write the container with the texts of the documents ``first:last``."""
        group_of = np.empty(last - first, dtype=np.uint32)
        start_of = np.empty(last - first, dtype=np.uint32)
        ends = [0]

        def pieces() -> Iterator[npt.NDArray[np.uint8]]:
            self._file.seek(sum(self._lengths[:first]))
            group: list[bytes] = []
            size = 0
            for position in range(last - first):
                group_of[position] = len(ends) - 1
                start_of[position] = size
                group.append(self._file.read(self._lengths[first + position]))
                size += len(group[-1])
                if size >= GROUP_BYTES or position == last - first - 1:
                    packed = zlib.compress(b"".join(group), 6)
                    ends.append(ends[-1] + len(packed))
                    yield np.frombuffer(packed, dtype=np.uint8)
                    group, size = [], 0

        with ContainerWriter(path, KIND, 4) as writer:
            writer.write("groups.data", np.uint8, pieces())
            writer.write("groups.offsets", np.uint64, [np.array(ends, dtype=np.uint64)])
            writer.write("texts.group", np.uint32, [group_of])
            writer.write("texts.start", np.uint32, [start_of])
            return writer.finish()

    def close(self) -> None:
        """Close and remove the temporary file."""
        discard(self._file, self._path)


class TextTable:
    """Stored texts in a mapped container."""

    def __init__(self, container: Container, length: int) -> None:
        self.path = container.path
        self._damaged = container.damaged
        self._data = container.array("groups.data", np.uint8)
        self._offsets = container.array("groups.offsets", np.uint64)
        self._group = container.array("texts.group", np.uint32, length)
        self._start = container.array("texts.start", np.uint32, length)

    def get(self, number: int) -> str:
        """Return the text of a document; raise `CorruptIndexError` if it cannot be decompressed, or is not UTF-8."""
        return self._cut(number, self._unpack(self._group_of(number)))

    def get_many(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return several texts, faster than `get`: each group is decompressed once."""
        result = [""] * len(numbers)
        current, texts = -1, b""
        for position in np.argsort(numbers, kind="stable").tolist():
            number = int(numbers[position])
            group = self._group_of(number)
            if group != current:
                current, texts = group, self._unpack(group)
            result[position] = self._cut(number, texts)
        return result

    def _group_of(self, number: int) -> int:
        group = int(self._group[number])
        if group + 1 >= len(self._offsets):
            raise self._damaged("texts.group", "a group of texts", group, number)
        return group

    def _cut(self, number: int, texts: bytes) -> str:
        """Return the text of a document from its decompressed group."""
        group = int(self._group[number])
        start, stop = int(self._start[number]), len(texts)
        if number + 1 < len(self._group) and int(self._group[number + 1]) == group:
            stop = int(self._start[number + 1])
        if not start <= stop <= len(texts):
            raise self._damaged("texts.start", "a text inside its group", f"{start} to {stop}", number)
        try:
            return texts[start:stop].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise self._damaged("texts.start", "a text in UTF-8", "other bytes", number) from None

    def check(self) -> None:
        """Decompress every text and check their order; raises the errors of `get`."""
        if np.any(np.diff(self._group.astype(np.int64)) < 0) or self._group[-1] != len(self._offsets) - 2:
            raise self._damaged("texts.group", "groups of texts in order", "another order")
        stop = 0
        for group in range(len(self._offsets) - 1):
            start, stop = stop, int(np.searchsorted(self._group, group, side="right"))
            if start == stop or self._start[start] != 0:
                raise self._damaged("texts.start", "texts in order", "another order", start)
            texts = self._unpack(group)
            for number in range(start, stop):
                self._cut(number, texts)

    def _unpack(self, group: int) -> bytes:
        first, last = int(self._offsets[group]), int(self._offsets[group + 1])
        if not first <= last <= len(self._data):
            raise self._damaged("groups.offsets", "a group of texts", f"{first} to {last}", group)
        try:
            return zlib.decompress(self._data[first:last].tobytes())
        except zlib.error as error:
            raise self._damaged("groups.data", "a group of texts", error, first) from None
