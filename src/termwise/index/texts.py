"""Stored document texts, compressed in groups."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.index.container import (
    Container,
    ContainerWriter,
    FileEntry,
    corrupt,
    discard,
    storage_errors,
)

GROUP_BYTES = 1 << 16
"""Texts are compressed together until they reach this many bytes."""

KIND = "texts"


class TextSpill:
    """Collects texts while an index is built: bytes on disk, 8 bytes a document in memory."""

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

    def write(self, path: Path, first: int, last: int) -> FileEntry:
        """Write the container of the texts of documents `first` up to, not including, `last`."""
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
    """Stored texts, read from a mapped container."""

    def __init__(self, container: Container, length: int) -> None:
        self._path = container.path
        self._data = container.array("groups.data", np.uint8)
        self._offsets = container.array("groups.offsets", np.uint64)
        self._group = container.array("texts.group", np.uint32, length)
        self._start = container.array("texts.start", np.uint32, length)
        self._data_at = container.offset("groups.data")
        self._offsets_at = container.offset("groups.offsets")
        self._group_at = container.offset("texts.group")
        self._start_at = container.offset("texts.start")

    def get(self, number: int) -> str:
        """Return the text of document `number`.

        Raises
        ------
        CorruptIndexError
            If the text cannot be unpacked.
        """
        return self._cut(number, self._unpack(self._group_of(number)))

    def get_many(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return several texts; as `get`, but each group is unpacked once."""
        found = [""] * len(numbers)
        held, texts = -1, b""
        for place in np.argsort(numbers, kind="stable").tolist():
            number = int(numbers[place])
            group = self._group_of(number)
            if group != held:
                held, texts = group, self._unpack(group)
            found[place] = self._cut(number, texts)
        return found

    def _group_of(self, number: int) -> int:
        group = int(self._group[number])
        if group + 1 >= len(self._offsets):
            raise corrupt(self._path, self._group_at + 4 * number, "a group of texts", group)
        return group

    def _cut(self, number: int, texts: bytes) -> str:
        """Return the text of a document out of its unpacked group."""
        group = int(self._group[number])
        start, stop = int(self._start[number]), len(texts)
        if number + 1 < len(self._group) and int(self._group[number + 1]) == group:
            stop = int(self._start[number + 1])
        if not start <= stop <= len(texts):
            raise corrupt(
                self._path, self._start_at + 4 * number, "a text inside its group", f"{start} to {stop}"
            )
        try:
            return texts[start:stop].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise corrupt(self._path, self._start_at + 4 * number, "a text in UTF-8", "other bytes") from None

    def check(self) -> None:
        """Unpack every text; raises what `get` raises."""
        last = len(self._group) - 1
        if np.any(np.diff(self._group.astype(np.int64)) < 0) or self._group[last] != len(self._offsets) - 2:
            raise corrupt(self._path, self._group_at, "groups of texts in order", "another order")
        held = range(0)
        unpacked = b""
        for group in range(len(self._offsets) - 1):
            held = range(held.stop, int(np.searchsorted(self._group, group, side="right")))
            unpacked = self._unpack(group)
            bounds = [*self._start[held.start : held.stop].tolist(), len(unpacked)]
            if len(held) == 0 or bounds[0] != 0 or any(a > b for a, b in pairwise(bounds)):
                raise corrupt(self._path, self._start_at + 4 * held.start, "texts in order", "another order")
            for number, (start, stop) in zip(held, pairwise(bounds), strict=True):
                try:
                    unpacked[start:stop].decode("utf-8", "surrogatepass")
                except UnicodeDecodeError:
                    raise corrupt(
                        self._path, self._start_at + 4 * number, "a text in UTF-8", "other bytes"
                    ) from None

    def _unpack(self, group: int) -> bytes:
        first, last = int(self._offsets[group]), int(self._offsets[group + 1])
        if not first <= last <= len(self._data):
            raise corrupt(self._path, self._offsets_at + 8 * group, "a group of texts", f"{first} to {last}")
        try:
            return zlib.decompress(self._data[first:last].tobytes())
        except zlib.error as error:
            raise corrupt(self._path, self._data_at + first, "a group of texts", error) from None
