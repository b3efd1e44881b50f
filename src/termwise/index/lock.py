"""One writer at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from termwise.errors import IndexLockedError
from termwise.index.container import storage_errors

NAME = ".lock"


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the writer's lock of `folder`; the system lets go of it when the process ends, however it ends.

    Raises
    ------
    IndexLockedError
        If another process holds it.
    """
    path = folder / NAME
    with storage_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise IndexLockedError(
                "another process is writing this index",
                facts=[("index", folder)],
                fixes=["wait until it has finished, or choose another folder with --out"],
            ) from None
        yield
    finally:
        os.close(descriptor)
