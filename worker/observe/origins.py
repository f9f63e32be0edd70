"""Where committed pages come from: their host, their spider and its crawl, with few enough names for Prometheus."""

from __future__ import annotations

from typing import Final

from worker.messages import Headers
from worker.observe import catalogue
from worker.observe.counters import OTHER, Counters, Tally
from worker.observe.hosts import HostTable, host_of
from worker.observe.top import TopValues
from worker.stream.log import Record
from worker.verdict.decide import Decision

CRAWLS: Final = 20
"""Pairs of spider and crawl that are told apart: those with most pages of late."""
UNNAMED: Final = "none"
"""Spider or crawl of a page that came without the header."""

_LONGEST: Final = 100
"""Characters of a spider's or crawl's name: they come from outside."""


class Origins:
    """Counts committed pages by where they came from.

    Args:
        counters: where the numbers go; whoever calls ``count`` holds its lock.
        hosts: so many hosts have series of their own; 0: no series by host at all.
    """

    def __init__(self, counters: Counters, hosts: int) -> None:
        self.table: Final = HostTable()
        self._by_host = counters.tally(catalogue.HOST_PAGES)
        self._by_crawl = counters.tally(catalogue.CRAWL_PAGES)
        self._hosts = TopValues[str](hosts) if hosts else None
        self._crawls = TopValues[tuple[str, str]](CRAWLS)

    def at(self, now: float) -> None:
        """What is counted from here on was committed at ``now``, in seconds since 1970."""
        self._crawls.at(now)
        if self._hosts is not None:
            self._hosts.at(now)

    def count(self, record: Record, decision: Decision) -> None:
        """One committed page."""
        host, outcome = host_of(decision.claim.url), decision.outcome
        self.table.count(host, outcome)
        if self._hosts is not None:
            named, loser = self._hosts.name(host)
            if loser is not None:
                _forget(self._by_host, (loser,))
            self._by_host[host if named else OTHER, outcome] += 1
        crawl = crawl_of(record.headers)
        named, gone = self._crawls.name(crawl)
        if gone is not None:
            _forget(self._by_crawl, gone)
        self._by_crawl[(*(crawl if named else (OTHER, OTHER)), outcome)] += 1


def crawl_of(headers: Headers) -> tuple[str, str]:
    """Spider and crawl (header ``job``) of a page; ``none`` where it has no such header."""
    spider = crawl = UNNAMED
    for name, value in headers:
        if name == "spider" and value:
            spider = value.decode(errors="replace")[:_LONGEST]
        elif name == "job" and value:
            crawl = value.decode(errors="replace")[:_LONGEST]
    return spider, crawl


def _forget(tally: Tally, labels: tuple[str, ...]) -> None:
    """End the series of a value that lost its place. Its number goes to no other: that would look like new pages."""
    for key in [key for key in tally if key[: len(labels)] == labels]:
        del tally[key]
