"""Atomic writes of text and bytes."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from termwise.errors import StorageError
from termwise.storage.atomic_file import create_bytes_whole, write_bytes_whole, write_together, written_whole


def write_text(path: Path, data: bytes) -> None:
    with written_whole(path) as write:
        write(data.decode())


WAYS = pytest.mark.parametrize("write", [write_text, write_bytes_whole])
Write = Callable[[Path, bytes], None]


@WAYS
def test_files_are_replaced_whole(tmp_path: Path, write: Write) -> None:
    write(tmp_path / "a", b"one")
    write(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"two"
    (tmp_path / "b").mkdir()
    with pytest.raises(StorageError, match="cannot be written"):
        write(tmp_path / "b", b"one")
    with pytest.raises(StorageError):
        write(tmp_path / "none" / "a", b"one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@WAYS
def test_links_are_followed(tmp_path: Path, write: Write) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"one")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "a")
    write(tmp_path / "link", b"two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a").read_bytes() == b"two"
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["a"]


@WAYS
def test_pipes_are_written_directly(tmp_path: Path, write: Write) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    write(tmp_path / "pipe", b"one")
    reader.join(10)
    assert read == [b"one"]


def test_an_interrupted_write_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    with suppress(KeyboardInterrupt), written_whole(tmp_path / "a") as write:
        write("tw")
        raise KeyboardInterrupt
    assert (tmp_path / "a").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_only_text_is_compressed_by_name(tmp_path: Path) -> None:
    write_text(tmp_path / "text.gz", b"one")
    write_bytes_whole(tmp_path / "bytes.gz", b"one")
    assert gzip.decompress((tmp_path / "text.gz").read_bytes()) == b"one"
    assert (tmp_path / "bytes.gz").read_bytes() == b"one"


def test_the_first_of_several_creates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_bytes_whole(tmp_path / "a", b"one")
    create_bytes_whole(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"one"
    with pytest.raises(StorageError):
        create_bytes_whole(tmp_path / "none" / "a", b"one")

    def refuse(*_: object) -> None:
        raise PermissionError(1, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    create_bytes_whole(tmp_path / "b", b"one")
    assert (tmp_path / "b").read_bytes() == b"one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_several_files_are_replaced_together(tmp_path: Path) -> None:
    first, last = tmp_path / "first", tmp_path / "last"
    write_together([(last, b"1"), (first, b"1")], last=last)
    assert (first.read_bytes(), last.read_bytes()) == (b"1", b"1")
    (tmp_path / "folder").mkdir()

    def fails():
        yield first, b"2"
        yield last, b"2"
        yield tmp_path / "folder", b"2"

    with pytest.raises(StorageError, match="cannot be written"):
        write_together(fails(), last=last)
    assert (first.read_bytes(), last.read_bytes()) == (b"1", b"1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "folder", "last"]
