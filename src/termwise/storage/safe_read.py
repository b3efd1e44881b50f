"""Reads of untrusted files: regular files of limited length only."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from termwise.storage.manifest_json import Misfit

MAX_BYTES = (1 << 63) - 1
"""Largest length of any file in bytes."""

_SPECIAL = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def regular_size(path: Path, most: int = MAX_BYTES) -> int:
    """Return the length of a file in bytes without opening it; links are followed.

    Raises
    ------
    OSError
        If there is no such file, or the system refuses.
    Misfit
        If it is not a regular file, or longer than `most` bytes.
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


def _checked_size(status: os.stat_result, most: int) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise Misfit("a regular file", _SPECIAL.get(stat.S_IFMT(status.st_mode), "a special file"))
    if status.st_size > most:
        raise Misfit(f"at most {most} bytes", status.st_size)
    return status.st_size
