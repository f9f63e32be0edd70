"""The state that a page's scripts start from → the things that it tells of: articles, products, threads.

A *thing* is an object with a title of its own. An object without one is part of what it stands in, and so is an item of
an array that has a title but no address: paragraphs, sections, posts of a thread. Where nothing has a title, the thing
is the smallest object or array that holds most of the prose.

What stands under a name that says so is no text: menus and related pages by the words that classes are judged by as
well, translations and settings by ``_TABLES``, authors by ``_OTHERS``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from worker.page.elements.vocabulary import MARKED_ASIDE, MARKED_COMMENTS, WORDS, bits_of, hash_of
from worker.page.embedded.literals import Literals
from worker.page.embedded.prose import is_prose, may_be_prose, number_of_words, plain, without_repetitions
from worker.page.embedded.told import Told, names
from worker.page.main_text.title import LONGEST_TITLE

ORIGIN: Final = "scripts"
MOST_STRINGS: Final = 40
"""Strings of one object. Tables of phrases have more."""

_TITLES: Final = ("title", "headline", "name", "heading", "subject", "question")
_MAIN_HEADING: Final = "h1"
_CHILDREN: Final = "children"
_DESCRIBED: Final = frozenset(("description", "body", "content", "html", "summary", "excerpt"))
"""An object with a name is a thing only if it has one of these: posts have the names of their authors."""
_ADDRESSES: Final = frozenset(
    ("url", "uri", "href", "link", "permalink", "path", "slug", "handle", "id", "_id", "@id", "uuid", "sku", "key")
)
_TABLES: Final = names(
    "i18n i18next intl locale locales translation translations messages dictionary labels phrases lang languages "
    "config configuration settings preferences env environment theme features flags experiments errors runtime"
)
_OTHERS: Final = names(
    "author authors creator user users publisher seo meta opengraph analytics tracking css class classname style styles"
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9@]+")


@lru_cache(maxsize=4096)
def _is_beside(key: str, is_object: bool) -> bool:
    """Whether what has this name is no text of the thing."""
    words = {word.lower() for word in _CAMEL.split(key[:64]) if word}
    if (is_object and words & _TABLES) or words & _OTHERS:
        return True
    return any(bits_of(WORDS, hash_of(word)) & (MARKED_ASIDE | MARKED_COMMENTS) for word in words)


def is_wanted(key: str, text: str) -> bool:
    """Whether a string of a state may be text or a title."""
    return key in _TITLES or may_be_prose(text) or key == _CHILDREN or text == _MAIN_HEADING


def things(found: Literals) -> list[Told]:
    """All of which it tells a sentence or more, in the order of the JSON, of which the strings that ``is_wanted`` names
    are enough."""
    titles = _titles(found)
    prose = _prose(found)
    _give_upwards(found, titles, prose)
    thing = [0]
    for row in range(1, len(found.parents)):
        parent = found.parents[row]
        own = row in titles and (not found.arrays[parent] or _has_address(found, row))
        thing.append(row if own else thing[parent])
    holder = _holder(found, {row: words for row, words in prose.items() if not thing[row]})
    rows_of: dict[int, list[int]] = defaultdict(list)
    for row in prose:
        if thing[row] or row in holder:
            rows_of[thing[row]].append(row)
    told = []
    for row, rows in sorted(rows_of.items()):
        texts = without_repetitions(found.texts[each] or "" for each in rows)
        told.append(Told(titles.get(row), tuple(texts), sum(prose[each] for each in rows), ORIGIN))
    return told


def _prose(found: Literals) -> dict[int, int]:
    """The words of each string that is text and no title."""
    beside = [False]
    strings: dict[int, int] = defaultdict(int)
    for row in range(1, len(found.parents)):
        parent, text = found.parents[row], found.texts[row]
        beside.append(beside[parent] or _is_beside(found.keys[row], text is None and not found.arrays[row]))
        strings[parent] += text is not None
    words: dict[int, int] = {}
    for row, text in enumerate(found.texts):
        parent, key = found.parents[row], found.keys[row]
        of_object = not found.arrays[parent]
        if not text or not may_be_prose(text) or beside[row]:
            continue
        if of_object and (not key or strings[parent] > MOST_STRINGS):
            continue
        is_title = key in _TITLES or found.keys[parent] in _TITLES
        shown = "" if is_title and of_object else plain(text)
        if is_prose(shown):
            words[row] = number_of_words(shown)
    return words


def _give_upwards(found: Literals, titles: dict[int, str], prose: Mapping[int, int]) -> None:
    """A title that stands in an object without text, within the one whose text it is above: that of front matter."""
    texts = {found.parents[row] for row in prose}
    for row, title in list(titles.items()):
        parent = found.parents[row]
        alone = row not in texts and not _has_address(found, row)
        if alone and parent in texts and parent not in titles and not found.arrays[parent]:
            titles[parent] = title
            del titles[row]


def _has_address(found: Literals, row: int) -> bool:
    return any((row, key) in found.named for key in _ADDRESSES)


def _titles(found: Literals) -> dict[int, str]:
    """The title of each object that has one, as a string or as ``{"title": {"rendered": "…"}}``."""
    titles: dict[int, tuple[int, str]] = {}
    for row, text in enumerate(found.texts):
        parent, key = found.parents[row], found.keys[row]
        if not text or (key not in _TITLES and found.keys[parent] not in _TITLES):
            continue
        if found.arrays[parent] or len(text) > LONGEST_TITLE:
            continue
        if key == "name" and not any((parent, described) in found.named for described in _DESCRIBED):
            continue
        of = parent if key in _TITLES else found.parents[parent]
        rank = _TITLES.index(key if key in _TITLES else found.keys[parent])
        if of not in titles or rank < titles[of][0]:
            titles[of] = rank, plain(text)
    return {row: title for row, (_, title) in titles.items()} | _main_headings(found)


def _main_headings(found: Literals) -> dict[int, str]:
    """Those of React's rows, in which an element is an array: ``["$", "h1", null, {"children": "…"}]``."""
    headings: dict[int, str] = {}
    for row, text in enumerate(found.texts):
        element = found.parents[row]
        if text == _MAIN_HEADING and found.arrays[element]:
            for place in range(row + 1, min(row + 6, len(found.texts))):
                said = found.texts[place] or ""
                if found.keys[place] == _CHILDREN and found.parents[found.parents[place]] == element:
                    headings.setdefault(found.parents[element], said[:LONGEST_TITLE])
    return headings


def _holder(found: Literals, prose: dict[int, int]) -> frozenset[int]:
    """The strings in the smallest object or array that holds most of the words."""
    words, heaviest = [0] * len(found.parents), [0] * len(found.parents)
    for row in range(len(words) - 1, 0, -1):
        words[row] += prose.get(row, 0)
        parent = found.parents[row]
        words[parent] += words[row]
        if (found.texts[row] is None and words[row] >= words[heaviest[parent]]) or not heaviest[parent]:
            heaviest[parent] = row
    top = 0
    while heaviest[top] and found.texts[heaviest[top]] is None and 2 * words[heaviest[top]] > words[0]:
        top = heaviest[top]
    inside = {top}
    for row in range(top + 1, len(words)):
        if found.parents[row] in inside:
            inside.add(row)
    return frozenset(inside)
