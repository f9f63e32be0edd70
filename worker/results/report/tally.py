"""Counts over all rows of a scan, in memory that grows with them by only nine bytes a row."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.url_templates import address_of
from worker.results.rows import OUTCOMES
from worker.results.takers import Takers

SHORT: Final = 20
"""A page of fewer tokens is very short: two edits more or less decide whether it is near to another one."""
SIMILARITIES: Final = 20
"""Bars of the histogram of similarities."""

_MOST_NAMES: Final = 50_000
_TIMES: Final = range(1 << 43)
"""Times that are believed: up to the year 2248."""
UNKNOWN: Final = -1

Numbers: TypeAlias = list[int]


class Named(NamedTuple):
    """Pages of one name: how many of each of ``OUTCOMES``."""

    name: str
    unique: int
    duplicates: int
    refetches: int
    dead: int

    @property
    def pages(self) -> int:
        """The number of all pages."""
        return self.unique + self.duplicates + self.refetches + self.dead

    @property
    def judged(self) -> int:
        """All except the dead ones; shares refer to these."""
        return self.pages - self.dead


class Names:
    """Pages by name. Whenever there are more than ``most`` names, the rarer half is counted together."""

    def __init__(self, most: int = _MOST_NAMES) -> None:
        self._most: Final = most
        self._numbers: Final[dict[str, Numbers]] = {}
        self._others: Final[Numbers] = [0] * len(OUTCOMES)
        self.forgotten = 0

    def add(self, name: str, kind: int) -> None:
        """Count a page."""
        numbers = self._numbers.get(name)
        if numbers is None:
            if len(self._numbers) >= self._most:
                self._forget()
            numbers = self._numbers[name] = [0] * len(OUTCOMES)
        numbers[kind] += 1

    def all(self) -> list[Named]:
        """All names that are counted separately, those with most pages first."""
        named = [Named(name, *numbers) for name, numbers in self._numbers.items()]
        return sorted(named, key=lambda one: (-one.pages, one.name))

    def most_duplicates(self, most: int) -> list[Named]:
        """The names with most duplicates, and after them all the others together."""
        named = sorted(self.all(), key=lambda one: (-one.duplicates, -one.pages, one.name))
        rest = [self._others, *(list(one[1:]) for one in named[most:])]
        others = Named(f"{len(named) - most + self.forgotten:,} others", *map(sum, zip(*rest, strict=True)))
        return named[:most] + [others] * (others.pages > 0)

    def _forget(self) -> None:
        for one in self.all()[self._most // 2 :]:
            for kind, pages in enumerate(self._numbers.pop(one.name)):
                self._others[kind] += pages
            self.forgotten += 1


class Tally:
    """The tables and charts of a report, from all rows, which are added one after the other."""

    def __init__(self) -> None:
        self.kinds: Final = Counter[str]()
        self.reasons: Final = Counter[tuple[str, str]]()
        self.dead: Final = Counter[str]()
        self.dead_examples: Final[dict[str, str]] = {}
        self.pageless = 0
        self.files: Final = Names(1000)
        self.hosts: Final = Names()
        self.templates: Final = Names()
        self.spiders: Final = Names(1000)
        self.languages: Final = Names(1000)
        self.short: Final = Names()
        self.takers: Final = Takers()
        self.distances: Final = Counter[int]()
        self.similarities: Final = [0] * SIMILARITIES
        self._fetched: Final = array("q")
        self._kinds: Final = bytearray()

    def add(self, row: Verdict) -> None:
        """Count a page."""
        kind = OUTCOMES.index(row.verdict)
        known = row.fetched is not None and row.fetched in _TIMES
        self._fetched.append(row.fetched if known and row.fetched is not None else UNKNOWN)
        self._kinds.append(kind)
        self.kinds[row.verdict] += 1
        self.files.add(row.file, kind)
        address = address_of(row.url)
        self.hosts.add(address.host or "(no host)", kind)
        self.templates.add(address.template, kind)
        self.takers.add(row, address)
        self.spiders.add(row.spider or "(not known)", kind)
        if row.verdict == "dead":
            self._count_dead(row)
            return
        self.languages.add(row.language or "(not known)", kind)
        self.reasons[row.verdict, row.reason] += 1
        if row.tokens < SHORT and row.text_hash:
            self.short.add(address.host or "(no host)", kind)
        if row.verdict != "unique":
            if row.distance is not None:
                self.distances[row.distance] += 1
            if row.similarity is not None:
                place = min(SIMILARITIES - 1, int(min(1.0, max(0.0, row.similarity)) * SIMILARITIES))
                self.similarities[place] += 1

    def add_record(self, record: Verdict) -> None:
        """Count a record that no page could be read from."""
        self.pageless += 1
        self._count_dead(record)

    def add_all(self, rows: Iterable[Verdict]) -> Tally:
        """Count all of them."""
        for row in rows:
            self.add(row)
        return self

    def _count_dead(self, dead: Verdict) -> None:
        self.dead[dead.reason] += 1
        example = f"{dead.file}, {dead.offset:,}" + f": {dead.detail}" * bool(dead.detail)
        self.dead_examples.setdefault(dead.reason, example)

    @property
    def pages(self) -> int:
        """All rows."""
        return len(self._kinds)

    def columns(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """For each row its fetch time, ``UNKNOWN`` if there is none, and the place of its verdict in ``OUTCOMES``."""
        return np.frombuffer(self._fetched, np.int64), np.frombuffer(self._kinds, np.uint8)
