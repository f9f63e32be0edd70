"""Where the pages of one crawl go, as the plugin's Scrapy components see it: to Kafka, or to a judge of its own."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import UTC, datetime

from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.job import job_dir

from crawler_plugin import stats
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.crawl_log import CrawlLog
from crawler_plugin.feedback.learning import Learning
from crawler_plugin.metrics import server
from crawler_plugin.metrics.declared import CrawlGauges, CrawlNumbers
from crawler_plugin.record import Origin, PageRecord, cut_to
from crawler_plugin.signals import page_judged
from crawler_plugin.spider_scope import scope_of_crawl
from crawler_plugin.waiting_items import NOT_CAPTURED, UNJUDGED, ComingVerdict, DedupVerdict, FoundItems
from crawler_plugin.wire.outcomes import Verdict


class Delivery(ABC):
    """One per crawl, shared by all its components. Nothing here blocks the event loop."""

    def __init__(self, crawler: Crawler, settings: PluginSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._origin: Origin | None = None
        self.log = CrawlLog(crawler)
        self.items = FoundItems()
        """The verdicts on captured pages, and the items found on each."""
        policy = settings.feedback
        self.learning = None if policy is None else Learning(policy, job_dir(crawler.settings), self.log)
        """The learning by which requests are decided; None: they are not decided on."""

    @abstractmethod
    async def open(self) -> None:
        """Begin. A crawl that must not start is closed at once."""

    @abstractmethod
    async def close(self) -> None:
        """Finish with the pages that were handed over."""

    @abstractmethod
    async def hand_over(self, page: PageRecord) -> ComingVerdict | None:
        """Take the page; waits while there is no room. None where no verdict comes back to the crawl."""

    @abstractmethod
    def hand_over_at_once(self, page: PageRecord) -> ComingVerdict | None:
        """The same without waiting: a page that finds no room is kept, and ``room`` waits for it."""

    @abstractmethod
    async def room(self) -> None:
        """Wait while pages of ``hand_over_at_once`` wait for room."""

    @abstractmethod
    def gauges(self) -> CrawlGauges | None:
        """What the delivery holds now; None without Kafka. May be called in any thread."""

    def show(self) -> None:
        """Show this crawl's metrics to Prometheus, if the settings say so; ``open`` comes first."""
        asked = self._settings.metrics
        if asked is None:
            return
        try:
            self.log.say(logging.INFO, f"metrics of this crawl: http://{server.show(asked, self._numbers)}/metrics")
        except OSError as error:  # a crawl without metrics is better than no crawl
            self.log.say(
                logging.ERROR,
                f"DEDUP_STATS_PORT: cannot listen on {asked} ({error.strerror or error}), so this crawl goes on "
                "without metrics; name a free port, and only an address of this machine",
            )

    def hide(self) -> None:
        """Show the crawl's metrics no more: it has ended."""
        if self._settings.metrics is not None:
            server.hide(self._settings.metrics, self._numbers)

    def _numbers(self) -> CrawlNumbers:
        return CrawlNumbers(self.origin.spider or "", self.origin.job or "", self.log.counts(), self.gauges())

    @property
    def crawler(self) -> Crawler:
        """Scrapy's own object of this crawl."""
        return self._crawler

    @property
    def settings(self) -> PluginSettings:
        """The plugin's settings."""
        return self._settings

    @property
    def origin(self) -> Origin:
        """The values that all pages of this crawl share."""
        assert self._origin is not None, "open comes first"
        return self._origin

    async def known_of(self, response: Response) -> DedupVerdict:
        """The verdict on a captured response, once it is there or ``DEDUP_AWAIT`` has passed."""
        coming = self.items.verdict_on(response)
        if coming is None:
            return DedupVerdict(None, reason=NOT_CAPTURED)
        told = await coming.wait(self._settings.longest_wait)
        if told is not None:
            return DedupVerdict(**told)
        if coming.missing is not None:
            self.log.count(stats.CALLBACK_WITHOUT_VERDICT + coming.missing)
        return DedupVerdict(None, reason=coming.missing or UNJUDGED)

    def tell_listeners(self, verdict: Verdict, coming: ComingVerdict | None) -> None:
        """Send ``page_judged``; ``coming`` knows the response, where it is known."""
        response = None if coming is None or coming.response is None else coming.response()
        self._crawler.signals.send_catch_log(
            page_judged,
            verdict=verdict,
            url=verdict.url_as_given or verdict.url,
            request=None if response is None else response.request,
            response=response,
            spider=self._crawler.spider,
        )

    @staticmethod
    def now_ms() -> int:
        """Milliseconds since 1970 UTC."""
        return round(time.time() * 1000)

    def named(self, path: str) -> str:
        """The path with its placeholders replaced by names."""
        names = {"%(spider)s": self.origin.spider or "", "%(job)s": self.origin.job or ""}
        for name, value in names.items():
            path = path.replace(name, value.replace("/", "_"))
        return path

    def _begin_origin(self) -> None:
        """Set the values that all pages share.

        Raises:
            Stop: ``dedup_reset`` is neither yes nor no, or a new scope cannot be kept.
        """
        spider = self._crawler.spider
        job = self._settings.job or f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        self._origin = origin = Origin(self._settings.fields, spider.name if spider else None, job)
        scope = scope_of_crawl(spider, job_dir(self._crawler.settings), self.now_ms(), self.log)
        self._origin = replace(origin, scope=scope)

    def _fit(self, page: PageRecord) -> PageRecord | None:
        """The page, or as much of it as may be sent, or None where the page is left out."""
        limit = self._settings.max_page_bytes
        if page.size <= limit:
            return page
        fitting = cut_to(page, limit) if self._settings.oversize == "truncate" else None
        name, what = (stats.OVERSIZE, "not sent") if fitting is None else (stats.TRUNCATED, "cut off there")
        self.log.skip(
            name,
            f"{page.url}: {page.size} bytes are more than DEDUP_MAX_PAGE_BYTES={limit}, the page is {what}. Raise "
            "that setting (and the worker's topics.max_message_bytes) or change DEDUP_OVERSIZE",
        )
        return fitting
