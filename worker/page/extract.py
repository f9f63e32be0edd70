"""A page as fetched → its text: decoding, then the main content if there is markup.

If the main content is tiny, it stays tiny and is called bare: falling back to all visible text would turn pages of
links into their navigation, and pages of one site into duplicates of each other.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import chain
from typing import Final, NamedTuple, Protocol

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.media_types import Kind, begins_binary, essence, kind_of_text, kind_of_type, may_be_json
from worker.page.canonical import ECHO, NamedByHead, without_echo
from worker.page.charsets import header_charset
from worker.page.decode import DECODER, Decoded, UndecodableError, decode, is_plain_utf8, json_text
from worker.page.main_text.content import CONTENT, Content, PageBlock, blocks, instead_of_title, main_content
from worker.page.main_text.title_evidence import (
    ANNOUNCED,
    LONGEST_TITLE,
    UNTITLED,
    Title,
    is_announced,
    read_title,
)
from worker.sites import host_of

RULE: Final = f"{CONTENT}/{ANNOUNCED}/{ECHO}/{DECODER}"
"""Name and version of all that ``extract`` does to a page; a part of the scheme."""

MAX_BYTES: Final = 4 * 1024 * 1024
"""Default of ``page.max_bytes``. Parsing takes about forty times the size of the markup in memory; a page whose first 4
MiB equal another's is a duplicate for all purposes of a crawl."""

LEAST_ALONE: Final = 200
"""Words outside links with which a text under the name of its site alone is taken for the page's own: what a site says
of itself on many pages is shorter. With 60 as many copies are found among labelled pages under such titles."""
_BEGINNING: Final = 4096
"""Bytes of a page that is called HTML in which the first tag may be that of a feed."""


class Extractor(Protocol):
    """A function that finds the main content of markup: ``main_content``, or one that it is measured against."""

    def __call__(self, markup: bytes, *, xml: bool) -> Content:
        """The content of markup in UTF-8.

        Raises:
            PageError: ``unparsable``.
            MemoryError: the parser was refused memory.
        """


class Extracted(NamedTuple):
    """The text that a page is compared by.

    ``encoding`` is Python's name of the codec that the bytes were decoded with. ``truncated``: the page was longer than
    allowed, and only its beginning was read. ``bare`` says why the text is not enough for a fingerprint, None if it is.
    ``doubted``: by its title it may be that of a template. ``named`` is what the page's head names, None if that was
    not read. ``thing`` is what the title names, without the site. ``shown`` are the parts that a short text stands
    under: the names of pictures or players and of prose that is unread, and the numbers of the title. ``verbatim``: it
    is HTML that was read as its bytes stand, all of them, so ``named`` is what these name. ``all_shown`` is a digest of
    all text that a page shows whose title is only its site's name; ``thing`` is what its heading names then.
    """

    text: str
    encoding: str
    title: str | None = None
    truncated: bool = False
    bare: str | None = None
    doubted: bool = False
    named: NamedByHead | None = None
    thing: Title = UNTITLED
    shown: tuple[str, ...] = ()
    verbatim: bool = False
    all_shown: str = ""


def extract(
    body: bytes,
    *,
    content_type: str | None = None,
    encoding: str | None = None,
    max_bytes: int = MAX_BYTES,
    url: str = "",
    extractor: Extractor = main_content,
) -> Extracted:
    """The main text of a page as it was fetched.

    HTML and XML are parsed and reduced to their main content by ``extractor``. Plain text, and every page without a
    content type and without a single HTML tag, passes through decoded; in JSON the escapes of its strings are read.
    ``encoding`` is the crawler's guess for the page; it counts after the header's charset. Of a longer body the first
    ``max_bytes`` are read. With the page's ``url`` a short text does not repeat it, and its title not the host's name.

    Raises:
        PageError: ``not-text`` for images, PDF, archives and other binary content; ``unparsable`` for markup that the
            extractor gives up.
        MemoryError: the parser was refused memory.
    """
    text, codec, kind = _read(body[:max_bytes], content_type, encoding)
    truncated = len(body) > max_bytes
    if kind == "text":
        return Extracted(without_echo(_decoded(text), url), codec, truncated=truncated)
    found = extractor(text if isinstance(text, bytes) else text.encode("utf-8", "replace"), xml=kind == "xml")
    told, title = without_echo(found.text, url), (found.title or "")[:LONGEST_TITLE]
    if told != found.text:
        title = without_echo(title, url)
    sites_names, host = found.named.site if found.named else (), host_of(url)
    of_title = read_title(title, sites_names, host)
    all_shown, announcement = "", title
    if title and not of_title.tokens and kind == "html":  # it is only the site's name
        heading, everything = instead_of_title(text)
        announcement = without_echo(heading[:LONGEST_TITLE], url)
        of_title = read_title(announcement, sites_names, host)
        all_shown = blake2b("".join(everything.split()).encode(errors="replace"), digest_size=16).hexdigest()
    is_its_own = bool(all_shown) and not of_title.tokens and found.words >= LEAST_ALONE
    announced = is_its_own or is_announced(found.text, announcement, of_title.first)
    doubted = bool(title) and bool(found.linked or found.bare or not announced)
    shown = (*of_title.numbers, *found.pictures) if found.short or found.bare else ()
    verbatim = isinstance(text, bytes) and kind == "html" and not truncated
    return Extracted(
        told, codec, title or None, truncated, found.bare, doubted, found.named, of_title, shown, verbatim, all_shown
    )


def blocks_of(
    body: bytes, *, content_type: str | None = None, encoding: str | None = None, max_bytes: int = MAX_BYTES
) -> list[PageBlock]:
    """All text of a page, line by line, each kept or dropped by the extractor; a plain text is one line that is kept.

    Raises:
        PageError: as ``extract``.
    """
    text, _, kind = _read(body[:max_bytes], content_type, encoding)
    return [PageBlock(_decoded(text), None)] if kind == "text" else blocks(_decoded(text), xml=kind == "xml")


class _Read(NamedTuple):
    """A page as text, or as its own UTF-8, the codec, and its kind: ``html``, ``xml`` or ``text``."""

    text: str | bytes
    encoding: str
    kind: Kind


def _read(beginning: bytes, content_type: str | None, encoding: str | None) -> _Read:
    kind = kind_of_type(content_type)
    if kind == "binary":
        raise PageError("not-text", f"content type {essence(content_type)[:100]}")
    if begins_binary(beginning):
        raise PageError("not-text", f"the body begins with {beginning[:8]!r}")
    if plain := is_plain_utf8(beginning):
        if kind in ("html", "xml"):  # most pages; of these only the content is decoded
            return _Read(beginning, "utf-8", kind_of_text(kind, beginning[:_BEGINNING].decode("utf-8", "ignore")))
        decoded = Decoded(beginning.decode(), "utf-8")
    else:
        try:
            decoded = decode(beginning, chain(map(header_charset, (content_type,)), (encoding,)))
        except UndecodableError as error:
            raise PageError("not-text", str(error)) from error
    if may_be_json(kind, decoded.text) and (meant := json_text(decoded.text)) is not None:
        return _Read(meant, decoded.encoding, "text")
    found = kind_of_text(kind, decoded.text)
    return _Read(beginning if plain and found != "text" else decoded.text, decoded.encoding, found)


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode()


def from_text(text: str, *, max_chars: int = MAX_BYTES) -> Extracted:
    """Text that a spider extracted from the page itself: no parsing, the first ``max_chars`` characters, without
    NULs."""
    return Extracted(text[:max_chars].replace("\0", ""), "str", truncated=len(text) > max_chars)
