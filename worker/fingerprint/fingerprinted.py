"""What a page came to: in short for the stream, in full for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from worker.messages import SKETCH_BYTES

UInt64 = Annotated[int, Meta(ge=0)]
"""MessagePack has no larger number than fits."""
UInt32 = Annotated[int, Meta(ge=0, lt=1 << 32)]


class Fingerprinted(msgspec.Struct, frozen=True, array_like=True):
    """What a page came to; small, since it travels between processes. What comes from one is held against this type.

    ``fingerprint`` is 64 bits, or None with the ``reason`` in words. ``text_hash`` is 64 bits that stand for the text's
    tokens; for the body's bytes where there is none, and for the URL where the body is empty: emptiness makes no two
    pages alike. ``tokens`` counts ``characters_and_words``. ``sketch`` and ``bands`` are 32 bytes each, none where
    there is no fingerprint or the recipe asks for none. ``canonical`` is the 64-bit hash of the URL that the page calls
    its own, ``title`` and ``template`` 32 bits that stand for its title and for the template of its URL, with the host;
    0 where there is none.
    """

    fingerprint: UInt64 | None
    text_hash: UInt64
    tokens: UInt32
    language: Annotated[str, Meta(max_length=16)]
    reason: Annotated[str, Meta(max_length=500)] | None
    sketch: bytes = b""
    bands: bytes = b""
    canonical: UInt64 = 0
    title: UInt32 = 0
    template: UInt32 = 0

    def __post_init__(self) -> None:
        if len(self.sketch) not in (0, SKETCH_BYTES) or len(self.bands) not in (0, SKETCH_BYTES):
            raise ValueError(
                f"a sketch of {len(self.sketch)} and bands of {len(self.bands)} bytes: each has {SKETCH_BYTES} or none"
            )

    def of_page(self, *, canonical: int, title: int, template: int) -> Fingerprinted:
        """The same with what no text tells."""
        return msgspec.structs.replace(self, canonical=canonical, title=title, template=template)


@dataclass(frozen=True, slots=True)
class Explained:
    """All that led to a fingerprint of ``bits`` bits, for people.

    ``words`` are the tokens in their order, noise words left out; ``tokens`` as of ``Fingerprinted``. ``features`` are
    (word, or two words with a blank between, and their weight) by falling weight, ``sums`` the votes of each bit in
    units of those weights, most significant bit first. ``ordinary`` holds by name what hashes make of the same
    normalised text that know no similarity, as wide as the fingerprint. ``sketch`` and ``bands`` as of
    ``Fingerprinted``. ``bound_to`` is what pages must have to be near to this one, as ``Extracted.bound_to``.
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
    bound_to: str | None = None
    text: str = ""
    units: tuple[str, ...] = ()

    @property
    def bounds(self) -> str:
        """What it is bound to, in words; empty where it is not."""
        title, *shown = (self.bound_to or "").split("\n")
        told = [f"of its title: {title}"] * bool(title) + [f"with what it shows: {', '.join(shown)}"] * bool(shown)
        return f"near only to pages {', '.join(told)}" if told else ""

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
