"""The rules by which text is kept or dropped, in the order in which they are applied, and why each is there.

The numbers stand in the arrays of ``tally``: a rule that drops an element leaves its number there.
"""

from __future__ import annotations

from typing import Final, NamedTuple

NO_SCRIPTS: Final = 1
UNSEEN: Final = 2
COMMENTS: Final = 3
MEANING: Final = 4
HIDDEN: Final = 5
NAMED: Final = 6
WEAKLY_NAMED: Final = 7
PANELS: Final = 8
COMMENTS_ALL: Final = 9
NAMES_LIE: Final = 10
POSTS: Final = 11
OUTSIDE: Final = 12
SECTIONS: Final = 13
LISTING: Final = 14
TITLE: Final = 15
NOTICE: Final = 16
EMBEDDED: Final = 17
ANOTHER_PAGES: Final = 18
LINKED_LINES: Final = 19
REMARKS: Final = 20
FURNITURE: Final = 21
REPEATED: Final = 22


class Rule(NamedTuple):
    """``drops``: it takes text away; otherwise it keeps text that other rules would take."""

    number: int
    name: str
    drops: bool
    reason: str


RULES: Final = (
    Rule(
        NO_SCRIPTS,
        "no-scripts",
        False,
        "What is for those who run no scripts is shown where it holds most of the page: a crawler runs none, and some "
        "forums write the whole thread there.",
    ),
    Rule(
        UNSEEN, "unseen", True, "What browsers do not show is no text: scripts, templates, choices, letters of no size."
    ),
    Rule(COMMENTS, "comments", True, "What is called comments is the readers', and differs between two copies."),
    Rule(
        MEANING,
        "meaning",
        True,
        "Navigation, sidebars, footers, dialogs and page headers are beside the content by their element or role.",
    ),
    Rule(HIDDEN, "hidden", True, "What is hidden by its attributes is not read, unless it is most of the page."),
    Rule(
        NAMED,
        "named",
        True,
        "Authors call menus, sidebars, advertising, consent, related pages and sharing so, in class and id.",
    ),
    Rule(WEAKLY_NAMED, "weakly-named", True, "The same by words that mean other things as well, for small parts."),
    Rule(
        PANELS,
        "panels",
        False,
        "Hidden blocks of prose that stand side by side are read one after the other: tabs, answers to questions, the "
        "parts of a text that unfolds.",
    ),
    Rule(
        COMMENTS_ALL,
        "comments-are-all",
        False,
        "Where little is left without the comments, or they have the longest text, they are the content: a thread of a "
        "forum is its replies.",
    ),
    Rule(
        NAMES_LIE,
        "names-lie",
        False,
        "Where the names would take most of the prose, or the longest text, they are not believed: page builders call "
        "each paragraph a widget, others the whole page a banner.",
    ),
    Rule(
        POSTS,
        "posts",
        True,
        "Siblings that each have a line with author and date are comments, whatever they are called, where an article "
        "stands beside them that is longer than they are.",
    ),
    Rule(
        REMARKS,
        "remarks",
        True,
        "Behind an article, pieces of prose under a date each are what readers say to it, in blocks of whatever shape.",
    ),
    Rule(
        FURNITURE,
        "furniture",
        True,
        "What many posts of a thread have at one place, and is prose in none, says who wrote when, and what can be "
        "done with it; so do signatures, and what stands between posts.",
    ),
    Rule(
        ANOTHER_PAGES,
        "another-pages",
        True,
        "A block whose heading links elsewhere, or that repeats the shape of the page's own under another heading, is "
        "another page's: the next article, a teaser, what a month's archive has below a post.",
    ),
    Rule(OUTSIDE, "outside", True, "The content is the part that holds most of the prose, looked for from outside in."),
    Rule(
        SECTIONS,
        "sections",
        False,
        "A part that has most of the prose, in several pieces, does not stand for its neighbours of prose: a landing "
        "page is made of them.",
    ),
    Rule(
        LISTING,
        "listing",
        False,
        "A few sentences with fewer words than what stands beside them introduce a list: of products, of articles, of "
        "places.",
    ),
    Rule(TITLE, "main-heading", False, "The main heading belongs to the content wherever it stands."),
    Rule(
        LINKED_LINES,
        "linked-lines",
        True,
        "Lines of nothing but links, behind the last paragraph of an article or a few between two of them, name other "
        "pages: what to read next.",
    ),
    Rule(
        REPEATED,
        "repeated",
        True,
        "A passage that a page says twice is read once: posts are quoted, and a text stands there for wide screens and "
        "once more for narrow ones.",
    ),
    Rule(
        EMBEDDED,
        "embedded",
        True,
        "Where little is shown and the page's scripts hold many times as much prose, as JSON-LD or as the state that a "
        "program starts from, what is shown is the shell, the same on all pages of a site.",
    ),
    Rule(
        NOTICE,
        "notice",
        True,
        "A few words that only ask for scripts or patience stand where a script would have put the page: all pages of "
        "an application have the same.",
    ),
)
"""In their order. Rules that keep stand after the rules that they undo."""

NAMES: Final = {rule.number: rule.name for rule in RULES}
ALL: Final = 0
"""No rule is off; a rule is off if its number's bit is set."""


def without(*rules: Rule) -> int:
    """All rules but these."""
    return sum(1 << rule.number for rule in rules)
