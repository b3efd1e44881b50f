"""Lock file that allows one writer of an index at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from termwise.errors import IndexLockedError, StorageError
from termwise.index.container import storage_errors

NAME = ".lock"


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the writer lock of `folder`; the system releases it when the process ends.

    The lock file is removed at the end. A lock file that a killed process left is harmless.

    Raises
    ------
    IndexLockedError
        If another writer holds it.
    StorageError
        If the lock file cannot be created, or is a link.
    """
    path = folder / NAME
    while True:
        descriptor = _lock(folder, path)
        try:
            if _is_current(descriptor, path):
                try:
                    yield
                finally:
                    with suppress(OSError):
                        path.unlink()
                return
            # Another writer finished and removed the file before it was locked here.
        finally:
            os.close(descriptor)


def _lock(folder: Path, path: Path) -> int:
    with storage_errors(path):
        if path.is_symlink():
            raise StorageError(
                "the lock file of the index is a link",
                facts=[("path", path), ("expected", "a regular file")],
                fixes=["remove it"],
            )
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    try:
        with storage_errors(path):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise IndexLockedError(
                    "another process is writing this index",
                    facts=[("index", folder)],
                    fixes=["wait until it has finished, or choose another folder"],
                ) from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
