"""A page as fetched → its text: decoding, then the main content where there is markup.

Where the main content is tiny, it stays tiny and is called bare: falling back to all visible text would turn pages of
links into their navigation, and pages of one site into duplicates of each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding
from resiliparse.parse.html import HTMLParserException, HTMLTree

from worker.errors import PageError, UsageError
from worker.page.canonical import NamedAddresses
from worker.page.decode import DECODER, UndecodableError, decode, header_charset
from worker.page.main_text.content import CONTENT, Content, PageBlock, blocks, main_content
from worker.page.main_text.title import ANNOUNCED, LONGEST_TITLE, first_part, is_announced

Extractor = Literal["built-in", "resiliparse", "trafilatura"]
"""What finds the main content: ``worker.page.main_text.content``, or a library."""

MAX_BYTES: Final = 4 * 1024 * 1024
"""Default of ``page.max_bytes``. Markup is parsed into about forty times its size in memory; a page whose first 4 MiB
equal another's is a duplicate for all that a crawl cares."""

_PASSED_THROUGH: Final = re.compile(r"text/(?!html|xml)|application/(json|[a-z0-9.+-]+\+json|x-ndjson|javascript)\b")
_MARKUP_TYPE: Final = re.compile(r"text/(html|xml)|application/(xml|xhtml|[a-z0-9.+-]+\+xml)")
_NO_TEXT_TYPE: Final = re.compile(
    r"(image|audio|video|font|model)/"
    r"|application/(pdf|zip|gzip|x-gzip|x-tar|x-bzip2?|x-7z-compressed|x-rar-compressed|vnd\.rar|java-archive|wasm|ogg"
    r"|msword|postscript|x-shockwave-flash|vnd\.(ms-|openxmlformats|oasis\.)[a-z0-9.-]*+)(?![a-z0-9.+-]*\+xml)"
)
_BINARY_START: Final = re.compile(
    rb"%PDF-|\x89PNG|\xff\xd8\xff|GIF8[79]a|PK\x03\x04|\x1f\x8b\x08|Rar!\x1a|7z\xbc\xaf|BZh[1-9]1AY|\xfd7zXZ|\x28\xb5\x2f\xfd"
    rb"|\x7fELF|\x00asm|OggS|ID3|fLaC|RIFF....(?:WEBP|WAVE|AVI )|wOF[F2]|....ftyp|\xd0\xcf\x11\xe0|MZ\x90",
    re.DOTALL,
)
_TAG: Final = re.compile(
    r"<(?:!--|!doctype\s|\?xml\s|/?(?:html|head|body|title|meta|link|script|style|div|p|span|a|br|hr|h[1-6]|ul|ol|li|dl|d[td]"
    r"|table|t[rdh]|thead|tbody|section|article|main|nav|header|footer|aside|img|b|i|em|strong|pre|code|blockquote|form"
    r"|font|center|frameset|iframe|rss|feed)[\s/>])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Extracted:
    """The text that a page is compared by.

    ``encoding`` is Python's name of the codec that the bytes were decoded with. ``truncated``: the page was longer than
    allowed, and only its beginning was read. ``bare`` says why the text is not enough for a fingerprint, None where it
    is. ``doubted``: it may be that of a template.
    ``named`` are the addresses that the page's head gives, None where that was not read.
    """

    text: str
    encoding: str
    title: str | None = None
    truncated: bool = False
    bare: str | None = None
    doubted: bool = False
    named: NamedAddresses | None = None

    @property
    def bound_to(self) -> str | None:
        """The part of the title that a page must have to be near to this one, None where the text is enough to tell."""
        return first_part(self.title) if self.title and (self.bare or self.doubted) else None


def extract(
    body: bytes,
    *,
    content_type: str | None = None,
    encoding: str | None = None,
    max_bytes: int = MAX_BYTES,
    extractor: Extractor = "built-in",
) -> Extracted:
    """The main text of a page as it was fetched.

    HTML and XML are parsed and reduced to their main content by ``extractor``. Plain text, JSON, and whatever comes
    without a content type and without a single HTML tag pass through decoded. ``encoding`` is what the crawler took the
    page for; it counts after the header's charset. Of a longer body the first ``max_bytes`` are read.

    Raises:
        PageError: ``not-text`` for images, PDF, archives and other binary content; ``unparsable`` for markup that the
            extractor gives up.
        MemoryError: the parser was refused memory.
    """
    text, codec, is_markup = _decoded(body[:max_bytes], content_type, encoding)
    truncated = len(body) > max_bytes
    if not is_markup:
        return Extracted(text, codec, truncated=truncated)
    found = _EXTRACTORS[extractor](text)
    title = (found.title or "")[:LONGEST_TITLE]
    doubted = found.linked or not is_announced(found.text, title)
    return Extracted(found.text, codec, title or None, truncated, found.bare, doubted, found.named)


def blocks_of(
    body: bytes, *, content_type: str | None = None, encoding: str | None = None, max_bytes: int = MAX_BYTES
) -> list[PageBlock]:
    """All text of a page, line by line, each kept or dropped by the built-in extractor; a text is one that is kept.

    Raises:
        PageError: as ``extract``.
    """
    text, _, is_markup = _decoded(body[:max_bytes], content_type, encoding)
    return blocks(text) if is_markup else [PageBlock(text, None)]


def _decoded(beginning: bytes, content_type: str | None, encoding: str | None) -> tuple[str, str, bool]:
    """The text, the codec, and whether it is markup."""
    kind = (content_type or "").strip().lower()
    if _NO_TEXT_TYPE.match(kind):
        raise PageError("not-text", f"content type {kind[:100]}")
    if _BINARY_START.match(beginning):
        raise PageError("not-text", f"the body begins with {beginning[:8]!r}")
    try:
        text, codec = decode(beginning, (header_charset(kind), encoding), detect=detected_encoding)
    except UndecodableError as error:
        raise PageError("not-text", str(error)) from error
    is_markup = not _PASSED_THROUGH.match(kind) and bool(_MARKUP_TYPE.match(kind) or _TAG.search(text))
    return text, codec, is_markup


def from_text(text: str, *, max_chars: int = MAX_BYTES) -> Extracted:
    """What a spider took out of the page itself: no parsing, the first ``max_chars`` characters, without NULs."""
    return Extracted(text[:max_chars].replace("\0", ""), "str", truncated=len(text) > max_chars)


def extractor_rule(extractor: Extractor) -> str:
    """Name and version of all that ``extract`` does to a page with this extractor; a part of the scheme.

    Raises:
        UsageError: the extractor is not installed here.
    """
    return f"{_RULES[extractor]()}/{ANNOUNCED}/{DECODER}/resiliparse-{version('resiliparse')}"


def _by_resiliparse(markup: str) -> Content:
    """Texts of images and bullets of lists are left out: mirrors differ in them most."""
    try:
        tree = HTMLTree.parse(markup)
        text = extract_plain_text(tree, main_content=True, alt_texts=False, list_bullets=False)
    except HTMLParserException as error:
        if "(Error 2)" in str(error):  # lexbor's LXB_STATUS_ERROR_MEMORY_ALLOCATION
            raise MemoryError(str(error)) from error
        raise PageError("unparsable", str(error)) from error
    return Content(text, (tree.title or "").strip() or None)


def _by_trafilatura(markup: str) -> Content:
    import trafilatura

    return Content(trafilatura.extract(markup, include_comments=False) or "", None)


def _trafilatura_version() -> str:
    try:
        return f"trafilatura-{version('trafilatura')}"
    except PackageNotFoundError:
        raise UsageError(
            "page.extractor is trafilatura, which is not installed; pip install 'crawl-dedup[trafilatura]', "
            "or set it to built-in"
        ) from None


_EXTRACTORS: Final = {
    "built-in": main_content,
    "resiliparse": _by_resiliparse,
    "trafilatura": _by_trafilatura,
}
_RULES: Final = {
    "built-in": lambda: CONTENT,
    "resiliparse": lambda: "main-content-1",
    "trafilatura": _trafilatura_version,
}


def detected_encoding(sample: bytes) -> str | None:
    """The ``Detector`` that pages are read with."""
    # Its own mapping to browser names turns Korean (cp949) into UTF-8, so it is left off.
    found: str | None = detect_encoding(sample, max_len=0, html5_compatible=False)
    return found
