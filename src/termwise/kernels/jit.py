"""Compilation of kernels with numba, which is imported when a kernel first needs it."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy.typing as npt

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Array: TypeAlias = "npt.NDArray[Any]"
"""An array; the docstring of the kernel states its type and shape."""

PLAIN_SECONDS = 0.5
"""Time that plain functions may take in a process before numba is imported; the import takes about as long."""

kernels: list[Kernel[..., Any]] = []
"""All kernels of the modules that are imported."""

_callbacks: list[Callable[[], None]] = []

_compiling: list[float] = []
"""Start of each compilation that is running; kernels that a kernel calls are compiled inside of it."""

_finished = [0.0]
"""Seconds of all finished compilations."""

_extensions: list[Callable[[], None]] = []
"""Functions to call when numba is imported."""

_lock = threading.RLock()

_loaded = False

_plain_seconds = 0.0
"""Seconds of all calls of plain functions."""


class Kernel(Generic[Parameters, Result]):
    """Function that numba compiles when it is first called.

    The code is cached on disk, and runs without the GIL, without fast-math, without parallel loops: strict arithmetic
    in a fixed order gives the same bits on every machine. If neither the package nor the cache folder of the user can
    be written, or the disk is full, each process compiles the kernels itself. Processes may compile at the same time;
    see `use_unique_names`.

    Parameters
    ----------
    function : callable
    plain : callable, optional
        Function with the same arguments and results that needs no numba. It is called until numba is imported for
        other reasons, or such calls have taken `PLAIN_SECONDS`: so a process with one query ends before numba would
        be imported. It also takes over if numba cannot compile.
    """

    def __init__(
        self,
        function: Callable[Parameters, Result],
        plain: Callable[Parameters, Result] | None = None,
    ) -> None:
        self.py_func, self.plain = function, plain
        self._call: Callable[Parameters, Result] = self._first if plain is None else self._plainly
        update_wrapper(self, function)
        kernels.append(self)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Return the result of the function."""
        return self._call(*args, **kwargs)

    @cached_property
    def compiled(self) -> Any:
        """The dispatcher of numba."""
        load()
        from numba import njit

        made: Any
        with _lock:
            try:
                made = njit(cache=True, nogil=True)(self.py_func)
            except RuntimeError:  # no folder for the cache
                return njit(nogil=True)(self.py_func)
            if hasattr(made, "_cache"):  # with NUMBA_DISABLE_JIT=1, it is the function itself
                use_unique_names(made._cache._cache_file)
                made._cache._guard_against_spurious_io_errors = partial(suppress, OSError)
        return made

    def _first(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        result: Result = self.compiled(*args, **kwargs)
        self._call = self.compiled
        return result

    def _plainly(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        global _plain_seconds
        assert self.plain is not None
        if _loaded or "numba" in sys.modules or _plain_seconds > PLAIN_SECONDS:
            try:
                return self._first(*args, **kwargs)
            except MemoryError:
                raise
            except Exception as error:  # of numba or of its cache: kernels raise none
                reason = f"{type(error).__name__}: {error}"
                warnings.warn(
                    f"numba cannot be used, searches are slower: {reason}", RuntimeWarning, stacklevel=3
                )
                self._call = self.plain
        begin = time.perf_counter()
        result = self.plain(*args, **kwargs)
        _plain_seconds += time.perf_counter() - begin
        return result


def compiled(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Make a kernel of a function."""
    return Kernel(function)


def compiled_or(
    plain: Callable[Parameters, Result],
) -> Callable[[Callable[Parameters, Result]], Kernel[Parameters, Result]]:
    """Make a kernel of a function that `plain` replaces while numba is not imported."""
    return partial(Kernel, plain=plain)


def on_load(function: Callable[[], None]) -> Callable[[], None]:
    """Call a function when numba is imported, before the first kernel is compiled."""
    _extensions.append(function)
    return function


def load() -> None:
    """Import numba, so that every kernel is compiled at its next call."""
    global _loaded
    with _lock:
        if _loaded:
            return
        from numba import types
        from numba.extending import typeof_impl

        def typeof_kernel(kernel: Kernel[..., Any], context: object) -> Any:
            return types.Dispatcher(kernel.compiled)

        typeof_impl.register(Kernel, typeof_kernel)
        _listen_to_numba()
        for extend in _extensions:
            extend()
        _loaded = True


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
    import secrets

    numbered = file._data_name

    def named(number: int) -> str:
        stem, dot, ending = numbered(number).rpartition(".")
        return f"{stem}.{secrets.token_hex(8)}{dot}{ending}"

    file._data_name = named
