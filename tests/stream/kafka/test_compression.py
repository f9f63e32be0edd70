"""Records that are compressed here are decompressed by other programs."""

from __future__ import annotations

import random

import pytest

from worker.stream.kafka.compression import packing
from worker.stream.kafka.decompression import ZSTD, unpacked


@pytest.mark.parametrize("size", [0, 1, 1 << 20])
def test_what_is_packed_is_a_zstd_stream_of_the_same_bytes_and_as_small_as_level_1_makes_it(size: int) -> None:
    chance = random.Random(size)
    words = [chance.randbytes(7) for _ in range(100)]
    records = b"".join(chance.choices(words, k=size // 7 + 1))[:size]
    pack = packing("zstd")
    assert pack is not None
    packed = pack(memoryview(records))
    assert b"".join(unpacked(ZSTD, memoryview(packed))) == records
    assert len(packed) < 20 + size // 3


def test_with_none_nothing_is_packed() -> None:
    assert packing("none") is None
