"""Views of memory, counting of bits, and many comparisons at once, compared with Python's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worker.index.kernels import native
from worker.index.kernels.native import compiled, equal_32, i64_at, lowest, near_16, near_32, near_64, popcount, u32_at

# Inlined kernels have no entry for Python: a kernel with an entry calls each.


@compiled("uint64(uint64)")
def _ones(value: Any) -> Any:
    return popcount(value)


@compiled("uint64(uint64)")
def _lowest(value: Any) -> Any:
    return lowest(value)


@compiled("uint64(int64, uint32, uint32, int64)")
def _near_16(address: int, tag: Any, radius: Any, count: int) -> Any:
    return near_16(address, tag, radius, count)


@compiled("uint64(int64, uint32, uint32, int64)")
def _near_32(address: int, tag: Any, radius: Any, count: int) -> Any:
    return near_32(address, tag, radius, count)


@compiled("uint64(int64, uint32, uint32, int64)")
def _near_64(address: int, tag: Any, radius: Any, count: int) -> Any:
    return near_64(address, tag, radius, count)


@compiled("uint64(int64, uint32, int64)")
def _equal_32(address: int, tag: Any, count: int) -> Any:
    return equal_32(address, tag, count)


@compiled("void(int64, int64)")
def _count_up(address: int, count: int) -> None:
    words = i64_at(address, count)
    for place in range(count):
        words[place] += place


@compiled("uint32(int64, int64)")
def _last_of(address: int, count: int) -> Any:
    return u32_at(address, count)[count - 1]


@pytest.mark.parametrize("value", [1, 0x8000_0000_0000_0000, 2**64 - 1, 0x0123_4567_89AB_CDEF])
def test_bits_are_counted_and_the_lowest_is_found(value: int) -> None:
    assert _ones(np.uint64(value)) == value.bit_count()
    assert _lowest(np.uint64(value)) == (value & -value).bit_length() - 1


@pytest.mark.parametrize(("compare", "lanes"), [(_near_16, 16), (_near_32, 32), (_near_64, 64)])
@pytest.mark.parametrize("radius", range(4))
def test_tags_within_a_radius_are_the_bits_of_a_mask(compare: Callable[..., int], lanes: int, radius: int) -> None:
    chance = np.random.default_rng(lanes + radius)
    tag = 0x89AB_CDEF
    tags = np.full(lanes + 1, tag, np.uint32)
    for place in range(lanes):
        for bit in chance.choice(32, place % 6, replace=False).tolist():
            tags[place] ^= np.uint32(1 << bit)
    for begin in (0, 1):  # tags lie at any multiple of four bytes
        address = tags.ctypes.data + 4 * begin
        here = tags[begin : begin + lanes].tolist()
        wanted = sum(1 << place for place, other in enumerate(here) if (other ^ tag).bit_count() <= radius)
        assert int(compare(address, tag, radius, lanes)) == wanted


def test_equal_tags_of_sixteen_bits_are_the_bits_of_a_mask() -> None:
    tags = np.random.default_rng(1).choice([5, 6, 0x8005], 33).astype(np.uint16)
    for begin in (0, 1):
        here = tags[begin : begin + 32].tolist()
        mask = int(_equal_32(tags.ctypes.data + 2 * begin, 5, 32)) & 2**32 - 1
        assert mask == sum(1 << place for place, tag in enumerate(here) if tag == 5)


def test_a_view_reads_and_writes_the_memory_at_its_address() -> None:
    words = np.full(5, 100, np.int64)
    _count_up(words.ctypes.data, 4)
    assert words.tolist() == [100, 101, 102, 103, 100]
    assert _last_of(np.array([1, 2, 2**32 - 1], np.uint32).ctypes.data, 3) == 2**32 - 1


def test_comparisons_read_no_further_behind_a_slab_than_memory_for_slabs_is_longer() -> None:
    assert native.READ_AHEAD >= 64 * 4


def test_a_change_of_any_kernel_makes_numba_compile_all_anew() -> None:
    files = {path.stem for path in Path(native.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(native.KERNELS)
