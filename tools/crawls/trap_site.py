"""A site with honest content and with the traps that crawlers know, served over HTTP.

The honest pages are 40 sections with their articles, index pages and a shop. Every fifth section has taken some of its
articles from the section before. The traps lead on without end, and show content that is elsewhere too:

- a *calendar* of months without events, and of their days;
- *session ids*, in the path and in the query: each link of a page with one leads to a page with another one;
- *facets*: any choice of filters of the shop, which shows the same goods;
- *print views* of articles;
- *pagination*: the archive's last page has a next page, which is the same.
"""

from __future__ import annotations

import random
from typing import Final
from urllib.parse import parse_qs, urlsplit

from tools.crawls.linked_site import SECTIONS, LinkedSite, Shown, session_of

FILTERS: Final = {
    "colour": ("red", "blue", "green", "white"),
    "size": ("small", "middle", "large"),
    "brand": ("north", "south", "east", "west"),
    "sort": ("price", "name", "age"),
    "view": ("list", "grid"),
    "stock": ("yes", "no"),
}
PER_INDEX: Final = 10
"""Articles that a page of a section's index links to."""
ARCHIVE_PAGES: Final = 4
WIDGET_LINKS: Final = 10
"""Months that the small calendar on each page links to, and choices of filters next to it."""
TAKEN_EVERY: Final = 8
"""One section in this many takes articles from others."""


class TrapSite(LinkedSite):
    """Sections at the root."""

    @property
    def honest_pages(self) -> dict[str, Shown]:
        """All honest pages, by path."""
        paths = ["/", "/shop"] if self.has_traps else ["/"]
        for section in SECTIONS:
            paths += [f"/{section}/{number}" for number in range(self.articles)]
            paths += [self._index(section, page) for page in range(-(-self.articles // PER_INDEX))]
        if self.has_traps:
            paths += [f"/archive?page={page}" for page in range(1, ARCHIVE_PAGES + 1)]
        return {path: shown for path in paths if (shown := self.shown(path)) is not None}

    def shown(self, path: str) -> Shown | None:
        """The page under this path; None: there is none."""
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        segments = parts.path.strip("/").split("/")
        match segments:
            case [""]:
                return Shown("home", "/", tuple(f"/{section}/" for section in SECTIONS) + self._doors("home"))
            case ["calendar", *when] if self.has_traps:
                return self._calendar(when)
            case ["shop"] if self.has_traps:
                return self._shop(query)
            case ["archive"] if self.has_traps:
                page = int(query.get("page", "1"))
                content = f"archive {min(page, ARCHIVE_PAGES)}"
                return Shown(content, "/archive" if page <= ARCHIVE_PAGES else None, (f"/archive?page={page + 1}",))
            case ["print", section, number] if self.has_traps:
                return Shown(self._article(section, int(number)), None, (f"/{section}/{number}",))
            case ["s", session, section, number] if self.has_traps:
                return self._in_session(section, int(number), f"path {session}", f"/s/{{}}/{section}/")
            case [section] if section in SECTIONS:
                return self._section(section, int(query.get("page", "0")))
            case [section, number] if section in SECTIONS and int(number) < self.articles:
                if "sid" in query and self.has_traps:
                    return self._in_session(section, int(number), query["sid"], None)
                return self._honest_article(section, int(number))
        return None

    def _index(self, section: str, page: int) -> str:
        return f"/{section}/?page={page}" if page else f"/{section}/"

    def _section(self, section: str, page: int) -> Shown | None:
        numbers = range(page * PER_INDEX, min((page + 1) * PER_INDEX, self.articles))
        if not numbers:
            return None
        links = [f"/{section}/{number}" for number in numbers]
        if numbers.stop < self.articles:
            links.append(self._index(section, page + 1))
        return Shown(f"index {section} {page}", f"/{section}/", (*links, *self._doors(f"{section} {page}")))

    def _honest_article(self, section: str, number: int) -> Shown:
        links = [f"/{section}/{(number + step) % self.articles}" for step in (1, 7)]
        if self.has_traps:
            session = session_of(f"{section} {number}")
            links += [f"/print/{section}/{number}", f"/{section}/{number}?sid={session}"]
            links += [f"/s/{session}/{section}/{number}", *self._doors(f"{section} {number}")]
        return Shown(self._article(section, number), f"/{section}/N", tuple(links))

    def _article(self, section: str, number: int) -> str:
        place = SECTIONS.index(section)
        if place % 5 == 4 and number % TAKEN_EVERY == 0:
            return f"article {SECTIONS[place - 1]} {number}"
        return f"article {section} {number}"

    def _doors(self, where: str) -> tuple[str, ...]:
        """Links into the traps."""
        if not self.has_traps:
            return ()
        chance = random.Random(f"{self.seed} doors {where}")
        doors = ["/shop", "/archive?page=1"]
        for _ in range(WIDGET_LINKS):
            chosen = chance.sample(sorted(FILTERS), chance.randint(1, 3))
            doors.append("/shop?" + "&".join(f"{name}={chance.choice(FILTERS[name])}" for name in sorted(chosen)))
            doors.append(f"/calendar/{_month(chance.randrange(240))}")
        return tuple(doors)

    def _calendar(self, when: list[str]) -> Shown:
        if len(when) == 1:
            return Shown("calendar day", None, (f"/calendar/{when[0][:4]}/{int(when[0][5:7])}",))
        year, month = int(when[0]), int(when[1])
        months = year * 12 + month - 1
        around = [f"/calendar/{each // 12}/{each % 12 + 1}" for each in (months - 1, months + 1)]
        days = [f"/calendar/{year}-{month:02}-{day:02}" for day in (1, 11, 21)] if 1900 <= year < 2100 else []
        return Shown("calendar month", None, (*around, *days))

    def _shop(self, query: dict[str, str]) -> Shown:
        links = []
        for name, values in FILTERS.items():
            for value in values:
                chosen = query | {name: value}
                links.append("/shop?" + "&".join(f"{each}={chosen[each]}" for each in sorted(chosen)))
        return Shown("shop", None if query else "/shop", tuple(random.Random(f"{query}").sample(links, 6)))

    def _in_session(self, section: str, number: int, session: str, path: str | None) -> Shown:
        links = []
        for step in (0, 1, 3):
            other, to = session_of(f"{session} {section} {number} {step}"), (number + step) % self.articles
            links.append(f"/{section}/{to}?sid={other}" if path is None else path.format(other) + str(to))
        return Shown(self._article(section, number), None, tuple(links))


def _month(number: int) -> str:
    return f"{2000 + number // 12}/{number % 12 + 1}"
