"""Judges the pages of one crawl in its own process: ``DEDUP_MODE = "local"``.

This is the only module of the plugin that needs what workers need, and it imports it only when such a crawl is opened.
The event loop never waits: a thread drives the index and the processes that read pages, and each verdict comes back by
itself. What goes wrong there costs verdicts and no item: items pass, with None in the place of the verdict.
"""

from __future__ import annotations

import atexit
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from scrapy.crawler import Crawler
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from crawler_plugin.delivery import Delivery
from crawler_plugin.judging.judging_log import JudgingLog
from crawler_plugin.publishing.budget import PAGE_COST
from crawler_plugin.record import PageRecord
from crawler_plugin.refusal import closed_at_once
from crawler_plugin.running import Call, event_loop, outcome
from crawler_plugin.settings import PluginSettings
from crawler_plugin.verdicts import ComingVerdict, Told, learned_as
from crawler_plugin.wire.errors import Stop, UsageError
from crawler_plugin.wire.messages import PageMeta
from crawler_plugin.wire.outcomes import Verdict

if TYPE_CHECKING:
    from worker.local import FetchedPage
    from worker.local.background import BackgroundJudge

_OTHER_HEADERS: Final = ("status", "spider", "job")
"""What workers find in a page's headers besides what a ``FetchedPage`` has fields for."""


class LocalDelivery(Delivery):
    """All pages of one crawl, and their verdicts."""

    def __init__(self, crawler: Crawler, settings: PluginSettings) -> None:
        super().__init__(crawler, settings)
        self._says = JudgingLog(self.log)
        self._judge: BackgroundJudge | None = None
        self._call: Call | None = None
        self._under_way = 0
        self._held_back: list[Deferred[None]] = []

    async def open(self) -> None:
        """Open the state; the crawl waits for it, and is closed at once where it cannot be used."""
        self._begin_origin()
        settings = self._settings
        state = None if settings.state is None else self._named(settings.state)
        self._call = event_loop()
        self._says.opens(state)
        with closed_at_once(self._crawler), ThreadPoolExecutor(1, "dedup-state") as opening:
            self._judge = await outcome(opening.submit(_opened, state, settings.config), self._call)
            self._says.opened(state, self._judge.judged_before)
            atexit.register(self._flush_at_exit)

    async def close(self) -> None:
        """Write what was judged."""
        if self._judge is None:
            return
        assert self._call is not None
        with ThreadPoolExecutor(1, "dedup-state") as closing:
            try:
                await outcome(closing.submit(self._judge.close), self._call)
            except Stop as error:
                self._says.not_written(error)
        atexit.unregister(self._flush_at_exit)

    async def hand_over(self, page: PageRecord) -> ComingVerdict | None:
        """Have the page judged. What bounds the memory that pages take is that their items wait for the verdict."""
        return self.hand_over_at_once(page)

    def hand_over_at_once(self, page: PageRecord) -> ComingVerdict | None:
        """Have the page judged."""
        fitting = self._fit(page)
        if fitting is None:
            return None
        assert self._judge is not None, "open comes first"
        call, coming = self._call, ComingVerdict()
        assert call is not None
        self._under_way += fitting.size + PAGE_COST
        verdict = self._judge.submit(_fetched(fitting))
        verdict.add_done_callback(lambda future: call(lambda: self._hear(fitting, coming, future)))
        return coming

    async def room(self) -> None:
        """Wait while ``DEDUP_BUFFER_BYTES`` of pages have no verdict yet."""
        while self._under_way > self._settings.buffer_bytes:
            turn: Deferred[None] = Deferred()
            self._held_back.append(turn)
            await maybe_deferred_to_future(turn)

    def gauges(self) -> None:
        """Nothing waits for Kafka."""

    def _hear(self, page: PageRecord, coming: ComingVerdict, future: Future[Verdict]) -> None:
        self._under_way -= page.size + PAGE_COST
        if self._under_way <= self._settings.buffer_bytes:
            held_back, self._held_back = self._held_back, []
            for turn in held_back:
                if not turn.called:  # it is where its waiter was cancelled
                    turn.callback(None)
        error = future.exception()
        if error is not None:
            self._says.unjudged(page, error)
            coming.tell(None)
            return
        verdict = future.result()
        told = _told(verdict)
        self._says.judged(page, told, f"{verdict.reason}: {verdict.detail}")
        if self.learning is not None:
            self.learning.learn(page.url, learned_as(told))
        coming.tell(told)

    def _flush_at_exit(self) -> None:
        """The crawl was stopped by force: pages that have no verdict get none."""
        assert self._judge is not None
        with suppress(ValueError):  # it is being closed
            try:
                self._judge.flush()
            except Stop as error:
                self._says.not_written(error)


def _opened(state: str | None, config: str | None) -> BackgroundJudge:
    """In a thread, since imports and an index take their time.

    Raises:
        Stop: the worker's part of the package is not installed, its settings are wrong, or the state cannot be used.
    """
    try:
        from worker.local.background import BackgroundJudge
    except ModuleNotFoundError as error:
        raise UsageError(
            f'DEDUP_MODE = "local" needs the distribution of the workers ({error}): pip install crawl-dedup'
        ) from error

    return BackgroundJudge(state, config)


def _fetched(page: PageRecord) -> FetchedPage:
    from worker.local import FetchedPage

    meta = PageMeta.from_headers(page.headers)
    return FetchedPage(
        url=page.url,
        body=None if page.is_text else page.value,
        text=page.value.decode(errors="replace") if page.is_text else None,
        encoding=meta.encoding,
        content_type=meta.content_type,
        fetched=meta.fetched,
        headers={name: value.decode() for name, value in page.headers if name in _OTHER_HEADERS},
    )


def _told(verdict: Verdict) -> Told:
    return {
        "verdict": verdict.verdict,
        "duplicate_of": verdict.duplicate_of,
        "distance": verdict.distance,
        "similarity": verdict.similarity,
        "reason": verdict.reason,
        "suspect": verdict.suspect,
    }
