"""The container of all binary files, byte by byte."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise.errors import (
    CorruptIndexError,
    DataError,
    MissingFileError,
    NewerFormatError,
    NotAnIndexError,
    StorageError,
)
from termwise.index.container import Container, ContainerWriter, IndexFile, corrupt, map_file, storage_errors


def write(path: Path) -> IndexFile:
    with ContainerWriter(path, "ids", 3) as writer:
        assert (
            writer.write(
                "numbers", np.uint16, [np.array([1, 2]), np.array([], dtype=np.int64), np.array([515])]
            )
            == 3
        )
        assert writer.write("nothing", "<f8", []) == 0
        assert writer.write("reals", np.float32, iter([np.array([0.5])])) == 1
        assert writer.written("numbers").tolist() == [1, 2, 515]
        assert writer.written("nothing").tolist() == []
        return writer.finish()


def by_hand() -> bytes:
    """Put the same file together from the specification alone."""
    numbers, reals = struct.pack("<3H", 1, 2, 515), struct.pack("<f", 0.5)
    table = b"".join(
        struct.pack("<24s8sQQI12x", name, dtype, offset, len(data), zlib.crc32(data))
        for name, dtype, offset, data in [
            (b"numbers", b"<u2", 256, numbers),
            (b"nothing", b"<f8", 320, b""),
            (b"reals", b"<f4", 320, reals),
        ]
    )
    length = 324
    header = struct.pack("<8sII16sQI", b"termwise", 1, 3, b"ids", length, zlib.crc32(table))
    start = header + struct.pack("<I", zlib.crc32(header)) + table
    return start.ljust(256, b"\0") + numbers.ljust(64, b"\0") + reals


def test_the_bytes_are_those_of_the_specification(tmp_path: Path) -> None:
    entry = write(tmp_path / "x.tw")
    data = (tmp_path / "x.tw").read_bytes()
    assert data == by_hand()
    digest = hashlib.sha256(data).hexdigest()
    assert entry == IndexFile(f"ids-{digest[:16]}.tw", len(data), digest)


def test_arrays_are_read_only_views_of_the_map(tmp_path: Path) -> None:
    write(tmp_path / "x.tw")
    container = Container(tmp_path / "x.tw", "ids", 324)
    numbers = container.array("numbers", np.uint16, 3)
    assert numbers.tolist() == [1, 2, 515]
    assert not numbers.flags.writeable
    assert not numbers.flags.owndata
    base: Any = numbers.base
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)
    assert container.array("nothing", "<f8", 0).tolist() == []
    assert container.array("reals", "<f4").tolist() == [0.5]
    assert "reals" in container
    assert "others" not in container
    assert container.section_bytes() == {"numbers": 6, "nothing": 0, "reals": 4}
    assert container.offset("reals") == 320
    assert list(container.damaged_sections()) == []


def test_a_missing_section_a_wrong_type_and_a_wrong_length_are_reported(tmp_path: Path) -> None:
    write(tmp_path / "x.tw")
    container = Container(tmp_path / "x.tw", "ids")
    for name, dtype, length, offset in [
        ("others", "u1", None, 48),
        ("numbers", "<u4", None, 256),
        ("numbers", "<u2", 4, 256),
    ]:
        with pytest.raises(CorruptIndexError) as caught:
            container.array(name, dtype, length)
        assert dict(caught.value.facts)["offset"] == offset


def opened(tmp_path: Path, data: bytes, length: int | None = None) -> Container:
    (tmp_path / "y.tw").write_bytes(data)
    return Container(tmp_path / "y.tw", "ids", length)


def resealed(data: bytes) -> bytes:
    """Compute both checksums of header and table anew."""
    count = struct.unpack_from("<I", data, 12)[0]
    table = zlib.crc32(data[48 : 48 + 64 * count])
    data = data[:40] + struct.pack("<I", table) + data[44:]
    return data[:44] + struct.pack("<I", zlib.crc32(data[:44])) + data[48:]


def patched(offset: int, layout: str, value: Any) -> bytes:
    data = bytearray(by_hand())
    struct.pack_into(layout, data, offset, value)
    return resealed(bytes(data))


def test_resealing_nothing_changes_nothing(tmp_path: Path) -> None:
    assert resealed(by_hand()) == by_hand()
    assert opened(tmp_path, by_hand(), 324).array("reals", "<f4").tolist() == [0.5]


@pytest.mark.parametrize(
    ("data", "kind", "offset"),
    [
        (b"", CorruptIndexError, 0),
        (by_hand()[:47], CorruptIndexError, 47),
        (by_hand()[:-1], CorruptIndexError, 323),
        (by_hand() + b"\0", CorruptIndexError, 324),
        (b"PK\3\4" + by_hand()[4:], NotAnIndexError, 0),
        (bytes(324), NotAnIndexError, 0),
        (patched(8, "<I", 4), NewerFormatError, 8),
        (patched(8, "<I", 0), CorruptIndexError, 8),
        (patched(16, "16s", b"views"), CorruptIndexError, 16),
        (patched(16, "16s", b"\xff\xfe"), CorruptIndexError, 16),
        (patched(12, "<I", 2**32 - 1), CorruptIndexError, 48),
        (patched(48, "24s", b"reals"), CorruptIndexError, 48),  # two sections of one name
        (patched(72, "8s", b"|O"), CorruptIndexError, 72),
        (patched(72, "8s", b"nonsense"), CorruptIndexError, 72),
        (patched(72, "8s", b"<u8"), CorruptIndexError, 80),  # 6 bytes are no whole number of them
        (patched(80, "<Q", 0), CorruptIndexError, 80),  # inside the header
        (patched(80, "<Q", 257), CorruptIndexError, 80),  # not aligned
        (patched(80, "<Q", 2**64 - 64), CorruptIndexError, 80),
        (patched(88, "<Q", 2**63), CorruptIndexError, 80),
        (patched(208 + 8, "<Q", 2**40), CorruptIndexError, 208),
    ],
)
def test_a_damaged_container_is_refused_with_file_and_offset(
    tmp_path: Path, data: bytes, kind: type[DataError], offset: int
) -> None:
    with pytest.raises(kind) as caught:
        opened(tmp_path, data)
    facts = dict(caught.value.facts)
    assert facts["file"] == tmp_path / "y.tw"
    assert facts["offset"] == offset


def test_the_length_of_the_manifest_counts(tmp_path: Path) -> None:
    with pytest.raises(CorruptIndexError) as caught:
        opened(tmp_path, by_hand(), 300)
    assert dict(caught.value.facts)["offset"] == 300


def test_a_changed_byte_is_found_in_its_section(tmp_path: Path) -> None:
    data = bytearray(by_hand())
    data[258] ^= 1
    assert list(opened(tmp_path, bytes(data)).damaged_sections()) == [("numbers", 256)]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.tw", tmp_path):
        with pytest.raises(MissingFileError) as caught:
            Container(path, "ids")
        assert dict(caught.value.facts)["file"] == path


def test_an_empty_file_is_mapped_as_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert bytes(map_file(tmp_path / "empty", 0)) == b""


def test_announced_and_written_sections_must_agree(tmp_path: Path) -> None:
    with ContainerWriter(tmp_path / "x.tw", "ids", 2) as writer:
        writer.write("one", "u1", [])
        with pytest.raises(ValueError, match="2 sections"):
            writer.finish()


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        ContainerWriter(tmp_path / "no" / "x.tw", "ids", 0)
    assert dict(caught.value.facts)["path"] == str(tmp_path / "no" / "x.tw")


def test_a_full_disk_is_reported_once(tmp_path: Path) -> None:
    """A buffered file complains when written, when flushed and again when closed."""

    class FullDisk:
        def tell(self) -> int:
            return 0

        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write_all() -> None:
        with ContainerWriter(tmp_path / "x.tw", "ids", 1) as writer:
            writer._file.close()
            writer._file = FullDisk()  # type: ignore[assignment]
            writer.write("one", "u1", [np.arange(3)])

    with pytest.raises(StorageError) as caught:
        write_all()
    assert dict(caught.value.facts) == {
        "path": tmp_path / "x.tw",
        "reason": os.strerror(errno.ENOSPC),
    }


def test_an_error_without_a_position_has_no_offset(tmp_path: Path) -> None:
    assert "offset" not in dict(corrupt(tmp_path, None, "this", "that").facts)


def test_storage_errors_prefer_the_path_the_system_names(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught, storage_errors(tmp_path):
        (tmp_path / "a" / "b").mkdir()
    assert dict(caught.value.facts)["path"] == str(tmp_path / "a" / "b")
