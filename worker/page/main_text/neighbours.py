"""The parts of a page that belong to other pages: teasers, the next article, the archive below a post, lines of links.

The page's *own* heading says what its title says. A block under another heading is another page's if that heading leads
there and the block is a *teaser*, of a few sentences; or if it has the *shape* of the block with the page's own
heading, so that it is a whole article. A page without such a heading of its own is left as it is, and so is a page that
is a list: if little is its own apart from the pages that its headings lead to, or if its title says how many there are.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.page.elements.markup import KIND, MARK, NAME, PARENT, Rows, is_space
from worker.page.elements.parsed import BREAKS, FROM, OWNER, TO
from worker.page.elements.tags import MAX_STEPS
from worker.page.elements.vocabulary import (
    ARTICLE,
    BLOCK,
    CELL,
    HEADING,
    HEADINGS,
    ITEM,
    MAIN,
    ROW,
    TERM,
    WHOLE,
    compiled,
    lean,
)
from worker.page.main_text.rules import ANOTHER_PAGES, LINKED_LINES
from worker.page.main_text.tally import FLOW, GONE, IS_LONG, LINKED, LINKS, LONG, TITLED, WORDS, tally, words_of
from worker.page.main_text.title_evidence import LEADS, SAYS, Column, Flags, own_heading, rank_of, read_headings

LEAST_OWN: Final = 80
"""Words in long lines that a page has of its own, before the first part of another page: fewer introduce a list."""
A_TEASER: Final = 60
"""Most words in long lines of a teaser. If one of several has more, they are parts of the page."""
TIMES: Final = 2
"""The page must have this many times the teasers' words in long lines in addition, or it is a list of their pages."""
A_HEADLINE: Final = 3
"""Least words of a line that is the heading of a teaser without being marked as one."""

MOST_RUNS: Final = 32
"""Runs after a heading in which the date of an article is looked for. Without a limit, headings without text are looked
through as often as there are such headings."""

MOST_BETWEEN: Final = 2
"""Lines of links that stand together between paragraphs and belong to other pages; more are a list."""
A_CUE: Final = 6
"""Words before a colon in front of such links: "Read also:"."""
LEAST_PROSE: Final = 2
"""Words in long lines for each word of a link that an article has."""

# The known facts on each element: its first run, counted from 1; its first heading; the best rank of its headings that
# lead nowhere else; whether it has a heading that says the title. Then on a heading: the block that is another page's,
# whether it is a whole article; and on an element: whether a part of it is too long for a teaser, and whether it is a
# teaser that goes.
_FIRST, _HEADING, _RANK, _OWN, _BLOCK, _ARTICLE, _LONGER, _TEASER = range(8)


@lean("void(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], uint8[::1], int64, int32[::1])")
def _count_own(elements: Rows, runs: Rows, known: Rows, said: Rows, others: Flags, own: int, before: Column) -> None:
    """Words in long lines before each run, after the heading ``own`` (0: from the beginning), outside all of
    ``others``."""
    long, begun = 0, own == 0
    for run in range(len(runs)):
        before[run] = long
        owner = runs[run, OWNER]
        begun = begun or known[owner, TITLED] == own
        if begun and said[run, IS_LONG] and not (others[owner] or known[owner, GONE] or known[owner, LINKED]):
            long += said[run, WORDS]


@lean("boolean(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int64, int64)")
def _is_dated(body: Any, runs: Rows, known: Rows, said: Rows, heading: int, first: int) -> bool:
    """Whether a number stands between a heading, whose first run is ``first``, and the first long line after it."""
    for run in range(first, min(first + MOST_RUNS, len(runs))):
        if said[run, IS_LONG]:
            return False
        if known[runs[run, OWNER], TITLED] != heading and said[run, WORDS]:
            for place in range(runs[run, FROM], runs[run, TO]):
                if 48 <= body[place] <= 57:
                    return True
    return False


@lean("void(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], uint8[::1], int32[:, ::1])")
def _look(elements: Rows, runs: Rows, known: Rows, said: Rows, means: Flags, seen: Rows) -> None:
    """Fill the columns of ``seen`` that are of elements."""
    seen[:, _RANK] = len(HEADINGS) + 1
    for run in range(len(runs) - 1, -1, -1):
        if said[run, WORDS] and not known[runs[run, OWNER], GONE]:
            seen[runs[run, OWNER], _FIRST] = run + 1
    for element in range(len(elements) - 1, 0, -1):
        parent = elements[element, PARENT]
        if means[element] == SAYS or seen[element, _OWN]:
            seen[parent, _OWN] = 1
        if known[element, GONE]:
            continue
        first = seen[element, _FIRST]
        if elements[element, KIND] & HEADING and first:
            seen[element, _HEADING] = element
            if means[element] != LEADS:
                seen[element, _RANK] = rank_of(elements, element)
        seen[parent, _RANK] = min(seen[parent, _RANK], seen[element, _RANK])
        heading, other = seen[element, _HEADING], seen[parent, _HEADING]
        if heading and (not other or seen[heading, _FIRST] <= seen[other, _FIRST]):
            seen[parent, _HEADING] = heading
        if first and (not seen[parent, _FIRST] or first < seen[parent, _FIRST]):
            seen[parent, _FIRST] = first


@compiled(
    "void(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[::1], uint8[::1], int64, "
    "int64, int32[::1], uint8[::1], int32[:, ::1])"
)
def _find_blocks(
    body: Any,
    elements: Rows,
    runs: Rows,
    known: Rows,
    said: Rows,
    headings: Column,
    means: Flags,
    own: int,
    own_rank: int,
    before: Column,
    others: Flags,
    seen: Rows,
) -> None:
    """Find the block below each heading that is another page's, and mark in ``others`` everything below a heading that
    leads there."""
    path = np.zeros(len(elements), dtype=np.int32)  # of each that holds the own heading, the child that does
    inner, article = own, 0
    while inner > 0:
        path[elements[inner, PARENT]] = inner
        article = inner if elements[inner, KIND] & ARTICLE else article
        inner = int(elements[inner, PARENT])
    behind = article + 1
    while article and behind < len(elements) and elements[behind, PARENT] >= article:
        behind += 1
    for heading in headings:
        rank = rank_of(elements, heading)
        leads = means[heading] == LEADS
        foreign = leads or (means[heading] != SAYS and rank <= own_rank)
        if not foreign or seen[heading, _HEADING] != heading:
            continue
        first = seen[heading, _FIRST]
        widest = 0
        candidate = int(elements[heading, PARENT])
        while candidate > 0 and not (seen[heading, _ARTICLE] or seen[candidate, _OWN]):
            kind = elements[candidate, KIND]
            follows = before[seen[candidate, _FIRST] - 1] != before[first - 1]
            lower = seen[candidate, _RANK] < rank + leads
            if kind & (WHOLE | MAIN) or seen[candidate, _HEADING] != heading or follows or lower:
                break
            parent = elements[candidate, PARENT]
            if words_of(known, candidate) > words_of(known, heading):
                like = path[parent]
                same = like > 0 and elements[like, NAME] == elements[candidate, NAME]
                same = same and elements[like, MARK] == elements[candidate, MARK]
                if same and not (kind & ARTICLE or leads):
                    same = rank == 0 and _is_dated(body, runs, known, said, heading, first - 1)
                apart = kind & ARTICLE and article and candidate >= behind
                if rank <= own_rank and (same or apart):
                    seen[heading, _ARTICLE] = 1
                if leads:
                    widest = candidate
                if seen[heading, _ARTICLE] or (leads and known[candidate, LONG] <= A_TEASER):
                    seen[heading, _BLOCK] = candidate
                elif leads and not seen[heading, _BLOCK]:
                    seen[parent, _LONGER] = 1
            candidate = int(parent)
        others[widest] = 1
    others[0] = 0
    for element in range(1, len(elements)):
        others[element] |= others[elements[element, PARENT]]


@lean("void(int32[:, ::1], int32[:, ::1], uint8[::1], int64, int64, int32[:, ::1])")
def _drop_flat(elements: Rows, known: Rows, means: Flags, own: int, own_rank: int, seen: Rows) -> None:
    """Drop the text after headings that lead elsewhere, where they stand next to the own one with no block of
    theirs."""
    flat = own
    while elements[flat, PARENT] > 0 and words_of(known, elements[flat, PARENT]) == words_of(known, own):
        flat = int(elements[flat, PARENT])
    parent, another = elements[flat, PARENT], False
    for element in range(flat + 1, len(elements)):
        if elements[element, PARENT] == parent and not known[element, GONE]:
            heading = seen[element, _HEADING]
            alone = heading and words_of(known, element) == words_of(known, heading)
            if alone and rank_of(elements, heading) <= own_rank:
                another = means[heading] == LEADS
            if another:
                known[element, GONE] = ANOTHER_PAGES


@lean("int64(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[::1], uint8[::1])")
def _find_headlines(runs: Rows, known: Rows, said: Rows, before: Column, headlines: Flags) -> int:
    """Mark the first run, counted from 1, of each line after the page's own text that is nothing but a link and long
    enough for a heading; returns how many there are."""
    begin = words = linked = found = 0
    for run in range(len(runs) + 1):
        if run == len(runs) or runs[run, BREAKS]:
            if linked >= A_HEADLINE and linked == words and before[begin] >= LEAST_OWN:
                headlines[begin + 1] = 1
                found += 1
            begin, words, linked = run, 0, 0
        if run < len(runs) and said[run, WORDS] and not known[runs[run, OWNER], GONE]:
            if not words:
                begin = run
            words += said[run, WORDS]
            linked += said[run, WORDS] if known[runs[run, OWNER], LINKED] else 0
    return found


@compiled("void(int32[:, ::1], int32[:, ::1], int32[::1], uint8[::1], int32[:, ::1])")
def _drop_unmarked(elements: Rows, known: Rows, before: Column, headlines: Flags, seen: Rows) -> None:
    """Drop teasers side by side whose headings are not marked as headings."""
    teases, alike = np.zeros((2, len(elements)), dtype=np.int32)
    for element in range(1, len(elements)):
        first = seen[element, _FIRST]
        block = elements[element, KIND] & BLOCK and not elements[element, KIND] & (ROW | CELL | TERM)
        untitled = first > 0 and not (seen[element, _HEADING] or known[element, GONE])
        if block and untitled and headlines[first] and 0 < known[element, LONG] <= A_TEASER:
            teases[element] = 1
            alike[elements[element, PARENT]] += 1
    for element in range(1, len(elements)):
        several = teases[element] and alike[elements[element, PARENT]] > 1
        if several and before[seen[element, _FIRST] - 1] >= LEAST_OWN:
            known[element, GONE] = ANOTHER_PAGES
            seen[element, _TEASER] = 1


@compiled("void(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1])")
def drop_neighbours(body: Any, elements: Rows, runs: Rows, known: Rows, said: Rows) -> None:
    """Drop blocks that are other pages', if the page has a text of its own."""
    means = np.zeros(len(elements), dtype=np.uint8)
    places = np.zeros(len(runs) + 1, dtype=np.int32)
    count, counted = read_headings(body, elements, runs, known, places, means)
    headings = places[:count]
    own, own_rank = own_heading(elements, known, headings, means)
    if not own or known[0, FLOW] < LEAST_OWN:
        return
    others = np.zeros(len(elements), dtype=np.uint8)
    before = np.zeros(len(runs) + 1, dtype=np.int32)
    headlines = np.zeros(len(runs) + 2, dtype=np.uint8)
    _count_own(elements, runs, known, said, others, own, before)
    unmarked = _find_headlines(runs, known, said, before, headlines)
    foreign = False
    for heading in headings:
        other = means[heading] == LEADS or (means[heading] != SAYS and rank_of(elements, heading) <= own_rank)
        foreign = foreign or (other and not known[heading, GONE])
    if not foreign and unmarked < 2:
        return
    seen = np.zeros((len(elements), 8), dtype=np.int32)
    _look(elements, runs, known, said, means, seen)
    if foreign:
        _count_own(elements, runs, known, said, others, 0, before)
        _find_blocks(body, elements, runs, known, said, headings, means, own, own_rank, before, others, seen)
        _count_own(elements, runs, known, said, others, own, before)
    kept = known[:, GONE].copy()
    teasers = teased = 0
    if unmarked > 1:
        _drop_unmarked(elements, known, before, headlines, seen)
    for heading in headings:
        block = seen[heading, _BLOCK]
        if block and not known[block, GONE]:
            longer = seen[elements[block, PARENT], _LONGER]
            if seen[heading, _ARTICLE]:
                known[block, GONE] = ANOTHER_PAGES
            elif before[seen[heading, _FIRST] - 1] >= LEAST_OWN and not longer:
                known[block, GONE] = ANOTHER_PAGES
                seen[block, _TEASER] = 1
                teasers += 1
    if own_rank >= 0:
        _drop_flat(elements, known, means, own, own_rank, seen)
    dropped = False
    for element in range(1, len(elements)):
        if seen[element, _TEASER] and known[elements[element, PARENT], GONE] != ANOTHER_PAGES:
            teased += known[element, LONG]
        if not known[element, GONE]:
            known[element, GONE] = known[elements[element, PARENT], GONE]
        dropped = dropped or known[element, GONE] == ANOTHER_PAGES
    if dropped:
        tally(elements, runs, known, said)
        listed = counted and counted <= 2 * teasers <= 4 * counted
        if known[0, FLOW] < LEAST_OWN or known[0, LONG] < TIMES * teased or listed:
            known[:, GONE] = kept
            tally(elements, runs, known, said)


@lean("boolean(uint8[::1], int64, int64)")
def _ends_in_colon(body: Any, begin: int, end: int) -> bool:
    """Whether a colon, of whatever width, stands before the end, blanks aside."""
    end -= 1
    while end > begin and is_space(int(body[end])):
        end -= 1
    return bool(body[end] == 58 or (end > begin + 1 and body[end] == 0x9A and body[end - 1] == 0xBC))


@lean("boolean(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[::1], int64, int64)")
def _leads_elsewhere(body: Any, runs: Rows, known: Rows, said: Rows, dropped: Column, begin: int, end: int) -> bool:
    """Whether a line, of these runs, is nothing but links, or a cue before them, and no heading."""
    words = links = cue = 0
    for run in range(begin, end):
        if said[run, WORDS] and not dropped[run]:
            owner = runs[run, OWNER]
            if known[owner, TITLED]:
                return False
            if known[owner, LINKED]:
                links += said[run, WORDS]
            elif not words and said[run, WORDS] <= A_CUE and _ends_in_colon(body, runs[run, FROM], runs[run, TO]):
                cue = said[run, WORDS]
            words += said[run, WORDS]
    return links > 0 and links + cue == words


@lean("boolean(int32[:, ::1], int64)")
def _is_listed(elements: Rows, element: int) -> bool:
    """Whether it stands in an item of a list or a cell of a table."""
    for _ in range(MAX_STEPS):
        if element <= 0 or elements[element, KIND] & (ITEM | CELL | TERM):
            return element > 0
        element = int(elements[element, PARENT])
    return False


@lean("void(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int64, int32[::1])")
def drop_linked_lines(
    body: Any, elements: Rows, runs: Rows, known: Rows, said: Rows, top: int, dropped: Column
) -> None:
    """Drop lines of nothing but links after the last paragraph of an article, and the few between two paragraphs."""
    if known[top, FLOW] < LEAST_OWN or known[top, LONG] < LEAST_PROSE * known[top, LINKS]:
        return
    first, last = len(runs), -1
    for run in range(len(runs)):
        if said[run, IS_LONG] and said[run, WORDS] and not dropped[run] and not known[runs[run, OWNER], LINKED]:
            first, last = min(first, run), run
    begin = pending = waiting = 0
    for run in range(1, len(runs) + 1):
        if run < len(runs) and not runs[run, BREAKS]:
            continue
        shown = -1
        for each in range(begin if begin > first else run, run):
            if said[each, WORDS] and not dropped[each]:
                shown = each
        if shown >= 0:
            leads = _leads_elsewhere(body, runs, known, said, dropped, begin, run)
            held = leads and _is_listed(elements, int(runs[shown, OWNER]))
            if begin > last:
                pending, end, waiting = begin, run, 1 if leads else 0
            elif leads and not held:
                pending, end, waiting = pending if waiting else begin, begin, waiting + 1
            else:
                end, waiting = begin, waiting if waiting <= MOST_BETWEEN else 0
            if waiting and (begin > last or not leads or held):
                for each in range(pending, end):
                    dropped[each] = dropped[each] if dropped[each] else LINKED_LINES
                waiting = 0
        begin = run
