"""Addresses in memory: arrays of many files for one call of a kernel, and reads that are announced in advance."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from termwise.kernels.jit import Array, extension


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


@extension
def _extend_numba() -> None:
    """Teach numba these functions, as instructions: each use of an overload would be compiled as a function."""
    from llvmlite import ir
    from numba import extending, types
    from numba.core import cgutils
    from numba.core.typing import npydecl
    from numba.np import arrayobj

    lower: Any = extending.lower_builtin
    parse_dtype: Any = npydecl.parse_dtype
    make_array: Any = arrayobj.make_array
    populate_array: Any = arrayobj.populate_array

    @extending.type_callable(array_at)
    def type_of_array(context: Any) -> Any:
        return lambda address, length, dtype: types.Array(parse_dtype(dtype), 1, "C")

    def to_array(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.get_data_type(signature.return_type.dtype)
        size = context.get_constant(types.intp, context.get_abi_sizeof(number))
        array = make_array(signature.return_type)(context, builder)
        data = builder.inttoptr(arguments[0], number.as_pointer())
        populate_array(array, data, [arguments[1]], [size], size, None)
        return array._getvalue()

    lower(array_at, types.Integer, types.Integer, types.Any)(to_array)

    @extending.type_callable(prefetch)
    def type_of_prefetch(context: Any) -> Any:
        return lambda address: types.none

    def to_prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        read, keep, data = flag(0), flag(3), flag(1)
        builder.call(function, [builder.inttoptr(arguments[0], cgutils.voidptr_t), read, keep, data])
        return context.get_dummy_value()

    lower(prefetch, types.Integer)(to_prefetch)
