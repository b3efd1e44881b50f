"""Ownership of folders: the record that names the work a folder belongs to, and the files it may hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from termwise.errors import ForeignFolderError, StorageError
from termwise.storage.atomic_file import create_bytes_whole
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular

MAX_RECORD = 1 << 24
"""Largest length of a record in bytes."""


def claim(path: Path, data: bytes, *, check_names: Callable[[Iterable[str]], None]) -> dict[str, Any] | None:
    """Claim a work folder: create it if missing, and write its record, the JSON file `path`, unless it has one.

    Several processes may claim the folder at once; one writes. `check_names` is called with the names in a folder
    without a record, and raises if one is foreign. The result is the record that the folder has now, None if it is
    damaged. A folder that cannot be used raises `StorageError`.
    """
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            names = [entry.name for entry in folder.iterdir()]
            if not path.exists():  # otherwise another process has claimed the folder meanwhile
                check_names(names)
            create_bytes_whole(path, data)
        return read_record(path)
    except OSError as error:
        raise StorageError(
            "the work folder cannot be used",
            facts=[("folder", folder), ("reason", error.strerror or str(error))],
            fixes=["choose another folder"],
        ) from error


def read_record(path: Path, most: int = MAX_RECORD) -> dict[str, Any] | None:
    """Return the record of a work folder, of at most `most` bytes; None if it is damaged. Raises `OSError`."""
    try:
        record = json.loads(read_regular(path, most))
    except (Misfit, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def check_names(folder: Path, names: Iterable[str], is_known: Callable[[str], bool], noun: str) -> None:
    """Raise `ForeignFolderError` if a folder holds names that do not belong to its purpose.

    `noun` is a noun for the purpose, with its article.
    """
    foreign = sorted(name for name in names if not is_known(name))
    if foreign:
        found = ", ".join(foreign[:5]) + (", ..." if len(foreign) > 5 else "")
        raise ForeignFolderError(
            f"the folder holds files that do not belong to {noun}; nothing was changed",
            facts=[("folder", folder), ("found", found)],
            fixes=["choose an empty or a new folder"],
        )


def missing_folders(folder: Path) -> list[Path]:
    """Return those of a folder and its parents that do not exist, innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of some folders that are empty, as far as the system permits."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
