"""How many words stand in each element of a page, in links, in long lines and in short ones.

Numbers that count the lines of a listing are no text: a copy of it has none, or has them in a column of its own.

Five or more lines begin with one number each, the next number is larger by one, and few lines stand between. A line is
the text between two breaks; within ``<pre>`` its own ends of lines count as well. Outside ``<pre>`` a number stands
alone, before text in ``<pre>`` or ``<code>`` or in a cell that is called a column of numbers: ranks in a table, and
steps that their author has counted, are text.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.page.elements.markup import KIND, MARK, NAME, PARENT, Rows, is_space
from worker.page.elements.parsed import BREAKS, FROM, OWNER, TO
from worker.page.elements.search import place_of
from worker.page.elements.vocabulary import (
    BLOCK,
    HAS_ADDRESS,
    HAS_PLACE,
    HEADING,
    ITEM,
    LINK,
    LIST,
    MARKED_NUMBERED,
    PARAGRAPH,
    PREFORMATTED,
    ROW,
    TABLE,
    TERM,
    compiled,
    hash_of,
    lean,
)

# Columns of the known facts on an element. GONE is the rule that took it, 0 for none; LINKED is ELSEWHERE in a link,
# HERE in a link to a place of the same page; TITLED is the heading that it stands in, HOLDER the block that its
# paragraphs stand in side by side with others, 0 for none.
GONE, LINKED, TITLED, HOLDER = 0, 1, 2, 3
# Words in it that are not gone: of links, of long lines, of short ones; and the most of long lines with one holder.
LINKS, LONG, BRIEF, FLOW = 4, 5, 6, 7
OF_ELEMENTS: Final = 8
ELSEWHERE, HERE = 1, 2
# Columns of the known facts on a run: its words, 1 if it stands in a long line, and the rule that takes it although its
# element is shown.
WORDS, IS_LONG, TAKEN = 0, 1, 2
OF_RUNS: Final = 3

LONG_LINE: Final = 8
"""Least words outside links of a long line, as prose has them; teasers, buttons and menus have shorter ones. At 12,
templates of shops are taken for each other's pages more often."""
PROSE: Final = 10
"""The weight of a word of a long line, where a word of a link weighs 1. At 5, lists of links would hide short articles;
at 25, the three words between the links to the next and last page would outweigh a table of contents."""
SHORT: Final = 3
"""The weight of a word of a short line. With the weight of prose, busy portals hide short articles behind teasers."""

_NO_HOLDER: Final = PARAGRAPH | PREFORMATTED | HEADING | LIST | ITEM | TERM | TABLE | ROW

_SEPARATOR, _WORD, _WITHIN, _CHARACTER = 0, 1, 2, 4
_PARTS_OF_WORDS: Final = np.full(256, _SEPARATOR, dtype=np.uint8)
"""Which part of a word each byte of UTF-8 is."""
_PARTS_OF_WORDS[[*range(0x30, 0x3A), *range(0x41, 0x5B), *range(0x61, 0x7B), *range(0xC3, 0x100)]] = _WORD
_PARTS_OF_WORDS[0xE3:0xEE] = _CHARACTER  # U+3000 to U+DFFF: Chinese, kana, Hangul
_PARTS_OF_WORDS[0x80:0xC3] = _WITHIN


@lean("int64(uint8[::1], int64, int64)", entry=True)
def words_in(body: Any, begin: int, end: int) -> int:
    """Number of words in these bytes of UTF-8."""
    count = 0
    inside = 0
    for place in range(begin, end):
        # A processor guesses worst where words begin, so it is arithmetic.
        part = int(_PARTS_OF_WORDS[body[place]])
        count += part & 1 & ~inside
        inside = (part & 1) | (part >> 1 & inside)
        if part == _CHARACTER:
            punctuation = body[place] == 0xE3 and place + 1 < end and body[place + 1] == 0x80
            count += 0 if punctuation else 1
    return count


@compiled("void(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1])")
def survey(elements: Rows, runs: Rows, known: Rows, said: Rows) -> None:
    """Fill all columns that no rule changes, once it is known which elements are not shown (``shown.hide``)."""
    blocks = np.zeros(len(elements), dtype=np.uint8)
    for element in range(len(elements) - 1, 0, -1):
        if blocks[element] or elements[element, KIND] & BLOCK:
            blocks[elements[element, PARENT]] = 1
    for element in range(1, len(elements)):
        parent = elements[element, PARENT]
        kind = elements[element, KIND]
        known[element, LINKED] = known[parent, LINKED]
        if kind & LINK and elements[element, MARK] & HAS_ADDRESS:
            known[element, LINKED] = HERE if elements[element, MARK] & HAS_PLACE else ELSEWHERE
        known[element, TITLED] = element if kind & HEADING else known[parent, TITLED]
        holds = blocks[element] and (not kind or kind & BLOCK) and not kind & _NO_HOLDER
        known[element, HOLDER] = element if holds else known[parent, HOLDER]
    begin = line = 0
    for run in range(len(runs) + 1):
        if run == len(runs) or runs[run, BREAKS]:
            for earlier in range(begin, run):
                said[earlier, IS_LONG] = 1 if line >= LONG_LINE else 0
            begin, line = run, 0
        if run < len(runs) and not known[runs[run, OWNER], LINKED]:
            line += said[run, WORDS]


@lean("void(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1])")
def tally(elements: Rows, runs: Rows, known: Rows, said: Rows) -> None:
    """Count the words of each element, with everything in it that is not gone."""
    known[:, LINKS:] = 0
    for run in range(len(runs)):
        owner = runs[run, OWNER]
        count = said[run, WORDS]
        if count and not known[owner, GONE]:
            if known[owner, LINKED]:
                known[owner, LINKS] += count
            elif said[run, IS_LONG]:
                known[owner, LONG] += count
                known[known[owner, HOLDER], FLOW] += count
            else:
                known[owner, BRIEF] += count
    for element in range(len(elements) - 1, 0, -1):
        parent = elements[element, PARENT]
        for column in range(LINKS, FLOW):
            known[parent, column] += known[element, column]
        known[parent, FLOW] = max(known[parent, FLOW], known[element, FLOW])


@lean("int64(int32[:, ::1], int64)")
def prose(known: Rows, element: int) -> int:
    """The weight of the words outside links."""
    return int(PROSE * known[element, LONG] + SHORT * known[element, BRIEF])


@lean("int64(int32[:, ::1], int64)")
def weight(known: Rows, element: int) -> int:
    """The weight of all its words."""
    return int(PROSE * known[element, LONG] + SHORT * known[element, BRIEF] + known[element, LINKS])


@lean("int64(int32[:, ::1], int64)")
def words_of(known: Rows, element: int) -> int:
    """How many words it has."""
    return int(known[element, LONG] + known[element, BRIEF] + known[element, LINKS])


LEAST_NUMBERS: Final = 5
"""Consecutive lines that have one. Three and four are a short list as well, whose numbers may be its subject."""
MOST_BETWEEN: Final = 8
"""Lines from one to the next: the cells of a row, the lines of a paragraph."""
_LIKELY: Final = 3
"""With this many numbers in a row, others are taken for content of the lines."""
_FIRST_YEAR: Final = 1000
_LONGEST: Final = 7
"""Digits of a number of a line."""

_LISTING, _INLINE, _COLUMN = 1, 2, 4
_CODE: Final = hash_of("code")
_LINE_FEED, _ZERO, _NINE = 10, 48, 57
_AND, _CLOSING, _STOP, _COLON, _BAR, _NO_BREAK = 38, 41, 46, 58, 124, 0xC2


@lean("int64(uint8[::1], int64, int64)")
def _end_of_number(body: Any, place: int, end: int) -> int:
    """The end of the number that stands here, with the sign after it; -1 if it is no number of a line."""
    begin = place
    while place < end and place - begin <= _LONGEST and _ZERO <= body[place] <= _NINE:
        place += 1
    if place == begin or place - begin > _LONGEST:
        return -1
    if place < end and body[place] in (_CLOSING, _STOP, _COLON, _BAR):
        place += 1
    if place == end or is_space(int(body[place])) or body[place] in (_AND, _NO_BREAK):
        return place
    return -1


@lean("int64(uint8[::1], int64, int64)")
def _after_blanks(body: Any, place: int, end: int) -> int:
    """The first place that is not blank; -1 for a question from -1 on."""
    while 0 <= place < end and is_space(int(body[place])):
        place += 1
    return place


@lean("void(uint8[::1], int64, int64, int64, int64[::1], int64[:, ::1], int64)")
def _count(body: Any, begin: int, end: int, line: int, chain: Any, held: Any, within: int) -> None:
    number = 0
    for place in range(begin, end):
        if _ZERO <= body[place] <= _NINE:
            number = 10 * number + int(body[place]) - _ZERO
    is_near = chain[1] > 0 and line - chain[2] <= MOST_BETWEEN
    if number != chain[0] or not is_near:
        is_beside = is_near and (chain[1] >= _LIKELY or (number > 1 and not within))
        if is_beside or (number >= _FIRST_YEAR and not within):
            return
        chain[1] = 0
    chain[0] = number + 1
    chain[1] += 1
    chain[2] = line
    if chain[1] <= LEAST_NUMBERS:
        held[chain[1] - 1, 0], held[chain[1] - 1, 1] = begin, end
    if chain[1] == LEAST_NUMBERS:
        for each in range(LEAST_NUMBERS):
            for place in range(held[each, 0], held[each, 1]):
                body[place] = 32
    elif chain[1] > LEAST_NUMBERS:
        for place in range(begin, end):
            body[place] = 32


@lean("int64(int32[:, ::1], int64)")
def _is_of_code(elements: Rows, element: int) -> int:
    """Whether it is a listing, code in a line, or a column of numbers."""
    if elements[element, KIND] & PREFORMATTED:
        return _LISTING
    if elements[element, MARK] & MARKED_NUMBERED:
        return _COLUMN
    return _INLINE if elements[element, NAME] == _CODE else 0


@compiled("void(uint8[::1], int32[:, ::1], int32[:, ::1])", entry=True)
def blank_line_numbers(body: Any, elements: Rows, runs: Rows) -> None:
    """Write blanks over the numbers of lines in the text of a page."""
    first = 1
    while first < len(elements) and not _is_of_code(elements, first):
        first += 1
    if first == len(elements):
        return
    inside = np.zeros(len(elements), dtype=np.uint8)
    for element in range(first, len(elements)):
        inside[element] = inside[elements[element, PARENT]] | _is_of_code(elements, element)
    beside_code = np.zeros(len(runs), dtype=np.uint8)
    following = 0
    for run in range(len(runs) - 1, -1, -1):
        place, end = _after_blanks(body, runs[run, FROM], runs[run, TO]), int(runs[run, TO])
        is_number = _after_blanks(body, _end_of_number(body, place, end), end) == end
        if is_number:
            beside_code[run] = following or inside[runs[run, OWNER]] & _COLUMN
        elif place < end:
            following = inside[runs[run, OWNER]]
    # Outside of <pre> and within: the next expected number, how many came, and the line of the last one; and the places
    # of the first ones, which are counted before they are believed.
    chains = np.zeros((2, 3), dtype=np.int64)
    held = np.zeros((2, LEAST_NUMBERS, 2), dtype=np.int64)
    line = 0
    begins = 1
    for run in range(len(runs)):
        within = 1 if inside[runs[run, OWNER]] & _LISTING else 0
        place, end = int(runs[run, FROM]), int(runs[run, TO])
        if runs[run, BREAKS]:
            line += 1
            begins = 1
        while place < end:
            character = int(body[place])
            if is_space(character):
                if within and character == _LINE_FEED:
                    line += 1
                    begins = 1
                place += 1
                continue
            number_end = _end_of_number(body, place, end) if begins and (within or beside_code[run]) else -1
            begins = 0
            if number_end > 0:
                _count(body, place, number_end, line, chains[within], held[within], within)
            if not within:
                break
            place = place_of(body, _LINE_FEED, place, end)
