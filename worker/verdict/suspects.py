"""Which survivors are *suspect*: they swallow a whole template of their site, whose pages all have different titles.

A shop that says little of each product, or a site whose text is put in by scripts, may look like one page. Titles give
this away: copies of one page mostly share its title, and different pages have titles of their own. A survivor becomes
suspect with 20 copies (``FindingRules.suspect_pages``) of one URL template of its own host that have titles no other of
them has, if they are nine in ten of all pages that came of that template.

A page counts once however often it is fetched, and a page without a title counts for its template, with a title that
differs from none. No verdict depends on all this. Each shard looks after the survivors that it stores; the pages of a
template are counted once for all shards of a process (``Templates``). A suspect survivor stays suspect, over restores
too; the counts are in memory only and begin anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from crawler_plugin.wire.messages import Order
from crawler_plugin.wire.outcomes import SUSPECT, SurvivorFinding
from worker.fingerprint.hashing import hash_bytes
from worker.verdict.claims import Claims
from worker.verdict.decide import Decisions
from worker.verdict.findings import host_of

_TENTHS: Final = 9
"""Tenths of a template's pages from which on a survivor swallows the template."""
_MOST: Final = 1 << 17
"""URLs and titles that are remembered in all, each template counted as five, each survivor of it as six: some 10 MB.
The templates that got a page last stay."""
_TEMPLATE: Final = 5
_SURVIVOR: Final = 6
_EXAMINED: Final = 1 << 10
"""Copies of one survivor that are looked at in a template."""
LONG_AGO: Final = (-1, 0)
"""Before all pages."""
_MOST_KNOWN: Final = 1 << 16
"""Suspects that a shard remembers; 12 bytes each in its blocks."""


@dataclass(eq=False, slots=True)
class _Taken:
    """What one survivor swallows of a template, as hashes."""

    urls: set[int] = field(default_factory=set)
    titles: set[int] | None = None

    @property
    def held(self) -> int:
        return _SURVIVOR + len(self.urls) + len(self.titles or ())


class _Template:
    """``pages`` came since batch ``since``; each URL of a remembered copy counts once. ``taken`` is what survivors
    swallow of them, if any."""

    __slots__ = "pages", "since", "taken"

    def __init__(self, since: int, pages: int) -> None:
        self.since, self.pages = since, pages
        self.taken: dict[Order, _Taken] | None = None


class Templates:
    """The pages of the URL templates that came last; one object for a process's shards: it counts a batch once.

    A shard may lag behind the others, and report its copies later: copies from batches before the template was
    remembered do not count.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most: Final = most
        self._templates: Final[OrderedDict[int, _Template]] = OrderedDict()
        self._held = 0
        self._to = -1
        self._later: list[int] = []

    def __len__(self) -> int:
        return len(self._templates)

    @property
    def held(self) -> int:
        """The number of URLs and titles that are remembered, with what templates and survivors count."""
        return self._held

    def count(self, decisions: Decisions) -> None:
        """Count the pages of a batch, whichever shard stores their survivors; a second call for a batch counts
        nothing."""
        if decisions.batch <= self._to:
            return
        self._to = decisions.batch
        claims = decisions.claims
        counted = (claims.alive & ~decisions.void & (claims.template != 0) & ~decisions.again).nonzero()[0]
        pages: dict[int, int] = {}
        later = self._later = [0] * len(claims)
        for place, number in zip(reversed(counted.tolist()), reversed(claims.template[counted].tolist()), strict=True):
            later[place] = pages.get(number, 0)
            pages[number] = later[place] + 1
        templates = self._templates
        before = len(templates)
        for number, came in pages.items():
            template = templates.get(number)
            if template is None:
                templates[number] = _Template(decisions.batch, came)
            else:
                templates.move_to_end(number)
                template.pages += came
        self._held += _TEMPLATE * (len(templates) - before)
        while self._held > self._most:
            _, template = templates.popitem(last=False)
            self._held -= _TEMPLATE
            if template.taken:
                self._held -= sum(taken.held for taken in template.taken.values())

    def take(self, number: int, page: Order, survivor: Order, url: int, title: int) -> int:
        """A survivor takes a page of this template, by hash and title, 0 for none. Returns how many titles differ, if
        these are nine in ten of the template's pages up to this one; otherwise 0."""
        batch, place = page
        template = self._templates.get(number)
        if template is None or batch < template.since:
            return 0
        if template.taken is None:
            template.taken = {}
        taken = template.taken.get(survivor)
        if taken is None:
            taken = template.taken[survivor] = _Taken()
            self._held += taken.held
        if url in taken.urls:
            template.pages -= 1
            return 0
        if len(taken.urls) == _EXAMINED:
            return 0
        before = taken.held
        taken.urls.add(url)
        if title:
            taken.titles = taken.titles or set()
            taken.titles.add(title)
        self._held += taken.held - before
        pages = template.pages - (self._later[place] if batch == self._to else 0)
        titles = len(taken.titles or ())
        return titles if 10 * titles >= _TENTHS * pages else 0


class Suspects:
    """The suspects among one shard's survivors: ``known`` has each with the page by which it became suspect. It begins
    with the suspects of before, and is kept up to date."""

    of_site = True

    def __init__(self, least: int, templates: Templates, known: dict[Order, Order]) -> None:
        self._least: Final = least
        self._templates: Final = templates
        self.known: Final = known
        self._batch = -1
        self._unsealed: list[Order] = []

    def begin(self, decisions: Decisions) -> None:
        """Look at the pages of this batch next."""
        self._batch = -1
        if self._least:
            self._templates.count(decisions)
            self._batch = decisions.batch

    def survivor(self, claims: Claims, place: int, order: Order) -> Sequence[SurvivorFinding]:
        """A page without copies is not suspect."""
        return ()

    def copy(self, claims: Claims, place: int, order: Order, survivor: str) -> Sequence[SurvivorFinding]:
        """Count a copy of a survivor; returns whether it makes the survivor suspect."""
        template = int(claims.template[place])
        if not self._least or not template or order in self.known:
            return ()
        url, page = claims.url(place), (self._batch, place)
        if url == survivor or host_of(url) != host_of(survivor):
            return ()
        assert claims.pages.title is not None
        title = own_title(int(claims.pages.title[place]))
        titles = self._templates.take(template, page, order, hash_bytes(url.encode()), title)
        if titles < self._least:
            return ()
        self._know(order, page)
        self._unsealed.append(order)
        return (SurvivorFinding(kind=SUSPECT, url=survivor, order=order, copies=titles, page=url),)

    def unsealed(self, floor: int) -> tuple[Order, ...]:
        """The suspects found since the last call, without survivors of batches up to ``floor``."""
        found, self._unsealed = self._unsealed, []
        return tuple(order for order in found if order[0] > floor)

    def learn(self, orders: Iterable[Order]) -> None:
        """Add these suspects."""
        for order in orders:
            self._know(order, LONG_AGO)

    def _know(self, survivor: Order, since: Order) -> None:
        self.known.setdefault(survivor, since)
        if len(self.known) > _MOST_KNOWN:
            del self.known[next(iter(self.known))]

    def expire(self, up_to_batch: int) -> None:
        """Forget the survivors of all batches up to this one."""
        for order in [order for order in self.known if order[0] <= up_to_batch]:
            del self.known[order]


def own_title(title: int) -> int:
    """The number that stands for a claim's title, 0 where it stands for none or for a URL, as odd numbers do."""
    return 0 if title & 1 else title


def in_words(finding: SurvivorFinding) -> str:
    """The log's message about a suspect."""
    return (
        f"other pages may be taken for {finding.url}: {finding.copies} pages of one URL template, nine in ten of those "
        f"that came, are its duplicates although their titles all differ; the last one is {finding.page}. Compare the "
        "two with `python -m worker explain`. If they are different, little text of their own was found, or "
        "near.threshold is too low for this site. From now on such pages are marked suspect and not dropped"
    )
