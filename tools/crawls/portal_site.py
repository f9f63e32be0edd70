"""Another site with traps, built like a portal: sections in a folder, names of pages, lists in pages.

The honest pages are 40 sections with their lists and articles. Five kinds of traps show copies of them:

- *session ids* in the query: each link of a page with one leads to a page with another one;
- *orders*: lists sorted and shown in any way, page by page;
- a *calendar* of days without events, which has no end;
- *other views* of an article, to print and to send, beneath its own address;
- *mirrors*: the whole site again in a folder for telephones, and links that say where a reader comes from.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

from tools.crawls.linked_site import SECTIONS, LinkedSite, Shown, session_of

PER_LIST: Final = 6
"""Articles that a page of a section's list links to."""
ORDERS: Final = {"sort": ("date", "name", "length"), "dir": ("up", "down"), "view": ("tiles", "lines")}
VIEWS: Final = ("print", "send")
SOURCES: Final = ("letter", "feed", "partner", "search")
FIRST_DAY: Final = date(2026, 1, 1)
MOBILE: Final = "/m"


class PortalSite(LinkedSite):
    """Sections in a folder."""

    @property
    def honest_pages(self) -> dict[str, Shown]:
        """All honest pages, by path."""
        paths = ["/"]
        for section in SECTIONS:
            paths += [_article(section, number) for number in range(self.articles)]
            paths += [_list(section, page) for page in range(-(-self.articles // PER_LIST))]
        return {path: shown for path in paths if (shown := self.shown(path)) is not None}

    def shown(self, path: str) -> Shown | None:
        """The page under this path; None: there is none."""
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if not self.has_traps:
            return self._honest(parts.path, query)
        match parts.path.strip("/").split("/"):
            case ["m", *segments]:
                shown = self._honest("/" + "/".join(segments) + "/" * parts.path.endswith("/"), query)
                return shown and shown._replace(honest=None, links=tuple(MOBILE + link for link in shown.links))
            case ["events", *when]:
                return _day(date(*map(int, when)))
            case ["topics", section, article, view] if view in VIEWS:
                return Shown(_content(section, article), None, (f"/topics/{section}/{article}",))
        shown = self._honest(parts.path, query)
        if shown is None:
            return None
        if "sid" in query:
            links = [link + "?sid=" + session_of(f"{query['sid']} {link}") for link in shown.links if "?" not in link]
            return shown._replace(honest=None, links=tuple(links))
        chance = random.Random(f"{self.seed} doors {path}")
        return shown._replace(links=(*shown.links, *self._doors(parts.path, query, chance)))

    def _honest(self, path: str, query: dict[str, str]) -> Shown | None:
        told = query.keys() - {"page"}
        match path.strip("/").split("/"):
            case [""]:
                return Shown("home", None if told else "/", tuple(f"/topics/{section}/" for section in SECTIONS))
            case ["topics", section] if section in SECTIONS:
                page = int(query.get("page", 0))
                numbers = range(page * PER_LIST, min((page + 1) * PER_LIST, self.articles))
                links = [_article(section, number) for number in numbers]
                if numbers.stop < self.articles:
                    links.append(_list(section, page + 1))
                return (
                    Shown(f"list {section} {page}", None if told else "/topics/{}/", tuple(links)) if numbers else None
                )
            case ["topics", section, article] if section in SECTIONS:
                number = int(article.removeprefix("article-").removesuffix(".html"))
                links = [_article(section, (number + step) % self.articles) for step in (1, 7)]
                return Shown(_content(section, article), None if told else "/topics/{}/N", tuple(links))
        return None

    def _doors(self, path: str, query: dict[str, str], chance: random.Random) -> list[str]:
        """Links into the traps."""
        doors = [_day_path(FIRST_DAY + timedelta(days=chance.randrange(3000))) for _ in range(4)]
        doors.append(f"{path}?sid={session_of(f'{self.seed} {path} {query}')}")
        doors += [
            f"{path}?utm_source={source}&utm_medium=link&utm_campaign=c{chance.randrange(99)}"
            for source in chance.sample(SOURCES, 2)
        ]
        if path.endswith(".html"):
            return [*doors, *(f"{path}/{view}" for view in VIEWS), MOBILE + path]
        if path != "/":
            doors.append(MOBILE + path)
            for name, values in ORDERS.items():
                doors += [f"{path}?{urlencode(sorted((query | {name: value}).items()))}" for value in values]
        return doors


def _list(section: str, page: int) -> str:
    return f"/topics/{section}/?page={page}" if page else f"/topics/{section}/"


def _article(section: str, number: int) -> str:
    return f"/topics/{section}/article-{number}.html"


def _content(section: str, article: str) -> str:
    return f"{section} {article}"


def _day(day: date) -> Shown:
    return Shown("no events", None, tuple(_day_path(day + timedelta(days=days)) for days in (-1, 1, 7, 30)))


def _day_path(day: date) -> str:
    return f"/events/{day.year}/{day.month:02}/{day.day:02}"
