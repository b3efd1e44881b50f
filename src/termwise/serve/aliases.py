"""Further names of the indexes of a service, in a file of the folder for new indexes.

All processes of a service read the file again when it changes. A change replaces it as a whole, so that the names of
one request change at once.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import final

from termwise.errors import TermwiseError
from termwise.index.folder import writer_lock
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.safe_read import read_regular

FILE = "aliases.json"

MOST_BYTES = 1 << 20
"""Bytes of the file."""

MOST_ALIASES = 1000
"""Further names of a service."""

LOCK_SECONDS = 10.0
"""Time that a change waits for those of other processes."""

logger = logging.getLogger("termwise.serve")


@final
class Aliases:
    """Further names of indexes.

    Parameters
    ----------
    folder : Path
        Folder of the file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / FILE
        self._signature: tuple[int, int, int] | None = None
        self._names: Mapping[str, str] = {}

    def current(self) -> Mapping[str, str]:
        """Return the index of each name; a file that cannot be read leaves those of before, and is logged."""
        try:
            found = os.stat(self._path)
            signature = found.st_mtime_ns, found.st_ino, found.st_size
        except OSError:
            self._signature, self._names = None, {}
            return self._names
        if signature != self._signature:
            try:
                self._names = _names(json.loads(read_regular(self._path, MOST_BYTES)))
            except (TermwiseError, ValueError, RecursionError) as error:
                logger.error("the aliases in %s cannot be read; those of before stay: %s", self._path, error)
            self._signature = signature
        return self._names

    @contextmanager
    def changing(self) -> Iterator[Callable[[Mapping[str, str]], None]]:
        """Hold off the changes of other processes, and yield a function that stores the index of each name.

        Raises
        ------
        IndexLockedError
            If another process holds them off for `LOCK_SECONDS`.
        """
        with writer_lock(self._folder, wait=LOCK_SECONDS):
            yield self._store

    def _store(self, names: Mapping[str, str]) -> None:
        data = json.dumps(dict(sorted(names.items())), indent=1).encode()
        write_bytes_whole(self._path, data, follow_link=False)


def _names(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise ValueError("the file is an object of names of indexes")
    return value
