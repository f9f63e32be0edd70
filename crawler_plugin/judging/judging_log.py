"""The log lines of a crawl about the pages that it judges itself."""

from __future__ import annotations

import logging
from pathlib import Path

from crawler_plugin import stats
from crawler_plugin.crawl_log import CrawlLog
from crawler_plugin.record import PageRecord
from crawler_plugin.waiting_items import Told, count_told


class JudgingLog:
    """The lines of one crawl."""

    def __init__(self, log: CrawlLog) -> None:
        self._log = log

    def opens(self, state: str | None) -> None:
        """Say that the process that judges is being started."""
        kept = (
            f"their state is in {Path(state).absolute()}"
            if state
            else "only with each other: a folder in DEDUP_STATE, or a JOBDIR, keeps what was seen for the next crawl"
        )
        self._log.say(
            logging.INFO,
            f"pages are compared on this machine, {kept}. The first time on a machine begins with half a minute of "
            "compiling",
        )

    def opened(self, state: str | None, judged: int) -> None:
        """Say that the process is ready."""
        if state is not None:
            self._log.say(logging.INFO, f"the state in {state} holds {judged} judged pages")

    def judged(self, page: PageRecord, told: Told, reason: str) -> None:
        """Count a page that has its verdict."""
        count_told(self._log, told)
        if told["verdict"] == "dead":
            self._log.warn_once(
                stats.VERDICT + "dead", f"{page.url}: the page cannot be compared with others ({reason})"
            )

    def unjudged(self, page: PageRecord, error: BaseException) -> None:
        """Count a page without a verdict; later pages will not get one either."""
        self._log.skip(
            stats.UNJUDGED,
            f"{page.url}: the page cannot be judged: {error}. From here on items pass without a verdict; once the "
            "cause is removed, the next crawl goes on from the stored state",
            logging.ERROR,
        )

    def not_written(self, error: Exception) -> None:
        """Say that the state does not hold the last verdicts."""
        self._log.say(logging.ERROR, f"the next crawl will not know all pages of this one: {error}")
