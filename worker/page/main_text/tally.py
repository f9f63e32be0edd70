"""How many words stand in each element of a page, in links, in long lines and in short ones."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.page.elements.markup import BREAKS, KIND, MARK, OWNER, PARENT, Rows
from worker.page.elements.vocabulary import (
    BLOCK,
    HAS_ADDRESS,
    HAS_PLACE,
    HEADING,
    ITEM,
    LINK,
    LIST,
    PARAGRAPH,
    PREFORMATTED,
    ROW,
    TABLE,
    TERM,
    compiled,
)

# Columns of what is known of an element. GONE is the rule that took it, 0 for none; LINKED is ELSEWHERE in a link, HERE
# in one to a place of the same page; TITLED is the heading that it stands in, HOLDER the block that its paragraphs
# stand in side by side with others, 0 for none.
GONE, LINKED, TITLED, HOLDER = 0, 1, 2, 3
# Words in it that are not gone: of links, of long lines, of short ones; and the most of long lines with one holder.
LINKS, LONG, BRIEF, FLOW = 4, 5, 6, 7
OF_ELEMENTS: Final = 8
ELSEWHERE, HERE = 1, 2
# Columns of what is known of a run: its words, 1 where it stands in a long line, and the rule that takes it although
# its element is shown.
WORDS, IS_LONG, TAKEN = 0, 1, 2
OF_RUNS: Final = 3

LONG_LINE: Final = 8
"""Least words outside links of a long line, as prose has them; teasers, buttons and menus have shorter ones. At 12,
templates of shops are taken for each other's pages more often."""
PROSE: Final = 10
"""What a word of a long line weighs, where one of a link weighs 1. Were it 5, lists of links would hide short articles;
were it 25, the three words between the links to the next and last page would outweigh a table of contents."""
SHORT: Final = 3
"""What a word of a short line weighs. As heavy as prose, busy portals hide short articles behind teasers."""

_NO_HOLDER: Final = PARAGRAPH | PREFORMATTED | HEADING | LIST | ITEM | TERM | TABLE | ROW

_SEPARATOR, _WORD, _CHARACTER, _WITHIN = range(4)
_PARTS_OF_WORDS: Final = np.full(256, _SEPARATOR, dtype=np.uint8)
"""What each byte of UTF-8 is of a word."""
_PARTS_OF_WORDS[[*range(0x30, 0x3A), *range(0x41, 0x5B), *range(0x61, 0x7B), *range(0xC3, 0x100)]] = _WORD
_PARTS_OF_WORDS[0xE3:0xEE] = _CHARACTER  # U+3000 to U+DFFF: Chinese, kana, Hangul
_PARTS_OF_WORDS[0x80:0xC3] = _WITHIN


@compiled("int64(uint8[::1], int64, int64)")
def words_in(body: Any, begin: int, end: int) -> int:
    """Number of words in these bytes of UTF-8."""
    count = 0
    inside = 0
    for place in range(begin, end):
        part = _PARTS_OF_WORDS[body[place]]
        if part == _WORD:
            count += 1 - inside
            inside = 1
        elif part == _SEPARATOR:
            inside = 0
        elif part == _CHARACTER:
            punctuation = body[place] == 0xE3 and place + 1 < end and body[place + 1] == 0x80
            count += 0 if punctuation else 1
            inside = 0
    return count


@compiled("void(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1])")
def survey(elements: Rows, runs: Rows, known: Rows, said: Rows) -> None:
    """Fill all columns that no rule changes, once it is known what is not shown (``shown.hide``)."""
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


@compiled("void(int32[:, ::1], int32[:, ::1], int32[:, ::1], int32[:, ::1])")
def tally(elements: Rows, runs: Rows, known: Rows, said: Rows) -> None:
    """Count the words of each element, with all in it that is not gone."""
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


@compiled("int64(int32[:, ::1], int64)")
def prose(known: Rows, element: int) -> int:
    """What the words outside links weigh."""
    return int(PROSE * known[element, LONG] + SHORT * known[element, BRIEF])


@compiled("int64(int32[:, ::1], int64)")
def weight(known: Rows, element: int) -> int:
    """What all its words weigh."""
    return int(PROSE * known[element, LONG] + SHORT * known[element, BRIEF] + known[element, LINKS])


@compiled("int64(int32[:, ::1], int64)")
def words_of(known: Rows, element: int) -> int:
    """How many words it has."""
    return int(known[element, LONG] + known[element, BRIEF] + known[element, LINKS])
