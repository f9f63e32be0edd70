"""Which pages to look up among the entries that are alone: a filter, see ``worker.index.apart``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.index.kernels.native import compiled, u64_at
from worker.index.kernels.nearness import title_mask

ADDRESS = 0
MASK = 1
GENERATION_WORDS = 2
"""For each generation: the address of its words, and their number less one, which is a power of two less one."""

I64 = NDArray[np.int64]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]


@compiled("uint64(uint64)", inline=True)
def _bits_of(key: Any) -> Any:
    """The bits of a key in its word, up to six of 64."""
    bits = np.uint64(0)
    for place in range(6):
        bits |= np.uint64(1) << ((key >> np.uint64(6 * place)) & np.uint64(63))
    return bits


@compiled("void(uint64[::1], uint64[::1])")
def add(words: U64, keys: U64) -> None:
    """Set the bits of all keys."""
    mask = np.uint64(words.size - 1)
    for key in keys:
        words[np.int64((key >> np.uint64(36)) & mask)] |= _bits_of(key)


@compiled("void(int64[:, ::1], uint32[::1], uint64[::1], uint64[::1])")
def masks_of(generations: I64, titles: U32, scopes: U64, masks: U64) -> None:
    """For each page the mask of its title if its scope and title were added to one of the generations, or seem to be;
    otherwise 0, as for pages without title."""
    for page in range(titles.size):
        masks[page] = 0
        if titles[page] == 0:
            continue
        own = title_mask(np.uint64(titles[page]))
        bits, place = _bits_of(scopes[page] ^ own), (scopes[page] ^ own) >> np.uint64(36)
        for number in range(generations.shape[0]):
            mask = generations[number, MASK]
            words = u64_at(generations[number, ADDRESS], mask + 1)
            if words[np.int64(place & np.uint64(mask))] & bits == bits:
                masks[page] = own
                break
