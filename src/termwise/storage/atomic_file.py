"""Atomic writes of files: a file with its final name is always complete.

The bytes go to ``.NAME.XXXXXXXX.tmp`` in the same folder (eight hexadecimal digits), which is synced and renamed at the
end. The writer holds a lock on its temporary file. A killed writer holds no lock, so the next write of the same file
removes its temporary file.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from termwise.errors import StorageError

TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")
"""Names of temporary files."""


@contextmanager
def written_whole(path: Path) -> Iterator[Callable[[str], object]]:
    """Open a file for an atomic write of UTF-8 text, and yield a function that writes the next piece.

    The file is compressed with gzip if its name ends in ``.gz``; equal text gives equal bytes also then. For the
    errors, see `write_bytes_whole`.
    """
    with _storage_errors(path), _whole(path) as raw, compressed(raw, path) as file:
        yield lambda text: file.write(text.encode())


@contextmanager
def bytes_written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for an atomic write of bytes, and yield it; for the errors, see `write_bytes_whole`."""
    with _storage_errors(path), _whole(path) as raw:
        yield raw


def write_bytes_whole(path: Path, data: bytes, *, follow_link: bool = True) -> None:
    """Write or replace a file atomically.

    If anything fails, the old file stays as it was, and `StorageError` is raised. A link is followed: its target is
    replaced, unless `follow_link` is False. A special file (``/dev/stdout``, a pipe) is written directly.
    """
    with _storage_errors(path), _whole(path, follow_link) as raw:
        raw.write(data)


def write_secret_whole(path: Path, data: bytes) -> None:
    """Write or replace a file of secrets atomically; for the errors, see `write_bytes_whole`.

    A new file can be read by its owner only, from its first byte. A file that is replaced keeps owner, group and mode.
    """
    with _storage_errors(path):
        target = Path(os.path.realpath(path))
        with _temporary(target, 0o600) as (raw, temporary):
            if target.exists():
                before = target.stat()
                os.fchown(raw.fileno(), before.st_uid, before.st_gid)
                os.fchmod(raw.fileno(), stat.S_IMODE(before.st_mode))
            raw.write(data)
            _sync(raw)
            temporary.replace(target)
            sync_folder(target.parent)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Let one process at a time change files of a folder; others wait. An error of the system is a `StorageError`."""
    with _storage_errors(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_synced(path: Path, data: bytes) -> None:
    """Create a file and flush it to the disk; an existing file or link is removed first. Raises `OSError`."""
    path.unlink(missing_ok=True)
    with path.open("xb") as raw:
        raw.write(data)
        _sync(raw)


def create_bytes_whole(path: Path, data: bytes) -> None:
    """Write a file atomically unless it exists; of several processes, one writes. Errors as `write_bytes_whole`.

    Read the file afterwards to get the written content. On a file system without hard links the last process writes.
    """
    with _storage_errors(path), _temporary(path) as (raw, temporary):
        raw.write(data)
        _sync(raw)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
        except OSError:
            temporary.replace(path)


def write_together(files: Iterable[tuple[Path, bytes]], *, last: Path) -> None:
    """Write several files that belong together; `last`, one of them, marks the set as complete.

    All are written to temporary files first. Then the old last file is removed, the others are renamed, and the new
    last file is renamed at the end. If writing fails before that, the old files stay as they were. An error of the
    system is raised as `StorageError`.
    """
    with ExitStack() as resources:
        ready: dict[Path, tuple[Path, Path]] = {}
        for path, data in files:
            with _storage_errors(path):
                target = Path(os.path.realpath(path))
                if target.is_dir():
                    raise IsADirectoryError(errno.EISDIR, "it is a folder")
                raw, temporary = resources.enter_context(_temporary(target))
                raw.write(data)
                _sync(raw)
                ready[path] = temporary, target
        with _storage_errors(last):
            ready[last][1].unlink(missing_ok=True)
        for path in (*(path for path in ready if path != last), last):
            with _storage_errors(path):
                temporary, target = ready[path]
                temporary.replace(target)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, if the file system supports it. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def lock_temporary(descriptor: int, path: Path) -> bool:
    """Lock a temporary file or folder that was just created; False if another process has removed it already."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks, where `remove_abandoned` removes nothing
    return is_open_file(descriptor, path)


def is_open_file(descriptor: int, path: Path) -> bool:
    """Return whether a path still refers to the file of a descriptor."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def remove_abandoned(folder: Path, names: re.Pattern[str]) -> None:
    """Remove temporary files and folders with these names whose writers no longer run."""
    with suppress(OSError):
        for path in [entry for entry in folder.iterdir() if names.fullmatch(entry.name)]:
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove(path)
                finally:
                    os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with its content, as far as the system permits."""
    if path.is_dir() and not path.is_symlink():
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def _whole(path: Path, follow_link: bool = True) -> Iterator[BinaryIO]:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if path.exists() and not path.is_file():
        with path.open("wb") as raw:
            yield raw
        return
    target = Path(os.path.realpath(path)) if follow_link else path
    with _temporary(target) as (raw, temporary):
        yield raw
        _sync(raw)
        temporary.replace(target)


@contextmanager
def _temporary(target: Path, mode: int = 0o666) -> Iterator[tuple[BinaryIO, Path]]:
    """Open a temporary file beside a file; it is removed at the end unless it was renamed."""
    remove_abandoned(target.parent, re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.tmp"))
    while True:
        temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
        try:
            with open(temporary, "xb", opener=partial(os.open, mode=mode)) as raw:
                if lock_temporary(raw.fileno(), temporary):
                    yield raw, temporary
                    return
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _sync(raw: BinaryIO) -> None:
    raw.flush()
    os.fsync(raw.fileno())


def compressed(raw: BinaryIO, path: Path) -> AbstractContextManager[BinaryIO]:
    """Return a file that compresses with gzip if the name of the path ends in ``.gz``, otherwise the given one."""
    if path.suffix != ".gz":
        return nullcontext(raw)
    packed = gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0)
    return cast(AbstractContextManager[BinaryIO], packed)


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            "a file cannot be written",
            facts=[("file", path), ("reason", error.strerror or str(error))],
            fixes=[f"check that {path.parent} exists, is writable and has free space"],
        ) from error
