"""Crawls of the site with traps and of the honest one, with feedback and without.

``python -m tests.crawler_plugin.feedback.trap_crawl --out docs/how-to/learn.md`` renews the tables of that page, with five
seeds; it takes some minutes of an idle machine.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.crawler_plugin.crawling import Crawl, Ended
from tests.crawler_plugin.feedback.trap_site import TrapSite, serve_traps

CONFIG: Final = {"features": {"units": "characters"}, "page": {"processes": 1}}
FIFO: Final = {"SCHEDULER_DISK_QUEUE": "PickleFifoDiskQueue", "SCHEDULER_MEMORY_QUEUE": "FifoMemoryQueue"}
BREADTH_FIRST: Final = {name: f"scrapy.squeues.{queue}" for name, queue in FIFO.items()} | {"DEPTH_PRIORITY": 1}
"""As Scrapy's documentation says."""
MOST_S: Final = 900.0


class Crawled(NamedTuple):
    """A crawl that is over, and the paths that it asked for, the first of its budget."""

    site: TrapSite
    asked: list[str]
    ended: Ended

    @property
    def contents(self) -> set[str]:
        """All that it has seen."""
        return {shown.content for path in self.asked if (shown := self.site.shown(path)) is not None}

    @property
    def copies(self) -> float:
        """The share of its pages that show what an earlier one showed."""
        return 1 - len(self.contents) / len(self.asked)

    def lost(self) -> dict[str, float]:
        """Of each honest template the share of its pages that was not asked for."""
        pages: dict[str, list[bool]] = defaultdict(list)
        asked = set(self.asked)
        for path, shown in self.site.honest_pages.items():
            assert shown.honest is not None
            pages[shown.honest].append(path not in asked)
        return {template: sum(missed) / len(missed) for template, missed in pages.items()}


def crawl_traps(folder: Path, site: TrapSite, budget: int = 0, **settings: Any) -> Crawled:
    """Crawl it breadth first, at most so many pages (0: to its end), judging pages in the crawl's process."""
    (folder / "dedup.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    site.asked.clear()
    told = {
        "DEDUP_MODE": "local",
        "DEDUP_CONFIG": str(folder / "dedup.yaml"),
        "DEDUP_CAPTURE": True,
        "CLOSESPIDER_PAGECOUNT": budget,
        "LOG_LEVEL": "INFO",
        **BREADTH_FIRST,
    }
    with serve_traps(site):
        ended = Crawl(folder, "follow", site.url("/"), told | settings).end(MOST_S)
    assert ended.returncode == 0, ended.log
    return Crawled(site, site.asked[:budget] if budget else site.asked[:], ended)
