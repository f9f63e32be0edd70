"""The site that the demo crawls, as values: every page, and which pages repeat each other.

Two hosts: a newspaper with sections, print versions, session ids and an archive whose pages are gone; and a copier with
mirrored articles, some of them in GBK, and a board where articles are posted again with a word changed. Every page can
be reached by links from ``Site.start``. The same addresses give the same bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from hashlib import blake2b
from typing import Final

from crawler_plugin.wire.urls import canonical_url
from worker.demo import templates
from worker.demo.articles import BRIEFS, Article, articles, briefs, reposts
from worker.demo.templates import Link

HTML: Final = "text/html; charset=utf-8"
HTML_UNDECLARED: Final = "text/html"
ARCHIVE: Final = "archive"
FRONTS: Final = "fronts"
GONE: Final = 40
MIRRORED_BRIEFS: Final = 12
"""Pages of briefs, in each language, that are mirrored."""
UNDECLARED: Final = frozenset({"longyao", "zaodian"})
"""Articles whose mirror is in GBK and does not say so, neither in its header nor in its markup."""

INTRODUCTIONS: Final = {
    "travel": "Journeys by rail, mule track and ferry, told by people who took them slowly. 慢慢走，看沿途的风景。",
    "food": "From vats, ovens and caves: what is eaten, who makes it and how long it takes. 一日三餐背后的手艺与耐心。",
    "crafts": "Workshops where hands know more than books do, and a mistake costs a week. 匠人、材料和时间的故事。",
    "nature": "Animals, trees and bogs, and those who count, heal or simply watch them. 在山林与滩涂之间记录生命。",
    "town": "What goes on between the last tram and the first: markets, baths, small shops. 城市里不打烊的角落和灯光。",
    BRIEFS: "Small news that would not fill a column, gathered six at a time through the year. 本地短消息，每期六则。",
}
"""Sections of the paper, and a sentence or two on the front page of each."""


class PageKind(Enum):
    """The purpose of a page."""

    FRONT = "front page"
    ARTICLE = "article"
    PRINT = "print version"
    SESSION = "URL with session id"
    MIRROR = "mirror"
    REPOST = "repost"
    GONE = "soft 404"
    SHORT = "short page"
    EMPTY = "empty page"
    FILE = "file"


@dataclass(frozen=True)
class SitePage:
    """A page as it is served.

    Pages of one ``group`` repeat each other: whichever is met first is unique, and the others are its duplicates. A
    ``FILE`` has no text and must become a dead letter. ``visits`` is how often the crawl fetches it.
    """

    url: str
    kind: PageKind
    section: str
    group: str
    body: bytes
    content_type: str = HTML

    @property
    def visits(self) -> int:
        """A crawl comes back to front pages, which change often."""
        return 2 if self.kind is PageKind.FRONT else 1

    @cached_property
    def canonical(self) -> str:
        """The URL as verdicts spell it."""
        return canonical_url(self.url)


@dataclass(frozen=True)
class Site:
    """All pages, and where to begin."""

    start: str
    pages: tuple[SitePage, ...]

    @property
    def visits(self) -> int:
        """Pages that a crawl fetches, those that it fetches twice counted twice."""
        return sum(page.visits for page in self.pages)

    @property
    def groups(self) -> dict[str, list[SitePage]]:
        """Pages with a text by group, in the order of the site."""
        found: dict[str, list[SitePage]] = {}
        for page in self.pages:
            if page.kind is not PageKind.FILE:
                found.setdefault(page.group, []).append(page)
        return found

    def by_canonical_url(self) -> dict[str, SitePage]:
        """Pages by the URL that verdicts name."""
        return {page.canonical: page for page in self.pages}


def build_site(paper: str, copier: str) -> Site:
    """The site at two addresses, ``http://host:port`` without a slash at the end."""
    return Site(f"{paper}/", (*_Paper(paper, copier).pages(), *_Copier(copier).pages()))


class _Paper:
    """The newspaper."""

    def __init__(self, paper: str, copier: str) -> None:
        self._paper = paper
        self._copier = copier
        self._menu = [Link("/", "Home"), *(Link(f"/{section}/", section) for section in (*INTRODUCTIONS, ARCHIVE))]

    def pages(self) -> Iterator[SitePage]:
        yield self._home()
        texts = [*articles(), *briefs()]
        for section, introduction in INTRODUCTIONS.items():
            here = [text for text in texts if text.section == section]
            yield self._front(section, introduction, [Link(_path(text), text.title) for text in here])
            for text, following in zip(here, [*here[1:], here[0]], strict=True):
                yield from self._article(text, following)
        yield from self._archive()
        yield from self._files()

    def _home(self) -> SitePage:
        introduction = (
            "A paper for slow readers, made by a handful of people beside a harbour, in two languages and without ads.",
            "Everything that we have printed since the first number can be found here, except what was lost when the "
            "cellar was flooded. 欢迎光临，请随意翻阅。",
        )
        files = ("cover.png", "map.pdf", "back-issues.zip")
        links = [
            *(Link(f"/files/{name}", name) for name in files),
            *(Link(f"{self._copier}{path}", "elsewhere") for path in ("/", "/board/")),
        ]
        body = templates.front("The Cape Courier", introduction, self._menu, links)
        return self._page("/", PageKind.FRONT, FRONTS, body)

    def _front(self, section: str, introduction: str, links: Sequence[Link]) -> SitePage:
        body = templates.front(section.capitalize(), [introduction], self._menu, links)
        return self._page(f"/{section}/", PageKind.FRONT, FRONTS if section == ARCHIVE else section, body)

    def _article(self, text: Article, following: Article) -> Iterator[SitePage]:
        """The article, its print version and the same page under a session id, to which the article before it links."""
        more = [Link(_session(following), following.title)]
        if text.section != BRIEFS:
            more.append(Link(f"{_path(text)}?print=1", "Print"))
        body = templates.newspaper(text, self._menu, more)
        yield self._page(_path(text), PageKind.ARTICLE, text.section, body, text.slug)
        yield self._page(_session(text), PageKind.SESSION, text.section, body, text.slug)
        if text.section != BRIEFS:
            body = templates.print_version(text)
            yield self._page(f"{_path(text)}?print=1", PageKind.PRINT, text.section, body, text.slug)

    def _archive(self) -> Iterator[SitePage]:
        """Pages that are gone without a status that says so, and pages without much on them."""
        gone = [f"/{ARCHIVE}/2009/{number:03}-{name}.html" for number, name in zip(range(GONE), _names(), strict=False)]
        moved = [f"/{ARCHIVE}/moved-{number}" for number in range(4)]
        empty = [f"/{ARCHIVE}/page-{number}" for number in range(4)]
        links = [Link(path, path.rpartition("/")[2]) for path in (*gone, *moved, *empty)]
        introduction = (
            "Numbers of the years before the flood, as far as they were saved; most of them wait for a scanner."
        )
        yield replace(self._front(ARCHIVE, introduction, links), section=ARCHIVE)
        for path in gone:
            yield self._page(path, PageKind.GONE, ARCHIVE, templates.not_found(self._menu), "soft 404")
        for path in moved:
            yield self._page(path, PageKind.SHORT, ARCHIVE, templates.bare("Moved", "Moved."), "moved")
        for path in empty:
            yield self._page(path, PageKind.EMPTY, ARCHIVE, templates.bare("", ""), "no words")

    def _files(self) -> Iterator[SitePage]:
        """Files that a crawl picks up in addition to pages."""
        contents = {
            "cover.png": ("image/png", _png()),
            "map.pdf": (
                "application/pdf",
                b"%PDF-1.4\n1 0 obj << /Type /Catalog >> endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n",
            ),
            "back-issues.zip": ("application/zip", b"PK\x05\x06" + bytes(18)),
        }
        for name, (content_type, content) in contents.items():
            url = f"{self._paper}/files/{name}"
            yield SitePage(url, PageKind.FILE, FRONTS, url, content, content_type)

    def _page(self, path: str, kind: PageKind, section: str, body: str, group: str | None = None) -> SitePage:
        url = self._paper + path
        return SitePage(url, kind, section, group or url, body.encode())


class _Copier:
    """The site that lives from others' articles."""

    def __init__(self, copier: str) -> None:
        self._copier = copier

    def pages(self) -> Iterator[SitePage]:
        mirrored = [*articles(), *(text for text in briefs() if int(text.slug[-2:]) <= MIRRORED_BRIEFS)]
        addresses = [f"/a?id={1001 + 7 * place}" for place in range(len(mirrored))]
        links = [Link(address, text.title) for address, text in zip(addresses, mirrored, strict=True)]
        introduction = "Reader gathers good writing from all over the web, refreshed hourly by a patient machine."
        yield self._front("/", "Reader", introduction, links)
        for place, (address, text) in enumerate(zip(addresses, mirrored, strict=True)):
            yield self._mirror(address, text, links[place + 1 : place + 4])
        yield from self._board()

    def _mirror(self, path: str, text: Article, more: Iterable[Link]) -> SitePage:
        is_gbk = text.language == "zh" and text.section != BRIEFS
        charset = None if text.slug in UNDECLARED else "gbk" if is_gbk else "utf-8"
        markup = templates.mirror(text, [] if is_gbk else more, charset)
        return SitePage(
            self._copier + path,
            PageKind.MIRROR,
            text.section,
            text.slug,
            markup.encode("gbk" if is_gbk else "utf-8"),
            HTML_UNDECLARED if is_gbk else HTML,
        )

    def _board(self) -> Iterator[SitePage]:
        posts = reposts()
        links = [Link(f"/board/{number}", text.title) for number, text in enumerate(posts)]
        introduction = "A board for whatever struck you as worth passing on; say where you found it, and be kind."
        yield self._front("/board/", "Board", introduction, links)
        for number, text in enumerate(posts):
            body = templates.board(text, links[number + 1 : number + 3])
            yield SitePage(f"{self._copier}/board/{number}", PageKind.REPOST, text.section, text.slug, body.encode())

    def _front(self, path: str, title: str, introduction: str, links: Iterable[Link]) -> SitePage:
        url = self._copier + path
        return SitePage(url, PageKind.FRONT, FRONTS, url, templates.front(title, [introduction], [], links).encode())


def _path(text: Article) -> str:
    return f"/{text.section}/{text.slug}"


def _session(text: Article) -> str:
    return f"{_path(text)}?sid={blake2b(text.slug.encode(), digest_size=8).hexdigest()}"


def _names() -> Iterator[str]:
    """Names of pages that are gone."""
    subjects = ("harbour", "council", "weather", "letters", "football", "theatre", "prices", "recipes")
    months = ("january", "march", "may", "july", "september")
    return (f"{subject}-{month}" for month in months for subject in subjects)


def _png() -> bytes:
    """A picture of one grey pixel."""
    chunks = (
        (b"IHDR", b"\0\0\0\1\0\0\0\1\x08\0\0\0\0"),
        (b"IDAT", zlib.compress(b"\0\x80")),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(content).to_bytes(4, "big") + name + content + zlib.crc32(name + content).to_bytes(4, "big")
        for name, content in chunks
    )
