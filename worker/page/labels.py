"""What a page is said to be encoded in: labels of encodings, and where they stand in headers and in the page.

Labels mean what the Encoding Standard says, and what a page declares is found as browsers find it (HTML Living
Standard, section 13.2.3.2), but for two things: names of Python's codecs are labels as well, since crawlers give them;
and a declaration counts wherever it stands in the head, as in Chrome, and not in the first kilobyte only.
"""

from __future__ import annotations

import re
from encodings import normalize_encoding
from encodings.aliases import aliases
from importlib.metadata import version
from typing import Final

import webencodings

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
    # A page cannot be in it: browsers read one that says so as windows-1252.
    "x-user-defined": "cp1252",
    # Browsers refuse to read such pages, for the sake of scripts in them; here their bytes decide.
    "replacement": None,
}
"""Python's codecs by names of the standard, where they are called otherwise."""
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
"""Labels of the standard by names of Python's codecs, where they are other ones."""

MOST_HEAD: Final = 128 * 1024
"""Bytes of a page in which a declaration is looked for where its head has no end."""

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
    """Python's codec for an encoding's label, as browsers understand it; None for none or an unknown one."""
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
    """The codec that a page declares: in a ``<meta>`` of its head, else in its XML declaration."""
    head = body[:MOST_HEAD]
    found = _declared_by_meta(head)
    if found is None and (xml := _XML_ENCODING.match(head)):
        found = codec_of(xml[1].decode("ascii"))
    # Whoever wrote the declaration in ASCII was not in UTF-16.
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
                return None  # what is cut declares nothing
            if name.lower() == b"meta" and head[markup.start() + 1] != 0x2F and (codec := _codec_in(attributes)):
                return codec
    return None


def _attributes(head: bytes, place: int) -> tuple[dict[bytes, bytes], int]:
    """Those of a tag by their names, in lower case, and where they end."""
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
