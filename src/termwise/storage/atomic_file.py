"""Writes files whole or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, cast

from termwise.errors import StorageError


@contextmanager
def written_whole(path: Path) -> Iterator[Callable[[str], object]]:
    """Open a file for writing UTF-8 text that appears under its name only once it is complete.

    Equal text gives equal bytes, also when compressed. For the rest see `write_bytes_whole`.

    Parameters
    ----------
    path : Path
        Where to write; compressed with gzip if the name ends in ``.gz``.

    Yields
    ------
    callable
        Takes the next piece of text.

    Raises
    ------
    StorageError
        If the folder does not exist or refuses, or the disk is full.
    """
    with _storage_errors(path), _whole(path) as raw, _sink(raw, path) as sink:
        yield lambda text: sink.write(text.encode())


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Write a file of bytes that appears under its name only once it is complete.

    The bytes go to a temporary file in the same folder, which is synced and renamed at the end; if anything fails
    before, it is removed, and a file that was there stays as it was. A link is followed: the file it leads to is
    replaced. What is not a regular file (``/dev/stdout``, a pipe) is written directly.

    Parameters
    ----------
    path : Path
        Where to write; a file that is there is replaced.
    data : bytes
        What it is to hold.

    Raises
    ------
    StorageError
        If the folder does not exist or refuses, or the disk is full.
    """
    with _storage_errors(path), _whole(path) as raw:
        raw.write(data)


def create_bytes_whole(path: Path, data: bytes) -> None:
    """Write a file of bytes as `write_bytes_whole` does, unless there is one: of several processes, one writes.

    A file that is there is left as it is; read it to learn whose it is. Where the file system knows no hard links,
    the last of several processes writes.

    Raises
    ------
    StorageError
        If the folder does not exist or refuses, or the disk is full.
    """
    with _storage_errors(path), _scratch(path) as (raw, scratch):
        raw.write(data)
        _sync(raw)
        try:
            os.link(scratch, path)
        except FileExistsError:
            return
        except OSError:
            scratch.replace(path)


def write_together(files: Iterable[tuple[Path, bytes]], *, last: Path) -> None:
    """Write several files, of which the last says that the others are there and belong together.

    All of them are written beside their places first. Only then the last one is taken away, the others are renamed, and
    the last one after them: if anything fails before, what was there stays as it was.

    Parameters
    ----------
    files : iterable of (Path, bytes)
        Where to write, and what; `last` is one of them.
    last : Path

    Raises
    ------
    StorageError
        If a folder does not exist or refuses, or the disk is full.
    """
    with ExitStack() as staged:
        ready: dict[Path, tuple[Path, Path]] = {}
        for path, data in files:
            with _storage_errors(path):
                target = Path(os.path.realpath(path))
                if target.is_dir():
                    raise IsADirectoryError(21, "it is a folder")
                raw, scratch = staged.enter_context(_scratch(target))
                raw.write(data)
                _sync(raw)
                raw.close()
                ready[path] = scratch, target
        with _storage_errors(last):
            ready[last][1].unlink(missing_ok=True)
        for path in (*(path for path in ready if path != last), last):
            with _storage_errors(path):
                scratch, target = ready[path]
                scratch.replace(target)


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    if path.is_dir():
        raise IsADirectoryError(21, "it is a folder")
    if path.exists() and not path.is_file():
        with path.open("wb") as raw:
            yield raw
        return
    target = Path(os.path.realpath(path))
    with _scratch(target) as (raw, scratch):
        yield raw
        _sync(raw)
        scratch.replace(target)


@contextmanager
def _scratch(target: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Open a temporary file beside another; it is gone afterwards, unless it was renamed."""
    scratch = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
    try:
        with scratch.open("xb") as raw:
            yield raw, scratch
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)


def _sync(raw: BinaryIO) -> None:
    raw.flush()
    os.fsync(raw.fileno())


def _sink(raw: BinaryIO, path: Path) -> AbstractContextManager[BinaryIO]:
    if path.suffix != ".gz":
        return nullcontext(raw)
    packed = gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0)
    return cast(AbstractContextManager[BinaryIO], packed)


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            "a file cannot be written",
            facts=[("file", path), ("reason", error.strerror or str(error))],
            fixes=[f"check that {path.parent} exists, has room and lets you write"],
        ) from error
