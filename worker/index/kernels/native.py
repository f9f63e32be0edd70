"""What numba lacks: memory by its address, fetching ahead, and sixteen comparisons at once.

An index of many gigabytes consists of many pieces of memory. A kernel reaches them by address: handing over an array
costs a tenth of a microsecond each, as long as half a look-up takes.

Bounds: views are made with their length, so under ``NUMBA_BOUNDSCHECK=1`` every access through one is checked.
Comparisons of many at once are then made one by one, through such a view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from worker.compiling import Function, compiler_of

KERNELS: Final = ("native", "plan", "slabs", "growth", "bulk", "nearness", "scan", "banded", "in_batch", "titles")
_compile: Final = compiler_of("worker.index.kernels", KERNELS)


def compiled(signature: str, *, inner: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """A kernel of these types. Python calls it unless it is ``inner`` or ``inline``; these are for other kernels."""
    return _compile(signature, entry=not (inner or inline), inline=inline)


def _pointer_to(bits: int, numba_type: Any) -> Callable[[Any], Any]:
    def pointer(typing_context: Any, address: Any) -> tuple[Any, Callable[..., ir.Value]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
            return builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())

        return types.CPointer(numba_type)(types.int64), generate

    return cast(Callable[[Any], Any], intrinsic(pointer))


_u8_pointer: Final = _pointer_to(8, types.uint8)
_u16_pointer: Final = _pointer_to(16, types.uint16)
_u32_pointer: Final = _pointer_to(32, types.uint32)
_u64_pointer: Final = _pointer_to(64, types.uint64)
_i64_pointer: Final = _pointer_to(64, types.int64)


@compiled("uint8[::1](int64, int64)", inline=True)
def u8_at(address: int, count: int) -> Any:
    """A view of ``count`` bytes there."""
    return numba.carray(_u8_pointer(address), (count,))


@compiled("uint16[::1](int64, int64)", inline=True)
def u16_at(address: int, count: int) -> Any:
    """A view of ``count`` 16-bit words there."""
    return numba.carray(_u16_pointer(address), (count,))


@compiled("uint32[::1](int64, int64)", inline=True)
def u32_at(address: int, count: int) -> Any:
    """A view of ``count`` 32-bit words there."""
    return numba.carray(_u32_pointer(address), (count,))


@compiled("uint64[::1](int64, int64)", inline=True)
def u64_at(address: int, count: int) -> Any:
    """A view of ``count`` 64-bit words there."""
    return numba.carray(_u64_pointer(address), (count,))


@compiled("int64[::1](int64, int64)", inline=True)
def i64_at(address: int, count: int) -> Any:
    """A view of ``count`` signed 64-bit words there."""
    return numba.carray(_i64_pointer(address), (count,))


def _popcount(typing_context: Any, value: Any) -> tuple[Any, Callable[..., ir.Value]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
        return builder.ctpop(arguments[0])

    return value(value), generate


def _lowest(typing_context: Any, value: Any) -> tuple[Any, Callable[..., ir.Value]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return value(value), generate


def _fetch(typing_context: Any, address: Any) -> tuple[Any, Callable[..., ir.Value]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
        word = ir.IntType(32)
        pointer = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, *(ir.Constant(word, value) for value in (0, 3, 1))])  # to read, nearest, data
        return context.get_dummy_value()

    return types.void(types.int64), generate


def _copy(typing_context: Any, to: Any, source: Any, size: Any) -> tuple[Any, Callable[..., ir.Value]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
        byte = ir.IntType(8).as_pointer()
        cgutils.raw_memcpy(
            builder, builder.inttoptr(arguments[0], byte), builder.inttoptr(arguments[1], byte), arguments[2], 1
        )
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


popcount: Final[Callable[[Any], Any]] = intrinsic(_popcount)
"""Number of set bits, as LLVM's own instruction."""
lowest: Final[Callable[[Any], Any]] = intrinsic(_lowest)
"""Number of the lowest set bit; there must be one."""
fetch: Final[Callable[[int], None]] = intrinsic(_fetch)
"""Make the processor fetch the cache line of an address; an address of nothing does no harm."""

_copy_bytes: Final[Callable[[int, int, int], None]] = intrinsic(_copy)


def _vector_mask(lanes: int, bits: int, compare: Callable[[Any, Any, Any, Any], Any]) -> Any:
    """A function of (address, value, limit): the lanes of a vector there for which ``compare`` holds, as a bit mask."""
    vector = ir.VectorType(ir.IntType(bits), lanes)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)

    def masked(typing_context: Any, address: Any, value: Any, limit: Any) -> tuple[Any, Callable[..., ir.Value]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
            def splat(scalar: ir.Value) -> ir.Value:
                narrow = builder.trunc(scalar, ir.IntType(bits)) if bits < 32 else scalar
                undefined = ir.Constant(vector, ir.Undefined)
                first = builder.insert_element(undefined, narrow, ir.Constant(ir.IntType(32), 0))
                return builder.shuffle_vector(first, undefined, zeros)

            here = builder.load(builder.inttoptr(arguments[0], vector.as_pointer()))
            here.align = bits // 8
            hit = compare(builder, here, splat(arguments[1]), splat(arguments[2]))
            mask = builder.bitcast(hit, ir.IntType(lanes))
            return mask if lanes == 64 else builder.zext(mask, ir.IntType(64))

        return types.uint64(types.int64, types.uint32, types.uint32), generate

    return intrinsic(masked)


def _within(builder: Any, here: Any, value: Any, limit: Any) -> Any:
    different = builder.xor(here, value)
    name = f"llvm.ctpop.v{here.type.count}i32"
    count = cgutils.get_or_insert_function(builder.module, ir.FunctionType(here.type, [here.type]), name)
    return builder.icmp_unsigned("<=", builder.call(count, [different]), limit)


def _equal(builder: Any, here: Any, value: Any, limit: Any) -> Any:
    return builder.icmp_unsigned("==", here, value)


_near_16: Final = _vector_mask(16, 32, _within)
_near_32: Final = _vector_mask(32, 32, _within)
_near_64: Final = _vector_mask(64, 32, _within)
_equal_32: Final = _vector_mask(32, 16, _equal)

READ_AHEAD: Final = 256
"""Bytes after the end of a slab that the comparisons may read: memory for slabs is that much longer."""

if numba.config.BOUNDSCHECK:

    @compiled("void(uint8[::1], uint8[::1], int64, int64)", inline=True)
    def copy(to: Any, source: Any, begin: int, size: int) -> None:
        """Copy ``size`` bytes, from ``begin`` on, to the beginning of ``to``, which lies elsewhere."""
        for at in range(size):
            to[at] = source[begin + at]

    @compiled("uint64(int64, uint32, uint32, int64)", inline=True)
    def near_64(address: int, tag: Any, radius: Any, count: int) -> Any:
        """The tags, of up to 64 of 32 bits, within ``radius`` bits of ``tag``, as a mask; higher bits are undefined."""
        tags = u32_at(address, count)
        mask = np.uint64(0)
        for lane in range(min(count, 64)):
            if popcount(np.uint32(tags[lane] ^ tag)) <= radius:
                mask |= np.uint64(1) << np.uint64(lane)
        return mask

    near_16 = near_32 = near_64

    @compiled("uint64(int64, uint32, int64)", inline=True)
    def equal_32(address: int, tag: Any, count: int) -> Any:
        """The tags, of up to 32 of 16 bits, equal to ``tag``, as a mask; higher bits are undefined."""
        tags = u16_at(address, count)
        mask = np.uint64(0)
        for lane in range(min(count, 32)):
            if np.uint32(tags[lane]) == tag:
                mask |= np.uint64(1) << np.uint64(lane)
        return mask

else:

    @compiled("void(uint8[::1], uint8[::1], int64, int64)", inline=True)
    def copy(to: Any, source: Any, begin: int, size: int) -> None:
        """Copy ``size`` bytes, from ``begin`` on, to the beginning of ``to``, which lies elsewhere."""
        _copy_bytes(to.ctypes.data, source.ctypes.data + begin, size)

    @compiled("uint64(int64, uint32, uint32, int64)", inline=True)
    def near_64(address: int, tag: Any, radius: Any, count: int) -> Any:
        """The tags, of up to 64 of 32 bits, within ``radius`` bits of ``tag``, as a mask; higher bits are undefined."""
        return _near_64(address, tag, radius)

    @compiled("uint64(int64, uint32, uint32, int64)", inline=True)
    def near_32(address: int, tag: Any, radius: Any, count: int) -> Any:
        """As ``near_64``, for up to 32 tags."""
        return _near_32(address, tag, radius)

    @compiled("uint64(int64, uint32, uint32, int64)", inline=True)
    def near_16(address: int, tag: Any, radius: Any, count: int) -> Any:
        """As ``near_64``, for up to 16 tags."""
        return _near_16(address, tag, radius)

    @compiled("uint64(int64, uint32, int64)", inline=True)
    def equal_32(address: int, tag: Any, count: int) -> Any:
        """The tags, of up to 32 of 16 bits, equal to ``tag``, as a mask; higher bits are undefined."""
        return _equal_32(address, tag, np.uint32(0))
