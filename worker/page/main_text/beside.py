"""The parts of a page outside its content: by their elements, their names, and their repetition."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.page.elements.markup import KIND, MARK, NAME, PARENT, Rows
from worker.page.elements.parsed import OWNER
from worker.page.elements.vocabulary import (
    ARTICLE,
    ASIDE,
    HEADER,
    HEADINGS,
    INLINE,
    MAIN,
    MARKED_ASIDE,
    MARKED_CAPTION,
    MARKED_COMMENTS,
    MARKED_CONSENT,
    MARKED_HIDDEN,
    MARKED_MAIN,
    MARKED_ROLE,
    MARKED_TAB,
    MARKED_WEAKLY,
    NOSCRIPT,
    WHOLE,
    compiled,
    lean,
)
from worker.page.main_text.rules import (
    COMMENTS,
    COMMENTS_ALL,
    HIDDEN,
    MEANING,
    NAMED,
    NAMES_LIE,
    PANELS,
    WEAKLY_NAMED,
)
from worker.page.main_text.tally import (
    FLOW,
    GONE,
    LINKED,
    LINKS,
    LONG,
    PROSE,
    WORDS,
    prose,
    tally,
    weight,
    words_of,
)

LEAST_MORE: Final = 50
"""Words that the version for readers without scripts must have more than the page itself. The shells of applications
hold a sentence or two there, the same on all their pages."""

MOST_COMMENTS: Final = 0.8
"""Share of the page up to which comments go: often there are more of them than article."""
MOST_ASIDE: Final = 0.5
"""Share of the page up to which an element goes if only its name says that it is outside the content. At .6 and above
articles are lost because parts around them have such names as well."""
MOST_WEAK: Final = 0.2
"""The same for a name that means other things as well."""
MOST_NAMED: Final = 0.7
"""Share of the words in long lines up to which all elements with such names together may go; if they have more, the
name says nothing about them. With .6, templates are taken for each other's pages."""
MOST_WEAKLY_NAMED: Final = 0.4
"""The same for a name that means other things as well."""
NAVIGATION: Final = 0.0
"""The same for a name that is not believed: only elements made of links go."""

LEAST_BESIDE_COMMENTS: Final = 0.1
"""Prose that the page must have in addition, as a share of the comments' prose, so that the comments go."""
LEAST_LEFT: Final = 0.2
"""Share of the prose that names must leave, to be believed."""
AN_ARTICLE: Final = 60
"""Words of a text in addition to the comments that is an article, however short it is compared with them."""
LEAST_LIE: Final = 100
TIMES: Final = 5
"""A name cannot remove a text that has at least this many words, and this many times the longest text that is left.
With 2 times, short news among texts of the site are lost to these."""

LEAST_PANELS: Final = 3
"""This many hidden blocks of one parent or grandparent are panels; one or two are dialogs more often."""
LEAST_PANEL: Final = 10
"""Words in long lines of a panel. Hidden menus and buttons have fewer."""
MOST_LINKED: Final = 0.25
"""Share of links in a panel."""

LEAST_REPLIES: Final = 0.2
LEAST_ARTICLE: Final = 40
"""Words in long lines of an article that is taken for the main content. Teasers and players have fewer."""

_THREAD: Final = b"DiscussionForumPosting"
# How far names are doubted, step by step: class and id; role and hidden; elements.
_NOT_AT_ALL, _NAMES, _ROLES, _ELEMENTS = range(4)


@lean("boolean(int32[:, ::1], int64)")
def is_main(elements: Rows, element: int) -> bool:
    """Whether it is marked as the main content."""
    return bool(elements[element, KIND] & MAIN) or bool(elements[element, MARK] & MARKED_MAIN)


@lean("boolean(int64, int64)", entry=True)
def is_on(rule: int, off: int) -> bool:
    """Whether this rule is on."""
    return (off >> rule) & 1 == 0


@lean("boolean(int32[:, ::1], int64)")
def _is_article(elements: Rows, element: int) -> bool:
    """Whether it is marked as an article or the main content."""
    return bool(elements[element, KIND] & ARTICLE) or is_main(elements, element)


@compiled("void(int32[:, ::1])")
def _believe_consent(elements: Rows) -> None:
    """Give the names of consent banners the meaning of a role. An article on cookies, and the whole page, may have such
    a name: they hold an article or the page's title, or stand in an article."""
    within, holds = np.zeros((2, len(elements)), dtype=np.uint8)
    for element in range(1, len(elements)):
        within[element] = 1 if within[elements[element, PARENT]] or _is_article(elements, element) else 0
    for element in range(len(elements) - 1, 0, -1):
        if within[element] or elements[element, NAME] == HEADINGS[0]:
            holds[element] = 1
        if holds[element]:
            holds[elements[element, PARENT]] = 1
        elif elements[element, MARK] & MARKED_CONSENT and not elements[element, KIND] & WHOLE:
            elements[element, MARK] = (elements[element, MARK] & ~MARKED_ASIDE) | MARKED_ROLE


@compiled("void(int32[:, ::1], int32[:, ::1])")
def _mark_article(elements: Rows, known: Rows) -> None:
    """Mark the only article that holds a title of the page as the main content, where nothing else is marked so."""
    holds = np.zeros(len(elements), dtype=np.uint8)
    found = count = 0
    for element in range(len(elements) - 1, 0, -1):
        if is_main(elements, element):
            return
        if holds[element] or elements[element, NAME] == HEADINGS[0]:
            holds[elements[element, PARENT]] = 1
        if holds[element] and elements[element, KIND] & ARTICLE:
            found = element
            count += 1
    if count == 1 and known[found, LONG] >= LEAST_ARTICLE:
        elements[found, MARK] |= MARKED_MAIN


@compiled("boolean(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1])")
def is_for_no_scripts(elements: Rows, runs: Rows, known: Rows, said: Rows) -> bool:
    """Whether most of the page, surveyed as if no scripts were run, is for readers that run none."""
    within = np.zeros(len(elements), dtype=np.uint8)
    inside = outside = 0
    for element in range(1, len(elements)):
        within[element] = 1 if within[elements[element, PARENT]] or elements[element, KIND] & NOSCRIPT else 0
    for run in range(len(runs)):
        owner = runs[run, OWNER]
        if not known[owner, LINKED] and not known[owner, GONE]:
            if within[owner]:
                inside += said[run, WORDS]
            else:
                outside += said[run, WORDS]
    return inside >= outside + LEAST_MORE


@lean("void(int32[:, ::1], int32[:, ::1], int32[::1])")
def _count_panels(elements: Rows, known: Rows, panels: Any) -> None:
    """Count for each element the hidden blocks of prose that are its children or grandchildren."""
    for element in range(1, len(elements)):
        few_links = known[element, LINKS] <= MOST_LINKED * words_of(known, element)
        hidden = elements[element, MARK] & MARKED_HIDDEN and not elements[element, KIND] & INLINE
        if hidden and known[element, LONG] >= LEAST_PANEL and few_links:
            parent = elements[element, PARENT]
            panels[parent] += 1
            if parent:
                panels[elements[parent, PARENT]] += 1


@lean("boolean(int32[:, ::1], int64)")
def _is_navigation(known: Rows, element: int) -> bool:
    """Whether it is made of links."""
    return bool(prose(known, element) <= PROSE * known[element, LINKS])


@compiled("boolean(int32[:, ::1], int32[:, ::1], uint8[:], int64, float64, float64)")
def _is_everywhere(elements: Rows, known: Rows, holds_main: Any, mark: int, most: float, most_of_all: float) -> bool:
    """Whether elements with a mark that would go, because each has ``most`` of the page or less, have more than
    ``most_of_all`` words in long lines together."""
    within = np.zeros(len(elements), dtype=np.uint8)
    page, long = weight(known, 0), 0
    for element in range(1, len(elements)):
        within[element] = within[elements[element, PARENT]]
        named = elements[element, MARK] & mark and not elements[element, KIND] & (MAIN | ARTICLE | WHOLE)
        goes = weight(known, element) <= most * page and not _is_navigation(known, element)
        if named and goes and not within[element] and not holds_main[element]:
            within[element] = 1
            long += known[element, LONG]
    return bool(long > most_of_all)


@compiled("void(int32[:, ::1], int32[:, ::1], boolean, int64, int64, int64)")
def _drop(elements: Rows, known: Rows, comments: bool, doubt: int, long: int, off: int) -> None:
    """Drop comments; or else the elements outside the content by their names. ``long``: words in long lines, comments
    included."""
    holds_main, in_article = np.zeros((2, len(elements)), dtype=np.uint8)
    for element in range(len(elements) - 1, 0, -1):
        if holds_main[element] or is_main(elements, element):
            holds_main[elements[element, PARENT]] = 1
    page, whole = weight(known, 0), prose(known, 0)
    panels = np.zeros(len(elements), dtype=np.int32)
    if not comments and is_on(PANELS, off):
        _count_panels(elements, known, panels)
    most_named = MOST_ASIDE if doubt < _NAMES else NAVIGATION
    most_weak = MOST_WEAK if doubt < _NAMES else NAVIGATION
    if not comments and doubt < _NAMES and is_on(NAMES_LIE, off):
        if _is_everywhere(elements, known, holds_main, MARKED_ASIDE, MOST_ASIDE, MOST_NAMED * long):
            most_named = NAVIGATION
        if _is_everywhere(
            elements, known, holds_main, MARKED_WEAKLY | MARKED_CAPTION, MOST_WEAK, MOST_WEAKLY_NAMED * long
        ):
            most_weak = NAVIGATION
    for element in range(1, len(elements)):
        parent = elements[element, PARENT]
        kind, mark = elements[element, KIND], elements[element, MARK]
        in_article[element] = 1 if in_article[parent] or kind & (MAIN | ARTICLE) else 0
        if known[parent, GONE]:
            known[element, GONE] = known[parent, GONE]
        if known[element, GONE] or holds_main[element]:
            continue
        if kind & (MAIN | ARTICLE | WHOLE):
            mark = 0
        rule, most = 0, NAVIGATION
        if comments:
            if mark & MARKED_COMMENTS:
                rule, most = COMMENTS, MOST_COMMENTS
        elif kind & ASIDE:
            rule, most = MEANING, 1.0 if doubt < _ELEMENTS else NAVIGATION
        elif mark & MARKED_ROLE:
            rule, most = MEANING, 1.0 if doubt < _ROLES else NAVIGATION
        elif kind & HEADER and not in_article[element]:
            rule, most = MEANING, MOST_ASIDE if doubt < _ELEMENTS else NAVIGATION
        elif mark & MARKED_HIDDEN and max(panels[parent], panels[max(elements[parent, PARENT], 0)]) < LEAST_PANELS:
            is_tab = mark & MARKED_TAB and is_on(PANELS, off)
            rule, most = HIDDEN, MOST_ASIDE if doubt < _ROLES and not is_tab else NAVIGATION
        elif mark & MARKED_ASIDE:
            rule, most = NAMED, most_named
        elif mark & MARKED_WEAKLY or (mark & MARKED_CAPTION and known[element, LONG]):
            rule, most = WEAKLY_NAMED, most_weak
        if rule and is_on(rule, off):
            if doubt == _ELEMENTS and prose(known, element) > (1 - LEAST_LEFT) * whole:
                continue
            if _is_navigation(known, element) or weight(known, element) <= most * page:
                known[element, GONE] = rule


@lean("boolean(uint8[::1])")
def _says_thread(body: Any) -> bool:
    """Whether the page says that it is a thread, in markup or data."""
    length = len(_THREAD)
    for place in range(len(body) - length + 1):
        if body[place] == _THREAD[0] and body[place + length - 1] == _THREAD[length - 1]:
            same = 1
            while same < length and body[place + same] == _THREAD[same]:
                same += 1
            if same == length:
                return True
    return False


@compiled("void(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int64)")
def drop_beside(body: Any, elements: Rows, runs: Rows, known: Rows, said: Rows, off: int) -> None:
    """Drop comments and all that is outside the content, as far as enough is left.

    It doubts names one step more, and looks at everything again, at most four times.
    """
    _believe_consent(elements)
    unseen = known[:, GONE].copy()
    comments = True
    doubt = _NOT_AT_ALL
    while True:
        known[:, GONE] = unseen
        tally(elements, runs, known, said)
        _mark_article(elements, known)
        whole, long = prose(known, 0), known[0, LONG]
        flows = known[:, FLOW].copy()
        if comments:
            _drop(elements, known, True, doubt, long, off)
            tally(elements, runs, known, said)
        without_comments = prose(known, 0)
        _drop(elements, known, False, doubt, long, off)
        tally(elements, runs, known, said)
        left, longest = prose(known, 0), max(LEAST_LIE, TIMES * known[0, FLOW])
        of_comments = of_names = 0
        for element in range(1, len(elements)):
            rule = known[element, GONE]
            if rule == COMMENTS:
                of_comments = max(of_comments, flows[element])
            elif rule in (NAMED, WEAKLY_NAMED):
                of_names = max(of_names, flows[element])
        of_all_comments = whole - without_comments
        few = left < LEAST_BESIDE_COMMENTS * of_all_comments and known[0, FLOW] < AN_ARTICLE
        few = few or (of_all_comments > LEAST_REPLIES * left and _says_thread(body))
        if comments and (few or of_comments >= longest) and is_on(COMMENTS_ALL, off):
            comments = False
            continue
        most = without_comments if doubt < _ROLES else whole
        nearly_all = left < LEAST_LEFT * most and doubt <= _ELEMENTS
        if (nearly_all or (of_names >= longest and doubt == _NOT_AT_ALL)) and is_on(NAMES_LIE, off):
            doubt += 1
            continue
        return
