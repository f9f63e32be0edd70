"""The posts of a thread; only their text counts.

The text is recognised by the repetition of the rest: no list of names says where a post has its author, his number of
posts and the button for a reply, but they stand at one place in many posts, and no text does.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.page.elements.markup import KIND, MARK, NAME, PARENT, SHAPE, Rows
from worker.page.elements.vocabulary import (
    INLINE,
    MARKED_COMMENTS,
    MARKED_POST,
    MARKED_SIGNATURE,
    WHOLE,
    compiled,
    grown,
    lean,
)
from worker.page.main_text.dates import DATES, LONGER, TITLE
from worker.page.main_text.rules import FURNITURE
from worker.page.main_text.tally import GONE, LONG, words_of

LEAST_THREAD: Final = 2
THREAD: Final = 0.6
"""Share of the prose that the posts of a thread have."""
NEARLY_ALL: Final = 0.8
OFTEN: Final = 3
"""A part that one in this many posts has at one place does not belong to their text."""
_STEPS: Final = 32
"""Steps of the search for a key when others are in its way. A page with so many keys of one place is made for it."""


@lean("int64(int64)")
def _rows_for(count: int) -> int:
    """A power of two that leaves half of the rows free."""
    rows = 16
    while rows < 2 * count:
        rows *= 2
    return rows


@lean("int64(int32[:, ::1], int64, int64)")
def _first_of(table: Any, key: int, element: int) -> int:
    """The first element that had this key; 0 if the table is crowded there."""
    row = key & (len(table) - 1)
    for _ in range(_STEPS):
        if table[row, 1] == 0:
            table[row, 0], table[row, 1] = key, element
        if table[row, 0] == key:
            return int(table[row, 1])
        row = (row + 1) & (len(table) - 1)
    return 0


@lean("boolean(int32[:, ::1], int32[:, ::1], int32[:], int64)")
def _is_post(known: Rows, lines: Rows, titles: Any, element: int) -> bool:
    """Whether it has a date and prose, and no title of its own."""
    return bool(lines[element, DATES] and known[element, LONG] and titles[element] != TITLE)


@compiled("int64(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:], int32[:])")
def _find_thread(elements: Rows, known: Rows, lines: Rows, titles: Any, kin: Any) -> int:
    """The first of the posts of a thread, 0 for none. ``kin``: the first element of the name and class of each.

    Posts have one name and class, and may stand anywhere: replies stand in the posts that they reply to. Some word in
    their names or around them says that they are posts, so that events and products do not count.
    """
    count = len(elements)
    ends, called, alike, posts, covered, until = np.zeros((6, count), dtype=np.int32)
    table = np.zeros((_rows_for(count), 2), dtype=np.int32)
    for element in range(1, count):
        says = elements[element, MARK] & (MARKED_POST | MARKED_COMMENTS)
        called[element] = 1 if says or called[elements[element, PARENT]] else 0
    for element in range(count - 1, 0, -1):
        parent = elements[element, PARENT]
        called[parent] = max(called[parent], called[element])
        ends[element] = max(ends[element], element + 1)
        ends[parent] = max(ends[parent], ends[element])
    for element in range(1, count):
        if not lines[element, DATES] or known[element, GONE] or elements[element, KIND] & (INLINE | WHOLE):
            continue
        shape = int(elements[element, SHAPE])
        shape = shape if shape else int(elements[element, PARENT])
        first = _first_of(table, grown(grown(int(elements[element, NAME]), shape), 1), element)
        kin[element] = first
        alike[first] += 1
        if called[element] and _is_post(known, lines, titles, element):
            posts[first] += 1
            if element >= until[first]:
                until[first] = ends[element]
                covered[first] += known[element, LONG]
    most = 0
    for first in range(1, count):
        if posts[first] < LEAST_THREAD or 2 * posts[first] < alike[first] or covered[first] < THREAD * known[0, LONG]:
            posts[first] = 0
        most = max(most, posts[first])
    for first in range(1, count):
        if most and 10 * posts[first] >= 9 * most:
            return first  # the outermost of nested ones
    return 0


@compiled("void(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:], int32[:], int64)")
def _drop_furniture(elements: Rows, known: Rows, lines: Rows, titles: Any, post: Any, posts: int) -> None:
    """Drop parts that many posts have at one place, with a longer line in few or none of them. ``post``: each part's
    post."""
    count = len(elements)
    keys, first, having, longer, last = np.zeros((5, count), dtype=np.int32)
    table = np.zeros((_rows_for(count), 2), dtype=np.int32)
    for element in range(1, count):
        if not post[element] or known[element, GONE] or not words_of(known, element):
            continue
        if post[element] == element:
            continue
        key = grown(int(keys[elements[element, PARENT]]), int(elements[element, NAME]))
        keys[element] = grown(key, int(elements[element, SHAPE]))
        place = _first_of(table, int(keys[element]), element)
        first[element] = place
        if last[place] != post[element]:
            last[place] = post[element]
            having[place] += 1
        longer[place] += lines[element, LONGER]
    for element in range(1, count):
        parent = elements[element, PARENT]
        if known[parent, GONE]:
            known[element, GONE] = known[parent, GONE]
        if known[element, GONE] or not post[element]:
            continue
        place = first[element]
        many = place and having[place] >= 2 and OFTEN * having[place] >= posts and 10 * longer[place] <= having[place]
        bare = not lines[element, LONGER] and not titles[element]
        if elements[element, MARK] & MARKED_SIGNATURE or (many and bare):
            known[element, GONE] = FURNITURE


@compiled("int64(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:], int32[:])")
def _drop_between(elements: Rows, known: Rows, lines: Rows, titles: Any, post: Any) -> int:
    """Drop what stands between posts and after them without a longer line; returns the element that holds nearly all
    posts, half of them as its children, or 0."""
    count = len(elements)
    held, inside, children = np.zeros((3, count), dtype=np.int32)
    posts = holder = 0
    for element in range(1, count):
        if post[element] == element and _is_post(known, lines, titles, element):
            held[element] = 1
            posts += 1
            children[elements[element, PARENT]] += 1
    for element in range(count - 1, 0, -1):
        if not holder and held[element] >= NEARLY_ALL * posts:
            holder = element
        held[elements[element, PARENT]] += held[element]
    if not holder or 2 * children[holder] < posts:
        return 0
    inside[holder] = 1
    begun = False
    for element in range(holder + 1, count):
        parent = elements[element, PARENT]
        if known[parent, GONE]:
            known[element, GONE] = known[parent, GONE]
        if inside[parent] and not post[element]:
            inside[element] = 1
            if begun and not held[element] and not known[element, GONE] and not lines[element, LONGER]:
                known[element, GONE] = FURNITURE
        begun = begun or post[element] > 0
    return holder


@compiled("int64(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:])")
def drop_furniture(elements: Rows, known: Rows, lines: Rows, titles: Any) -> int:
    """Drop from a thread the parts around the text of its posts.

    Returns the element that nearly all posts stand in, 0 where there is no thread.
    """
    kin, post = np.zeros((2, len(elements)), dtype=np.int32)
    thread = _find_thread(elements, known, lines, titles, kin)
    if not thread:
        return 0
    posts = 0
    for element in range(1, len(elements)):
        is_one = kin[element] == thread and not known[element, GONE]
        post[element] = element if is_one else post[elements[element, PARENT]]
        posts += 1 if is_one else 0
    _drop_furniture(elements, known, lines, titles, post, posts)
    return _drop_between(elements, known, lines, titles, post)
