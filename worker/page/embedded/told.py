"""The text that a page's scripts hold in place of its visible text: about which things, and which is the page's own.

JSON-LD is in the words of schema.org. ``articleBody`` is an article's text. For a recipe, a product, an event, a job or
the questions of a page the text stands under ``_TEXTS``. Text of other schema.org types, such as publishers,
related products and reviews, is left out.

In the state that scripts start from, a *thing* is an object with a title of its own. An object without a title is part
of the object that holds it, and so is an item of an array that has a title but no address: paragraphs, sections, posts
of a thread. Where nothing has a title, the thing is the smallest object or array that holds most of the prose.

Strings under some names are no text of the thing: menus and related pages by the words that also judge classes,
translations and settings by ``_TABLES``, authors by ``_NAMES_OF_OTHERS``.

One of all these things is chosen:

1. An article of JSON-LD with its body; of several the one that the page announces, otherwise the longest.
2. The longest of the things that the page announces, JSON-LD before those of a state. The page announces a thing by its
   title, if the thing's own title stands in it or its words stand in the thing's texts, or by a visible sentence that
   the thing has as well. A thing that is much shorter than others is the site's description of itself.
3. The other things of JSON-LD, then the thing with the most text.

The chosen text replaces a visible text of few words, if it has many times as many: such a visible text is the shell of
a page which scripts fill. If they have filled it, the visible text counts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from worker.page.elements.parsed import Parsed
from worker.page.elements.vocabulary import MARKED_ASIDE, MARKED_COMMENTS, WORDS, bits_of, hash_of
from worker.page.embedded.prose import is_prose, may_be_prose, names, number_of_words, plain, without_repetitions
from worker.page.embedded.scripts import Literals, literals, scripts_of
from worker.page.main_text.tally import LONG_LINE
from worker.page.main_text.title_evidence import LONGEST_TITLE, is_announced, read_title


class Told(NamedTuple):
    """``texts`` are as they stand in the JSON, in its order, ``words`` is how many words they have as shown."""

    title: str | None
    texts: tuple[str, ...]
    words: int
    origin: str


OF_LINKED_DATA: Final = "JSON-LD"

_BODY: Final = "articleBody"
_TITLES_OF_DATA: Final = ("headline", "name", "title")
_TEXTS: Final = names(
    "articleBody description text abstract transcript recipeIngredient ingredients recipeInstructions step "
    "responsibilities qualifications skills experienceRequirements educationRequirements jobBenefits"
)
_NAMED_PARTS: Final = frozenset(("Question", "HowToStep", "HowToSection", "HowToDirection"))
_PAGES: Final = names(
    "WebPage ItemPage CollectionPage AboutPage ContactPage ProfilePage SearchResultsPage ItemList ListItem"
)
"""They hold the page's subject, and a summary of it describes them."""
_KINDS_OF_OTHERS: Final = names(
    "Organization NewsMediaOrganization Corporation LocalBusiness OnlineStore Store WebSite Person BreadcrumbList "
    "ImageObject Offer AggregateOffer Brand AggregateRating Rating Review SearchAction SiteNavigationElement WPHeader "
    "WPFooter WPSideBar PostalAddress Place ContactPoint NutritionInformation OfferCatalog"
)
_OF_OTHERS: Final = names(
    "author creator publisher provider sourceOrganization hiringOrganization organizer performer sponsor location "
    "isRelatedTo isSimilarTo isPartOf hasPart about mentions citation offers review reviews brand image video audio "
    "breadcrumb potentialAction hasVariant nutrition subjectOf workExample"
)
_COMMENT: Final = "comment"
_THREADS: Final = frozenset(("DiscussionForumPosting", "SocialMediaPosting", "QAPage", "Question"))


class LinkedData(NamedTuple):
    """``bodies`` are articles with their text, ``others`` all other things in it."""

    bodies: list[Told]
    others: list[Told]


def linked_data(found: Literals) -> LinkedData:
    """All things that it has texts of, in the order of the page."""
    types = defaultdict(set)
    for row, text in enumerate(found.texts):
        if found.keys[row] == "@type" and text:
            parent = found.parents[row]
            types[found.parents[parent] if found.arrays[parent] else parent].add(text.rpartition("/")[2])
    thing: list[int | None] = [0]
    rows_of: dict[int, list[int]] = defaultdict(list)
    titles: dict[int, str] = {}
    for row in range(1, len(found.parents)):
        parent, key, text = found.parents[row], found.keys[row], found.texts[row]
        of = thing[parent]
        kinds = types.get(row, set())
        if of is not None:
            if kinds & _KINDS_OF_OTHERS or key in _OF_OTHERS or (key == _COMMENT and not types[of] & _THREADS):
                of = None
            elif not of and kinds - _PAGES:
                of = row
        thing.append(of)
        if not of or not text:
            continue
        if parent == of and key in _TITLES_OF_DATA:
            titles.setdefault(of, plain(text))
        elif key in _TEXTS or (key == "name" and types[parent] & _NAMED_PARTS):
            rows_of[of].append(row)
    found_data = LinkedData([], [])
    for of, rows in rows_of.items():
        body = [row for row in rows if found.keys[row] == _BODY]
        only_body = body and not types[of] & _THREADS
        texts = without_repetitions(found.texts[row] or "" for row in (body if only_body else rows))
        words = sum(number_of_words(plain(text)) for text in texts)
        told = Told(titles.get(of), tuple(texts), words, OF_LINKED_DATA)
        (found_data.bodies if body else found_data.others).append(told)
    return found_data


OF_STATE: Final = "scripts"
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
_NAMES_OF_OTHERS: Final = names(
    "author authors creator user users publisher seo meta opengraph analytics tracking css class classname style styles"
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9@]+")


@lru_cache(maxsize=4096)
def _is_beside(key: str, is_object: bool) -> bool:
    """Whether a string under this name is no text of the thing."""
    words = {word.lower() for word in _CAMEL.split(key[:64]) if word}
    if (is_object and words & _TABLES) or words & _NAMES_OF_OTHERS:
        return True
    return any(bits_of(WORDS, hash_of(word)) & (MARKED_ASIDE | MARKED_COMMENTS) for word in words)


def is_wanted(key: str, text: str) -> bool:
    """Whether a string of a state may be text or a title."""
    return key in _TITLES or may_be_prose(text) or key == _CHILDREN or text == _MAIN_HEADING


def things(found: Literals) -> list[Told]:
    """All things with a sentence or more, in the order of the JSON; the strings that ``is_wanted`` names are enough for
    this."""
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
        told.append(Told(titles.get(row), tuple(texts), sum(prose[each] for each in rows), OF_STATE))
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
    """Move a title from an object without text up to the object around it, which has the text: as in front matter."""
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
    """The main headings in React's rows, in which an element is an array: ``["$", "h1", null, {"children": "…"}]``."""
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


MOST_OF_A_SHELL: Final = 80
"""Words, links included, of a visible text that may be a shell's."""
TIMES: Final = 2
"""How many times the words of the shell the text in the scripts has. A summary next to the article has fewer."""
LEAST_WORDS: Final = 10
"""Words of a text in the scripts, as of a page that is compared by more than its whole text."""
LEAST_MEAN: Final = 25
"""Mean number of words of the strings of a thing without a title. Messages of programs have fewer."""
LEAST_NAMED: Final = 0.2
LEAST_SAID: Final = 0.5
"""Shares of the longest thing's words: for a thing that the page's title names; and for a thing that has words of the
title, or a visible sentence, in its texts."""


def told_instead(page: Parsed, title: str | None, visible: str, words: int) -> Told | None:
    """The text in the page's scripts in place of its visible text of this many words, None where the visible text
    counts."""
    if words > MOST_OF_A_SHELL:
        return None
    scripts = scripts_of(page)
    if not scripts.linked_data and not scripts.states:
        return None
    of_page = linked_data(literals(scripts.linked_data))
    told = _longest(_announced(of_page.bodies, title, visible)) or _longest(of_page.bodies)
    told = told or _longest(_announced(of_page.others, title, visible))
    if told is None:
        state = things(literals(scripts.states, is_wanted))
        state = [each for each in state if each.title or _is_of_long_strings(each)]
        told = _longest(_announced([*of_page.others, *state], title, visible))
        told = told or _longest(of_page.others) or _longest(filter(_announces_itself, state))
    return told if told is not None and told.words >= max(LEAST_WORDS, TIMES * words) else None


def _is_of_long_strings(told: Told) -> bool:
    return told.words >= LEAST_MEAN * len(told.texts)


def _announces_itself(told: Told) -> bool:
    """Whether its title announces the thing itself; true without a title."""
    return not told.title or is_announced("\n".join(map(plain, told.texts)), told.title)


def _longest(told: Iterable[Told]) -> Told | None:
    return max(told, key=lambda each: each.words, default=None)


def _announced(told: list[Told], title: str | None, visible: str) -> list[Told]:
    most = max((each.words for each in told), default=0)
    spelled = " ".join((title or "").split()).casefold()
    return [each for each in told if _announcing(each, spelled, visible) * each.words >= most]


def _announcing(told: Told, title: str, visible: str) -> float:
    """How many times as long others may be; 0 if the page does not announce it."""
    own = " ".join((told.title or "").split()).casefold()
    if title and own and (own in title or (read_title(title).first or title) in own):
        return 1 / LEAST_NAMED
    text = "\n".join(map(plain, told.texts))
    if is_announced(text, title[:LONGEST_TITLE]):
        return 1 / LEAST_SAID
    said = (line for line in visible.splitlines() if number_of_words(line) >= LONG_LINE)
    return 1 / LEAST_SAID if any(line in text for line in said) else 0
