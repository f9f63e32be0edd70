"""The secret that fingerprints may depend on: without it no attacker can tell which page would be near to which.

All hashes here are public otherwise. An attacker who knows them picks words whose hashes add up to the fingerprint and
the sketch of a page that he wants gone, and publishes them first. With a secret, everything that is hashed from the
bytes of a page comes from a pseudorandom function that he cannot compute (SipHash-2-4, Aumasson and Bernstein: SipHash:
a fast short-input PRF, INDOCRYPT 2012; BLAKE2b with a key, RFC 7693). What is made of these hashes is made as it is
without.

Each use has a part of the secret to itself, which tells nothing of the others. Verdicts show fingerprints, and of these
something can be learnt of the hashes of words that they are made of, but nothing of the hashes in sketches.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Final

KEYED: Final = "siphash-2-4/blake2b/1"
"""Name of the rule by which the secret is used; a part of the scheme, so change it when the rule changes."""

LEAST_BYTES: Final = 16
"""Of a secret: as many as SipHash takes, too many to be guessed."""

_SALT: Final = b"crawl-dedup fingerprint.key_file"
_ROOT_BYTES: Final = 32


@dataclass(frozen=True, repr=False)
class Key:
    """What a secret came to. Neither it nor its parts are ever shown: only ``name``, which stands for it."""

    root: bytes

    @classmethod
    def of(cls, secret: bytes) -> Key:
        """By scrypt (RFC 7914; 16 MiB, tens of milliseconds), which makes guessing a weak secret by its name dear.

        Raises:
            ValueError: fewer than ``LEAST_BYTES``.
        """
        if len(secret) < LEAST_BYTES:
            raise ValueError(f"{len(secret)} bytes, at least {LEAST_BYTES} are needed")
        return cls(hashlib.scrypt(secret, salt=_SALT, n=1 << 14, r=8, p=1, dklen=_ROOT_BYTES))

    @cached_property
    def features(self) -> bytes:
        """For the hashes of a fingerprint's features."""
        return self._part("features")

    @cached_property
    def tokens(self) -> bytes:
        """For the hashes of tokens, of which sketches and bands are made."""
        return self._part("tokens")

    @cached_property
    def numberings(self) -> bytes:
        """For the numberings by which sketches and bands choose n-grams."""
        return self._part("numberings")

    @cached_property
    def content(self) -> bytes:
        """For the hash of all of a page's content."""
        return self._part("content")

    @cached_property
    def scopes(self) -> bytes:
        """For the hashes of what pages are compared within."""
        return self._part("scopes")

    @cached_property
    def name(self) -> str:
        """16 hex digits that are public: they stand for the secret in a scheme."""
        return self._part("name")[:8].hex()

    def __repr__(self) -> str:
        return f"Key({self.name})"

    def _part(self, use: str) -> bytes:
        return hashlib.blake2b(use.encode(), digest_size=16, key=self.root).digest()
