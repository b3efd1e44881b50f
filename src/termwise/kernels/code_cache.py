"""Machine code of the kernels on disk: one file for each kernel, in a folder for all that the code depends on.

The name of the folder is a digest of the sources of the kernels, of the versions of Python, numpy, numba and llvmlite,
of the processor, and of the settings of numba. So code for something else is never read, and a new installation of the
same version finds the code of the old one. A file is the pickled code after a SHA-256 digest of the kernel's name and
this code. It is replaced as a whole: processes may compile at the same time, and a damaged file is compiled again.

The folder is in the first of these places that can be written: the one that the environment variable
``TERMWISE_CACHE`` names, the user's folder for caches, the folder for temporary files. A folder that other users can
write is left out, because unpickling runs code.
"""

from __future__ import annotations

import os
import pickle
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

VARIABLE = "TERMWISE_CACHE"

KEPT = 4
"""Number of folders of other versions that stay in a place when a new one is made."""

_DIGEST = 32


def uncompiled(names: Iterable[str]) -> list[str]:
    """Return the kernels without intact code in the first place that can be written, or in one before it."""
    folders = _folders()
    if (target := writable_folder()) is not None:
        folders = folders[: folders.index(target) + 1]
    return [name for name in names if not any(_data(folder, name) for folder in folders)]


def folder_of(name: str) -> Path | None:
    """Return the folder with intact code of a kernel; None if there is none."""
    return next((folder for folder in _folders() if _data(folder, name)), None)


def is_empty() -> bool:
    """Return whether no kernel has been compiled for this version and processor."""
    return not any(map(_is_private, _folders()))


def read_code(name: str) -> dict[str, Any]:
    """Return the code of a kernel by the text of its signature, empty if there is none that is intact."""
    for folder in _folders():
        if data := _data(folder, name):
            with suppress(Exception):  # of a class that cannot be found, for example
                code = pickle.loads(data)
                if isinstance(code, dict):
                    return code
    return {}


def write_code(name: str, code: dict[str, Any]) -> None:
    """Write the code of a kernel in the first place that can be written, if there is one."""
    from numba.core import serialize

    dumps: Any = serialize.dumps
    data = dumps(code)
    folder = writable_folder()
    if folder is None:
        return
    temporary = folder / f".{name}.{os.urandom(4).hex()}"
    with suppress(OSError):  # a full disk, for example
        try:
            temporary.write_bytes(_checksum(name, data) + data)
            temporary.replace(folder / name)
        finally:
            temporary.unlink(missing_ok=True)


def writable_folder() -> Path | None:
    """Return the folder for new code, which is made if it does not exist; None if no place can be written."""
    for folder in _folders():
        with suppress(OSError):
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(folder.parent):
                continue
            if not folder.is_dir():
                folder.mkdir(mode=0o700)
                _remove_old(folder.parent)
            if _is_own(folder) and os.access(folder, os.W_OK):
                return folder
    return None


def unused_place() -> Path | None:
    """Return the folder that `VARIABLE` names if it cannot hold compiled code, else None."""
    folder, given = writable_folder(), os.environ.get(VARIABLE)
    return Path(given) if given and (folder is None or folder.parent != Path(given)) else None


def places() -> Iterator[Path]:
    """Return the folders that can hold compiled code, in the order in which they are tried."""
    if given := os.environ.get(VARIABLE):
        yield Path(given)
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(user):  # not of a user without a home
        yield Path(user) / "termwise"
    import tempfile

    with suppress(OSError):
        yield Path(tempfile.gettempdir()) / f"termwise-{os.geteuid()}"


def _folders() -> list[Path]:
    return [place / f"kernels-{_key()}" for place in places()]


@cache
def _key() -> str:
    """Return the digest of everything that the code of the kernels depends on."""
    import llvmlite
    import numba
    import numpy as np
    from numba.core.registry import cpu_target

    sources = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    settings = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith("NUMBA_") and name not in ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")
    )
    processor = cpu_target.target_context.codegen().magic_tuple()
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    digest = sha256(repr((versions, processor, settings)).encode())
    for source in sources:
        digest.update(sha256(source).digest())
    return digest.hexdigest()[:16]


def _data(folder: Path, name: str) -> bytes:
    """Return the intact content of a file without its checksum; empty if there is none in a folder to be trusted."""
    if not _is_private(folder):
        return b""
    try:
        data = (folder / name).read_bytes()
    except OSError:
        return b""
    return data[_DIGEST:] if data[:_DIGEST] == _checksum(name, data[_DIGEST:]) else b""


def _checksum(name: str, data: bytes) -> bytes:
    return sha256(name.encode() + b"\0" + data).digest()


def _is_private(folder: Path) -> bool:
    """Return whether only this user and the administrator can write a folder and the one that it is in."""
    return _is_own(folder) and _is_own(folder.parent)


def _is_own(folder: Path) -> bool:
    """Return whether only this user and the administrator can write a folder."""
    try:
        found = folder.stat()
    except OSError:
        return False
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _remove_old(place: Path) -> None:
    """Remove the code of older versions, except the `KEPT` newest ones."""
    from shutil import rmtree

    with suppress(OSError):
        ours = [folder for folder in place.iterdir() if re.fullmatch("kernels-[0-9a-f]{16}", folder.name)]
        found = sorted(ours, key=lambda folder: folder.stat().st_mtime, reverse=True)
        for folder in found[KEPT + 1 :]:
            rmtree(folder, ignore_errors=True)
