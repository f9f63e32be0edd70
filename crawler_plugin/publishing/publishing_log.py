"""The counts and log lines of a crawl about its pages on their way to Kafka."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from crawler_plugin import stats
from crawler_plugin.config.settings import PluginSettings
from crawler_plugin.crawl_log import CrawlLog
from crawler_plugin.publishing.outbox import Report
from crawler_plugin.record import PageRecord
from crawler_plugin.spool.file import Appended, Spool
from crawler_plugin.spool.spool_log import how_sent
from crawler_plugin.wire.counted import counted
from crawler_plugin.wire.outcomes import JobMark

NAMED_PAGES: Final = 5


class PublishingLog:
    """Needs the crawl's settings, since its lines name them with their values."""

    def __init__(self, log: CrawlLog, settings: PluginSettings) -> None:
        self._log = log
        self._settings = settings
        self._servers = ",".join(settings.bootstrap_servers)
        self._has_complained = False

    def published(self, page: PageRecord) -> None:
        """Count a page that was handed over."""
        self._log.count(stats.PUBLISHED)
        self._log.count(stats.PUBLISHED_BYTES, page.size)

    def full(self) -> None:
        """Say that the crawl is closed, since nothing takes its pages any more."""
        self._log.say(
            logging.ERROR,
            f"Kafka has not confirmed DEDUP_BUFFER_BYTES={self._settings.buffer_bytes} of pages and no more can be "
            f"taken, so the crawl is closed ({stats.FULL}). See that the broker at {self._servers} runs; DEDUP_ON_FULL "
            "and DEDUP_SPOOL say where else pages can go",
        )

    def collected(self, report: Report) -> None:
        """Count and log a report of the publisher."""
        for name, number in ((stats.CONFIRMED, report.confirmed), (stats.SEND_ERRORS, report.send_errors)):
            if number:
                self._log.count(name, number)
        for page in report.cut:
            self._log.count(stats.TRUNCATED)
            self._log.warn_once(
                f"{stats.TRUNCATED} for the topic",
                f"{page.url}: {page.size} bytes are more than {self._settings.topic} takes, the page is cut off there. "
                "Raise max.message.bytes of that topic (the worker's topics.max_message_bytes) or change "
                "DEDUP_OVERSIZE",
            )
        for page in report.refused:
            self._log.count(stats.OVERSIZE)
            self._log.skip(
                stats.OVERSIZE_AT_BROKER,
                f"{page.url}: {page.size} bytes are too large for {self._settings.topic}, the page is left out. "
                "Lower DEDUP_MAX_PAGE_BYTES or raise max.message.bytes of that topic (the worker's "
                "topics.max_message_bytes)",
            )
        for notice in report.notices:
            self._log.say(logging.WARNING if notice.is_trouble else logging.INFO, notice.message)

    def unreadable_verdicts(self, error: Exception) -> None:
        """Say that verdicts do not come back to the crawl at the moment."""
        if not self._has_complained:
            self._has_complained = True
            self._log.say(
                logging.WARNING,
                f"no verdict can be read from {self._settings.verdicts} and {self._settings.dead_letters} at "
                f"{self._servers} ({type(error).__name__}: {error}); the crawl tries again. See that the topics exist "
                "(python -m worker topics create), that DEDUP_GENERATION is the workers' topics.generation, and that "
                "the crawl may read them (deploy/kafka/acls.sh)",
            )

    def waits_at_its_end(self, pages: int, seconds: float, *, has_spool: bool) -> None:
        """Say that the crawl is over except for these pages, and how much longer it waits for them."""
        then = "they go to the spool" if has_spool else "they are lost"
        self._log.say(
            logging.INFO,
            f"waiting for Kafka to confirm {counted(pages, 'page')}, {seconds:.0f} s more; then {then} "
            "(DEDUP_FLUSH_TIMEOUT)",
        )

    def unmarked(self, marks: Sequence[JobMark]) -> None:
        """Say that the topic ``jobs`` did not get the number of pages."""
        if any(mark.pages for mark in marks):
            self._log.say(
                logging.INFO,
                f"{self._settings.jobs} did not get the numbers of published pages: "
                f"{', '.join(f'{mark.pages} of {mark.job}' for mark in marks)}. python -m worker verdicts --job cannot "
                "tell when their verdicts are complete; python -m worker topics create makes the topic",
            )

    def sum_up(self, lost: Sequence[PageRecord], spool: Spool | None, *, most_buffered: int, heard: str | None) -> None:
        """Log the outcome at the end of the crawl; ``heard`` is kafka-python's last complaint."""
        self._log.put(stats.UNCONFIRMED, len(lost))
        self._log.put(stats.MOST_BUFFERED, most_buffered)
        why = f" (last message: {heard})" if heard else ""
        if spool is not None:
            self._log.put(stats.SPOOL_LEFT, spool.left)
        if spool is not None and spool.left:
            self._log.say(
                logging.WARNING,
                f"{counted(spool.left, 'page')} that Kafka has not confirmed{why} went to {spool.path}, "
                f"{how_sent(spool.path)}",
            )
        if lost:
            self._log.say(
                logging.ERROR,
                f"{counted(len(lost), 'page was', 'pages were')} not confirmed by Kafka within DEDUP_FLUSH_TIMEOUT="
                f"{self._settings.flush_timeout:g} s, went to no spool, and may be missing on {self._settings.topic}: "
                f"{_some(lost)}{why}. See that the broker at {self._servers} runs and has that topic, and crawl them "
                "again; a spool with room would have kept them (DEDUP_SPOOL)",
            )

    def stopped_by_force(self, pages: Sequence[PageRecord], stored: Appended, spool: Spool | None) -> None:
        """Say that the process ends with these pages unconfirmed, of which the first ones were stored."""
        lost = pages[stored.pages :]
        if stored.pages and spool is not None:
            self._log.say(
                logging.WARNING,
                f"the crawl was stopped by force; {counted(stored.pages, 'page')} that Kafka had not confirmed went to "
                f"{spool.path}, {how_sent(spool.path)}",
            )
        if lost:
            self._log.say(
                logging.ERROR,
                f"the crawl was stopped by force and lost {counted(len(lost), 'page')} that Kafka had not confirmed"
                f"{f' ({stored.trouble})' if stored.trouble else ''}: {_some(lost)}. Crawl them again",
            )


def _some(pages: Sequence[PageRecord]) -> str:
    """The URLs of the first pages, and how many more there are."""
    named = ", ".join(page.url for page in pages[:NAMED_PAGES])
    return named if len(pages) <= NAMED_PAGES else f"{named} and {len(pages) - NAMED_PAGES} more"
