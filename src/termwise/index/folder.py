"""Folder of an index that is written: names it may hold, publication of manifests, the lock, and removal of files."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from termwise.errors import (
    ForeignFolderError,
    IndexExistsError,
    IndexLockedError,
    ParameterError,
    StorageError,
)
from termwise.fixes import Fix
from termwise.index.container import storage_errors
from termwise.index.manifest import BUILD, FILE, FORMAT, MAX_MANIFEST, NAME, NEW, Manifest
from termwise.storage.atomic_file import is_open_file, remove, sync_folder, write_synced
from termwise.storage.folder_path import FolderPath
from termwise.storage.manifest_json import Misfit
from termwise.storage.model_folder import MIXTURE, kind_of
from termwise.storage.ownership import check_names, missing_folders, remove_empty
from termwise.storage.safe_read import read_regular

LOCK = ".lock"

LOCK_PAUSE = 0.005
"""Seconds between two attempts to get the lock."""


class FolderWriter:
    """Base class of the writers of a folder; a context manager that closes the writer."""

    _folder: FolderPath
    _resources: ExitStack
    _closed = False

    @property
    def path(self) -> Path:
        """Folder of the index or mixture; see `Index.path`."""
        return self._folder.current

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove temporary files and the lock; what is not committed is lost."""
        self._closed = True
        self._resources.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ParameterError(
                "this writer is closed", facts=[("index", self.path)], fixes=["open another writer"]
            )


def claim(path: Path, noun: str, check_free: Callable[[], None]) -> list[Path]:
    """Create the folder of an index or a mixture if it is missing, or call `check_free`.

    The result are the folders that were created, the innermost first. A path of a file raises `ForeignFolderError`, a
    folder that cannot be created `StorageError`.
    """
    with storage_errors(path):
        if not path.exists():
            missing = missing_folders(path)
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError:
                remove_empty(missing)
                raise
            return missing
        if not path.is_dir():
            raise ForeignFolderError(
                f"the output path is a file, but {noun} is a folder",
                facts=[("path", path)],
                fixes=["choose another path"],
            )
    check_free()
    return []


@contextmanager
def reading_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the block, which looks at what the folder of a build holds, into a `StorageError`."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            "the output folder cannot be read", facts=[("path", path), ("reason", error.strerror)]
        ) from error


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder with files that do not belong to an index, or with an index that may not be overwritten."""
    with reading_errors(path):
        names = {entry.name for entry in path.iterdir()}
        try:
            own_manifest = NAME in names and (
                FORMAT.encode() in read_regular(path / NAME, MAX_MANIFEST)
                or any(FILE.fullmatch(name) for name in names)  # a damaged index may be overwritten
            )
        except Misfit:  # a folder, a pipe or a device
            own_manifest = False
    kind = kind_of(path)
    if kind is not None and kind.manifest == MIXTURE:
        raise ForeignFolderError(
            f"the folder is {kind.noun}, not an index; nothing was changed",
            facts=[("folder", path), ("found", kind.manifest)],
            fixes=["choose another folder", "remove the mixture first"],
        )
    known = {LOCK, NEW, NAME} if own_manifest else {LOCK, NEW}
    check_names(
        path,
        names,
        lambda name: name in known or name.startswith(BUILD) or FILE.fullmatch(name) is not None,
        "an index",
    )
    if own_manifest and not overwrite:
        raise IndexExistsError(
            "the folder already holds an index",
            facts=[("folder", path)],
            fixes=[Fix.use("replace it with {}", overwrite=True)],
        )


def make_build_folder(path: Path) -> Path:
    """Create the folder for the files of a build, after removing those of killed builds."""
    with storage_errors(path):
        for abandoned in path.glob(f"{BUILD}*"):
            remove(abandoned)
        return Path(tempfile.mkdtemp(prefix=BUILD, dir=path.absolute()))


def publish(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest of `folder` in one atomic step that survives a crash."""
    try:
        _stage(folder, manifest)
        publish_staged(folder)
    except BaseException:
        remove_files([folder / NEW])
        raise


def _stage(folder: Path, manifest: Manifest) -> None:
    """Write a manifest to ``manifest.json.new`` and flush it to the disk; `publish_staged` makes it the current one."""
    with storage_errors(folder / NEW):
        write_synced(folder / NEW, manifest.to_bytes())


def publish_staged(folder: Path) -> None:
    """Replace the manifest of `folder` by the one beside it."""
    with storage_errors(folder / NEW):
        (folder / NEW).replace(folder / NAME)
    with storage_errors(folder):
        sync_folder(folder)


def staged_manifest(folder: Path, sha256: str) -> Manifest | None:
    """Return the manifest beside the published one; None if there is none with this SHA-256."""
    try:
        data = read_regular(folder / NEW, MAX_MANIFEST)
    except (OSError, Misfit):
        return None
    return Manifest.parse(data, folder / NEW) if hashlib.sha256(data).hexdigest() == sha256 else None


def publish_files(path: Path, folder: Path, manifest: Manifest, *, created: Sequence[Path] = ()) -> None:
    """Move new files into an index folder, publish the manifest that names them, and remove files without a use.

    `folder` has the new files; files of the manifest that it lacks are in `path` already. `created` are the folders
    that the build created. Files that cannot be removed now are removed by the next build. If an error occurs before
    the manifest is published, the new files are removed.
    """
    new = stage_files(path, folder, manifest)
    try:
        for parent in created:
            with suppress(OSError):  # a folder that may be written but not read
                sync_folder(parent.parent)
        publish_staged(path)
    finally:
        if not is_current(path, manifest):
            remove_files(new)
    remove_unused(path, manifest)


def stage_files(path: Path, folder: Path, manifest: Manifest) -> list[Path]:
    """Move new files into an index folder, and write the manifest that names them beside the published one.

    The result are the new files, which are to be removed unless the manifest is published; in case of an error, they
    are removed here.
    """
    new = [path / NEW]
    try:
        with storage_errors(path):
            for name in sorted({file.name for file in manifest.files()}):
                target = path / name
                if (folder / name).exists():
                    if not target.exists():
                        new.append(target)
                    (folder / name).replace(target)
        _stage(path, manifest)
        with storage_errors(path):
            sync_folder(path)
    except BaseException:
        remove_files(new)
        raise
    return new


def remove_unused(path: Path, manifest: Manifest) -> None:
    """Remove the files of an index folder that a published manifest does not need, as far as the system permits."""
    kept = {file.name for file in manifest.files()}
    kept |= {name.replace("vectors-", "graph-") for name in kept if name.startswith("vectors-")}
    with suppress(OSError):
        remove_files(file for file in path.iterdir() if FILE.fullmatch(file.name) and file.name not in kept)


@contextmanager
def writer_lock(folder: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of the only writer of an index; the system releases it when the process ends.

    The lock file is removed at the end. A lock file that a killed process left is harmless. If another writer holds the
    lock for `wait` seconds, `IndexLockedError` is raised.
    """
    path = (folder / LOCK).absolute()
    deadline = time.monotonic() + wait
    while True:
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
                    if time.monotonic() < deadline:
                        time.sleep(LOCK_PAUSE)
                        continue
                    raise IndexLockedError(
                        "another process is writing this index",
                        facts=[("index", folder), *_writer_facts(descriptor)],
                        fixes=["wait until it has finished, or choose another folder"],
                    ) from None
            if not is_open_file(descriptor, path):
                continue  # another writer has finished and removed the file in the meantime
            try:
                with storage_errors(path):
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, str(os.getpid()).encode())
                yield
            finally:
                with suppress(OSError):
                    path.unlink()
            return
        finally:
            os.close(descriptor)


def _writer_facts(descriptor: int) -> list[tuple[str, str]]:
    """Return the process of the writer that holds the lock, and since when, as far as the lock file tells."""
    with suppress(OSError, ValueError):
        process = int(os.pread(descriptor, 20, 0))
        minutes = max(0.0, time.time() - os.fstat(descriptor).st_mtime) / 60
        return [("writer", f"process {process}, for {minutes:.0f} minutes")]
    return []


def is_current(folder: Path, manifest: Manifest) -> bool:
    """Return whether `manifest` is the published one; True if it cannot be read, so that no file of it is removed."""
    try:
        return read_regular(folder / NAME, MAX_MANIFEST) == manifest.to_bytes()
    except FileNotFoundError:
        return False
    except (OSError, Misfit):
        return True


def remove_files(files: Iterable[Path]) -> None:
    """Remove files, as far as the system permits."""
    for file in files:
        with suppress(OSError):
            file.unlink()
