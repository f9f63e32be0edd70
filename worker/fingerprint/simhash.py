"""SimHash: the definition, readable, and a vectorised twin that is equal to it bit for bit.

Charikar, Similarity Estimation Techniques from Rounding Algorithms, STOC 2002, section 3; in the form of Manku, Jain,
Das Sarma, Detecting Near-Duplicates for Web Crawling, WWW 2007, section 2: each feature is hashed to f bits; in each
bit it votes with its weight, for 1 where its hash has a 1 and against where it has a 0. A bit of the fingerprint is 1
if and only if its sum is above zero: **a tie is 0**.

Bit 0 is the least significant. Sums and bits are listed as the literature prints them: most significant first.
Weights of the twin are int64 (fixed point, see ``worker.page.words.weigh``), so that every machine comes to the same
sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from worker.fingerprint.hashing import MAX_BITS, MIN_BITS, WORD_BITS, Hashes

Number = TypeVar("Number", int, float)
Weights = npt.NDArray[np.int64]

_ROWS_AT_ONCE: Final = 1024
"""Hashes unpacked at a time: half a megabyte of 64-bit rows, which stays in a core's cache."""

_EXACT_IN_FLOAT64: Final = 2.0**105
_LARGEST_SUM: Final = 2**62 - 1


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
    """The fingerprint of weighted hashes, by definition. Without features all sums are ties: 0.

    Raises:
        ValueError: as ``sums``.
    """
    return from_sums(sums(hashes, weights, bits))


def simhash_votes(hashes: Hashes, weights: Weights, bits: int = WORD_BITS) -> npt.NDArray[np.int64]:
    """The same as ``sums``, for arrays.

    Args:
        hashes: uint64, shape (n,) for widths up to 64, else (n, 2) as ``hash_words`` gives them; below 2^bits.
        weights: int64, shape (n,); may be negative.
        bits: 8 to 128.

    Returns:
        int64, shape (bits,), most significant bit first; exact.

    Raises:
        ValueError: shapes that do not fit, or weights whose absolute values sum to 2^62 or more.
    """
    for_ones, total = _tally(hashes, weights, bits)
    votes: npt.NDArray[np.int64] = (2 * for_ones - total).astype(np.int64)
    return votes


def simhash_vectorised(hashes: Hashes, weights: Weights, bits: int = WORD_BITS) -> int:
    """The same as ``simhash``, for arrays: arguments and errors of ``simhash_votes``."""
    for_ones, total = _tally(hashes, weights, bits)
    is_one = for_ones > total // 2  # whole numbers, so the same as a sum 2 * for_ones - total above zero
    return int.from_bytes(np.packbits(is_one).tobytes(), "big") >> -bits % 8


def as_ints(hashes: Hashes) -> list[int]:
    """Hashes of ``hash_words`` as Python numbers, whatever their width."""
    if hashes.ndim == 1:
        return list(map(int, hashes))
    return [high << WORD_BITS | low for low, high in hashes.tolist()]


def bit_string(value: int, bits: int) -> str:
    """``value`` as ``bits`` binary digits, most significant first."""
    return f"{value:0{bits}b}"


def _tally(hashes: Hashes, weights: Weights, bits: int) -> tuple[npt.NDArray[Any], Any]:
    """Of each bit the weight of the hashes that have a 1 there, and the weight of all; both exact.

    float64 where it is exact, since only floats have a fast product of a vector and a matrix, else int64. Twice a
    tally fits as well.
    """
    _check(hashes, weights, bits)
    floats = weights.astype(np.float64)
    if _sums_are_exact(floats):
        return _weight_of_ones(hashes, floats, bits), np.add.reduce(floats)
    if sum(map(abs, weights.tolist())) > _LARGEST_SUM:
        raise ValueError("the weights sum to 2^62 or more, where 64 bits end; scale them down")
    return _weight_of_ones(hashes, weights, bits), np.add.reduce(weights)


def _weight_of_ones(hashes: Hashes, weights: npt.NDArray[Any], bits: int) -> npt.NDArray[Any]:
    if len(weights) <= _ROWS_AT_ONCE:
        return weights.dot(_unpacked(hashes, bits).astype(weights.dtype))  # type: ignore[no-any-return]
    parts = [slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(weights), _ROWS_AT_ONCE)]
    tallies = np.stack([_weight_of_ones(hashes[part], weights[part], bits) for part in parts])
    total: npt.NDArray[Any] = np.add.reduce(tallies)
    return total


def _unpacked(hashes: Hashes, bits: int) -> npt.NDArray[np.uint8]:
    """Shape (n, bits): the ones and zeros of each hash, most significant first."""
    if hashes.ndim == 1:
        rows = np.unpackbits(hashes.astype(">u8").view(np.uint8)).reshape(-1, WORD_BITS)
    else:
        high_and_low = hashes[:, ::-1].astype(">u8", order="C")
        rows = np.unpackbits(high_and_low.view(np.uint8), axis=1)
    return rows if bits == rows.shape[1] else rows[:, -bits:]


def _sums_are_exact(weights: npt.NDArray[np.float64]) -> bool:
    """Whether every sum of some of these weights, each with either sign, is a whole number below 2^53.

    By Cauchy and Schwarz (Σ|w|)² ≤ n Σw², and one dot product costs a quarter of adding up absolute values. A factor
    of two is left for the rounding of the product itself. Any real text passes: 2^53 is 137 billion tokens.
    """
    return bool(len(weights) * weights.dot(weights) < _EXACT_IN_FLOAT64)


def _check(hashes: Hashes, weights: Weights, bits: int) -> None:
    if not MIN_BITS <= bits <= MAX_BITS:
        raise ValueError(f"{bits} bits are not a width for fingerprints; choose {MIN_BITS} to {MAX_BITS}")
    if hashes.shape != (weights.shape if bits <= WORD_BITS else (*weights.shape, 2)):
        raise ValueError(f"hashes of shape {hashes.shape} do not fit {len(weights)} weights at {bits} bits")
