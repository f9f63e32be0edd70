"""What a page came to: in short for the stream, in full for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fingerprinted:
    """What a page came to; small, since it travels between processes.

    ``fingerprint`` is 64 bits, or None with the ``reason`` in words. ``text_hash`` is 64 bits that stand for the text's
    tokens; for the body's bytes where there is none, and for the URL where the body is empty: emptiness makes no two
    pages alike. ``tokens`` counts ``characters_and_words``. ``sketch`` and ``bands`` are 32 bytes each, none where
    there is no fingerprint or the recipe asks for none.
    """

    fingerprint: int | None
    text_hash: int
    tokens: int
    language: str
    reason: str | None
    sketch: bytes = b""
    bands: bytes = b""


@dataclass(frozen=True, slots=True)
class Explained:
    """All that led to a fingerprint of ``bits`` bits, for people.

    ``words`` are the tokens in their order, noise words left out; ``tokens`` as of ``Fingerprinted``. ``features`` are
    (word, or two words with a blank between, and their weight) by falling weight, ``sums`` the votes of each bit in
    units of those weights, most significant bit first. ``ordinary`` holds by name what hashes make of the same
    normalised text that know no similarity, as wide as the fingerprint. ``sketch`` and ``bands`` as of
    ``Fingerprinted``.
    """

    bits: int
    fingerprint: int | None
    text_hash: int
    language: str
    reason: str | None
    words: tuple[str, ...]
    tokens: int
    features: tuple[tuple[str, float], ...]
    sums: tuple[float, ...]
    ordinary: Mapping[str, int]
    sketch: bytes = b""
    bands: bytes = b""
