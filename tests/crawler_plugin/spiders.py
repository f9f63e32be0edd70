"""Spiders that yield a page in every kind of item, and the program that runs one in a process of its own.

``python -m tests.crawler_plugin.spiders SPIDER SETTINGS STATS``: settings as JSON, stats are written as JSON. Three
settings are the program's own: ``START`` is the first page, ``ARGUMENTS`` are the spider's other arguments,
``BLOCK_MS`` is how long one try to connect may take.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import attrs
import scrapy
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.http import Response, TextResponse
from scrapy.spiders import SitemapSpider
from web_poet import Injectable

from crawler_plugin import DedupVerdict, PageBody
from crawler_plugin.publishing import connection
from crawler_plugin.signals import page_judged
from crawler_plugin.wire.outcomes import Verdict

LOOPS = "the event loop runs"
"""A log line that appears once Scrapy handles signals."""


class Judged(Injectable):
    """A page object that asks for the verdict on its page."""

    def __init__(self, verdict: DedupVerdict) -> None:
        self.verdict = verdict


class PageItem(scrapy.Item):
    url = scrapy.Field()
    body = scrapy.Field()
    status = scrapy.Field()
    content_type = scrapy.Field()


class PageDict(dict[str, Any]):
    """Takes no field but those of its class, and says so in its own way."""

    def __setitem__(self, name: str, value: object) -> None:
        raise RuntimeError(name)


@dataclass
class PageData:
    url: str
    body: bytes
    status: int
    content_type: bytes | None


@attrs.define
class PageAttrs:
    url: str
    body: bytes
    status: int
    content_type: bytes | None


class SiteSpider(scrapy.Spider):
    """Follows every link of the start page; subclasses turn pages into items."""

    name = "site"

    def __init__(self, start: str, **arguments: str) -> None:
        super().__init__(**arguments)
        self.start_urls = [start]

    def parse(self, response: Response) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        yield from response.follow_all(css="a", callback=self.parse_page)

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "body": response.body}


class KindsSpider(SiteSpider):
    """Each page as an item of another kind, in turn."""

    name = "kinds"

    def parse_page(self, response: Response) -> Iterator[Any]:
        fields: dict[str, Any] = {
            "url": response.url,
            "body": response.body,
            "status": response.status,
            "content_type": response.headers.get("Content-Type"),
        }
        kinds = (PageDict, PageItem, PageData, PageAttrs)
        number = int(response.url.rpartition("/")[2])
        yield kinds[number % len(kinds)](**fields)


class TextSpider(SiteSpider):
    """Text that was extracted from the page, items that are not pages, and an item that Scrapy itself turns away."""

    name = "text"

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "text": "天气 " + response.css("p::text").get("")}
        yield {"title": "no page"}
        yield {"url": "/relative", "body": b"a page of nowhere"}
        yield {"url": response.url, "body": 17}


class MarkupSpider(SiteSpider):
    """Whole pages in the field for text."""

    name = "markup"

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "content": response.text}


class RenamedSpider(SiteSpider):
    """The same fields under another project's names."""

    name = "renamed"

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield {"link": response.url, "html": response.text, "status": "in stock", "when": 1_700_000_000}


_SAID: Final = {"switched_off": {"dedup": False}, "notes.txt": {"dedup_store": False, "dedup_pardon": True}}
"""The meta of requests, by their path."""


class CapturedSpider(SiteSpider):
    """Handles responses as spiders do, and records which ones its callbacks got in the stat ``spider/got``."""

    name = "captured"
    handle_httpstatus_list = (404,)

    def parse(self, response: Response) -> Iterator[Any]:
        self._got(response)
        assert isinstance(response, TextResponse)
        for request in response.follow_all(css="a", errback=self.fail):
            path = request.url.rpartition("/")[2]
            callback = getattr(self, path.partition(".")[0], None) or self.parse_page
            yield request.replace(
                callback=callback,
                meta=_SAID.get(path, {"dedup": None}),
                cb_kwargs={"number": 7} if path == "with_arguments" else {},
            )

    def parse_page(self, response: Response) -> Iterator[Any]:
        self._got(response)
        yield {"url": response.url, "body": response.body, "file_urls": [response.urljoin("/media.html")]}

    def nothing(self, response: Response) -> None:
        self._got(response)

    def with_arguments(self, response: Response, number: int) -> Iterator[Any]:
        self._got(response)
        yield {"number": number}

    async def asynchronous(self, response: Response) -> None:
        self._got(response)

    async def generator(self, response: Response) -> AsyncIterator[Any]:
        self._got(response)
        yield {"url": response.url}

    def raises(self, response: Response) -> None:
        self._got(response)
        raise ValueError("a spider's own")

    def raises_late(self, response: Response) -> Iterator[Any]:
        self._got(response)
        yield {"a": 1}
        raise ValueError("a spider's own")

    def fail(self, failure: Any) -> Iterator[Any]:
        yield {"failed": failure.request.url}

    def _got(self, response: Response) -> None:
        assert self.crawler.stats is not None
        got = self.crawler.stats.get_value("spider/got", [])
        self.crawler.stats.set_value("spider/got", [*got, response.url])


class HeardSpider(CapturedSpider):
    """Records the verdicts on its responses (stat ``spider/known``) and the signals for its pages (``spider/judged``),
    makes no item from a copy, and repeats some requests: for ``/again`` the same request, for ``/hands_on`` one with
    its meta."""

    name = "heard"

    @classmethod
    def from_crawler(cls, crawler: Any, *arguments: Any, **named: Any) -> HeardSpider:
        spider = super().from_crawler(crawler, *arguments, **named)
        crawler.signals.connect(spider.judged, signal=page_judged)
        return spider

    def judged(self, verdict: Verdict, url: str, request: scrapy.Request | None, response: Response | None) -> None:
        self.logger.info("heard: %s", verdict.verdict)
        self._note("spider/judged", [url, verdict.verdict, request and request.url, response and response.url])

    def parse_page(self, response: Response) -> Iterator[Any]:
        known = response.meta.get("dedup") or {}
        if known.get("verdict") == "duplicate":
            self._got(response)
        else:
            yield from super().parse_page(response)
        assert response.request is not None
        if response.url.endswith("/again") and not response.meta.get("again"):
            again = response.request.replace(dont_filter=True)
            again.meta["again"] = True
            yield again
        if response.url.endswith("/hands_on"):
            yield response.follow("/picture.png?handed_on", self.nothing, meta=response.meta)

    def _got(self, response: Response) -> None:
        super()._got(response)
        assert response.request is not None
        callback = response.request.callback
        assert callback is None or getattr(callback, "__self__", None) is self, "it has its own callback again"
        self._note("spider/known", [response.url, response.meta.get("dedup")])

    def _note(self, name: str, row: list[Any]) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.set_value(name, [*self.crawler.stats.get_value(name, []), row])


class ScopedSpider(HeardSpider):
    """Compares the pages of each folder only with each other, except for those at the top."""

    name = "scoped"

    def parse(self, response: Response) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        for request in response.follow_all(css="a", callback=self.parse_page, dont_filter=True):
            _, folder, *name = request.url.removeprefix("http://").split("/")
            yield request.replace(meta={"dedup_scope": folder} if name else {})


class PoetSpider(HeardSpider):
    """Uses page objects, which bring the verdict."""

    name = "poet"

    def parse(self, response: Response) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        yield from response.follow_all(css="a", callback=self.parse_object)

    def parse_object(self, response: Response, judged: Judged) -> None:
        told = judged.verdict
        word = told.verdict or f"no: {told.reason}"
        self._note("spider/known", [response.url, word + " of a page" * (told.duplicate_of is not None)])


class RaisingSpider(SiteSpider):
    """Fails on every page before it yields anything."""

    name = "raising"

    def parse_page(self, response: Response) -> Any:
        raise ValueError("a spider's own")


class LongSpider(SiteSpider):
    """Writes each page that it gets to the file ``GOT``, so that the pages of a run that was stopped by force are known
    too."""

    name = "long"

    def parse_page(self, response: Response) -> Any:
        with Path(self.settings["GOT"]).open("a", encoding="utf-8") as got:
            got.write(response.url + "\n")


class FeedSpider(SiteSpider):
    """Pages in items that are also exported."""

    name = "feed"

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "body": PageBody(response.body), "dedup": not response.url.endswith("/1")}


class JudgedSpider(SiteSpider):
    """Pages in items that get the verdict; the items of ``/declared`` have no field for it."""

    name = "judged"

    def parse_page(self, response: Response) -> Iterator[Any]:
        if response.url.endswith("/declared"):
            yield PageItem(url=response.url, body=PageBody(response.body))
        else:
            yield {"url": response.url, "body": PageBody(response.body)}


class FilesSpider(SiteSpider):
    """Pages in items with one file each."""

    name = "files"

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "body": PageBody(response.body), "file_urls": [f"{response.url}?file"]}


class FollowSpider(SiteSpider):
    """Follows every link of every page."""

    name = "follow"

    def parse(self, response: Response) -> Iterator[Any]:
        assert isinstance(response, TextResponse)
        yield from response.follow_all(css="a")


class TitleSpider(SiteSpider):
    """Items without the page: three from each response, the last from an asynchronous callback."""

    name = "title"

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "by": "parse_page"}
        yield {"url": response.url, "by": "parse_page"}
        yield response.request.replace(callback=self.parse_again, dont_filter=True) if response.request else None

    async def parse_again(self, response: Response) -> AsyncIterator[Any]:
        yield {"url": response.url, "by": "parse_again"}


class ManySpider(SiteSpider):
    """Invents many pages."""

    name = "many"

    def parse(self, response: Response) -> Iterator[Any]:
        for number in range(self.settings.getint("MANY")):
            words = " ".join(f"{word}{number}" for word in ("only", "this", "page", "says", "it", "and", "no", "other"))
            yield {"url": f"{response.url}{number}", "text": words}


class SitemapsSpider(SitemapSpider):
    """Finds its pages through robots.txt and the sitemap named there."""

    name = "sitemaps"

    def __init__(self, start: str, **arguments: str) -> None:
        super().__init__(**arguments)
        self.sitemap_urls = [f"{start}robots.txt"]

    def parse(self, response: Response) -> None:
        pass


SPIDERS = (
    SiteSpider,
    KindsSpider,
    TextSpider,
    RenamedSpider,
    CapturedSpider,
    HeardSpider,
    RaisingSpider,
    FeedSpider,
    FilesSpider,
    FollowSpider,
    JudgedSpider,
    LongSpider,
    ManySpider,
    MarkupSpider,
    TitleSpider,
    SitemapsSpider,
    ScopedSpider,
    PoetSpider,
)


def main(arguments: list[str]) -> int:
    """Crawl; returns 1 if the crawl did not start."""
    name, settings, stats = arguments
    spider = {kind.name: kind for kind in SPIDERS}[name]
    told: dict[str, Any] = json.loads(settings)
    start = told.pop("START")
    said = told.pop("ARGUMENTS", {})
    vars(connection)["BLOCK_MS"] = told.pop("BLOCK_MS", connection.BLOCK_MS)
    process: Any = AsyncCrawlerProcess if told.get("TWISTED_REACTOR_ENABLED") is False else CrawlerProcess
    process = process(told)
    crawler = process.create_crawler(spider)
    process.crawl(crawler, start=start, **said)
    if told.get("TWISTED_REACTOR_ENABLED") is not False:  # otherwise the whole crawl runs in the loop
        from twisted.internet import reactor

        reactor.callLater(0, logging.getLogger(__name__).info, LOOPS)  # type: ignore[arg-type]
    process.start()
    if crawler.stats is not None:
        Path(stats).write_text(json.dumps(crawler.stats.get_stats(), default=str), encoding="utf-8")
    return 1 if process.bootstrap_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
