"""Encodings of pages: as headers and the page name them, and where neither does, as the bytes show.

Labels mean what the Encoding Standard says, and a page's declaration is found as browsers find it (HTML Living
Standard, section 13.2.3.2), with two exceptions: names of Python's codecs are labels as well, since crawlers pass them;
and a declaration counts wherever it stands in the head, as in Chrome, and not in the first kilobyte only.

Bytes without a label are judged by the detector of Firefox (chardetng), and by the words of the page.

Texts in Latin letters have few bytes above 127, and texts of one language are as good in the encoding of another: ``ã``
of Portuguese is ``ă`` in windows-1250. Their words in plain letters show the language, and the language the encoding.
The detector gets the top-level domain of a country where that language is spoken: browsers ask it in the same way, but
this domain comes from the page itself.
"""

from __future__ import annotations

import re
from collections import Counter
from encodings import normalize_encoding
from encodings.aliases import aliases
from functools import cache
from importlib.metadata import version
from typing import Final

import webencodings
from chardetng_py import EncodingDetector

from worker.page.words.noise import NOISE_WORDS

LABELS: Final = f"webencodings-{version('webencodings')}"
"""Name of the table of labels; a part of the scheme."""

_CODECS: Final[dict[str, str | None]] = {
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp",
    "euc-kr": "cp949",
    "iso-8859-8-i": "iso8859-8",
    "ibm866": "cp866",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    # A page cannot be in it: browsers read a page that claims it as windows-1252.
    "x-user-defined": "cp1252",
    # Browsers refuse to read such pages, for the sake of scripts in them; here their bytes decide.
    "replacement": None,
}
"""Python's codecs by names of the standard, where the names differ."""
_PYTHON_NAMES: Final = {
    "latin_1": "latin1",
    "big5hkscs": "big5",
    "cp874": "windows-874",
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "cp950": "big5",
    "iso2022_jp": "iso-2022-jp",
    "mac_roman": "macintosh",
    "mac_cyrillic": "x-mac-cyrillic",
    "utf_16_le": "utf-16le",
    "utf_16_be": "utf-16be",
}
"""Labels of the standard by names of Python's codecs, where the names differ."""

MOST_HEAD: Final = 128 * 1024
"""Bytes of a page in which a declaration is looked for if its head has no end."""

_NAME: Final = re.compile(r"[a-z0-9_.-]{2,40}", re.IGNORECASE)
_HEADER_CHARSET: Final = re.compile(r"""(?<![\w-])charset\s*+=\s*+["']?+\s*+([a-z0-9_:.\-]{2,40})""", re.IGNORECASE)
_XML_ENCODING: Final = re.compile(
    rb"""<\?xml\s[^>]{0,200}?encoding\s*+=\s*+["']([a-z0-9_:.\-]{2,40})["']""", re.IGNORECASE
)
_SPACE: Final = rb"[\t\n\f\r ]*+"
_CONTENT_CHARSET: Final = re.compile(
    rb"charset" + _SPACE + b"=" + _SPACE + rb"""(?:"([^"]*+)"|'([^']*+)'|([^"'\t\n\f\r ;][^\t\n\f\r ;]*+))""",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(rb"<(?:(!--)|/?([a-z][^\t\n\f\r />]*+)|[!/?])", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    rb"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)(?:"
    + _SPACE
    + b"="
    + _SPACE
    + rb"""(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\t\n\f\r >]*+)))?"""
)
_ENDS_HEAD: Final = (b"body", b"frameset")


def codec_of(label: str | None) -> str | None:
    """Python's codec for an encoding's label, as browsers understand it; None for no label or an unknown one."""
    if not label or not label.isascii():
        return None
    found = webencodings.lookup(label)
    if found is None and _NAME.fullmatch(label.strip()):
        python = normalize_encoding(label.strip()).lower()
        python = aliases.get(python, python)
        found = webencodings.lookup(
            _PYTHON_NAMES.get(python, python.replace("iso8859_", "iso-8859-").replace("_", "-"))
        )
    if found is None:
        return None
    name = found.name
    if name.startswith("windows-"):
        return f"cp{name[8:]}"
    return _CODECS.get(name, name.replace("iso-8859", "iso8859"))


def header_charset(content_type: str | None) -> str | None:
    """The charset of a Content-Type header."""
    found = _HEADER_CHARSET.search(content_type or "")
    return found[1] if found else None


def declared_inside(body: bytes) -> str | None:
    """The codec that a page declares: in a ``<meta>`` of its head, otherwise in its XML declaration."""
    head = body[:MOST_HEAD]
    found = _declared_by_meta(head)
    if found is None and (xml := _XML_ENCODING.match(head)):
        found = codec_of(xml[1].decode("ascii"))
    # A declaration that was written in ASCII cannot stand in UTF-16.
    return "utf-8" if found and found.startswith("utf-16") else found


def _declared_by_meta(head: bytes) -> str | None:
    place = 0
    while markup := _MARKUP.search(head, place):
        comment, name = markup.groups()
        if comment:
            place = head.find(b"-->", markup.start() + 2) + 3  # ``<!-->`` ends where it begins
            if place < 3:
                return None
        elif name is None:
            place = head.find(b">", markup.end()) + 1
            if not place:
                return None
        elif name.lower() in _ENDS_HEAD:
            return None
        else:
            attributes, place = _attributes(head, markup.end())
            if head.find(b">", place) < 0:
                return None  # a cut declaration does not count
            if name.lower() == b"meta" and head[markup.start() + 1] != 0x2F and (codec := _codec_in(attributes)):
                return codec
    return None


def _attributes(head: bytes, place: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag by their names, in lower case, and where they end."""
    found: dict[bytes, bytes] = {}
    while attribute := _ATTRIBUTE.match(head, place):
        name, *values = attribute.groups()
        found.setdefault(name.lower(), next(filter(None, values), b""))
        place = attribute.end()
    return found, place


def _codec_in(attributes: dict[bytes, bytes]) -> str | None:
    if b"charset" in attributes:
        return codec_of(attributes[b"charset"].decode("latin-1"))
    if attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    said = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
    return codec_of(next(filter(None, said.groups()), b"").decode("latin-1")) if said else None


DETECTOR: Final = f"chardetng-{version('chardetng-py')}"
"""Name of the detector; a part of the scheme, since another version may find another encoding."""

LEAST_WORDS: Final = 3
"""Number of function words that shows a language. With fewer, the title of a page in one language sounds like
another."""

_DOMAINS: Final = {
    "ca": "es",
    "cs": "cz",
    "da": "dk",
    "et": "ee",
    "sl": "si",
    "sv": "se",
    "vi": "vn",
}
"""Domains of languages whose names differ from the domain, for languages that are written in Latin letters."""
_ALPHABETS: Final = (("cp1252",), ("cp1250", "iso8859-2"), ("cp1257", "iso8859-4"), ("cp1254",), ("cp1258",))
"""Encodings of Latin letters, those for the same languages side by side."""
_EAST_ASIAN: Final = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")

SAMPLE_BYTES: Final = 16 * 1024
LEAST_VOTE: Final = 10
"""Bytes above 127 that a line must have for a question of its own."""
MOST_VOTES: Final = 64

_ASCII_BYTES: Final = bytes(range(0x80))
_LINE: Final = re.compile(rb"(?<![^<>\n])[^<>\n\x80-\xff]*+[\x80-\xff][^<>\n]*+")
"""Text between two tags or ends of lines that is not all ASCII."""
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
    """The number of bytes in a sample that are not ASCII."""
    return len(sample.translate(None, _ASCII_BYTES))


def detected(sample: bytes) -> str:
    """Python's name of the encoding that a sample seems to be in, of all except UTF-8."""
    found = _guess(sample, None)
    if (found not in _EAST_ASIAN or "\ufffd" in sample.decode(found, "replace")[:-1]) and (most := _most_lines(sample)):
        return most
    if _alphabet(found) is None or not (domain := _domain(sample)):
        return found
    spoken = _guess(sample, domain)
    return found if _alphabet(found) == _alphabet(spoken) else spoken


def _guess(sample: bytes, domain: str | None) -> str:
    detector = EncodingDetector()
    detector.feed(sample, last=False)  # the sample may end within a character
    return codec_of(detector.guess(tld=domain.encode() if domain else None, allow_utf8=False)) or "cp1252"


def _most_lines(sample: bytes) -> str:
    """The East Asian encoding that more than half of the lines of a text are in, empty for none. For the detector one
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
    """The domain of the language that most function words are of; None if that is English, or cannot be found."""
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
