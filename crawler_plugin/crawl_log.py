"""The plugin's counts and log lines for one crawl: Scrapy's stats, and lines of the spider's logger.

Each message is logged where its cause is, and says what the reader can do next.
"""

from __future__ import annotations

import logging
from typing import Final

from scrapy.crawler import Crawler

_log: Final = logging.getLogger(__name__)


class CrawlLog:
    """Used in the event loop's thread alone, except for messages at the exit of the process."""

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats is not None, "Scrapy makes the stats before its components"
        self._crawler = crawler
        self._stats = crawler.stats
        self._warned: set[str] = set()

    def say(self, level: int, message: str) -> None:
        """Log the message with the spider's logger."""
        _log.log(level, message, extra={"spider": self._crawler.spider})

    def count(self, name: str, by: float = 1) -> None:
        """Add to one of Scrapy's stats."""
        self._stats.inc_value(name, by)  # type: ignore[arg-type]  # seconds are added up as well

    def put(self, name: str, value: float | str) -> None:
        """Set one of Scrapy's stats, whatever its value was."""
        self._stats.set_value(name, value)

    def skip(self, name: str, message: str, level: int = logging.WARNING) -> None:
        """Count a skipped page under this name, and log the first one of its kind."""
        self.count(name)
        self.warn_once(name, message, level)

    def warn_once(self, kind: str, message: str, level: int = logging.WARNING) -> None:
        """Log the first message of its kind; the stat of this name counts the others."""
        if kind not in self._warned:
            self._warned.add(kind)
            self.say(level, f"{message}. Further ones are only counted, as {kind}")

    def counts(self) -> dict[str, object]:
        """All stats at one moment. May be called in any thread: a copy of a dict is made in one step."""
        return dict(self._stats.get_stats())
