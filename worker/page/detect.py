"""Which encoding bytes without a label are in, by the detector of Firefox (chardetng), and by the words of the page.

Texts in Latin letters have few bytes above 127, and those of one language are as good in the encoding of another:
``ã`` of Portuguese is ``ă`` in windows-1250. Their words in plain letters tell the language, and the language the
encoding. The detector is asked with the top-level domain where it is spoken: so it asks browsers' questions, but of
the page itself.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from importlib.metadata import version
from typing import Final

from chardetng_py import EncodingDetector

from worker.page.labels import codec_of
from worker.page.words.noise import NOISE_WORDS

DETECTOR: Final = f"chardetng-{version('chardetng-py')}"
"""Name of what detects; a part of the scheme, since another version may find another encoding."""

LEAST_WORDS: Final = 3
"""Function words that tell a language. With fewer, the title of a page in one language sounds like another."""

_DOMAINS: Final = {
    "ca": "es",
    "cs": "cz",
    "da": "dk",
    "et": "ee",
    "sl": "si",
    "sv": "se",
    "vi": "vn",
}
"""Domains of languages that are not called as these are, of those that are written in Latin letters."""
_ALPHABETS: Final = (("cp1252",), ("cp1250", "iso8859-2"), ("cp1257", "iso8859-4"), ("cp1254",), ("cp1258",))
"""Encodings of Latin letters, those for the same languages side by side."""
_EAST_ASIAN: Final = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")

SAMPLE_BYTES: Final = 16 * 1024
LEAST_VOTE: Final = 10
"""Bytes above 127 that a line must have to be asked alone."""
MOST_VOTES: Final = 64

_ASCII_BYTES: Final = bytes(range(0x80))
_LINE: Final = re.compile(rb"(?<![^<>\n])[^<>\n\x80-\xff]*+[\x80-\xff][^<>\n]*+")
"""Text between two tags or ends of lines, in which not all is ASCII."""
_PLAIN_WORD: Final = re.compile(rb"(?<![a-z\x80-\xff])[a-z]{2,12}+(?![a-z\x80-\xff])")


def sample_of(body: bytes) -> bytes:
    """Lines of a page that are not ASCII: markup, script and style say nothing of the encoding."""
    lines, length = [], 0
    for line in _LINE.finditer(body):
        lines.append(line[0])
        length += len(line[0]) + 1
        if length >= SAMPLE_BYTES:
            break
    return b"\n".join(lines)[:SAMPLE_BYTES]


def high_bytes(sample: bytes) -> int:
    """How many bytes of a sample are not ASCII."""
    return len(sample.translate(None, _ASCII_BYTES))


def detected(sample: bytes) -> str:
    """Python's name of the encoding that a sample seems to be in, of all but UTF-8."""
    found = _guess(sample, None)
    if (found not in _EAST_ASIAN or "\ufffd" in sample.decode(found, "replace")[:-1]) and (most := _most_lines(sample)):
        return most
    if _alphabet(found) is None or not (domain := _domain(sample)):
        return found
    spoken = _guess(sample, domain)
    return found if _alphabet(found) == _alphabet(spoken) else spoken


def _guess(sample: bytes, domain: str | None) -> str:
    detector = EncodingDetector()
    detector.feed(sample, last=False)  # which may end within a character
    return codec_of(detector.guess(tld=domain.encode() if domain else None, allow_utf8=False)) or "cp1252"


def _most_lines(sample: bytes) -> str:
    """The East Asian encoding that more than half of a text is in line by line, empty for none. To the detector one
    wrong byte is a proof against it."""
    votes: Counter[str] = Counter()
    for line in sample.split(b"\n", MOST_VOTES)[:MOST_VOTES]:
        if (high := high_bytes(line)) >= LEAST_VOTE:
            votes[_guess(line, None)] += high
    found, most = max(votes.items(), key=lambda vote: (vote[1], vote[0]), default=("", 0))
    return found if found in _EAST_ASIAN and 2 * most > high_bytes(sample) else ""


def _alphabet(codec: str) -> tuple[str, ...] | None:
    return next((alphabet for alphabet in _ALPHABETS if codec in alphabet), None)


def _domain(sample: bytes) -> str | None:
    """Of the language that most function words are of; None where that is English, or cannot be told."""
    heard: Counter[str] = Counter()
    languages = _languages()
    for word, count in Counter(_PLAIN_WORD.findall(sample.lower())).items():
        for language in languages.get(word, ()):
            heard[language] += count
    if not heard:
        return None
    language, count = max(heard.items(), key=lambda one: (one[1], one[0]))
    return _DOMAINS.get(language, language) if count >= LEAST_WORDS and language != "en" else None


@cache
def _languages() -> dict[bytes, list[str]]:
    """The languages of each function word in plain letters."""
    found: dict[bytes, list[str]] = {}
    for language, words in (*sorted(NOISE_WORDS.by_language.items()), ("en", NOISE_WORDS.always)):
        for word in words:
            if word.isascii():
                found.setdefault(word.encode(), []).append(language)
    return found
