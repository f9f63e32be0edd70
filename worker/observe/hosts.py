"""The table of all hosts: how many pages of each had which outcome since the worker began."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from worker.observe.counters import OTHER

MOST_HOSTS: Final = 100_000
"""Hosts told apart, about 30 MB; pages of any further ones are counted together, as ``other``."""
NO_HOST: Final = "none"
"""Of a page without a URL that names one."""
OUTCOMES: Final = ("unique", "duplicate", "refetch", "dead")

_LONGEST: Final = 253
"""Characters of a name in the DNS; a host is cut after so many."""


def host_of(url: str) -> str:
    """Host, and the port where one is given, of a canonical URL; ``none`` where there is none."""
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0]
    return authority.rpartition("@")[2][:_LONGEST] or NO_HOST


class HostTable:
    """Counts by host. Whoever counts and whoever reads hold one lock; see ``Counters.lock``."""

    def __init__(self, most: int = MOST_HOSTS) -> None:
        self._most = most
        self._counts: dict[str, list[int]] = {}

    def count(self, host: str, outcome: str) -> None:
        """One committed page."""
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
    return json.dumps({"hosts": list(_objects(rows))}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _objects(rows: list[tuple[str, tuple[int, ...]]]) -> Iterator[dict[str, str | int]]:
    for host, counts in sorted(rows, key=lambda row: (-sum(row[1]), row[0])):
        yield {"host": host, "pages": sum(counts), **dict(zip(OUTCOMES, counts, strict=True))}
