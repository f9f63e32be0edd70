"""A real Scrapy crawl through the plugin, Kafka and a worker, three times over: all pages are accounted for, each
verdict is the oracle's, and the same again in the later crawls, the last by a worker that rebuilt its index from
Kafka."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.topics import DEAD_LETTERS, VERDICTS
from tests.cluster.cluster import Cluster
from tests.cluster.outside import read, traces
from tests.crawler_plugin.crawling import Site, crawl, serve, to_kafka
from tests.guarantees import check_guarantees
from worker.compose import parts
from worker.sizing.pages import Page

pytestmark = pytest.mark.cluster

Verdicts = dict[str, tuple[str, str | None]]
"""Verdict and original of each page by its URL."""


class Crawls:
    """Crawls of one site, one after the other."""

    def __init__(self, cluster: Cluster, site: Site) -> None:
        self.cluster = cluster
        self.site = site
        self._seen: set[tuple[int, int]] = set()

    def once(self) -> Verdicts:
        """Crawl the whole site and wait for the verdicts; every page must be published, confirmed and committed
        once."""
        cluster = self.cluster
        before = sum(cluster.consumed().values())
        kafka = to_kafka(cluster.bootstrap, cluster.prefix)
        ended = crawl(cluster.folder, self.site, **kafka, LOG_LEVEL="INFO")
        count = len(self.site.pages)
        assert ended.stats["item_scraped_count"] == count, ended.log[-3000:]
        assert (ended.dedup["published"], ended.dedup["confirmed"], ended.dedup["unconfirmed"]) == (count, count, 0)
        cluster.wait_until_committed()
        assert sum(cluster.consumed().values()) == before + count
        return self._new_verdicts()

    def _new_verdicts(self) -> Verdicts:
        records = read(self.cluster.bootstrap, self.cluster.prefix + VERDICTS)
        written = [Verdict.decode(record.value or b"") for record in records]
        new = [record for record in written if record.source not in self._seen]
        self._seen |= {record.source for record in new}
        return {record.url: (record.verdict, record.duplicate_of) for record in new}


def seen_again(first: Verdicts) -> Verdicts:
    """The verdicts that a later crawl of the same pages must get: no page is unique, and no duplicate has another
    original."""
    return {
        url: ("refetch", url) if verdict == "unique" else (verdict, original)
        for url, (verdict, original) in first.items()
    }


def crawl_three_times(cluster: Cluster, site: Site) -> Verdicts:
    """Returns the first crawl's verdicts."""
    crawls = Crawls(cluster, site)
    worker = cluster.start_worker()
    first = crawls.once()
    uniques = sum(verdict == "unique" for verdict, _ in first.values())
    assert {verdict for verdict, _ in first.values()} == {"unique", "duplicate"}
    assert crawls.once() == seen_again(first)

    assert worker.stop() == 0
    heir = cluster.start_worker()
    assert crawls.once() == seen_again(first)
    restored = sum(int(entries) for entries in re.findall(r"restored (\d+) entries", heir.said()))
    assert restored == uniques, "the index was rebuilt from its topic, not from the log"

    dead = read(cluster.bootstrap, cluster.prefix + DEAD_LETTERS)
    assert len(first) + len(dead) // 3 == len(site.pages)
    committed = check_guarantees(traces(cluster.bootstrap, cluster.prefix, near=parts.near(cluster.settings)))
    assert len(committed) == 3 * len(site.pages)
    assert cluster.stop() == [0]
    return first


def article(number: int) -> bytes:
    """Every fifth page repeats the text of the page before it in another frame, and every tenth is not text at all."""
    if number % 10 == 7:
        return b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
    subject = number - 1 if number % 5 == 4 else number
    words = " ".join(f"word{subject * subject * 7919 + place * (subject + 3)}" for place in range(80))
    frame = "mirror" if subject != number else "own"
    return f"<html><body class='{frame}'><div><p>{words}</p></div></body></html>".encode()


@pytest.mark.data
def test_real_pages(real_pages: list[Page], broker: str, topic_prefix: str, tmp_path: Path) -> None:
    sample = real_pages[:: len(real_pages) // 120]
    paths = {f"/{number}": body for number, (_, body) in enumerate(sample)}
    with Cluster(broker, topic_prefix, tmp_path) as cluster, serve(Site(paths)) as site:
        crawl_three_times(cluster, site)
