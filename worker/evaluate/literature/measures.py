"""Measures between two fingerprints."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from worker.fingerprint.hashing import WORD_BITS

ALIKE_ABOVE: Final = 0.5
"""Default threshold of ``alike``: unrelated fingerprints agree in half of their bits."""


def hamming(a: int, b: int) -> int:
    """Number of bits in which ``a`` and ``b`` differ."""
    return (a ^ b).bit_count()


def share_of_equal_bits(a: int, b: int, bits: int = WORD_BITS) -> float:
    """Similarity from 0 (opposite) to 1 (equal): the bits that agree, over all ``bits``."""
    return 1 - hamming(a, b) / bits


def alike(a: int, b: int, bits: int = WORD_BITS, threshold: float = ALIKE_ABOVE) -> bool:
    """Whether the share of equal bits is strictly above ``threshold``; exactly the threshold is not alike."""
    return share_of_equal_bits(a, b, bits) > threshold


def angle(a: int, b: int, bits: int = WORD_BITS) -> float:
    """Estimate of the angle between the two weighted feature vectors, in radians: π·d/bits (Charikar 2002, section 3).

    If hashes are random, a bit differs with probability angle/π, so d of ``bits`` differing bits estimate the angle.

    >>> a, b = 0b1100, 0b1010
    >>> hamming(a, b), share_of_equal_bits(a, b, bits=4), round(angle(a, b, bits=4), 2)
    (2, 0.5, 1.57)
    """
    return math.pi * hamming(a, b) / bits


def cosine(a: int, b: int, bits: int = WORD_BITS) -> float:
    """Estimate of the cosine similarity of the two feature vectors: the cosine of ``angle``."""
    return math.cos(angle(a, b, bits))


@dataclass(frozen=True)
class BlockLayout:
    """How a fingerprint is cut into blocks: ``count`` of them, each ``width`` bits. Written ``4x16``.

    By the pigeonhole principle two fingerprints that differ in fewer than ``count`` bits have a block in common.
    """

    count: int
    width: int

    @classmethod
    def parse(cls, text: str) -> BlockLayout:
        """Read ``4x16``.

        Raises:
            ValueError: anything other than two positive numbers with an x between.
        """
        match = re.fullmatch(r"([1-9]\d{0,2})x([1-9]\d{0,2})", text)
        if match is None:
            raise ValueError(f"not a layout of blocks: {text!r}; give blocks x bits, as 4x16")
        return cls(int(match[1]), int(match[2]))

    @property
    def bits(self) -> int:
        """Width of the fingerprints that it cuts."""
        return self.count * self.width

    def __str__(self) -> str:
        return f"{self.count}x{self.width}"


def blocks(fingerprint: int, layout: BlockLayout) -> tuple[int, ...]:
    """The values of the blocks. Block 0 holds the least significant bits, so it is printed last."""
    mask = (1 << layout.width) - 1
    return tuple(fingerprint >> (number * layout.width) & mask for number in range(layout.count))


def blocks_in_common(a: int, b: int, layout: BlockLayout) -> tuple[int, ...]:
    """The numbers of the blocks in which ``a`` and ``b`` are equal, ascending."""
    pairs = zip(blocks(a, layout), blocks(b, layout), strict=True)
    return tuple(number for number, (ours, theirs) in enumerate(pairs) if ours == theirs)
