"""Files of bytes that appear under their names only once they are complete."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from termwise.errors import StorageError


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: to a temporary file beside it, synced and renamed.

    Parameters
    ----------
    path : Path
        Where to write; a file that is there is replaced.
    data : bytes
        What it is to hold.

    Raises
    ------
    StorageError
        If the folder does not exist or refuses, or the disk is full; a file that was there stays as it was.
    """
    scratch = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        try:
            with scratch.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        finally:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            "a file cannot be written",
            facts=[("file", path), ("reason", error.strerror or str(error))],
            fixes=[f"check that {path.parent} exists, has room and lets you write"],
        ) from error
