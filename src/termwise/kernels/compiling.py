"""How kernels are compiled: one decorator, one set of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

import numpy.typing as npt
from numba import njit

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Array: TypeAlias = npt.NDArray[Any]
"""An array whose type and shape the docstring of the kernel states."""


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a kernel: cached on disk, without the GIL, without fast-math, without parallel loops.

    Strict arithmetic in a fixed order gives the same bits on every machine. Where neither the package nor the
    user's cache folder can be written, kernels are compiled anew by every process.
    """
    try:
        made = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no place for the cache
        made = njit(nogil=True)(function)
    return cast(Callable[Parameters, Result], made)
