"""The demo's crawl is checked against its site, so the site's own promises are tested first."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin, urlsplit

import pytest

from crawler_plugin.wire.errors import PageError
from crawler_plugin.wire.page_headers import PageMeta
from worker.demo import articles
from worker.demo.site import UNDECLARED, PageKind, Site, SitePage, build_site
from worker.fingerprint.fingerprinted import Fingerprinted
from worker.fingerprint.fingerprinter import Fingerprinter, Recipe
from worker.fingerprint.near import HAMMING_RATIO, AccurateNear, SimHashNear

PAPER: Final = "http://127.0.0.1:8001"
COPIER: Final = "http://127.0.0.1:8002"


class Anchors(HTMLParser):
    """Collects the targets of links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


@pytest.fixture(scope="module")
def site() -> Site:
    return build_site(PAPER, COPIER)


@pytest.fixture(scope="module")
def fingerprinter() -> Fingerprinter:
    return Fingerprinter(Recipe(sketched=True))


@pytest.fixture(scope="module")
def fingerprinted(site: Site, fingerprinter: Fingerprinter) -> list[tuple[SitePage, Fingerprinted]]:
    return [
        (page, fingerprinter.of_page(page.body, meta(page))) for page in site.pages if page.kind is not PageKind.FILE
    ]


def meta(page: SitePage) -> PageMeta:
    return PageMeta(url=page.url, content_type=page.content_type)


def of_kind(site: Site, kind: PageKind) -> list[SitePage]:
    return [page for page in site.pages if page.kind is kind]


def links(page: SitePage) -> set[str]:
    """The page's links, absolute and without fragments. A link is ASCII in every encoding that the site uses."""
    anchors = Anchors()
    anchors.feed(page.body.decode("ascii", "replace"))
    return {urljoin(page.url, link).partition("#")[0] for link in anchors.found}


def test_it_has_at_least_300_pages_and_the_same_ones_each_time(site: Site) -> None:
    assert len(site.pages) >= 300
    assert build_site(PAPER, COPIER) == site
    assert len({page.canonical for page in site.pages}) == len(site.pages)


def test_every_page_is_reached_by_links_from_the_start_and_every_link_leads_to_a_page(site: Site) -> None:
    pages = {page.url: page for page in site.pages}
    reached: set[str] = set()
    waiting = {site.start}
    while waiting:
        url = waiting.pop()
        reached.add(url)
        if pages[url].kind is not PageKind.FILE:
            waiting |= links(pages[url]) - reached
    assert reached == pages.keys()


def test_every_family_is_there_on_two_hosts_and_in_several_sections(site: Site) -> None:
    kinds = Counter(page.kind for page in site.pages)
    assert kinds.keys() == set(PageKind)
    assert all(
        kinds[kind] >= 40
        for kind in (PageKind.ARTICLE, PageKind.PRINT, PageKind.SESSION, PageKind.MIRROR, PageKind.GONE)
    )
    assert kinds[PageKind.REPOST] >= 15
    assert {urlsplit(page.url).netloc for page in site.pages} == {urlsplit(PAPER).netloc, urlsplit(COPIER).netloc}
    assert {urlsplit(page.url).netloc for page in of_kind(site, PageKind.MIRROR)} == {urlsplit(COPIER).netloc}
    assert len({page.section for page in site.pages}) >= 6
    assert all("sid=" in page.url for page in of_kind(site, PageKind.SESSION))
    assert len({page.body for page in of_kind(site, PageKind.GONE)}) == 1


def test_pages_are_near_if_and_only_if_they_are_of_one_group(
    fingerprinted: list[tuple[SitePage, Fingerprinted]],
) -> None:
    near = AccurateNear(3)
    wrong = [
        (a.url, b.url)
        for place, (a, of_a) in enumerate(fingerprinted)
        for b, of_b in fingerprinted[:place]
        if (near(of_a, of_b) is not None) != (a.group == b.group)
    ]
    assert wrong == []


def test_some_reposts_are_found_by_their_sketches_only(fingerprinted: list[tuple[SitePage, Fingerprinted]]) -> None:
    originals = {page.group: of for page, of in fingerprinted if page.kind is PageKind.ARTICLE}
    reposted = [(of, originals[page.group]) for page, of in fingerprinted if page.kind is PageKind.REPOST]
    by_fingerprint = [SimHashNear(3, HAMMING_RATIO)(*pair) is not None for pair in reposted]
    assert any(by_fingerprint)
    assert not all(by_fingerprint)
    assert all(AccurateNear(3)(*pair) is not None for pair in reposted)


def test_reposts_differ_from_their_originals_in_words_and_mirrors_in_markup_only(
    fingerprinted: list[tuple[SitePage, Fingerprinted]],
) -> None:
    originals = {page.group: of for page, of in fingerprinted if page.kind is PageKind.ARTICLE}
    for page, of in fingerprinted:
        if page.kind in (PageKind.PRINT, PageKind.SESSION, PageKind.MIRROR):
            assert of.text_hash == originals[page.group].text_hash, page.url
        elif page.kind is PageKind.REPOST:
            assert of.text_hash != originals[page.group].text_hash, page.url


def test_mirrors_of_chinese_articles_are_in_gbk_and_some_do_not_say_so(
    site: Site, fingerprinter: Fingerprinter
) -> None:
    texts = {article.slug: article for article in articles.articles()}
    chinese = [
        page for page in of_kind(site, PageKind.MIRROR) if page.group in texts and texts[page.group].language == "zh"
    ]
    declared = {page.group: b"charset=gbk" in page.body for page in chinese}
    assert {slug for slug, is_declared in declared.items() if not is_declared} == UNDECLARED
    for page in chinese:
        with pytest.raises(UnicodeDecodeError):
            page.body.decode("utf-8")
        assert "charset" not in page.content_type
        assert texts[page.group].paragraphs[0] in page.body.decode("gbk")
        assert texts[page.group].paragraphs[0] in fingerprinter.text_of(page.body, meta(page))


def test_short_and_empty_pages_have_no_fingerprint_and_files_no_text(
    site: Site, fingerprinted: list[tuple[SitePage, Fingerprinted]], fingerprinter: Fingerprinter
) -> None:
    assert {page.kind for page, of in fingerprinted if of.fingerprint is None} == {PageKind.SHORT, PageKind.EMPTY}
    for page in of_kind(site, PageKind.FILE):
        with pytest.raises(PageError, match="not-text"):
            fingerprinter.of_page(page.body, meta(page))


def test_groups_hold_all_pages_with_a_text_once(site: Site) -> None:
    grouped = [page for pages in site.groups.values() for page in pages]
    assert sorted(page.url for page in grouped) == sorted(
        page.url for page in site.pages if page.kind is not PageKind.FILE
    )
    assert site.visits == len(site.pages) + len(of_kind(site, PageKind.FRONT))
