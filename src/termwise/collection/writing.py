"""Writes a text file whole or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, cast

from termwise.errors import StorageError


@contextmanager
def written_whole(path: Path) -> Iterator[Callable[[str], object]]:
    """Open a file for writing UTF-8 text that appears under its name only once it is complete.

    The text goes to a temporary file in the same folder, which is synced and renamed at the end; if anything
    fails before, it is removed, and a file that was there stays as it was. What is not a regular file
    (``/dev/stdout``, a pipe) is written directly. Equal text gives equal bytes, also when compressed.

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
    scratch: Path | None = None
    try:
        if path.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        if path.exists() and not path.is_file():
            with path.open("wb") as raw, _sink(raw, path) as sink:
                yield lambda text: sink.write(text.encode())
            return
        target = Path(os.path.realpath(path))
        scratch = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
        with scratch.open("xb") as raw:
            with _sink(raw, path) as sink:
                yield lambda text: sink.write(text.encode())
            raw.flush()
            os.fsync(raw.fileno())
        scratch.replace(target)
    except OSError as error:
        raise StorageError(
            "a file cannot be written",
            facts=[("file", path), ("reason", error.strerror or str(error))],
            fixes=[f"check that {path.parent} exists, has room and lets you write"],
        ) from error
    finally:
        if scratch is not None:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)


def _sink(raw: BinaryIO, path: Path) -> AbstractContextManager[BinaryIO]:
    if path.suffix != ".gz":
        return nullcontext(raw)
    packed = gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0)
    return cast(AbstractContextManager[BinaryIO], packed)
