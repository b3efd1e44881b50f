"""Compilation of kernels with numba, which is imported when a kernel first needs it.

A kernel states the types of its arguments, one signature for each combination that occurs. All signatures are compiled
together, once for a version and a processor (see `code_cache`), and nothing else is ever compiled: other types are a
`TypeError`. So the kernels in `kernels` are all code that `termwise warm` has to compile.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial, update_wrapper
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy.typing as npt

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Array: TypeAlias = "npt.NDArray[Any]"
"""An array; the signatures and the docstring of the kernel state its type and shape."""

PLAIN_SECONDS = 0.5
"""Time that plain functions may take in a process before numba is imported; the import takes about as long."""

kernels: list[Kernel[..., Any]] = []
"""All kernels of the modules that are imported."""

_callbacks: list[Callable[[], None]] = []

compiled_names: list[str] = []
"""Name of the kernel of each signature that this process has compiled."""

_compiling = [0.0]
"""Seconds that this process has spent on it."""

_extensions: list[Callable[[], None]] = []
"""Functions to call before the first compilation."""

_lock = threading.RLock()

_loaded = False

_failed = False
"""Whether numba could not compile a kernel; the others are not tried then."""

_plain_seconds = 0.0
"""Seconds of all calls of plain functions."""


class Kernel(Generic[Parameters, Result]):
    """Function that numba compiles, or loads from the disk, when it is first called.

    The code runs without the GIL, without fast-math, without parallel loops: strict arithmetic in a fixed order gives
    the same bits on every machine.

    Parameters
    ----------
    function : callable
    signatures : sequence of str
        Types of the arguments as numba writes them, such as ``"int64[:], out(float32[:]), float64"``. Arrays are
        contiguous, and a kernel writes only to those in ``out`` and in tuples. Other names are those of the module of
        the function: types of records, and classes of named tuples. Empty for a kernel that only kernels call.
    plain : callable, optional
        Function with the same arguments and results that needs no numba. It is called until numba is imported for
        other reasons, or such calls have taken `PLAIN_SECONDS`: so a process with one query ends before numba would
        be imported. It also takes over if numba cannot compile.
    """

    def __init__(
        self,
        function: Callable[Parameters, Result],
        signatures: tuple[str, ...],
        plain: Callable[Parameters, Result] | None = None,
    ) -> None:
        self.py_func, self.signatures, self.plain = function, signatures, plain
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._call: Callable[Parameters, Result] = self._first if plain is None else self._plainly
        update_wrapper(self, function)
        kernels.append(self)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Return the result of the function."""
        return self._call(*args, **kwargs)

    @cached_property
    def inner(self) -> Any:
        """The dispatcher of numba for calls of other kernels, which contain the code; Python cannot call it."""
        load()
        return _dispatcher(self.py_func, no_cpython_wrapper=True)

    @cached_property
    def compiled(self) -> Any:
        """The dispatcher of numba with the code of all signatures; without any, the function itself."""
        if not self.signatures:
            return self.py_func
        load()
        from termwise.kernels.code_cache import write_code

        with _lock:
            made = _dispatcher(self.py_func)
            if made is self.py_func:  # with NUMBA_DISABLE_JIT=1
                return made
            made._cache = code = _Code(self.name)
            for signature in self.signatures:
                made.compile(_numba_types(signature, self.py_func.__globals__))
            made.disable_compile()
            if code.made:
                write_code(self.name, code.made)
        return made

    def use_compiled(self) -> bool:
        """Load or compile the code; if numba cannot, the plain function stays in use, with one warning for all."""
        global _failed
        if _failed and self.plain is not None:
            return False
        try:
            self._call = self.compiled
        except MemoryError:
            raise
        except Exception as error:
            if self.plain is None:
                raise
            _failed = True
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(
                f"numba cannot be used, searches are slower: {reason}", RuntimeWarning, stacklevel=4
            )
            return False
        return True

    def _first(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        self.use_compiled()
        return self._call(*args, **kwargs)

    def _plainly(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        global _plain_seconds
        assert self.plain is not None
        if (_loaded or "numba" in sys.modules or _plain_seconds > PLAIN_SECONDS) and self.use_compiled():
            return self._call(*args, **kwargs)
        begin = time.perf_counter()
        result = self.plain(*args, **kwargs)
        _plain_seconds += time.perf_counter() - begin
        return result


class _Code:
    """Code of a kernel for a dispatcher of numba: read from the disk, and collected for it."""

    def __init__(self, name: str) -> None:
        from termwise.kernels.code_cache import read_code

        self._name = name
        self._read = read_code(name)
        self.made: dict[str, Any] = {}
        self._begin = 0.0

    def load_overload(self, signature: object, target: Any) -> Any:
        from numba.core import compiler, runtime

        result: Any = compiler.CompileResult
        system: Any = runtime.rtsys  # type: ignore[attr-defined]
        system.initialize(target)  # all that code needs; to compile more, numba loads hundreds of modules
        reduced = self._read.get(str(signature))
        if reduced is not None:
            try:
                return result._rebuild(target, *reduced)
            except Exception:  # whatever is wrong with it, it is compiled again
                pass
        while _extensions:
            _extensions.pop()()
        self._begin = time.perf_counter()
        while _callbacks:
            _callbacks.pop()()
        return None

    def save_overload(self, signature: object, result: Any) -> None:
        _compiling[0] += time.perf_counter() - self._begin
        compiled_names.append(self._name)
        if not self.made:
            self.made.update(self._read)
        self.made[str(signature)] = result._reduce()


def compiled(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Make a kernel that only other kernels call."""
    return Kernel(function, ())


class _Decorator(Protocol):
    def __call__(self, function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]: ...


def compiled_for(*signatures: str, plain: Callable[..., Any] | None = None) -> _Decorator:
    """Make a kernel for arguments of these types; see `Kernel`."""

    def make(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
        return Kernel(function, signatures, plain)

    return make


def variants(signature: str, **types: tuple[str, ...]) -> tuple[str, ...]:
    """Return a signature with all combinations of types in place of names in braces.

    Examples
    --------
    >>> variants("{terms}[:], int64", terms=("uint16", "uint32"))
    ('uint16[:], int64', 'uint32[:], int64')
    """
    return tuple(signature.format(**dict(zip(types, each, strict=True))) for each in product(*types.values()))


def extension(function: Callable[[], None]) -> Callable[[], None]:
    """Register a function that extends numba; it is called once, before the next compilation of a kernel."""
    _extensions.append(function)
    return function


@extension
def _extend_numba() -> None:
    """Let kernels call kernels."""
    from numba import types
    from numba.extending import typeof_impl

    def typeof_kernel(kernel: Kernel[..., Any], context: object) -> Any:
        return types.Dispatcher(kernel.inner)

    typeof_impl.register(Kernel, typeof_kernel)


def load() -> None:
    """Import numba, so that the next call of every kernel runs compiled code."""
    global _loaded
    import numba  # noqa: F401

    _loaded = True


@contextmanager
def on_compilation(callback: Callable[[], None]) -> Iterator[None]:
    """Call a function before the first compilation of a kernel in the block, possibly in another thread.

    A kernel that was read from the disk is not compiled.
    """
    _callbacks.append(callback)
    try:
        yield
    finally:
        if callback in _callbacks:
            _callbacks.remove(callback)


def compilation_seconds() -> float:
    """Return the time that this process has spent on compiling kernels."""
    return _compiling[0]


def _dispatcher(function: Callable[..., Any], **options: bool) -> Any:
    import numba

    make: Any = numba.njit
    return make(nogil=True, no_cfunc_wrapper=True, **options)(function)


def _numba_types(signature: str, names: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the types of a signature; see `Kernel`."""
    import numpy as np
    from numba import from_dtype, types

    def contiguous(given: Any, readonly: bool = True) -> Any:
        if isinstance(given, tuple):
            named: Any = types.NamedTuple
            return named([contiguous(each, False) for each in given], type(given))
        if isinstance(given, types.Array) and given.layout != "C":
            return types.Array(given.dtype, given.ndim, "C", readonly=readonly)
        return given

    records = {name: from_dtype(each) for name, each in names.items() if isinstance(each, np.dtype)}
    known = {**names, **vars(types), **records, "out": partial(contiguous, readonly=False)}
    return tuple(map(contiguous, eval(f"({signature},)", known)))
