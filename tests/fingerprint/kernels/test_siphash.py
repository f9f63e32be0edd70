"""SipHash of many slices, against its definition."""

from __future__ import annotations

import numpy as np

from tests.fingerprint.test_hashing import siphash_by_definition
from worker.fingerprint.kernels import siphash as sipped
from worker.fingerprint.key import Key

KEY = Key.of(b"the secret of a test")


def test_hashes_of_slices_with_a_key_are_siphash_for_every_length() -> None:
    text = np.random.default_rng(1).integers(0, 256, 300 + sipped.ROOM, np.uint8)
    key = np.frombuffer(KEY.features, "<u8").astype(np.uint64)
    starts = np.arange(0, 140, dtype=np.int32)
    ends = 2 * starts
    hashes, too_long = np.zeros(140, np.uint64), np.zeros(140, np.int32)
    long = sipped.hash_slices(text, starts, ends, 140, key, 128, hashes, too_long)
    assert too_long[:long].tolist() == list(range(129, 140))
    expected = [
        siphash_by_definition(text[start:end].tobytes(), KEY.features) for start, end in zip(starts, ends, strict=True)
    ]
    assert hashes[:129].tolist() == expected[:129]
