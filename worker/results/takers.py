"""Which pages swallow a whole template of their site, though its titles all differ: from all rows of any scan.

While pages are judged, ``worker.verdict.suspects`` finds the same for the pages that have come by then.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from crawler_plugin.wire.outcomes import Verdict
from crawler_plugin.wire.url_templates import Address, address_of
from worker.verdict.decide import DUPLICATE, UNIQUE

MANY: Final = 20
"""With this many copies or more, pages are kept that may be different ones."""
_TENTHS: Final = 9
"""Share of a template's pages, and of its titles, as in ``worker.verdict.suspects``."""
_EXAMINED: Final = 64
"""Titles of a group that are looked at."""
_MOST: Final = 50_000


class Suspect(NamedTuple):
    """A kept page with its copies of one template; the ``example`` is the last of them."""

    url: str
    template: str
    copies: int
    example: str


@dataclass(eq=False, slots=True)
class _Taken:
    copies: int = 0
    titles: array[int] = field(default_factory=lambda: array("I"))
    example: str = ""
    known: bool = False
    """Whether it was found suspect while pages were judged."""

    @property
    def differ(self) -> bool:
        return 10 * len(set(self.titles)) >= _TENTHS * min(self.copies, _EXAMINED)


class Takers:
    """Copies by their survivor and template. Whenever there are more than ``most``, the smaller half is forgotten, and
    so is the smaller half of the templates."""

    def __init__(self, most: int = _MOST) -> None:
        self._most: Final = most
        self._pages: Counter[str] = Counter()
        self._taken: dict[tuple[str, str], _Taken] = {}

    def add(self, row: Verdict, address: Address | None = None) -> None:
        """Count a page, whose address may be given; a refetch does not count."""
        if row.verdict not in (UNIQUE, DUPLICATE):
            return
        address = address or address_of(row.url)
        if not address.host:
            return
        template = address.shelf
        self._pages[template] += 1
        if len(self._pages) > self._most:
            self._pages = Counter(dict(self._pages.most_common(self._most // 2)))
        if row.duplicate_of is None or address_of(row.duplicate_of).host != address.host:
            return
        taken = self._taken.setdefault((row.duplicate_of, template), _Taken())
        taken.copies += 1
        taken.example = row.url
        taken.known |= row.suspect
        if row.title_hash and len(taken.titles) < _EXAMINED:
            taken.titles.append(int(row.title_hash, 16))
        if len(self._taken) > self._most:
            largest = sorted(self._taken.items(), key=lambda one: -one[1].copies)
            self._taken = dict(largest[: self._most // 2])

    def suspects(self, least: int) -> list[Suspect]:
        """Pages that swallow this many copies or more, and those known to be suspect, the largest first."""
        found = []
        for (url, template), taken in self._taken.items():
            others = self._pages[template] - (address_of(url).shelf == template)
            takes = taken.copies >= least and 10 * taken.copies >= _TENTHS * others and taken.differ
            if taken.known or takes:
                found.append(Suspect(url, template, taken.copies, taken.example))
        return sorted(found, key=lambda one: (-one.copies, one.url))
