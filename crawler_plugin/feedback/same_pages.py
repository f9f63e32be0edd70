"""Finds URLs that show the same page though one is a variation of the other, by the verdicts on both.

Two pages are the same where their verdicts name the same survivor; a unique page is its own survivor. So it does not
matter which page was fetched first, nor whether both are copies of a third one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from crawler_plugin.feedback.variations import Variation, variations_of

MOST_PAGES: Final = 50_000
"""The most URLs, both fetched ones and those that they may be variations of; some 35 MB. The latest ones are kept."""

MOST_KINDS: Final = 16
"""The most kinds of variation of one URL."""


class Compared(NamedTuple):
    """A comparison of two verdicts, on a page and a variation of it, or on two variations of one kind."""

    variation: Variation
    url: str
    is_same: bool


class _First(NamedTuple):
    survivor: int
    url: str


@dataclass(slots=True)
class _Page:
    is_asked: bool = False
    """Whether the page, or a variation of it, was requested."""
    survivor: int | None = None
    """The hash of the survivor's URL in its verdict."""
    varied: dict[str, _First] | None = None
    """Its first variation of each kind."""
    counted: set[str] | None = None
    """Kinds that gave the same page."""


class SamePages:
    """The pages and their variations. Belongs to one thread. URLs are canonical."""

    def __init__(self, most: int = MOST_PAGES) -> None:
        self._most = most
        self._pages: OrderedDict[int, _Page] = OrderedDict()

    def ask(self, url: str) -> None:
        """Note that the page is requested."""
        for each in (url, *(variation.base for variation in variations_of(url))):
            self._page(each).is_asked = True

    def is_asked(self, url: str) -> bool:
        """Whether the page, or a variation of it, was requested."""
        page = self._pages.get(hash(url))
        return page is not None and page.is_asked

    def is_seen(self, url: str) -> bool:
        """Whether the page, or a variation of it, has a verdict."""
        page = self._pages.get(hash(url))
        return page is not None and (page.survivor is not None or bool(page.varied))

    def learn(self, url: str, survivor: str) -> Iterator[Compared]:
        """Take in that the page's verdict names this survivor. For each page, a kind that gives the same is yielded
        once."""
        shown, own = hash(survivor), self._page(url)
        own.survivor = shown
        for kind, first in (own.varied or {}).items():
            for variation in variations_of(first.url):
                if variation.kind == kind and variation.base == url:
                    yield from self._compared(own, Compared(variation, first.url, first.survivor == shown))
        for variation in variations_of(url):
            page = self._page(variation.base)
            page.varied = page.varied or {}
            earlier = page.varied.get(variation.kind)
            if earlier is None and len(page.varied) < MOST_KINDS:
                page.varied[variation.kind] = _First(shown, url)
            if page.survivor is not None:
                yield from self._compared(page, Compared(variation, url, page.survivor == shown))
            elif earlier is not None and earlier.url != url:
                yield from self._compared(page, Compared(variation, url, earlier.survivor == shown))

    @staticmethod
    def _compared(page: _Page, compared: Compared) -> Iterator[Compared]:
        page.counted = counted = page.counted or set()
        kind = compared.variation.kind
        if not compared.is_same:
            yield compared
        elif kind not in counted and len(counted) < MOST_KINDS:
            counted.add(kind)
            yield compared

    def _page(self, url: str) -> _Page:
        key = hash(url)
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = _Page()
            if len(self._pages) > self._most:
                self._pages.popitem(last=False)
        else:
            self._pages.move_to_end(key)
        return page
