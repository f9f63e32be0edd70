"""The messages that make workers forget survivors: a record of ``fingerprints``, and its trace in later blocks."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

MAX_U64: Final = 2**64 - 1


class ForgetCondition(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """Which survivors are to be forgotten, by ``kind``: those whose URL's registered domain or host is ``text``, or
    whose URL begins with it; those fetched before ``number``, in milliseconds since 1970 UTC; or those of the scope
    whose 64 bits are ``number``. ``site`` is the site in the claims of such pages, which tells most other pages apart
    without a look at their URLs; 0 where it is not known.
    """

    kind: Literal["site", "host", "url-prefix", "before", "scope"]
    text: str = ""
    number: int = 0
    site: int = 0

    def __post_init__(self) -> None:
        low, high = (-(1 << 63), (1 << 63) - 1) if self.kind == "before" else (0, MAX_U64)
        if not (low <= self.number <= high and 0 <= self.site < 1 << 32):
            raise ValueError(f"a condition of kind {self.kind} with the numbers {self.number} and {self.site}")
        if (self.kind in ("site", "host", "url-prefix")) != bool(self.text) or (self.text and self.number):
            raise ValueError(f"a condition of kind {self.kind} with the text {self.text[:80]!r} and {self.number}")

    @property
    def in_words(self) -> str:
        """The condition for a reader."""
        match self.kind:
            case "before":
                return f"pages fetched before {self.number} (milliseconds since 1970)"
            case "scope":
                return f"pages of the scope {self.number:016x}"
            case "url-prefix":
                return f"URLs that begin with {self.text}"
        return f"URLs of the {self.kind} {self.text}"

    @property
    def nbytes(self) -> int:
        """About the number of bytes that it takes in a block's header."""
        return len(self.text.encode()) + 40


class Forget(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A record of ``fingerprints``, between batches: survivors of all batches before it that meet the condition are
    gone for all batches after it. ``writer`` tells it from other records of its kind. It has a batch's envelope, in a
    version that no batch has: a program that does not know this version ends there, as it would before a batch of a
    later program.
    """

    scheme: bytes
    writer: bytes
    condition: ForgetCondition


class Forgotten(msgspec.Struct, frozen=True, array_like=True):
    """A note that a record was applied: the one at this offset of ``fingerprints``, when the watermark stood at
    ``clock``."""

    condition: ForgetCondition
    at: int
    clock: int
