"""How 64 bits are cut into blocks, so that every near pair meets in some table.

Manku, Jain, Das Sarma (Detecting Near-Duplicates for Web Crawling, WWW 2007, section 3): keep several tables, each
keyed by some of the fingerprint's blocks, such that two fingerprints within k bits have equal keys in at least one.
More tables cost memory and allow longer keys, hence fewer candidates.

Each layout is exact for k <= 3: three differing bits spoil at most three blocks, and for any three blocks there is a
table whose key uses none of them.

=======  ======  ========  ==================  ====================================================================
layout   tables  key bits  key of a table      why any three blocks are missed by a key
=======  ======  ========  ==================  ====================================================================
L4x16    4       16        one of 4 blocks     four keys without a block in common, three spoiled blocks
L8x8     8       24        blocks t, t+1, t+3  the 56 choices of three are enumerated by a test; eight keys of three
                           (mod 8)             blocks are the fewest possible (covering design C(8, 5, 3) = 8)
L16x4    16      28        four blocks in a    three spoiled blocks leave one of the four rows clean; of the other
                           row, and three of   twelve blocks in four groups of three they leave one group clean
                           the twelve others   (Manku et al., section 3.1, the second-level split)
=======  ======  ========  ==================  ====================================================================

Tried and not kept: the pigeonring (Qin and Xiao, PVLDB 12(1), 2018). Whichever three bits differ, some block is equal
and the block after it differs in at most one bit. If bits of that second block also choose the row, a query reads half
as much at fifty million entries, but from five times as many places, which took as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import chain

import numpy as np
from numpy.typing import NDArray

MAX_K = 3
"""The layouts are exact up to this distance; a larger one would miss pairs without any sign."""


@dataclass(frozen=True)
class Arrangement:
    """A table's own order of a 64-bit value's blocks: first the key, then the 32 bits of the tag, then the rest.

    ``blocks`` is a permutation of the blocks' numbers, block 0 being the lowest bits; ``key_bits`` is at most 32.
    """

    blocks: tuple[int, ...]
    key_bits: int

    @property
    def shifts(self) -> NDArray[np.int64]:
        """For each block of the arranged word, from the lowest, the bit at which it starts in the value: int64 (b,)."""
        width = 64 // len(self.blocks)
        return np.array([block * width for block in self.blocks], np.int64)

    @property
    def rotation(self) -> int:
        """By how many bits to the right the value is rotated, if the arrangement is only a rotation; otherwise -1."""
        count = len(self.blocks)
        turned = tuple((self.blocks[0] + place) % count for place in range(count))
        return self.blocks[0] * (64 // count) if self.blocks == turned else -1


class Layout(Enum):
    """Number of blocks by bits a block; memory grows with the number of tables."""

    L4x16 = "4x16"
    L8x8 = "8x8"
    L16x4 = "16x4"

    @property
    def arrangements(self) -> tuple[Arrangement, ...]:
        """One a table."""
        return _ARRANGEMENTS[self]


WHOLE = Arrangement(blocks=(0, 1), key_bits=32)
"""For values that are looked up as they are: key and tag are their low and high half."""


def _arranged(blocks: int, keys: list[tuple[int, ...]]) -> tuple[Arrangement, ...]:
    width = 64 // blocks
    arrangements = []
    for key in keys:
        after = [block % blocks for block in range(key[0], key[0] + blocks)]
        others = tuple(block for block in after if block not in key)
        arrangements.append(Arrangement(key + others, len(key) * width))
    return tuple(arrangements)


def _keys_of_16x4() -> list[tuple[int, ...]]:
    rows = [tuple(range(row * 4, row * 4 + 4)) for row in range(4)]
    keys = []
    for row in rows:
        others = list(chain.from_iterable(other for other in rows if other != row))
        keys += [row + tuple(others[start : start + 3]) for start in range(0, 12, 3)]
    return keys


_ARRANGEMENTS = {
    Layout.L4x16: _arranged(4, [(block,) for block in range(4)]),
    Layout.L8x8: _arranged(8, [(t, (t + 1) % 8, (t + 3) % 8) for t in range(8)]),
    Layout.L16x4: _arranged(16, _keys_of_16x4()),
}
