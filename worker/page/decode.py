"""Bytes of a page → text, however wrongly the page is labelled.

Order of belief, from proof by the bytes to mere suggestion:

1. a byte order mark (UTF-8, UTF-16);
2. UTF-16 without one: text in UTF-16 holds control bytes, which text in any other encoding does not;
3. ISO-2022-JP: its escape sequences, with hardly an error between them, are no text in ASCII;
4. UTF-8 in which at least half of all that is not ASCII is whole, or a line of it: in any other encoding seven tenths
   are not UTF-8. So a page that claims GBK or windows-1252 and is UTF-8 is read as UTF-8. Lines that are not UTF-8,
   such as a footer in Latin-1, are read in their own encoding: templates are filled from several sources;
5. the labels of the page: charset of the HTTP header, encoding given by the crawler, then ``<meta>`` or XML
   declaration. A label is dropped where the bytes speak against it: too many cannot be decoded, or they are enough for
   the detector, and it finds another encoding. Each encoding of single bytes "decodes" everything, and Big5 "decodes"
   as GBK;
6. the encoding that the detector finds (``worker.page.charsets``).

A pure function: no clock, no file, no locale.

JSON → its text: strings with their escapes resolved, keys and values where they stand.

Words are compared and punctuation is not, so JSON need not be parsed: only each escape in its strings is read. So it
may be as deep and hold numbers as large as it likes, be several values one below the other, or be cut in the middle of
one.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from worker.compiling import COMPILED
from worker.page.charsets import DETECTOR, LABELS, codec_of, declared_inside, detected, high_bytes, sample_of
from worker.page.elements.vocabulary import lean

DECODER: Final = f"decode-3/{DETECTOR}/{LABELS}"
"""Name of the rule above; a part of the scheme, so change it when the rule changes."""

SAMPLE_BYTES: Final = 16 * 1024
"""Bytes of a page in which control bytes are counted."""
MOST_STRAY: Final = 0.5
"""Largest share of stray bytes among what is not ASCII in UTF-8: texts in EUC-JP have at least .71, all others more."""
LEAST_WHOLE: Final = 6
"""Characters of a line of UTF-8. In a text in GBK one in three is a character of UTF-8 as well, of any script."""
MAX_DAMAGE: Final = 0.1
"""Largest share of undecodable characters among the non-ASCII ones, if the page is to be believed in that encoding."""
MAX_CONTROLS: Final = 0.05
"""Largest share of control bytes in text: random bytes, and so all compressed data, have .11."""
ENOUGH: Final = 32
"""Bytes above 127 with which the detector is right where a label disagrees. With 20, a few words of Thai are taken for
Chinese, with 10 one Greek text in five and one Japanese in three for something else."""
ENOUGH_TO_DOUBT: Final = 5
"""The same for a label that is worth little: servers label all their pages ISO-8859-1, which is read as windows-1252,
and text with control characters is in none of the other parts of ISO-8859."""
ENOUGH_OF_ISLANDS: Final = 20
"""The same in the search for parts that are not windows-1252: the parts of a UTF-8 page that are not UTF-8."""
MOST_ISLANDS: Final = 10_000

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_MARKS: Final = tuple(mark for mark, _ in _BOMS)
_READ_ALIKE: Final = {"koi8-r": "koi8-u", "iso8859-15": "cp1252", "iso8859-13": "cp1257"}
"""Encodings that the detector does not tell from another one."""
_UNKNOWN_TO_IT: Final = frozenset(
    ("iso8859-3", "iso8859-10", "iso8859-14", "iso8859-16", "mac_roman", "mac_cyrillic", "iso2022_jp")
)
"""Encodings that the detector never finds."""

_CONTROL_BYTES: Final = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_ESCAPE: Final = 0x1B
_ROW_13: Final = "jis-x-0208-row-13"
"""Name of the error handler that reads characters of NEC and IBM (①, ㈱, 髙), which Python's ISO-2022-JP has not."""
_ASCII_RUN: Final = re.compile(r"[\x00-\x7f]+")
_UTF16_TEXT: Final = re.compile(
    "[\\u00a0-\\u024f\\u0370-\\u052f\\u0590-\\u06ff\\u0e00-\\u0e7f\\u2010-\\u2bff\\u3000-\\u30ff\\u4e00-\\u9fff"
    "\\uac00-\\ud7a3\\uff00-\\uffef]+"
)
_CONTROL: Final = re.compile("[\x80-\x9f]")
_ASCII_TEXT: Final = re.compile("[\\t\\n\\r\\x20-\\x7e]+")
# The parts that are not UTF-8 in a text decoded with "surrogateescape": one character a byte.
_STRAY: Final = re.compile("[\udc80-\udcff]+")
_FOREIGN_LINE: Final = re.compile("(?<![^<>\n])[^<>\n\x80-\U0010ffff]*+[\x80-\U0010ffff][^<>\n]*+")
_STRAY_LINE: Final = re.compile("(?<![^<>\n])[^<>\n\udc80-\udcff]*+[\udc80-\udcff][^<>\n]*+")
_ISLAND: Final = re.compile("(?<=[\x00-\x7f])(?:[\udc80-\udcff]|[\udcc0-\udcff]{2})(?=[\x00-\x7f])")
# Letters with accents hardly ever stand in a row: four of them are of another script, and too few to show which.
_NO_WORD: Final = re.compile("[\udc80-\udcff]{4,}")
_WESTERN: Final = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


class Decoded(NamedTuple):
    """``encoding`` is the name of Python's codec that ``text`` was decoded with."""

    text: str
    encoding: str


class UndecodableError(ValueError):
    """The bytes are text in no encoding."""


def decode(body: bytes, declared: Iterable[str | None] = ()) -> Decoded:
    """The text of ``body``, by the order of belief above; undecodable bytes become U+FFFD, NULs are left out.

    ``declared`` are labels that came with the page, the most trusted first: HTTP header, then crawler.

    Raises:
        UndecodableError: control bytes say that this is no text at all.
    """
    if is_plain_utf8(body):
        return Decoded(body.decode(), "utf-8")
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return _read(body[len(mark) :], codec)
    return (None if b"\0" in body else _iso_2022_jp(body)) or _decode_doubtful(body, declared)


def is_plain_utf8(body: bytes) -> bool:
    """Whether a body is text in UTF-8 as it stands, and in nothing else: ``decode`` has nothing more to look at."""
    if b"\0" in body or body.startswith(_MARKS):
        return False
    if body.isascii():
        return _ESCAPE not in body or not _iso_2022_jp(body)
    return _is_valid(np.frombuffer(body, np.uint8) if COMPILED else body)


@lean("boolean(uint8, uint8, uint8, uint8)", inline=True)
def _is_wrong(first: int, second: int, third: int, byte: int) -> bool:
    """Whether a byte is not UTF-8 after these three (Unicode, table 3-7)."""
    # One expression without a branch, so that the processor computes it for 64 bytes at once.
    continues = (third >= 0xC0) | (second >= 0xE0) | (first >= 0xF0)
    return bool(
        ((byte & 0xC0 == 0x80) != continues)
        | ((third == 0xE0) & (byte < 0xA0))
        | ((third == 0xED) & (byte > 0x9F))
        | ((third == 0xF0) & (byte < 0x90))
        | ((third == 0xF4) & (byte > 0x8F))
        | (byte == 0xC0)
        | (byte == 0xC1)
        | (byte > 0xF4)
    )


@lean("boolean(Array(uint8, 1, 'C', readonly=True))", entry=True)
def _is_valid(body: Any) -> bool:
    """Whether this is UTF-8."""
    wrong = False
    for place in range(len(body) - 3):
        wrong |= _is_wrong(body[place], body[place + 1], body[place + 2], body[place + 3])
    # As if NULs stood before and after it: none of them continues a character at its end.
    first = second = third = 0
    for place in range(min(3, len(body))):
        wrong |= _is_wrong(first, second, third, body[place])
        first, second, third = second, third, int(body[place])
    first = second = third = 0
    for place in range(max(0, len(body) - 3), len(body)):
        first, second, third = second, third, int(body[place])
    return not (wrong | _is_wrong(first, second, third, 0) | _is_wrong(second, third, 0, 0) | _is_wrong(third, 0, 0, 0))


def _decode_doubtful(body: bytes, declared: Iterable[str | None]) -> Decoded:
    utf16 = _utf16_without_mark(body)
    if utf16:
        return _read(body, utf16)
    body = body.rstrip(b"\0")
    escaped = body.decode("utf-8", "surrogateescape")
    if _share_of_stray(escaped) <= MOST_STRAY:
        return _with_islands(escaped)
    if _controls(body[:SAMPLE_BYTES]) > MAX_CONTROLS:
        raise UndecodableError("neither UTF-8 nor UTF-16, and more control bytes than any text has")
    if _has_line_of_utf8(escaped):
        return _with_islands(escaped)
    sample = sample_of(body)
    found, high = detected(sample), high_bytes(sample)
    labels = filter(None, (*map(codec_of, declared), declared_inside(body)))
    readings = (_believed(body, codec, found, high) for codec in labels)
    return next(filter(None, readings), None) or _read(body, found)


def _read(body: bytes, codec: str) -> Decoded:
    return Decoded(body.decode(codec, "replace").replace("\0", ""), codec)


def _believed(body: bytes, codec: str, found: str, high: int) -> Decoded | None:
    """The body decoded by a label, if that is possible; ``high`` of its bytes speak for the encoding ``found``."""
    if codec.startswith("utf"):
        return None  # the bytes have already been found to be neither
    reading = _read(body, codec)
    if _damage(reading.text) > MAX_DAMAGE:
        return None
    agrees = codec in _UNKNOWN_TO_IT or _READ_ALIKE.get(codec, codec) == _READ_ALIKE.get(found, found)
    is_doubted = codec == "cp1252" or _CONTROL.search(reading.text)
    return reading if agrees or high < (ENOUGH_TO_DOUBT if is_doubted else ENOUGH) else None


def _iso_2022_jp(body: bytes) -> Decoded | None:
    if b"\x1b$" not in body:
        return None
    text = body.decode("iso2022_jp_ext", "replace")
    if _damage(text) > MAX_DAMAGE:
        return None
    return Decoded(body.decode("iso2022_jp_ext", _ROW_13) if "\ufffd" in text else text, "iso2022_jp_ext")


def _as_in_shift_jis(error: UnicodeError) -> tuple[str, int]:
    """The character of two bytes of ISO-2022-JP by the table of Shift_JIS, as browsers have one table for both."""
    assert isinstance(error, UnicodeDecodeError)
    pair = error.object[error.start : error.end]
    if len(pair) != 2 or min(pair) < 0x21 or max(pair) > 0x7E:
        return "\ufffd", error.end
    row, cell = pair
    lead = (row + 1) // 2 + (0x70 if row < 0x5F else 0xB0)
    trail = cell + (0x7E if row % 2 == 0 else 0x1F if cell < 0x60 else 0x20)
    return bytes((lead, trail)).decode("cp932", "replace")[0], error.end


codecs.register_error(_ROW_13, _as_in_shift_jis)


def _share_of_stray(escaped: str) -> float:
    """Share of bytes that are not UTF-8 among all that is not ASCII, where each other character counts once."""
    points = np.frombuffer(escaped.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return float(np.count_nonzero(points >> 7 == 0xDC80 >> 7) / max(1, int(np.count_nonzero(points >> 7))))


def _has_line_of_utf8(escaped: str) -> bool:
    lines = (line[0] for line in islice(_FOREIGN_LINE.finditer(escaped), MOST_ISLANDS))
    return any(_is_utf8(_ASCII_RUN.sub("", line)) for line in lines)


def _is_utf8(foreign: str) -> bool:
    """Whether these characters, all of a line that are not ASCII, are too many of one script to be there by chance."""
    leads = {ord(character) >> 6 for character in foreign if character < "\u0800"}
    return len(foreign) >= LEAST_WHOLE and not _STRAY.search(foreign) and (not leads or max(leads) - min(leads) < 4)


def _with_islands(escaped: str) -> Decoded:
    """UTF-8 in which lines of another encoding are read in that encoding, and single stray bytes in windows-1252.

    They come from the parts that filled a template: a footer, a name from a database. Bytes next to other characters
    are the rest of a character that was cut, and become U+FFFD.
    """
    lines = (line[0] for line in islice(_STRAY_LINE.finditer(escaped), MOST_ISLANDS))
    sample = sample_of(_escaped("\n".join(line for line in lines if _share_of_stray(line) > MOST_STRAY)))
    codec = detected(sample) if high_bytes(sample) >= ENOUGH_OF_ISLANDS else "cp1252"

    def read(line: re.Match[str]) -> str:
        if _share_of_stray(line[0]) <= MOST_STRAY:
            return _ISLAND.sub(lambda island: island[0].translate(_WESTERN), line[0], 100)
        if codec == "cp1252":
            return _NO_WORD.sub("\ufffd", line[0]).translate(_WESTERN)
        return _escaped(line[0]).decode(codec, "replace")

    text = _STRAY_LINE.sub(read, escaped, MOST_ISLANDS)
    return Decoded(_STRAY.sub("\ufffd", text).replace("\0", ""), "utf-8")


def _escaped(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _utf16_without_mark(body: bytes) -> str | None:
    """``utf-16-le`` or ``-be`` if the bytes are text in it."""
    sample = body[:SAMPLE_BYTES]
    if _controls(sample.rstrip(b"\0")) <= 0.01:
        return None  # a few stray control bytes, or NULs behind it: damaged text of another kind
    if len(body) % 2 and len(body) < SAMPLE_BYTES:
        return None  # a longer one may have been cut
    sample = sample[: len(sample) // 2 * 2]

    def share(codec: str) -> tuple[float, int]:
        text = sample.decode(codec, "replace")
        ascii_characters = len(text) - len(_ASCII_TEXT.sub("", text))
        others = len(text) - len(_UTF16_TEXT.sub("", text))
        return (ascii_characters + others) / max(1, len(text)), ascii_characters

    (little, little_ascii), (big, big_ascii) = share("utf-16-le"), share("utf-16-be")
    # ASCII in the wrong byte order is plausible Chinese, Chinese in the wrong order is hardly ever ASCII.
    if max(little, big) < 0.9:
        return None
    return "utf-16-le" if (little >= 0.9, little_ascii, little) >= (big >= 0.9, big_ascii, big) else "utf-16-be"


def _controls(sample: bytes) -> float:
    return 1 - len(sample.translate(None, _CONTROL_BYTES)) / max(1, len(sample))


def _damage(text: str) -> float:
    """Share of replacement characters among all that is not ASCII."""
    bad = text.count("\ufffd")
    return bad / len(_ASCII_RUN.sub("", text)) if bad else 0.0


# A string without an end was cut.
_TOKEN: Final = re.compile(r'[\s\[\]{},:0-9.eE+\-\ufeff\x1e]++|"(?:[^"\\]|\\.)*+["\\]?+|true|false|null', re.DOTALL)
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*+)("?)', re.DOTALL)


def json_text(text: str) -> str | None:
    """The text of JSON, None if it is no JSON: this checks its tokens, not whether they belong together."""
    if _TOKEN.sub("", text):
        return None
    return _STRING.sub(_meant, text) if "\\" in text else text


def _meant(string: re.Match[str]) -> str:
    try:
        meant: str = json.loads(f'"{string[1]}"', strict=False)
    except ValueError:  # an escape that JSON does not have
        return string[0]
    return '"' + meant.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "") + string[2]
