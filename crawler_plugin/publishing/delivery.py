"""All that one crawl sends to Kafka, whichever of the plugin's Scrapy components a page comes through.

Nothing here blocks the event loop: Kafka is met in the publisher's thread, the disk in that of the storage. What
becomes of a page:

1. It is *handed over* with ``publish``, which waits for room in the budget of unconfirmed bytes, so that a slow or
   absent broker slows the crawl instead of filling its memory. ``DEDUP_ON_FULL`` and ``DEDUP_GIVE_UP_SECONDS`` say
   when a page goes to the spool instead, and when the crawl is closed.
2. It is *confirmed* by Kafka, or refused as too large.
3. What is neither when the crawl ends and ``DEDUP_FLUSH_TIMEOUT`` has passed goes to the *spool*, at a second Ctrl-C at
   once. The next crawl sends it.
4. What the spool does not take is *lost*: named, counted as unconfirmed, and the crawl does not look like a success.

A process that is killed outright (SIGKILL, failing power) loses what it has in memory, at most ``DEDUP_BUFFER_BYTES``;
what is in the spool stays.
"""

from __future__ import annotations

import atexit
import logging
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self
from weakref import WeakValueDictionary

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from crawler_plugin import stats
from crawler_plugin.crawl_log import CrawlLog
from crawler_plugin.publishing.budget import Budget
from crawler_plugin.publishing.connection import producer_options
from crawler_plugin.publishing.publisher import Publisher
from crawler_plugin.record import Origin, PageRecord, cut_to
from crawler_plugin.refusal import closed_at_once, fail, said_alone
from crawler_plugin.running import event_loop, is_closing
from crawler_plugin.settings import PluginSettings, is_enabled
from crawler_plugin.spool.file import Appended, Spool
from crawler_plugin.spool.storage import Call, Storage
from crawler_plugin.wanted import Wanted
from worker.errors import Stop, Unavailable, UsageError

CLOSING_LOOK_S: Final = 0.5
"""How often a crawl that waits for the budget is asked whether it is closing."""
GRACE_S: Final = 2.0
"""After the flush timeout, for the publisher's thread to come to an end."""
SAY_S: Final = 5.0
"""Between two lines of a crawl that waits for confirmations at its end."""


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
        self._storage = Storage()
        self._looked: Deferred[None] | None = None
        self._end: Deferred[None] | None = None
        self._waiting: dict[int, PageRecord] = {}
        self._is_asked_to_close = False
        self._has_lost = False
        self._behind = 0
        self._held_back: list[Deferred[None]] = []
        self.log = CrawlLog(crawler, settings)

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """That of this crawler, made at the first call.

        Raises:
            NotConfigured: the plugin is switched off.
            Refusal: a setting is wrong. ``NotConfigured`` would only switch the plugin off, and lose every page.
        """
        found = cls._by_crawler.get(id(crawler))
        if found is None:
            with said_alone(crawler):
                if not is_enabled(crawler.settings):
                    raise NotConfigured("DEDUP_ENABLED is False")
                found = cls._by_crawler[id(crawler)] = cls(crawler, PluginSettings.read(crawler.settings))
        assert isinstance(found, cls)
        return found

    async def open(self) -> None:
        """Begin to connect; the crawl does not wait for it, unless ``DEDUP_REQUIRED`` says so.

        The crawl is closed at once where the spool cannot be used, or what is required is missing.
        """
        spider, settings = self._crawler.spider, self._settings
        job = settings.job or f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        name = spider.name if spider else None
        self._origin = Origin(settings.fields, name, job)
        self._crawler.signals.connect(self._tell_reason, signals.spider_closed)
        self._crawler.signals.connect(self._tell_failure, signals.engine_stopped)
        call = event_loop()
        with closed_at_once(self._crawler):
            self._begin(call, await self._open_spool(call, name or "", job))
            if settings.required:
                await self._require()

    async def close(self) -> None:
        """Wait for what is unconfirmed, for at most ``DEDUP_FLUSH_TIMEOUT``; what stays so goes to the spool."""
        publisher = self._publisher
        if publisher is None:
            await self._storage.close(lambda: None)
            return
        await self.room()
        self._end = Deferred()
        patience = self._settings.flush_timeout if publisher.has_work and not self._is_refused else 0.0
        timer = call_later(patience + GRACE_S, self._stop_waiting)
        self._say_how_long(time.monotonic() + patience)
        publisher.finish(patience)
        await maybe_deferred_to_future(self._end)
        timer.cancel()
        self._collect()
        unspooled = publisher.unspooled
        stored = await self._storage.store_all(unspooled)
        self.log.stored(stored)
        await self._storage.close(publisher.mark_sent)
        self._collect()
        atexit.unregister(self._store_at_exit)
        lost = unspooled[stored.pages :]
        self._has_lost = bool(lost)
        self.log.sum_up(lost, self._storage.spool, most_buffered=self._budget.most, heard=publisher.last_heard)

    @property
    def origin(self) -> Origin:
        """What all pages of this crawl have in common."""
        assert self._origin is not None, "open comes first"
        return self._origin

    @property
    def captured(self) -> Wanted | None:
        """Which responses are published; None: pages come in items."""
        return self._settings.captured

    @staticmethod
    def now_ms() -> int:
        """Milliseconds since 1970 UTC."""
        return round(time.time() * 1000)

    async def publish(self, page: PageRecord) -> None:
        """Hand the page over for sending, or to the spool; waits while neither takes it."""
        fitting = self._fit(page)
        if fitting is None:
            return
        cost = self._budget.cost(fitting.size)
        if self._budget.take(cost) or await self._find_room(fitting, cost):
            self._submit(fitting, cost)
        self.log.published(fitting)

    def publish_at_once(self, page: PageRecord) -> None:
        """Hand the page over without waiting: one that finds no room waits by itself, and ``room`` waits for it."""
        fitting = self._fit(page)
        if fitting is None:
            return
        cost = self._budget.cost(fitting.size)
        if self._budget.take(cost):
            self._submit(fitting, cost)
            self.log.published(fitting)
        else:
            self._behind += 1
            self._waiting[id(fitting)] = fitting  # from here on: its coroutine begins later
            deferred_from_coro(self._catch_up(fitting, cost))

    async def room(self) -> None:
        """Wait while pages of ``publish_at_once`` wait."""
        while self._behind:
            turn: Deferred[None] = Deferred()
            self._held_back.append(turn)
            await maybe_deferred_to_future(turn)

    def _fit(self, page: PageRecord) -> PageRecord | None:
        """The page, or as much of it as may be sent, or None where it is left out."""
        limit = self._settings.max_page_bytes
        if page.size <= limit:
            return page
        fitting = cut_to(page, limit) if self._settings.oversize == "truncate" else None
        self.log.too_large(page, is_cut=fitting is not None)
        return fitting

    async def _catch_up(self, page: PageRecord, cost: int) -> None:
        try:
            if await self._find_room(page, cost):
                self._submit(page, cost)
            self.log.published(page)
        finally:
            self._behind -= 1
            if not self._behind:
                held_back, self._held_back = self._held_back, []
                for turn in held_back:
                    turn.callback(None)

    def _submit(self, page: PageRecord, cost: int) -> None:
        assert self._publisher is not None, "open comes first"
        self._publisher.submit(page, cost)

    def _begin(self, call: Call, spool: Spool | None) -> None:
        settings = self._settings
        options = producer_options(
            bootstrap_servers=settings.bootstrap_servers,
            max_page_bytes=settings.max_page_bytes,
            compression=settings.compression,
            connection=settings.connection,
        )
        self._publisher = Publisher(
            options, settings.topic, lambda: call(self._hear), cuts=settings.oversize == "truncate", spool=spool
        )
        self._publisher.start()
        atexit.register(self._store_at_exit)

    async def _open_spool(self, call: Call, spider: str, job: str) -> Spool | None:
        settings = self._settings
        if settings.spool is None:
            return None
        names = {"%(spider)s": spider, "%(job)s": job}
        told = settings.spool
        for name, value in names.items():
            told = told.replace(name, value.replace("/", "_"))
        try:
            spool = await self._storage.open(call, Path(told), settings.spool_bytes)
        except OSError as error:
            problem = (
                f"DEDUP_SPOOL: {Path(told).absolute()} cannot be written ({error.strerror}), and pages that Kafka does "
                "not confirm would be lost; name a file in a folder that is there and can be written, or write none"
            )
            if self._crawler.settings.get("DEDUP_SPOOL") is None:  # a crawl that has its place by default goes on
                self.log.say(logging.WARNING, problem)
                return None
            raise UsageError(problem) from error
        self.log.found_in(spool)
        return spool

    async def _require(self) -> None:
        assert self._publisher is not None
        if not self._publisher.has_looked:
            self._looked = Deferred()
            await maybe_deferred_to_future(self._looked)
        missing = self._publisher.found_wanting
        if missing is not None:
            kind = type(missing) if isinstance(missing, Stop) else Unavailable
            raise kind(
                f"the crawl does not start, as DEDUP_REQUIRED says: {missing} (topic {self._settings.topic} at "
                f"{','.join(self._settings.bootstrap_servers)})"
            )

    @property
    def _is_refused(self) -> bool:
        """Whether the crawl was closed at its start."""
        return self._settings.required and self._publisher is not None and self._publisher.found_wanting is not None

    async def _find_room(self, page: PageRecord, cost: int) -> bool:
        """Wait for room in the budget and take it; or write the page to the spool, and say False."""
        assert self._publisher is not None
        began = time.monotonic()
        self._waiting[id(page)] = page
        try:
            while not await self._store_instead(page):
                if self._settings.on_full == "fail" or self._has_given_up:
                    self._close_crawl()
                turn = self._budget.wait(cost)
                self._look_after_those_who_wait()
                if await maybe_deferred_to_future(turn):
                    return True
            return False
        finally:
            del self._waiting[id(page)]
            self.log.waited(time.monotonic() - began)

    async def _store_instead(self, page: PageRecord) -> bool:
        on_full = self._settings.on_full
        if on_full == "fail" or (on_full == "block" and not self._has_given_up) or self._storage.spool is None:
            return False
        trouble = await self._storage.store(page)
        self.log.stored(Appended(0 if trouble else 1, trouble))
        return trouble is None

    @property
    def _has_given_up(self) -> bool:
        assert self._publisher is not None
        return self._publisher.silence >= self._settings.give_up_seconds

    def _close_crawl(self) -> None:
        engine = self._crawler.engine
        if self._is_asked_to_close or is_closing(self._crawler) or engine is None:
            return
        self._is_asked_to_close = True
        self.log.full()
        deferred_from_coro(engine.close_spider_async(reason=stats.FULL))

    def _look_after_those_who_wait(self) -> None:
        """Scrapy closes a spider only when no item is on its way, and says so to nobody before: so it is asked."""
        if not self._budget.is_waited_for:
            return
        if is_closing(self._crawler):
            self._budget.lift()
        elif self._has_given_up and not self._is_asked_to_close:
            self._budget.send_away()
        else:
            call_later(CLOSING_LOOK_S, self._look_after_those_who_wait)

    def _hear(self) -> None:
        assert self._publisher is not None
        self._collect()
        if self._looked is not None and not self._looked.called and self._publisher.has_looked:
            self._looked.callback(None)
        if self._publisher.has_ended:
            self._stop_waiting()

    def _stop_waiting(self) -> None:
        if self._end is not None and not self._end.called:
            self._end.callback(None)

    def _say_how_long(self, deadline: float) -> None:
        assert self._publisher is not None and self._end is not None
        left = deadline - time.monotonic()
        if self._end.called or left <= 0:
            return
        if (count := self._publisher.unconfirmed) and left < self._settings.flush_timeout - SAY_S / 2:
            self.log.waits_at_its_end(count, left, has_spool=self._storage.spool is not None)
        call_later(SAY_S, self._say_how_long, deadline)

    def _store_at_exit(self) -> None:
        """The crawl was stopped by force: its event loop is no more, and there is no time for Kafka."""
        assert self._publisher is not None
        pages = [*self._publisher.unspooled, *self._waiting.values()]
        stored = self._storage.store_at_exit(pages)
        self.log.stopped_by_force(pages, stored, self._storage.spool)

    def _tell_reason(self) -> None:
        """After Scrapy's own stats, which were connected before."""
        if self._has_lost:
            self.log.failed()

    def _tell_failure(self) -> None:
        if self._has_lost:
            fail(self._crawler)

    def _collect(self) -> None:
        assert self._publisher is not None
        report = self._publisher.collect()
        self.log.collected(report)
        self._budget.give_back(report.freed)
