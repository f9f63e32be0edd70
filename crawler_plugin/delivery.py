"""All that one crawl sends to Kafka, whichever of the plugin's Scrapy components a page comes through.

Nothing here blocks the event loop. ``publish`` waits only for room in the budget of unconfirmed bytes, so a slow or
absent broker slows the crawl instead of filling its memory; Kafka itself is met in the publisher's thread. Stats and
logs are written in the event loop's thread alone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, Self
from weakref import WeakValueDictionary

from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from crawler_plugin import stats
from crawler_plugin.budget import Budget
from crawler_plugin.publisher import Publisher, producer_options
from crawler_plugin.record import Origin, Page, Unusable, cut_to
from crawler_plugin.settings import PluginSettings

CLOSING_LOOK_S: Final = 0.5
"""How often a crawl that waits for the budget is asked whether it is closing."""
GRACE_S: Final = 2.0
"""After the flush timeout, for the publisher's thread to come to an end."""
NAMED_PAGES: Final = 5

_log = logging.getLogger(__name__)


class Delivery:
    """One a crawl: ``of`` gives every component of a crawler the same."""

    _by_crawler: Final[WeakValueDictionary[int, Delivery]] = WeakValueDictionary()
    """By ``id`` of the crawler, which the value holds: an entry lives as long as a component that uses it."""

    def __init__(self, crawler: Crawler, settings: PluginSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._budget = Budget(settings.buffer_bytes)
        self._origin: Origin | None = None
        self._publisher: Publisher | None = None
        self._end: Deferred[None] | None = None
        self._warned: set[str] = set()

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """That of this crawler, made at the first call.

        Raises:
            UsageError: a setting is wrong.
        """
        found = cls._by_crawler.get(id(crawler))
        if found is None:
            found = cls._by_crawler[id(crawler)] = cls(crawler, PluginSettings.read(crawler.settings))
        assert isinstance(found, cls)
        return found

    def open(self) -> None:
        """Begin to connect; the crawl does not wait for it."""
        spider, settings = self._crawler.spider, self._settings
        job = settings.job or f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        self._origin = Origin(settings.fields, spider.name if spider else None, job)
        options = producer_options(
            bootstrap_servers=settings.bootstrap_servers,
            max_page_bytes=settings.max_page_bytes,
            compression=settings.compression,
            connection=settings.connection,
        )
        self._publisher = Publisher(options, settings.topic, _from_any_thread(self._hear))
        self._publisher.start()

    async def close(self) -> None:
        """Wait for what is unconfirmed, for at most ``DEDUP_FLUSH_TIMEOUT``; count and name what stays so."""
        if self._publisher is None:
            return
        self._end = Deferred()
        patience = self._settings.flush_timeout if self._publisher.unconfirmed else 0.0
        timer = call_later(patience + GRACE_S, self._stop_waiting)
        self._publisher.finish(patience)
        await maybe_deferred_to_future(self._end)
        timer.cancel()
        self._collect()
        self._sum_up(self._publisher.unconfirmed, self._publisher.last_heard)

    def page(self, make: Callable[[Origin, int], Page]) -> Page | None:
        """The record to send, which ``make`` takes out of what has come, or None where it has none; counted then.

        ``make`` is given what all pages of the crawl have in common and the time in milliseconds since 1970 UTC, and
        may raise ``Unusable``.
        """
        assert self._origin is not None, "open comes first"
        try:
            page = make(self._origin, round(time.time() * 1000))
        except Unusable as unusable:
            self.count(stats.SKIPPED + unusable.reason)
            self._warn_once(
                stats.SKIPPED + unusable.reason,
                f"an item passes on without being published: {unusable}. "
                "If what is missing is in another field, name that in DEDUP_FIELDS",
                level=logging.INFO if unusable.reason in ("no_body", "no_item") else logging.WARNING,
            )
            return None
        for name in page.unread:
            self.count(stats.UNREAD + name)
            self._warn_once(
                stats.UNREAD + name,
                f"{page.url}: the value of field {self._settings.fields[name]!r} cannot be used as {name}, the page "
                f"goes without it. Correct the value, or name another field (or None) for {name!r} in DEDUP_FIELDS",
            )
        return page if page.size <= self._settings.max_page_bytes else self._fit(page)

    async def publish(self, page: Page) -> None:
        """Hand the page over for sending; waits while the budget is spent."""
        cost = self._budget.cost(page.size)
        if not self._budget.take(cost):
            began = time.monotonic()
            turn = self._budget.wait(cost)
            self._look_whether_closing()
            await maybe_deferred_to_future(turn)
            self.count(stats.WAITED_PAGES)
            self._add_seconds(stats.WAITED_SECONDS, time.monotonic() - began)
        assert self._publisher is not None, "open comes first"
        self._publisher.submit(page, cost)
        self.count(stats.PUBLISHED)
        self.count(stats.PUBLISHED_BYTES, page.size)

    def count(self, name: str, by: int = 1) -> None:
        """Add to one of Scrapy's stats."""
        self._collector.inc_value(name, by)

    def _fit(self, page: Page) -> Page | None:
        limit = self._settings.max_page_bytes
        fitting = cut_to(page, limit) if self._settings.oversize == "truncate" else None
        name, what = (stats.OVERSIZE, "not sent") if fitting is None else (stats.TRUNCATED, "cut off there")
        self.count(name)
        self._warn_once(
            name,
            f"{page.url}: {page.size} bytes are more than DEDUP_MAX_PAGE_BYTES={limit}, the page is {what}. "
            "Raise that setting (and the worker's topics.max_message_bytes) or change DEDUP_OVERSIZE",
        )
        return fitting

    def _look_whether_closing(self) -> None:
        """Scrapy closes a spider only when no item is on its way, and says so to nobody before: so it is asked."""
        if not self._budget.is_waited_for:
            return
        if _is_closing(self._crawler):
            self._budget.lift()
        else:
            call_later(CLOSING_LOOK_S, self._look_whether_closing)

    def _hear(self) -> None:
        self._collect()
        if self._publisher is not None and self._publisher.has_ended:
            self._stop_waiting()

    def _stop_waiting(self) -> None:
        if self._end is not None and not self._end.called:
            self._end.callback(None)

    def _collect(self) -> None:
        assert self._publisher is not None
        report = self._publisher.collect()
        if report.confirmed:
            self.count(stats.CONFIRMED, report.confirmed)
        if report.send_errors:
            self.count(stats.SEND_ERRORS, report.send_errors)
        for page in report.refused:
            self.count(stats.OVERSIZE)
            self.count(stats.OVERSIZE_AT_BROKER)
            self._warn_once(
                stats.OVERSIZE_AT_BROKER,
                f"{page.url}: the broker refused {page.size} bytes as too large for {self._settings.topic}, the page "
                "is left out. Lower DEDUP_MAX_PAGE_BYTES or raise max.message.bytes of that topic "
                "(the worker's topics.max_message_bytes)",
            )
        for notice in report.notices:
            _log.log(logging.WARNING if notice.is_trouble else logging.INFO, notice.message, extra=self._extra())
        self._budget.give_back(report.freed)

    def _sum_up(self, unconfirmed: list[Page], heard: str | None) -> None:
        self._collector.set_value(stats.UNCONFIRMED, len(unconfirmed))
        self._collector.set_value(stats.MOST_BUFFERED, self._budget.most)
        if unconfirmed:
            named = ", ".join(page.url for page in unconfirmed[:NAMED_PAGES])
            more = "" if len(unconfirmed) <= NAMED_PAGES else f" and {len(unconfirmed) - NAMED_PAGES} more"
            _log.error(
                f"{len(unconfirmed)} pages were not confirmed by Kafka within DEDUP_FLUSH_TIMEOUT="
                f"{self._settings.flush_timeout:g} s and may be missing on {self._settings.topic}: {named}{more}"
                f"{f' (the last that was heard: {heard})' if heard else ''}. "
                f"See that the broker at {','.join(self._settings.bootstrap_servers)} runs and has that topic, and "
                "crawl them again; raise DEDUP_FLUSH_TIMEOUT if it is slow",
                extra=self._extra(),
            )

    def _warn_once(self, kind: str, message: str, level: int = logging.WARNING) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            _log.log(level, f"{message}. Further ones are only counted, as {kind}", extra=self._extra())

    def _extra(self) -> dict[str, Any]:
        return {"spider": self._crawler.spider}

    def _add_seconds(self, name: str, seconds: float) -> None:
        self._collector.set_value(name, self._collector.get_value(name, 0.0) + seconds)

    @property
    def _collector(self) -> StatsCollector:
        collector = self._crawler.stats
        assert collector is not None, "Scrapy makes the stats before its components"
        return collector


def _is_closing(crawler: Crawler) -> bool:
    """Whether the spider is being closed, by a signal, ``CloseSpider`` or an extension.

    Only the engine's slot knows the latter two, and it has no public name.
    """
    engine = crawler.engine
    slot = getattr(engine, "_slot", None)
    return engine is None or not engine.running or getattr(slot, "closing", None) is not None


def _from_any_thread(heard: Callable[[], None]) -> Callable[[], None]:
    """A function for other threads that has ``heard`` called in the event loop's, asyncio's or Twisted's."""
    call: Callable[[Callable[[], None]], object]
    if is_asyncio_available():
        call = asyncio.get_running_loop().call_soon_threadsafe
    else:
        from twisted.internet import reactor

        call = reactor.callFromThread

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed: a crawl that was stopped by force
            call(heard)

    return wake
