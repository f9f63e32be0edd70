"""XXH3 of many slices, against the library."""

from __future__ import annotations

import numpy as np
import xxhash

from worker.fingerprint.kernels import xxh3


def test_hashes_of_slices_are_those_of_xxhash_for_every_length() -> None:
    text = np.random.default_rng(1).integers(0, 256, 1000, np.uint8)
    starts = np.arange(1, 140, dtype=np.int32)
    ends = 2 * starts
    hashes = np.zeros(139, np.uint64)
    assert xxh3.hash_slices(text, starts, ends, 139, xxh3.SECRET, hashes) == len(range(128, 139))
    assert not hashes[128:].any()
    for number in range(128):
        assert int(hashes[number]) == xxhash.xxh3_64_intdigest(text[starts[number] : ends[number]].tobytes())
