"""Files that are too short, too long, missing, or of another kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from termwise.errors import (
    CorruptIndexError,
    DataError,
    IndexFormatError,
    MissingFileError,
    NewerFormatError,
    NotAnIndexError,
)
from termwise.index import Index, verify


def lengths(size: int) -> list[int]:
    """Return lengths at each boundary of 64 bytes and at other places."""
    odd = [1, 7, 8, 15, 47, 49, 63, 65, size // 2, size // 3, size - 2, size - 1]
    return sorted({n for n in [*range(0, size, 64), *odd] if 0 <= n < size})


def test_a_truncated_file_is_named_with_the_offset_where_it_ends(golden: Path) -> None:
    for path in sorted(golden.glob("*-*")):
        data = path.read_bytes()
        for length in lengths(len(data)):
            path.write_bytes(data[:length])
            with pytest.raises(CorruptIndexError) as caught:
                Index.open(golden)
            facts = dict(caught.value.facts)
            assert (facts["file"], facts["offset"]) == (path, length)
            (damage,) = verify(golden)
            assert (damage.file, damage.offset) == (path.name, length)
        for extra in (1, 64):
            path.write_bytes(data + bytes(extra))
            with pytest.raises(CorruptIndexError) as caught:
                Index.open(golden)
            assert dict(caught.value.facts)["offset"] == len(data)
        path.write_bytes(data)
    assert verify(golden) == []


def test_a_truncated_manifest(impacts: Path) -> None:
    path = impacts / "manifest.json"
    data = path.read_bytes()
    for length in {*range(0, len(data), 7), *range(len(data) - 100, len(data))}:
        path.write_bytes(data[:length])
        with pytest.raises(CorruptIndexError) as caught:
            Index.open(impacts)
        facts = dict(caught.value.facts)
        assert facts["file"] == path
        assert 0 <= facts["offset"] <= length
    path.write_bytes(data + b"\n")
    with pytest.raises(CorruptIndexError):
        Index.open(impacts)


def test_a_missing_file(golden: Path) -> None:
    for path in sorted(golden.glob("*-*")):
        data = path.read_bytes()
        path.unlink()
        with pytest.raises(MissingFileError) as caught:
            Index.open(golden)
        assert dict(caught.value.facts)["file"] == path
        (damage,) = verify(golden)
        assert (damage.file, damage.offset) == (path.name, None)
        path.mkdir()
        with pytest.raises(MissingFileError):
            Index.open(golden)
        path.rmdir()
        path.write_bytes(data)


def test_a_foreign_file_with_the_name_of_an_index_file(golden: Path) -> None:
    for path in sorted(golden.glob("*.tw")):
        data = path.read_bytes()
        path.write_bytes(b"\x89PNG\r\n\x1a\n".ljust(len(data), b"\0"))
        with pytest.raises(NotAnIndexError) as caught:
            Index.open(golden)
        assert dict(caught.value.facts)["file"] == path
        assert [damage.file for damage in verify(golden)] == [path.name]
        path.write_bytes(data)


def test_a_newer_file(impacts: Path) -> None:
    for path in sorted(impacts.glob("*.tw")):
        data = path.read_bytes()
        path.write_bytes(data[:8] + (4).to_bytes(4, "little") + data[12:])
        with pytest.raises(NewerFormatError) as caught:
            Index.open(impacts)
        facts = dict(caught.value.facts)
        assert (facts["file"], facts["format"], facts["known here"]) == (path, 4, 3)
        assert caught.value.fixes == ("install a newer version of termwise",)
        path.write_bytes(data)


def test_a_newer_manifest_is_not_called_damaged(impacts: Path) -> None:
    path = impacts / "manifest.json"
    path.write_text('{"format": "termwise-index", "version": 7, "anything": "else"}')
    for ask in (Index.open, verify):
        with pytest.raises(NewerFormatError) as caught:
            ask(impacts)
        assert dict(caught.value.facts)["file"] == path


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (None, NotAnIndexError),
        (b"", CorruptIndexError),
        (b"\0" * 1000, CorruptIndexError),
        (b'{"name": "a web page", "icons": []}', NotAnIndexError),
        (b"[1, 2, 3]", NotAnIndexError),
        (b"null", NotAnIndexError),
        (b'{"format": "parquet", "version": 1}', NotAnIndexError),
    ],
)
def test_a_folder_that_is_not_an_index(
    tmp_path: Path, content: bytes | None, kind: type[IndexFormatError]
) -> None:
    (tmp_path / "notes.txt").touch()
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    for ask in (Index.open, verify):
        with pytest.raises(kind) as caught:
            ask(tmp_path)
        assert isinstance(caught.value, DataError)
        assert str(tmp_path) in caught.value.render()


def test_an_index_without_its_manifest(impacts: Path) -> None:
    (impacts / "manifest.json").unlink()
    with pytest.raises(NotAnIndexError) as caught:
        Index.open(impacts)
    assert dict(caught.value.facts)["missing"] == "manifest.json"
    assert caught.value.fixes


def test_an_index_can_be_moved_and_copied(impacts: Path, tmp_path: Path) -> None:
    there = Path(shutil.move(impacts, tmp_path / "somewhere else ü"))
    assert verify(there) == []
    assert len(Index.open(there)) == 3
