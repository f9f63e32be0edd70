"""The secret that fingerprints may depend on: without it no attacker can compute which page would be near to which.

Without a secret, all hashes here are public. An attacker who knows them picks words whose hashes add up to the
fingerprint and the sketch of a page that he wants to suppress, and publishes them first. With a secret, every hash of a
page's bytes comes from a pseudorandom function that he cannot compute (SipHash-2-4, Aumasson and Bernstein: SipHash: a
fast short-input PRF, INDOCRYPT 2012; BLAKE2b with a key, RFC 7693). All later steps are the same as without a secret.

Each use has its own part of the secret, which reveals nothing of the others. Verdicts show fingerprints. These reveal
something of the hashes of their words, but nothing of the hashes in sketches.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Final

KEYED: Final = "siphash-2-4/blake2b/1"
"""Name of the rule by which the secret is used; a part of the scheme, so change it when the rule changes."""

LEAST_BYTES: Final = 16
"""Bytes of a secret: as many as SipHash takes, too many to guess."""

_SALT: Final = b"crawl-dedup fingerprint.key_file"
_ROOT_BYTES: Final = 32


@dataclass(frozen=True, repr=False)
class Key:
    """The keys made of a secret. Neither the secret nor its parts are ever shown: only ``name``, which stands for
    it."""

    root: bytes

    @classmethod
    def of(cls, secret: bytes) -> Key:
        """By scrypt (RFC 7914; 16 MiB, tens of milliseconds): guessing a weak secret from its name becomes expensive.

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
        """For the hashes of tokens in sketches and bands."""
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
        """For the hashes of scopes."""
        return self._part("scopes")

    @cached_property
    def name(self) -> str:
        """16 hex digits that are public: they stand for the secret in a scheme."""
        return self._part("name")[:8].hex()

    def __repr__(self) -> str:
        return f"Key({self.name})"

    def _part(self, use: str) -> bytes:
        return hashlib.blake2b(use.encode(), digest_size=16, key=self.root).digest()
