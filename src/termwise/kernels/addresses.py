"""Addresses in memory: arrays of many files for one call of a kernel, and reads that are announced in advance."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from termwise.kernels.jit import Array, on_load


def address_of(array: Array) -> int:
    """Return the address of the first number of a contiguous array; 0 for an empty one."""
    if not array.flags.c_contiguous:
        raise ValueError("the array is not contiguous")
    return int(array.ctypes.data) if len(array) else 0


def array_at(address: int, length: int, dtype: Any) -> Array:
    """Return the array of `length` numbers at an address, in plain Python and in kernels.

    The caller keeps the memory; nothing here can check that the address and the length are those of an array.
    """
    size = length * np.dtype(dtype).itemsize
    return (
        np.frombuffer((ctypes.c_char * size).from_address(int(address)), dtype)
        if size
        else np.empty(0, dtype)
    )


def prefetch(address: int) -> None:
    """Load the memory at an address into the cache of the processor while other work goes on; no address is invalid.

    Without it, a kernel that reads a few numbers in many places spends most of its time waiting. Plain Python ignores
    it.
    """


@on_load
def _extend_numba() -> None:
    """Teach numba these functions."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic, overload
    from numba.np.numpy_support import carray

    def to_pointer(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], cgutils.voidptr_t)

        return types.voidptr(types.int64), generate

    def to_prefetch(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            flag = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
            function = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
            read, keep, data = flag(0), flag(3), flag(1)
            builder.call(function, [builder.inttoptr(arguments[0], cgutils.voidptr_t), read, keep, data])
            return context.get_dummy_value()

        return types.none(types.int64), generate

    pointer: Any = intrinsic(to_pointer)
    announced: Any = intrinsic(to_prefetch)

    @overload(array_at)
    def compiled_array_at(address: Any, length: Any, dtype: Any) -> Any:
        def array(address: Any, length: Any, dtype: Any) -> Any:
            return carray(pointer(address), (length,), dtype)

        return array

    @overload(prefetch)
    def compiled_prefetch(address: Any) -> Any:
        def announce(address: Any) -> Any:
            announced(address)

        return announce
