"""Reads of untrusted files: regular files of limited length only."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path

from termwise.errors import MissingFileError
from termwise.fixes import Fix
from termwise.storage.manifest_json import Misfit

MAX_BYTES = (1 << 63) - 1
"""Largest length of any file in bytes."""

PERMISSIONS = ("check the path and the permissions of its folders",)
"""Fixes for a path that the system refuses to read."""

_SPECIAL = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)


def regular_size(path: Path, most: int = MAX_BYTES) -> int:
    """Return the length of a file in bytes without opening it; links are followed.

    Raises `OSError` if there is no such file, or the system refuses, and `Misfit` if it is not a regular file, or
    longer than `most` bytes.
    """
    return _checked_size(path.stat(), most)


def open_regular(path: Path, most: int = MAX_BYTES) -> BufferedReader:
    """Open a file for reading; raises what `regular_size` raises.

    A named pipe would block and a device may have no end, so neither is opened. The check is repeated on the open file,
    in case it was replaced in between.
    """
    regular_size(path, most)
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        _checked_size(os.fstat(file.fileno()), most)
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: Path, most: int) -> bytes:
    """Return the bytes of a file; raises what `regular_size` raises."""
    with open_regular(path, most) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def read_input(path: Path, most: int, message: str, *, fixes: Iterable[str | Fix] = ()) -> bytes:
    """Return the bytes of an input file of the user.

    If it does not exist, cannot be read, is not a regular file, or is longer than `most` bytes, `MissingFileError` is
    raised with `message`.
    """
    try:
        return read_regular(path, most)
    except OSError as error:
        raise MissingFileError.of(message, path, error, fixes=fixes) from error
    except Misfit as misfit:
        facts = [("file", path), ("expected", misfit.expected), ("seen", misfit.seen)]
        raise MissingFileError(message, facts=facts, fixes=fixes) from None


def path_exists(path: Path) -> bool:
    """Return whether a path exists; raise `MissingFileError` if the system refuses to look it up."""
    return _file_type(path) is not None


def is_file(path: Path) -> bool:
    """Return whether a path is a regular file; raise `MissingFileError` if the system refuses to look it up."""
    return _file_type(path) == stat.S_IFREG


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; raise `MissingFileError` if the system refuses to look it up."""
    return _file_type(path) == stat.S_IFDIR


def folder_entries(folder: Path) -> list[Path]:
    """Return the paths in a folder, sorted; raise `MissingFileError` if it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise MissingFileError.of("a folder cannot be read", folder, error, fixes=PERMISSIONS) from error


def _file_type(path: Path) -> int | None:
    """Return the file type of a path, links followed; None if there is no such path."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise MissingFileError.of("a path cannot be read", path, error, fixes=PERMISSIONS) from error
    except ValueError:  # a null character
        return None


def _checked_size(status: os.stat_result, most: int) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise Misfit("a regular file", _SPECIAL.get(stat.S_IFMT(status.st_mode), "a special file"))
    if status.st_size > most:
        raise Misfit(f"at most {most} bytes", status.st_size)
    return status.st_size
