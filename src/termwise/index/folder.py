"""The folder of an index: what may be in it, taking it for a build, and leaving it as it was."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from termwise.errors import ForeignFolderError, IndexExistsError, StorageError
from termwise.index import manifest as manifests
from termwise.index.container import storage_errors
from termwise.index.lock import NAME as LOCK
from termwise.index.manifest import BUILD, FILE, MAX_MANIFEST, Manifest
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular


def is_current(folder: Path, manifest: Manifest) -> bool:
    """Tell whether `manifest` is the published one; True where it cannot be read, so that nothing of it is removed."""
    try:
        return read_regular(folder / manifests.NAME, MAX_MANIFEST) == manifest.to_bytes()
    except FileNotFoundError:
        return False
    except (OSError, Misfit):
        return True


def remove_files(files: Iterable[Path]) -> None:
    """Remove files, as far as the system lets us."""
    for file in files:
        with suppress(OSError):
            file.unlink()


def remove_folders(folders: Iterable[Path]) -> None:
    """Remove those of some folders that are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def claim(path: Path, *, overwrite: bool) -> list[Path]:
    """Make the folder of an index where it is missing, and check that a build may have it.

    Returns
    -------
    list of Path
        The folders that were made, the innermost first.

    Raises
    ------
    ForeignFolderError, IndexExistsError
        As `check_free`; also if the path is a file.
    StorageError
        If the folder cannot be made or read.
    """
    with storage_errors(path):
        if not path.exists():
            missing = [path, *takewhile(lambda parent: not parent.exists(), path.parents)]
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError:
                remove_folders(missing)
                raise
            return missing
        if not path.is_dir():
            raise ForeignFolderError(
                "the output path is a file, an index is a folder",
                facts=[("path", path)],
                fixes=["choose another path"],
            )
    check_free(path, overwrite=overwrite)
    return []


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder with an index, unless it may be overwritten, or with anything foreign.

    Raises
    ------
    ForeignFolderError
        If it holds files that are not of an index; the facts name them.
    IndexExistsError
        If there is an index and `overwrite` is False.
    StorageError
        If the folder cannot be read.
    """
    try:
        names = {entry.name for entry in path.iterdir()}
        known = manifests.NAME in names and (
            manifests.FORMAT.encode() in read_regular(path / manifests.NAME, MAX_MANIFEST)
            or any(FILE.fullmatch(name) for name in names)  # a damaged index may be overwritten
        )
    except Misfit:  # a folder, a pipe or a device
        known = False
    except OSError as error:
        raise StorageError(
            "the output folder cannot be read", facts=[("path", path), ("reason", error.strerror)]
        ) from error
    ours = {name for name in names if name.startswith(BUILD) or FILE.fullmatch(name)}
    ours |= {LOCK, manifests.NEW} | ({manifests.NAME} if known else set())
    foreign = sorted(names - ours)
    if foreign:
        shown = ", ".join(foreign[:5]) + (", ..." if len(foreign) > 5 else "")
        raise ForeignFolderError(
            "the output folder holds files that are not an index; nothing was touched",
            facts=[("folder", path), ("found", shown)],
            fixes=["choose an empty or a new folder"],
        )
    if manifests.NAME in names and not overwrite:
        raise IndexExistsError(
            "the folder already holds an index",
            facts=[("folder", path)],
            fixes=["replace it with `overwrite=True`"],
        )
