"""How kernels are compiled: one decorator, one set of rules, and word of it to whoever waits.

numba is loaded by the first kernel, not by this module.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import numpy.typing as npt

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Array: TypeAlias = npt.NDArray[Any]
"""An array whose type and shape the docstring of the kernel states."""

_waiting: list[Callable[[], None]] = []


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a kernel: cached on disk, without the GIL, without fast-math, without parallel loops.

    Strict arithmetic in a fixed order gives the same bits on every machine. Where neither the package nor the
    user's cache folder can be written, kernels are compiled anew by every process. Processes may compile at the same
    time, see `name_apart`.
    """
    from numba import njit

    _hear_of_compiling()
    try:
        made: Any = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no place for the cache
        made = njit(nogil=True)(function)
    else:
        if hasattr(made, "_cache"):  # and not the function itself, as with NUMBA_DISABLE_JIT=1
            name_apart(made._cache._cache_file)
    return cast(Callable[Parameters, Result], made)


@contextmanager
def told_of_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call a function once, when the first kernel is compiled while the block runs.

    A kernel whose machine code is read from the cache is not compiled.

    Parameters
    ----------
    tell : callable
        Called before the kernel is compiled, perhaps in another thread.
    """
    _waiting.append(tell)
    try:
        yield
    finally:
        if tell in _waiting:
            _waiting.remove(tell)


@cache
def _hear_of_compiling() -> None:
    """Have numba say when it compiles."""
    from numba.core.event import Listener, register

    class Compiling(Listener):
        def on_start(self, event: object) -> None:
            while _waiting:
                _waiting.pop()()

        def on_end(self, event: object) -> None:
            pass

    register("numba:compile", Compiling())  # type: ignore[no-untyped-call]


def name_apart(file: Any) -> None:
    """Give each file of machine code that numba caches a name of its own.

    numba numbers the files of a kernel by the index it has read. Of two processes that compile it for different types
    at the same time, both take the same number: the file holds the code of one, the index may name it for the other,
    and who reads the cache later computes nonsense. With names of their own, what is lost is an entry of the index,
    and a kernel is compiled once more.

    Parameters
    ----------
    file : numba.core.caching.IndexDataCacheFile
        The cache of one kernel; changed in place.
    """
    numbered = file._data_name

    def named(number: int) -> str:
        stem, dot, ending = numbered(number).rpartition(".")
        return f"{stem}.{secrets.token_hex(8)}{dot}{ending}"

    file._data_name = named
