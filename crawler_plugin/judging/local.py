"""Sends the pages of one crawl to a judging process on this machine: ``DEDUP_MODE = "local"``.

The event loop never waits: threads talk to that process, and each verdict comes back by itself. An error there costs
verdicts but no item: items pass, with None in place of the verdict.
"""

from __future__ import annotations

import atexit
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from scrapy.crawler import Crawler
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.delivery import Delivery
from crawler_plugin.judging.judge_process import JudgeProcess
from crawler_plugin.judging.judging_log import JudgingLog
from crawler_plugin.publishing.budget import PAGE_COST
from crawler_plugin.record import PageRecord
from crawler_plugin.refusal import closed_at_once
from crawler_plugin.running import Call, event_loop, outcome
from crawler_plugin.waiting_items import TOLD, ComingVerdict
from crawler_plugin.wire.errors import Stop
from crawler_plugin.wire.judge_pipe import PageJudged
from crawler_plugin.wire.outcomes import Verdict

MOST_AHEAD: Final = 32
"""The most pages without a verdict with which a crawl that learns goes on. With more, the crawl fetches pages without
knowledge while the judging process loads its words; with fewer, it waits for verdicts that are on their way."""


class LocalDelivery(Delivery):
    """All pages of one crawl, and their verdicts."""

    def __init__(self, crawler: Crawler, settings: PluginSettings) -> None:
        super().__init__(crawler, settings)
        self._says = JudgingLog(self.log)
        self._judge: JudgeProcess | None = None
        self._call: Call | None = None
        self._under_way = 0
        self._unjudged = 0
        self._held_back: list[Deferred[None]] = []

    async def open(self) -> None:
        """Open the state; the crawl waits for this, and is closed at once where the state cannot be used."""
        settings = self._settings
        self._call = call = event_loop()

        def say(level: int, message: str) -> None:
            call(lambda: self.log.say(level, message))

        with closed_at_once(self._crawler), ThreadPoolExecutor(1, "dedup-state") as opening:
            self._begin_origin()
            state = None if settings.state is None else self.named(settings.state)
            self._says.opens(state)
            python = settings.local_python or sys.executable
            self._judge = await outcome(opening.submit(JudgeProcess, python, state, settings.config, say), call)
            self._says.opened(state, self._judge.judged_before)
            atexit.register(self._leave_at_exit)

    async def close(self) -> None:
        """Write the state."""
        if self._judge is None:
            return
        assert self._call is not None
        with ThreadPoolExecutor(1, "dedup-state") as closing:
            try:
                await outcome(closing.submit(self._judge.close), self._call)
            except Stop as error:
                self._says.not_written(error)
        atexit.unregister(self._leave_at_exit)

    async def hand_over(self, page: PageRecord) -> ComingVerdict | None:
        """Submit the page. Its item waits for the verdict, which bounds the memory that pages take."""
        return self.hand_over_at_once(page)

    def hand_over_at_once(self, page: PageRecord) -> ComingVerdict | None:
        """Submit the page."""
        fitting = self._fit(page)
        if fitting is None:
            return None
        assert self._judge is not None, "open comes first"
        call, coming = self._call, ComingVerdict()
        assert call is not None
        self._under_way += fitting.size + PAGE_COST
        self._unjudged += 1
        verdict = self._judge.submit(fitting)
        verdict.add_done_callback(lambda future: call(lambda: self._hear(fitting, coming, future)))
        return coming

    async def room(self) -> None:
        """Wait while ``DEDUP_BUFFER_BYTES`` of pages have no verdict yet, or too many pages for a crawl that learns."""
        while self._is_full():
            turn: Deferred[None] = Deferred()
            self._held_back.append(turn)
            await maybe_deferred_to_future(turn)

    def gauges(self) -> None:
        """None: nothing waits for Kafka."""

    def _is_full(self) -> bool:
        is_ahead = self.learning is not None and self._unjudged >= MOST_AHEAD
        return is_ahead or self._under_way > self._settings.buffer_bytes

    def _hear(self, page: PageRecord, coming: ComingVerdict, future: Future[PageJudged]) -> None:
        self._under_way -= page.size + PAGE_COST
        self._unjudged -= 1
        if not self._is_full():
            held_back, self._held_back = self._held_back, []
            for turn in held_back:
                if not turn.called:  # it was called where its waiter was cancelled
                    turn.callback(None)
        error = future.exception()
        if error is not None:
            self._says.unjudged(page, error)
            coming.tell(None)
            return
        judged = future.result()
        told = {name: getattr(judged, name) for name in TOLD}
        self._says.judged(page, told, f"{judged.reason}: {judged.detail}")
        if self.learning is not None:
            self.learning.learn(page.url, told)
        self.tell_listeners(
            Verdict(url=page.url, spider=self.origin.spider, job=self.origin.job, detail=judged.detail, **told), coming
        )
        coming.tell(told)

    def _leave_at_exit(self) -> None:
        """The crawl was stopped by force: pages that have no verdict get none."""
        assert self._judge is not None
        try:
            self._judge.leave()
        except Stop as error:
            self._says.not_written(error)
