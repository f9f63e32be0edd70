"""Finds the kind of a body from its Content-Type, or from the beginning of its text where the type does not tell: one
table.

It follows the MIME Sniffing Standard, for the names that servers really use: ``text/xhtml`` is HTML,
``application/x-json`` is JSON, and a feed that is called HTML is XML. Two rules differ from browsers, since a crawl
wants the article and not its source. A body that is called plain text, a script or JSON, but begins as an HTML
document, is HTML. And without a type, a tag anywhere makes a text markup: many crawlers leave the type out, and give a
part of a page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

Kind = Literal["html", "xml", "json", "text", "binary", "unknown"]

_LONGEST: Final = 4096
"""Characters of a header that are read."""
_SHORT: Final = 256
"""The longest header, in characters, whose kind is remembered."""
_TYPE: Final = re.compile(r"\s*+([\w!#$&^.+-]++/[\w!#$&^.+-]++)(?![^\s;])")

_NOTHING: Final = re.compile(r"/(?:x-)?unknown\Z")
_NO_TEXT: Final = ("image", "audio", "video", "font", "model")
_HTML: Final = re.compile(r"(?!m)[a-z-]*html?")
"""Without ``mhtml``, which is a mail."""
_SCRIPT: Final = re.compile(r"(?:java|ecma|type)script|yaml|toml|sql|sh|latex|tex|plain|text")
_BINARY: Final = re.compile(
    r"pdf|zip|gzip|tar|bzip2?|7z-compressed|rar-compressed|vnd\.rar|java-archive|wasm|ogg|msword|postscript"
    r"|shockwave-flash|vnd\.(?:ms-|openxmlformats|oasis\.).*"
)

_SIGNATURE: Final = re.compile(
    rb"%PDF-|%!PS-Adobe-|\x89PNG|\xff\xd8\xff|GIF8[79]a|\0\0[\x01\x02]\0|BM....\0\0\0\0|FORM....AIFF|fLaC"
    rb"|RIFF....(?:WEBP|WAVE|AVI )|MThd\0\0\0\x06|ID3|OggS|....ftyp|\x1a\x45\xdf\xa3|PK\x03\x04|\x1f\x8b\x08"
    rb"|Rar[! ]\x1a|7z\xbc\xaf|BZh[1-9]1AY|\xfd7zXZ|\x28\xb5\x2f\xfd|\0\x01\0\0|OTTO\0|ttcf\0|wOF[F2]|\x7fELF"
    rb"|\0asm|\xd0\xcf\x11\xe0|MZ\x90",
    re.DOTALL,
)
_BLANK: Final = re.compile(r"[\s\ufeff]*+")
_DOCUMENT: Final = re.compile(r"<(?:!doctype\s++html|html)[\s>]", re.IGNORECASE)
_FEED: Final = re.compile(r"<(?:rss|feed|rdf:rdf)[\s>]", re.IGNORECASE)
_LONGEST_TAG: Final = 64
_MOST_COMMENTS: Final = 64
_DECLARATION: Final = "<?xml"
_COMMENT: Final = "<!--"
_JSON: Final = re.compile(r"[\s\ufeff]*+[{\[]")
_TAG: Final = re.compile(
    r"<(?:!--|!doctype\s|\?xml\s|/?(?:html|head|body|title|meta|link|script|style|div|p|span|a|br|hr|h[1-6]|ul|ol|li|dl|d[td]"
    r"|table|t[rdh]|thead|tbody|section|article|main|nav|header|footer|aside|img|b|i|em|strong|pre|code|blockquote|form"
    r"|font|center|frameset|iframe|rss|feed)[\s/>])",
    re.IGNORECASE,
)


def essence(content_type: str | None) -> str:
    """The type without its parameters, in lower case: of several values the last that is a type. Empty where no value
    says anything; ``*/*`` and ``unknown/unknown`` say nothing."""
    for value in reversed((content_type or "")[:_LONGEST].split(",")):
        found = _TYPE.match(value)
        if found and not _NOTHING.search(found[1].lower()):
            return found[1].lower()
    return ""


def kind_of_type(content_type: str | None) -> Kind:
    """The kind that a Content-Type names; ``unknown`` where it names none, or none in the table."""
    return _kind_of(content_type) if len(content_type or "") <= _SHORT else _kind(content_type)


@lru_cache(1024)
def _kind_of(content_type: str | None) -> Kind:
    return _kind(content_type)


def _kind(content_type: str | None) -> Kind:
    major, _, minor = essence(content_type).partition("/")
    minor = minor.removeprefix("x-")
    if major in _NO_TEXT:
        return "binary"
    if minor == "xml" or minor.endswith("+xml"):
        return "xml"
    if major in ("text", "application"):
        if "json" in minor:
            return "json"
        if _HTML.fullmatch(minor):
            return "html"
        if major == "text" or _SCRIPT.fullmatch(minor):
            return "text"
        if _BINARY.fullmatch(minor):
            return "binary"
    return "unknown"


def begins_binary(body: bytes) -> bool:
    """Whether a body begins as binary data: images, sound, archives, fonts, programs, office documents."""
    return bool(_SIGNATURE.match(body))


def may_be_json(kind: Kind, text: str) -> bool:
    """Whether it is worth reading a text whose type says ``kind`` as JSON."""
    return kind == "json" or (kind in ("text", "unknown") and bool(_JSON.match(text)))


def kind_of_text(kind: Kind, text: str) -> Kind:
    """``html``, ``xml`` or ``text``: how to read a text whose type says ``kind`` and that is not JSON."""
    if kind == "xml":
        return kind
    tag = _first_tag(text)
    if kind == "html":
        return "xml" if _FEED.match(tag) else kind
    if _DOCUMENT.match(tag):
        return "html"
    if kind == "text" or kind == "json":
        return "text"
    if _FEED.match(tag) or text.startswith(_DECLARATION, _blank_to(text, 0)):
        return "xml"
    return "html" if _TAG.search(text) else "text"


def _first_tag(text: str) -> str:
    """The beginning of a text behind its XML declaration and its comments."""
    place = _blank_to(text, 0)
    for _ in range(_MOST_COMMENTS):
        if not text.startswith((_DECLARATION, _COMMENT), place):
            break
        end = "-->" if text.startswith(_COMMENT, place) else ">"
        found = text.find(end, place + 2)
        if found < 0:
            return ""
        place = _blank_to(text, found + len(end))
    return text[place : place + _LONGEST_TAG]


def _blank_to(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return blank.end() if blank else place
