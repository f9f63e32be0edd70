"""Differences between our shown text and the shown text of lexbor's tree, by kinds, each with its reason.

A difference is of a kind if it disappears when the page is changed as the kind says, or if only order or blanks differ.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tests.shown.trees import lexbors, ours

SAME: Final = "same"
UNLISTED: Final = "unlisted"


class Difference(NamedTuple):
    """``without``: the part that must be removed from the page for the difference to disappear; None where the words
    alone show the kind."""

    name: str
    reason: str
    without: re.Pattern[str] | None = None


def _tags(names: str) -> re.Pattern[str]:
    return re.compile(rf"</?(?:{names})(?=[\s/>])[^<>]*>?", re.IGNORECASE)


DIFFERENCES: Final = (
    Difference(
        "blanks",
        "The end tag of an element that HTML does not know begins a line here; where no such element is open, browsers "
        "pass over it. Unknown elements are those of XML, most of which hold lines.",
    ),
    Difference(
        "order",
        "Text between the cells of a table stays where it is written. Browsers put it before the table, in whose "
        "markup it was lost.",
    ),
    Difference(
        "noscript",
        "To browsers, which run scripts, what stands in it is no markup; lexbor reads it as one that runs none, and "
        "lets text in the head begin the body.",
        _tags("noscript"),
    ),
    Difference(
        "button",
        "A button that is never closed ends with the item or the inline element around it. To browsers it has all "
        "that follows.",
        _tags("button"),
    ),
    Difference(
        "select",
        "A list of choices that is never closed ends with the block around it. To browsers the rest of the page is "
        "in it, and is not shown.",
        _tags("select|option|optgroup"),
    ),
    Difference(
        "drawing",
        "The end of a drawing or formula is believed wherever it stands. Browsers pass over it in a title or label "
        "that is never closed, and take the rest of the page for that.",
        _tags("svg|math"),
    ),
    Difference(
        "table",
        "A table ends the paragraph around it, and browsers let it stand there where a page has no doctype. Cells and "
        "rows without a table are elements here, and browsers pass over their tags.",
        _tags("table|tr|td|th|thead|tbody|tfoot|caption|colgroup|col"),
    ),
    Difference(
        "link",
        "Where a link begins in another one, elements in the same line go on here, with their styles; browsers end "
        "them with the block that they stand in.",
        _tags("a"),
    ),
)


def kind_of(markup: str) -> str:
    """The name of the kind of difference between our text of a page and lexbor's, ``SAME`` or ``UNLISTED``."""
    kind = _by_words(ours(markup), lexbors(markup))
    if kind != UNLISTED:
        return kind
    for difference in DIFFERENCES:
        if difference.without is not None and difference.without.search(markup):
            markup = difference.without.sub("", markup)
            if _by_words(ours(markup), lexbors(markup)) != UNLISTED:
                return difference.name
    return UNLISTED


def _by_words(a: list[str], b: list[str]) -> str:
    if a == b:
        return SAME
    letters = "".join(a), "".join(b)
    if letters[0] == letters[1]:
        return "blanks"
    return "order" if sorted(letters[0]) == sorted(letters[1]) else UNLISTED
