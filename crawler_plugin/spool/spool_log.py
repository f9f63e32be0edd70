"""The counts and log lines of a crawl about its spool."""

from __future__ import annotations

import logging
from pathlib import Path

from crawler_plugin import stats
from crawler_plugin.crawl_log import CrawlLog
from crawler_plugin.spool.file import Appended, named, sending
from crawler_plugin.spool.numbered import Opened
from crawler_plugin.wire.counted import counted


def say_opened(log: CrawlLog, opened: Opened) -> None:
    """Log that the spool was opened, what it holds, and the damage in it."""
    spool = opened.spool
    log.put(stats.SPOOL_FOUND, spool.left)
    if spool.left:
        log.say(logging.INFO, f"sending also {counted(spool.left, 'page')} that an earlier crawl left in {spool.path}")
    for line in (*named(spool.damaged, spool.path), *opened.damage):
        log.count(stats.SPOOL_DAMAGED)
        log.say(logging.ERROR, line)
    for line in opened.passed_over:
        log.say(logging.WARNING, line)


def say_stored(log: CrawlLog, appended: Appended) -> None:
    """Log that pages went to the spool, or that they did not."""
    if appended.pages:
        log.count(stats.SPOOL_WRITTEN, appended.pages)
    if appended.trouble is not None:
        log.skip(
            stats.SPOOL_ERRORS,
            f"the spool does not take a page ({appended.trouble}): make room there or raise DEDUP_SPOOL_BYTES. "
            "Until then the crawl waits for Kafka",
            logging.ERROR,
        )


def how_sent(path: Path) -> str:
    """A sentence on how the pages in the file get to Kafka."""
    return f"the next crawl with that spool sends them; to send them now: {sending(path)}"
