"""One writer at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from termwise.errors import IndexLockedError
from termwise.index.container import storage_errors

NAME = ".lock"


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the writer's lock of `folder`; the system lets go of it when the process ends, however it ends.

    The lock file is removed with the lock; one that a killed process left behind does no harm.

    Raises
    ------
    IndexLockedError
        If another writer holds it.
    StorageError
        If the lock cannot be made.
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
            # Another writer was done, and removed the file, between our opening and our locking it.
        finally:
            os.close(descriptor)


def _lock(folder: Path, path: Path) -> int:
    with storage_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with storage_errors(path):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise IndexLockedError(
                    "another process is writing this index",
                    facts=[("index", folder)],
                    fixes=["wait until it has finished, or choose another folder with --out"],
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
