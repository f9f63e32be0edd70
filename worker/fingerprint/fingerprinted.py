"""The result of reading a page."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from crawler_plugin.wire.messages import SKETCH_BYTES

UInt64 = Annotated[int, Meta(ge=0)]
"""MessagePack has no larger number than this."""
UInt32 = Annotated[int, Meta(ge=0, lt=1 << 32)]


class Fingerprinted(msgspec.Struct, frozen=True, array_like=True):
    """The result of reading a page; small, since it travels between processes. What comes is checked against this type.

    ``fingerprint`` is 64 bits, or None with the ``reason`` in words. ``text_hash`` is 64 bits that stand for the text's
    tokens; without tokens for the body's bytes, and for an empty body for the URL: emptiness makes no two pages alike.
    ``tokens`` counts ``characters_and_words``. ``sketch`` and ``bands`` are 32 bytes each, none where there is no
    fingerprint or the recipe asks for none. ``canonical`` is the 64-bit hash of the URL that the page names as its own,
    ``template`` 32 bits that stand for the template of its URL, with the host; 0 where there is none. ``site``,
    ``title``, ``title_words`` and ``doubt`` are as in ``worker.fingerprint.scoped``, except that no single page shows
    that its text is a template's. ``own`` is the URL that ``canonical`` stands for, absolute, and empty where the page
    names none; None where it was not asked for, or where the holder of the body is to look for it.
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
    own: str | None = None

    def __post_init__(self) -> None:
        if len(self.sketch) not in (0, SKETCH_BYTES) or len(self.bands) not in (0, SKETCH_BYTES):
            raise ValueError(
                f"a sketch of {len(self.sketch)} and bands of {len(self.bands)} bytes: each has {SKETCH_BYTES} or none"
            )

    def with_address(self, *, canonical: int, template: int, own: str | None = None) -> Fingerprinted:
        """The same result with the data from its URLs."""
        return msgspec.structs.replace(self, canonical=canonical, template=template, own=own)

    def with_title(self, *, site: int, title: int, title_words: int, doubt: int) -> Fingerprinted:
        """The same result with the data from its site and its title."""
        return msgspec.structs.replace(self, site=site, title=title, title_words=title_words, doubt=doubt)
