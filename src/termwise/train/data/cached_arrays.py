"""Cache of computed arrays in the folder of a run."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from termwise.errors import CorruptModelError
from termwise.fixes import Fix
from termwise.progress import Say
from termwise.storage.safe_read import path_exists
from termwise.train.library_errors import first_line

_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    MemoryError,  # a header with a shape that exceeds the memory
    zipfile.BadZipFile,
    zlib.error,
)

Arrays = Mapping[str, npt.NDArray[Any]]

_Value = TypeVar("_Value")


def save_arrays(file: Path, arrays: Arrays) -> None:
    """Write arrays to a file atomically."""
    unfinished = file.with_suffix(".unfinished.npz")
    np.savez(unfinished, **arrays)  # type: ignore[arg-type]
    unfinished.replace(file)


def load_arrays(file: Path, expected: Mapping[str, tuple[type[np.generic], int]]) -> Arrays:
    """Read arrays that `save_arrays` wrote; `expected` has the dtype and the number of axes of each."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile) or set(archive.files) != set(expected):
                raise corrupt_cache(file, "it does not contain the arrays of this run")
            arrays = {name: archive[name] for name in expected}
    except _UNREADABLE as error:
        raise corrupt_cache(file, first_line(error)) from error
    for name, (dtype, axes) in expected.items():
        if arrays[name].ndim != axes or arrays[name].dtype != dtype:
            raise corrupt_cache(file, f"{name} is {arrays[name].dtype} of shape {arrays[name].shape}")
    return arrays


def load_or_compute(
    file: Path, load: Callable[[], _Value], compute: Callable[[], _Value], say: Say
) -> _Value:
    """Load a cached value, or compute it if there is no file or the file is damaged.

    The value depends on data and settings only, so a second computation gives the same value.
    """
    if not path_exists(file):
        return compute()
    try:
        return load()
    except CorruptModelError as error:
        say(f"warning: {file} is damaged and is computed again: {dict(error.facts)['reason']}")
        return compute()


def corrupt_cache(file: Path, reason: str) -> CorruptModelError:
    """Return the error for a cache file with other contents than the run needs."""
    return CorruptModelError(
        "a cache file of the training run is damaged or belongs to another run",
        facts=[("file", file), ("reason", reason)],
        fixes=[Fix.use("remove it; {} computes it again", resume=True)],
    )
