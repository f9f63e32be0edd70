"""The filter's kernels, tested alone; tests/index/test_apart tests its promises."""

from __future__ import annotations

import numpy as np

from worker.fingerprint.scoped import title_masks
from worker.index.kernels import titles
from worker.index.shard import Shard


def test_a_mask_is_told_of_each_page_whose_scope_and_title_any_generation_has() -> None:
    Shard()  # raises a clear error if numba cannot run
    generations = [np.zeros(64, np.uint64), np.zeros(1, np.uint64)]
    numbers = np.array([1, 2, 3, 4, 0, 2**32 - 1], np.uint32)
    scopes = np.array([9, 9, 9, 9, 9, 2**64 - 1], np.uint64)
    keys = title_masks(numbers) ^ scopes
    titles.add(generations[0], keys[:2])
    titles.add(generations[1], keys[5:])
    assert [bin(int(np.bitwise_or.reduce(words))).count("1") for words in generations] == [12, 6]
    words = np.array([(words.ctypes.data, len(words) - 1) for words in generations], np.int64)
    masks = np.full(6, 7, np.uint64)
    titles.masks_of(words, numbers, scopes, masks)
    assert masks.tolist() == [*title_masks(numbers)[:2].tolist(), 0, 0, 0, int(title_masks(numbers[5:])[0])]
    titles.masks_of(words[:0], numbers, scopes, masks)
    assert masks.tolist() == [0] * 6
