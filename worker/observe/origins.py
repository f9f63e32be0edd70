"""Counts committed pages by where they come from: by host, and by spider and crawl.

Prometheus gets few of these names; the table of all hosts is shown at ``/hosts``.
"""

from __future__ import annotations

import json
from typing import Final

from worker.messages import Headers
from worker.observe import catalogue
from worker.observe.counters import OTHER, Counters, Tally
from worker.observe.top import TopValues
from worker.stream.log import Record
from worker.verdict.decide import Decision

CRAWLS: Final = 20
"""Pairs of spider and crawl that are told apart: those with most pages of late."""
UNNAMED: Final = "none"
"""Spider or crawl of a page that came without the header."""

MOST_HOSTS: Final = 100_000
"""Hosts told apart, about 30 MB; pages of any further ones are counted together, as ``other``."""
NO_HOST: Final = "none"
"""Of a page without a URL that names one."""
OUTCOMES: Final = ("unique", "duplicate", "refetch", "dead")

_LONGEST: Final = 100
"""Characters of a spider's or crawl's name: they come from outside."""
_LONGEST_HOST: Final = 253
"""Characters of a name in the DNS; a host is cut after so many."""


def host_of(url: str) -> str:
    """Host, and the port where one is given, of a canonical URL; ``none`` where there is none."""
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0]
    return authority.rpartition("@")[2][:_LONGEST_HOST] or NO_HOST


class HostTable:
    """Counts by host. Whoever counts and whoever reads hold one lock; see ``Counters.lock``."""

    def __init__(self, most: int = MOST_HOSTS) -> None:
        self._most = most
        self._counts: dict[str, list[int]] = {}

    def count(self, host: str, outcome: str) -> None:
        """Count one committed page."""
        counts = self._counts.get(host)
        if counts is None:
            if len(self._counts) >= self._most:
                host = OTHER
            counts = self._counts.setdefault(host, [0] * len(OUTCOMES))
        counts[OUTCOMES.index(outcome)] += 1

    def copy(self) -> list[tuple[str, tuple[int, ...]]]:
        """All rows at one moment: host, and counts in the order of ``OUTCOMES``."""
        return [(host, tuple(counts)) for host, counts in self._counts.items()]


def hosts_json(rows: list[tuple[str, tuple[int, ...]]]) -> bytes:
    """The table as JSON: ``{"hosts": [{"host", "pages", "unique", "duplicate", "refetch", "dead"}, …]}``.

    Hosts with most pages come first.
    """
    objects = [
        {"host": host, "pages": sum(counts), **dict(zip(OUTCOMES, counts, strict=True))}
        for host, counts in sorted(rows, key=lambda row: (-sum(row[1]), row[0]))
    ]
    return json.dumps({"hosts": objects}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


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
        """Let what is counted from here on be committed at ``now``, in seconds since 1970."""
        self._crawls.at(now)
        if self._hosts is not None:
            self._hosts.at(now)

    def count(self, record: Record, decision: Decision) -> None:
        """Count one committed page."""
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
    """End the series of a value that lost its place. Its count is added to no other: that would look like new pages."""
    for key in [key for key in tally if key[: len(labels)] == labels]:
        del tally[key]
