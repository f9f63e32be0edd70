"""The texts of the demo's site, read from files next to this one; all of them were written for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Final, Literal

Language = Literal["en", "zh"]

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
BRIEFS_PAGES: Final = 30
"""Pages of short news in each language."""
BRIEFS: Final = "briefs"

_RULER: Final = (0, 1, 4, 10, 12, 17)
"""Places of the items of the first page of briefs; the next page has the next ones, in a circle. It is a Golomb ruler
(no two distances are equal), so that no two pages have more than one item in common: they are not near-duplicates."""


@dataclass(frozen=True)
class Article:
    """A text of several paragraphs; ``slug`` is its name in URLs, unlike any other's."""

    slug: str
    section: str
    language: Language
    title: str
    paragraphs: tuple[str, ...]


@cache
def articles() -> tuple[Article, ...]:
    """All articles, English ones first, in the order of the files."""
    return tuple(article for language in LANGUAGES for article in _articles(language))


@cache
def briefs() -> tuple[Article, ...]:
    """Pages of six short news items each, put together from a stock of items."""
    return tuple(_briefs(language, number) for language in LANGUAGES for number in range(BRIEFS_PAGES))


@cache
def reposts() -> tuple[Article, ...]:
    """Articles as someone else posted them again, with a word or two changed; slugs are those of the originals."""
    originals = {article.slug: article for article in articles()}
    found = []
    for line in _text("reposts.txt").splitlines():
        slug, old, new = line.split(" | ")
        original = originals[slug]
        edited = tuple(paragraph.replace(old, new) for paragraph in original.paragraphs)
        if edited == original.paragraphs:
            raise ValueError(f"reposts.txt: {slug} does not say {old!r}")
        found.append(replace(original, paragraphs=edited))
    return tuple(found)


def _articles(language: Language) -> list[Article]:
    """Read a file: ``== slug | section`` before each article, then title and paragraphs with empty lines between."""
    found = []
    for entry in _text(f"articles-{language}.txt").split("== ")[1:]:
        head, title, *paragraphs = [part.strip() for part in entry.replace("\n", "\n\n", 1).split("\n\n") if part]
        slug, section = head.split(" | ")
        found.append(Article(slug, section, language, title, tuple(filter(None, paragraphs))))
    return found


def _briefs(language: Language, number: int) -> Article:
    stock = _text(f"briefs-{language}.txt").splitlines()
    items = tuple(stock[(number + mark) % len(stock)] for mark in _RULER)
    title = f"Briefs, number {number + 1}" if language == "en" else f"简讯第{number + 1}期"
    return Article(f"{language}-{number + 1:02}", BRIEFS, language, title, items)


def _text(name: str) -> str:
    return (resources.files("worker.demo") / "texts" / name).read_text(encoding="utf-8")
