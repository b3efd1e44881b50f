"""Reading files that others made: only regular ones, and none that is longer than it may be."""

from __future__ import annotations

import stat
from pathlib import Path

from termwise.storage.manifest_json import Misfit

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def regular_size(path: Path, most: int) -> int:
    """Return the length of a file in bytes, links followed; nothing is opened.

    Opening a pipe would wait for ever, and a device may have no end.

    Raises
    ------
    OSError
        If there is nothing, or the system refuses.
    Misfit
        If it is not a regular file, or longer than `most` bytes.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise Misfit("a regular file", _KINDS.get(stat.S_IFMT(found.st_mode), "something else"))
    if found.st_size > most:
        raise Misfit(f"at most {most} bytes", found.st_size)
    return found.st_size


def read_regular(path: Path, most: int) -> bytes:
    """Return what a file holds; see `regular_size`."""
    size = regular_size(path, most)
    with path.open("rb") as file:
        return file.read(size)
