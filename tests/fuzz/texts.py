"""From a text to its characters and words: no code points make this raise."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fingerprint.definition.segment import characters_and_words, language
from worker.page.words.normalise import normalise


def attack(data: bytes) -> None:
    """Read the data as UTF-8, and as code points of three bytes each, with lone surrogates among them."""
    wide = "".join(
        chr(int.from_bytes(data[place : place + 3], "big") % 0x110000) for place in range(0, min(len(data), 600), 3)
    )
    for text in (data.decode(errors="surrogateescape"), wide):
        normalised = normalise(text)
        assert all(characters_and_words(normalised))
        assert language(normalised)


def seeds() -> Iterator[bytes]:
    """Scripts of all kinds."""
    for text in (
        "Fish and water, e\u0301 ﬁ",
        "网页去重，第二版",
        "こんにちは世界",
        "สวัสดีชาวโลก",
        "שָׁלוֹם",
        "می\u200cخواهَم ھر بھی ۱۲",
        "അവന\u0d4d\u200d എൻറെ र्\u200dया क\u093cে\u09be",
        "น\u0e4d\u0e49\u0e32 น้ำเเก",
        "thua\u0323\u0302n ho\u0300a мой ё\u0301",
        "안녕 세계",
        "😀\u200d\ufe0f",
    ):
        yield text.encode()
        yield b"".join(ord(character).to_bytes(3, "big") for character in text)
