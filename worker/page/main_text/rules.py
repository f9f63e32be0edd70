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
        "Text for browsers without scripts is shown if it holds most of the page: a crawler runs no scripts, and some "
        "forums write the whole thread there.",
    ),
    Rule(
        UNSEEN,
        "unseen",
        True,
        "Browsers do not show scripts, templates, choices and letters of no size, so these are no text.",
    ),
    Rule(COMMENTS, "comments", True, "Blocks named comments come from readers, and differ between two copies."),
    Rule(
        MEANING,
        "meaning",
        True,
        "Navigation, sidebars, footers, dialogs and page headers are not content, by their element or role; banners "
        "that ask for consent, by the names of their tools.",
    ),
    Rule(HIDDEN, "hidden", True, "Text that its attributes hide is not read, unless it is most of the page."),
    Rule(
        NAMED,
        "named",
        True,
        "Authors name menus, sidebars, advertising, consent, related pages and sharing as such, in class and id.",
    ),
    Rule(WEAKLY_NAMED, "weakly-named", True, "The same for small parts, by words that also mean other things."),
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
        "If little is left without the comments, or they have the longest text, they are the content: a thread of a "
        "forum is its replies.",
    ),
    Rule(
        NAMES_LIE,
        "names-lie",
        False,
        "If the names would take most of the prose, or the longest text, they are not believed: some page builders "
        "call each paragraph a widget, others the whole page a banner.",
    ),
    Rule(
        POSTS,
        "posts",
        True,
        "Siblings that each have a line with author and date are comments, whatever their names, if an article that is "
        "longer than they are stands next to them.",
    ),
    Rule(
        REMARKS,
        "remarks",
        True,
        "After an article, pieces of prose that each stand under a date are remarks of readers, in blocks of whatever "
        "shape.",
    ),
    Rule(
        FURNITURE,
        "furniture",
        True,
        "Lines that many posts of a thread have at one place, and that are prose in none, name author, date and "
        "actions. They are not content; neither are signatures and text between posts.",
    ),
    Rule(
        ANOTHER_PAGES,
        "another-pages",
        True,
        "A block belongs to another page if its heading links elsewhere, or if it repeats the shape of the page's own "
        "block under another heading: the next article, a teaser, further posts in a month's archive.",
    ),
    Rule(OUTSIDE, "outside", True, "The content is the part that holds most of the prose, looked for from outside in."),
    Rule(
        SECTIONS,
        "sections",
        False,
        "If a part holds most of the prose, in several pieces, its neighbours with prose are content, too: a landing "
        "page is made of such parts.",
    ),
    Rule(
        LISTING,
        "listing",
        False,
        "A few sentences with fewer words than the blocks next to them introduce a list: of products, of articles, of "
        "places.",
    ),
    Rule(TITLE, "main-heading", False, "The main heading belongs to the content wherever it stands."),
    Rule(
        LINKED_LINES,
        "linked-lines",
        True,
        "Lines of nothing but links, after the last paragraph of an article or a few between two paragraphs, name "
        "other pages to read next.",
    ),
    Rule(
        REPEATED,
        "repeated",
        True,
        "A passage that a page says twice is read once: posts are quoted, and some texts stand there once for wide "
        "screens and once for narrow ones.",
    ),
    Rule(
        EMBEDDED,
        "embedded",
        True,
        "If a page shows little and its scripts hold many times as much prose, as JSON-LD or as the state that a "
        "program starts from, it shows only a shell, the same on all pages of a site.",
    ),
    Rule(
        NOTICE,
        "notice",
        True,
        "A few words that only ask for scripts or patience stand where a script would have put the page: all pages of "
        "an application have the same words.",
    ),
)
"""In their order. Rules that keep stand after the rules that they undo."""

NAMES: Final = {rule.number: rule.name for rule in RULES}
ALL: Final = 0
"""No rule is off; a rule is off if its number's bit is set."""


def without(*rules: Rule) -> int:
    """All rules but these."""
    return sum(1 << rule.number for rule in rules)
