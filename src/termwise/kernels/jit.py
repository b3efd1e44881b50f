"""Compilation of kernels with numba. This module does not import numba; the first kernel does."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import numpy.typing as npt

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Array: TypeAlias = npt.NDArray[Any]
"""An array; the docstring of the kernel states its type and shape."""

_callbacks: list[Callable[[], None]] = []

_compiling: list[float] = []
"""Start of each compilation that is running; kernels that a kernel calls are compiled inside of it."""

_finished = [0.0]
"""Seconds of all finished compilations."""


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a kernel: cached on disk, without the GIL, without fast-math, without parallel loops.

    Strict arithmetic in a fixed order gives the same bits on every machine. If neither the package nor the cache folder
    of the user can be written, or the disk is full, each process compiles the kernels itself. Processes may compile at
    the same time; see `use_unique_names`.
    """
    from numba import njit

    _listen_to_numba()
    try:
        made: Any = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder for the cache
        made = njit(nogil=True)(function)
    else:
        if hasattr(made, "_cache"):  # with NUMBA_DISABLE_JIT=1, it is the function itself
            use_unique_names(made._cache._cache_file)
            made._cache._guard_against_spurious_io_errors = partial(suppress, OSError)
    return cast(Callable[Parameters, Result], made)


@contextmanager
def on_compilation(callback: Callable[[], None]) -> Iterator[None]:
    """Call a function before the first compilation of a kernel in the block, possibly in another thread.

    A kernel from the cache is not compiled.
    """
    _callbacks.append(callback)
    try:
        yield
    finally:
        if callback in _callbacks:
            _callbacks.remove(callback)


def compilation_seconds() -> float:
    """Return the time that this process has spent on compiling kernels."""
    return _finished[0]


@cache
def _listen_to_numba() -> None:
    """Register a listener that calls the callbacks when numba compiles, and measures the time."""
    from numba.core.event import Listener, register

    class Compiling(Listener):
        def on_start(self, event: object) -> None:
            _compiling.append(time.perf_counter())
            while _callbacks:
                _callbacks.pop()()

        def on_end(self, event: object) -> None:
            begin = _compiling.pop()
            if not _compiling:
                _finished[0] += time.perf_counter() - begin

    register("numba:compile", Compiling())  # type: ignore[no-untyped-call]


def use_unique_names(file: Any) -> None:
    """Give each file of machine code in the cache of a kernel a unique name.

    numba numbers these files. Two processes that compile a kernel for different types at the same time use the same
    number, so the index of the cache may refer to the code of the other types. With unique names, at worst an entry of
    the index is lost and the kernel is compiled again.

    Parameters
    ----------
    file : numba.core.caching.IndexDataCacheFile
        Cache of one kernel; changed in place.
    """
    numbered = file._data_name

    def named(number: int) -> str:
        stem, dot, ending = numbered(number).rpartition(".")
        return f"{stem}.{secrets.token_hex(8)}{dot}{ending}"

    file._data_name = named
