"""Readers' comments on an article, recognised by the dates in each piece."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.page.elements.markup import KIND, MARK, PARENT, Rows
from worker.page.elements.parsed import OWNER
from worker.page.elements.vocabulary import BLOCK, CELL, MARKED_COMMENTS, MARKED_POST, ROW, compiled
from worker.page.main_text.beside import is_on
from worker.page.main_text.dates import (
    BYLINES,
    LINES,
    MANY,
    OF_LINES,
    OTHERS,
    PIECES,
    TITLE,
    find_lines,
    find_titles,
)
from worker.page.main_text.rules import FURNITURE, POSTS, REMARKS
from worker.page.main_text.tally import FLOW, GONE, IS_LONG, LINKED, LONG, WORDS, tally, words_of
from worker.page.main_text.threads import LEAST_THREAD, drop_furniture

LEAST_POSTS: Final = 3
LEAST_ARTICLE: Final = 100
"""Words of prose before the readers' and of one text, that make a page an article."""
ARTICLE: Final = 0.5
"""The article must have this many times the readers' prose. With 1, long discussions are taken with their article; with
.25, pages whose pieces are dated under a long introduction are lost."""
OPENING: Final = 2.0
"""The text before the first date may be this many times the text between two dates."""
MOST_LINES: Final = 10
"""Lines for each date. A text with more lines merely has dates in it."""


@compiled("void(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1])")
def _drop_siblings(elements: Rows, runs: Rows, known: Rows, said: Rows, lines: Rows) -> None:
    """Drop siblings that each have a short line with a number and mostly prose below it, and no heading.

    They stay if no text next to them is as long as all of them: then they are a thread.
    """
    posts, of_posts, looks = np.zeros((3, len(elements)), dtype=np.int32)
    for element in range(1, len(elements)):
        kind, words = elements[element, KIND], words_of(known, element)
        has_byline = lines[element, BYLINES] and 1 <= lines[element, OTHERS] < MANY
        block = kind & BLOCK and not kind & (ROW | CELL) and not known[element, GONE]
        if block and has_byline and 2 * known[element, LONG] >= words:
            looks[element] = 1
            posts[elements[element, PARENT]] += 1
            of_posts[elements[element, PARENT]] += words
    kept = known[:, GONE].copy()
    dropped = 0
    for element in range(1, len(elements)):
        parent = elements[element, PARENT]
        if known[parent, GONE]:
            known[element, GONE] = known[parent, GONE]
        elif looks[element] and posts[parent] >= LEAST_POSTS and 10 * of_posts[parent] >= 8 * words_of(known, parent):
            known[element, GONE] = POSTS
            dropped += known[element, LONG]
    if dropped:
        tally(elements, runs, known, said)
        if known[0, FLOW] < dropped:
            known[:, GONE] = kept
            tally(elements, runs, known, said)


@compiled("void(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:])")
def _drop_remarks(elements: Rows, runs: Rows, known: Rows, said: Rows, lines: Rows, titles: Any) -> None:
    """Drop a part that has a date above, below or next to each piece of prose, if an article stands before it."""
    count = len(elements)
    first, dated, called = np.zeros((3, count), dtype=np.int32)
    own = lines[:, PIECES].copy()
    for element in range(count - 1, 0, -1):
        parent = elements[element, PARENT]
        own[parent] -= lines[element, PIECES]
        if called[element] or elements[element, MARK] & (MARKED_POST | MARKED_COMMENTS):
            called[element] = called[parent] = 1
    before = np.zeros(len(runs) + 1, dtype=np.int32)
    for run in range(len(runs)):
        owner = runs[run, OWNER]
        before[run + 1] = before[run]
        if said[run, WORDS] and not known[owner, GONE]:
            if said[run, IS_LONG] and not known[owner, LINKED]:
                before[run + 1] += said[run, WORDS]
            first[owner] = first[owner] if first[owner] else run + 1
            if own[owner] > 0:
                dated[owner] = dated[owner] if dated[owner] else run + 1
    for element in range(count - 1, 0, -1):
        parent = elements[element, PARENT]
        if first[element] and (not first[parent] or first[element] < first[parent]):
            first[parent] = first[element]
        if dated[element] and (not dated[parent] or dated[element] < dated[parent]):
            dated[parent] = dated[element]
    dropped = False
    for element in range(1, count):
        parent = elements[element, PARENT]
        if known[parent, GONE]:
            known[element, GONE] = known[parent, GONE]
        dates, remarks = lines[element, PIECES], known[element, LONG]
        few = (
            dates < LEAST_POSTS or lines[element, LINES] > MOST_LINES * dates or 2 * remarks < words_of(known, element)
        )
        if known[element, GONE] or few or titles[element] == TITLE or called[element]:
            continue
        article = before[first[element] - 1]
        opening = before[dated[element] - 1] - article
        is_article = min(article, known[0, FLOW]) >= LEAST_ARTICLE and article >= ARTICLE * remarks
        if is_article and opening * dates <= OPENING * remarks and 2 * remarks >= words_of(known, element):
            known[element, GONE] = REMARKS
            dropped = True
    if dropped:
        tally(elements, runs, known, said)


@compiled("int64(uint8[::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1], int64)")
def drop_posts(body: Any, elements: Rows, runs: Rows, known: Rows, said: Rows, off: int) -> int:
    """Drop readers' comments on an article, and from a thread the parts around its text.

    Returns the element that the thread stands in, 0 where there is none.
    """
    lines = np.zeros((len(elements), OF_LINES), dtype=np.int32)
    find_lines(body, elements, runs, known, said, lines)
    if is_on(POSTS, off):
        _drop_siblings(elements, runs, known, said, lines)
    if lines[0, PIECES] < LEAST_THREAD:
        return 0
    titles = np.zeros(len(elements), dtype=np.int32)
    find_titles(body, elements, runs, known, said, titles)
    if is_on(REMARKS, off):
        _drop_remarks(elements, runs, known, said, lines, titles)
    if not is_on(FURNITURE, off):
        return 0
    thread = drop_furniture(elements, known, lines, titles)
    tally(elements, runs, known, said)
    return thread
