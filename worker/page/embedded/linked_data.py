"""JSON-LD, in the words of schema.org → the texts of what the page is about.

``articleBody`` is an article's text. Of a recipe, a product, an event, a job or the questions of a page it is what
stands under ``_TEXTS``. What schema.org says of others, as publishers, related products and reviews, is left out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

from worker.page.embedded.literals import Literals
from worker.page.embedded.prose import number_of_words, plain, without_repetitions
from worker.page.embedded.told import Told, names

ORIGIN: Final = "JSON-LD"

_BODY: Final = "articleBody"
_TITLES: Final = ("headline", "name", "title")
_TEXTS: Final = names(
    "articleBody description text abstract transcript recipeIngredient ingredients recipeInstructions step "
    "responsibilities qualifications skills experienceRequirements educationRequirements jobBenefits"
)
_NAMED_PARTS: Final = frozenset(("Question", "HowToStep", "HowToSection", "HowToDirection"))
_PAGES: Final = names(
    "WebPage ItemPage CollectionPage AboutPage ContactPage ProfilePage SearchResultsPage ItemList ListItem"
)
"""They hold what the page is about, and are described by a summary of it."""
_OTHERS: Final = names(
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
    """``bodies`` are articles with their text, ``others`` what else it tells of."""

    bodies: list[Told]
    others: list[Told]


def linked_data(found: Literals) -> LinkedData:
    """All of which it has texts, in the order of the page."""
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
            if kinds & _OTHERS or key in _OF_OTHERS or (key == _COMMENT and not types[of] & _THREADS):
                of = None
            elif not of and kinds - _PAGES:
                of = row
        thing.append(of)
        if not of or not text:
            continue
        if parent == of and key in _TITLES:
            titles.setdefault(of, plain(text))
        elif key in _TEXTS or (key == "name" and types[parent] & _NAMED_PARTS):
            rows_of[of].append(row)
    found_data = LinkedData([], [])
    for of, rows in rows_of.items():
        body = [row for row in rows if found.keys[row] == _BODY]
        only_body = body and not types[of] & _THREADS
        texts = without_repetitions(found.texts[row] or "" for row in (body if only_body else rows))
        words = sum(number_of_words(plain(text)) for text in texts)
        told = Told(titles.get(of), tuple(texts), words, ORIGIN)
        (found_data.bodies if body else found_data.others).append(told)
    return found_data
