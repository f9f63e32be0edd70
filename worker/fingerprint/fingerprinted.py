"""What a page came to: in short for the stream, in full for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from crawler_plugin.wire.messages import SKETCH_BYTES
from worker.fingerprint.scoped import TEMPLATE

UInt64 = Annotated[int, Meta(ge=0)]
"""MessagePack has no larger number than fits."""
UInt32 = Annotated[int, Meta(ge=0, lt=1 << 32)]


class Fingerprinted(msgspec.Struct, frozen=True, array_like=True):
    """What a page came to; small, since it travels between processes. What comes from one is held against this type.

    ``fingerprint`` is 64 bits, or None with the ``reason`` in words. ``text_hash`` is 64 bits that stand for the text's
    tokens; for the body's bytes where there is none, and for the URL where the body is empty: emptiness makes no two
    pages alike. ``tokens`` counts ``characters_and_words``. ``sketch`` and ``bands`` are 32 bytes each, none where
    there is no fingerprint or the recipe asks for none. ``canonical`` is the 64-bit hash of the URL that the page calls
    its own, ``template`` 32 bits that stand for the template of its URL, with the host; 0 where there is none.
    ``site``, ``title``, ``title_words`` and ``doubt`` are as of ``worker.fingerprint.scoped``, but that no single page
    tells a template's text.
    """

    fingerprint: UInt64 | None
    text_hash: UInt64
    tokens: UInt32
    language: Annotated[str, Meta(max_length=16)]
    reason: Annotated[str, Meta(max_length=500)] | None
    sketch: bytes = b""
    bands: bytes = b""
    canonical: UInt64 = 0
    template: UInt32 = 0
    site: UInt32 = 0
    title: UInt32 = 0
    title_words: UInt64 = 0
    doubt: Annotated[int, Meta(ge=0, le=1)] = 0

    def __post_init__(self) -> None:
        if len(self.sketch) not in (0, SKETCH_BYTES) or len(self.bands) not in (0, SKETCH_BYTES):
            raise ValueError(
                f"a sketch of {len(self.sketch)} and bands of {len(self.bands)} bytes: each has {SKETCH_BYTES} or none"
            )

    def with_address(self, *, canonical: int, template: int) -> Fingerprinted:
        """The same with what its URLs tell."""
        return msgspec.structs.replace(self, canonical=canonical, template=template)

    def with_title(self, *, site: int, title: int, title_words: int, doubt: int) -> Fingerprinted:
        """The same with what its site and its title tell."""
        return msgspec.structs.replace(self, site=site, title=title, title_words=title_words, doubt=doubt)


@dataclass(frozen=True, slots=True)
class Explained:
    """All that led to a fingerprint of ``bits`` bits, for people.

    ``words`` are the tokens in their order, noise words left out; ``tokens`` as of ``Fingerprinted``. ``features`` are
    (word, or two words with a blank between, and their weight) by falling weight, ``sums`` the votes of each bit in
    units of those weights, most significant bit first. ``ordinary`` holds by name what hashes make of the same
    normalised text that know no similarity, as wide as the fingerprint. ``sketch`` and ``bands`` as of
    ``Fingerprinted``. ``site_name`` is the registered domain, ``thing`` what is compared of the title, and ``site``,
    ``title``, ``title_words`` and ``doubt`` are what stands for these in a claim; ``shown`` as of ``Extracted``.
    ``text`` is what all that was made of, and ``units`` are the tokens whose n-grams the sketch is made of.
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
    shown: tuple[str, ...] = ()
    site_name: str = ""
    thing: str = ""
    site: int = 0
    title: int = 0
    title_words: int = 0
    doubt: int = 0
    text: str = ""
    units: tuple[str, ...] = ()

    @property
    def bounds(self) -> str:
        """What it is bound to, in words; empty where it is not."""
        told = []
        if self.doubt:
            site = self.site_name or "its site"
            named = f": {self.thing}" if self.thing else ", and it has none" if self.title & 1 else ""
            near = f"near only to pages of its title{named}"
            doubted = f"its title does not announce its text, so on {site} {near}"
            told.append(f"a text under several titles of {site}, so {near}" if self.doubt >= TEMPLATE else doubted)
        if self.shown:
            told.append(f"near only to texts shown with {', '.join(self.shown)}")
        return "; ".join(told)

    def encode(self) -> bytes:
        """As JSON: MessagePack has no numbers of 128 bits."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, value: bytes) -> Explained:
        """What ``encode`` wrote.

        Raises:
            ValueError: anything else.
        """
        try:
            return msgspec.json.decode(value, type=cls)
        except msgspec.DecodeError as error:
            raise ValueError(f"not an explained fingerprint: {error}") from error
