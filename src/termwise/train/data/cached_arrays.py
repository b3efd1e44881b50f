"""Arrays that a run makes once and keeps in a file, to be read again when it goes on."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from termwise.errors import CorruptModelError
from termwise.train.messages import Say, first_line

_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    MemoryError,  # of a header that names a shape beyond reason
    zipfile.BadZipFile,
    zlib.error,
)

Arrays = Mapping[str, npt.NDArray[Any]]

_Made = TypeVar("_Made")


def keep(file: Path, arrays: Arrays) -> None:
    """Write arrays to a file that is there whole or not at all."""
    unfinished = file.with_suffix(".unfinished.npz")
    np.savez(unfinished, **arrays)  # type: ignore[arg-type]
    unfinished.replace(file)


def kept(file: Path, expected: Mapping[str, tuple[type[np.generic], int]]) -> Arrays:
    """Read arrays that `keep` wrote.

    Parameters
    ----------
    file : Path
    expected : mapping of str to (type, int)
        The kind of numbers and the number of axes of each array; there is to be no other.

    Raises
    ------
    CorruptModelError
        If the file is damaged, or holds something else; pickled objects are not read.
    """
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as found:
            if not isinstance(found, np.lib.npyio.NpzFile) or set(found.files) != set(expected):
                raise unlike(file, "it does not hold the arrays of this run")
            arrays = {name: found[name] for name in expected}
    except _UNREADABLE as error:
        raise unlike(file, first_line(error)) from error
    for name, (kind, axes) in expected.items():
        if arrays[name].ndim != axes or arrays[name].dtype != kind:
            raise unlike(file, f"{name} is {arrays[name].dtype} of shape {arrays[name].shape}")
    return arrays


def kept_or_made(file: Path, read: Callable[[], _Made], make: Callable[[], _Made], say: Say) -> _Made:
    """Read what a run has kept; make it where there is nothing, or again where it is damaged.

    What is made follows from the data and the settings alone, so making it again changes nothing.
    """
    if not file.exists():
        return make()
    try:
        return read()
    except CorruptModelError as error:
        say(f"warning: {file} is damaged and is made again: {dict(error.facts)['why']}")
        return make()


def unlike(file: Path, why: str) -> CorruptModelError:
    """Build the error for a file that does not hold what a run has kept in it."""
    return CorruptModelError(
        "a file that a training run keeps has been damaged, or is another one's",
        facts=[("file", file), ("why", why)],
        fixes=["remove it; --resume computes it again"],
    )
