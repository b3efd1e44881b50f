"""Container format of the binary files of an index, and access to these files.

A container is a header, a table of sections, and aligned arrays; ``docs/format.md`` specifies the bytes.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from termwise.errors import (
    CorruptIndexError,
    MissingFileError,
    NewerFormatError,
    NotAnIndexError,
    StorageError,
)
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import MAX_BYTES, open_regular

MAGIC = b"termwise"
VERSION = 3
"""Latest version of the format. Version 2 adds vectors, version 3 changes of an index; other files keep version 1."""

CHANGES = ("deletions.rows", "views.terms", "added.floors")
"""Sections that require version 3."""

ALIGNMENT = 64

REBUILD = Fix.sentence(
    "build the index again: {}", Fix.call("build_index", model=Code("MODEL"), overwrite=True)
)

_HEADER = struct.Struct("<8sII16sQII")  # magic, version, sections, kind, file length, table CRC, header CRC
_ENTRY = struct.Struct("<24s8sQQI12x")  # name, dtype, offset, length in bytes, CRC of the bytes

_DTYPES = {name: np.dtype(name) for name in ("|u1", "|i1", "<u2", "<u4", "<u8", "<f4", "<f8")}

AnyArray = npt.NDArray[Any]


@dataclass(frozen=True)
class IndexFile:
    """Name, length in bytes and SHA-256 of a file of an index."""

    name: str
    length: int
    sha256: str


def file_name(kind: str, sha256: str) -> str:
    """Return the name of a file of an index: its kind (``segment`` for views) and 16 digits of its SHA-256."""
    prefix = "segment" if kind == "views" else kind
    return f"{prefix}-{sha256[:16]}.{'bin' if kind == 'attachment' else 'tw'}"


@dataclass(frozen=True)
class Section:
    """Name, type, position in bytes and CRC-32 of an array in a container."""

    name: str
    dtype: np.dtype[np.generic]
    offset: int
    length: int
    crc: int


class ContainerWriter:
    """Writer of a container file, which is written section by section.

    Sections may be written in pieces. The header is written last; space for it and for the announced number of
    `sections` is reserved at the beginning. Until then the file is incomplete, so `path` must be in a folder without
    readers. An error of the system is raised as `StorageError`.
    """

    def __init__(self, path: Path, kind: str, sections: int) -> None:
        self.path = path
        self._kind = kind
        self._expected = sections
        self._sections: list[Section] = []
        with storage_errors(path):
            self._file = path.open("w+b")
        with storage_errors(path):
            self._file.write(b"\0" * (_HEADER.size + _ENTRY.size * sections))

    def __enter__(self) -> ContainerWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        close_quietly(self._file)

    def write(self, name: str, dtype: npt.DTypeLike, pieces: Iterable[AnyArray]) -> int:
        """Append a section; return its length in elements."""
        little = np.dtype(dtype).newbyteorder("<")
        with storage_errors(self.path):
            position = self._file.tell()
            self._file.write(b"\0" * (-position % ALIGNMENT))
            offset = self._file.tell()
            crc = 0
            for piece in pieces:
                data = np.ascontiguousarray(piece, dtype=little).data.cast("B") if piece.size else b""
                self._file.write(data)
                crc = zlib.crc32(data, crc)
            length = self._file.tell() - offset
        self._sections.append(Section(name, little, offset, length, crc))
        return length // little.itemsize

    def written(self, name: str) -> AnyArray:
        """Return a section that has been written, as a mapped array."""
        section = next(section for section in self._sections if section.name == name)
        count = section.length // section.dtype.itemsize
        if count == 0:
            return np.empty(0, dtype=section.dtype)
        with storage_errors(self.path):
            self._file.flush()
            return np.memmap(self.path, dtype=section.dtype, mode="r", offset=section.offset, shape=(count,))

    def finish(self) -> IndexFile:
        """Write the header and flush to the disk; return the record of the file with its final name."""
        table = b"".join(
            _ENTRY.pack(s.name.encode(), s.dtype.str.encode(), s.offset, s.length, s.crc)
            for s in self._sections
        )
        if len(self._sections) != self._expected:
            raise ValueError(f"{self._expected} sections were announced, {len(self._sections)} written")
        with storage_errors(self.path):
            length = self._file.tell()
            version = max((_version_of(section) for section in self._sections), default=1)
            fields = (MAGIC, version, self._expected, self._kind.encode(), length, zlib.crc32(table))
            crc = zlib.crc32(_HEADER.pack(*fields, 0)[:-4])
            self._file.seek(0)
            self._file.write(_HEADER.pack(*fields, crc) + table)
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.seek(0)
            digest = hashlib.file_digest(self._file, "sha256").hexdigest()
        return IndexFile(file_name(self._kind, digest), length, digest)


class Container:
    """A container file of a kind that is mapped into memory; its arrays are views of the map.

    `length` is the one in the manifest. A file that cannot be opened raises `MissingFileError`; a header that is
    foreign, of a later version, truncated or damaged raises `NotAnIndexError`, `NewerFormatError` or
    `CorruptIndexError`, whose facts name file and offset.
    """

    def __init__(self, path: Path, kind: str, length: int | None = None) -> None:
        self.path = path
        self._map = map_file(path, length)
        self._sections: dict[str, Section] = {}
        for section in self._read_header(kind):
            if section.name in self._sections:
                raise corrupt(path, _HEADER.size, "sections of different names", f"{section.name!r} twice")
            self._sections[section.name] = section

    def _read_header(self, kind: str) -> Iterator[Section]:
        size = len(self._map)
        if size < _HEADER.size:
            raise corrupt(self.path, size, f"a header of {_HEADER.size} bytes", f"{size} bytes")
        magic, version, count, seen, length, table_crc, crc = _HEADER.unpack_from(self._map)
        if magic != MAGIC:
            raise NotAnIndexError(
                "this is not a file of a termwise index",
                facts=[("file", self.path), ("offset", 0), ("expected", MAGIC), ("seen", magic)],
            )
        if version > VERSION:
            raise NewerFormatError(
                "this file was written by a later version of termwise",
                facts=[("file", self.path), ("offset", 8), ("format", version), ("known here", VERSION)],
                fixes=["install a newer version of termwise"],
            )
        if zlib.crc32(self._map[: _HEADER.size - 4]) != crc:
            raise corrupt(self.path, 0, "a header that matches its checksum", "one that does not")
        if version < 1:
            raise corrupt(self.path, 8, f"a format version from 1 to {VERSION}", version)
        if _ascii(seen) != kind:
            raise corrupt(self.path, 16, f"a file of kind {kind}", _ascii(seen))
        if length != size:
            raise corrupt(self.path, min(length, size), f"{length} bytes", f"{size} bytes")
        table = self._map[_HEADER.size : _HEADER.size + count * _ENTRY.size]
        if len(table) != count * _ENTRY.size or zlib.crc32(table) != table_crc:
            raise corrupt(
                self.path, _HEADER.size, "a section table that matches its checksum", "one that does not"
            )
        data_begins = _HEADER.size + len(table)
        for number, (name, dtype, offset, section_length, section_crc) in enumerate(
            _ENTRY.iter_unpack(table)
        ):
            known = _DTYPES.get(_ascii(dtype))
            at = _HEADER.size + number * _ENTRY.size
            if known is None:
                raise corrupt(self.path, at + 24, f"a type of {', '.join(_DTYPES)}", _ascii(dtype))
            end = offset + section_length
            if offset < data_begins or offset % ALIGNMENT or end > size or section_length % known.itemsize:
                raise corrupt(
                    self.path,
                    at + 32,
                    f"{_ascii(name)} inside the file",
                    f"{section_length} bytes from {offset} in a file of {size}",
                )
            yield Section(_ascii(name), known, offset, section_length, section_crc)

    def __contains__(self, name: str) -> bool:
        return name in self._sections

    def array(self, name: str, dtype: npt.DTypeLike, length: int | None = None) -> AnyArray:
        """Return a section of a type, and of a number of elements if it is given, as a read-only array."""
        section = self._sections.get(name)
        if section is None:
            raise corrupt(self.path, _HEADER.size, f"a section {name!r}", "no section of that name")
        expected = np.dtype(dtype).newbyteorder("<")
        if section.dtype != expected:
            raise self.damaged(name, f"{name} of type {expected.str}", section.dtype.str)
        count = section.length // expected.itemsize
        if length is not None and count != length:
            raise self.damaged(name, f"{name} of length {length}", count)
        if count == 0:
            empty = np.empty(0, dtype=expected)
            empty.setflags(write=False)  # kernels are compiled for read-only arrays
            return empty
        return np.frombuffer(self._map, dtype=expected, count=count, offset=section.offset)

    def offset(self, name: str) -> int:
        """Return the offset in bytes of an existing section."""
        return self._sections[name].offset

    def damaged(self, name: str, expected: object, seen: object, place: int = 0) -> CorruptIndexError:
        """Build the error for a wrong element of an existing section; `place` is its number."""
        section = self._sections[name]
        return corrupt(self.path, section.offset + place * section.dtype.itemsize, expected, seen)

    def section_bytes(self) -> Mapping[str, int]:
        """Return the length in bytes of each section."""
        return {name: section.length for name, section in self._sections.items()}

    def damaged_sections(self) -> Iterator[tuple[str, int]]:
        """Yield name and offset of each section that does not match its checksum."""
        for section in self._sections.values():
            if not self._is_whole(section):
                yield section.name, section.offset

    def check_section(self, name: str) -> None:
        """Raise `CorruptIndexError` if an existing section does not match its checksum."""
        if not self._is_whole(self._sections[name]):
            raise self.damaged(name, f"a section {name} that matches its checksum", "one that does not")

    def _is_whole(self, section: Section) -> bool:
        with memoryview(self._map) as view, view[section.offset : section.offset + section.length] as data:
            return zlib.crc32(data) == section.crc


def open_index_file(path: Path, most: int = MAX_BYTES) -> BufferedReader:
    """Open a file of the index for reading.

    Raises `OSError` if it is missing or a folder, and `CorruptIndexError` for a special file, or more than `most`
    bytes.
    """
    try:
        return open_regular(path, most)
    except Misfit as misfit:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path)) from None
        raise corrupt(path, None, misfit.expected, misfit.seen) from None


def map_file(path: Path, length: int | None) -> mmap.mmap | bytes:
    """Map a file of the index into memory after checking that it is a regular file of the recorded length.

    Raises `MissingFileError` if it cannot be opened, and `CorruptIndexError` for another kind of file or length.
    """
    try:
        with open_index_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if length is not None and size != length:
                raise corrupt(path, min(size, length), f"{length} bytes", f"{size} bytes")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        fix = REBUILD
        if error.errno in (errno.EMFILE, errno.ENFILE):
            fix = Fix.sentence("let the process open more files")
        elif error.errno in (errno.EACCES, errno.EPERM):
            fix = Fix.sentence("make the file readable for this user")
        raise MissingFileError.of("a file of the index cannot be opened", path, error, fixes=[fix]) from error


def close_quietly(file: IO[bytes]) -> None:
    """Close a file; an error is ignored, because its data was flushed before or is no longer needed."""
    with suppress(OSError):
        file.close()


def discard(file: IO[bytes], path: Path) -> None:
    """Close and remove a temporary file, as far as the system permits; the build removes its folder later."""
    close_quietly(file)
    with suppress(OSError):
        path.unlink()


def _version_of(section: Section) -> int:
    """Return the first version of the format with a section of this kind."""
    return VERSION if section.name in CHANGES else 2 if section.dtype == np.int8 else 1


def _ascii(padded: bytes) -> str:
    return padded.rstrip(b"\0").decode("ascii", "replace")


def corrupt(path: Path, offset: int | None, expected: object, seen: object) -> CorruptIndexError:
    """Build the error for a damaged file; `offset` is None if it is unknown."""
    where = [] if offset is None else [("offset", offset)]
    return CorruptIndexError(
        "a file of the index is damaged",
        facts=[("file", path), *where, ("expected", expected), ("seen", seen)],
        fixes=[REBUILD],
    )


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the block into a `StorageError` that names the file, or else `path`."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            "the index cannot be written",
            facts=[("path", error.filename or path), ("reason", error.strerror or str(error))],
            fixes=[
                "free some space, or choose a folder on another disk"
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
                else "make the folder writable, or choose another one"
            ],
        ) from error
