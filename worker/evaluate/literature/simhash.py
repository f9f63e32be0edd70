"""SimHash by its definition, of any width.

Charikar, Similarity Estimation Techniques from Rounding Algorithms, STOC 2002, section 3; in the form of Manku, Jain,
Das Sarma, Detecting Near-Duplicates for Web Crawling, WWW 2007, section 2: each feature is hashed to f bits; in each
bit it votes with its weight, for 1 where its hash has a 1 and against 1 where it has a 0. A bit of the fingerprint is 1
if and only if its sum is above zero: **a tie is 0**.

Bit 0 is the least significant. Sums and bits are listed as the literature prints them: most significant first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Number = TypeVar("Number", int, float)


def sums(hashes: Iterable[int], weights: Iterable[Number], bits: int) -> list[Number]:
    """The votes of each bit, most significant first: ``bits`` sums. The definition's first half.

    Raises:
        ValueError: not as many weights as hashes, or a hash of more than ``bits`` bits.
    """
    votes: list[Number] = [0] * bits
    for hashed, weight in zip(hashes, weights, strict=True):
        if hashed >> bits:
            raise ValueError(f"{hashed:b} does not fit {bits} bits; hash to {bits} bits")
        for place in range(bits):
            is_one = hashed >> (bits - 1 - place) & 1
            votes[place] += weight if is_one else -weight
    return votes


def from_sums(votes: Iterable[float]) -> int:
    """The fingerprint of these sums (most significant first): a bit is 1 if and only if its sum is above zero."""
    fingerprint = 0
    for vote in votes:
        fingerprint = fingerprint << 1 | (vote > 0)
    return fingerprint


def simhash(hashes: Iterable[int], weights: Iterable[float], bits: int) -> int:
    """The fingerprint of weighted hashes. Without features all sums are ties: 0.

    Raises:
        ValueError: as ``sums``.

    >>> bit_string(simhash([0b100101, 0b101011], [4, 5], 6), 6)
    '101011'
    """
    return from_sums(sums(hashes, weights, bits))


def bit_string(value: int, bits: int) -> str:
    """``value`` as ``bits`` binary digits, most significant first."""
    return f"{value:0{bits}b}"
