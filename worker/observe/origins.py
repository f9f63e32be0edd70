"""Counts committed pages by their origin: by host, and by spider and crawl.

Prometheus gets few of these names; the table of all hosts is shown at ``/hosts``.
"""

from __future__ import annotations

import json
import re
from typing import Final

from crawler_plugin.wire.page_headers import Headers
from worker.observe import catalogue
from worker.observe.counters import OTHER, Counters, Tally
from worker.observe.top import TopValues
from worker.observe.traps import Traps
from worker.stream.log import Record
from worker.verdict.decide import DUPLICATE, UNIQUE, Decision

CRAWLS: Final = 20
"""Pairs of spider and crawl that have numbers of their own: those with most pages of late."""
TRAPS: Final = 20
"""Hosts, and sections of hosts, that have series because they bring little but duplicates, however few pages."""
UNNAMED: Final = "none"
"""Spider or crawl of a page that came without the header."""

MOST_HOSTS: Final = 100_000
"""Hosts with numbers of their own, about 30 MB; pages of any further ones are counted together, as ``other``."""
NO_HOST: Final = "none"
"""The host of a page whose URL names none."""
OUTCOMES: Final = ("unique", "duplicate", "refetch", "dead")

_LONGEST: Final = 100
"""Characters of a spider's or crawl's name: they come from outside."""
_LONGEST_HOST: Final = 253
"""Characters of a name in the DNS; a longer host is cut."""
_NUMBER: Final = re.compile(r"\d+")


def host_of(url: str) -> str:
    """Host, and the port if one is given, of a canonical URL; ``none`` if there is none."""
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0]
    return authority.rpartition("@")[2][:_LONGEST_HOST] or NO_HOST


def section_of(host: str, url: str) -> str:
    """The host and the first part of the path of a canonical URL, numbers written as #: ``news.example/print#``."""
    parts = url.split("/", 4)
    first = parts[3].partition("?")[0][:_LONGEST] if len(parts) > 3 and "?" not in parts[2] else ""
    return f"{host}/{first if first.isalpha() else _NUMBER.sub('#', first)}"


class HostTable:
    """Counts by host. Writers and readers hold one lock; see ``Counters.lock``."""

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
    """Counts committed pages by their origin.

    Args:
        counters: get the numbers; the caller of ``count`` holds its lock.
        hosts: this many hosts have series of their own; 0: no series by host at all.
    """

    def __init__(self, counters: Counters, hosts: int) -> None:
        self.table: Final = HostTable()
        self._by_host = counters.tally(catalogue.HOST_PAGES)
        self._by_section = counters.tally(catalogue.SECTION_PAGES)
        self._by_crawl = counters.tally(catalogue.CRAWL_PAGES)
        self._hosts = TopValues[str](hosts) if hosts else None
        self._trapped_hosts, self._trapped_sections = Traps[str](TRAPS), Traps[str](TRAPS)
        self._now = 0.0
        self._crawls = TopValues[tuple[str, str]](CRAWLS)

    def at(self, now: float) -> None:
        """Everything that is counted from here on was committed at ``now``, in seconds since 1970."""
        self._now = now
        self._crawls.at(now)
        if self._hosts is not None:
            self._hosts.at(now)

    def count(self, record: Record, decision: Decision) -> None:
        """Count one committed page."""
        host, outcome = host_of(decision.claim.url), decision.outcome
        self.table.count(host, outcome)
        if self._hosts is not None:
            if host != NO_HOST and outcome in (DUPLICATE, UNIQUE):  # others say nothing about a trap
                self._look_for_traps(self._hosts, host, decision)
            self._count_host(self._hosts, host, outcome)
        crawl = crawl_of(record.headers)
        named, gone = self._crawls.name(crawl)
        if gone is not None:
            _forget(self._by_crawl, gone)
        self._by_crawl[(*(crawl if named else (OTHER, OTHER)), outcome)] += 1

    def _look_for_traps(self, top: TopValues[str], host: str, decision: Decision) -> None:
        is_duplicate, section = decision.outcome == DUPLICATE, section_of(host, decision.claim.url)
        freed = self._trapped_hosts.see(host, is_duplicate=is_duplicate, now=self._now)
        if freed is not None and not top.names(freed):
            _forget(self._by_host, (freed,))
        gone = self._trapped_sections.see(section, is_duplicate=is_duplicate, now=self._now)
        if gone is not None:
            _forget(self._by_section, (gone,))
        if self._trapped_sections.names(section):
            self._by_section[section, decision.outcome] += 1

    def _count_host(self, top: TopValues[str], host: str, outcome: str) -> None:
        named, displaced = top.name(host)
        if displaced is not None and not self._trapped_hosts.names(displaced):
            _forget(self._by_host, (displaced,))
        is_told_apart = named or self._trapped_hosts.names(host)
        self._by_host[host if is_told_apart else OTHER, outcome] += 1


def crawl_of(headers: Headers) -> tuple[str, str]:
    """Spider and crawl (header ``job``) of a page; ``none`` if it has no such header."""
    spider = crawl = UNNAMED
    for name, value in headers:
        if name == "spider" and value:
            spider = value.decode(errors="replace")[:_LONGEST]
        elif name == "job" and value:
            crawl = value.decode(errors="replace")[:_LONGEST]
    return spider, crawl


def _forget(tally: Tally, labels: tuple[str, ...]) -> None:
    """End the series of a value that lost its place. Its count goes to no other series: that would look like new
    pages."""
    for key in [key for key in tally if key[: len(labels)] == labels]:
        del tally[key]
