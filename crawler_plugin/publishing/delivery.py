"""Sends the pages of one crawl to Kafka, whichever of the plugin's Scrapy components a page comes through.

Nothing here blocks the event loop: the publisher's thread talks to Kafka, the storage's thread to the disk. The way of
a page:

1. It is *handed over* with ``hand_over``, which waits for room in the budget of unconfirmed bytes, so that a slow or
   absent broker slows the crawl instead of filling its memory. ``DEDUP_ON_FULL`` and ``DEDUP_GIVE_UP_SECONDS`` say
   when a page goes to the spool instead, and when the crawl is closed.
2. It is *confirmed* by Kafka, or refused as too large.
3. A page that is neither when the crawl ends and ``DEDUP_FLUSH_TIMEOUT`` has passed goes to the *spool*; after a second
   Ctrl-C it goes there at once. The next crawl sends it.
4. A page that the spool does not take is *lost*: it is named and counted as unconfirmed, and the crawl does not look
   like a success.

A process that is killed outright (SIGKILL, failing power) loses the pages in its memory, at most
``DEDUP_BUFFER_BYTES``; the spool keeps its pages.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from crawler_plugin import stats
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.delivery import Delivery
from crawler_plugin.metrics.declared import CrawlGauges
from crawler_plugin.publishing.connection import producer_options
from crawler_plugin.publishing.followed import FollowedVerdicts, HeardVerdict
from crawler_plugin.publishing.full_buffer import FullBuffer
from crawler_plugin.publishing.outbox import WINDOW_BYTES
from crawler_plugin.publishing.publisher import Publisher
from crawler_plugin.publishing.publishing_log import PublishingLog
from crawler_plugin.record import PageRecord
from crawler_plugin.refusal import closed_at_once, fail
from crawler_plugin.running import Call, event_loop
from crawler_plugin.signals import is_heard
from crawler_plugin.spool.file import Spool
from crawler_plugin.spool.numbered import Opened, open_numbered
from crawler_plugin.spool.records import Destination
from crawler_plugin.spool.spool_log import say_opened, say_stored
from crawler_plugin.spool.storage import Storage
from crawler_plugin.waiting_items import SPOOLED, TOLD, ComingVerdict, Told, count_told
from crawler_plugin.wire.errors import Stop, Unavailable, UsageError

GRACE_S: Final = 2.0
"""How long the publisher's thread may take to end after the flush timeout."""
GATHERED_SHARE: Final = 4
"""Once a quarter of the budget is taken, pages gather no longer: otherwise a crawl with a small budget would wait for
itself."""
SAY_S: Final = 5.0
"""The time between two log lines of a crawl that waits for confirmations at its end."""


class KafkaDelivery(Delivery):
    """The pages that one crawl sends to Kafka."""

    def __init__(self, crawler: Crawler, settings: PluginSettings) -> None:
        super().__init__(crawler, settings)
        self._says = PublishingLog(self.log, settings)
        self._storage = Storage()
        self._full = FullBuffer(crawler, settings, self.log, self._storage, self._silence)
        self._publisher: Publisher | None = None
        self._verdicts: FollowedVerdicts | None = None
        self._looked: Deferred[None] = Deferred()
        self._end: Deferred[None] = Deferred()
        self._has_lost = False
        self._waiting: dict[int, PageRecord] = {}
        self._held_back: list[Deferred[None]] = []

    async def open(self) -> None:
        """Begin to connect; the crawl waits for the connection only if ``DEDUP_REQUIRED`` says so.

        Closes the crawl at once where the spool cannot be used, or something required is missing.
        """
        self._crawler.signals.connect(self._tell_reason, signals.spider_closed)
        self._crawler.signals.connect(self._tell_failure, signals.engine_stopped)
        call = event_loop()
        with closed_at_once(self._crawler):
            self._begin_origin()
            self._begin(call, await self._open_spool(call))
            if self._settings.required:
                await maybe_deferred_to_future(self._looked)
                self._refuse_without_kafka()

    async def close(self) -> None:
        """Wait for confirmations, for at most ``DEDUP_FLUSH_TIMEOUT``; pages that stay unconfirmed go to the spool."""
        publisher = self._publisher
        if publisher is None:
            await self._storage.close(lambda: None)
            return
        await self.room()
        is_refused = self._settings.required and publisher.found_wanting is not None
        patience = self._settings.flush_timeout if publisher.has_work and not is_refused else 0.0
        timer = call_later(patience + GRACE_S, _fire, self._end)
        self._say_how_long(publisher, time.monotonic() + patience)
        publisher.finish(patience)
        await maybe_deferred_to_future(self._end)
        timer.cancel()
        if self._verdicts is not None:
            self._verdicts.finish()
        publisher.give_up()
        self._collect(publisher)
        unspooled = publisher.unspooled
        stored = await self._storage.store_all(unspooled)
        say_stored(self.log, stored)
        unmarked = publisher.marks.due(at_the_end=True)
        if unmarked and not await self._storage.keep_marks(unmarked, publisher.mark_sent):
            self._says.unmarked(unmarked)
        await self._storage.close(publisher.mark_sent)
        self._collect(publisher)
        atexit.unregister(self._store_at_exit)
        lost = unspooled[stored.pages :]
        self._has_lost = bool(lost)
        most = self._full.budget.most
        self._says.sum_up(lost, self._storage.spool, most_buffered=most, heard=publisher.last_heard)

    async def hand_over(self, page: PageRecord) -> ComingVerdict | None:
        """Send the page, or write it to the spool; waits while neither takes it."""
        coming, waiting = self._take(page)
        if waiting is not None:
            await waiting
        return coming

    def hand_over_at_once(self, page: PageRecord) -> ComingVerdict | None:
        """The same without waiting: a page that finds no room is kept, and ``room`` waits for it."""
        coming, waiting = self._take(page)
        if waiting is not None:
            deferred_from_coro(waiting)
        return coming

    async def room(self) -> None:
        """Wait while pages wait for room."""
        while self._waiting:
            turn: Deferred[None] = Deferred()
            self._held_back.append(turn)
            await maybe_deferred_to_future(turn)

    def gauges(self) -> CrawlGauges | None:
        """Called by the thread that serves metrics: each number is read in one step, or under its owner's lock."""
        publisher, spool = self._publisher, self._storage.spool
        return CrawlGauges(
            waiting_pages=len(self._waiting),
            unconfirmed_pages=0 if publisher is None else publisher.unconfirmed,
            unconfirmed_bytes=self._full.budget.held,
            spool_pages=0 if spool is None else spool.left,
            silence_seconds=self._silence(),
        )

    def _silence(self) -> float:
        return 0.0 if self._publisher is None else self._publisher.silence

    def _take(self, page: PageRecord) -> tuple[ComingVerdict | None, Coroutine[Any, Any, None] | None]:
        """The verdict to come, if there will be one, and the coroutine to wait for where there is no room for the
        page."""
        fitting = self._fit(page)
        if fitting is None:
            return None, None
        coming = ComingVerdict() if self._settings.patience else None
        cost = self._full.budget.cost(fitting.size)
        if self._full.budget.take(cost):
            self._go_on(fitting, cost, coming, is_taken=True)
            return coming, None
        self._waiting[id(fitting)] = fitting  # now, since its coroutine may begin later
        return coming, self._catch_up(fitting, cost, coming)

    async def _catch_up(self, page: PageRecord, cost: int, coming: ComingVerdict | None) -> None:
        try:
            self._go_on(page, cost, coming, is_taken=await self._full.find_room(page, cost))
        finally:
            del self._waiting[id(page)]
            if not self._waiting:
                held_back, self._held_back = self._held_back, []
                for turn in held_back:
                    turn.callback(None)

    def _go_on(self, page: PageRecord, cost: int, coming: ComingVerdict | None, *, is_taken: bool) -> None:
        """Send the page if the budget has taken it; otherwise the spool has."""
        publisher, verdicts = self._publisher, self._verdicts
        assert publisher is not None, "open comes first"
        if is_taken:
            publisher.submit(
                page, cost, None if coming is None or verdicts is None else partial(verdicts.arrive, coming)
            )
        elif coming is not None:
            coming.miss(SPOOLED)
        self._says.published(page)

    def _hear_verdict(self, coming: ComingVerdict, told: Told) -> None:
        count_told(self.log, told)
        coming.tell(told)

    def _listen(self, heard: HeardVerdict) -> None:
        verdict = heard.verdict
        if self.learning is not None and verdict.verdict != "dead":
            self.learning.learn(verdict.url, verdict.row(TOLD))
        self.tell_listeners(verdict, heard.coming)

    def _begin(self, call: Call, spool: Spool | None) -> None:
        settings = self._settings
        options = producer_options(
            bootstrap_servers=settings.bootstrap_servers,
            max_page_bytes=settings.max_page_bytes,
            compression=settings.compression,
            connection=settings.connection,
        )
        if settings.patience or self.learning is not None or is_heard(self._crawler):
            self._verdicts = FollowedVerdicts(
                options,
                settings.verdicts,
                settings.dead_letters,
                self.origin,
                call=call,
                hear=self._hear_verdict if settings.patience else None,
                listen=self._listen,
                complain=self._says.unreadable_verdicts,
            )
            self._verdicts.start()
        self._publisher = publisher = Publisher(
            options,
            settings.topic,
            lambda: call(lambda: self._hear(publisher)),
            cuts=settings.oversize == "truncate",
            spool=spool,
            jobs=settings.jobs,
            before_pages=self._verdicts.wait_until_placed if self._verdicts is not None else lambda: None,
            gathered_bytes=min(WINDOW_BYTES, settings.buffer_bytes // GATHERED_SHARE),
        )
        if self.origin.job is not None:
            publisher.marks.begin(self.origin.job, self.origin.spider)
        publisher.start()
        atexit.register(self._store_at_exit)

    async def _open_spool(self, call: Call) -> Spool | None:
        settings = self._settings
        if settings.spool is None:
            return None
        path = Path(self.named(settings.spool))
        to = Destination(settings.topic, settings.jobs, settings.bootstrap_servers, self.origin.job)
        is_by_default = self._crawler.settings.get("DEDUP_SPOOL") is None

        def opening() -> Opened:
            if is_by_default:
                return open_numbered(path, settings.spool_bytes, to)
            return Opened(Spool.open(path, settings.spool_bytes, to))

        try:
            opened = await self._storage.open(call, opening)
        except OSError as error:
            problem = (
                f"DEDUP_SPOOL: {path.absolute()} cannot be written ({error.strerror}), and pages that Kafka does not "
                "confirm would be lost; name a file in a folder that exists and can be written, or write none"
            )
            if not is_by_default:
                raise UsageError(problem) from error
            self.log.say(logging.WARNING, problem)  # the crawl goes on
            return None
        say_opened(self.log, opened)
        return opened.spool

    def _refuse_without_kafka(self) -> None:
        assert self._publisher is not None
        missing = self._publisher.found_wanting
        if missing is not None:
            kind = type(missing) if isinstance(missing, Stop) else Unavailable
            raise kind(
                f"the crawl does not start, as DEDUP_REQUIRED says: {missing} (topic {self._settings.topic} at "
                f"{','.join(self._settings.bootstrap_servers)})"
            )

    def _hear(self, publisher: Publisher) -> None:
        self._collect(publisher)
        if publisher.has_looked:
            _fire(self._looked)
        if publisher.has_ended:
            _fire(self._end)

    def _collect(self, publisher: Publisher) -> None:
        report = publisher.collect()
        self._says.collected(report)
        self._full.budget.give_back(report.freed)

    def _say_how_long(self, publisher: Publisher, deadline: float) -> None:
        left = deadline - time.monotonic()
        if self._end.called or left <= 0:
            return
        if (count := publisher.unconfirmed) and left < self._settings.flush_timeout - SAY_S / 2:
            self._says.waits_at_its_end(count, left, has_spool=self._storage.spool is not None)
        call_later(SAY_S, self._say_how_long, publisher, deadline)

    def _store_at_exit(self) -> None:
        """Store pages after a crawl was stopped by force: its event loop has ended, and there is no time for Kafka."""
        assert self._publisher is not None
        self._publisher.give_up()
        pages = [*self._publisher.unspooled, *self._waiting.values()]
        stored = self._storage.store_at_exit(pages)
        if self._storage.spool is not None:
            self._storage.spool.keep_marks(self._publisher.marks.due(at_the_end=True))
        self._says.stopped_by_force(pages, stored, self._storage.spool)

    def _tell_reason(self) -> None:
        """Set the reason after Scrapy's own stats, which were connected before, so that the crawl does not look like a
        success."""
        if self._has_lost:
            self.log.put("finish_reason", stats.LOST)

    def _tell_failure(self) -> None:
        if self._has_lost:
            fail(self._crawler)


def _fire(turn: Deferred[None]) -> None:
    if not turn.called:
        turn.callback(None)
